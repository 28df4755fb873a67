//! What goes wrong between traces and a specialist.

use std::path::PathBuf;

/// Why a step of loop 2 could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A run could not be read.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The desk said no, or cannot be read.
    #[error(transparent)]
    Review(#[from] crate::review::ReviewError),
    /// What was given cannot be used.
    #[error("{what}; {hint}")]
    Data {
        /// What is wrong, and where.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A file cannot be read or written.
    #[error("{}: it cannot be {done}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// `read`, `written`.
        done: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// It was cancelled; what was finished is kept.
    #[error("cancelled")]
    Cancelled,
}

impl TuneError {
    /// What was given cannot be used.
    pub fn data(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Data {
            what: what.into(),
            hint: hint.into(),
        }
    }
}
