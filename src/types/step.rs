//! One step as a fold over its events: the same code builds it from the record and from a live feed.

use std::sync::Arc;

use super::{ActionBy, Body, Delta, Frame, MemoryOp, Phase, Role, StepNo, Turn, TurnNo};

/// All that happened in one step, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepRecord {
    /// Which step.
    pub step: StepNo,
    /// Its stored events in order.
    pub events: Vec<Body>,
    /// The model call under way; only in a live feed.
    pub live: Option<LiveTurn>,
}

/// A model call under way.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTurn {
    /// Phase.
    pub phase: Phase,
    /// Turn.
    pub turn: TurnNo,
    /// Which model.
    pub role: Role,
    /// Prompt tokens evaluated, in all, and from the cache, as far as known.
    pub prompt: Option<(u32, u32, u32)>,
    /// The answer so far.
    pub text: String,
}

/// How the world answered a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOutcome {
    /// Reward.
    pub reward: f64,
    /// The game is over.
    pub terminated: bool,
    /// The world's limit ended it.
    pub truncated: bool,
    /// Score so far.
    pub progression: f64,
    /// Milliseconds of the step.
    pub ms: f64,
}

impl StepRecord {
    /// An empty step.
    pub fn new(step: StepNo) -> Self {
        Self {
            step,
            events: Vec::new(),
            live: None,
        }
    }

    /// Takes in the next event.
    pub fn push(&mut self, body: Body) {
        match body {
            Body::TurnStarted { phase, turn, role } => {
                self.live = Some(LiveTurn {
                    phase,
                    turn,
                    role,
                    prompt: None,
                    text: String::new(),
                });
            }
            Body::TurnDelta { delta, .. } => {
                if let Some(live) = &mut self.live {
                    match delta {
                        Delta::Waiting => {}
                        Delta::Prompt { done, total, cached } => live.prompt = Some((done, total, cached)),
                        Delta::Text { text } => live.text.push_str(&text),
                    }
                }
            }
            body => {
                if matches!(
                    body,
                    Body::TurnFinished { .. } | Body::ModelFailed { .. } | Body::ContextOverflow { .. }
                ) {
                    self.live = None;
                }
                self.events.push(body);
            }
        }
    }

    /// What the world showed at the start of the step.
    pub fn frame(&self) -> Option<&Arc<Frame>> {
        self.events.iter().find_map(|body| match body {
            Body::Observed { frame } => Some(frame),
            _ => None,
        })
    }

    /// Its model calls in order.
    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.events.iter().filter_map(|body| match body {
            Body::TurnFinished { turn } => Some(&**turn),
            _ => None,
        })
    }

    /// Its memory operations in order.
    pub fn ops(&self) -> impl Iterator<Item = &MemoryOp> {
        self.events.iter().filter_map(|body| match body {
            Body::MemoryOp { op } => Some(&**op),
            _ => None,
        })
    }

    /// The committed action: raw, validated, repaired, by whom.
    pub fn action(&self) -> Option<(&str, &str, bool, ActionBy)> {
        self.events.iter().find_map(|body| match body {
            Body::ActionCommitted {
                raw,
                validated,
                repaired,
                by,
            } => Some((raw.as_str(), validated.as_str(), *repaired, *by)),
            _ => None,
        })
    }

    /// How the world answered; `None` while the step is open.
    pub fn outcome(&self) -> Option<StepOutcome> {
        self.events.iter().find_map(|body| match body {
            Body::StepFinished {
                reward,
                terminated,
                truncated,
                progression,
                ms,
                ..
            } => Some(StepOutcome {
                reward: *reward,
                terminated: *terminated,
                truncated: *truncated,
                progression: *progression,
                ms: *ms,
            }),
            _ => None,
        })
    }
}
