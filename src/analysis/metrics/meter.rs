//! The meter of an episode: takes its events one at a time, and tells its numbers at any moment.
//!
//! A pure fold, so that a live episode and a record give the same numbers. Must not read files.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::evidence::{Evidence, Known, Missed, Waste, faced, statuses};
use super::shelf::{Came, Shelf, Told, came_of};
use super::tally::{FileTally, Metrics, REWARD_STEPS, Tally, Totals};
use super::text::{are_opposite, form_of, marks, says_where, things_in, tokens, trimmed};
use crate::types::{
    ActionBy, ApplyError, Author, Body, Event, Frame, MemoryChange, MemoryFiles, MemoryOp, Phase, StepNo, Turn, View,
};

/// Searches for which it is looked up whether the answer had been seen.
const MOST_LOOKUPS: u32 = 2000;

/// What the world showed, as far as it matters.
#[derive(Debug, Clone, Copy)]
struct Seen {
    step: u32,
    digest: u64,
    /// Where the agent stood, in worlds that tell.
    position: Option<(i32, i32)>,
    asleep: bool,
}

/// A finished step that waits for what the world shows next.
#[derive(Debug, Clone)]
struct Done {
    step: u32,
    action: String,
    informed: bool,
    wrote: bool,
    /// What came of it, once that is known.
    judged: Option<Waste>,
    /// Where the agent stood before it.
    came_from: Option<(i32, i32)>,
}

/// The numbers of an episode as far as it was played.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    things: &'static [&'static str],
    initial: MemoryFiles,
    shelf: Shelf,
    totals: Totals,
    /// Counts of the step under way.
    stage: Tally,
    stage_files: BTreeMap<String, FileTally>,
    action: String,
    before: Option<Seen>,
    now: Option<Seen>,
    /// The action before the last.
    earlier: Option<Done>,
    last: Option<Done>,
    /// Which of the last steps were informed.
    window: VecDeque<bool>,
    /// The step since which the observation has been what it is.
    shown_since: u32,
    /// Things that observations have named.
    seen_things: u64,
    lookups: u32,
    evidence: Evidence,
}

impl Meter {
    /// A meter for an episode of a world whose observations use these names for things.
    pub fn new(things: &'static [&'static str]) -> Self {
        let mut meter = Self {
            things,
            ..Self::default()
        };
        meter.start_over();
        meter
    }

    /// The numbers of the finished steps so far.
    pub fn metrics(&self) -> Metrics {
        self.totals.metrics()
    }

    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(in crate::analysis) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Words of the world's things, in the order of `Evidence::known`.
    pub(in crate::analysis) fn things(&self) -> &'static [&'static str] {
        self.things
    }

    /// Bytes, duplicate lines and lines of a file as it stands.
    pub(in crate::analysis) fn file(&self, path: &str) -> Option<(u64, u64, u64)> {
        let book = self.shelf.books().get(path)?;
        Some((book.bytes(), book.duplicates(), book.lines))
    }

    /// Whether no prompt has shown any line of a file.
    pub(in crate::analysis) fn is_unseen(&self, path: &str) -> bool {
        self.shelf.is_unseen(path)
    }

    fn start_over(&mut self) {
        let files = self
            .initial
            .iter()
            .map(|(path, text)| {
                let file = FileTally {
                    episodes: 1.0,
                    start_bytes: text.len() as f64,
                    ..FileTally::default()
                };
                (path.clone(), file)
            })
            .collect();
        *self = Self {
            things: self.things,
            shelf: Shelf::new(&self.initial, self.things),
            totals: Totals {
                files,
                episodes: 1.0,
                ..Totals::default()
            },
            evidence: Evidence {
                known: vec![Known::default(); self.things.len()],
                ..Evidence::default()
            },
            initial: std::mem::take(&mut self.initial),
            ..Self::default()
        };
        self.store_files();
    }

    /// Takes in the next event.
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
    pub fn take(&mut self, at: StepNo, body: &Body) -> Result<(), ApplyError> {
        let step = at.0;
        match body {
            Body::EpisodeStarted { inherited, .. } => {
                self.initial = inherited.clone();
                self.start_over();
            }
            Body::EpisodeAttempt { .. } => self.start_over(),
            Body::Observed { frame } => self.observed(step, frame),
            Body::TurnFinished { turn } => self.turn(step, turn),
            Body::MemoryOp { op } => self.op(step, op)?,
            Body::HumanEdited { changes } => {
                for change in changes {
                    self.apply(step, change, false)?;
                }
            }
            Body::ActionRejected { .. } => self.stage.rejected = 1.0,
            Body::ActionCommitted { validated, by, .. } => {
                self.action = validated.clone();
                if *by == ActionBy::Fallback {
                    self.stage.invalid = 1.0;
                    self.evidence.invalid.note(step);
                }
            }
            Body::ContextOverflow { .. } => {
                self.stage.overflows += 1.0;
                self.evidence.overflows.note(step);
            }
            Body::StepFinished {
                reward,
                progression,
                ms,
                ..
            } => self.finished(step, *reward, *progression, *ms),
            Body::EpisodeFinished { end } => self.evidence.end = Some((at, *end)),
            _ => {}
        }
        Ok(())
    }

    fn observed(&mut self, step: u32, frame: &Frame) {
        let mut hasher = DefaultHasher::new();
        (&frame.long, &frame.short).hash(&mut hasher);
        let (position, asleep) = match &frame.view {
            View::Tiles(view) => (Some(view.player), view.asleep),
            _ => (told_position(&frame.info), false),
        };
        let seen = Seen {
            step,
            digest: hasher.finish(),
            position,
            asleep,
        };
        if self.now.is_none_or(|now| now.step != step) {
            self.before = self.now.take();
            // What an unfinished step left is of no step.
            self.stage = Tally::default();
            self.stage_files.clear();
        }
        let same = self.before.is_some_and(|before| before.digest == seen.digest);
        self.now = Some(seen);
        self.judge(step);
        if !same {
            self.shown_since = step;
            let text = [frame.long.as_str(), frame.short.as_str()];
            text.iter().for_each(|text| self.look(step, text));
            let action = self.last.as_ref().map_or("", |last| last.action.as_str());
            let action = action.to_owned();
            self.evidence
                .status(step, statuses(&frame.short), &action, faced(&frame.long));
            self.evidence.last_seen.clone_from(&frame.long);
        }
    }

    /// Notes the words of an observation.
    fn look(&mut self, step: u32, text: &str) {
        for token in tokens(text) {
            let word = token.text.to_ascii_lowercase();
            match self.evidence.words.get_mut(&word) {
                Some((_, last)) => *last = step,
                None => {
                    self.seen_things |= things_in(&word, self.things);
                    self.evidence.words.insert(word, (step, step));
                }
            }
        }
    }

    /// Judges the step before, now that it is known what came of it.
    fn judge(&mut self, step: u32) {
        let (Some(before), Some(now), Some(last)) = (self.before, self.now, &mut self.last) else {
            return;
        };
        if last.step + 1 != step || before.step != last.step || last.judged.is_some() || before.asleep || now.asleep {
            return;
        }
        let earlier = self.earlier.as_ref().filter(|earlier| earlier.step + 1 == last.step);
        let undone = match (before.position, now.position) {
            (Some(here), Some(there)) => here != there && earlier.is_some_and(|e| e.came_from == Some(there)),
            _ => earlier.is_some_and(|earlier| are_opposite(&earlier.action, &last.action)),
        };
        let waste = if before.digest == now.digest {
            Some(Waste::Stuck)
        } else if undone {
            Some(Waste::Oscillating)
        } else {
            None
        };
        last.judged = waste;
        let tally = &mut self.totals.tally;
        tally.judged += 1.0;
        match waste {
            Some(Waste::Stuck) => tally.stuck += 1.0,
            Some(Waste::Oscillating) => tally.oscillating += 1.0,
            None => {}
        }
        if last.informed {
            tally.informed_judged += 1.0;
            tally.informed_unproductive += f64::from(u8::from(waste.is_some()));
        }
        self.evidence
            .judged(last.step, &last.action, waste, last.wrote, last.informed);
        if waste == Some(Waste::Stuck) {
            self.evidence.failed(before.digest, &last.action, last.step);
        }
    }

    fn turn(&mut self, step: u32, turn: &Turn) {
        let stage = &mut self.stage;
        stage.calls += 1.0;
        stage.call_ms += turn.ms;
        stage.prompt_tokens += f64::from(turn.prompt_tokens);
        stage.cached_tokens += f64::from(turn.cached_tokens);
        stage.completion_tokens += f64::from(turn.completion_tokens);
        stage.prompt_bytes += turn.prompt.len() as f64;
        let mut others = String::new();
        let mut shown: Vec<&str> = Vec::new();
        for whole in turn.prompt.split('\n') {
            let line = trimmed(whole);
            if line.is_empty() {
                continue;
            }
            let Some(entry) = self.shelf.line_of(line) else {
                others.push_str(line);
                others.push('\n');
                continue;
            };
            let (read, own) = entry.show(step);
            stage.lines_read += read as f64;
            if own && turn.phase == Phase::Plan {
                stage.informed = 1.0;
            }
            stage.memory_bytes += line.len() as f64;
            let mut things = entry.things;
            while things != 0 {
                if let Some(known) = self.evidence.known.get_mut(things.trailing_zeros() as usize) {
                    known.shown = Some(step);
                }
                things &= things - 1;
            }
            shown.push(line);
        }
        if shown.is_empty() {
            return;
        }
        let memory = shown.join("\n");
        let mut used = vec![false; shown.len()];
        let mut looked_up: Vec<&str> = Vec::new();
        for mark in marks(&turn.response) {
            if looked_up.contains(&mark) {
                continue;
            }
            looked_up.push(mark);
            if memory.contains(mark) && !others.contains(mark) {
                for (line, used) in shown.iter().zip(&mut used) {
                    *used |= line.contains(mark);
                }
            }
        }
        let used = shown.iter().zip(used).filter(|(_, used)| *used);
        stage.used_bytes += used.map(|(line, _)| line.len() as f64).sum::<f64>();
    }

    fn op(&mut self, step: u32, op: &MemoryOp) -> Result<(), ApplyError> {
        let own = op.by == Author::Model;
        let told = op
            .changes
            .iter()
            .map(|change| self.apply(step, change, own))
            .collect::<Result<Vec<_>, _>>()?;
        if !own {
            return Ok(());
        }
        self.stage.ops += 1.0;
        match came_of(op, &told) {
            Came::Failed => self.stage.failed_ops += 1.0,
            Came::Wrote { redundant } => self.wrote(step, op, redundant),
            Came::Retrieved { empty } => self.retrieved(step, op, empty),
            Came::Else => {}
        }
        Ok(())
    }

    fn wrote(&mut self, step: u32, op: &MemoryOp, redundant: bool) {
        let once = f64::from(u8::from(redundant));
        let chars: usize = op.args.iter().skip(1).map(|arg| arg.chars().count()).sum();
        self.stage.writes += 1.0;
        self.stage.log_writes += f64::from(u8::from(op.phase == Phase::Log));
        self.stage.redundant_writes += once;
        self.stage.chars_written += chars as f64;
        let path = written_file(op);
        let file = self.stage_files.entry(path.clone()).or_default();
        file.writes += 1.0;
        file.redundant_writes += once;
        file.chars_written += chars as f64;
        if redundant {
            self.evidence.file(&path).redundant.note(step);
        }
    }

    fn retrieved(&mut self, step: u32, op: &MemoryOp, empty: bool) {
        let once = f64::from(u8::from(empty));
        self.stage.retrievals += 1.0;
        self.stage.empty_retrievals += once;
        if empty {
            self.evidence.empty.note(step);
        }
        let asked = plain(op.args.first().map_or("", String::as_str)).to_owned();
        if op.op == "SEARCH" {
            self.stage.searches += 1.0;
            self.stage.empty_searches += once;
            let text = op.args.get(1).map_or("", String::as_str);
            self.evidence.searched(&asked, text, step, empty);
            if empty {
                self.look_up(step, &asked, text);
            }
        }
        let Some(book) = self.shelf.books().get(&asked) else {
            return;
        };
        let whole = op.op != "SEARCH" && !empty && op.outcome.cut == 0 && op.outcome.text.len() as u64 >= book.bytes();
        let file = self.stage_files.entry(asked.clone()).or_default();
        file.retrievals += 1.0;
        file.empty_retrievals += once;
        file.whole_reads += f64::from(u8::from(whole));
        if whole {
            self.evidence.file(&asked).whole.note(step);
        }
        if op.outcome.cut > 0 {
            self.evidence.file(&asked).cut.note(step);
        }
    }

    /// Whether what was searched for in vain had been seen, and never written.
    fn look_up(&mut self, step: u32, file: &str, text: &str) {
        if self.lookups >= MOST_LOOKUPS {
            return;
        }
        self.lookups += 1;
        for mark in marks(text) {
            let word = mark.to_ascii_lowercase();
            // Where the world's things are known, other words (the agent's own state, directions) are no facts.
            if !self.things.is_empty() && things_in(&word, self.things) == 0 {
                continue;
            }
            let Some(&(_, last)) = self.evidence.words.get(&word) else {
                continue;
            };
            let in_sight = last >= self.shown_since;
            if !in_sight && self.shelf.files_with(&word).is_empty() {
                self.evidence.miss(Missed {
                    word,
                    seen: StepNo(last),
                    needed: StepNo(step),
                    file: file.to_owned(),
                });
            }
        }
    }

    fn apply(&mut self, step: u32, change: &MemoryChange, own: bool) -> Result<Told, ApplyError> {
        let told = self.shelf.apply(change, step, own)?;
        let story = self.evidence.file(&change.path);
        if told.after < told.before {
            story.shrunk += 1;
        } else if told.after > told.before {
            story.grown.note(step);
        }
        if !own {
            return Ok(told);
        }
        for line in &told.added {
            story.added += 1;
            if line.conflict {
                story.conflicts.note(step);
            }
            if !line.empty {
                story.form(form_of(&line.text), step);
            }
        }
        for line in &told.added {
            self.stage.lines_written += 1.0;
            let named = things_in(&line.text, self.things);
            for (bit, known) in self.evidence.known.iter_mut().enumerate() {
                if named >> bit & 1 == 1 {
                    let (first, _) = known.written.unwrap_or((step, step));
                    known.written = Some((first, step));
                }
            }
            if named != 0 && says_where(&line.text) {
                self.stage.facts += 1.0;
                if named & !self.seen_things != 0 {
                    self.stage.unsupported_facts += 1.0;
                    self.evidence.unsupported.note(step);
                }
            }
            // The step before failed, and this line says so.
            if let (Some(last), Some(now)) = (&self.last, self.now)
                && last.judged == Some(Waste::Stuck)
                && last.step + 1 == step
                && line
                    .text
                    .to_ascii_lowercase()
                    .contains(&last.action.to_ascii_lowercase())
            {
                self.evidence.recorded(now.digest, &last.action, step, &change.path);
            }
        }
        Ok(told)
    }

    fn finished(&mut self, step: u32, reward: f64, progression: f64, ms: f64) {
        let informed = self.stage.informed > 0.0;
        let wrote = self.stage.writes > 0.0;
        self.stage.steps = 1.0;
        self.stage.step_ms = ms;
        if self.window.len() == REWARD_STEPS {
            self.window.pop_front();
        }
        self.window.push_back(informed);
        let of_informed = self.window.iter().filter(|informed| **informed).count();
        self.stage.reward_after_informed = reward * of_informed as f64;
        self.stage.reward_after_others = reward * (self.window.len() - of_informed) as f64;
        self.totals.tally += std::mem::take(&mut self.stage);
        for (path, file) in std::mem::take(&mut self.stage_files) {
            *self.totals.files.entry(path).or_default() += file;
        }
        if progression > self.totals.progression {
            self.evidence.progress.push(StepNo(step));
        }
        self.totals.progression = progression;
        self.totals.reward += reward;
        self.store_files();
        self.earlier = self.last.take();
        self.last = Some(Done {
            step,
            action: std::mem::take(&mut self.action),
            informed,
            wrote,
            judged: None,
            came_from: self.now.and_then(|now| now.position),
        });
    }

    /// What the files are at the end of a step.
    fn store_files(&mut self) {
        self.totals.storage = self.shelf.bytes() as f64;
        for (path, book) in self.shelf.books() {
            let file = match self.totals.files.get_mut(path) {
                Some(file) => file,
                None => self.totals.files.entry(path.clone()).or_default(),
            };
            file.episodes = 1.0;
            file.bytes = book.bytes() as f64;
            file.lines = book.lines as f64;
        }
        for (path, file) in &mut self.totals.files {
            if !self.shelf.books().contains_key(path) {
                (file.bytes, file.lines, file.episodes) = (0.0, 0.0, 1.0);
            }
        }
    }
}

/// The file an operation wrote, or would have written.
fn written_file(op: &MemoryOp) -> String {
    match op.changes.first() {
        Some(change) => change.path.clone(),
        None => plain(op.args.first().map_or("", String::as_str)).to_owned(),
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

/// Where the agent is, from a world without a map that tells it as `position`: column and row.
fn told_position(info: &serde_json::Value) -> Option<(i32, i32)> {
    let pair = info.get("position")?.as_array()?;
    let number = |index: usize| i32::try_from(pair.get(index)?.as_i64()?).ok();
    Some((number(0)?, number(1)?))
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
