//! The difference of an episode's memory between two steps, as lines with signs.
//!
//! Owns how it is found and what it says. Computed on the loader's thread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::data::DiffLine;
use crate::store::{Kinds, Reader, StoreError};
use crate::types::{Body, EpisodeNo, StepNo};

/// Lines of one file's difference at most; the rest is counted.
const MOST_LINES: usize = 5_000;
/// Time the search for a short difference of one file may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the cursor's memory is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// The step before.
    Previous,
    /// A step that a person marked.
    Marked(StepNo),
    /// What the episode began with.
    Start,
}

/// A wish for a difference: the memory before (`None` is what the episode began with) and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffWish {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// The older step.
    pub(crate) from: Option<StepNo>,
    /// The newer step.
    pub(crate) to: StepNo,
}

impl DiffWish {
    /// What to compare at a step.
    pub(crate) fn new(episode: EpisodeNo, cursor: StepNo, against: Against) -> Self {
        let (from, to) = match against {
            Against::Previous => (cursor.previous(), cursor),
            Against::Marked(step) => (Some(step.min(cursor)), step.max(cursor)),
            Against::Start => (None, cursor),
        };
        Self { episode, from, to }
    }

    /// The two ends in words.
    pub(crate) fn words(&self) -> String {
        match self.from {
            Some(from) => format!("step {from} → {}", self.to),
            None => format!("start → step {}", self.to),
        }
    }
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Only the newer memory has it.
    Added,
    /// Only the older memory has it.
    Removed,
    /// It has another text.
    Changed,
}

impl Change {
    /// The sign in the tree.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Added => " (new)",
            Self::Removed => " (gone)",
            Self::Changed => "",
        }
    }
}

/// A difference, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemoryDiff {
    /// What was compared.
    pub(crate) wish: DiffWish,
    /// The files that differ.
    pub(crate) files: BTreeMap<String, Change>,
    /// All lines; those of a file begin with [`DiffLine::File`].
    pub(crate) lines: Vec<DiffLine>,
    /// Lines that were added and removed, over all files.
    pub(crate) counts: (usize, usize),
}

type Texts = BTreeMap<String, Arc<str>>;

/// Reads both memories and compares them.
pub(super) fn load(reader: &Reader, wish: DiffWish) -> Result<MemoryDiff, StoreError> {
    let at = |step: StepNo| reader.memory_at(wish.episode, step).map(|state| state.texts());
    let before = match wish.from {
        Some(step) => at(step)?,
        None => beginning(reader, wish.episode)?,
    };
    Ok(compare(wish, &before, &at(wish.to)?))
}

/// What the episode began with.
fn beginning(reader: &Reader, episode: EpisodeNo) -> Result<Texts, StoreError> {
    let events = reader.events_in(episode, StepNo(0)..StepNo(1), Kinds::MEMORY)?;
    let inherited = events.into_iter().find_map(|event| match event.body {
        Body::EpisodeStarted { inherited, .. } => Some(inherited),
        _ => None,
    });
    Ok(inherited.unwrap_or_default())
}

/// Compares two memories.
pub(crate) fn compare(wish: DiffWish, before: &Texts, after: &Texts) -> MemoryDiff {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut diff = MemoryDiff {
        wish,
        files: BTreeMap::new(),
        lines: Vec::new(),
        counts: (0, 0),
    };
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            continue;
        }
        let change = match (old, new) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            _ => Change::Changed,
        };
        let empty: Arc<str> = "".into();
        let (lines, added, removed) = of_file(old.unwrap_or(&empty), new.unwrap_or(&empty));
        diff.files.insert(path.clone(), change);
        diff.lines
            .push(DiffLine::File(format!("{path}{} +{added} -{removed}", change.word())));
        diff.lines.extend(lines);
        diff.counts.0 += added;
        diff.counts.1 += removed;
    }
    diff
}

fn of_file(old: &str, new: &str) -> (Vec<DiffLine>, usize, usize) {
    let text = similar::TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (mut lines, mut added, mut removed) = (Vec::new(), 0, 0);
    for (index, group) in text.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            lines.push(DiffLine::Gap);
        }
        for change in group.iter().flat_map(|op| text.iter_changes(op)) {
            let line = change.value().trim_end_matches(['\n', '\r']);
            let line = match change.tag() {
                similar::ChangeTag::Equal => DiffLine::Same(line.to_owned()),
                similar::ChangeTag::Insert => {
                    added += 1;
                    DiffLine::Added(line.to_owned())
                }
                similar::ChangeTag::Delete => {
                    removed += 1;
                    DiffLine::Removed(line.to_owned())
                }
            };
            if lines.len() < MOST_LINES {
                lines.push(line);
            }
        }
    }
    if lines.len() >= MOST_LINES {
        lines.push(DiffLine::Gap);
    }
    (lines, added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Texts {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Arc::from(*text)))
            .collect()
    }

    #[test]
    fn files_come_go_and_change() {
        let wish = DiffWish::new(EpisodeNo(0), StepNo(9), Against::Marked(StepNo(4)));
        let before = texts(&[("a.txt", "1\n2\n3\n"), ("gone.txt", "x\n"), ("same.txt", "s\n")]);
        let after = texts(&[("a.txt", "1\n2b\n3\n4\n"), ("new.txt", "n\n"), ("same.txt", "s\n")]);
        let diff = compare(wish, &before, &after);
        let signs: Vec<_> = diff
            .files
            .iter()
            .map(|(path, change)| (path.as_str(), change.sign()))
            .collect();
        assert_eq!(signs, [("a.txt", "~"), ("gone.txt", "-"), ("new.txt", "+")]);
        assert_eq!(diff.counts, (3, 2));
        assert_eq!(diff.lines[0], DiffLine::File("a.txt +2 -1".into()));
        assert!(diff.lines.contains(&DiffLine::Added("2b".into())));
        assert!(diff.lines.contains(&DiffLine::Removed("2".into())));
        assert!(diff.lines.contains(&DiffLine::File("gone.txt (gone) +0 -1".into())));
        assert!(compare(wish, &before, &before).files.is_empty());
    }

    #[test]
    fn the_older_step_stands_before_the_newer() {
        let wish = |cursor, against| DiffWish::new(EpisodeNo(0), StepNo(cursor), against).words();
        assert_eq!(wish(9, Against::Marked(StepNo(4))), "step 4 → 9");
        assert_eq!(wish(4, Against::Marked(StepNo(9))), "step 4 → 9");
        assert_eq!(wish(4, Against::Previous), "step 3 → 4");
        assert_eq!(wish(0, Against::Previous), "start → step 0");
        assert_eq!(wish(4, Against::Start), "start → step 4");
    }

    #[test]
    fn a_long_difference_is_cut() {
        let wish = DiffWish::new(EpisodeNo(0), StepNo(1), Against::Start);
        let text: String = (0..50_000).map(|n| format!("{n}\n")).collect();
        let diff = compare(wish, &Texts::new(), &texts(&[("a.txt", &text)]));
        assert_eq!(diff.counts, (50_000, 0));
        assert!(diff.lines.len() <= MOST_LINES + 2);
    }
}
