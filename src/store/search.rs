//! Finds a text anywhere in a run by scanning its blocks, on two threads.
//!
//! Owns what is looked at and what a hit says. There is no index: a run of 100,000 steps is read
//! once, and what does not hold the text is never parsed.

use std::fmt;
use std::ops::ControlFlow;

use regex::{Regex, RegexBuilder, bytes};

use super::error::StoreError;
use super::reader::{Reader, lines};
use super::scan::{Progress, Stretch, in_parallel};
use crate::jobs::Cancel;
use crate::types::{Body, EpisodeNo, Phase, StepNo, TurnNo};

/// Bytes of text before and after a find in an excerpt.
const AROUND: usize = 48;

/// One place where the text was found (the first find there).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Episode.
    pub episode: EpisodeNo,
    /// Step.
    pub step: StepNo,
    /// Which of the step's events holds it, from 0.
    pub event: usize,
    /// Where in the step.
    pub place: Place,
    /// The text around the find, on one line.
    pub excerpt: String,
}

/// A place in a step that holds text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Memory files the episode began with.
    Inherited(String),
    /// What the world showed.
    Observation,
    /// The exact prompt of a turn.
    Prompt(Phase, TurnNo),
    /// The exact answer of a turn.
    Response(Phase, TurnNo),
    /// What a memory operation was asked.
    OpArguments(Phase, String),
    /// What a memory operation gave back.
    OpResult(Phase, String),
    /// The action, as written or as played.
    Action,
    /// A note, a refusal or a failure.
    Note,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherited(path) => write!(f, "inherited {path}"),
            Self::Observation => f.write_str("observation"),
            Self::Prompt(phase, turn) => write!(f, "{} prompt {turn}", phase.word()),
            Self::Response(phase, turn) => write!(f, "{} response {turn}", phase.word()),
            Self::OpArguments(phase, op) => write!(f, "{} {op} arguments", phase.word()),
            Self::OpResult(phase, op) => write!(f, "{} {op} result", phase.word()),
            Self::Action => f.write_str("action"),
            Self::Note => f.write_str("note"),
        }
    }
}

/// What is looked for: in texts, and in their stored form.
struct Needle {
    plain: Regex,
    stored: bytes::Regex,
}

impl Needle {
    fn new(text: &str) -> Option<Self> {
        let stored = serde_json::to_string(text).ok()?;
        let stored = stored.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self {
            plain: RegexBuilder::new(&regex::escape(text))
                .case_insensitive(true)
                .build()
                .ok()?,
            stored: bytes::RegexBuilder::new(&regex::escape(stored))
                .case_insensitive(true)
                .build()
                .ok()?,
        })
    }

    /// The find in a text with what stands around it.
    fn excerpt(&self, text: &str) -> Option<String> {
        let found = self.plain.find(text)?;
        let mut start = found.start().saturating_sub(AROUND);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = (found.start() + (found.len()).min(4 * AROUND) + AROUND).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let line: Vec<&str> = text[start..end].split_whitespace().collect();
        Some(format!(
            "{}{}{}",
            if start > 0 { "…" } else { "" },
            line.join(" "),
            if end < text.len() { "…" } else { "" }
        ))
    }
}

impl Reader {
    /// Finds a text in observations, prompts, answers, memory operations, actions and notes;
    /// capitals and small letters are alike. Hits come in the order of the run.
    ///
    /// # Errors
    /// When it is cancelled or the file is damaged.
    pub fn search(
        &self,
        text: &str,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Hit>, StoreError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let needle = Needle::new(text).ok_or_else(|| StoreError::Failed {
            path: self.path().to_owned(),
            what: "the text is too long to search for".to_owned(),
        })?;
        let stretches = self.stretches((EpisodeNo(0), StepNo(0)))?;
        in_parallel(self.path(), &stretches, cancel, progress, &|reader, stretch| {
            reader.search_stretch(stretch, &needle, cancel)
        })
    }

    /// Looks at the stored text as it is; only lines that hold what is looked for are parsed.
    fn search_stretch(&self, stretch: &Stretch, needle: &Needle, cancel: &Cancel) -> Result<Vec<Hit>, StoreError> {
        let mut hits = Vec::new();
        self.walk(stretch, &mut |stored| {
            if cancel.is_cancelled() {
                return Err(StoreError::Cancelled);
            }
            if !needle.stored.is_match(&stored.text.lines) {
                return Ok(());
            }
            let place = (stretch.episode, stored.step);
            for (at, line) in lines(&stored.text.lines).enumerate() {
                if !needle.stored.is_match(line) {
                    continue;
                }
                let mut events = Vec::new();
                let line = std::iter::once(line);
                self.parse(line, &stored.text.grids, place, stored.who, &mut events)?;
                for event in events {
                    look(&event.body, &mut |place, text| {
                        let Some(excerpt) = needle.excerpt(text) else {
                            return ControlFlow::Continue(());
                        };
                        hits.push(Hit {
                            episode: stretch.episode,
                            step: stored.step,
                            event: stored.before + at,
                            place,
                            excerpt,
                        });
                        ControlFlow::Break(())
                    });
                }
            }
            Ok(())
        })?;
        hits.sort_by_key(|hit| hit.step);
        Ok(hits)
    }
}

/// Shows every text of an event with its place; `look` breaks to skip what else that place holds.
fn look(body: &Body, look: &mut dyn FnMut(Place, &str) -> ControlFlow<()>) {
    let mut all = |place: Place, texts: &[&str]| {
        for text in texts {
            if look(place.clone(), text).is_break() {
                break;
            }
        }
    };
    match body {
        Body::EpisodeStarted { inherited, .. } => {
            for (path, file) in inherited {
                all(Place::Inherited(path.clone()), &[file]);
            }
        }
        Body::Observed { frame } => all(Place::Observation, &[&frame.long, &frame.short]),
        Body::TurnFinished { turn } => {
            all(Place::Prompt(turn.phase, turn.turn), &[&turn.prompt]);
            all(Place::Response(turn.phase, turn.turn), &[&turn.response]);
        }
        Body::MemoryOp { op } => {
            let args: Vec<&str> = op.args.iter().map(String::as_str).collect();
            all(Place::OpArguments(op.phase, op.op.clone()), &args);
            all(Place::OpResult(op.phase, op.op.clone()), &[&op.outcome.text]);
        }
        Body::ActionCommitted { raw, validated, .. } => all(Place::Action, &[validated, raw]),
        Body::ActionRejected { raw, reason } => all(Place::Note, &[raw, reason]),
        Body::HookFailed { hook, message } => all(Place::Note, &[hook, message]),
        Body::ModelFailed { message, .. } | Body::WorldFailed { message } => all(Place::Note, &[message]),
        Body::Annotated { text } => all(Place::Note, &[text]),
        Body::HumanActed { action } => all(Place::Action, &[action]),
        Body::HumanSaid { text } => all(Place::Note, &[text]),
        _ => {}
    }
}
