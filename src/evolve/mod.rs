//! Loop 1: revisions of a scaffold, from traces to promotion.
//!
//! Owns who writes revisions ([`Reviser`]), the gate, the sequence of attempts, and the ledger. Decisions are
//! [`crate::review`]'s. Must not know screens.

mod reviser;

pub use reviser::{Reviser, ReviserError, ReviserNews, Revision, Task, Tried};
