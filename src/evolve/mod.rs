//! Loop 1: revisions of a scaffold, from traces to promotion.
//!
//! Owns who writes revisions ([`Reviser`]) and the sequence of attempts; gates are [`crate::gate`]'s. Decisions are
//! [`crate::review`]'s. Must not know screens.

mod candidate;
mod command;
mod meta;
mod open;
mod reviser;
pub mod rules;
pub mod session;

pub use command::{CommandOptions, CommandReviser};
pub use meta::{MetaOptions, MetaReviser};
pub use open::{ReviserOptions, open_reviser};
pub use reviser::{Reviser, ReviserError, ReviserNews, Revision, Task, Tried};
