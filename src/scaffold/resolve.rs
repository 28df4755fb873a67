//! From the manifest as written to the checked one: defaults, ranges, names that must exist.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::MANIFEST;
use super::error::ProblemAt;
use super::hooks::Limits;
use super::manifest::{
    Budgets, FileSpec, Manifest, OpsOrder, Policy, PromptSpec, PromptWhen, Prune, RawFile, RawManifest, Retention,
    SamplingSpec,
};
use super::position::hint_among;
use super::{actions, variants, vocabulary};
use crate::types::Phase;

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
    let custom_ops = vocabulary::resolve(&raw.ops.custom, &mut find);
    let (log_ops, plan_ops) = ops(raw, &custom_ops, &mut find);
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
        results: actions::results(&raw.results),
        actions: actions::resolve(&raw.actions, &mut find),
        vars: vars(raw, &mut find),
        hooks: hooks(raw, &mut find),
        variants: variants::resolve(&raw.variants, &files, &mut find),
        templates: BTreeMap::new(),
        custom_ops,
        files,
    };
    if let Some(api) = raw.api.as_ref().filter(|api| *api.get_ref() != API) {
        let message = format!("this scaffold is written for version {} of the format", api.get_ref());
        find.at(api.span(), message, format!("this program reads version {API}"));
    }
    (manifest, find.problems)
}

/// Collects problems with their places.
pub(super) struct Finder<'a> {
    text: &'a str,
    problems: Vec<ProblemAt>,
}

impl Finder<'_> {
    pub(super) fn at(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
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

    pub(super) fn number<T: Copy + PartialOrd + std::fmt::Display>(
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

    pub(super) fn word<T: Copy>(&mut self, value: &Option<Spanned<String>>, known: &[(&str, T)], default: T) -> T {
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

    /// A regular expression that compiles.
    pub(super) fn pattern(&mut self, value: &Spanned<String>) -> String {
        if let Err(error) = regex::Regex::new(value.get_ref()) {
            let message = format!("`{}` is not a pattern: {error}", value.get_ref());
            self.at(value.span(), message, "write a regular expression");
        }
        value.get_ref().clone()
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
    let (worlds, name) = (crate::env::WORLDS, env.get_ref().as_str());
    if !worlds.contains(&name) {
        // A program that speaks the worker protocol may have any name but one that is a slip of the pen.
        let like = similar::get_close_matches(name, worlds, 1, 0.7);
        let sound = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !sound || !like.is_empty() {
            find.at(
                env.span(),
                format!("there is no world `{name}`"),
                hint_among(name, worlds),
            );
        }
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
        rejections: find.number(&raw.rejections, 0..=100, defaults.rejections),
    }
}

fn hooks(raw: &RawManifest, find: &mut Finder<'_>) -> Limits {
    let defaults = Limits::default();
    let raw = &raw.hooks;
    Limits {
        ticks: find.number(&raw.ticks, 100..=1_000_000_000, defaults.ticks),
        wall_ms: find.number(&raw.wall_ms, 10..=60_000, defaults.wall_ms),
        process_bytes: find.number(&raw.memory_bytes, (16 << 20)..=(8 << 30), defaults.process_bytes),
        ..defaults
    }
}

/// The templates' own variables; names that the program gives are taken.
fn vars(raw: &RawManifest, find: &mut Finder<'_>) -> BTreeMap<String, serde_json::Value> {
    let taken: Vec<&str> = super::templates::step_names().collect();
    let mut vars = BTreeMap::new();
    for (name, value) in &raw.vars {
        let sound = name.get_ref().starts_with(|c: char| c.is_ascii_alphabetic())
            && name.get_ref().chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !sound || taken.contains(&name.get_ref().as_str()) {
            let message = format!("`{}` cannot be a variable of the scaffold's own", name.get_ref());
            find.at(
                name.span(),
                message,
                "use letters, digits, `_`, and no name the program gives",
            );
        }
        match serde_json::to_value(value.get_ref()) {
            Ok(json) => {
                vars.insert(name.get_ref().clone(), json);
            }
            Err(error) => find.at(
                value.span(),
                error.to_string(),
                "write a text, number, true/false or list",
            ),
        }
    }
    vars
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
fn ops(
    raw: &RawManifest,
    custom: &[vocabulary::CustomOp],
    find: &mut Finder<'_>,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let known = vocabulary::entries(custom);
    let all: Vec<&'static str> = known.iter().map(|op| op.syntax.name).collect();
    let usual = |phase: Phase| -> Vec<&'static str> {
        known
            .iter()
            .filter(|op| match &op.custom {
                Some(custom) => custom.phases.contains(&phase),
                None => phase == Phase::Log || !op.writes,
            })
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
    let log = chosen(&raw.ops.log, usual(Phase::Log));
    let plan = chosen(&raw.ops.plan, usual(Phase::Plan));
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
    let phases = [("LOG", Phase::Log), ("PLAN", Phase::Plan)];
    let when = raw
        .prompt
        .when
        .iter()
        .map(|when| PromptWhen {
            phase: find.word(&Some(when.phase.clone()), &phases, Phase::Plan),
            matches: find.pattern(&when.matches),
            template: when.template.get_ref().clone(),
        })
        .collect();
    PromptSpec {
        when,
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
    if let Some(keep) = &raw.keep_lines
        && raw.max_lines.is_none_or(|most| *keep.get_ref() > most)
    {
        let hint = "give max_lines as well, and keep at most as many";
        find.at(keep.span(), "keep_lines needs a larger max_lines", hint);
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
        key: raw.key.as_ref().map(|key| find.pattern(key)),
        max_lines: raw.max_lines,
        max_bytes: raw.max_bytes,
        prune: raw
            .prune
            .as_ref()
            .map(|word| find.word(&Some(word.clone()), &prunes, Prune::Oldest)),
        keep_lines: raw.keep_lines.as_ref().map(|keep| *keep.get_ref()),
        prune_notice: raw.prune_notice.clone(),
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
