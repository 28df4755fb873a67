//! What can be wrong with settings, and where.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong. Lines and columns count from 1; 0 means the whole file or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, or the name of an environment variable.
    pub place: String,
    /// Line.
    pub line: u32,
    /// Column in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
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

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Something is wrong in a file or a variable.
    #[error("the configuration cannot be used: {}", listed(.0))]
    Invalid(Vec<Problem>),
    /// A file that was named, or that is there, cannot be read.
    #[error("the configuration {path} cannot be read: {cause}; `automem config path` shows where it is looked for")]
    Read {
        /// Which.
        path: String,
        /// What the operating system said.
        cause: std::io::Error,
    },
}

impl SettingsError {
    /// Everything that is wrong, one entry each.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Invalid(problems) => problems.clone(),
            Self::Read { path, cause } => vec![Problem {
                place: path.clone(),
                line: 0,
                column: 0,
                message: format!("it cannot be read: {cause}"),
                hint: "make it readable, or remove it".to_owned(),
            }],
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let Some(first) = problems.first() else {
        return "something is wrong".to_owned();
    };
    match problems.len() {
        1 => first.to_string(),
        n => format!("{first}; and {} more (`automem config check` lists them)", n - 1),
    }
}
