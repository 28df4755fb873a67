//! Both loops in sequence: optimizations of the scaffold and tunings of the specialist, each from what the one before
//! it reached.
//!
//! Owns the plan and its progress, which is a fold over an append-only log. The stages are [`crate::evolve`]'s and
//! [`crate::tune`]'s own; they go on by themselves where they were interrupted.

mod driver;
mod plan;
mod state;

pub use driver::{ImproveError, ImproveNews, Improvement, Listed, Open, list, one, rows};
pub use plan::{Plan, PlanError, Stage, StageKind};
pub use state::{Effect, Event, State};
