//! How actions are mended, and how results of operations are told: small tables of the manifest.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::resolve::Finder;

/// The keys of `[actions]`.
pub(super) const KEYS: &[&str] = &["fallback", "allowed", "strip", "repair"];
/// The keys of `[results]`.
pub(super) const RESULT_KEYS: &[&str] = &["header", "empty"];

/// How what a model wrote becomes an action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionRules {
    /// Played when there is no valid action; `None` takes the world's own.
    pub fallback: Option<String>,
    /// The only actions that are valid; `None` allows all of the world's.
    pub allowed: Option<Vec<String>>,
    /// Beginnings that are cut away, in lower case: `go `.
    pub strip: Vec<String>,
    /// What is written, in lower case, and the action that is meant.
    pub repair: BTreeMap<String, String>,
}

/// How the result of an operation is told to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultForm {
    /// The line above a result, with `{op}`, `{args}` and `{status}`; `None` writes `OP args: status`.
    pub header: Option<String>,
    /// What stands for a result without text.
    pub empty: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawActions {
    fallback: Option<String>,
    allowed: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    strip: Vec<Spanned<String>>,
    #[serde(default)]
    repair: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResults {
    header: Option<String>,
    empty: Option<String>,
}

pub(super) fn results(raw: &RawResults) -> ResultForm {
    ResultForm {
        header: raw.header.clone(),
        empty: raw.empty.clone(),
    }
}

pub(super) fn resolve(raw: &RawActions, find: &mut Finder<'_>) -> ActionRules {
    for word in &raw.strip {
        if word.get_ref().trim().is_empty() {
            find.at(word.span(), "an empty beginning cannot be cut away", "write \"go \"");
        }
    }
    if let Some(allowed) = &raw.allowed
        && allowed.is_empty()
    {
        // Nothing could be played at all.
        find.at(0..0, "[actions] allows no action", "leave `allowed` out to allow all");
    }
    ActionRules {
        fallback: raw.fallback.clone(),
        allowed: raw
            .allowed
            .as_ref()
            .map(|list| list.iter().map(|action| action.get_ref().clone()).collect()),
        strip: raw.strip.iter().map(|word| word.get_ref().to_lowercase()).collect(),
        repair: raw
            .repair
            .iter()
            .map(|(written, meant)| (written.trim().to_lowercase(), meant.clone()))
            .collect(),
    }
}

impl ResultForm {
    /// A result as the model is told: `head` is the operation with what was shown of its arguments.
    pub fn told(&self, op: &str, args: &str, status: &str, text: &str) -> String {
        let text = match (&self.empty, text.trim_end()) {
            (Some(empty), "") => empty,
            (_, text) => text,
        };
        let space = if args.is_empty() { "" } else { " " };
        match &self.header {
            Some(header) => {
                let head = header
                    .replace("{op}", op)
                    .replace("{status}", status)
                    .replace("{args}", args);
                format!("{head}\n{text}").trim_end().to_owned()
            }
            None => {
                let between = match text {
                    "" => "",
                    text if text.contains('\n') => "\n",
                    _ => " ",
                };
                format!("{op}{space}{args}: {status}{between}{text}")
            }
        }
    }
}
