//! Loop 1: revisions of a scaffold, from traces to promotion.
//!
//! Owns who writes revisions ([`Reviser`]), the gate, the sequence of attempts, and the ledger. Decisions are
//! [`crate::review`]'s. Must not know screens.

pub mod gate;
pub mod ledger;
mod reviser;
pub mod session;

pub use reviser::{Reviser, ReviserError, ReviserNews, Revision, Task, Tried};
