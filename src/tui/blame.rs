//! Who wrote the lines of memory: a fold over the record that goes on where it stopped.
//!
//! Owns how far the fold is. It runs on the loader's thread, some steps at a time.

use std::ops::Range;

use super::data::{BlameLine, BlameView};
use crate::analysis::{Blame, Heat};
use crate::store::{Kinds, Reader};
use crate::types::{Author, EpisodeNo, Phase, StepNo};

/// Steps folded before somebody else has a turn.
const SOME: u32 = 64;
/// Steps between two places one can go back to.
const APART: u32 = 256;
/// Places kept.
const PLACES: usize = 64;
/// Runs of reads of a line that are told.
const RUNS: usize = 200;
/// Steps counted before somebody else has a turn.
const COUNTED: u32 = 512;

/// How memory files were used: a fold that only goes forward.
#[derive(Default)]
pub(super) struct Survey {
    /// Episode.
    pub(super) episode: EpisodeNo,
    /// The next step to take in.
    pub(super) next: u32,
    /// What was counted.
    pub(super) heat: Heat,
}

impl Survey {
    /// Takes in some steps on the way to `upto`; true when it is there. What cannot be read ends it.
    pub(super) fn advance(&mut self, reader: &Reader, episode: EpisodeNo, upto: StepNo) -> bool {
        if self.episode != episode {
            *self = Self {
                episode,
                ..Self::default()
            };
        }
        let until = upto.0.min(self.next.saturating_add(COUNTED));
        if self.next < until {
            match reader.events_in(episode, StepNo(self.next)..StepNo(until), Kinds::MEMORY) {
                Ok(events) => events.iter().for_each(|event| self.heat.push(event)),
                Err(_) => return true,
            }
            self.next = until;
        }
        self.next >= upto.0
    }
}

/// A fold over an episode.
#[derive(Default)]
pub(super) struct Fold {
    episode: EpisodeNo,
    /// The next step to take in.
    next: u32,
    blame: Blame,
    places: Vec<(u32, Blame)>,
}

impl Fold {
    /// Takes in some steps on the way to the end of `step`; true when it is there. What cannot be
    /// read ends the fold where it is.
    pub(super) fn advance(&mut self, reader: &Reader, episode: EpisodeNo, step: StepNo) -> bool {
        let end = step.0.saturating_add(1);
        if self.episode != episode {
            *self = Self {
                episode,
                ..Self::default()
            };
        }
        if self.next > end {
            let place = self.places.iter().rev().find(|(next, _)| *next <= end).cloned();
            (self.next, self.blame) = place.unwrap_or_default();
        }
        let until = end.min(self.next.saturating_add(SOME));
        // Up to the next place one can go back to.
        let until = until.min((self.next / APART + 1) * APART);
        if self.next < until && !self.take(reader, StepNo(self.next)..StepNo(until)) {
            self.next = end;
            return true;
        }
        self.next = self.next.max(until);
        let new = self.places.last().is_none_or(|(next, _)| *next + APART <= self.next);
        if new && self.next > 0 && self.next.is_multiple_of(APART) && self.places.len() < PLACES {
            self.places.push((self.next, self.blame.clone()));
        }
        self.next >= end
    }

    fn take(&mut self, reader: &Reader, steps: Range<StepNo>) -> bool {
        reader
            .events_in(self.episode, steps, Kinds::MEMORY)
            .is_ok_and(|events| events.iter().all(|event| self.blame.push(event).is_ok()))
    }

    /// What is known of a file.
    pub(super) fn view(&self, episode: EpisodeNo, step: StepNo, path: String) -> BlameView {
        let lines = self.blame.lines(&path).unwrap_or_default();
        let lines = lines
            .iter()
            .map(|line| {
                let origin = line.origin();
                let by = match (origin.phase, origin.by) {
                    (_, Author::Human) => 'H',
                    (Some(Phase::Log), _) => 'L',
                    (Some(Phase::Plan), _) => 'P',
                    (None, _) => 'S',
                };
                let initial = origin.phase.is_none() && origin.by == Author::Scaffold;
                BlameLine {
                    step: (!initial).then_some(origin.step),
                    by,
                    reads: line.read_count(),
                    read_at: line.read_runs()[line.read_runs().len().saturating_sub(RUNS)..].to_vec(),
                }
            })
            .collect();
        BlameView {
            episode,
            step,
            path,
            lines,
        }
    }
}
