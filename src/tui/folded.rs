//! A long text in parts that fold: heads in a document, bodies below the open ones.
//!
//! Owns which parts are open and where their heads stand. Must not know what the parts mean.

use std::ops::Range;

use ratatui::style::Style;

use super::widgets::document::Document;

/// A part as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// Its head; without one it cannot fold.
    pub(crate) head: Option<String>,
    /// How the head looks.
    pub(crate) style: Style,
    /// Its text, made harmless before.
    pub(crate) body: String,
    /// Styles inside of the text, sorted and apart.
    pub(crate) spans: Vec<(Range<usize>, Style)>,
    /// The text shows.
    pub(crate) open: bool,
}

/// Parts and the document they make.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    sections: Vec<Section>,
    document: Document,
    /// Where each part begins in the document's text.
    starts: Vec<usize>,
    columns: usize,
}

impl Folded {
    /// Makes a document of parts.
    pub(crate) fn new(sections: Vec<Section>) -> Self {
        let mut folded = Self {
            sections,
            columns: 80,
            ..Self::default()
        };
        folded.build();
        folded
    }

    fn build(&mut self) {
        let mut text = String::new();
        let mut spans = Vec::new();
        self.starts.clear();
        for section in &self.sections {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let start = text.len();
            self.starts.push(start);
            if let Some(head) = &section.head {
                text.push_str(if section.open { "▾ " } else { "▸ " });
                text.push_str(head);
                spans.push((start..text.len(), section.style));
                text.push('\n');
            }
            if section.open || section.head.is_none() {
                let at = text.len();
                text.push_str(section.body.trim_end_matches('\n'));
                let end = text.len();
                let inside = section
                    .spans
                    .iter()
                    .map(|(range, style)| (at + range.start..(at + range.end).min(end), *style));
                spans.extend(inside.filter(|(range, _)| range.start < range.end));
                text.push('\n');
            }
        }
        if text.ends_with('\n') {
            text.pop();
        }
        self.document = Document::new(text, spans, self.columns);
    }

    /// Wraps anew if the width is another.
    pub(crate) fn fit(&mut self, columns: usize) {
        self.columns = columns;
        self.document.fit(columns);
    }

    /// What is drawn.
    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// The part that a row belongs to.
    pub(crate) fn section_at(&self, row: usize) -> usize {
        let at = self.document.start_of_row(row);
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The row of a part's head.
    pub(crate) fn row_of(&self, section: usize) -> usize {
        self.starts.get(section).map_or(0, |at| self.document.row_of(*at))
    }

    /// The parts.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Opens or folds a part; gives whether it can.
    pub(crate) fn toggle(&mut self, section: usize) -> bool {
        match self.sections.get_mut(section).filter(|section| section.head.is_some()) {
            Some(section) => section.open = !section.open,
            None => return false,
        }
        self.build();
        true
    }

    /// Folds all parts, or opens all when none is open.
    pub(crate) fn toggle_all(&mut self) {
        let any = self
            .sections
            .iter()
            .any(|section| section.open && section.head.is_some());
        for section in self.sections.iter_mut().filter(|section| section.head.is_some()) {
            section.open = !any;
        }
        self.build();
    }

    /// The row where a text stands after (or before) a row; goes on from the other end. Capitals
    /// and small letters are alike.
    pub(crate) fn find(&self, text: &str, row: Option<usize>, forward: bool) -> Option<usize> {
        let needle = text.to_lowercase();
        if needle.is_empty() {
            return None;
        }
        let rows = self.document.len();
        let holds = |row: &usize| self.document.row_text(*row).to_lowercase().contains(&needle);
        match (row, forward) {
            (None, _) => (0..rows).find(holds),
            (Some(row), true) => (row + 1..rows).chain(0..=row.min(rows.saturating_sub(1))).find(holds),
            (Some(row), false) => (0..row).rev().chain((row..rows).rev()).find(holds),
        }
    }

    /// Folded parts that hold a text.
    pub(crate) fn open_those_with(&mut self, text: &str) {
        let needle = text.to_lowercase();
        let mut any = false;
        for section in self.sections.iter_mut().filter(|section| !section.open) {
            if !needle.is_empty() && section.body.to_lowercase().contains(&needle) {
                section.open = true;
                any = true;
            }
        }
        if any {
            self.build();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(head: Option<&str>, body: &str, open: bool) -> Section {
        Section {
            head: head.map(str::to_owned),
            style: Style::new(),
            body: body.to_owned(),
            spans: Vec::new(),
            open,
        }
    }

    fn three() -> Folded {
        Folded::new(vec![
            section(Some("system"), "one\ntwo\n", false),
            section(Some("task"), "three\nfour Trees", true),
            section(None, "rest", true),
        ])
    }

    #[test]
    fn parts_fold_one_by_one_and_all_at_once() {
        let mut folded = three();
        assert_eq!(folded.document().text(), "▸ system\n▾ task\nthree\nfour Trees\nrest");
        assert_eq!(
            (0..5).map(|row| folded.section_at(row)).collect::<Vec<_>>(),
            [0, 1, 1, 1, 2]
        );
        assert!(folded.toggle(0));
        assert_eq!(folded.row_of(1), 3);
        folded.toggle_all();
        assert_eq!(folded.document().text(), "▸ system\n▸ task\nrest");
        folded.toggle_all();
        assert_eq!(
            folded.document().text(),
            "▾ system\none\ntwo\n▾ task\nthree\nfour Trees\nrest"
        );
        assert!(!folded.toggle(2), "a part without a head stays");
        assert!(!folded.toggle(99));
    }

    #[test]
    fn a_text_is_found_in_both_directions_and_in_folded_parts() {
        let mut folded = three();
        assert_eq!(folded.find("TREE", None, true), Some(3));
        assert_eq!(folded.find("tree", Some(3), true), Some(3));
        assert_eq!(folded.find("t", Some(1), true), Some(2));
        assert_eq!(folded.find("t", Some(1), false), Some(0));
        assert_eq!(folded.find("two", None, true), None);
        folded.open_those_with("TWO");
        assert_eq!(folded.find("two", None, true), Some(2));
        assert_eq!(folded.find("", None, true), None);
    }
}
