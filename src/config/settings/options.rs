//! The one table of options: it drives reading, `automem config show`, the sample file and the docs.
//!
//! Owns names, kinds, ranges and defaults. Must not read anything.

/// What may be written for an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// Any text but an empty one.
    Text,
    /// Seeds, such as `42` or `42..45`.
    Seeds,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// A number, with or without a fraction, from 0 to this one.
    Decimal(u32),
}

impl OptionKind {
    /// What may be written, in words.
    pub fn words(self) -> String {
        let quoted = |words: &[&str]| {
            words
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(" ")
        };
        match self {
            Self::Text => "a text".to_owned(),
            Self::Seeds => "42, or 42..45, or 1,2,9".to_owned(),
            Self::Word(words) => format!("one of {}", quoted(words)),
            Self::Words(words) => format!("a list of {}", quoted(words)),
            Self::Switch => "true or false".to_owned(),
            Self::Number(least, most) => format!("a whole number from {least} to {most}"),
            Self::Decimal(most) => format!("a number from 0 to {most}"),
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptionSpec {
    /// Its key in `config.toml`, with dots.
    pub key: &'static str,
    /// What may be written.
    pub kind: OptionKind,
    /// Its value when nobody says otherwise, as written in TOML; `None` leaves it to the program.
    pub default: Option<&'static str>,
    /// A value for the sample file: the default, or an example.
    pub example: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
}

impl OptionSpec {
    /// The environment variable that sets it: `AUTOMEM_RUN_MODEL` for `run.model`.
    pub fn variable(&self) -> String {
        format!("AUTOMEM_{}", self.key.replace('.', "_").to_uppercase())
    }
}

const fn option(key: &'static str, kind: OptionKind, default: &'static str, about: &'static str) -> OptionSpec {
    OptionSpec {
        key,
        kind,
        default: Some(default),
        example: default,
        about,
    }
}

const fn open(key: &'static str, kind: OptionKind, example: &'static str, about: &'static str) -> OptionSpec {
    OptionSpec {
        key,
        kind,
        default: None,
        example,
        about,
    }
}

/// Speeds of a replay.
pub(super) const SPEEDS: &[&str] = &["1/4", "1/2", "1", "2", "4", "8", "16", "32", "64", "128", "256"];
/// Colours of the terminal.
pub(super) const COLORS: &[&str] = &["auto", "mono", "16", "256", "true"];
/// How pictures are drawn.
pub(super) const PICTURES: &[&str] = &[
    "auto",
    "off",
    "halfblocks",
    "letters",
    "mono",
    "kitty",
    "iterm2",
    "sixel",
];
/// Columns of the list of runs.
pub(super) const COLUMNS: &[&str] = &[
    "began", "world", "seed", "scaffold", "model", "steps", "score", "tokens", "state",
];
/// Orders of the list of runs.
pub(super) const SORTS: &[&str] = &["newest", "score", "steps", "model", "world", "state"];

use OptionKind::{Decimal, Number, Seeds, Switch, Text, Word, Words};

/// Every option there is, in the order in which they are shown.
#[rustfmt::skip]
pub const OPTIONS: &[OptionSpec] = &[
    option("theme", Text, "\"dark\"", "Colour theme"),
    option("colors", Word(COLORS), "\"auto\"", "Colours of the terminal; auto asks NO_COLOR, COLORTERM and TERM"),
    option("pictures", Word(PICTURES), "\"auto\"", "How the game is drawn; auto asks the terminal, off does not"),

    option("replay.speed", Word(SPEEDS), "\"1\"", "Speed a replay begins with; 1 is four steps a second"),
    option("scripted.step_ms", Number(0, 60_000), "250", "Milliseconds a step of a scripted player takes at least while it is watched"),

    option("runs.columns", Words(COLUMNS), "[]", "Columns of the list of runs; none leaves it to the width"),
    option("runs.sort", Word(SORTS), "\"newest\"", "Order of the list of runs"),

    option("run.env", Text, "\"crafter\"", "World that is played"),
    option("run.scaffold", Text, "\"crafter-v0\"", "Scaffold that is used"),
    option("run.model", Text, "\"scripted\"", "Who plays: scripted, a model's name, FILE.gguf, recorded:FILE"),
    open("run.specialist", Text, "\"memory-1\"", "Memory specialist: an adapter's name or file on the local model, or a whole model; without it one model does all"),
    option("run.seeds", Seeds, "\"42\"", "Seeds, one episode each: 42, or 42..45, or 1,2,9"),
    option("run.max_steps", Number(1, 10_000_000), "300", "Steps an episode may take"),
    option("run.workers", Number(1, 64), "1", "Episodes played at once"),
    option("run.exact", Switch, "false", "Repeat to the bit with local models (slow)"),
    open("run.threads", Number(1, 1024), "8", "Threads of a local model; without it the machine decides"),
    open("run.context", Number(128, 4_194_304), "8192", "Tokens of a local model's context; without it the model decides"),

    option("server.connect_s", Number(1, 3600), "10", "Seconds a model server may take to accept a connection"),
    option("server.first_byte_s", Number(1, 86_400), "300", "Seconds until the first word of an answer"),
    option("server.idle_s", Number(1, 86_400), "60", "Seconds between two parts of an answer"),
    option("server.retries", Number(0, 100), "5", "Times a failed request is tried again"),

    option("meta.max_tokens", Number(256, 1_000_000), "16384", "Tokens an answer of a meta-LLM may have"),
    option("meta.token_budget", Number(1_000, 1_000_000_000), "2000000", "Tokens a meta-LLM may use for a revision, prompts and answers of all its calls"),
    option("meta.command_s", Number(1, 86_400), "3600", "Seconds a command that writes a revision may take"),
    open("meta.input_per_million", Decimal(10_000), "3.0", "Dollars for a million prompt tokens of a meta-LLM; without it its cost is shown only where the server tells it"),
    open("meta.cached_per_million", Decimal(10_000), "0.3", "Dollars for a million prompt tokens taken from a cache; without it the same as others"),
    open("meta.output_per_million", Decimal(10_000), "15.0", "Dollars for a million answer tokens of a meta-LLM"),
];

/// The option of a key.
pub(super) fn spec(key: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|option| option.key == key)
}
