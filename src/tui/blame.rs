//! Who wrote the lines of memory: a fold over the record that goes on where it stopped.
//!
//! Owns how far the fold is. It runs on the loader's thread, some steps at a time.

use super::data::{BlameLine, BlameView};
use crate::analysis::Blame;
use crate::store::Reader;
use crate::types::{AgentName, At, Author, Body, EpisodeNo, Event, Phase, StepNo};

/// Steps folded before somebody else has a turn.
const SOME: u32 = 64;
/// Steps between two places one can go back to.
const APART: u32 = 256;
/// Places kept.
const PLACES: usize = 64;

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
        while self.next < until {
            if !self.take(reader, StepNo(self.next)) {
                self.next = end;
                return true;
            }
            self.next += 1;
            let new = self.places.last().is_none_or(|(next, _)| *next + APART <= self.next);
            if new && self.next.is_multiple_of(APART) && self.places.len() < PLACES {
                self.places.push((self.next, self.blame.clone()));
            }
        }
        self.next >= end
    }

    fn take(&mut self, reader: &Reader, step: StepNo) -> bool {
        let Ok(record) = reader.step(self.episode, step) else {
            return false;
        };
        let at = At {
            episode: self.episode,
            step,
            agent: AgentName::from("agent"),
            memory_root: "".into(),
        };
        let concerns = |body: &Body| {
            matches!(
                body,
                Body::EpisodeStarted { .. }
                    | Body::EpisodeAttempt { .. }
                    | Body::MemoryOp { .. }
                    | Body::HumanEdited { .. }
            )
        };
        record.events.into_iter().filter(concerns).all(|body| {
            let at = at.clone();
            self.blame.push(&Event { at, body }).is_ok()
        })
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
