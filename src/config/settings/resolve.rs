//! From layers as written to checked settings: kinds, ranges, words, and where each value came from.

use std::collections::BTreeMap;

use super::options::{OPTIONS, OptionKind, OptionSpec, SPEEDS};
use super::problem::Problem;
use super::raw::{At, Raw, Value, Written};
use super::{
    Colors, KeySetting, MetaSettings, PlayerSettings, RunSettings, RunsSettings, ServerSettings, Settings, Speed,
};
use crate::config::position::hint_among;
use crate::types::Seeds;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    Default,
    /// A line of a file.
    File {
        /// Which file.
        path: String,
        /// Which line, from 1.
        line: u32,
    },
    /// A variable of the environment.
    Variable(String),
}

/// Settings, and where each came from.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The settings.
    pub settings: Settings,
    /// What each option is, in the table's order.
    pub(super) values: Vec<(&'static OptionSpec, Option<Checked>, Origin)>,
}

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Checked {
    Text(String),
    Switch(bool),
    Number(u64),
    Decimal(f64),
    Texts(Vec<String>),
}

impl Resolved {
    /// What holds when nobody says anything.
    pub fn defaults() -> Self {
        resolve(Vec::new()).0
    }
}

/// Lays the layers over each other, the last on top.
pub(super) fn resolve(layers: Vec<Raw>) -> (Resolved, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut found: BTreeMap<&str, (Checked, Origin)> = BTreeMap::new();
    let mut keys: Vec<KeySetting> = Vec::new();
    for mut layer in layers {
        layer
            .options
            .sort_by_key(|written| (written.at.line, written.at.column));
        layer
            .keys
            .sort_by_key(|keys| (keys.action.1.line, keys.action.1.column));
        for written in &layer.options {
            match check(written) {
                Ok(value) => {
                    found.insert(written.spec.key, (value, origin(&written.at)));
                }
                Err(mut wrong) => problems.append(&mut wrong),
            }
        }
        for raw in layer.keys {
            let mut places = vec![raw.place.1, raw.action.1];
            let (names, at): (Vec<String>, Vec<At>) = raw.keys.into_iter().unzip();
            places.extend(at);
            let setting = KeySetting {
                place: raw.place.0,
                action: raw.action.0,
                keys: names,
                places,
            };
            keys.retain(|other| (&other.place, &other.action) != (&setting.place, &setting.action));
            keys.push(setting);
        }
    }
    let values: Vec<_> = OPTIONS
        .iter()
        .map(|spec| match found.remove(spec.key) {
            Some((value, origin)) => (spec, Some(value), origin),
            None => (spec, spec.default.and_then(|text| default(spec, text)), Origin::Default),
        })
        .collect();
    let settings = settings(&values, keys);
    (Resolved { settings, values }, problems)
}

fn origin(at: &At) -> Origin {
    if at.line == 0 {
        Origin::Variable(at.place.clone())
    } else {
        Origin::File {
            path: at.place.clone(),
            line: at.line,
        }
    }
}

/// The default goes the way of every other value, so that it cannot be wrong unseen.
fn default(spec: &'static OptionSpec, text: &str) -> Option<Checked> {
    let (raw, _) = super::raw::read("the program", &format!("{} = {text}", spec.key));
    check(raw.options.first()?).ok()
}

fn check(written: &Written) -> Result<Checked, Vec<Problem>> {
    let Written { spec, value, at } = written;
    let key = spec.key;
    let wrong_kind = || {
        let said = match value {
            Value::Text(text) => format!("\"{}\"", text.escape_debug()),
            Value::Switch(on) => on.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Decimal(_) => "a number with a fraction".to_owned(),
            Value::Texts(_) => "a list".to_owned(),
            Value::Other(kind) => (*kind).to_owned(),
        };
        vec![at.problem(
            format!("`{key}` cannot be {said}"),
            format!("write {}", spec.kind.words()),
        )]
    };
    match (spec.kind, value) {
        (OptionKind::Text, Value::Text(text)) if text.trim().is_empty() => {
            let hint = spec.default.map_or_else(String::new, |text| format!("such as {text}"));
            Err(vec![at.problem(format!("`{key}` is empty"), hint)])
        }
        (OptionKind::Seeds, Value::Number(number)) => seeds(&number.to_string(), at),
        (OptionKind::Seeds, Value::Text(text)) => seeds(text, at),
        (OptionKind::Text, Value::Text(text)) => Ok(Checked::Text(text.clone())),
        (OptionKind::Word(words), Value::Text(text)) => word(words, text, at, key).map_err(|problem| vec![problem]),
        // `speed = 2` means what `speed = "2"` means.
        (OptionKind::Word(words), Value::Number(number)) => {
            word(words, &number.to_string(), at, key).map_err(|problem| vec![problem])
        }
        (OptionKind::Words(words), Value::Texts(texts)) => {
            let mut problems = Vec::new();
            for (index, (text, at)) in texts.iter().enumerate() {
                if let Err(problem) = word(words, text, at, key) {
                    problems.push(problem);
                } else if texts[..index].iter().any(|(other, _)| other == text) {
                    problems.push(at.problem(format!("`{text}` stands twice in `{key}`"), "leave one out"));
                }
            }
            let texts = texts.iter().map(|(text, _)| text.clone()).collect();
            if problems.is_empty() {
                Ok(Checked::Texts(texts))
            } else {
                Err(problems)
            }
        }
        (OptionKind::Switch, Value::Switch(on)) => Ok(Checked::Switch(*on)),
        (OptionKind::Number(least, most), Value::Number(number)) => match u64::try_from(*number) {
            Ok(number) if (least..=most).contains(&number) => Ok(Checked::Number(number)),
            _ => {
                let hint = format!("{least} to {most}");
                Err(vec![at.problem(format!("`{key}` = {number} is out of range"), hint)])
            }
        },
        (OptionKind::Decimal(most), Value::Number(number)) => decimal(*number as f64, most, at, key),
        (OptionKind::Decimal(most), Value::Decimal(number)) => decimal(*number, most, at, key),
        _ => Err(wrong_kind()),
    }
}

fn decimal(number: f64, most: u32, at: &At, key: &str) -> Result<Checked, Vec<Problem>> {
    // Written so that what is no number at all is out of range too.
    match (0.0..=f64::from(most)).contains(&number) {
        true => Ok(Checked::Decimal(number)),
        false => {
            let hint = format!("0 to {most}");
            Err(vec![at.problem(format!("`{key}` = {number} is out of range"), hint)])
        }
    }
}

fn seeds(text: &str, at: &At) -> Result<Checked, Vec<Problem>> {
    match text.parse::<Seeds>() {
        Ok(_) => Ok(Checked::Text(text.to_owned())),
        Err(message) => Err(vec![at.problem(message, "")]),
    }
}

fn word(words: &[&str], text: &str, at: &At, key: &str) -> Result<Checked, Problem> {
    if words.contains(&text) {
        return Ok(Checked::Text(text.to_owned()));
    }
    let message = format!("`{key}` knows no \"{}\"", text.escape_debug());
    Err(at.problem(message, hint_among(text, words)))
}

/// Values by key. What the table lacks reads as nothing; a test sees to it that all are used.
struct Values<'a>(&'a [(&'static OptionSpec, Option<Checked>, Origin)]);

impl Values<'_> {
    fn get(&self, key: &str) -> Option<&Checked> {
        let (_, value, _) = self.0.iter().find(|(spec, ..)| spec.key == key)?;
        value.as_ref()
    }

    fn text(&self, key: &str) -> String {
        match self.get(key) {
            Some(Checked::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            Some(Checked::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn decimal(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Some(Checked::Decimal(number)) => Some(*number),
            _ => None,
        }
    }

    fn small(&self, key: &str) -> Option<u32> {
        u32::try_from(self.number(key)?).ok()
    }
}

fn settings(values: &[(&'static OptionSpec, Option<Checked>, Origin)], keys: Vec<KeySetting>) -> Settings {
    let of = Values(values);
    Settings {
        theme: of.text("theme"),
        colors: match of.text("colors").as_str() {
            "mono" => Colors::Mono,
            "16" => Colors::Ansi16,
            "256" => Colors::Ansi256,
            "true" => Colors::True,
            _ => Colors::Auto,
        },
        pictures: of.text("pictures"),
        replay_speed: speed(&of.text("replay.speed")),
        scripted: PlayerSettings {
            step_ms: of.number("scripted.step_ms").unwrap_or_default(),
        },
        runs: RunsSettings {
            columns: match of.get("runs.columns") {
                Some(Checked::Texts(columns)) => columns.clone(),
                _ => Vec::new(),
            },
            sort: of.text("runs.sort"),
        },
        run: RunSettings {
            env: of.text("run.env"),
            scaffold: of.text("run.scaffold"),
            model: of.text("run.model"),
            specialist: of.get("run.specialist").map(|_| of.text("run.specialist")),
            seeds: of.text("run.seeds"),
            max_steps: of.small("run.max_steps").unwrap_or(1),
            workers: of.small("run.workers").unwrap_or(1),
            exact: of.get("run.exact") == Some(&Checked::Switch(true)),
            threads: of.small("run.threads"),
            context: of.small("run.context"),
        },
        server: ServerSettings {
            connect_s: of.number("server.connect_s").unwrap_or_default(),
            first_byte_s: of.number("server.first_byte_s").unwrap_or_default(),
            idle_s: of.number("server.idle_s").unwrap_or_default(),
            retries: of.small("server.retries").unwrap_or_default(),
        },
        meta: MetaSettings {
            max_tokens: of.small("meta.max_tokens").unwrap_or(1),
            token_budget: of.number("meta.token_budget").unwrap_or(1),
            command_s: of.number("meta.command_s").unwrap_or(1),
            input_per_million: of.decimal("meta.input_per_million"),
            cached_per_million: of.decimal("meta.cached_per_million"),
            output_per_million: of.decimal("meta.output_per_million"),
        },
        keys,
    }
}

fn speed(word: &str) -> Speed {
    let normal = SPEEDS.iter().position(|speed| *speed == "1").unwrap_or(0);
    let at = SPEEDS.iter().position(|speed| *speed == word).unwrap_or(normal);
    Speed(i8::try_from(at as isize - normal as isize).unwrap_or(0))
}
