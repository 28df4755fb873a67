//! A text under the knife: only cuts, each remembered by where it was in the original.

use std::ops::Range;

use super::{Cut, Why};

/// A text of which parts are cut away.
#[derive(Debug)]
pub(super) struct Editing<'a> {
    original: &'a str,
    /// What is left, in order, as ranges of the original.
    kept: Vec<Range<usize>>,
    /// What is gone, as ranges of the original.
    gone: Vec<(Range<usize>, Why)>,
    /// What is left, as text.
    text: String,
}

impl<'a> Editing<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        Self {
            original,
            kept: std::iter::once(0..original.len()).collect(),
            gone: Vec::new(),
            text: original.to_owned(),
        }
    }

    /// What is left.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The same.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Cuts a range of what is left.
    pub(super) fn cut(&mut self, range: Range<usize>, why: Why) {
        if range.is_empty() {
            return;
        }
        let mut kept = Vec::with_capacity(self.kept.len() + 1);
        let mut at = 0;
        for piece in self.kept.drain(..) {
            let from = range.start.clamp(at, at + piece.len()) - at + piece.start;
            let to = range.end.clamp(at, at + piece.len()) - at + piece.start;
            at += piece.len();
            if from < to {
                self.gone.push((from..to, why));
                kept.extend(
                    [piece.start..from, to..piece.end]
                        .into_iter()
                        .filter(|part| !part.is_empty()),
                );
            } else {
                kept.push(piece);
            }
        }
        self.kept = kept;
        self.text = self
            .kept
            .iter()
            .filter_map(|piece| self.original.get(piece.clone()))
            .collect();
    }

    /// All cuts in order; neighbours that were cut for the same reason are one.
    pub(super) fn cuts(&self, message: usize) -> Vec<Cut> {
        let mut gone = self.gone.clone();
        gone.sort_by_key(|(range, _)| range.start);
        let mut cuts: Vec<Cut> = Vec::with_capacity(gone.len());
        for (range, why) in gone {
            match cuts.last_mut() {
                Some(last) if last.end == range.start && last.why == why => last.end = range.end,
                _ => cuts.push(Cut {
                    message,
                    start: range.start,
                    end: range.end,
                    why,
                }),
            }
        }
        cuts
    }
}
