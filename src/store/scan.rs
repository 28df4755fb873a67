//! Goes through many steps at once: for a search, for a filter, for what the whole run says of a file.
//!
//! Owns how a run is cut into stretches and read on several threads. A block is unpacked once for
//! all of its steps, and only lines of the wanted kinds are ever parsed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use rusqlite::params;

use super::block::{Block, Part};
use super::codec::{self, Text, Who};
use super::error::StoreError;
use super::reader::{Reader, lines};
use super::wire::unsqueeze;
use crate::jobs::Cancel;
use crate::types::{EpisodeNo, Event, StepNo};

/// What is taken from a step by its events.
type Pick<'a, T> = dyn Fn(EpisodeNo, StepNo, &[Event]) -> Option<T> + Sync + 'a;
/// What is done with a step: its events, in order.
type Visit<'a> = dyn FnMut(EpisodeNo, StepNo, Vec<Event>) -> Result<(), StoreError> + 'a;
/// What is made of a stretch.
type Work<'a, T> = dyn Fn(&Reader, &Stretch) -> Result<Vec<T>, StoreError> + Sync + 'a;

/// Threads that read.
const THREADS: usize = 2;

/// Kinds of events: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self(u8::MAX);
    /// What changes or reads memory, and what it begins with.
    pub const MEMORY: Self = Self(1);
    /// Model calls, with their prompts and answers.
    pub const TURNS: Self = Self(1 << 1);
    /// Actions, accepted and rejected.
    pub const ACTIONS: Self = Self(1 << 2);
    /// How a step ended.
    pub const OUTCOMES: Self = Self(1 << 3);
    /// Failures, notes, what a person did.
    pub const NOTICES: Self = Self(1 << 4);
    /// What the world showed.
    pub const FRAMES: Self = Self(1 << 5);

    /// These kinds and those.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it holds all kinds of the other set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a stored line may be of one of these kinds; what is not known is looked at.
    fn may_hold(self, line: &[u8]) -> bool {
        let kind = match codec::kind_of(line) {
            Some(b"op" | b"human_edited" | b"episode_started" | b"attempt") => Self::MEMORY,
            Some(b"turn") => Self::TURNS,
            Some(b"action" | b"action_rejected" | b"human_acted") => Self::ACTIONS,
            Some(b"step") => Self::OUTCOMES,
            Some(b"observed") => Self::FRAMES,
            Some(_) => Self::NOTICES,
            None => return true,
        };
        self.has(kind)
    }
}

impl std::ops::BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How far a long look through the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Steps that were looked at.
    pub done: usize,
    /// Steps there are.
    pub total: usize,
    /// Hits so far.
    pub hits: usize,
}

/// Steps of an episode that lie together in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) episode: EpisodeNo,
    /// The first step.
    pub(super) from: StepNo,
    /// The last one; `None` takes everything that follows, packed or not.
    pub(super) to: Option<StepNo>,
    /// Steps it has about.
    steps: usize,
}

impl Stretch {
    /// Leaves out what lies before a step; tells whether anything is left.
    fn begin_at(&mut self, step: StepNo) -> bool {
        let gone = step.0.saturating_sub(self.from.0);
        self.from = self.from.max(step);
        self.steps = self.steps.saturating_sub(gone as usize);
        self.steps > 0
    }
}

/// A commit's text of a step.
pub(super) struct Stored<'a> {
    pub(super) step: StepNo,
    /// Events of the step that were committed before.
    pub(super) before: usize,
    pub(super) text: &'a Text,
    pub(super) who: &'a Who,
}

impl Reader {
    /// All stretches of the run from a step on.
    pub(super) fn stretches(&self, (episode, from): (EpisodeNo, StepNo)) -> Result<Vec<Stretch>, StoreError> {
        self.with(|file| {
            let fail = |error: rusqlite::Error| file.fail(&error);
            let mut out = Vec::new();
            for row in file.episode_rows()? {
                let number = row.summary.episode;
                if number < episode {
                    continue;
                }
                let from = if number == episode { from } else { StepNo(0) };
                let mut query = file
                    .conn
                    .prepare_cached("SELECT first, last FROM blocks WHERE episode = ?1 AND last >= ?2 ORDER BY first")
                    .map_err(fail)?;
                let blocks = query
                    .query_map(params![number.0, from.0], |row| {
                        Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?))
                    })
                    .map_err(fail)?;
                for block in blocks {
                    let (first, last) = block.map_err(fail)?;
                    let first = first.max(from.0);
                    out.push(Stretch {
                        episode: number,
                        from: StepNo(first),
                        to: Some(StepNo(last)),
                        steps: (last.saturating_sub(first) + 1) as usize,
                    });
                }
                let begin = (row.packed_to + 1).max(i64::from(from.0));
                if row.last_step >= begin {
                    out.push(Stretch {
                        episode: number,
                        from: StepNo(u32::try_from(begin).unwrap_or(u32::MAX)),
                        to: None,
                        steps: usize::try_from(row.last_step - begin + 1).unwrap_or(0),
                    });
                }
            }
            Ok(out)
        })
    }

    /// Shows every stored text of a stretch. The texts of a step come in order, but what was
    /// committed late comes after the steps that follow.
    pub(super) fn walk(
        &self,
        stretch: &Stretch,
        visit: &mut dyn FnMut(Stored<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (episode, from, to) = (stretch.episode, stretch.from, stretch.to.unwrap_or(StepNo(u32::MAX)));
        self.with(|file| {
            let fail = |error: rusqlite::Error| file.fail(&error);
            let broken = || file.corrupt(format!("steps from {from} on of episode {episode} do not unpack"));
            let row = file.episode_row(episode)?;
            let (who, packed_to) = (row.who, row.packed_to);
            let mut counts: BTreeMap<StepNo, usize> = BTreeMap::new();
            let mut show = |step: StepNo, text: &Text| {
                let count = counts.entry(step).or_default();
                let before = *count;
                *count += lines(&text.lines).count();
                visit(Stored {
                    step,
                    before,
                    text,
                    who: &who,
                })
            };
            let mut query = file
                .conn
                .prepare_cached(
                    "SELECT first, places, dictionary, pieces FROM blocks WHERE episode = ?1 AND last >= ?2 AND first <= ?3 ORDER BY first",
                )
                .map_err(fail)?;
            let mut rows = query.query(params![episode.0, from.0, to.0]).map_err(fail)?;
            while let Some(row) = rows.next().map_err(fail)? {
                let first = StepNo(row.get(0).map_err(fail)?);
                let block = self.unpacked(file, episode, first, [1, 2, 3].map(|at| row.get_ref(at)))?;
                for item in block.each(from..=to) {
                    let (step, text) = item.ok_or_else(broken)?;
                    show(step, &text)?;
                }
            }
            for late in [false, true] {
                if !late && stretch.to.is_some_and(|to| i64::from(to.0) <= packed_to) {
                    continue;
                }
                let mut query = file
                    .conn
                    .prepare_cached("SELECT step, data FROM parts WHERE episode = ?1 AND late = ?2 ORDER BY id")
                    .map_err(fail)?;
                let mut rows = query.query(params![episode.0, late]).map_err(fail)?;
                let mut newest = Block::default();
                while let Some(row) = rows.next().map_err(fail)? {
                    let step = StepNo(row.get(0).map_err(fail)?);
                    // Parts that are not late build on those before them.
                    if late && !(from..=to).contains(&step) {
                        continue;
                    }
                    let data = row.get_ref(1).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
                    let part = unsqueeze(data).and_then(|data| Part::from_bytes(&data)).ok_or_else(broken)?;
                    if late {
                        show(step, &part.text().ok_or_else(broken)?)?;
                    } else {
                        newest.push(step, &part);
                    }
                }
                for item in newest.each(from..=to) {
                    let (step, text) = item.ok_or_else(broken)?;
                    show(step, &text)?;
                }
            }
            Ok(())
        })
    }

    /// The events of some kinds in a range of steps, in the order of steps.
    ///
    /// # Errors
    /// When there is no such episode or the file is damaged.
    pub fn events_in(&self, episode: EpisodeNo, steps: Range<StepNo>, kinds: Kinds) -> Result<Vec<Event>, StoreError> {
        let Some(last) = steps.end.previous().filter(|last| *last >= steps.start) else {
            return Ok(Vec::new());
        };
        let stretch = Stretch {
            episode,
            from: steps.start,
            to: Some(last),
            steps: 0,
        };
        Ok(self
            .by_step(&stretch, kinds, &Cancel::new())?
            .into_values()
            .flatten()
            .collect())
    }

    /// Looks at the events of some kinds, step by step, in the whole run from a step on; gives what
    /// `pick` made of the steps, in the order of the run.
    ///
    /// # Errors
    /// When it is cancelled or the file is damaged.
    pub fn sift<T: Send>(
        &self,
        kinds: Kinds,
        from: (EpisodeNo, StepNo),
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
        pick: &Pick<'_, T>,
    ) -> Result<Vec<T>, StoreError> {
        let stretches = self.stretches(from)?;
        in_parallel(self.path(), &stretches, cancel, progress, &|reader, stretch| {
            let steps = reader.by_step(stretch, kinds, cancel)?;
            let picked = steps
                .iter()
                .filter_map(|(step, events)| pick(stretch.episode, *step, events));
            Ok(picked.collect())
        })
    }

    /// Shows the events of every step of the run, episode by episode and step by step, while other threads
    /// read ahead. What is read ahead is bounded, however long the run is. Each episode begins with the step
    /// that `from` gives.
    ///
    /// # Errors
    /// When it is cancelled, the file is damaged, or `visit` fails.
    pub fn each_step(
        &self,
        kinds: Kinds,
        from: &dyn Fn(EpisodeNo) -> StepNo,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let mut stretches = self.stretches((EpisodeNo(0), StepNo(0)))?;
        stretches.retain_mut(|stretch| stretch.begin_at(from(stretch.episode)));
        let threads = THREADS.min(stretches.len());
        let mut state = Progress {
            total: stretches.iter().map(|stretch| stretch.steps).sum(),
            ..Progress::default()
        };
        std::thread::scope(|scope| {
            let (stretches, path) = (&stretches, self.path());
            let readers: Vec<_> = (0..threads)
                .map(|first| {
                    let (sender, ready) = mpsc::sync_channel(1);
                    scope.spawn(move || {
                        let mut reader = None;
                        for stretch in stretches.iter().skip(first).step_by(threads) {
                            let result = match &reader {
                                Some(reader) => Self::by_step(reader, stretch, kinds, cancel),
                                None => Self::open(path)
                                    .and_then(|opened| reader.insert(opened).by_step(stretch, kinds, cancel)),
                            };
                            let failed = result.is_err();
                            if sender.send(result).is_err() || failed {
                                break;
                            }
                        }
                    });
                    ready
                })
                .collect();
            for (stretch, ready) in stretches.iter().zip(readers.iter().cycle()) {
                // A reader that is gone without a word was cancelled.
                for (step, events) in ready.recv().map_err(|_| StoreError::Cancelled)?? {
                    if cancel.is_cancelled() {
                        return Err(StoreError::Cancelled);
                    }
                    visit(stretch.episode, step, events)?;
                }
                state.done += stretch.steps;
                progress(state);
            }
            Ok(())
        })
    }

    /// The events of some kinds by step.
    fn by_step(
        &self,
        stretch: &Stretch,
        kinds: Kinds,
        cancel: &Cancel,
    ) -> Result<BTreeMap<StepNo, Vec<Event>>, StoreError> {
        let mut steps: BTreeMap<StepNo, Vec<Event>> = BTreeMap::new();
        self.walk(stretch, &mut |stored| {
            if cancel.is_cancelled() {
                return Err(StoreError::Cancelled);
            }
            let wanted = lines(&stored.text.lines).filter(|line| kinds.may_hold(line));
            let events = steps.entry(stored.step).or_default();
            let place = (stretch.episode, stored.step);
            self.parse(wanted, &stored.text.grids, place, stored.who, events)
        })?;
        Ok(steps)
    }
}

/// Works on stretches on several threads, each with a reader of its own; progress is told on this
/// one. What the stretches gave comes in their order.
pub(super) fn in_parallel<T: Send>(
    path: &Path,
    stretches: &[Stretch],
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
    work: &Work<'_, T>,
) -> Result<Vec<T>, StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let mut found: Vec<Vec<T>> = stretches.iter().map(|_| Vec::new()).collect();
    let mut state = Progress {
        total: stretches.iter().map(|stretch| stretch.steps).sum(),
        ..Progress::default()
    };
    let stop = Cancel::new();
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(stretches.len()) {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                let mut reader = None;
                while !cancel.is_cancelled() && !stop.is_cancelled() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(stretch) = stretches.get(at) else { break };
                    let result = match &reader {
                        Some(reader) => work(reader, stretch),
                        None => Reader::open(path).and_then(|opened| work(reader.insert(opened), stretch)),
                    };
                    if sender.send((at, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut failure = None;
        for (at, result) in results {
            match result {
                Ok(some) => {
                    state.done += stretches.get(at).map_or(0, |stretch| stretch.steps);
                    state.hits += some.len();
                    if let Some(slot) = found.get_mut(at) {
                        *slot = some;
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
            _ if cancel.is_cancelled() => Err(StoreError::Cancelled),
            Some(error) => Err(error),
            None => Ok(()),
        }
    })?;
    Ok(found.into_iter().flatten().collect())
}
