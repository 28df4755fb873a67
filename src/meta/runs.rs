//! The runs that a meta-LLM may look at.
//!
//! Owns them, and how long a result may be. Must not know which tools there are.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::error::MetaError;
use super::sql::Tables;
use crate::analysis::Analysis;
use crate::jobs::Cancel;
use crate::protocol::sanitize::{clean, clean_line};
use crate::store::{Reader, StoreError};

/// Bytes of a result.
pub const RESULT_BYTES: usize = 24_000;

/// A run that may be looked at.
pub struct Run {
    /// Its file.
    pub path: PathBuf,
    /// Reads it.
    pub reader: Reader,
}

/// See the module.
pub struct Runs<'a> {
    /// Ends long looks.
    pub cancel: &'a Cancel,
    /// The runs by number.
    pub all: Vec<Run>,
    pub(super) tables: OnceCell<Tables>,
    pub(super) analyses: Vec<Option<Analysis>>,
}

impl<'a> Runs<'a> {
    /// Opens the runs.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn open(paths: &[PathBuf], cancel: &'a Cancel) -> Result<Self, MetaError> {
        let open = |path: &PathBuf| {
            Ok(Run {
                path: path.clone(),
                reader: Reader::open(path)?,
            })
        };
        let all: Vec<Run> = paths.iter().map(open).collect::<Result<_, StoreError>>()?;
        Ok(Self {
            cancel,
            analyses: all.iter().map(|_| None).collect(),
            all,
            tables: OnceCell::new(),
        })
    }

    /// A run by its number; the first when none is given.
    ///
    /// # Errors
    /// What the model is told when there is none.
    pub fn run(&self, number: Option<u32>) -> Result<&Run, String> {
        let number = number.unwrap_or(0) as usize;
        self.all.get(number).ok_or_else(|| match self.all.len() {
            0 => "There are no runs to look at.".to_owned(),
            1 => format!("There is no run {number}; the only run is 0."),
            n => format!("There is no run {number}; the runs are 0 to {}.", n - 1),
        })
    }
}

/// One clean line of at most so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line = clean_line(&line);
    let short: String = line.chars().take(most).collect();
    match short.len() < line.len() {
        true => format!("{short}…"),
        false => short,
    }
}

/// A result as the model gets it: clean, and not too long.
pub fn bounded(text: &str) -> String {
    cut(&clean(text), RESULT_BYTES, "ask for a smaller part")
}

/// The beginning of a text, with a note of what was cut.
pub fn cut(text: &str, most: usize, what_to_do: &str) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let more = text.len() - end;
    match what_to_do {
        "" => format!("{}… [{more} more bytes]", &text[..end]),
        hint => format!("{}\n[cut: {more} more bytes; {hint}]", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_clean() {
        assert_eq!(one_line("a\n b\u{1b}", 10), "a b␛");
        assert_eq!(one_line("äöüäöü", 3), "äöü…");
    }

    #[test]
    fn results_are_clean_and_bounded_and_say_what_was_cut() {
        assert_eq!(bounded("a\u{1b}[2J\n"), "a␛[2J\n");
        let long = "é".repeat(RESULT_BYTES);
        let text = bounded(&long);
        assert!(
            text.len() < RESULT_BYTES + 100 && text.contains("24000 more bytes"),
            "{}",
            text.len()
        );
        assert_eq!(cut("éé", 3, ""), "é… [2 more bytes]");
    }
}
