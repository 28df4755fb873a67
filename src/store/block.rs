//! A block while it grows, and a block as it is read.
//!
//! Owns how the steps of a block lie together. Must not write to the file.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::params;

use super::error::StoreError;
use super::fold::{Base, fold, unfold};
use super::marks::{self, StepMark};
use super::query::{Entry, File, pack_entries, unpack_entries};
use super::schema::{BLOCK_BYTES, BLOCK_STEPS};
use super::wire::{Bytes, unsqueeze};
use crate::types::{EpisodeNo, StepNo};

/// The newest steps of an episode, until they are packed.
#[derive(Default)]
pub(super) struct OpenBlock {
    base: Option<Base>,
    entries: Vec<Entry>,
    data: Vec<u8>,
    marks: BTreeMap<StepNo, StepMark>,
    changes: Vec<u8>,
}

/// One step's text, folded.
pub(super) struct Part {
    /// It refers to the block's first part.
    pub(super) based: bool,
    pub(super) folded: Vec<u8>,
}

impl OpenBlock {
    /// Folds a part that belongs to no block.
    pub(super) fn alone(text: &[u8]) -> Part {
        Part {
            based: false,
            folded: fold(&Base::empty(), text),
        }
    }

    /// Adds what a commit says about a step.
    pub(super) fn add(&mut self, step: StepNo, text: Vec<u8>, mark: &StepMark) -> Part {
        let part = match &self.base {
            None => {
                let part = Self::alone(&text);
                self.base = Some(Base::new(text));
                part
            }
            Some(base) => Part {
                based: true,
                folded: fold(base, &text),
            },
        };
        self.put(step, &part, mark);
        part
    }

    fn put(&mut self, step: StepNo, part: &Part, mark: &StepMark) {
        self.entries.push(Entry {
            step,
            based: part.based,
            length: part.folded.len(),
        });
        self.data.extend_from_slice(&part.folded);
        self.marks
            .entry(step)
            .or_insert_with(|| StepMark::empty(step))
            .merge(mark);
    }

    pub(super) fn add_changes(&mut self, changes: &[u8]) {
        self.changes.extend_from_slice(changes);
    }

    /// Whether `step` has to begin the next block.
    pub(super) fn is_full_before(&self, step: StepNo) -> bool {
        let full = self.marks.len() >= BLOCK_STEPS || self.data.len() >= BLOCK_BYTES;
        full && self.marks.last_key_value().is_some_and(|(last, _)| step > *last)
    }

    /// Its first and last step.
    pub(super) fn range(&self) -> Option<(StepNo, StepNo)> {
        let first = self.marks.first_key_value()?.0;
        let last = self.marks.last_key_value()?.0;
        Some((*first, *last))
    }

    /// The step of its first memory change (they are in the order of steps).
    pub(super) fn first_change(&self) -> Option<StepNo> {
        Bytes(&self.changes).u32().map(StepNo)
    }

    pub(super) fn changes(&self) -> &[u8] {
        &self.changes
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    pub(super) fn packed_entries(&self) -> Vec<u8> {
        pack_entries(&self.entries)
    }

    pub(super) fn packed_marks(&self) -> Vec<u8> {
        let marks: Vec<StepMark> = self.marks.values().cloned().collect();
        marks::pack(&marks)
    }

    /// Builds it again from an episode's single rows.
    pub(super) fn load(file: File<'_>, episode: EpisodeNo) -> Result<Self, StoreError> {
        let fail = |error: rusqlite::Error| file.fail(&error);
        let broken = || file.corrupt(format!("the newest steps of episode {episode} do not unpack"));
        let mut block = Self::default();
        let mut query = file
            .conn
            .prepare_cached("SELECT step, late, based, data, mark, changes FROM parts WHERE episode = ?1 ORDER BY id")
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let changes: Vec<u8> = row.get(5).map_err(fail)?;
            block.add_changes(&changes);
            if row.get(1).map_err(fail)? {
                continue;
            }
            let step = StepNo(row.get(0).map_err(fail)?);
            let data: Vec<u8> = row.get(3).map_err(fail)?;
            let part = Part {
                based: row.get(2).map_err(fail)?,
                folded: unsqueeze(&data).ok_or_else(broken)?,
            };
            let mark: Vec<u8> = row.get(4).map_err(fail)?;
            let mut unpacked = Vec::new();
            marks::unpack(&mark, &mut unpacked).ok_or_else(broken)?;
            let mark = unpacked.first().ok_or_else(broken)?;
            if block.base.is_none() {
                block.base = Some(Base::new(unfold(&[], &part.folded).ok_or_else(broken)?));
            }
            block.put(step, &part, mark);
        }
        Ok(block)
    }
}

/// A packed block, unpacked: folded steps and the text they refer to.
pub(super) struct Block {
    base: Vec<u8>,
    data: Vec<u8>,
    places: Vec<(StepNo, bool, Range<usize>)>,
}

impl Block {
    /// Unpacks a row; `None` when it is damaged.
    pub(super) fn unpack(entries: &[u8], data: &[u8]) -> Option<Self> {
        let data = unsqueeze(data)?;
        let mut at = 0usize;
        let mut places = Vec::new();
        for entry in unpack_entries(entries)? {
            let end = at.checked_add(entry.length).filter(|end| *end <= data.len())?;
            places.push((entry.step, entry.based, at..end));
            at = end;
        }
        let base = match places.first() {
            Some((_, false, first)) => unfold(&[], &data[first.clone()])?,
            _ => return None,
        };
        Some(Self { base, data, places })
    }

    /// Bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.base.len() + self.data.len() + self.places.len() * 32
    }

    /// The texts of a step in the order they were committed; `None` when the block is damaged.
    pub(super) fn texts(&self, step: StepNo) -> Option<Vec<Vec<u8>>> {
        self.places
            .iter()
            .filter(|(of, ..)| *of == step)
            .map(|(_, based, range)| unfold(if *based { &self.base } else { &[] }, &self.data[range.clone()]))
            .collect()
    }
}
