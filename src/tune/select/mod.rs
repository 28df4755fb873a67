//! Who selects candidates: rules, a meta-LLM, a person by hand.
//!
//! Owns the choice and its reasons. Nothing is trained on without a decision in [`crate::review`].

mod alike;
pub mod rules;

use std::path::Path;

pub use alike::{SIMILARITY, Sketch, alike};

use super::TuneError;
use super::candidate::Harvest;
use super::recipe::DataPart;
use crate::jobs::Cancel;

/// Selects by the word of a recipe.
#[derive(Debug, Clone)]
pub struct Selector {
    /// How meta-LLMs are opened.
    pub options: crate::llm::ModelOptions,
}

impl Selector {
    /// Whether the word of a recipe names somebody.
    pub fn knows(word: &str) -> bool {
        let metas = ["anthropic:", "openai:", "recorded:"];
        word == "rules"
            || metas
                .iter()
                .any(|prefix| word.len() > prefix.len() && word.starts_with(prefix))
    }

    /// What is said of each candidate, in their order. A meta-LLM's answers are kept in `folder` under `name`, so that
    /// what was answered is not asked again.
    ///
    /// # Errors
    /// When the selector is unknown or fails, with what to do.
    pub fn select(
        &mut self,
        harvest: &Harvest,
        data: &DataPart,
        gate_seeds: &[u64],
        folder: &Path,
        name: &str,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Vec<Choice>, TuneError> {
        let _ = (folder, name, cancel, says);
        match data.selector.as_str() {
            "rules" => Ok(rules::select(harvest, &data.rules, gate_seeds)),
            other => Err(TuneError::data(
                format!("nobody selects who is called `{other}`"),
                "give `rules`",
            )),
        }
    }
}

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
