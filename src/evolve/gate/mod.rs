//! The gate: a revision and its parent on the same seeds.
//!
//! Owns playing a scaffold on seeds so that it can be interrupted and gone on with, when an earlier evaluation may be
//! used again, and what the scores say. Must not decide what becomes of a revision: that is the session's.

mod compare;
mod key;
mod play;
mod stats;

pub use compare::{compare, reusing};
pub use key::{Key, reusable};
pub use play::{Evaluated, GateError, GateNews, Side, evaluate};
pub use stats::{can_still_win, report};
