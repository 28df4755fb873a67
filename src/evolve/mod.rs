//! Loop 1: revisions of a scaffold, from traces to promotion.
//!
//! Owns who writes revisions ([`Reviser`]), the gate, the sequence of attempts, and the ledger. Decisions are
//! [`crate::review`]'s. Must not know screens.

pub mod gate;
pub mod ledger;
mod reviser;
pub mod rules;
pub mod session;

pub use reviser::{Reviser, ReviserError, ReviserNews, Revision, Task, Tried};

/// Opens a reviser by what a person wrote.
///
/// # Errors
/// When there is none of that name.
pub fn open_reviser(spec: &str) -> Result<Box<dyn Reviser>, ReviserError> {
    match spec {
        "rules" => Ok(Box::new(rules::RulesReviser::new())),
        _ => Err(ReviserError::Other(format!(
            "there is no reviser `{spec}`; give rules, anthropic:MODEL, openai:URL,MODEL, command:'...' or recorded:FILE"
        ))),
    }
}
