//! Slows a player that is a program down to what a person can watch.
//!
//! A wrapper around its model: it waits before the answer of the PLAN phase. What is recorded is
//! the same as without it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::types::{ModelRef, Phase, Role};

/// Milliseconds a step takes at least. Clones share the number.
#[derive(Debug, Clone)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// A pace of so many milliseconds a step.
    pub fn of(step_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(step_ms)))
    }

    pub(super) fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

/// Gives the model with a pace when it is a program; a language model takes its own time.
pub fn paced(model: Arc<dyn ChatModel>, step_ms: u64) -> (Arc<dyn ChatModel>, Option<Pace>) {
    if model.describe().is_llm {
        return (model, None);
    }
    let pace = Pace::of(step_ms);
    let paced = Paced {
        model,
        pace: pace.clone(),
    };
    (Arc::new(paced), Some(pace))
}

struct Paced {
    model: Arc<dyn ChatModel>,
    pace: Pace,
}

impl ChatModel for Paced {
    fn describe(&self) -> ModelRef {
        self.model.describe()
    }

    fn context_length(&self) -> Option<u32> {
        self.model.context_length()
    }

    fn takes_grammars(&self) -> bool {
        self.model.takes_grammars()
    }

    fn with_adapter(&self, adapter: &Path) -> Result<Arc<dyn ChatModel>, LlmError> {
        self.model.with_adapter(adapter)
    }

    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError> {
        // The first turn of a phase is asked with the rules and one message.
        let is_first = request.messages.len() <= 2;
        // Of two models this one is asked last, with what the other one looked up.
        let is_first = is_first || request.slot.role == Role::Gameplay;
        if request.slot.phase == Phase::Plan && is_first {
            let began = Instant::now();
            // In short naps, so that a new pace and a cancel hold at once.
            while !cancel.is_cancelled() {
                let wanted = Duration::from_millis(self.pace.0.load(Ordering::Relaxed));
                let Some(left) = wanted.checked_sub(began.elapsed()) else {
                    break;
                };
                std::thread::sleep(left.min(Duration::from_millis(20)));
            }
        }
        self.model.chat(request, cancel, sink)
    }
}
