//! Settings as people read them: a line an option with its origin, and the commented sample file.

use serde::Serialize;

use super::options::OPTIONS;
use super::resolve::{Checked, Origin, Resolved};

/// An option as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its key.
    pub key: &'static str,
    /// Its value as written in TOML; `None` when it is left to the program.
    pub value: Option<String>,
    /// `default`, `FILE:LINE` or the variable's name.
    pub origin: String,
    /// The variable that sets it.
    pub variable: String,
    /// What may be written.
    pub allowed: String,
    /// What it does.
    pub about: &'static str,
}

/// A line for `[keys]` of the sample file: place, action, keys.
pub type ExtraKeys = (String, String, Vec<String>);

impl Resolved {
    /// Every option in the table's order.
    pub fn entries(&self) -> Vec<Entry> {
        self.values
            .iter()
            .map(|(spec, value, origin)| Entry {
                key: spec.key,
                value: value.as_ref().map(written),
                origin: match origin {
                    Origin::Default => "default".to_owned(),
                    Origin::File { path, line } => format!("{path}:{line}"),
                    Origin::Variable(name) => name.clone(),
                },
                variable: spec.variable(),
                allowed: spec.kind.words(),
                about: spec.about,
            })
            .collect()
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn written(value: &Checked) -> String {
    match value {
        Checked::Text(text) => quoted(text),
        Checked::Switch(on) => on.to_string(),
        Checked::Number(number) => number.to_string(),
        Checked::Decimal(number) => toml::Value::Float(*number).to_string(),
        Checked::Texts(texts) => list(texts),
    }
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// The reference of every option as Markdown.
pub fn reference() -> String {
    let mut text = "# Settings\n\n\
        Written by `automem config show --markdown`; do not edit.\n\n\
        Settings are read from `config.toml`: the user's (`automem config path` says where), then the workspace's, \
        `.automem/config.toml`, over it. `AUTOMEM_CONFIG` names another file, which then stands alone. A variable of \
        the environment lies over the files, a flag of the command line over everything. A file with a mistake stops \
        the program before a screen opens; `automem config check` lists all mistakes with their places.\n\n\
        | option | default | may be | variable | what it does |\n|---|---|---|---|---|\n"
        .to_owned();
    for spec in OPTIONS {
        let default = spec
            .default
            .map_or_else(|| "-".to_owned(), |value| format!("`{value}`"));
        text.push_str(&format!(
            "| `{}` | {default} | {} | `{}` | {} |\n",
            spec.key,
            spec.kind.words(),
            spec.variable(),
            spec.about
        ));
    }
    text.push_str(
        "\n## Keys\n\n\
        `[keys]` gives actions other keys: `PLACE.ACTION = [\"key\", ...]`. An empty list takes an action's keys away. \
        `automem config keys` lists every place, action and key. A key is a letter or sign as it is typed, `C-` and a \
        small letter for Ctrl, or one of Space, Tab, S-Tab, Enter, Esc, Backspace, Left, Right, Up, Down, PgUp, PgDn, \
        Home, End, F1 to F12. Two actions of one place cannot have the same key. The hint line, the help and the \
        palette show the keys in force.\n\n\
        ```toml\n[keys]\nwatch.play-pause = [\"p\", \"Space\"]\nruns.delete = []\n```\n",
    );
    text
}

/// A `config.toml` with every option as a comment, and the given keys likewise.
pub fn sample(keys: &[ExtraKeys]) -> String {
    let mut text = "# Settings of automem. Remove the `#` before what shall change.\n\
                    # Later ones win: the user's file, the workspace's, the environment, the command line.\n"
        .to_owned();
    let mut group = "";
    for spec in OPTIONS {
        let (above, name) = spec.key.rsplit_once('.').unwrap_or(("", spec.key));
        if above != group {
            text.push_str(&format!("\n[{above}]\n"));
            group = above;
        }
        let value = spec.example;
        text.push_str(&format!(
            "# {} ({}; {})\n# {name} = {value}\n",
            spec.about,
            spec.kind.words(),
            spec.variable()
        ));
    }
    if !keys.is_empty() {
        text.push_str("\n# Keys of every place; an empty list takes them away.\n[keys]\n");
        for (place, action, keys) in keys {
            text.push_str(&format!("# {place}.{action} = {}\n", list(keys)));
        }
    }
    text
}
