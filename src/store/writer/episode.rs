//! What the writer keeps of an episode between commits: its numbers, its memory, its newest steps.

use crate::store::block::OpenBlock;
use crate::store::codec::Who;
use crate::store::error::StoreError;
use crate::store::marks::Sameness;
use crate::store::memory::{Workbench, put_change, replay};
use crate::store::query::EpisodeRow;
use crate::types::{Body, EpisodeNo, EpisodeState, EpisodeSummary, MemoryChange, StepNo};

/// What the writer keeps of an episode between commits.
pub(super) struct Episode {
    pub(super) who: Who,
    pub(super) summary: EpisodeSummary,
    pub(super) last_step: i64,
    pub(super) packed_to: i64,
    pub(super) same: Sameness,
    pub(super) open: OpenBlock,
    pub(super) memory: Workbench,
    /// Changes and their bytes since the last keyframe.
    pub(super) since: (usize, usize),
}

impl Episode {
    pub(super) fn new(episode: EpisodeNo, who: Who) -> Self {
        Self {
            who,
            summary: EpisodeSummary {
                episode,
                seed: 0,
                steps: 0,
                total_reward: 0.0,
                progression: 0.0,
                prompt_tokens: 0,
                cached_tokens: 0,
                completion_tokens: 0,
                end: None,
                state: EpisodeState::Open,
            },
            last_step: -1,
            packed_to: -1,
            same: Sameness::default(),
            open: OpenBlock::default(),
            memory: Workbench::default(),
            since: (0, 0),
        }
    }

    pub(super) fn from_row(row: EpisodeRow, open: OpenBlock, memory: Workbench) -> Self {
        Self {
            who: row.who,
            summary: row.summary,
            last_step: row.last_step,
            packed_to: row.packed_to,
            same: row.same,
            // Not known any more: a keyframe comes early rather than late.
            since: (0, memory.bytes()),
            open,
            memory,
        }
    }

    /// Keeps the episode's numbers.
    pub(super) fn count(&mut self, body: &Body) {
        let summary = &mut self.summary;
        match body {
            Body::EpisodeStarted { seed, .. } => summary.seed = *seed,
            Body::TurnFinished { turn } => {
                summary.prompt_tokens += u64::from(turn.prompt_tokens);
                summary.cached_tokens += u64::from(turn.cached_tokens);
                summary.completion_tokens += u64::from(turn.completion_tokens);
            }
            Body::StepFinished {
                reward, progression, ..
            } => {
                summary.steps += 1;
                summary.total_reward += reward;
                summary.progression = *progression;
            }
            Body::EpisodeResumed { .. } => {
                summary.end = None;
                summary.state = EpisodeState::Open;
            }
            Body::EpisodeFinished { end } => {
                summary.end = Some(*end);
                summary.state = EpisodeState::Done;
            }
            _ => {}
        }
    }

    /// Takes a memory change in.
    pub(super) fn change(&mut self, change: &MemoryChange, stream: &mut Vec<u8>) -> Result<(), StoreError> {
        let step = StepNo(u32::try_from(self.last_step.max(0)).unwrap_or(u32::MAX));
        let start = stream.len();
        put_change(stream, step, change);
        self.since.0 += 1;
        self.since.1 += stream.len() - start;
        replay(&stream[start..], step, &mut self.memory).ok_or_else(|| StoreError::Change {
            episode: self.summary.episode,
            step,
            file: change.path.clone(),
        })
    }
}

/// The memory changes of an event.
pub(super) fn changes_of(body: &Body) -> &[MemoryChange] {
    match body {
        Body::MemoryOp { op } => &op.changes,
        Body::HumanEdited { changes } => changes,
        _ => &[],
    }
}
