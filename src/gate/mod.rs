//! The gate: a candidate and what it is to beat on the same seeds; shared by both loops.
//!
//! Owns playing a scaffold on seeds so that it can be interrupted and gone on with, when an earlier evaluation may be
//! used again, what the scores say, and the ledger of gates. Must not decide what becomes of a candidate: that is the
//! business of [`crate::evolve`] and [`crate::tune`].

mod compare;
mod key;
pub mod ledger;
mod play;
mod stats;

pub use compare::{compare, reusing};
pub use key::{Key, reusable};
pub use play::{Evaluated, GateError, GateNews, Side, evaluate};
pub use stats::{can_still_win, report};
