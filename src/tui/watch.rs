//! The watch screen's state: one run, one cursor, four panes.
//!
//! Owns the cursor and what the panes remember. What is shown comes from the record through the
//! loader, and from the live feed for the step that is under way.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::cache::Cache;
use super::data::{LoadRequest, MemoryView, Opened, Place as Hit, Timeline};
use super::filter::{Filter, Match};
use super::insight::Insight;
use super::keymap::{Kind, Place};
use super::layout::Pane;
use super::panes::{ActionsPane, GamePane, GameView, MemoryPane, ScaffoldPane};
use super::rules::Rules;
use crate::store::{Marks, StepMark};
use crate::types::{EpisodeNo, EpisodeState, EpisodeSummary, Frame, RunMeta, StepNo, StepRecord, View};

/// Steps kept on either side of the cursor.
const AROUND: u32 = 48;
/// How near to the cursor a missing step may be before more are asked for.
const NEAR: u32 = 16;
/// Steps that a filter shows, kept on either side of the cursor.
const FILTERED: usize = 64;

/// The speed of a replay, as a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Speed(pub(crate) i8);

impl Speed {
    const LEAST: i8 = -2;
    const MOST: i8 = 8;
    /// Milliseconds of a step at normal speed.
    pub(crate) const NORMAL_MS: f64 = 250.0;

    /// Twice as fast, or half.
    #[must_use]
    pub(crate) fn by(self, powers: i8) -> Self {
        Self((self.0 + powers).clamp(Self::LEAST, Self::MOST))
    }

    /// Milliseconds a step takes.
    pub(crate) fn step_ms(self) -> f64 {
        Self::NORMAL_MS / 2f64.powi(i32::from(self.0))
    }

    /// Milliseconds a step of a program's takes that takes `normal` at normal speed.
    pub(crate) fn pace_ms(self, normal: u64) -> u64 {
        (normal as f64 / 2f64.powi(i32::from(self.0))) as u64
    }

    /// Time between two ticks: never more than 60 a second.
    pub(crate) fn tick(self) -> Duration {
        Duration::from_secs_f64(self.step_ms().max(1000.0 / 60.0) / 1000.0)
    }

    /// Steps a tick moves.
    pub(crate) fn steps_a_tick(self) -> u32 {
        (1000.0 / 60.0 / self.step_ms()).round().max(1.0) as u32
    }

    /// `×2`, `×½`.
    pub(crate) fn word(self) -> String {
        match self.0 {
            -2 => "×¼".to_owned(),
            -1 => "×½".to_owned(),
            n => format!("×{}", 1u32 << n),
        }
    }
}

/// A search over the run.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// What is looked for; empty when nothing is.
    pub(crate) text: String,
    /// Steps looked at, and all, while it runs.
    pub(crate) progress: Option<(u64, u64)>,
    /// What was found.
    pub(crate) hits: Vec<Hit>,
    /// The one the cursor is at.
    pub(crate) at: Option<usize>,
}

impl Search {
    /// The place the cursor was brought to.
    pub(crate) fn current(&self) -> Option<&Hit> {
        self.hits.get(self.at?)
    }
}

/// A filter over the stream of actions, and what it lets through.
#[derive(Debug, Default)]
pub(crate) struct Filtering {
    /// The filter.
    pub(crate) filter: Filter,
    /// Steps looked at, and all, while the run is gone through.
    pub(crate) progress: Option<(u64, u64)>,
    /// Steps of the run with something that it lets through, in order.
    pub(crate) matches: Vec<Match>,
    /// The first step of each episode that was not looked at.
    pub(crate) seen: BTreeMap<EpisodeNo, StepNo>,
    /// A look at new steps is under way.
    pub(crate) asked: bool,
}

impl Filtering {
    /// Where the first match at or after a place is.
    fn at(&self, episode: EpisodeNo, step: StepNo) -> usize {
        self.matches.partition_point(|found| *found < Match { episode, step })
    }

    /// Whether the step is one of the matches, and which, from 1.
    pub(crate) fn position(&self, episode: EpisodeNo, step: StepNo) -> Option<usize> {
        let at = self.at(episode, step);
        (self.matches.get(at) == Some(&Match { episode, step })).then_some(at + 1)
    }

    /// The match before or after a place, in the whole run.
    pub(crate) fn beside(&self, episode: EpisodeNo, step: StepNo, forward: bool) -> Option<Match> {
        let at = self.at(episode, step);
        if !forward {
            return self.matches.get(at.checked_sub(1)?).copied();
        }
        let here = self.matches.get(at) == Some(&Match { episode, step });
        self.matches.get(at + usize::from(here)).copied()
    }

    /// Matches around a place, so many on either side.
    fn around(&self, episode: EpisodeNo, step: StepNo, reach: usize) -> impl Iterator<Item = StepNo> + '_ {
        let at = self.at(episode, step);
        let range = at.saturating_sub(reach)..(at + reach).min(self.matches.len());
        let here = move |found: &&Match| found.episode == episode;
        self.matches[range].iter().filter(here).map(|found| found.step)
    }
}

/// What the finished steps took together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    /// Prompt tokens.
    pub(crate) prompt: u64,
    /// Answer tokens.
    pub(crate) completion: u64,
    /// Milliseconds.
    pub(crate) ms: f64,
}

impl Totals {
    fn add(&mut self, marks: &[StepMark]) {
        for mark in marks {
            self.prompt += u64::from(mark.prompt_tokens);
            self.completion += u64::from(mark.completion_tokens);
            self.ms += f64::from(mark.ms);
        }
    }
}

/// One run on the screen.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its constants.
    pub(crate) meta: Arc<RunMeta>,
    /// What its scaffold allows.
    pub(crate) rules: Arc<Rules>,
    /// Its episodes in numbers.
    pub(crate) episodes: Vec<EpisodeSummary>,
    /// Nothing will be added any more.
    pub(crate) finished: bool,
    /// The episode that shows.
    pub(crate) episode: EpisodeNo,
    /// The step that every pane shows.
    pub(crate) cursor: StepNo,
    /// Finished steps of the episode.
    pub(crate) marks: Vec<StepMark>,
    /// What they took together.
    pub(crate) totals: Totals,
    /// Loaded steps.
    pub(crate) records: Cache<StepRecord>,
    /// Loaded memories.
    pub(crate) memories: Cache<MemoryView>,
    /// The step under way, when the cursor may stand on it.
    pub(crate) under_way: Option<Arc<StepRecord>>,
    /// The step that is drawn: the cursor's, or the last one until that is loaded.
    pub(crate) shown: Option<Arc<StepRecord>>,
    /// The memory that is drawn.
    pub(crate) memory_shown: Option<Arc<MemoryView>>,
    /// What the loader was asked for last.
    pub(crate) asked: Option<(EpisodeNo, StepNo)>,
    /// A look for finished steps is under way.
    pub(crate) looking: bool,
    /// The pane that has the focus.
    pub(crate) focus: Pane,
    /// The pane that had it last, if the timeline has it now.
    pub(crate) pane: Pane,
    /// Only that pane shows.
    pub(crate) zoom: bool,
    /// The replay plays.
    pub(crate) playing: bool,
    /// How fast.
    pub(crate) speed: Speed,
    /// The cursor stays at the live end.
    pub(crate) follow: bool,
    /// Which events `[ ]` stop at.
    pub(crate) kind: Kind,
    /// The game pane.
    pub(crate) game: GamePane,
    /// The memory pane.
    pub(crate) memory: MemoryPane,
    /// The actions pane.
    pub(crate) actions: ActionsPane,
    /// The scaffold pane.
    pub(crate) scaffold: ScaffoldPane,
    /// The search.
    pub(crate) search: Search,
    /// Metrics, findings and faults, as far as they are known.
    pub(crate) insight: Insight,
    /// The filter of the stream.
    pub(crate) filtering: Option<Filtering>,
    /// What was typed last and is no filter.
    pub(crate) filter_typed: Option<String>,
}

impl Watch {
    /// What the world shows at the cursor, once it is loaded.
    pub(crate) fn frame(&self) -> Option<Arc<Frame>> {
        self.shown.as_ref()?.frame().cloned()
    }

    /// Whether the game pane shows something that can be moved: the whole map, or a terminal's screen.
    pub(crate) fn moves(&self) -> bool {
        match self.game.view {
            GameView::Map => true,
            GameView::Agent => self.frame().is_some_and(|frame| matches!(frame.view, View::Grid(_))),
            GameView::Text => false,
        }
    }

    /// A run that has just been opened.
    pub(crate) fn new(opened: Opened) -> Self {
        let mut watch = Self {
            path: opened.path,
            meta: opened.meta,
            rules: opened.rules,
            episodes: Vec::new(),
            finished: opened.timeline.finished,
            episode: opened.timeline.episode,
            cursor: StepNo(0),
            marks: Vec::new(),
            totals: Totals::default(),
            records: Cache::new(256),
            memories: Cache::new(256),
            under_way: None,
            shown: None,
            memory_shown: None,
            asked: None,
            looking: false,
            focus: Pane::Game,
            pane: Pane::Game,
            zoom: false,
            playing: false,
            speed: Speed::default(),
            follow: false,
            kind: Kind::All,
            game: GamePane::default(),
            memory: MemoryPane::default(),
            actions: ActionsPane::default(),
            scaffold: ScaffoldPane::default(),
            search: Search::default(),
            insight: Insight::default(),
            filtering: None,
            filter_typed: None,
        };
        watch.scaffold.open_first(&watch.meta.scaffold.files);
        watch.take_timeline(opened.timeline);
        watch.follow = !watch.finished && opened.step.is_none();
        let start = if watch.follow { watch.end() } else { StepNo(0) };
        watch.go(opened.step.unwrap_or(start));
        watch
    }

    /// Another episode of the same run: keeps the panes.
    pub(crate) fn reopen(&mut self, opened: Opened) {
        self.episode = opened.timeline.episode;
        self.marks.clear();
        self.totals = Totals::default();
        self.memory.forget();
        self.records.clear();
        self.memories.clear();
        self.under_way = None;
        self.shown = None;
        self.memory_shown = None;
        self.asked = None;
        self.game.map = None;
        self.game.map_asked = None;
        self.take_timeline(opened.timeline);
        let to = if self.follow { self.end() } else { StepNo(0) };
        self.go(opened.step.unwrap_or(to));
    }

    /// Takes in more of the timeline.
    pub(crate) fn take_timeline(&mut self, news: Timeline) {
        self.looking = false;
        self.episodes = news.episodes;
        self.finished = news.finished;
        if news.episode == self.episode && news.from.index() <= self.marks.len() {
            if !news.marks.is_empty() || news.finished {
                // The step after the last finished one is another now.
                self.records.forget(StepNo(self.marks.len() as u32));
                self.memories.forget(StepNo(self.marks.len() as u32));
                self.asked = None;
            }
            if news.from.index() < self.marks.len() {
                self.marks.truncate(news.from.index());
                self.totals = Totals::default();
                self.totals.add(&self.marks);
            }
            self.totals.add(&news.marks);
            self.marks.extend(news.marks);
        }
    }

    /// The episode in numbers.
    pub(crate) fn summary(&self) -> Option<&EpisodeSummary> {
        self.episodes.iter().find(|summary| summary.episode == self.episode)
    }

    /// Finished steps.
    pub(crate) fn steps(&self) -> StepNo {
        StepNo(self.marks.len() as u32)
    }

    /// The last step the cursor can stand on: the closing frame, the step under way, or the last
    /// finished step.
    pub(crate) fn end(&self) -> StepNo {
        let closed = self
            .summary()
            .is_some_and(|summary| summary.state == EpisodeState::Done);
        let under_way = self
            .under_way
            .as_ref()
            .is_some_and(|record| record.step == self.steps());
        if closed || under_way {
            self.steps()
        } else {
            self.steps().previous().unwrap_or_default()
        }
    }

    /// Whether the cursor is at the end.
    pub(crate) fn at_end(&self) -> bool {
        self.cursor >= self.end()
    }

    /// Moves the cursor; gives whether it moved.
    pub(crate) fn go(&mut self, to: StepNo) -> bool {
        let to = to.min(self.end());
        let moved = to != self.cursor;
        self.cursor = to;
        if moved {
            self.actions.row = 0;
        }
        moved
    }

    /// The step of a number, if it is loaded or under way.
    pub(crate) fn record(&self, step: StepNo) -> Option<&Arc<StepRecord>> {
        self.records
            .get(step)
            .or_else(|| self.under_way.as_ref().filter(|record| record.step == step))
    }

    /// The mark of a finished step.
    pub(crate) fn mark(&self, step: StepNo) -> Option<&StepMark> {
        self.marks.get(step.index())
    }

    /// What the loader should be asked for now.
    pub(crate) fn need(&self) -> Option<LoadRequest> {
        if self.asked == Some((self.episode, self.cursor)) {
            return None;
        }
        let closed = self
            .summary()
            .is_some_and(|summary| summary.state == EpisodeState::Done);
        let stored = self.steps().0 + u32::from(closed);
        let record = self.cursor.0 < stored && self.record(self.cursor).is_none();
        let memory = self.cursor.0 < stored && self.memories.get(self.cursor).is_none();
        let range = |reach: u32| self.cursor.0.saturating_sub(reach)..(self.cursor.0 + reach + 1).min(stored);
        let near = self.records.missing(range(NEAR));
        let filtered: Vec<_> = self
            .filtering
            .iter()
            .flat_map(|filtering| filtering.around(self.episode, self.cursor, FILTERED))
            .filter(|step| step.0 < stored && self.records.get(*step).is_none())
            .map(|step| step.0..step.0 + 1)
            .collect();
        if !record && !memory && near.is_empty() && filtered.is_empty() {
            return None;
        }
        let mut around = if near.is_empty() {
            near
        } else {
            self.records.missing(range(AROUND))
        };
        around.extend(filtered);
        Some(LoadRequest {
            episode: self.episode,
            step: self.cursor,
            record,
            memory,
            around,
        })
    }

    /// The step beside one in the stream: the next one that the filter shows, if there is a filter.
    pub(crate) fn beside(&self, step: StepNo, forward: bool) -> Option<StepNo> {
        if let Some(filtering) = &self.filtering {
            let found = filtering.beside(self.episode, step, forward)?;
            return (found.episode == self.episode && found.step <= self.end()).then_some(found.step);
        }
        if forward {
            Some(step.next()).filter(|step| *step <= self.end())
        } else {
            step.previous()
        }
    }

    /// The next event of the chosen kind before or after the cursor.
    pub(crate) fn event(&self, forward: bool) -> Option<StepNo> {
        let is_event = |mark: &&StepMark| has_kind(mark.marks, self.kind);
        let at = self.cursor.index();
        let found = if forward {
            self.marks.iter().skip(at + 1).find(is_event)
        } else {
            self.marks[..at.min(self.marks.len())].iter().rev().find(is_event)
        };
        found.map(|mark| mark.step)
    }

    /// Where keys hold: the pane, or the part of it.
    pub(crate) fn place(&self) -> Place {
        match self.focus {
            Pane::Game => Place::Game,
            Pane::Memory if self.memory.in_file => Place::MemoryFile,
            Pane::Memory => Place::MemoryTree,
            Pane::Actions => Place::Actions,
            Pane::Scaffold if self.scaffold.in_file || self.scaffold.diff.is_some() => Place::ScaffoldFile,
            Pane::Scaffold => Place::ScaffoldTree,
            Pane::Timeline => Place::Timeline,
        }
    }

    /// Gives the focus to a pane.
    pub(crate) fn focus_on(&mut self, pane: Pane) {
        self.focus = pane;
        if pane != Pane::Timeline {
            self.pane = pane;
        }
    }
}

/// Whether a step's marks count as an event of the kind. Reads do not: nearly every step reads.
pub(crate) fn has_kind(marks: Marks, kind: Kind) -> bool {
    let error = marks.has(Marks::ERROR) || marks.has(Marks::INVALID);
    match kind {
        Kind::Reward => marks.has(Marks::REWARD),
        Kind::Write => marks.has(Marks::WRITE),
        Kind::Error => error,
        Kind::All => {
            error
                || marks.has(Marks::REWARD)
                || marks.has(Marks::WRITE)
                || marks.has(Marks::STUCK)
                || marks.has(Marks::HUMAN)
        }
    }
}
