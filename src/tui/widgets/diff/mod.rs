//! A difference of several files, part by part, unified or side by side: what stands in which row.
//!
//! Owns rows, folds, wrapping and the words that changed. Must not know what is decided on a part
//! nor how lines get their colours: whoever draws says so.

mod draw;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use draw::{Look, Tone};
use words::Words;

use super::text;
use crate::protocol::sanitize;
use crate::review::{Part, PartKind};

/// Lines of context that stay around a part.
const CONTEXT: usize = 3;
/// Bytes of a line up to which it is known to fit without a look at its letters.
const DIGITS: usize = 3;

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The one there is.
    Old,
    /// The suggested one.
    New,
}

/// Something that stands in one row, or in several when it is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// A file begins.
    File(usize),
    /// A part begins.
    Part(usize),
    /// A line of both texts.
    Same {
        /// The file.
        file: usize,
        /// Its index in the old text.
        old: usize,
        /// Its index in the new one.
        new: usize,
    },
    /// A line of a part, by its index in the part: both sides beside each other, or one of them.
    Line {
        /// The part.
        part: usize,
        /// The line that goes.
        old: Option<usize>,
        /// The line that comes.
        new: Option<usize>,
    },
    /// Lines of both texts that are left out.
    Fold {
        /// The file.
        file: usize,
        /// The first line, in the old text.
        from: usize,
        /// How many.
        count: usize,
    },
}

/// A part with the lines that come in.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The part.
    pub(crate) part: Part,
    /// The lines that come in; a person's own where `edited`.
    pub(crate) added: Vec<String>,
    /// They are not the suggested ones.
    pub(crate) edited: bool,
    words: Option<Words>,
}

/// A file with parts.
#[derive(Debug)]
pub(crate) struct DiffFile {
    /// Its path.
    pub(crate) path: String,
    /// Its text as it is.
    pub(crate) base: Arc<str>,
    lines: Vec<Range<usize>>,
    /// Its parts.
    pub(crate) pieces: Range<usize>,
}

/// How rows are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    /// Columns there are.
    pub(crate) columns: u16,
    /// Both texts stand beside each other.
    pub(crate) beside: bool,
}

/// A difference.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    /// The files, in order.
    pub(crate) files: Vec<DiffFile>,
    /// The parts, in order.
    pub(crate) pieces: Vec<Piece>,
    rows: Vec<Row>,
    /// First and last row of each part.
    of_part: Vec<Range<usize>>,
    /// The screen row in which each row begins, and one more for the end.
    starts: Vec<u32>,
    shape: Shape,
    /// Folds that are open, by file and first line.
    open: BTreeSet<(usize, usize)>,
    digits: usize,
}

/// A line as it is drawn.
struct Shown<'a> {
    text: &'a str,
    number: Option<usize>,
    words: &'a [Range<usize>],
    /// Where its colours come from.
    source: Option<(usize, Side, usize)>,
}

impl Diff {
    /// Parts of one set of files, in order, each with the text that a person put in its place.
    pub(crate) fn new(base: &BTreeMap<String, String>, parts: Vec<(Part, Option<String>)>) -> Self {
        let mut diff = Self::default();
        for (part, instead) in parts {
            let at = diff.pieces.len();
            match diff.files.last_mut().filter(|file| file.path == part.path) {
                Some(file) => file.pieces.end = at + 1,
                None => {
                    let base: Arc<str> = base.get(&part.path).map(String::as_str).unwrap_or_default().into();
                    let mut start = 0;
                    let lines = base.split_inclusive('\n').map(|line| {
                        let range = start..start + line.len();
                        start = range.end;
                        range
                    });
                    diff.files.push(DiffFile {
                        path: part.path.clone(),
                        lines: lines.collect(),
                        base,
                        pieces: at..at + 1,
                    });
                }
            }
            let added = match &instead {
                Some(text) => text.split_inclusive('\n').map(str::to_owned).collect(),
                None => part.inserted.clone(),
            };
            diff.pieces.push(Piece {
                part,
                added,
                edited: instead.is_some(),
                words: None,
            });
        }
        let most = diff.files.iter().map(|file| file.lines.len());
        let new = diff.pieces.iter().map(|piece| piece.part.new_start + piece.added.len());
        let most = most.chain(new).max().unwrap_or(0);
        diff.digits = most.to_string().len().max(DIGITS);
        diff
    }

    /// What it was laid out for last; folds that were open there stay open in its successor.
    pub(crate) fn inherit(&mut self, before: &Self) {
        self.open = before
            .open
            .iter()
            .filter_map(|(file, from)| {
                let path = &before.files.get(*file)?.path;
                let file = self.files.iter().position(|file| file.path == *path)?;
                Some((file, *from))
            })
            .collect();
    }

    /// Lays it out, if it was laid out otherwise before.
    pub(crate) fn fit(&mut self, shape: Shape) {
        if self.starts.is_empty() || self.shape.beside != shape.beside {
            self.shape = shape;
            self.arrange();
        } else if self.shape != shape {
            self.shape = shape;
            self.measure();
        }
    }

    /// Opens the fold in a row; false when there is none.
    pub(crate) fn unfold(&mut self, row: usize) -> bool {
        let Some(Row::Fold { file, from, .. }) = self.rows.get(row).copied() else {
            return false;
        };
        self.open.insert((file, from));
        self.arrange();
        true
    }

    /// Opens all folds, or closes them when all are open.
    pub(crate) fn unfold_all(&mut self) {
        let folds: Vec<(usize, usize)> = self
            .rows
            .iter()
            .filter_map(|row| match row {
                Row::Fold { file, from, .. } => Some((*file, *from)),
                _ => None,
            })
            .collect();
        if folds.is_empty() {
            self.open.clear();
        }
        self.open.extend(folds);
        self.arrange();
    }

    fn arrange(&mut self) {
        self.rows.clear();
        self.of_part.clear();
        for file in 0..self.files.len() {
            self.rows.push(Row::File(file));
            let (pieces, lines) = (self.files[file].pieces.clone(), self.files[file].lines.len());
            // Where the old text is told up to, and where that is in the new one.
            let (mut old, mut new) = (0, 0);
            for part in pieces.clone() {
                let piece = &self.pieces[part].part;
                let (start, gone, come) = (piece.old_start, piece.deleted.len(), piece.inserted.len());
                self.context(file, old..start, new, (part > pieces.start, true));
                new += start.saturating_sub(old) + come;
                old = start + gone;
                self.part(part);
            }
            if self.pieces[pieces.start].part.kind == PartKind::Change {
                self.context(file, old..lines, new, (true, false));
            }
        }
        self.measure();
    }

    /// Lines of both texts: some after the part before, some before the part after, the rest folded.
    fn context(&mut self, file: usize, lines: Range<usize>, new: usize, (after, before): (bool, bool)) {
        let lines = lines.start..lines.end.max(lines.start);
        let head = if after { CONTEXT } else { 0 };
        let tail = if before { CONTEXT } else { 0 };
        let from = lines.start + head;
        let folded = from..lines.end.saturating_sub(tail);
        let fold = folded.len() > 1 && !self.open.contains(&(file, from));
        let same = |old: usize| Row::Same {
            file,
            old,
            new: new + old - lines.start,
        };
        if fold {
            self.rows.extend((lines.start..folded.start).map(same));
            self.rows.push(Row::Fold {
                file,
                from,
                count: folded.len(),
            });
            self.rows.extend((folded.end..lines.end).map(same));
        } else {
            self.rows.extend(lines.clone().map(same));
        }
    }

    fn part(&mut self, part: usize) {
        let piece = &self.pieces[part];
        let (gone, come) = (piece.part.deleted.len(), piece.added.len());
        let from = self.rows.len();
        self.rows.push(Row::Part(part));
        let line = |old, new| Row::Line { part, old, new };
        if self.shape.beside {
            let both = |n: usize| line((n < gone).then_some(n), (n < come).then_some(n));
            self.rows.extend((0..gone.max(come)).map(both));
        } else {
            self.rows.extend((0..gone).map(|n| line(Some(n), None)));
            self.rows.extend((0..come).map(|n| line(None, Some(n))));
        }
        self.of_part.push(from..self.rows.len());
    }

    /// Counts the screen rows of every row.
    fn measure(&mut self) {
        let columns = self.text_columns();
        let mut starts = Vec::with_capacity(self.rows.len() + 1);
        let mut at = 0;
        for row in &self.rows {
            starts.push(at);
            at += self.height(*row, columns);
        }
        starts.push(at);
        self.starts = starts;
    }

    fn height(&self, row: Row, columns: usize) -> u32 {
        let of = |side| self.shown(row, side).map_or(1, |shown| height_of(shown.text, columns));
        match row {
            Row::Same { .. } => of(Side::Old),
            Row::Line { .. } => of(Side::Old).max(of(Side::New)),
            _ => 1,
        }
    }

    /// Columns for the text of one side.
    fn text_columns(&self) -> usize {
        let columns = usize::from(self.shape.columns);
        let room = if self.shape.beside {
            // a bar, and on each side a number and a sign; a rule between
            (columns.saturating_sub(2) / 2).saturating_sub(self.digits + 3)
        } else {
            columns.saturating_sub(2 * self.digits + 5)
        };
        room.max(8)
    }

    fn shown(&self, row: Row, side: Side) -> Option<Shown<'_>> {
        match (row, side) {
            (Row::Same { file, old, .. }, Side::Old) => Some(Shown {
                text: self.base_line(file, old),
                number: Some(old + 1),
                words: &[],
                source: Some((file, Side::Old, old)),
            }),
            // It is the same text: its colours come from the old one, too.
            (Row::Same { file, old, new }, Side::New) => Some(Shown {
                text: self.base_line(file, old),
                number: Some(new + 1),
                words: &[],
                source: Some((file, Side::Old, old)),
            }),
            (Row::Line { part, old: Some(n), .. }, Side::Old) => {
                let piece = &self.pieces[part];
                Some(Shown {
                    text: piece.part.deleted.get(n)?,
                    number: Some(piece.part.old_start + n + 1),
                    words: piece.words.as_ref().map_or(&[], |words| words.of_gone(n)),
                    source: Some((self.file_of(part), Side::Old, piece.part.old_start + n)),
                })
            }
            (Row::Line { part, new: Some(n), .. }, Side::New) => {
                let piece = &self.pieces[part];
                let line = piece.part.new_start + n;
                Some(Shown {
                    text: piece.added.get(n)?,
                    number: Some(line + 1),
                    words: piece.words.as_ref().map_or(&[], |words| words.of_come(n)),
                    source: (!piece.edited).then(|| (self.file_of(part), Side::New, line)),
                })
            }
            _ => None,
        }
    }

    fn base_line(&self, file: usize, line: usize) -> &str {
        let file = &self.files[file];
        file.lines.get(line).map_or("", |range| &file.base[range.clone()])
    }

    /// The file of a part.
    pub(crate) fn file_of(&self, part: usize) -> usize {
        self.files.partition_point(|file| file.pieces.end <= part)
    }

    /// Screen rows in all.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }

    /// The row that a screen row belongs to.
    pub(crate) fn row_at(&self, screen: usize) -> usize {
        let after = self.starts.partition_point(|start| *start as usize <= screen);
        after.saturating_sub(1).min(self.rows.len().saturating_sub(1))
    }

    /// The part that a screen row belongs to, else the next one, else the last.
    pub(crate) fn part_at(&self, screen: usize) -> Option<usize> {
        let row = self.row_at(screen);
        let next = self.of_part.partition_point(|range| range.end <= row);
        (!self.pieces.is_empty()).then(|| next.min(self.pieces.len() - 1))
    }

    /// The screen rows of a part.
    pub(crate) fn rows_of(&self, part: usize) -> Range<usize> {
        let start = |row: usize| self.starts.get(row).map_or(0, |start| *start as usize);
        self.of_part
            .get(part)
            .map_or(0..0, |rows| start(rows.start)..start(rows.end))
    }

    /// The parts of which something is in these screen rows.
    pub(crate) fn parts_in(&self, screen: &Range<usize>) -> Range<usize> {
        if screen.is_empty() {
            return 0..0;
        }
        let (first, last) = (self.row_at(screen.start), self.row_at(screen.end - 1));
        let from = self.of_part.partition_point(|rows| rows.end <= first);
        let to = self.of_part.partition_point(|rows| rows.start <= last);
        from..to.max(from)
    }

    /// Finds the words that changed in the parts in these screen rows.
    pub(crate) fn refine(&mut self, screen: &Range<usize>) {
        for part in self.parts_in(screen) {
            let piece = &mut self.pieces[part];
            if piece.words.is_none() {
                piece.words = Some(words::changed(&piece.part.deleted, &piece.added));
            }
        }
    }

    /// The lines in these screen rows whose colours are wanted. Runs of lines with fewer than `apart` between
    /// them are one.
    pub(crate) fn sources(&self, screen: &Range<usize>, apart: usize) -> BTreeMap<(usize, Side), Vec<Range<usize>>> {
        let mut wanted: BTreeMap<(usize, Side), Vec<Range<usize>>> = BTreeMap::new();
        if screen.is_empty() || self.rows.is_empty() {
            return wanted;
        }
        for row in &self.rows[self.row_at(screen.start)..=self.row_at(screen.end - 1)] {
            for (file, side, line) in [Side::Old, Side::New]
                .into_iter()
                .filter_map(|side| self.shown(*row, side)?.source)
            {
                let runs = wanted.entry((file, side)).or_default();
                match runs
                    .last_mut()
                    .filter(|run| line >= run.start && line < run.end + apart)
                {
                    Some(run) => run.end = run.end.max(line + 1),
                    None => runs.push(line..line + 1),
                }
            }
        }
        wanted
    }
}

/// A line made fit for the screen, whatever is in it; its end is not drawn.
fn fair(line: &str) -> Cow<'_, str> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    match sanitize::clean(line) {
        Cow::Borrowed(line) if !line.contains('\t') => Cow::Borrowed(line),
        line => Cow::Owned(line.replace('\t', "    ")),
    }
}

fn height_of(line: &str, columns: usize) -> u32 {
    let plain = line.strip_suffix('\n').unwrap_or(line);
    if plain.len() <= columns && plain.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return 1;
    }
    text::wrap(&fair(line), columns).len() as u32
}
