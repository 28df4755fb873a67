//! Who selects candidates: rules, a meta-LLM, a person by hand.
//!
//! Owns the choice and its reasons. Nothing is trained on without a decision in [`crate::review`].

mod alike;
pub mod rules;

pub use alike::{SIMILARITY, Sketch, alike};

/// What a selector says of a candidate.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Choice {
    /// It is worth training on.
    pub selected: bool,
    /// How good it is in the selector's eyes; higher is better.
    pub score: f64,
    /// Why, in one line.
    pub reason: String,
}
