//! The step table: what the timeline and the summaries need of every step, in a few bytes each.
//!
//! A projection of the events. Owns how it is computed and packed. Must not open files.

use std::collections::HashMap;
use std::sync::Arc;

use super::wire::{Bytes, put_str, put_u64};
use crate::types::{ActionBy, Author, Body, Digest, OpStatus, StepNo};

/// What is worth seeing at a glance in a step: a set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Marks(pub u16);

impl Marks {
    /// The world gave a reward other than 0.
    pub const REWARD: Self = Self(1);
    /// Memory was changed.
    pub const WRITE: Self = Self(1 << 1);
    /// Memory was read.
    pub const READ: Self = Self(1 << 2);
    /// There was no valid action; the world's fallback was played, or a gate sent one back.
    pub const INVALID: Self = Self(1 << 3);
    /// What the agent sees has been the same for several steps.
    pub const STUCK: Self = Self(1 << 4);
    /// A person acted, edited, or steered.
    pub const HUMAN: Self = Self(1 << 5);
    /// A hook, the model or the world failed, or a prompt did not fit.
    pub const ERROR: Self = Self(1 << 6);
    const FINISHED: Self = Self(1 << 15);

    /// Whether it has all flags of `other`.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the flags of `other`.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::ops::BitOr for Marks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One finished step in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct StepMark {
    /// Which step.
    pub step: StepNo,
    /// Reward of its action.
    pub reward: f32,
    /// The field's score after it, 0 to 1.
    pub progression: f32,
    /// What is worth seeing.
    pub marks: Marks,
    /// Prompt tokens of its turns.
    pub prompt_tokens: u32,
    /// Of those, taken from the KV cache.
    pub cached_tokens: u32,
    /// Answer tokens of its turns.
    pub completion_tokens: u32,
    /// Milliseconds of the whole step.
    pub ms: f32,
    /// The action the world got.
    pub action: Arc<str>,
}

/// Steps in a row with the same observation from which on the agent counts as stuck.
pub const STUCK_AFTER: u32 = 4;

/// How long an episode has shown the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sameness {
    pub(super) seen: Digest,
    pub(super) times: u32,
}

impl StepMark {
    pub(super) fn empty(step: StepNo) -> Self {
        Self {
            step,
            reward: 0.0,
            progression: 0.0,
            marks: Marks::default(),
            prompt_tokens: 0,
            cached_tokens: 0,
            completion_tokens: 0,
            ms: 0.0,
            action: "".into(),
        }
    }

    /// Whether the world has answered.
    pub(super) fn is_finished(&self) -> bool {
        self.marks.has(Marks::FINISHED)
    }

    /// The mark without the flags that are nobody's business.
    pub(super) fn public(mut self) -> Self {
        self.marks.0 &= !Marks::FINISHED.0;
        self
    }

    /// Takes in the next event of the step.
    pub(super) fn take(&mut self, body: &Body, same: &mut Sameness) {
        match body {
            Body::Observed { frame } => {
                let seen = Digest::of(&frame.long);
                same.times = if same.seen == seen {
                    same.times.saturating_add(1)
                } else {
                    1
                };
                same.seen = seen;
                if same.times >= STUCK_AFTER {
                    self.marks.add(Marks::STUCK);
                }
            }
            Body::TurnFinished { turn } => {
                self.prompt_tokens = self.prompt_tokens.saturating_add(turn.prompt_tokens);
                self.cached_tokens = self.cached_tokens.saturating_add(turn.cached_tokens);
                self.completion_tokens = self.completion_tokens.saturating_add(turn.completion_tokens);
            }
            Body::MemoryOp { op } => {
                if !op.changes.is_empty() {
                    self.marks.add(Marks::WRITE);
                } else if matches!(op.outcome.status, OpStatus::Ok | OpStatus::Empty) {
                    self.marks.add(Marks::READ);
                }
                match op.outcome.status {
                    OpStatus::Failed => self.marks.add(Marks::ERROR),
                    OpStatus::Malformed => self.marks.add(Marks::INVALID),
                    _ => {}
                }
                if op.by == Author::Human {
                    self.marks.add(Marks::HUMAN);
                }
            }
            Body::ActionCommitted { validated, by, .. } => {
                self.action = validated.as_str().into();
                match by {
                    ActionBy::Fallback => self.marks.add(Marks::INVALID),
                    ActionBy::Human => self.marks.add(Marks::HUMAN),
                    ActionBy::Model | ActionBy::Scaffold => {}
                }
            }
            Body::ActionRejected { .. } => self.marks.add(Marks::INVALID),
            Body::StepFinished {
                reward,
                progression,
                ms,
                ..
            } => {
                self.marks.add(Marks::FINISHED);
                self.reward = *reward as f32;
                self.progression = *progression as f32;
                self.ms = *ms as f32;
                if *reward != 0.0 {
                    self.marks.add(Marks::REWARD);
                }
            }
            Body::HookFailed { .. }
            | Body::ContextOverflow { .. }
            | Body::ModelFailed { .. }
            | Body::WorldFailed { .. } => self.marks.add(Marks::ERROR),
            Body::HumanEdited { .. } => self.marks.add(Marks::HUMAN | Marks::WRITE),
            Body::HumanActed { .. }
            | Body::HumanSaid { .. }
            | Body::Controlled { .. }
            | Body::AdapterChanged { .. } => self.marks.add(Marks::HUMAN),
            _ => {}
        }
    }

    /// Takes in what a later commit says about the same step.
    pub(super) fn merge(&mut self, later: &Self) {
        if later.is_finished() {
            self.reward = later.reward;
            self.progression = later.progression;
            self.ms = later.ms;
        }
        if !later.action.is_empty() {
            self.action = Arc::clone(&later.action);
        }
        self.marks.add(later.marks);
        self.prompt_tokens = self.prompt_tokens.saturating_add(later.prompt_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(later.cached_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(later.completion_tokens);
    }
}

/// Packs marks column by column (equal columns compress well).
pub(super) fn pack(marks: &[StepMark]) -> Vec<u8> {
    let mut out = Vec::with_capacity(marks.len() * 24);
    put_u64(&mut out, marks.len() as u64);
    let mut names: Vec<&str> = Vec::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for mark in marks {
        ids.entry(&mark.action).or_insert_with(|| {
            names.push(&mark.action);
            names.len() - 1
        });
    }
    put_u64(&mut out, names.len() as u64);
    names.iter().for_each(|name| put_str(&mut out, name));
    let mut previous = 0;
    for mark in marks {
        put_u64(&mut out, u64::from(mark.step.0.wrapping_sub(previous)));
        previous = mark.step.0;
    }
    marks
        .iter()
        .for_each(|mark| put_u64(&mut out, ids[&*mark.action] as u64));
    marks.iter().for_each(|mark| put_u64(&mut out, u64::from(mark.marks.0)));
    for column in [
        |mark: &StepMark| mark.prompt_tokens,
        |mark: &StepMark| mark.cached_tokens,
        |mark: &StepMark| mark.completion_tokens,
    ] {
        marks.iter().for_each(|mark| put_u64(&mut out, u64::from(column(mark))));
    }
    for column in [
        |mark: &StepMark| mark.reward,
        |mark: &StepMark| mark.progression,
        |mark: &StepMark| mark.ms,
    ] {
        for mark in marks {
            out.extend_from_slice(&column(mark).to_le_bytes());
        }
    }
    out
}

/// Undoes [`pack`]; `None` when the bytes are damaged.
pub(super) fn unpack(bytes: &[u8], into: &mut Vec<StepMark>) -> Option<()> {
    let mut bytes = Bytes(bytes);
    let count = bytes.len().filter(|n| *n <= bytes.0.len())?;
    let named = bytes.len().filter(|n| *n <= bytes.0.len())?;
    let names: Vec<Arc<str>> = (0..named).map(|_| bytes.str().map(Arc::from)).collect::<Option<_>>()?;
    let start = into.len();
    let mut blank = StepMark::empty(StepNo(0));
    into.reserve(count);
    let mut step = 0u32;
    for _ in 0..count {
        step = step.wrapping_add(bytes.u32()?);
        blank.step = StepNo(step);
        into.push(blank.clone());
    }
    let marks = &mut into[start..];
    for mark in marks.iter_mut() {
        mark.action = Arc::clone(names.get(bytes.len()?)?);
    }
    for mark in marks.iter_mut() {
        mark.marks = Marks(bytes.u64()?.try_into().ok()?);
    }
    for mark in marks.iter_mut() {
        mark.prompt_tokens = bytes.u32()?;
    }
    for mark in marks.iter_mut() {
        mark.cached_tokens = bytes.u32()?;
    }
    for mark in marks.iter_mut() {
        mark.completion_tokens = bytes.u32()?;
    }
    for mark in marks.iter_mut() {
        mark.reward = bytes.f32()?;
    }
    for mark in marks.iter_mut() {
        mark.progression = bytes.f32()?;
    }
    for mark in marks.iter_mut() {
        mark.ms = bytes.f32()?;
    }
    bytes.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark() -> impl Strategy<Value = StepMark> {
        (
            any::<u32>(),
            -2.0f32..2.0,
            0.0f32..1.0,
            any::<u16>(),
            any::<u32>(),
            "[A-C]{0,2}",
        )
            .prop_map(|(step, reward, progression, marks, tokens, action)| StepMark {
                step: StepNo(step),
                reward,
                progression,
                marks: Marks(marks),
                prompt_tokens: tokens,
                cached_tokens: tokens / 2,
                completion_tokens: tokens / 3,
                ms: reward * 10.0,
                action: action.into(),
            })
    }

    proptest! {
        #[test]
        fn packed_marks_come_back(marks in proptest::collection::vec(mark(), 0..20)) {
            let mut back = Vec::new();
            unpack(&pack(&marks), &mut back).unwrap();
            prop_assert_eq!(back, marks);
        }

        #[test]
        fn garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = unpack(&bytes, &mut Vec::new());
        }
    }
}
