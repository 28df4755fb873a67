//! A block while it grows, and a block as it is read.
//!
//! Owns how the steps of a block lie together. Must not write to the file.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use rusqlite::params;

use super::codec::Text;
use super::error::StoreError;
use super::fold::{Dictionary, unfold};
use super::grid;
use super::marks::{self, StepMark};
use super::query::File;
use super::schema::BLOCK_BYTES;
use super::wire::{Bytes, put_u64, unsqueeze};
use crate::types::{EpisodeNo, StepNo};

/// What one commit says about one step, folded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// What it adds to the dictionary.
    stretch: Vec<u8>,
    /// How its text is put together.
    pieces: Vec<u8>,
    /// Its tile maps.
    grids: Vec<u8>,
}

impl Part {
    /// A part that refers to nothing but itself.
    pub(super) fn alone(text: &Text) -> Self {
        let mut block = OpenBlock::default();
        block.fold(text)
    }

    /// As a row keeps it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.stretch.len() + self.pieces.len() + self.grids.len() + 6);
        put_u64(&mut out, self.stretch.len() as u64);
        put_u64(&mut out, self.pieces.len() as u64);
        out.extend_from_slice(&self.stretch);
        out.extend_from_slice(&self.pieces);
        out.extend_from_slice(&self.grids);
        out
    }

    /// Undoes [`to_bytes`](Self::to_bytes).
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let (stretch, pieces) = (bytes.len()?, bytes.len()?);
        Some(Self {
            stretch: bytes.take(stretch)?.to_vec(),
            pieces: bytes.take(pieces)?.to_vec(),
            grids: bytes.0.to_vec(),
        })
    }

    /// The text of a part that stands alone.
    pub(super) fn text(&self) -> Option<Text> {
        let mut block = Block::default();
        block.push(StepNo(0), self);
        block.texts(StepNo(0))?.pop()
    }
}

/// The newest steps of an episode, until they are packed.
#[derive(Default)]
pub(super) struct OpenBlock {
    dictionary: Dictionary,
    grid: Vec<u8>,
    block: Block,
    marks: BTreeMap<StepNo, StepMark>,
    changes: Vec<u8>,
}

impl OpenBlock {
    fn fold(&mut self, text: &Text) -> Part {
        let from = self.dictionary.text().len();
        let pieces = self.dictionary.fold(&text.lines);
        let mut grids = Vec::new();
        put_u64(&mut grids, text.grids.len() as u64);
        for cells in &text.grids {
            grid::put(&mut grids, cells, &mut self.grid);
        }
        Part {
            stretch: self.dictionary.text()[from..].to_vec(),
            pieces,
            grids,
        }
    }

    /// Adds what a commit says about a step.
    pub(super) fn add(&mut self, step: StepNo, text: &Text, mark: &StepMark) -> Part {
        let part = self.fold(text);
        self.block.push(step, &part);
        self.mark(step, mark);
        part
    }

    fn mark(&mut self, step: StepNo, mark: &StepMark) {
        let known = self.marks.entry(step).or_insert_with(|| StepMark::empty(step));
        known.merge(mark);
    }

    pub(super) fn add_changes(&mut self, changes: &[u8]) {
        self.changes.extend_from_slice(changes);
    }

    /// Whether `step` has to begin the next block, when a block has `most` steps.
    pub(super) fn is_full_before(&self, step: StepNo, most: usize) -> bool {
        let full = self.marks.len() >= most || self.block.bytes() >= BLOCK_BYTES;
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

    /// What it will be when packed.
    pub(super) fn block(&self) -> &Block {
        &self.block
    }

    pub(super) fn packed_marks(&self) -> Vec<u8> {
        let marks: Vec<StepMark> = self.marks.values().cloned().collect();
        marks::pack(&marks)
    }

    /// Builds it again from an episode's single rows.
    pub(super) fn load(file: File<'_>, episode: EpisodeNo) -> Result<Self, StoreError> {
        let fail = |error: rusqlite::Error| file.fail(&error);
        let broken = || file.corrupt(format!("the newest steps of episode {episode} do not unpack"));
        let mut open = Self::default();
        let mut query = file
            .conn
            .prepare_cached("SELECT step, late, data, mark, changes FROM parts WHERE episode = ?1 ORDER BY id")
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let changes: Vec<u8> = row.get(4).map_err(fail)?;
            open.add_changes(&changes);
            if row.get(1).map_err(fail)? {
                continue;
            }
            let step = StepNo(row.get(0).map_err(fail)?);
            let data: Vec<u8> = row.get(2).map_err(fail)?;
            let part = unsqueeze(&data)
                .and_then(|data| Part::from_bytes(&data))
                .ok_or_else(broken)?;
            let mut grids = Bytes(&part.grids);
            for _ in 0..grids.len().ok_or_else(broken)? {
                grid::take(&mut grids, &mut open.grid).ok_or_else(broken)?;
            }
            open.dictionary.extend(&part.stretch);
            open.block.push(step, &part);
            let mark: Vec<u8> = row.get(3).map_err(fail)?;
            let mut unpacked = Vec::new();
            marks::unpack(&mark, &mut unpacked).ok_or_else(broken)?;
            open.mark(step, unpacked.first().ok_or_else(broken)?);
        }
        Ok(open)
    }
}

/// Parts of a block side by side: the dictionary, the pieces and the tile maps of all of them.
#[derive(Default)]
pub(super) struct Block {
    dictionary: Vec<u8>,
    pieces: Vec<u8>,
    grids: Vec<u8>,
    places: Vec<Place>,
}

/// Where one part is in its block.
struct Place {
    step: StepNo,
    stretch: Range<usize>,
    pieces: Range<usize>,
    grids: Range<usize>,
}

impl Block {
    /// Adds a part at the end.
    pub(super) fn push(&mut self, step: StepNo, part: &Part) {
        let add = |to: &mut Vec<u8>, bytes: &[u8]| {
            let from = to.len();
            to.extend_from_slice(bytes);
            from..to.len()
        };
        self.places.push(Place {
            step,
            stretch: add(&mut self.dictionary, &part.stretch),
            pieces: add(&mut self.pieces, &part.pieces),
            grids: add(&mut self.grids, &part.grids),
        });
    }

    /// The columns of its row: places, dictionary, and pieces with tile maps.
    pub(super) fn columns(&self) -> (Vec<u8>, &[u8], Vec<u8>) {
        let mut places = Vec::with_capacity(self.places.len() * 8);
        for place in &self.places {
            put_u64(&mut places, u64::from(place.step.0));
            put_u64(&mut places, place.stretch.len() as u64);
            put_u64(&mut places, place.pieces.len() as u64);
            put_u64(&mut places, place.grids.len() as u64);
        }
        let mut rest = self.pieces.clone();
        rest.extend_from_slice(&self.grids);
        (places, &self.dictionary, rest)
    }

    /// The steps of a row's places, one a part.
    pub(super) fn steps(places: &[u8]) -> Option<Vec<StepNo>> {
        let mut bytes = Bytes(places);
        let mut steps = Vec::new();
        while !bytes.is_empty() {
            steps.push(StepNo(bytes.u32()?));
            bytes.len()?;
            bytes.len()?;
            bytes.len()?;
        }
        Some(steps)
    }

    /// Reads a row; `None` when it is damaged.
    pub(super) fn from_columns(places: &[u8], dictionary: Vec<u8>, rest: Vec<u8>) -> Option<Self> {
        let mut bytes = Bytes(places);
        let mut block = Self {
            dictionary,
            ..Self::default()
        };
        let (mut dictionary, mut pieces, mut grids) = (0usize, 0usize, 0usize);
        let forward = |at: &mut usize, by: usize| {
            let from = *at;
            *at = at.checked_add(by)?;
            Some(from..*at)
        };
        while !bytes.is_empty() {
            block.places.push(Place {
                step: StepNo(bytes.u32()?),
                stretch: forward(&mut dictionary, bytes.len()?)?,
                pieces: forward(&mut pieces, bytes.len()?)?,
                grids: forward(&mut grids, bytes.len()?)?,
            });
        }
        if dictionary != block.dictionary.len() || pieces.checked_add(grids)? != rest.len() {
            return None;
        }
        block.grids = rest.get(pieces..)?.to_vec();
        block.pieces = rest;
        block.pieces.truncate(pieces);
        Some(block)
    }

    /// Bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.dictionary.len() + self.pieces.len() + self.grids.len() + self.places.len() * size_of::<Place>()
    }

    /// The texts of all steps of a range in the order they were committed; an item is `None` where
    /// the block is damaged.
    pub(super) fn each(&self, steps: RangeInclusive<StepNo>) -> impl Iterator<Item = Option<(StepNo, Text)>> + '_ {
        let mut grid = Vec::new();
        self.places.iter().filter_map(move |place| {
            let wanted = steps.contains(&place.step);
            match self.text_of(place, &mut grid, wanted) {
                Some(None) => None,
                Some(Some(text)) => Some(Some((place.step, text))),
                None => Some(None),
            }
        })
    }

    /// The text of a place, if it is wanted; brings the tile map up to date either way.
    fn text_of(&self, place: &Place, grid: &mut Vec<u8>, wanted: bool) -> Option<Option<Text>> {
        let mut bytes = Bytes(self.grids.get(place.grids.clone())?);
        let mut grids = Vec::new();
        for _ in 0..bytes.len()? {
            grid::take(&mut bytes, grid)?;
            if wanted {
                grids.push(grid.clone());
            }
        }
        if !wanted {
            return Some(None);
        }
        let before = self.dictionary.get(..place.stretch.start)?;
        let stretch = self.dictionary.get(place.stretch.clone())?;
        let lines = unfold(before, stretch, self.pieces.get(place.pieces.clone())?)?;
        Some(Some(Text { lines, grids }))
    }

    /// The texts of a step in the order they were committed; `None` when the block is damaged.
    pub(super) fn texts(&self, step: StepNo) -> Option<Vec<Text>> {
        self.each(step..=step).map(|item| item.map(|(_, text)| text)).collect()
    }
}
