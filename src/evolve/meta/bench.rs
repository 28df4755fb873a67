//! What a meta-LLM works on: the runs it may look at, and its draft of the next scaffold.
//!
//! Owns both, and how long a result may be. Must not know which tools there are.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::sql::Tables;
use crate::evolve::candidate::{Files, METHOD, Refusal, essence, judge};
use crate::evolve::reviser::{ReviserError, Task};
use crate::jobs::Cancel;
use crate::protocol::sanitize::clean;
use crate::scaffold::digest_of;
use crate::store::{Reader, StoreError};
use crate::types::Digest;

/// Bytes of a result.
pub(super) const RESULT_BYTES: usize = 24_000;

/// Why a tool gives no result.
#[derive(Debug)]
pub(super) enum Fault {
    /// What the model is told.
    Told(String),
    /// The work as such cannot go on.
    Fatal(ReviserError),
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self::Told(text)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            // A step or a file that is not there is the model's mistake.
            StoreError::NoEpisode { .. } | StoreError::NoStep { .. } | StoreError::NoFile { .. } => {
                Self::Told(error.to_string())
            }
            StoreError::Cancelled => Self::Fatal(ReviserError::Cancelled),
            error => Self::Fatal(error.into()),
        }
    }
}

impl From<ReviserError> for Fault {
    fn from(error: ReviserError) -> Self {
        Self::Fatal(error)
    }
}

/// A run that may be looked at.
pub(super) struct Run {
    pub(super) path: PathBuf,
    pub(super) reader: Reader,
}

/// See the module.
pub(super) struct Bench<'a> {
    pub(super) task: &'a Task,
    pub(super) cancel: &'a Cancel,
    pub(super) runs: Vec<Run>,
    /// The scaffold as it is being written.
    pub(super) files: Files,
    /// The last judgement, and of which files.
    judged: Option<(Digest, Result<(), Refusal>)>,
    pub(super) tables: OnceCell<Tables>,
    pub(super) analyses: Vec<Option<crate::analysis::Analysis>>,
}

impl<'a> Bench<'a> {
    /// Opens the runs; the draft is the parent, or what is continued.
    pub(super) fn new(task: &'a Task, cancel: &'a Cancel) -> Result<Self, ReviserError> {
        let open = |path: &PathBuf| {
            Ok(Run {
                path: path.clone(),
                reader: Reader::open(path)?,
            })
        };
        let runs: Vec<Run> = task.runs.iter().map(open).collect::<Result<_, StoreError>>()?;
        Ok(Self {
            task,
            cancel,
            analyses: runs.iter().map(|_| None).collect(),
            runs,
            files: start(task),
            judged: None,
            tables: OnceCell::new(),
        })
    }

    /// A run by its number; the first when none is given.
    pub(super) fn run(&self, number: Option<u32>) -> Result<&Run, String> {
        let number = number.unwrap_or(0) as usize;
        self.runs.get(number).ok_or_else(|| match self.runs.len() {
            0 => "There are no runs to look at.".to_owned(),
            1 => format!("There is no run {number}; the only run is 0."),
            n => format!("There is no run {number}; the runs are 0 to {}.", n - 1),
        })
    }

    /// Judges the draft; the same files are judged once.
    pub(super) fn judge(&mut self) -> Result<Result<(), Refusal>, ReviserError> {
        let digest = self.key();
        if let Some((judged, result)) = &self.judged
            && *judged == digest
        {
            return Ok(result.clone());
        }
        let result = judge(self.task, &self.files)?;
        self.judged = Some((digest, result.clone()));
        Ok(result)
    }

    /// Whether the draft as it is was judged and taken.
    pub(super) fn stands(&self) -> bool {
        matches!(&self.judged, Some((judged, Ok(()))) if *judged == self.key())
    }

    /// What a judgement is about: all files but the method's, which nothing runs.
    fn key(&self) -> Digest {
        let mut files = self.files.clone();
        files.remove(METHOD);
        digest_of(&files)
    }

    /// Whether anything was changed.
    pub(super) fn is_changed(&self) -> bool {
        essence(&self.files) != essence(&start(self.task))
    }
}

/// The files that the work starts from.
pub(in crate::evolve) fn start(task: &Task) -> Files {
    match task.tried.last().filter(|_| task.continuation) {
        Some(tried) => tried.files.clone(),
        None => task.parent.files().clone(),
    }
}

/// A result as the model gets it: clean, and not too long.
pub(super) fn bounded(text: &str) -> String {
    cut(&clean(text), RESULT_BYTES, "ask for a smaller part")
}

/// The beginning of a text, with a note of what was cut.
pub(super) fn cut(text: &str, most: usize, what_to_do: &str) -> String {
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
