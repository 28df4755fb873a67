//! `recipe.toml`: one key a line, so that a difference between two recipes is read line by line.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::TuneError;
use super::{DataSource, Recipe, Targets, TrainConfig, Wrong};
use crate::config::position::line_column;

/// What is wrong in a text, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Line and column, from 1.
    pub(super) at: (u32, u32),
    pub(super) what: String,
    pub(super) hint: String,
}

/// Reads a recipe.
///
/// # Errors
/// The first thing that is wrong, with line, column and what to do.
pub fn read(text: &str) -> Result<Recipe, TuneError> {
    read_all(text).map_err(|found| match found.into_iter().next() {
        Some(Found { at, what, hint }) => TuneError::data(format!("line {}, column {}: {what}", at.0, at.1), hint),
        None => TuneError::data("it is no recipe", "make it again"),
    })
}

/// Reads a recipe, or finds everything that is wrong.
pub(super) fn read_all(text: &str) -> Result<Recipe, Vec<Found>> {
    let recipe: Recipe = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        vec![Found {
            at: line_column(text, span.start),
            hint: hint_of(&message).to_owned(),
            what: message,
        }]
    })?;
    let wrong = recipe.wrong();
    if wrong.is_empty() {
        return Ok(recipe);
    }
    let table = DeTable::parse(text).ok();
    let place = |wrong: &Wrong| {
        let span = table
            .as_ref()
            .map_or(0..0, |table| span_of(table.get_ref(), &wrong.path));
        line_column(text, span.start)
    };
    Err(wrong
        .into_iter()
        .map(|wrong| Found {
            at: place(&wrong),
            what: wrong.what,
            hint: wrong.hint,
        })
        .collect())
}

fn hint_of(message: &str) -> &'static str {
    if message.contains("unknown field") || message.contains("unknown variant") {
        "leave it out, or write one of those"
    } else if message.contains("missing field") {
        "add it, with a value as in the recipe before it"
    } else if message.contains("invalid type") || message.contains("invalid value") {
        "give a value of that kind"
    } else {
        "write it as TOML: KEY = VALUE, one a line"
    }
}

/// Where a value stands; the place of the innermost key of its path that is there.
fn span_of(table: &DeTable<'_>, path: &[String]) -> Range<usize> {
    let Some((first, rest)) = path.split_first() else {
        return 0..0;
    };
    let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == first.as_str()) else {
        return 0..0;
    };
    span_in(value, rest).unwrap_or_else(|| key.span())
}

fn span_in(value: &Spanned<DeValue<'_>>, path: &[String]) -> Option<Range<usize>> {
    let (first, rest) = path.split_first()?;
    match value.get_ref() {
        DeValue::Array(items) => {
            let item = items.get(first.parse::<usize>().ok()?)?;
            Some(span_in(item, rest).unwrap_or_else(|| item.span()))
        }
        DeValue::Table(table) => {
            let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == first.as_str())?;
            Some(span_in(value, rest).unwrap_or_else(|| key.span()))
        }
        _ => None,
    }
}

/// A recipe as a file's text.
pub fn write(recipe: &Recipe) -> String {
    let mut out = Lines::default();
    out.value("version", i64::from(recipe.version));
    out.value("env", recipe.env.as_str());
    out.head("[data]");
    match &recipe.data.source {
        DataSource::Regenerate => out.value("source", "regenerate"),
        DataSource::Reuse(set) => out.line("source", &format!("{{ reuse = {} }}", toml_of(set.as_str()))),
    }
    out.value("min_target_examples", i64::from(recipe.data.min_target_examples));
    out.value("selector", recipe.data.selector.as_str());
    out.line("brief", &long_text(&recipe.data.brief));
    out.head("[data.rules]");
    // Plain values and lists of them, in the order of their declaration; what is `None` is left out.
    out.text
        .push_str(&toml::to_string(&recipe.data.rules).unwrap_or_default());
    for config in &recipe.train {
        out.head("[[train]]");
        train(&mut out, config);
    }
    out.text
}

fn train(out: &mut Lines, config: &TrainConfig) {
    out.value("rank", i64::from(config.rank));
    out.value("alpha", config.alpha);
    out.value("dropout", config.dropout);
    out.line("learning_rate", &super::scientific(config.learning_rate));
    out.value("epochs", i64::from(config.epochs));
    out.value("batch", i64::from(config.batch));
    out.value("accumulation", i64::from(config.accumulation));
    out.value("cutoff", i64::from(config.cutoff));
    out.value("schedule", config.schedule.word());
    out.value("warmup", config.warmup);
    out.value("save", config.save);
    out.value("gpus", i64::from(config.gpus));
    match &config.targets {
        Targets::Attn => out.value("targets", "attn"),
        Targets::Mlp => out.value("targets", "mlp"),
        Targets::All => out.value("targets", "all"),
        Targets::Names(names) => out.line("targets", &format!("{{ names = {} }}", toml_of(names.clone()))),
    }
    out.value("seed", i64::try_from(config.seed).unwrap_or(i64::MAX));
}

/// Text that grows by lines.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn line(&mut self, key: &str, value: &str) {
        self.text.push_str(&format!("{key} = {value}\n"));
    }

    fn value(&mut self, key: &str, value: impl Into<toml::Value>) {
        self.line(key, &toml_of(value));
    }

    fn head(&mut self, head: &str) {
        self.text.push_str(&format!("\n{head}\n"));
    }
}

fn toml_of(value: impl Into<toml::Value>) -> String {
    value.into().to_string()
}

/// A text that keeps its lines, so that they can be compared one by one.
fn long_text(text: &str) -> String {
    if !text.contains('\n') {
        return toml_of(text);
    }
    let mut out = String::from("\"\"\"\n");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push_str("\"\"\"");
    out
}
