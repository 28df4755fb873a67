//! The files of a scaffold while rules edit them: comments, order and line ends of what is not changed stay.

use std::collections::BTreeMap;

use super::manifest;
use crate::scaffold::{MANIFEST, Manifest, Scaffold};

/// Files under way.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The parent's manifest, as it was checked.
    pub(super) before: Manifest,
    /// The files.
    pub(super) files: BTreeMap<String, String>,
    /// What was changed and why, a line each.
    pub(super) changes: Vec<String>,
    /// Rules of findings that led to it.
    pub(super) because: Vec<String>,
}

impl Draft {
    pub(super) fn of(parent: &Scaffold) -> Self {
        Self {
            before: parent.manifest().clone(),
            files: parent.files().clone(),
            changes: Vec::new(),
            because: Vec::new(),
        }
    }

    /// Says what was changed, and which findings led to it.
    pub(super) fn say(&mut self, change: impl Into<String>, because: &[&str]) {
        self.changes.push(change.into());
        self.because.extend(because.iter().map(|rule| (*rule).to_owned()));
    }

    /// Sets a key of a table of the manifest; `value` is written as it is. False when the manifest is not written so
    /// that this can be done line by line.
    pub(super) fn set(&mut self, table: &str, key: &str, value: &str) -> bool {
        let Some(text) = self.files.get(MANIFEST) else {
            return false;
        };
        let Some(new) = manifest::with(text, table, key, value) else {
            return false;
        };
        self.files.insert(MANIFEST.to_owned(), new);
        true
    }

    /// Whether a prompt says something.
    pub(super) fn says(&self, file: &str, text: &str) -> bool {
        self.files.get(file).is_some_and(|there| there.contains(text))
    }

    /// Puts lines into a prompt before the first line that `at` picks, or at its end. False when there is no such
    /// prompt.
    pub(super) fn insert(&mut self, file: &str, lines: &str, at: impl Fn(&str) -> bool) -> bool {
        let Some(text) = self.files.get_mut(file) else {
            return false;
        };
        let mut place = 0;
        for line in text.split_inclusive('\n') {
            if at(line) {
                text.insert_str(place, lines);
                return true;
            }
            place += line.len();
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(lines);
        true
    }
}
