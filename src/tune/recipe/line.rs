//! A configuration in one line, as the reference writes it:
//! `RANK:ALPHA:DROPOUT:LR:EPOCHS:BATCH:GRAD_ACCUM:CUTOFF:LR_SCHED:WARMUP:SAVE:NUM_GPUS:TARGET`.

use std::str::FromStr;

use super::super::TuneError;
use super::config::{SEED, Schedule, Targets, TrainConfig, target_names};

/// Names of the fields, for people, and one that can be used.
const FIELDS: [(&str, &str); 13] = [
    ("RANK", "16"),
    ("ALPHA", "32"),
    ("DROPOUT", "0.0"),
    ("LR", "1.0e-3"),
    ("EPOCHS", "3"),
    ("BATCH", "1"),
    ("GRAD_ACCUM", "8"),
    ("CUTOFF", "4096"),
    ("LR_SCHED", "cosine"),
    ("WARMUP", "0.05"),
    ("SAVE", "false"),
    ("NUM_GPUS", "1"),
    ("TARGET", "ATTN"),
];

/// A number with a point and, where it is small, an exponent: what YAML 1.1 and TOML both read as a number.
pub(in crate::tune) fn scientific(number: f64) -> String {
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

/// The fields of a line, taken one after the other.
struct Fields<'a> {
    line: &'a str,
    all: Vec<&'a str>,
    at: usize,
}

impl<'a> Fields<'a> {
    fn text(&mut self) -> &'a str {
        let field = self.all.get(self.at).copied().unwrap_or_default().trim();
        self.at += 1;
        field
    }

    /// What is wrong with the field that was taken last.
    fn wrong(&self, why: &str) -> TuneError {
        let at = self.at.saturating_sub(1);
        let (name, example) = FIELDS[at.min(FIELDS.len() - 1)];
        let field = self.all.get(at).copied().unwrap_or_default();
        TuneError::data(
            format!(
                "field {} ({name}) of `{}` is `{}`: {why}",
                self.at,
                shown(self.line),
                shown(field)
            ),
            format!("write for example {example}"),
        )
    }

    fn number<T: FromStr>(&mut self, why: &str) -> Result<T, TuneError> {
        self.text().parse().map_err(|_| self.wrong(why))
    }

    fn whole(&mut self) -> Result<u32, TuneError> {
        self.number("that is no whole number")
    }

    fn decimal(&mut self) -> Result<f64, TuneError> {
        self.number("that is no number")
    }

    fn schedule(&mut self) -> Result<Schedule, TuneError> {
        match self.text().to_ascii_lowercase().as_str() {
            "cosine" => Ok(Schedule::Cosine),
            "linear" => Ok(Schedule::Linear),
            "constant" => Ok(Schedule::Constant),
            _ => Err(self.wrong("the learning rate falls by `cosine`, `linear` or not at all (`constant`)")),
        }
    }

    fn switch(&mut self) -> Result<bool, TuneError> {
        match self.text().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong("that is neither `true` nor `false`")),
        }
    }

    fn targets(&mut self) -> Result<Targets, TuneError> {
        let text = self.text();
        Ok(match text.to_ascii_lowercase().as_str() {
            "attn" => Targets::Attn,
            "mlp" => Targets::Mlp,
            "all" => Targets::All,
            _ => {
                let names = text.split(['+', ',']).map(|name| name.trim().to_owned());
                let known: Vec<&str> = target_names().collect();
                let targets: Vec<String> = names.collect();
                if targets.iter().any(|name| !known.contains(&name.as_str())) {
                    let why = format!("it is ATTN, MLP, ALL, or some of {} joined with `+`", known.join(", "));
                    return Err(self.wrong(&why));
                }
                Targets::Names(targets)
            }
        })
    }
}

/// A text of the command line, short enough for a message.
fn shown(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

impl TrainConfig {
    /// Reads the one-line form. The seed is not in it and is 42.
    ///
    /// # Errors
    /// Which field is wrong, and what goes there.
    pub fn parse_line(line: &str) -> Result<Self, TuneError> {
        let all: Vec<&str> = line.split(':').collect();
        if all.len() != FIELDS.len() {
            let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
            let example: Vec<&str> = FIELDS.iter().map(|(_, example)| *example).collect();
            return Err(TuneError::data(
                format!("`{}` has {} fields, not {}", shown(line), all.len(), FIELDS.len()),
                format!("write {}, for example {}", names.join(":"), example.join(":")),
            ));
        }
        let mut fields = Fields { line, all, at: 0 };
        let config = Self {
            rank: fields.whole()?,
            alpha: fields.decimal()?,
            dropout: fields.decimal()?,
            learning_rate: fields.decimal()?,
            epochs: fields.whole()?,
            batch: fields.whole()?,
            accumulation: fields.whole()?,
            cutoff: fields.whole()?,
            schedule: fields.schedule()?,
            warmup: fields.decimal()?,
            save: fields.switch()?,
            gpus: fields.whole()?,
            targets: fields.targets()?,
            seed: SEED,
        };
        config.check()?;
        Ok(config)
    }

    /// The one-line form; the seed is not in it.
    pub fn line(&self) -> String {
        let targets = match &self.targets {
            Targets::Attn => "ATTN".to_owned(),
            Targets::Mlp => "MLP".to_owned(),
            Targets::All => "ALL".to_owned(),
            Targets::Names(names) => names.join("+"),
        };
        format!(
            "{}:{}:{:?}:{}:{}:{}:{}:{}:{}:{:?}:{}:{}:{targets}",
            self.rank,
            self.alpha,
            self.dropout,
            scientific(self.learning_rate),
            self.epochs,
            self.batch,
            self.accumulation,
            self.cutoff,
            self.schedule.word(),
            self.warmup,
            self.save,
            self.gpus,
        )
    }
}

impl Schedule {
    /// `cosine`, `linear` or `constant`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Linear => "linear",
            Self::Constant => "constant",
        }
    }
}
