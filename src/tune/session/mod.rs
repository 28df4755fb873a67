//! A tuning: loop 2 from the first trace to the last gate.
//!
//! Owns the sequence: a pure [`State`] that is a fold over an append-only log of [`Event`]s, and the driver that
//! carries out what it asks for. A process that is killed at any moment is followed by one that goes on. Must not
//! decide on proposals: that is [`crate::review`]'s, where a person, or the policy a person named, writes.

mod attend;
mod data;
mod driver;
mod error;
mod judge;
mod log;
mod news;
mod setup;
mod state;
mod traces;

pub use driver::{Backends, Session};
pub use error::SessionError;
pub use log::{Listed, Log};
pub use news::News;
pub use state::{Adapter, Data, Effect, Event, Round, Setup, State, Verdict};
