//! Blame: for every line of memory, the step that wrote it and the steps that read it since.
//!
//! A pure fold over an episode's events, one at a time, so that it follows a live episode and a
//! record alike and costs as much as the lines an event touches.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::lines::{Line, Origin, edit, new_lines};
use crate::types::{
    ApplyError, Author, Body, Edit, Event, MemoryChange, MemoryFiles, MemoryOp, OpStatus, Phase, StepNo,
};

/// The origins of all lines of an episode's memory. Feed it the episode's events in order, up to
/// and with the step of interest.
#[derive(Debug, Clone, Default)]
pub struct Blame {
    files: BTreeMap<String, Vec<Line>>,
    initial: MemoryFiles,
    /// Where the lines come from that the last event showed, each line once a step.
    shown: Vec<Origin>,
}

/// One line as `automem blame` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlameLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its text without the line end.
    pub text: String,
    /// The step that wrote it; 0 with `by: scaffold` and no phase for initial files.
    pub step: StepNo,
    /// The phase that wrote it; `None` outside the agent's loop.
    pub phase: Option<Phase>,
    /// Who wrote it.
    pub by: Author,
    /// The steps that were shown it, in order.
    pub read_at: Vec<StepNo>,
}

impl Blame {
    /// Blame of an episode that has not begun: no files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next event. Events that do not concern memory cost nothing.
    ///
    /// # Errors
    /// When a change does not fit the files so far, because events are missing or damaged.
    pub fn push(&mut self, event: &Event) -> Result<(), ApplyError> {
        self.take(event.at.step, &event.body)
    }

    /// The same, for a step's events without their place.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn take(&mut self, step: StepNo, body: &Body) -> Result<(), ApplyError> {
        self.shown.clear();
        match body {
            Body::EpisodeStarted { inherited, .. } => {
                self.initial = inherited.clone();
                self.start_over();
                Ok(())
            }
            Body::EpisodeAttempt { .. } => {
                self.start_over();
                Ok(())
            }
            Body::MemoryOp { op } => {
                self.note_reads(op, step);
                let origin = Origin {
                    step,
                    phase: Some(op.phase),
                    by: op.by,
                };
                self.apply_all(&op.changes, origin)
            }
            Body::HumanEdited { changes } => {
                let origin = Origin {
                    step,
                    phase: None,
                    by: Author::Human,
                };
                self.apply_all(changes, origin)
            }
            _ => Ok(()),
        }
    }

    /// Where the lines come from that the last event showed and its step had not been shown before.
    pub fn shown(&self) -> &[Origin] {
        &self.shown
    }

    /// The lines of a file; `None` when there is no such file.
    pub fn lines(&self, path: &str) -> Option<&[Line]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The lines of a file in the form that is printed; `None` when there is no such file.
    pub fn file(&self, path: &str) -> Option<Vec<BlameLine>> {
        let lines = self.files.get(path)?;
        let lines = lines.iter().enumerate().map(|(i, line)| {
            let origin = line.origin();
            BlameLine {
                line: i + 1,
                text: line.text().to_owned(),
                step: origin.step,
                phase: origin.phase,
                by: origin.by,
                read_at: line.read_at().collect(),
            }
        });
        Some(lines.collect())
    }

    /// The text of a file, put together from its lines.
    pub fn text(&self, path: &str) -> Option<String> {
        Some(self.files.get(path)?.iter().map(Line::whole).collect())
    }

    /// All paths there are.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    fn start_over(&mut self) {
        let origin = Origin {
            step: StepNo(0),
            phase: None,
            by: Author::Scaffold,
        };
        self.files = self
            .initial
            .iter()
            .map(|(path, text)| (path.clone(), new_lines(text, origin)))
            .collect();
    }

    fn apply_all(&mut self, changes: &[MemoryChange], origin: Origin) -> Result<(), ApplyError> {
        changes.iter().try_for_each(|change| self.apply(change, origin))
    }

    fn apply(&mut self, change: &MemoryChange, origin: Origin) -> Result<(), ApplyError> {
        let path = &change.path;
        let missing = || ApplyError {
            path: path.clone(),
            why: "it is not there",
        };
        match &change.edit {
            Edit::Delete => self.files.remove(path).map(|_| ()).ok_or_else(missing),
            Edit::Create { text } | Edit::Replace { text } if !self.files.contains_key(path) => {
                self.files.insert(path.clone(), new_lines(text, origin));
                Ok(())
            }
            change => edit(path, self.files.get_mut(path).ok_or_else(missing)?, change, origin),
        }
    }

    /// Marks the lines that an operation showed. Goes by what was shown, not by what was asked:
    /// a line that the budget cut off was not read.
    fn note_reads(&mut self, op: &MemoryOp, step: StepNo) {
        if op.outcome.status != OpStatus::Ok || !op.changes.is_empty() || op.outcome.text.is_empty() {
            return;
        }
        let file = op.args.first().map_or("", |arg| plain(arg));
        let shown = &op.outcome.text;
        match op.op.as_str() {
            "READ" => self.shown_from_start(file, shown, op.outcome.cut > 0, step),
            "TAIL" => self.shown_at_end(file, shown, step),
            "SEARCH" => self.found(file, shown, step),
            "APPEND" | "WRITE" | "CREATE" | "DELETE" | "COUNT" | "LIST" => {}
            // An operation of a scaffold: what it shows of the file it names, it has read.
            _ => self.shown_anywhere(file, shown, step),
        }
    }

    fn shown_from_start(&mut self, file: &str, shown: &str, cut: bool, step: StepNo) {
        let Some(lines) = self.files.get_mut(file) else { return };
        for (line, shown) in lines.iter_mut().zip(shown.lines()) {
            if line.text() == shown || (cut && !shown.is_empty() && line.text().starts_with(shown)) {
                note(line, step, &mut self.shown);
            }
        }
    }

    fn shown_at_end(&mut self, file: &str, shown: &str, step: StepNo) {
        let Some(lines) = self.files.get_mut(file) else { return };
        for (line, shown) in lines.iter_mut().rev().zip(shown.lines().rev()) {
            if line.text() != shown {
                return;
            }
            note(line, step, &mut self.shown);
        }
    }

    /// `12: text` lines, under `path:` lines where several files were searched.
    fn found(&mut self, file: &str, shown: &str, step: StepNo) {
        let mut path = if self.files.contains_key(file) {
            Some(file.to_owned())
        } else {
            self.only_match(file)
        };
        for shown in shown.lines() {
            let numbered = shown
                .split_once(": ")
                .or_else(|| shown.strip_suffix(':').map(|n| (n, "")))
                .and_then(|(n, text)| Some((n.parse::<usize>().ok()?, text)));
            match numbered {
                Some((n, text)) => {
                    let line = path
                        .as_ref()
                        .and_then(|path| self.files.get_mut(path)?.get_mut(n.checked_sub(1)?));
                    if let Some(line) = line.filter(|line| line.text() == text) {
                        note(line, step, &mut self.shown);
                    }
                }
                None => {
                    if let Some(name) = shown.strip_suffix(':').filter(|name| self.files.contains_key(*name)) {
                        path = Some(name.to_owned());
                    }
                }
            }
        }
    }

    /// The file that a pattern means when it means only one (then no `path:` line is shown).
    fn only_match(&self, pattern: &str) -> Option<String> {
        let (start, end) = pattern.split_once('*').unwrap_or(("", ""));
        let mut matching = self
            .files
            .keys()
            .filter(|path| path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end));
        let first = matching.next()?;
        matching.next().is_none().then(|| first.clone())
    }

    fn shown_anywhere(&mut self, file: &str, shown: &str, step: StepNo) {
        let Some(lines) = self.files.get_mut(file) else { return };
        let shown: HashSet<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        for line in lines {
            if shown.contains(line.text().trim()) {
                note(line, step, &mut self.shown);
            }
        }
    }
}

fn note(line: &mut Line, step: StepNo, shown: &mut Vec<Origin>) {
    if line.mark_read(step) {
        shown.push(line.origin());
    }
}

/// A file name as operations understand it.
fn plain(arg: &str) -> &str {
    let mut path = arg.trim();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
