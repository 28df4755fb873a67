//! LOG and PLAN as pure state machines: `state + input -> state + effects`.
//!
//! Owns every decision of the agent's loop: what an answer means, which operations run, when a
//! phase is over, which action is committed. Must not call a model, touch a file or know a clock.

mod machine;
mod reading;
mod strip;
mod validate;

pub use machine::{Ask, Effect, Gating, Input, Machine};
pub use reading::{OpCall, Verdict};
pub use strip::without_actions;
pub use validate::{Mending, Validated, validate};

use std::sync::Arc;

use crate::protocol::OpSyntax;
use crate::scaffold::OpsOrder;
use crate::types::{Action, Phase};

/// What holds for a phase, constant over a run.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which phase.
    pub phase: Phase,
    /// Model calls it may take.
    pub turns: u32,
    /// Operations one answer may ask for.
    pub ops_per_turn: u32,
    /// In which order the operations of an answer run.
    pub order: OpsOrder,
    /// Every operation there is: what is not allowed here must still be recognised to be refused.
    pub vocabulary: Arc<Vec<OpSyntax>>,
    /// Names of those that are allowed here.
    pub allowed: Arc<Vec<&'static str>>,
    /// The world's actions.
    pub actions: Arc<Vec<Action>>,
    /// What is played when there is no valid action.
    pub fallback: Action,
    /// How what a model wrote is mended into an action.
    pub mending: Arc<Mending>,
    /// Actions pass a commit gate.
    pub gated: bool,
    /// How often in a step the gate may reject.
    pub rejections: u32,
}

#[cfg(test)]
mod tests;
