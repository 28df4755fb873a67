//! A `config.toml` as written: every key with its place in the text.
//!
//! Knows only which keys may stand there; ranges and words are for `resolve`.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{OPTIONS, OptionKind, OptionSpec, spec};
use super::problem::Problem;
use crate::config::position::{hint_among, line_column};

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) place: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl At {
    /// A problem here.
    pub(super) fn problem(&self, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem {
            place: self.place.clone(),
            line: self.line,
            column: self.column,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Switch(bool),
    Number(i64),
    Decimal(f64),
    Texts(Vec<(String, At)>),
    /// Of a kind that no option has.
    Other(&'static str),
}

/// What was written for an option.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) spec: &'static OptionSpec,
    pub(super) value: Value,
    pub(super) at: At,
}

/// What was written for an action's keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawKeys {
    pub(super) place: (String, At),
    pub(super) action: (String, At),
    pub(super) keys: Vec<(String, At)>,
}

/// A file as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Raw {
    pub(super) options: Vec<Written>,
    pub(super) keys: Vec<RawKeys>,
}

/// Reads a file's text; every problem found is in the list.
pub(super) fn read(file: &str, text: &str) -> (Raw, Vec<Problem>) {
    let mut reader = Reader {
        file,
        text,
        raw: Raw::default(),
        problems: Vec::new(),
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = reader.at(&error.span().unwrap_or(0..0));
        let problem = at.problem(error.message(), "the file is not valid TOML here");
        reader.problems.push(problem);
    }
    if errors.is_empty() {
        reader.table(document.get_ref(), "");
    }
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    (reader.raw, reader.problems)
}

/// Reads what an environment variable says.
pub(super) fn from_variable(spec: &'static OptionSpec, text: &str) -> Written {
    let at = At {
        place: spec.variable(),
        line: 0,
        column: 0,
    };
    let value = match spec.kind {
        OptionKind::Text | OptionKind::Word(_) | OptionKind::Seeds => Value::Text(text.to_owned()),
        OptionKind::Words(_) => Value::Texts(
            text.split([',', ' '])
                .filter(|word| !word.is_empty())
                .map(|word| (word.to_owned(), at.clone()))
                .collect(),
        ),
        OptionKind::Switch => match text {
            "true" | "1" | "yes" => Value::Switch(true),
            "false" | "0" | "no" => Value::Switch(false),
            _ => Value::Text(text.to_owned()),
        },
        OptionKind::Number(..) => text
            .trim()
            .parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Number),
        OptionKind::Decimal(_) => text
            .trim()
            .parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Decimal),
    };
    Written { spec, value, at }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    raw: Raw,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn at(&self, span: &Range<usize>) -> At {
        let (line, column) = line_column(self.text, span.start);
        At {
            place: self.file.to_owned(),
            line,
            column,
        }
    }

    /// The options in a table whose key is `above`.
    fn table(&mut self, table: &DeTable<'_>, above: &str) {
        for (key, value) in table.iter() {
            let name: &str = key.get_ref();
            let path = if above.is_empty() {
                name.to_owned()
            } else {
                format!("{above}.{name}")
            };
            let at = self.at(&key.span());
            if path == "keys" {
                self.keys(&at, value);
            } else if let Some(spec) = spec(&path) {
                let value = self.value(value);
                self.raw.options.push(Written { spec, value, at });
            } else if OPTIONS.iter().any(|option| is_below(option.key, &path)) {
                match value.get_ref() {
                    DeValue::Table(table) => self.table(table, &path),
                    other => {
                        let message = format!("`{path}` is a group of options, not {}", kind_of(other));
                        let hint = format!("write [{path}] and its options below");
                        self.problems.push(at.problem(message, hint));
                    }
                }
            } else {
                let place = if above.is_empty() {
                    String::new()
                } else {
                    format!(" in [{above}]")
                };
                let hint = hint_among(name, &siblings(above));
                self.problems
                    .push(at.problem(format!("unknown option `{name}`{place}"), hint));
            }
        }
    }

    fn value(&self, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(on) => Value::Switch(*on),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Number(i64::MAX), Value::Number)
            }
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .map_or(Value::Other("a number with a fraction"), Value::Decimal),
            DeValue::Array(items) => {
                let texts: Option<Vec<_>> = items
                    .iter()
                    .map(|item| Some((item.get_ref().as_str()?.to_owned(), self.at(&item.span()))))
                    .collect();
                texts.map_or(Value::Other("a list of something else"), Value::Texts)
            }
            other => Value::Other(kind_of(other)),
        }
    }

    /// `[keys]`: a table a place, in it a list of keys an action.
    fn keys(&mut self, at: &At, value: &Spanned<DeValue<'_>>) {
        const FORM: &str = "write [keys] and below it PLACE.ACTION = [\"key\"]; `automem config keys` lists them";
        let DeValue::Table(places) = value.get_ref() else {
            self.problems.push(at.problem("`keys` is a group of keys", FORM));
            return;
        };
        for (place, actions) in places.iter() {
            let place_at = self.at(&place.span());
            let DeValue::Table(actions) = actions.get_ref() else {
                let message = format!("`keys.{}` names a place without an action", place.get_ref());
                self.problems.push(place_at.problem(message, FORM));
                continue;
            };
            for (action, keys) in actions.iter() {
                let action_at = self.at(&action.span());
                let keys = match self.value(keys) {
                    Value::Texts(keys) => keys,
                    Value::Text(key) => vec![(key, self.at(&keys.span()))],
                    _ => {
                        let message = format!("the keys of `{}` are no list of texts", action.get_ref());
                        self.problems.push(action_at.problem(message, FORM));
                        continue;
                    }
                };
                self.raw.keys.push(RawKeys {
                    place: (place.get_ref().to_string(), place_at.clone()),
                    action: (action.get_ref().to_string(), action_at),
                    keys,
                });
            }
        }
    }
}

fn is_below(key: &str, group: &str) -> bool {
    key.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// Names that may stand in a group.
fn siblings(group: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = OPTIONS
        .iter()
        .filter_map(|option| {
            let rest = if group.is_empty() {
                option.key
            } else {
                option.key.strip_prefix(group)?.strip_prefix('.')?
            };
            rest.split('.').next()
        })
        .collect();
    if group.is_empty() {
        names.push("keys");
    }
    names.dedup();
    names
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a group",
    }
}
