//! Who writes the recipes that follow the first one.
//!
//! Owns the suggestion. It is a proposal like any other: nothing is trained by it without a decision.

mod meta;
mod rules;

use std::path::PathBuf;

pub use meta::MetaAuthor;
pub use rules::RulesAuthor;

use super::TuneError;
use super::recipe::Recipe;
use super::session::Round;
use crate::jobs::Cancel;
use crate::llm::Usage;

/// What is known when a recipe is written.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The tuning.
    pub name: &'a str,
    /// The recipe that the tuning began with.
    pub pristine: &'a Recipe,
    /// What came of the iterations so far, oldest first; never empty.
    pub rounds: &'a [Round],
    /// Run files of the traces.
    pub runs: &'a [PathBuf],
    /// Tokens that may be used.
    pub token_budget: u64,
}

/// A recipe as it was suggested.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// What it is compared with: the pristine recipe or an earlier one; `None` shows it whole.
    pub base: Option<Recipe>,
    /// It.
    pub recipe: Recipe,
    /// Why, in a few sentences.
    pub why: String,
    /// Who wrote it.
    pub author: String,
    /// What that cost.
    pub usage: Usage,
}

impl Suggestion {
    /// The recipe that a tuning begins with.
    pub fn first(pristine: &Recipe) -> Self {
        Self {
            base: None,
            recipe: pristine.clone(),
            why: "The recipe that this tuning was begun with.".to_owned(),
            author: "person".to_owned(),
            usage: Usage::default(),
        }
    }
}

/// Somebody who writes recipes: rules, a meta-LLM.
pub trait Author: Send {
    /// How it is asked for: `rules`, `anthropic:MODEL`, ...
    fn spec(&self) -> String;

    /// The next recipe; `None` when it knows none that was not tried.
    ///
    /// # Errors
    /// Why there is none, with what to do.
    fn next(
        &mut self,
        task: &Task<'_>,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Option<Suggestion>, TuneError>;
}
