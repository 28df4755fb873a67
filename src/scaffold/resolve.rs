//! From the manifest as written to the checked one: defaults, ranges, names that must exist.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::MANIFEST;
use super::error::ProblemAt;
use super::manifest::{
    Budgets, FileSpec, Manifest, OpsOrder, Policy, PromptSpec, Prune, RawFile, RawManifest, Retention, SamplingSpec,
};
use super::position::hint_among;
use crate::memory;

/// The version of the scaffold format this program reads.
const API: u32 = 1;

/// The verbs every scaffold must offer in LOG.
const BASE_VERBS: &[&str] = &["READ", "WRITE", "SEARCH", "APPEND", "CREATE"];

pub(super) fn resolve(raw: &RawManifest, text: &str) -> (Manifest, Vec<ProblemAt>) {
    let mut find = Finder {
        text,
        problems: Vec::new(),
    };
    let budgets = budgets(raw, &mut find);
    let (log_ops, plan_ops) = ops(raw, &mut find);
    let files: BTreeMap<String, FileSpec> = raw
        .files
        .iter()
        .map(|(path, file)| (path.get_ref().clone(), file_spec(path, file, &budgets, &mut find)))
        .collect();
    let manifest = Manifest {
        name: name(raw, &mut find),
        version: raw.version.clone().unwrap_or_else(|| {
            find.missing("version", "\"0.1.0\"");
            String::new()
        }),
        parent: raw.parent.clone(),
        env: env(raw, &mut find),
        grammar: raw.grammar.unwrap_or(false),
        budgets,
        sampling: sampling(raw, &mut find),
        order: order(raw, &mut find),
        log_ops,
        plan_ops,
        prompt: prompt(raw, &files, &mut find),
        files,
    };
    if let Some(api) = raw.api.as_ref().filter(|api| *api.get_ref() != API) {
        let message = format!("this scaffold is written for version {} of the format", api.get_ref());
        find.at(api.span(), message, format!("this program reads version {API}"));
    }
    (manifest, find.problems)
}

struct Finder<'a> {
    text: &'a str,
    problems: Vec<ProblemAt>,
}

impl Finder<'_> {
    fn at(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.problems
            .push(ProblemAt::at(MANIFEST, self.text, span.start, message, hint));
    }

    fn missing(&mut self, key: &str, example: &str) {
        self.problems.push(ProblemAt::of_file(
            MANIFEST,
            format!("the key `{key}` is missing"),
            format!("write {key} = {example} at the top"),
        ));
    }

    fn number<T: Copy + PartialOrd + std::fmt::Display>(
        &mut self,
        value: &Option<Spanned<T>>,
        range: std::ops::RangeInclusive<T>,
        default: T,
    ) -> T {
        let Some(value) = value else { return default };
        if !range.contains(value.get_ref()) {
            let message = format!("{} is out of range", value.get_ref());
            let hint = format!("{} to {}", range.start(), range.end());
            self.at(value.span(), message, hint);
            return default;
        }
        *value.get_ref()
    }

    fn word<T: Copy>(&mut self, value: &Option<Spanned<String>>, known: &[(&str, T)], default: T) -> T {
        let Some(value) = value else { return default };
        match known.iter().find(|(word, _)| word == value.get_ref()) {
            Some((_, meaning)) => *meaning,
            None => {
                let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
                let message = format!("unknown value `{}`", value.get_ref());
                self.at(value.span(), message, hint_among(value.get_ref(), &words));
                default
            }
        }
    }
}

fn name(raw: &RawManifest, find: &mut Finder<'_>) -> String {
    let Some(name) = &raw.name else {
        find.missing("name", "\"my-scaffold\"");
        return String::new();
    };
    let sound = !name.get_ref().is_empty()
        && name
            .get_ref()
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !sound {
        let message = format!("`{}` cannot be a scaffold's name", name.get_ref());
        find.at(name.span(), message, "use letters, digits, `-`, `_` and `.`");
    }
    name.get_ref().clone()
}

fn env(raw: &RawManifest, find: &mut Finder<'_>) -> String {
    let Some(env) = &raw.env else {
        find.missing("env", "\"crafter\"");
        return String::new();
    };
    let worlds = crate::env::WORLDS;
    if !worlds.is_empty() && !worlds.contains(&env.get_ref().as_str()) {
        let message = format!("there is no world `{}`", env.get_ref());
        find.at(env.span(), message, hint_among(env.get_ref(), worlds));
    }
    env.get_ref().clone()
}

fn budgets(raw: &RawManifest, find: &mut Finder<'_>) -> Budgets {
    let defaults = Budgets::default();
    let raw = &raw.budgets;
    Budgets {
        log_turns: find.number(&raw.log_turns, 0..=100, defaults.log_turns),
        plan_turns: find.number(&raw.plan_turns, 1..=100, defaults.plan_turns),
        ops_per_turn: find.number(&raw.ops_per_turn, 1..=1000, defaults.ops_per_turn),
        result_bytes: find.number(&raw.result_bytes, 64..=(16 << 20), defaults.result_bytes),
        file_bytes: find.number(&raw.file_bytes, 64..=(64 << 20), defaults.file_bytes),
        directory_bytes: find.number(&raw.directory_bytes, 64..=(1 << 30), defaults.directory_bytes),
        files: find.number(&raw.files, 1..=10_000, defaults.files),
        prompt_tokens: raw
            .prompt_tokens
            .as_ref()
            .map(|value| find.number(&Some(value.clone()), 64..=10_000_000, u32::MAX)),
    }
}

fn sampling(raw: &RawManifest, find: &mut Finder<'_>) -> SamplingSpec {
    let raw = &raw.sampling;
    SamplingSpec {
        temperature: raw
            .temperature
            .as_ref()
            .map(|value| find.number(&Some(value.clone()), 0.0..=5.0, 0.0)),
        top_p: raw
            .top_p
            .as_ref()
            .map(|value| find.number(&Some(value.clone()), 0.0..=1.0, 1.0)),
        top_k: raw.top_k,
        max_tokens: raw
            .max_tokens
            .as_ref()
            .map(|value| find.number(&Some(value.clone()), 1..=1_000_000, 512)),
    }
}

fn order(raw: &RawManifest, find: &mut Finder<'_>) -> OpsOrder {
    let words = [("written", OpsOrder::Written), ("grouped", OpsOrder::Grouped)];
    find.word(&raw.ops.order, &words, OpsOrder::Written)
}

/// The vocabularies of LOG (all ops unless said otherwise) and PLAN (those that only read).
fn ops(raw: &RawManifest, find: &mut Finder<'_>) -> (Vec<&'static str>, Vec<&'static str>) {
    let registry = memory::ops();
    let all: Vec<&'static str> = registry.iter().map(|op| op.syntax.name).collect();
    let reads = || {
        registry
            .iter()
            .filter(|op| !op.writes)
            .map(|op| op.syntax.name)
            .collect()
    };
    let mut chosen = |list: &Option<Vec<Spanned<String>>>, default: Vec<&'static str>| {
        let Some(list) = list else { return default };
        for word in list {
            if !all.iter().any(|name| name.eq_ignore_ascii_case(word.get_ref())) {
                let message = format!("unknown operation `{}`", word.get_ref());
                find.at(word.span(), message, hint_among(&word.get_ref().to_uppercase(), &all));
            }
        }
        all.iter()
            .copied()
            .filter(|name| list.iter().any(|word| name.eq_ignore_ascii_case(word.get_ref())))
            .collect()
    };
    let log = chosen(&raw.ops.log, all.clone());
    let plan = chosen(&raw.ops.plan, reads());
    let missing: Vec<&str> = BASE_VERBS.iter().copied().filter(|verb| !log.contains(verb)).collect();
    if !missing.is_empty() {
        let span = raw
            .ops
            .log
            .as_ref()
            .and_then(|list| list.first())
            .map_or(0..0, Spanned::span);
        find.at(
            span,
            format!("LOG lacks {}", missing.join(", ")),
            "the base verbs read, write, search, append, create must all be there",
        );
    }
    (log, plan)
}

fn prompt(raw: &RawManifest, files: &BTreeMap<String, FileSpec>, find: &mut Finder<'_>) -> PromptSpec {
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let inline = raw.prompt.inline.as_deref().unwrap_or_default();
    for path in inline {
        if !files.contains_key(path.get_ref()) {
            let message = format!("`{}` is inlined, but [files] does not plan it", path.get_ref());
            find.at(path.span(), message, hint_among(path.get_ref(), &names));
        }
    }
    PromptSpec {
        inline: inline.iter().map(|path| path.get_ref().clone()).collect(),
        inline_bytes: find.number(&raw.prompt.inline_bytes, 16..=(1 << 20), 1024),
    }
}

fn file_spec(path: &Spanned<String>, raw: &RawFile, budgets: &Budgets, find: &mut Finder<'_>) -> FileSpec {
    if !sound_path(path.get_ref()) {
        let message = format!("`{}` cannot be a memory file", path.get_ref());
        find.at(
            path.span(),
            message,
            "use a relative path such as notes.txt, without `..`",
        );
    }
    let policies = [
        ("append", Policy::Append),
        ("upsert", Policy::Upsert),
        ("replace", Policy::Replace),
    ];
    let policy = find.word(&raw.policy, &policies, Policy::Append);
    if policy == Policy::Upsert && raw.key.is_none() {
        let span = raw.policy.as_ref().map_or_else(|| path.span(), Spanned::span);
        find.at(span, "policy `upsert` needs a `key`", "such as key = \"x,y\"");
    }
    if let Some(key) = &raw.key
        && let Err(error) = regex::Regex::new(key.get_ref())
    {
        let message = format!("`{}` is not a pattern: {error}", key.get_ref());
        find.at(
            key.span(),
            message,
            "write a regular expression that matches a line's key",
        );
    }
    if let Some(initial) = &raw.initial
        && initial.get_ref().len() as u64 > budgets.file_bytes
    {
        let message = format!("the initial text has {} bytes", initial.get_ref().len());
        let hint = format!("budgets.file_bytes allows {}", budgets.file_bytes);
        find.at(initial.span(), message, hint);
    }
    let prunes = [("oldest", Prune::Oldest), ("duplicates", Prune::Duplicates)];
    let retentions = [
        ("episode", Retention::Episode),
        ("session", Retention::Session),
        ("persistent", Retention::Persistent),
    ];
    FileSpec {
        about: raw.about.clone().unwrap_or_default(),
        initial: raw
            .initial
            .as_ref()
            .map(|text| text.get_ref().clone())
            .unwrap_or_default(),
        policy,
        key: raw.key.as_ref().map(|key| key.get_ref().clone()),
        max_lines: raw.max_lines,
        max_bytes: raw.max_bytes,
        prune: raw
            .prune
            .as_ref()
            .map(|word| find.word(&Some(word.clone()), &prunes, Prune::Oldest)),
        retention: find.word(&raw.retention, &retentions, Retention::Episode),
    }
}

fn sound_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0', '|', '\n'])
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}
