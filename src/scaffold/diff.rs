//! The difference between two scaffolds, file by file and line by line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// One file that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Its path.
    pub path: String,
    /// It is only in the first.
    pub removed: bool,
    /// It is only in the second.
    pub added: bool,
    /// Parts that changed, with three lines around them.
    pub hunks: Vec<Vec<DiffLine>>,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// Where it stands.
    pub tag: LineTag,
    /// Its number in the first file, from 1.
    pub old: Option<u32>,
    /// Its number in the second file, from 1.
    pub new: Option<u32>,
    /// Its text, without the line end.
    pub text: String,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineTag {
    /// In both.
    Equal,
    /// In the first only.
    Delete,
    /// In the second only.
    Insert,
}

impl LineTag {
    /// The character in front of such a line.
    pub fn sign(self) -> char {
        match self {
            Self::Equal => ' ',
            Self::Delete => '-',
            Self::Insert => '+',
        }
    }
}

/// What must be done to `old` to get `new`: the manifest first, then by path.
pub fn diff(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<FileDiff> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut files: Vec<FileDiff> = paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path))
        .map(|path| file_diff(path, old.get(path), new.get(path)))
        .collect();
    files.sort_by_key(|file| file.path != super::MANIFEST);
    files
}

fn file_diff(path: &str, old: Option<&String>, new: Option<&String>) -> FileDiff {
    let (before, after) = (
        old.map(String::as_str).unwrap_or_default(),
        new.map(String::as_str).unwrap_or_default(),
    );
    let number = |index: Option<usize>| index.and_then(|n| u32::try_from(n + 1).ok());
    let lines = TextDiff::from_lines(before, after);
    let hunks = lines
        .grouped_ops(3)
        .iter()
        .map(|group| {
            group
                .iter()
                .flat_map(|op| lines.iter_changes(op))
                .map(|change| DiffLine {
                    tag: match change.tag() {
                        ChangeTag::Equal => LineTag::Equal,
                        ChangeTag::Delete => LineTag::Delete,
                        ChangeTag::Insert => LineTag::Insert,
                    },
                    old: number(change.old_index()),
                    new: number(change.new_index()),
                    text: change.value().trim_end_matches(['\n', '\r']).to_owned(),
                })
                .collect()
        })
        .collect();
    FileDiff {
        path: path.to_owned(),
        removed: new.is_none(),
        added: old.is_none(),
        hunks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_what_changed() {
        let files = |text: &str| {
            BTreeMap::from([
                ("a.md".to_owned(), text.to_owned()),
                ("b.md".to_owned(), "same\n".to_owned()),
            ])
        };
        let found = diff(&files("one\ntwo\n"), &files("one\n2\n"));
        assert_eq!(found.len(), 1);
        let signs: String = found[0].hunks[0].iter().map(|line| line.tag.sign()).collect();
        assert_eq!(signs, " -+");
        assert_eq!(found[0].hunks[0][2].new, Some(2));
        assert!(diff(&files("x"), &files("x")).is_empty());
        let gone = diff(&files("x\n"), &BTreeMap::new());
        assert!(gone.iter().all(|file| file.removed));
    }
}
