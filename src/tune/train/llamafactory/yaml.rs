//! Flat YAML, as LLaMA-Factory's parser (PyYAML, version 1.1 of the language) reads it.

use crate::tune::recipe::scientific;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Always quoted: `no`, `on`, `1e3` and the like would be something else.
    Text(String),
    Whole(u64),
    /// With a point: PyYAML reads `5e-5` as a text.
    Number(f64),
    Switch(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Switch(on)
    }
}

impl Value {
    fn text(&self) -> String {
        match self {
            // JSON's way of quoting is one of YAML's.
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) if (1e-3..1e6).contains(&number.abs()) || *number == 0.0 => format!("{number:?}"),
            Self::Number(number) => signed(scientific(*number)),
            Self::Switch(on) => on.to_string(),
        }
    }
}

/// PyYAML wants a sign before an exponent.
fn signed(number: String) -> String {
    match number.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => number,
    }
}

/// Lines of a file.
#[derive(Default)]
pub(super) struct Yaml(String);

impl Yaml {
    pub(super) fn heading(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&format!("### {text}\n"));
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.push_str(&format!("{key}: {}\n", value.into().text()));
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_what_they_are() {
        let text = |value: Value| value.text();
        assert_eq!(text(5e-5.into()), "5.0e-5");
        assert_eq!(text(0.05.into()), "0.05");
        assert_eq!(text(4.0.into()), "4.0");
        assert_eq!(text(0.0.into()), "0.0");
        assert_eq!(text(1e9.into()), "1.0e+9");
        assert_eq!(text("no".into()), "\"no\"");
        assert_eq!(text("C:\\models\\\"x\"\n".into()), "\"C:\\\\models\\\\\\\"x\\\"\\n\"");
        assert_eq!(text(true.into()), "true");
        assert_eq!(text(16_384_u32.into()), "16384");
    }
}
