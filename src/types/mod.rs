//! Plain data that the whole house shares: ids, frames, actions, memory changes, turns, events.
//!
//! Owns the words of the field (see the table in the crate documentation) as Rust types.
//! Must not touch files, clocks, threads or any library that does; everything here is a value.

mod digest;
mod event;
mod ids;
mod memory;
mod run;
mod seeds;
mod shard;
mod step;
mod step_json;
mod turn;
mod world;

pub use digest::{Digest, DigestParseError};
pub use event::{ActionBy, At, Body, BudgetKind, Delta, Event};
pub use ids::{AgentName, EpisodeNo, RunId, StepNo, TurnNo};
pub use memory::{ApplyError, Author, Edit, MemoryChange, MemoryFiles, MemoryOp, OpOutcome, OpStatus};
pub use run::{EndReason, EpisodeState, EpisodeSummary, ModelRef, Origin, RunMeta, ScaffoldRef};
pub use seeds::Seeds;
pub use shard::Shard;
pub use step::{LiveTurn, StepOutcome, StepRecord};
pub use turn::{ChatRole, Message, Phase, Role, Sampling, Span, SpannedText, StopReason, Turn};
pub use world::{Action, Frame, GridView, PictureView, Rect, TileView, View, WorldSpec};
