//! The vocabulary of a scaffold: the memory's own operations, and those the scaffold adds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use toml::Spanned;

use super::position::hint_among;
use super::resolve::Finder;
use crate::memory;
use crate::protocol::OpSyntax;
use crate::types::Phase;

/// Operations a scaffold may add.
const MOST_OPS: usize = 32;

/// The keys of `[ops.custom.NAME]`.
pub(super) const KEYS: &[&str] = &["args", "patterns", "rest", "phases", "after", "help", "writes"];

/// An operation that a scaffold adds; its script says what it does.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomOp {
    /// How it is written.
    pub syntax: OpSyntax,
    /// What each argument must look like as a whole; an empty pattern allows anything.
    pub patterns: Vec<String>,
    /// Where it may be used.
    pub phases: Vec<Phase>,
    /// The operation it comes after in the order `grouped` and in the prompt.
    pub after: Option<&'static str>,
    /// One line for the prompt.
    pub help: String,
    /// It may change files.
    pub writes: bool,
}

/// An operation as the agent's loop sees it, whoever carries it out.
#[derive(Debug, Clone)]
pub struct Entry {
    /// How it is written.
    pub syntax: OpSyntax,
    /// One line for the prompt.
    pub help: String,
    /// It may change files.
    pub writes: bool,
    /// The scaffold's own part, if it is one of its own.
    pub custom: Option<CustomOp>,
}

impl CustomOp {
    /// What is wrong with the arguments, as told to the model; `None` when they fit.
    pub fn misfit(&self, args: &[String]) -> Option<String> {
        let fits = self.patterns.iter().zip(args).all(|(pattern, arg)| {
            // Compiled when the manifest was checked.
            pattern.is_empty()
                || regex::Regex::new(&format!(r"\A(?:{pattern})\z")).is_ok_and(|regex| regex.is_match(arg.trim()))
        });
        (!fits).then(|| format!("write {}", self.syntax.usage()))
    }
}

/// The memory's operations with the scaffold's in their places.
pub(super) fn entries(custom: &[CustomOp]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = memory::ops()
        .iter()
        .map(|op| Entry {
            syntax: op.syntax,
            help: op.help.to_owned(),
            writes: op.writes,
            custom: None,
        })
        .collect();
    for op in custom {
        let place = op
            .after
            .and_then(|after| entries.iter().position(|entry| entry.syntax.name == after))
            .map_or(entries.len(), |at| at + 1);
        entries.insert(
            place,
            Entry {
                syntax: op.syntax,
                help: op.help.clone(),
                writes: op.writes,
                custom: Some(op.clone()),
            },
        );
    }
    entries
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCustomOp {
    args: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    patterns: Vec<Spanned<String>>,
    rest: Option<bool>,
    phases: Option<Vec<Spanned<String>>>,
    after: Option<Spanned<String>>,
    help: Option<String>,
    writes: Option<bool>,
}

pub(super) fn resolve(raw: &BTreeMap<Spanned<String>, RawCustomOp>, find: &mut Finder<'_>) -> Vec<CustomOp> {
    if let Some((name, _)) = raw.iter().nth(MOST_OPS) {
        find.at(
            name.span(),
            format!("more than {MOST_OPS} operations"),
            "leave some out",
        );
    }
    let own: Vec<&'static str> = memory::ops().iter().map(|op| op.syntax.name).collect();
    raw.iter()
        .take(MOST_OPS)
        .map(|(name, op)| custom(name, op, &own, find))
        .collect()
}

fn custom(name: &Spanned<String>, raw: &RawCustomOp, own: &[&'static str], find: &mut Finder<'_>) -> CustomOp {
    let word = name.get_ref();
    let sound = (2..=24).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if !sound {
        let message = format!("`{word}` cannot be the name of an operation");
        find.at(name.span(), message, "use 2 to 24 capitals, digits and `_`");
    }
    if memory::find_op(word).is_some() || matches!(word.as_str(), "DONE" | "END" | "ACTION") {
        find.at(name.span(), format!("{word} is there already"), "choose another name");
    }
    let args: Vec<&'static str> = raw
        .args
        .iter()
        .flatten()
        .map(|arg| {
            if arg.get_ref().is_empty() || arg.get_ref().contains(['|', '<', '>', '\n']) {
                let message = format!("`{}` cannot be the name of an argument", arg.get_ref());
                find.at(arg.span(), message, "use a word without `|`, `<`, `>`");
            }
            interned(arg.get_ref())
        })
        .collect();
    if args.is_empty() {
        find.at(
            name.span(),
            format!("{word} has no arguments"),
            "write args = [\"file\", \"text\"]",
        );
    }
    if let Some(extra) = raw.patterns.get(args.len()) {
        find.at(
            extra.span(),
            "there are more patterns than arguments",
            "one pattern an argument",
        );
    }
    let phases = [("LOG", Phase::Log), ("PLAN", Phase::Plan)];
    CustomOp {
        patterns: raw.patterns.iter().map(|pattern| find.pattern(pattern)).collect(),
        phases: match &raw.phases {
            Some(list) => list
                .iter()
                .map(|phase| find.word(&Some(phase.clone()), &phases, Phase::Log))
                .collect(),
            None => vec![Phase::Log],
        },
        after: raw.after.as_ref().and_then(|after| {
            let found = own.iter().find(|name| name.eq_ignore_ascii_case(after.get_ref()));
            if found.is_none() {
                let message = format!("unknown operation `{}`", after.get_ref());
                find.at(after.span(), message, hint_among(after.get_ref(), own));
            }
            found.copied()
        }),
        help: raw.help.clone().unwrap_or_default(),
        writes: raw.writes.unwrap_or(true),
        syntax: OpSyntax {
            name: interned(word),
            aliases: &[],
            args: interned_list(&args),
            rest: raw.rest.unwrap_or(true),
        },
    }
}

/// A name that lives as long as the program, as the names of the memory's own operations do. Each
/// is kept once, so that loading the same scaffold again costs nothing.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

fn interned_list(names: &[&'static str]) -> &'static [&'static str] {
    static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lists.get(names) {
        return known;
    }
    let kept: &'static [&'static str] = Box::leak(names.to_vec().into_boxed_slice());
    lists.insert(kept);
    kept
}
