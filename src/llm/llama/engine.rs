//! The engine thread from outside: what is asked of it, what it answers, how it starts and ends.
//!
//! Owns the thread and its channels. Must not know chats: a job is tokens in, text out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::backend::{self, NAME};
use super::runner::Runner;
use super::weights::{Adapter, Weights};
use crate::jobs::Cancel;
use crate::llm::chat::{LlmError, SlotKey};
use crate::types::{Sampling, StopReason};

/// How the engine computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EngineSettings {
    /// Threads.
    pub(super) threads: u32,
    /// Cells of the KV cache, over all slots.
    pub(super) cells: u32,
    /// Slots, which is also how many answers are written at once.
    pub(super) slots: u32,
    /// Flash attention: on, off, or what llama.cpp thinks best.
    pub(super) flash: Option<bool>,
    /// One answer at a time, always from an empty cache and in equal chunks, so that it can be repeated to the bit.
    pub(super) exact: bool,
    /// Whether a part of a sequence can stay in the cache (not for recurrent models).
    pub(super) partial_reuse: bool,
}

/// One answer to be written.
pub(super) struct Job {
    /// The prompt; never empty.
    pub(super) tokens: Vec<i32>,
    /// Its cache slot.
    pub(super) key: SlotKey,
    /// How tokens are drawn; `max_tokens` is final.
    pub(super) sampling: Sampling,
    /// A checked grammar.
    pub(super) grammar: Option<String>,
    /// Texts that end the answer.
    pub(super) stops: Vec<String>,
    /// For measurements: end-of-turn tokens do not end the answer.
    pub(super) endless: bool,
    /// Looked at every tick.
    pub(super) cancel: Cancel,
    /// Where the answer goes.
    pub(super) reply: Sender<Reply>,
}

/// What the engine tells about a job.
#[derive(Debug)]
pub(super) enum Reply {
    /// It waits for room.
    Waiting,
    /// The prompt is being evaluated.
    Prompt { done: u32, total: u32, cached: u32 },
    /// More text.
    Text(String),
    /// It is done; nothing follows.
    Done(Finished),
    /// It failed; nothing follows.
    Failed(LlmError),
}

/// A finished job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finished {
    pub(super) text: String,
    pub(super) cached: u32,
    /// Tokens drawn, the one that ends the turn included.
    pub(super) completion: u32,
    /// From admission to the first token.
    pub(super) prompt_ms: f64,
    /// From the first token to the last.
    pub(super) decode_ms: f64,
    pub(super) stop: StopReason,
    /// For tests: the drawn tokens, and how much likelier each was than the next best.
    #[cfg(test)]
    pub(super) margins: Vec<(i32, f32)>,
}

/// The engine: dropping it ends the thread.
pub(super) struct Engine {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Engine {
    /// Starts the thread and waits until its context stands. The thread keeps the adapter for as long as its context.
    pub(super) fn start(
        weights: Arc<Weights>,
        adapter: Option<Adapter>,
        settings: EngineSettings,
    ) -> Result<Self, LlmError> {
        let (jobs, incoming) = unbounded();
        let (ready, started) = bounded(1);
        let failure = Arc::new(Mutex::new(None));
        let note = Arc::clone(&failure);
        let thread = std::thread::Builder::new()
            .name("llama-engine".to_owned())
            .spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    serve(&weights, adapter.as_ref(), settings, &ready, &incoming);
                }));
                if let Err(panic) = result {
                    *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic_text(panic.as_ref()));
                }
            })
            .map_err(|error| failed(format!("its thread could not be started: {error}"), true))?;
        let engine = Self {
            jobs: Some(jobs),
            thread: Some(thread),
            failure,
        };
        match started.recv() {
            Ok(Ok(())) => Ok(engine),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(engine.gone()),
        }
    }

    /// Hands a job over.
    pub(super) fn submit(&self, job: Job) -> Result<(), LlmError> {
        let jobs = self.jobs.as_ref().ok_or_else(|| self.gone())?;
        jobs.send(job).map_err(|_| self.gone())
    }

    /// Why the engine does not answer any more.
    pub(super) fn gone(&self) -> LlmError {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cause = failure.unwrap_or_else(|| "no cause is known".to_owned());
        failed(format!("its engine stopped ({cause}); open the model again"), false)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been noted already.
            let _ = thread.join();
        }
    }
}

/// The thread: makes the context, then serves until all senders are gone.
fn serve(
    weights: &Weights,
    adapter: Option<&Adapter>,
    settings: EngineSettings,
    ready: &Sender<Result<(), LlmError>>,
    jobs: &Receiver<Job>,
) {
    match Runner::new(weights, adapter, settings) {
        Ok(mut runner) => {
            // When nobody waits any more, `jobs` is closed too and the runner returns at once.
            let _ = ready.send(Ok(()));
            runner.run(jobs);
        }
        Err(error) => {
            let _ = ready.send(Err(error));
        }
    }
}

/// A back end error, with what llama.cpp's log says about it.
pub(super) fn failed(message: String, retryable: bool) -> LlmError {
    let log = backend::last_errors();
    LlmError::Backend {
        backend: NAME,
        message: if log.is_empty() {
            message
        } else {
            format!("{message} [{log}]")
        },
        retryable,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked".to_owned())
}

/// Milliseconds between two moments.
pub(super) fn ms(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1000.0
}
