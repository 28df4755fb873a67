//! The parts of a revision: hunks with identity and digest; splitting them, and putting files together again.
//!
//! Pure. A hunk is a run of changed lines without context. Files keep their line ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use similar::{DiffOp, TextDiff};

use crate::types::Digest;

/// Names a part inside its proposal: `prompts/log.md#2`, a piece of a split one `prompts/log.md#2.1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartId(pub Arc<str>);

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&str> for PartId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// What a part does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Changes lines.
    Change,
    /// Makes the file.
    NewFile,
    /// Removes the file.
    RemovedFile,
}

/// A part: lines that are replaced by others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub id: PartId,
    /// The file.
    pub path: String,
    /// What it does to it.
    pub kind: PartKind,
    /// Index of the first line it replaces in the old file, from 0.
    pub old_start: usize,
    /// Lines it replaces, line ends included.
    pub deleted: Vec<String>,
    /// Index of its first line in the new file as suggested, from 0.
    pub new_start: usize,
    /// Lines that come in their place.
    pub inserted: Vec<String>,
    /// Digest of path, place and both texts: what a decision is about.
    pub digest: Digest,
}

impl Part {
    fn new(id: String, path: &str, kind: PartKind, old: (usize, &[&str]), new: (usize, &[&str])) -> Self {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let (at, deleted, inserted) = (old.0.to_string(), old.1.concat(), new.1.concat());
        Self {
            id: PartId(id.into()),
            path: path.to_owned(),
            kind,
            old_start: old.0,
            deleted: owned(old.1),
            new_start: new.0,
            inserted: owned(new.1),
            digest: Digest::of_parts([path, at.as_str(), deleted.as_str(), inserted.as_str()].map(str::as_bytes)),
        }
    }

    /// The text that comes in.
    pub fn text(&self) -> String {
        self.inserted.concat()
    }

    /// Whether it can be split.
    pub fn splits(&self) -> bool {
        self.kind == PartKind::Change && self.deleted.len().max(self.inserted.len()) > 1
    }

    /// Its pieces: line by line, each deleted line with the inserted one beside it. One that cannot be split gives itself.
    pub fn split(&self) -> Vec<Self> {
        if !self.splits() {
            return vec![self.clone()];
        }
        let count = self.deleted.len().max(self.inserted.len());
        (0..count)
            .map(|n| {
                let piece = |lines: &'_ [String]| -> Vec<String> { lines.get(n).cloned().into_iter().collect() };
                let (deleted, inserted) = (piece(&self.deleted), piece(&self.inserted));
                let deleted: Vec<&str> = deleted.iter().map(String::as_str).collect();
                let inserted: Vec<&str> = inserted.iter().map(String::as_str).collect();
                Self::new(
                    format!("{}.{}", self.id, n + 1),
                    &self.path,
                    self.kind,
                    (self.old_start + n.min(self.deleted.len()), &deleted),
                    (self.new_start + n.min(self.inserted.len()), &inserted),
                )
            })
            .collect()
    }
}

/// Share of equal lines below which a file's text counts as another one.
const ANOTHER_TEXT: f32 = 0.25;

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The parts that lead from one set of files to another: the manifest's first, then by path and line.
pub fn parts_of(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<Part> {
    let mut paths: Vec<&String> = old
        .keys()
        .chain(new.keys())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path))
        .collect();
    paths.sort_by_key(|path| *path != crate::scaffold::MANIFEST);
    let mut parts = Vec::new();
    for path in paths {
        let id = |n: usize| format!("{path}#{n}");
        match (old.get(path), new.get(path)) {
            (None, Some(text)) => {
                parts.push(Part::new(id(1), path, PartKind::NewFile, (0, &[]), (0, &lines(text))));
            }
            (Some(text), None) => {
                parts.push(Part::new(
                    id(1),
                    path,
                    PartKind::RemovedFile,
                    (0, &lines(text)),
                    (0, &[]),
                ));
            }
            (Some(before), Some(after)) => {
                let (before, after) = (lines(before), lines(after));
                let mut n = 0;
                let diff = TextDiff::from_slices(&before, &after);
                // What shares little with what it replaces is another text, not many small changes.
                if before.len().min(after.len()) > 2 && diff.ratio() < ANOTHER_TEXT {
                    parts.push(Part::new(id(1), path, PartKind::Change, (0, &before), (0, &after)));
                    continue;
                }
                for op in diff.ops() {
                    if matches!(op, DiffOp::Equal { .. }) {
                        continue;
                    }
                    n += 1;
                    let (old, new) = (op.old_range(), op.new_range());
                    parts.push(Part::new(
                        id(n),
                        path,
                        PartKind::Change,
                        (old.start, &before[old]),
                        (new.start, &after[new]),
                    ));
                }
            }
            (None, None) => {}
        }
    }
    parts
}

/// What is taken of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken<'a> {
    /// As suggested.
    Whole,
    /// With another text.
    Instead(&'a str),
}

/// The files that come out when only some parts are taken. `parts` are all of one [`parts_of`], whole or in
/// pieces; what `taken` gives `None` for is left as it was.
pub fn assemble<'a>(
    base: &BTreeMap<String, String>,
    parts: &[Part],
    taken: impl Fn(&Part) -> Option<Taken<'a>>,
) -> BTreeMap<String, String> {
    let mut files = base.clone();
    let mut by_file: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        by_file.entry(&part.path).or_default().push(part);
    }
    for (path, parts) in by_file {
        let old = base.get(path).map(String::as_str).unwrap_or_default();
        let old = lines(old);
        let mut text = String::new();
        let mut at = 0;
        let mut there = base.contains_key(path);
        for part in parts {
            let Some(taken) = taken(part) else { continue };
            if part.kind == PartKind::RemovedFile {
                there = false;
                continue;
            }
            there = true;
            text.extend(old.get(at..part.old_start).unwrap_or_default().iter().copied());
            match taken {
                Taken::Whole => text.extend(part.inserted.iter().map(String::as_str)),
                Taken::Instead(other) => text.push_str(other),
            }
            at = part.old_start + part.deleted.len();
        }
        if !there {
            files.remove(path);
            continue;
        }
        text.extend(old.get(at..).unwrap_or_default().iter().copied());
        files.insert(path.to_owned(), text);
    }
    files
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("a.md".to_owned(), text.to_owned())])
    }

    #[test]
    fn parts_can_be_taken_one_by_one() {
        let (old, new) = ("one\ntwo\nthree\nfour\n", "1\ntwo\n3\nthree\n");
        let parts = parts_of(&files(old), &files(new));
        let ids: Vec<String> = parts.iter().map(|part| part.id.to_string()).collect();
        assert_eq!(ids, ["a.md#1", "a.md#2", "a.md#3"]);
        let only = |n: usize| {
            let chosen = parts[n].id.clone();
            assemble(&files(old), &parts, |part| (part.id == chosen).then_some(Taken::Whole))["a.md"].clone()
        };
        assert_eq!(only(0), "1\ntwo\nthree\nfour\n");
        assert_eq!(only(1), "one\ntwo\n3\nthree\nfour\n");
        assert_eq!(only(2), "one\ntwo\nthree\n");
        let edited = assemble(&files(old), &parts, |part| {
            (*part.id.0 == *"a.md#1").then_some(Taken::Instead("eins\nuno\n"))
        });
        assert_eq!(edited["a.md"], "eins\nuno\ntwo\nthree\nfour\n");
    }

    #[test]
    fn another_text_is_one_part() {
        let (old, new) = ("# v0\n\na\nb\nc\nd\n", "# v1\n\nx\ny\nz\nu\nv\nw\n");
        assert_eq!(parts_of(&files(old), &files(new)).len(), 1);
        let changed = old.replace('b', "2").replace('d', "4");
        assert_eq!(parts_of(&files(old), &files(&changed)).len(), 2);
    }

    #[test]
    fn files_come_and_go_whole() {
        let new = BTreeMap::from([("b.md".to_owned(), "b".to_owned())]);
        let parts = parts_of(&files("x\n"), &new);
        let kinds: Vec<PartKind> = parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::RemovedFile, PartKind::NewFile]);
        assert_eq!(assemble(&files("x\n"), &parts, |_| Some(Taken::Whole)), new);
        assert_eq!(assemble(&files("x\n"), &parts, |_| None), files("x\n"));
        assert!(!parts[1].splits());
    }

    proptest! {
        #[test]
        fn all_parts_give_the_new_text_and_none_the_old(
            old in "([a-c]{0,2}\n){0,8}[a-c]?", new in "([a-c]{0,2}\n){0,8}[a-c]?", split: bool,
        ) {
            let mut parts = parts_of(&files(&old), &files(&new));
            if split {
                parts = parts.iter().flat_map(Part::split).collect();
            }
            prop_assert_eq!(assemble(&files(&old), &parts, |_| Some(Taken::Whole)), files(&new));
            prop_assert_eq!(assemble(&files(&old), &parts, |_| None), files(&old));
        }
    }
}
