//! What can be wrong with a scaffold, and where.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One thing that is wrong in a scaffold. Lines and columns count from 1; 0 means the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemAt {
    /// Path inside the scaffold's folder.
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    pub line: u32,
    /// Column in characters, from 1; 0 for the whole line.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl ProblemAt {
    /// A problem of a whole file.
    pub(super) fn of_file(file: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A problem at a byte offset of a file's text.
    pub(super) fn at(
        file: &str,
        text: &str,
        offset: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (line, column) = super::position::line_column(text, offset);
        Self {
            line,
            column,
            ..Self::of_file(file, message, hint)
        }
    }
}

impl fmt::Display for ProblemAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// Why a scaffold could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// No scaffold has the name.
    #[error("there is no scaffold `{name}`; there are: {known}. Give one of them, or the path of a scaffold's folder")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Its folder could not be read.
    #[error("the scaffold in {path} could not be read: {source}")]
    Read {
        /// Which folder or file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// It cannot work as it is.
    #[error("the scaffold {name} cannot be used: {}", listed(.problems))]
    Invalid {
        /// Its name, as far as known.
        name: String,
        /// Everything that is wrong.
        problems: Vec<ProblemAt>,
    },
    /// A prompt could not be made.
    #[error("a prompt could not be made: {0}; `automem scaffold check` shows more")]
    Render(ProblemAt),
    /// A kept version of it could not be had.
    #[error(transparent)]
    Version(#[from] super::VersionError),
}

fn listed(problems: &[ProblemAt]) -> String {
    let Some(first) = problems.first() else {
        return "something is wrong".to_owned();
    };
    match problems.len() {
        1 => first.to_string(),
        n => format!("{first}; and {} more (`automem scaffold check` lists them)", n - 1),
    }
}
