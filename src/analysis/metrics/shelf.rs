//! The memory as metrics need it: every file's text, and every line that stands in one.
//!
//! Owns how a change is told in lines: which were added, and whether the file said the same before.

use std::collections::{BTreeMap, HashMap};

use super::text::{key_of, lines, meaning_of, things_in};
use crate::memory::find_op;
use crate::types::{ApplyError, Edit, MemoryChange, MemoryFiles, MemoryOp, OpStatus};

/// All files of an episode's memory.
#[derive(Debug, Clone, Default)]
pub(in crate::analysis) struct Shelf {
    books: BTreeMap<String, Book>,
    /// Every line that is not blank, whichever file it stands in.
    index: HashMap<Box<str>, Entry>,
    things: &'static [&'static str],
}

/// One file.
#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    text: String,
    meanings: HashMap<u64, u32>,
    keys: HashMap<u64, u32>,
    /// Lines that are not blank.
    pub(super) lines: u64,
}

/// One line's text.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    copies: u32,
    /// Copies the model wrote that no prompt has shown yet.
    unread: u32,
    /// Of those, the ones written in the step `fresh_step`.
    fresh: u32,
    fresh_step: u32,
    /// The step in which the model wrote it first.
    own_since: Option<u32>,
    /// A prompt has shown it.
    seen: bool,
    /// Things of the world it names, as bits.
    pub(super) things: u64,
}

/// A line that a change added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) text: String,
    /// It says nothing (rules, punctuation).
    pub(super) empty: bool,
    /// The file said the same before.
    pub(super) known: bool,
    /// The file has another line with the same key and says something else in it.
    pub(super) conflict: bool,
}

/// A change told in lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::analysis) struct Told {
    pub(super) added: Vec<Added>,
    /// Lines that are gone.
    pub(super) removed: u64,
    /// Bytes before and after.
    pub(super) before: u64,
    pub(super) after: u64,
}

impl Book {
    pub(super) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Lines beyond the first that say what another says.
    pub(super) fn duplicates(&self) -> u64 {
        self.meanings.values().map(|count| u64::from(*count) - 1).sum()
    }
}

fn add(counts: &mut HashMap<u64, u32>, of: Option<u64>) {
    if let Some(of) = of {
        *counts.entry(of).or_default() += 1;
    }
}

fn take(counts: &mut HashMap<u64, u32>, of: Option<u64>) {
    if let Some(of) = of
        && let Some(count) = counts.get_mut(&of)
    {
        *count -= 1;
        if *count == 0 {
            counts.remove(&of);
        }
    }
}

impl Shelf {
    /// The memory an episode starts with.
    pub(in crate::analysis) fn new(files: &MemoryFiles, things: &'static [&'static str]) -> Self {
        let mut shelf = Self {
            things,
            ..Self::default()
        };
        for (path, text) in files {
            let mut book = Book::default();
            for line in lines(text) {
                shelf.put(&mut book, line, 0, false);
            }
            book.text = text.to_string();
            shelf.books.insert(path.clone(), book);
        }
        shelf
    }

    pub(super) fn books(&self) -> &BTreeMap<String, Book> {
        &self.books
    }

    pub(super) fn bytes(&self) -> u64 {
        self.books.values().map(Book::bytes).sum()
    }

    fn put(&mut self, book: &mut Book, line: &str, step: u32, own: bool) {
        book.lines += 1;
        add(&mut book.meanings, meaning_of(line));
        add(&mut book.keys, key_of(line));
        if !self.index.contains_key(line) {
            let entry = Entry {
                things: things_in(line, self.things),
                ..Entry::default()
            };
            self.index.insert(line.into(), entry);
        }
        let Some(entry) = self.index.get_mut(line) else { return };
        entry.copies += 1;
        if own {
            if entry.fresh_step != step {
                (entry.fresh_step, entry.fresh) = (step, 0);
            }
            entry.fresh += 1;
            entry.unread += 1;
            entry.own_since.get_or_insert(step);
        }
    }

    fn remove(&mut self, book: &mut Book, line: &str) {
        book.lines = book.lines.saturating_sub(1);
        take(&mut book.meanings, meaning_of(line));
        take(&mut book.keys, key_of(line));
        let Some(entry) = self.index.get_mut(line) else { return };
        entry.copies -= 1;
        if entry.copies == 0 {
            self.index.remove(line);
        } else {
            entry.unread = entry.unread.min(entry.copies);
            entry.fresh = entry.fresh.min(entry.unread);
        }
    }

    /// Applies a change of the given step; `own` when the model asked for it.
    ///
    /// # Errors
    /// When the change does not fit the files so far.
    pub(in crate::analysis) fn apply(
        &mut self,
        change: &MemoryChange,
        step: u32,
        own: bool,
    ) -> Result<Told, ApplyError> {
        let wrong = |why| ApplyError {
            path: change.path.clone(),
            why,
        };
        let old = self.books.remove(&change.path);
        let mut told = Told {
            before: old.as_ref().map_or(0, Book::bytes),
            ..Told::default()
        };
        // The part of the text that changes, in whole lines, and what it becomes.
        let (range, new) = match (&change.edit, &old) {
            (Edit::Delete, Some(book)) => (0..book.text.len(), String::new()),
            (Edit::Create { text } | Edit::Replace { text }, book) => {
                (0..book.as_ref().map_or(0, |book| book.text.len()), text.clone())
            }
            (Edit::Append { text }, Some(book)) => {
                let from = book.text.rfind('\n').map_or(0, |at| at + 1);
                (from..book.text.len(), format!("{}{text}", &book.text[from..]))
            }
            (Edit::Splice { at, deleted, inserted }, Some(book)) => {
                let at = usize::try_from(*at).map_err(|_| wrong("the offset is beyond the end"))?;
                let end = at.saturating_add(deleted.len());
                if book.text.get(at..end) != Some(deleted.as_str()) {
                    return Err(wrong("another text stands there"));
                }
                let from = book.text[..at].rfind('\n').map_or(0, |at| at + 1);
                let to = book.text[end..].find('\n').map_or(book.text.len(), |at| end + at + 1);
                let new = format!("{}{inserted}{}", &book.text[from..at], &book.text[end..to]);
                (from..to, new)
            }
            (_, None) => return Err(wrong("it is not there")),
        };
        let mut book = old.unwrap_or_default();
        let mut gone: HashMap<&str, u32> = HashMap::new();
        let region = book.text[range.clone()].to_owned();
        for line in lines(&region) {
            *gone.entry(line).or_default() += 1;
        }
        let mut come: Vec<&str> = Vec::new();
        for line in lines(&new) {
            match gone.get_mut(line) {
                Some(count) if *count > 0 => *count -= 1,
                _ => come.push(line),
            }
        }
        let meanings: Vec<_> = come.iter().map(|line| meaning_of(line)).collect();
        let known: Vec<bool> = meanings
            .iter()
            .map(|meaning| meaning.is_some_and(|meaning| book.meanings.contains_key(&meaning)))
            .collect();
        for (line, count) in gone {
            for _ in 0..count {
                self.remove(&mut book, line);
                told.removed += 1;
            }
        }
        for ((line, known), meaning) in come.into_iter().zip(known).zip(meanings) {
            let conflict = !known && key_of(line).is_some_and(|key| book.keys.contains_key(&key));
            self.put(&mut book, line, step, own);
            told.added.push(Added {
                text: line.to_owned(),
                empty: meaning.is_none(),
                known,
                conflict,
            });
        }
        book.text.replace_range(range, &new);
        told.after = book.bytes();
        if !matches!(change.edit, Edit::Delete) {
            self.books.insert(change.path.clone(), book);
        }
        Ok(told)
    }

    /// The memory's line that a line of a prompt is, as it stands or behind `12: `, `- ` or `* `.
    pub(super) fn line_of(&mut self, prompt_line: &str) -> Option<&mut Entry> {
        let line = match self.index.contains_key(prompt_line) {
            true => prompt_line,
            false => inside(prompt_line)?,
        };
        self.index.get_mut(line)
    }

    /// Whether no prompt has shown any line of a file.
    pub(super) fn is_unseen(&self, path: &str) -> bool {
        self.books
            .get(path)
            .is_some_and(|book| lines(&book.text).all(|line| self.index.get(line).is_none_or(|entry| !entry.seen)))
    }

    /// Paths whose text holds a word, in any case.
    pub(super) fn files_with(&self, word: &str) -> Vec<&str> {
        let word = word.to_lowercase();
        let holding = self
            .books
            .iter()
            .filter(|(_, book)| book.text.to_lowercase().contains(&word));
        holding.map(|(path, _)| path.as_str()).collect()
    }
}

/// What came of an operation of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum Came {
    /// It was refused, or could not be done.
    Failed,
    /// It wrote; `redundant` when the file said all of it before.
    Wrote { redundant: bool },
    /// It looked something up; `empty` when there was nothing.
    Retrieved { empty: bool },
    /// It did neither: a listing, a deletion.
    Else,
}

/// What came of an operation whose changes were applied.
pub(in crate::analysis) fn came_of(op: &MemoryOp, told: &[Told]) -> Came {
    let status = op.outcome.status;
    let writes = match find_op(&op.op) {
        Some(spec) => spec.writes,
        None => !op.changes.is_empty() || status == OpStatus::Unchanged,
    };
    let failed = matches!(status, OpStatus::Refused | OpStatus::Malformed | OpStatus::Failed);
    if failed || (writes && status == OpStatus::Missing) {
        return Came::Failed;
    }
    match (writes, op.op.as_str()) {
        (true, "DELETE") | (false, "LIST") => Came::Else,
        (false, _) => Came::Retrieved {
            empty: status != OpStatus::Ok,
        },
        (true, _) => {
            let mut added = told
                .iter()
                .flat_map(|told| &told.added)
                .filter(|line| !line.empty)
                .peekable();
            let redundant = match added.peek() {
                _ if op.changes.is_empty() => true,
                Some(_) => added.all(|line| line.known),
                None => false,
            };
            Came::Wrote { redundant }
        }
    }
}

/// What stands behind a line number or a bullet.
fn inside(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or_else(|| {
            let (number, rest) = line.split_once(": ")?;
            (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
        })?;
    Some(super::text::trimmed(rest)).filter(|rest| !rest.is_empty())
}

impl Entry {
    /// A prompt of a step showed it: how many copies were read for the first time, and whether the model
    /// had written it in an earlier step.
    pub(super) fn show(&mut self, step: u32) -> (u64, bool) {
        self.seen = true;
        let fresh = if self.fresh_step == step { self.fresh } else { 0 };
        let read = self.unread - fresh;
        self.unread = fresh;
        (u64::from(read), self.own_since.is_some_and(|since| since < step))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shelf(text: &str) -> Shelf {
        Shelf::new(&MemoryFiles::from([("a.txt".to_owned(), text.into())]), &[])
    }

    fn write(shelf: &mut Shelf, step: u32, new: &str) -> Told {
        let old = shelf.books["a.txt"].text.clone();
        let change = MemoryChange::between("a.txt", Some(&old), Some(new)).unwrap();
        shelf.apply(&change, step, true).unwrap()
    }

    #[test]
    fn tells_changes_in_lines() {
        let mut shelf = shelf("wood: 1\n");
        let told = write(&mut shelf, 3, "wood: 1\nwood: 2\n");
        assert_eq!(told.added.len(), 1);
        assert!(told.added[0].conflict && !told.added[0].known);
        let told = write(&mut shelf, 4, "wood: 1\nwood: 2\nWOOD = 2\n");
        assert!(told.added[0].known && !told.added[0].conflict);
        assert_eq!(shelf.books["a.txt"].duplicates(), 1);
        let told = write(&mut shelf, 5, "wood: 3\n");
        assert_eq!((told.added.len(), told.removed), (1, 3));
        assert_eq!(shelf.books["a.txt"].lines, 1);
    }

    #[test]
    fn a_line_is_read_when_a_later_step_shows_it() {
        let mut shelf = shelf("");
        write(&mut shelf, 3, "tree\n");
        assert_eq!(shelf.line_of("tree").unwrap().show(3), (0, false));
        assert_eq!(shelf.line_of("1: tree").unwrap().show(4), (1, true));
        assert_eq!(shelf.line_of("- tree").unwrap().show(5), (0, true));
        assert!(shelf.line_of("a tree").is_none() && shelf.line_of("x: tree").is_none());
        write(&mut shelf, 6, "");
        assert!(shelf.line_of("tree").is_none());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut shelf = shelf("one\n");
        let change = MemoryChange::between("a.txt", Some("some other text"), Some("some text")).unwrap();
        assert!(shelf.apply(&change, 1, true).is_err());
        let change = MemoryChange::between("b.txt", Some("a"), Some("ab")).unwrap();
        assert!(shelf.apply(&change, 1, true).is_err());
    }

    proptest! {
        #[test]
        fn the_index_holds_what_the_files_hold(
            texts in prop::collection::vec((0_u8..2, "[ab1:\n]{0,12}|(one\n|two: 1\n|x|\r\n){0,6}"), 1..12),
        ) {
            let mut shelf = Shelf::new(&MemoryFiles::from([("0".to_owned(), "one\ntwo".into())]), &[]);
            let mut files = MemoryFiles::from([("0".to_owned(), "one\ntwo".into())]);
            for (step, (file, text)) in texts.iter().enumerate() {
                let path = file.to_string();
                let new = (text.len() != 3).then_some(text.as_str());
                let before = files.get(&path).cloned();
                let Some(change) = MemoryChange::between(&path, before.as_deref(), new) else { continue };
                change.apply(&mut files).unwrap();
                shelf.apply(&change, step as u32, true).unwrap();
                let fresh = Shelf::new(&files, &[]);
                let texts: Vec<_> = shelf.books.values().map(|book| book.text.as_str()).collect();
                prop_assert_eq!(texts, files.values().map(|text| &**text).collect::<Vec<_>>());
                prop_assert_eq!(shelf.index.len(), fresh.index.len());
                for (line, entry) in &fresh.index {
                    prop_assert_eq!(shelf.index[line].copies, entry.copies);
                }
                for (path, book) in &fresh.books {
                    prop_assert_eq!(&shelf.books[path].meanings, &book.meanings);
                    prop_assert_eq!(&shelf.books[path].keys, &book.keys);
                    prop_assert_eq!(shelf.books[path].lines, book.lines);
                }
            }
        }
    }
}
