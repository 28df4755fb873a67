//! Which words of replaced lines changed.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

/// Bytes of both sides beyond which no words are looked for: the lines say it.
const MOST: usize = 20_000;
/// How long the search may take for one part.
const PATIENCE: Duration = Duration::from_millis(40);

/// The changed words, line by line.
#[derive(Debug, Default)]
pub(super) struct Words {
    old: Vec<Vec<Range<usize>>>,
    new: Vec<Vec<Range<usize>>>,
}

impl Words {
    pub(super) fn of_gone(&self, line: usize) -> &[Range<usize>] {
        self.old.get(line).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_come(&self, line: usize) -> &[Range<usize>] {
        self.new.get(line).map_or(&[], Vec::as_slice)
    }
}

/// Compares the words of lines that go with those of lines that come. Where nothing is alike,
/// there is nothing to point at.
pub(super) fn changed(gone: &[String], come: &[String]) -> Words {
    let bytes: usize = gone.iter().chain(come).map(String::len).sum();
    if gone.is_empty() || come.is_empty() || bytes > MOST {
        return Words::default();
    }
    let old: Vec<&str> = gone.iter().map(String::as_str).collect();
    let new: Vec<&str> = come.iter().map(String::as_str).collect();
    let mut words = Words {
        old: vec![Vec::new(); old.len()],
        new: vec![Vec::new(); new.len()],
    };
    let until = Instant::now() + PATIENCE;
    let diff = TextDiff::configure().deadline(until).diff_slices(&old, &new);
    for op in diff.ops() {
        for change in diff.iter_inline_changes_deadline(op, Some(until)) {
            let line = match change.tag() {
                ChangeTag::Delete => change.old_index().and_then(|at| words.old.get_mut(at)),
                ChangeTag::Insert => change.new_index().and_then(|at| words.new.get_mut(at)),
                ChangeTag::Equal => None,
            };
            let Some(line) = line else { continue };
            let mut at = 0;
            for (changed, value) in change.values() {
                let end = at + value.len();
                let shown = end - (value.len() - value.trim_end_matches(['\n', '\r']).len());
                if *changed && at < shown {
                    line.push(at..shown);
                }
                at = end;
            }
        }
    }
    words
}
