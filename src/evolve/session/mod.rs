//! An optimization: loop 1 from the first evaluation to the last promotion.
//!
//! Owns the sequence of attempts: a pure [`State`] that is a fold over an append-only log of [`Event`]s, and the
//! driver that carries out what it asks for. The log is in the workspace's database, so that a process which is
//! killed at any moment is followed by one that goes on. Must not decide on proposals: that is [`crate::review`]'s,
//! where a person, or the policy a person named, writes.

mod attend;
mod driver;
mod error;
mod log;
mod news;
mod outcome;
mod setup;
mod state;
mod through;

pub use attend::{Step, step_for};
pub use driver::Session;
pub use error::SessionError;
pub use log::{Listed, Log};
pub use news::News;
pub use state::{ATTEMPTS, Effect, Ending, Event, Setup, State};
