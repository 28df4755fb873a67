//! Who selects candidates: rules, a meta-LLM, a person by hand.
//!
//! Owns the choice and its reasons. Nothing is trained on without a decision in [`crate::review`].

mod alike;
pub mod meta;
pub mod rules;

use std::path::Path;

use super::TuneError;
use super::candidate::Harvest;
use super::recipe::DataPart;
use crate::config::{Settings, Workspace};
use crate::jobs::Cancel;
use crate::llm::{self, ModelOptions, Prices};
use crate::meta::MetaOptions;

use self::meta::MetaSelector;
pub use alike::{SIMILARITY, Sketch, alike};

/// Selects by the word of a recipe or of a command line.
#[derive(Debug, Clone)]
pub struct Selector {
    /// How meta-LLMs are opened.
    pub options: ModelOptions,
    /// Seeds of the gate: their episodes are not taken.
    pub gate_seeds: Vec<u64>,
    /// Tokens an answer of a meta-LLM may have.
    pub max_tokens: u32,
    /// Tokens a meta-LLM may use in all.
    pub token_budget: u64,
    /// What it costs.
    pub prices: Prices,
}

impl Selector {
    /// A selector with a person's settings.
    pub fn of(workspace: &Workspace, settings: &Settings, gate_seeds: Vec<u64>) -> Self {
        let meta = &settings.meta;
        Self {
            options: ModelOptions::of(workspace, settings),
            gate_seeds,
            max_tokens: meta.max_tokens,
            token_budget: meta.token_budget,
            prices: Prices {
                input: meta.input_per_million,
                cached: meta.cached_per_million,
                output: meta.output_per_million,
            },
        }
    }

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
        folder: &Path,
        name: &str,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Vec<Choice>, TuneError> {
        self.select_by(
            &data.selector,
            harvest,
            &data.rules,
            &data.brief,
            (folder, name),
            cancel,
            says,
        )
    }

    /// The same, without a recipe.
    ///
    /// # Errors
    /// As [`select`](Self::select).
    #[allow(clippy::too_many_arguments, reason = "a recipe's data part in pieces")]
    pub fn select_by(
        &mut self,
        who: &str,
        harvest: &Harvest,
        rules: &rules::Rules,
        brief: &str,
        (folder, name): (&Path, &str),
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Vec<Choice>, TuneError> {
        rules.check()?;
        let choices = rules::select(harvest, rules, &self.gate_seeds);
        if who == "rules" {
            return Ok(choices);
        }
        let model = llm::open_tools(who, &self.options).map_err(|error| {
            TuneError::data(
                format!("who selects is `rules` or a meta-LLM: {error}"),
                "name another one with --select, or as `selector` of the recipe",
            )
        })?;
        let options = MetaOptions {
            max_tokens: self.max_tokens,
            prices: self.prices,
            records: Some(folder.to_owned()),
        };
        MetaSelector::new(model, options, self.token_budget).select(
            harvest,
            choices,
            brief,
            (folder, name),
            cancel,
            says,
        )
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
