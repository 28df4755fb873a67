//! `scaffold.toml`: as written (every key optional, with its place in the text) and as checked.
//!
//! The raw form knows only what may stand there; `resolve` turns it into the checked one.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::actions::{self, ActionRules, RawActions, RawResults, ResultForm};
use super::error::ProblemAt;
use super::hooks::Limits;
use super::position::hint_among;
use super::templates::Template;
use super::variants::{self, RawVariant, Variant};
use super::vocabulary::{self, CustomOp, RawCustomOp};
use super::{MANIFEST, resolve};
use crate::types::Phase;

/// A checked manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Name, such as `crafter-v0`.
    pub name: String,
    /// Version, free text.
    pub version: String,
    /// Name of the scaffold it was made from.
    pub parent: Option<String>,
    /// The world it is for.
    pub env: String,
    /// Constrain answers with a grammar where the back end can.
    pub grammar: bool,
    /// What a step may cost.
    pub budgets: Budgets,
    /// How tokens are drawn unless the run says otherwise.
    pub sampling: SamplingSpec,
    /// In which order the operations of one answer run.
    pub order: OpsOrder,
    /// Names of the operations LOG may use, in the registry's order.
    pub log_ops: Vec<&'static str>,
    /// Names of the operations PLAN may use.
    pub plan_ops: Vec<&'static str>,
    /// What else goes into prompts.
    pub prompt: PromptSpec,
    /// The memory files by path.
    pub files: BTreeMap<String, FileSpec>,
    /// Operations of the scaffold's own, by name.
    pub custom_ops: Vec<CustomOp>,
    /// How results of operations are told.
    pub results: ResultForm,
    /// How actions are mended and gated.
    pub actions: ActionRules,
    /// The templates' own variables with the values they have when no hook sets them.
    pub vars: BTreeMap<String, serde_json::Value>,
    /// What a call of the script may use up.
    pub hooks: Limits,
    /// What is otherwise for some tasks.
    pub variants: Vec<Variant>,
    /// Templates in the place of the usual ones; a variant's own.
    pub templates: BTreeMap<Template, String>,
}

/// What the agent's loop may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Model calls a LOG phase.
    pub log_turns: u32,
    /// Model calls a PLAN phase.
    pub plan_turns: u32,
    /// Operations an answer.
    pub ops_per_turn: u32,
    /// Bytes one operation gives back.
    pub result_bytes: u64,
    /// Bytes of a memory file.
    pub file_bytes: u64,
    /// Bytes of the memory directory.
    pub directory_bytes: u64,
    /// Files in the memory directory.
    pub files: u32,
    /// Tokens of a prompt, estimated at 3.5 bytes each; `None` leaves it to the model's context.
    pub prompt_tokens: Option<u32>,
    /// How often in a step the commit gate may reject an action.
    pub rejections: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            log_turns: 3,
            plan_turns: 3,
            ops_per_turn: 8,
            result_bytes: 4096,
            file_bytes: 64 * 1024,
            directory_bytes: 1024 * 1024,
            files: 64,
            prompt_tokens: None,
            rejections: 2,
        }
    }
}

/// Sampling as the scaffold wishes it; `None` keeps the program's default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SamplingSpec {
    /// 0 takes the most likely token each time.
    pub temperature: Option<f32>,
    /// Share of probability that is kept.
    pub top_p: Option<f32>,
    /// Number of tokens that are kept.
    pub top_k: Option<u32>,
    /// Tokens of an answer.
    pub max_tokens: Option<u32>,
}

/// What else goes into prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSpec {
    /// Memory files whose text is put into the first prompt of a phase.
    pub inline: Vec<String>,
    /// Bytes of each that are shown at most; the newest lines are kept.
    pub inline_bytes: u64,
    /// Other first prompts for some observations; the first that fits is taken.
    pub when: Vec<PromptWhen>,
}

/// Another first prompt for some observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWhen {
    /// Of which phase.
    pub phase: Phase,
    /// Regular expression that is found in the observation.
    pub matches: String,
    /// The template, a file in `prompts/`.
    pub template: String,
}

/// In which order the operations of one answer run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpsOrder {
    /// As written.
    Written,
    /// Grouped by kind as the reference does: READ, SEARCH, TAIL, COUNT, LIST, APPEND, WRITE, CREATE, DELETE.
    Grouped,
}

/// A memory file as the scaffold plans it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// What it is for, in a line; told to the model.
    pub about: String,
    /// Its text at the start.
    pub initial: String,
    /// How it is meant to be changed; told to the model.
    pub policy: Policy,
    /// Pattern of a line's key, for `upsert`.
    pub key: Option<String>,
    /// Lines it should have at most.
    pub max_lines: Option<u32>,
    /// Bytes it should have at most.
    pub max_bytes: Option<u64>,
    /// What goes first when it is full.
    pub prune: Option<Prune>,
    /// Lines that stay when it was full.
    pub keep_lines: Option<u32>,
    /// A line in the place of what was pruned; `{n}` is how many lines that were.
    pub prune_notice: Option<String>,
    /// How long it lives.
    pub retention: Retention,
}

/// How a file is meant to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Lines are added.
    Append,
    /// One line a key.
    Upsert,
    /// Rewritten as a whole.
    Replace,
}

impl Policy {
    /// The word in the manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Upsert => "upsert",
            Self::Replace => "replace",
        }
    }
}

/// What goes first when a file is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// The oldest lines.
    Oldest,
    /// Lines that repeat an earlier one.
    Duplicates,
}

/// How long a file lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// One episode.
    Episode,
    /// All episodes of a run.
    Session,
    /// All runs.
    Persistent,
}

/// The manifest as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawManifest {
    pub(super) name: Option<Spanned<String>>,
    pub(super) version: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) env: Option<Spanned<String>>,
    pub(super) api: Option<Spanned<u32>>,
    pub(super) grammar: Option<bool>,
    #[serde(default)]
    pub(super) budgets: RawBudgets,
    #[serde(default)]
    pub(super) sampling: RawSampling,
    #[serde(default)]
    pub(super) ops: RawOps,
    #[serde(default)]
    pub(super) prompt: RawPrompt,
    #[serde(default)]
    pub(super) files: BTreeMap<Spanned<String>, RawFile>,
    #[serde(default)]
    pub(super) results: RawResults,
    #[serde(default)]
    pub(super) actions: RawActions,
    #[serde(default)]
    pub(super) vars: BTreeMap<Spanned<String>, Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) hooks: RawHooks,
    #[serde(default)]
    pub(super) variants: BTreeMap<Spanned<String>, RawVariant>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBudgets {
    pub(super) log_turns: Option<Spanned<u32>>,
    pub(super) plan_turns: Option<Spanned<u32>>,
    pub(super) ops_per_turn: Option<Spanned<u32>>,
    pub(super) result_bytes: Option<Spanned<u64>>,
    pub(super) file_bytes: Option<Spanned<u64>>,
    pub(super) directory_bytes: Option<Spanned<u64>>,
    pub(super) files: Option<Spanned<u32>>,
    pub(super) prompt_tokens: Option<Spanned<u32>>,
    pub(super) rejections: Option<Spanned<u32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHooks {
    pub(super) ticks: Option<Spanned<u64>>,
    pub(super) wall_ms: Option<Spanned<u64>>,
    pub(super) memory_bytes: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSampling {
    pub(super) temperature: Option<Spanned<f32>>,
    pub(super) top_p: Option<Spanned<f32>>,
    pub(super) top_k: Option<u32>,
    pub(super) max_tokens: Option<Spanned<u32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOps {
    pub(super) order: Option<Spanned<String>>,
    pub(super) log: Option<Vec<Spanned<String>>>,
    pub(super) plan: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) custom: BTreeMap<Spanned<String>, RawCustomOp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPrompt {
    pub(super) inline: Option<Vec<Spanned<String>>>,
    pub(super) inline_bytes: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) when: Vec<RawWhen>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWhen {
    pub(super) phase: Spanned<String>,
    pub(super) matches: Spanned<String>,
    pub(super) template: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) about: Option<String>,
    pub(super) initial: Option<Spanned<String>>,
    pub(super) policy: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) max_lines: Option<u32>,
    pub(super) max_bytes: Option<u64>,
    pub(super) prune: Option<Spanned<String>>,
    pub(super) keep_lines: Option<Spanned<u32>>,
    pub(super) prune_notice: Option<String>,
    pub(super) retention: Option<Spanned<String>>,
}

/// The keys of every table. The raw types refuse what is missing here, so the two cannot drift.
const TOP: &[&str] = &[
    "name", "version", "parent", "env", "api", "grammar", "budgets", "sampling", "ops", "prompt", "files", "results",
    "actions", "vars", "hooks", "variants",
];
const BUDGETS: &[&str] = &[
    "log_turns",
    "plan_turns",
    "ops_per_turn",
    "result_bytes",
    "file_bytes",
    "directory_bytes",
    "files",
    "prompt_tokens",
    "rejections",
];
const HOOKS: &[&str] = &["ticks", "wall_ms", "memory_bytes"];
const WHEN: &[&str] = &["phase", "matches", "template"];
const SAMPLING: &[&str] = &["temperature", "top_p", "top_k", "max_tokens"];
const OPS: &[&str] = &["order", "log", "plan", "custom"];
const PROMPT: &[&str] = &["inline", "inline_bytes", "when"];
const FILE: &[&str] = &[
    "about",
    "initial",
    "policy",
    "key",
    "max_lines",
    "max_bytes",
    "prune",
    "keep_lines",
    "prune_notice",
    "retention",
];

/// Reads the manifest among a scaffold's files. The manifest is there when it makes sense; every
/// problem found is in the list.
pub(super) fn read(files: &BTreeMap<String, String>) -> (Option<Manifest>, Vec<ProblemAt>) {
    let Some(text) = files.get(MANIFEST) else {
        let hint = "write one with at least `name`, `version`, `env`";
        return (
            None,
            vec![ProblemAt::of_file(MANIFEST, "the manifest is missing", hint)],
        );
    };
    let mut problems = unknown_keys(text);
    if !problems.is_empty() {
        return (None, problems);
    }
    match toml::from_str::<RawManifest>(text) {
        Ok(raw) => {
            let (manifest, found) = resolve::resolve(&raw, text);
            problems.extend(found);
            (problems.is_empty().then_some(manifest), problems)
        }
        Err(error) => (None, vec![from_toml(text, &error)]),
    }
}

fn from_toml(text: &str, error: &toml::de::Error) -> ProblemAt {
    let offset = error.span().map_or(0, |span| span.start);
    ProblemAt::at(
        MANIFEST,
        text,
        offset,
        error.message(),
        "see DESIGN, \"A scaffold is a folder\"",
    )
}

/// Looks into every table of a table of tables.
fn look_each<'a, 'de>(
    table: &'a toml::de::DeTable<'de>,
    name: &str,
    known: &[&str],
    look: &mut impl FnMut(&'a toml::de::DeTable<'de>, &[&str], &str),
) {
    for (key, value) in table.iter() {
        if let toml::de::DeValue::Table(inner) = value.get_ref() {
            look(inner, known, &format!(" in [{name}.\"{}\"]", key.get_ref()));
        }
    }
}

/// All keys that do not exist, and a broken syntax as one problem.
fn unknown_keys(text: &str) -> Vec<ProblemAt> {
    use toml::de::{DeTable, DeValue};

    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return errors
            .iter()
            .map(|error| ProblemAt {
                hint: "the file is not valid TOML here".to_owned(),
                ..from_toml(text, error)
            })
            .collect();
    }
    let mut problems = Vec::new();
    let mut look = |table: &DeTable<'_>, known: &[&str], place: &str| {
        for key in table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                problems.push(ProblemAt::at(
                    MANIFEST,
                    text,
                    key.span().start,
                    format!("unknown key `{}`{place}", key.get_ref()),
                    hint_among(key.get_ref(), known),
                ));
            }
        }
    };
    look(document.get_ref(), TOP, "");
    for (key, value) in document.get_ref().iter() {
        let DeValue::Table(table) = value.get_ref() else {
            continue;
        };
        match key.get_ref().as_ref() {
            "budgets" => look(table, BUDGETS, " in [budgets]"),
            "sampling" => look(table, SAMPLING, " in [sampling]"),
            "ops" => {
                look(table, OPS, " in [ops]");
                if let Some(DeValue::Table(custom)) = table.get("custom").map(toml::Spanned::get_ref) {
                    look_each(custom, "ops.custom", vocabulary::KEYS, &mut look);
                }
            }
            "prompt" => {
                look(table, PROMPT, " in [prompt]");
                if let Some(DeValue::Array(list)) = table.get("when").map(toml::Spanned::get_ref) {
                    for item in list.iter() {
                        if let DeValue::Table(item) = item.get_ref() {
                            look(item, WHEN, " in [[prompt.when]]");
                        }
                    }
                }
            }
            "results" => look(table, actions::RESULT_KEYS, " in [results]"),
            "actions" => look(table, actions::KEYS, " in [actions]"),
            "hooks" => look(table, HOOKS, " in [hooks]"),
            "variants" => look_each(table, "variants", variants::KEYS, &mut look),
            "files" => look_each(table, "files", FILE, &mut look),
            _ => {}
        }
    }
    problems
}
