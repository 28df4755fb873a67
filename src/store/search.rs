//! Finds a text anywhere in a run by scanning its blocks, on two threads.
//!
//! Owns what is looked at and what a hit says. There is no index: a run of 100,000 steps is read
//! once, and what does not hold the text is never parsed.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use regex::{Regex, RegexBuilder, bytes};

use super::error::StoreError;
use super::reader::{Reader, lines, recorded_steps};
use crate::jobs::Cancel;
use crate::types::{Body, EpisodeNo, Phase, StepNo, TurnNo};

/// Threads that scan.
const THREADS: usize = 2;
/// Steps a thread takes at once.
const CHUNK: usize = 128;
/// Bytes of text before and after a find in an excerpt.
const AROUND: usize = 48;

/// One place where the text was found (the first find there).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Episode.
    pub episode: EpisodeNo,
    /// Step.
    pub step: StepNo,
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

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Steps that were looked at.
    pub done: usize,
    /// Steps there are.
    pub total: usize,
    /// Hits so far.
    pub hits: usize,
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

type Chunk = (EpisodeNo, Vec<StepNo>);

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
        let mut chunks: Vec<Chunk> = Vec::new();
        for episode in self.episodes()? {
            let steps = self.with(|file| recorded_steps(file, episode.episode))?;
            chunks.extend(steps.chunks(CHUNK).map(|steps| (episode.episode, steps.to_vec())));
        }
        scan(self.path(), &chunks, &needle, cancel, progress)
    }

    /// Looks at one step; only lines that hold the text are parsed.
    fn search_step(
        &self,
        episode: EpisodeNo,
        step: StepNo,
        needle: &Needle,
        hits: &mut Vec<Hit>,
    ) -> Result<(), StoreError> {
        let (who, texts) = self.with(|file| {
            let row = file.episode_row(episode)?;
            Ok((row.who.clone(), self.texts(file, &row, step)?))
        })?;
        for text in &texts {
            let mut events = Vec::new();
            let found = lines(&text.lines).filter(|line| needle.stored.is_match(line));
            self.parse(found, &text.grids, (episode, step), &who, &mut events)?;
            for event in events {
                look(&event.body, &mut |place, text| {
                    if let Some(excerpt) = needle.excerpt(text) {
                        hits.push(Hit {
                            episode,
                            step,
                            place,
                            excerpt,
                        });
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        Ok(())
    }
}

/// Scans chunks on several threads; progress is told on this one.
fn scan(
    path: &Path,
    chunks: &[Chunk],
    needle: &Needle,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Hit>, StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let mut found: Vec<Vec<Hit>> = vec![Vec::new(); chunks.len()];
    let mut state = Progress {
        total: chunks.iter().map(|(_, steps)| steps.len()).sum(),
        ..Progress::default()
    };
    let stop = Cancel::new();
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(chunks.len()) {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                let reader = Reader::open(path);
                while !cancel.is_cancelled() && !stop.is_cancelled() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((episode, steps)) = chunks.get(at) else { break };
                    let mut hits = Vec::new();
                    let result = match &reader {
                        Ok(reader) => steps.iter().try_for_each(|step| {
                            if cancel.is_cancelled() {
                                return Err(StoreError::Cancelled);
                            }
                            reader.search_step(*episode, *step, needle, &mut hits)
                        }),
                        // The first thread to fail says why; opening again gives the same answer.
                        Err(_) => Reader::open(path).map(|_| ()),
                    };
                    if sender.send((at, result.map(|()| hits))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut failure = None;
        for (at, result) in results {
            match result {
                Ok(hits) => {
                    state.done += chunks.get(at).map_or(0, |(_, steps)| steps.len());
                    state.hits += hits.len();
                    if let Some(slot) = found.get_mut(at) {
                        *slot = hits;
                    }
                    progress(state);
                }
                Err(error) => {
                    stop.cancel();
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) => Err(error),
            None if cancel.is_cancelled() => Err(StoreError::Cancelled),
            None => Ok(()),
        }
    })?;
    Ok(found.into_iter().flatten().collect())
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
