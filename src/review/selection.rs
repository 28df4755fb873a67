//! A data selection: candidates for training as items, and sets of items that are decided on at once.
//!
//! Pure. What an item is was recorded in a run; the desk keeps the list, a person says which are taken.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::types::{Digest, EpisodeNo, Phase, RunId, StepNo};

/// What a data selection suggests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectionContent {
    /// The world.
    pub env: String,
    /// Name of the scaffold that the runs were played with.
    pub scaffold: String,
    /// Runs that the items are from.
    pub runs: Vec<SelectedRun>,
    /// By what was selected: rules as TOML, or a brief in words.
    pub criteria: String,
    /// Digest of the list of items ([`items_digest`]).
    pub items: Digest,
    /// Items in the list.
    pub count: u32,
    /// Of those, selected by the author.
    pub selected: u32,
    /// Seeds of the gate: episodes on them must not be trained on.
    pub gate_seeds: Vec<u64>,
    /// Examples there should be at least.
    pub minimum: u32,
}

/// A run that items are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedRun {
    /// Its file.
    pub path: String,
    /// Its identity.
    pub id: RunId,
}

/// A candidate in a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its name, such as `019ad3f2:0:17:LOG`.
    pub id: String,
    /// Index of its run.
    pub run: u32,
    /// The episode.
    pub episode: EpisodeNo,
    /// Seed of the episode.
    pub seed: u64,
    /// The step.
    pub step: StepNo,
    /// LOG or PLAN.
    pub phase: Phase,
    /// Names of its memory ops.
    pub ops: Vec<String>,
    /// Digest of the conversation as recorded.
    pub digest: Digest,
    /// The author takes it.
    pub selected: bool,
    /// How good it is in the author's eyes.
    pub score: f64,
    /// Why, in one line.
    pub reason: String,
    /// What happened later, in one line: `read at step 67, advantage +0.12`.
    pub note: String,
    /// Items with the same number have nearly the same answer; `None` has none like it.
    pub alike: Option<u32>,
    /// What speaks for and against it, in numbers.
    #[serde(default)]
    pub facts: Facts,
}

/// What speaks for and against an item, in numbers; what each means is said where candidates are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Messages of the conversation.
    pub messages: u32,
    /// Bytes of the conversation.
    pub bytes: u64,
    /// Bytes it wrote.
    pub bytes_written: u64,
    /// How often what it wrote was read again.
    pub later_reads: u32,
    /// The first step at which it was.
    pub first_read: Option<StepNo>,
    /// Mean reward of the following steps less the episode's.
    pub advantage: f64,
    /// Sum of rewards of the following steps.
    pub reward_after: f64,
    /// Writes that said what stood there already.
    pub redundant: u32,
    /// Searches and reads that found nothing.
    pub empty: u32,
    /// Tags that could not be read.
    pub malformed: u32,
    /// Operations that were refused or failed.
    pub failed: u32,
    /// Place in the episode, 0 to 1.
    pub position: f64,
    /// Progression of its episode at the end, 0 to 1.
    pub progression: f64,
}

/// Digest of a list of items: of their names and what was recorded.
pub fn items_digest<'a>(items: impl IntoIterator<Item = &'a Item>) -> Digest {
    let mut all = Vec::new();
    for item in items {
        all.extend_from_slice(item.id.as_bytes());
        all.push(b' ');
        all.extend_from_slice(item.digest.to_string().as_bytes());
        all.push(b'\n');
    }
    Digest::of(&all)
}

/// Places in a list of items, in order, as ranges `[from, to)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Places(Vec<(u32, u32)>);

impl Places {
    /// A single place.
    pub fn one(at: u32) -> Self {
        Self(vec![(at, at.saturating_add(1))])
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(from, to)| to.saturating_sub(*from) as usize).sum()
    }

    /// The places, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|(from, to)| *from as usize..*to as usize)
    }

    /// Whether they are in order and all below a count.
    pub fn fit(&self, count: u32) -> bool {
        let ordered = self.0.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        ordered && self.0.iter().all(|(from, to)| from < to && *to <= count)
    }
}

impl FromIterator<u32> for Places {
    fn from_iter<T: IntoIterator<Item = u32>>(places: T) -> Self {
        let mut all: Vec<u32> = places.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for at in all {
            match ranges.last_mut() {
                Some((_, to)) if *to == at => *to = at.saturating_add(1),
                _ => ranges.push((at, at.saturating_add(1))),
            }
        }
        Self(ranges)
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (from, to) in &self.0 {
            if !std::mem::take(&mut first) {
                f.write_str(",")?;
            }
            match to - from {
                1 => write!(f, "{from}")?,
                _ => write!(f, "{from}-{}", to - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ranges() {
        let places: Places = [7, 1, 2, 3, 9, 2].into_iter().collect();
        assert_eq!(places.to_string(), "1-3,7,9");
        assert_eq!(
            (places.len(), places.iter().collect::<Vec<_>>()),
            (5, vec![1, 2, 3, 7, 9])
        );
        assert!(places.fit(10) && !places.fit(9));
        assert!(!Places(vec![(3, 5), (4, 6)]).fit(10) && !Places(vec![(3, 3)]).fit(10));
        assert_eq!(Places::one(4).to_string(), "4");
        assert!(Places::default().is_empty());
    }
}
