//! Recipes: the data and the training of one attempt at a specialist, as one proposal.

mod config;

pub use config::{Schedule, Targets, TrainConfig};

use serde::{Deserialize, Serialize};

use super::select::rules::Rules;

/// A recipe, as `recipe.toml` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Version of the form, 1.
    pub version: u32,
    /// The world.
    pub env: String,
    /// What is trained on.
    pub data: DataPart,
    /// How; one or two configurations, each gives an adapter.
    pub train: Vec<TrainConfig>,
}

/// Which data a recipe trains on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPart {
    /// A new selection, or an earlier certified set.
    pub source: DataSource,
    /// Examples the set must have, unless a person overrides it.
    #[serde(default = "minimum")]
    pub min_target_examples: u32,
    /// Who selects: `rules`, or a meta-LLM as the command line writes it.
    #[serde(default = "selector")]
    pub selector: String,
    /// Criteria for a meta-LLM, in words; empty takes the pristine ones.
    #[serde(default)]
    pub brief: String,
    /// Criteria for the rules, and the filter in front of a meta-LLM.
    #[serde(default)]
    pub rules: Rules,
}

/// Where the data comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSource {
    /// A new selection from the traces.
    Regenerate,
    /// A certified set, by the proposal that it came from (`p7`).
    Reuse(String),
}

fn minimum() -> u32 {
    300
}

fn selector() -> String {
    "rules".to_owned()
}
