//! Recipes: the data and the training of one attempt at a specialist, as one proposal.
//!
//! Owns their form (`recipe.toml`, and the one-line form of a configuration), what their numbers may be, and the ones
//! to begin with. Must not train or select.

mod check;
mod config;
mod line;
mod prior;
mod text;

pub use check::{FILE, check, check_proposal, draft};
pub use config::{Schedule, Targets, TrainConfig};
pub(super) use line::scientific;
pub use prior::prior;
pub use text::{read, write};

use serde::{Deserialize, Serialize};

use super::select::rules::Rules;

/// Version of the form that this program writes.
const VERSION: u32 = 1;
/// Configurations a recipe has at most.
const MOST_CONFIGS: usize = 2;

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    /// Its keys from the outermost; places in a list are numbers from 0.
    path: Vec<String>,
    what: String,
    hint: String,
}

impl Wrong {
    fn new(path: &[&str], what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            what: what.into(),
            hint: hint.into(),
        }
    }

    fn below(mut self, path: &[&str]) -> Self {
        self.path.splice(0..0, path.iter().map(|key| (*key).to_owned()));
        self
    }
}

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

/// By what a recipe selects, in words: the brief, or the rules as TOML.
pub fn criteria(recipe: &Recipe) -> String {
    let rules = toml::to_string(&recipe.data.rules).unwrap_or_default();
    match recipe.data.brief.trim() {
        "" => rules,
        brief => format!("{brief}\n\n{rules}"),
    }
}

fn minimum() -> u32 {
    300
}

fn selector() -> String {
    "rules".to_owned()
}

impl Recipe {
    /// Everything that is wrong with its values.
    fn wrong(&self) -> Vec<Wrong> {
        let mut all = Vec::new();
        if self.version != VERSION {
            let what = format!("`version` is {}, but this program knows {VERSION}", self.version);
            all.push(Wrong::new(&["version"], what, "use a newer automem"));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if self.env.is_empty() || !self.env.chars().all(plain) {
            let hint = "give the world's name, such as crafter";
            all.push(Wrong::new(&["env"], "`env` names no world", hint));
        }
        all.extend(self.data.wrong().into_iter().map(|wrong| wrong.below(&["data"])));
        if self.train.is_empty() || self.train.len() > MOST_CONFIGS {
            let what = format!("it has {} training configurations", self.train.len());
            let hint = format!("write [[train]] once or up to {MOST_CONFIGS} times; each gives an adapter");
            all.push(Wrong::new(&["train"], what, hint));
        }
        for (at, config) in self.train.iter().enumerate() {
            let at = at.to_string();
            all.extend(config.wrong().into_iter().map(|wrong| wrong.below(&["train", &at])));
        }
        all
    }
}

impl DataPart {
    fn wrong(&self) -> Vec<Wrong> {
        let mut all = Vec::new();
        let mut wrong = |path: &[&str], what: String, hint: &str| all.push(Wrong::new(path, what, hint));
        if let DataSource::Reuse(set) = &self.source {
            let number = set.strip_prefix('p').unwrap_or_default();
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                let what = format!("`source` reuses `{}`, which names no proposal", set.escape_debug());
                wrong(
                    &["source"],
                    what,
                    "name a certified selection, such as p7 (`automem proposals list`)",
                );
            }
        }
        if self.min_target_examples == 0 {
            let what = "`min_target_examples` is 0".to_owned();
            wrong(&["min_target_examples"], what, "give 1 or more; 300 is usual");
        }
        if self.selector.trim().is_empty() || self.selector.contains(char::is_control) {
            let hint = "give `rules`, or a meta-LLM as on the command line, such as anthropic:MODEL";
            wrong(&["selector"], "`selector` names nobody".to_owned(), hint);
        }
        let rules = &self.rules;
        let (from, to) = rules.position;
        if !(0.0 <= from && from <= to && to <= 1.0) {
            let what = format!("`position` is from {from} to {to}");
            wrong(
                &["rules", "position"],
                what,
                "give two numbers from 0 to 1 in order, such as [0.0, 0.5]",
            );
        }
        let percent = rules.top_episodes_percent;
        if !(percent > 0.0 && percent <= 100.0) {
            let what = format!("`top_episodes_percent` is {percent}");
            wrong(
                &["rules", "top_episodes_percent"],
                what,
                "give a number above 0 and up to 100",
            );
        }
        if !(0.0..=1.0).contains(&rules.similarity) {
            let what = format!("`similarity` is {}", rules.similarity);
            wrong(&["rules", "similarity"], what, "give 0 to 1; 1 keeps near duplicates");
        }
        if rules.min_advantage.is_some_and(|least| !least.is_finite()) {
            wrong(
                &["rules", "min_advantage"],
                "`min_advantage` is no number".to_owned(),
                "leave it out, or give a number",
            );
        }
        if rules.phases.is_empty() {
            wrong(
                &["rules", "phases"],
                "`phases` is empty".to_owned(),
                "give [\"LOG\", \"PLAN\"] or one of them",
            );
        }
        let most = [
            ("per_episode", rules.per_episode),
            ("per_phase", rules.per_phase),
            ("per_op", rules.per_op),
            ("at_most", rules.at_most),
        ];
        for (key, _) in most.into_iter().filter(|(_, most)| *most == Some(0)) {
            wrong(
                &["rules", key],
                format!("`{key}` is 0: nothing is left"),
                "leave it out, or give 1 or more",
            );
        }
        all
    }
}

#[cfg(test)]
mod tests;
