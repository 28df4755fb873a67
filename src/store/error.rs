//! What can go wrong with a run file: where, why, and what to do next.

use std::path::{Path, PathBuf};

use crate::types::{EpisodeNo, StepNo};

/// Why a run file could not be written or read. Nothing that was committed is lost by any of them.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such file.
    #[error("there is no run at {path}; `automem` lists the runs there are", path = .path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// A new run would overwrite a file.
    #[error("{path} exists already; choose another name for the new run, or continue this one with `automem resume`", path = .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path} is not an AutoMem run: {why}; check the path", path = .path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{path} has run format {theirs}, this program reads up to format {ours}; update automem", path = .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        theirs: u32,
        /// The newest format known here.
        ours: u32,
    },
    /// Its content contradicts itself.
    #[error("{path} is damaged: {what}; it was left as it is. Copy it again from where it came, or export what can be read with `automem export`", path = .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The disk is full.
    #[error("{path} cannot grow, the disk is full; free some space and continue with `automem resume`: every step committed so far is safe", path = .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another writer has it.
    #[error("{path} is being written by another automem process; stop that one first, or only watch it with `automem replay`", path = .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened or written here.
    #[error("{path} cannot be {doing}: {why}; check the permissions, or copy the run to a folder of your own", path = .path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// `opened`, `written`, ...
        doing: &'static str,
        /// What the system said.
        why: String,
    },
    /// The run has no such episode.
    #[error("{path} has no episode {episode}: {there}", path = .path.display())]
    NoEpisode {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        episode: EpisodeNo,
        /// What there is.
        there: String,
    },
    /// The episode has no such step.
    #[error("episode {episode} of {path} has no step {step}: {there}", path = .path.display())]
    NoStep {
        /// The file.
        path: PathBuf,
        /// The episode.
        episode: EpisodeNo,
        /// What was asked for.
        step: StepNo,
        /// What there is.
        there: String,
    },
    /// The memory has no such file at that step.
    #[error("memory has no file `{file}` at step {step} of episode {episode}: {there}")]
    NoFile {
        /// What was asked for.
        file: String,
        /// The episode.
        episode: EpisodeNo,
        /// The step.
        step: StepNo,
        /// What there is.
        there: String,
    },
    /// An event that has no stored form, such as a reward that is no number.
    #[error(
        "an event of step {step} of episode {episode} cannot be stored: {why}; this is a fault of the program, please report it"
    )]
    Unstorable {
        /// The episode.
        episode: EpisodeNo,
        /// The step.
        step: StepNo,
        /// What is wrong.
        why: String,
    },
    /// A memory change does not fit the memory recorded so far.
    #[error(
        "a change of `{file}` in step {step} of episode {episode} does not fit the memory recorded before it; this is a fault of the program, please report it"
    )]
    Change {
        /// The episode.
        episode: EpisodeNo,
        /// The step.
        step: StepNo,
        /// The memory file.
        file: String,
    },
    /// An entry of a journal in the workspace's database cannot be understood.
    #[error("entry {seq} of the log of {name} in {path} cannot be read: {why}; begin anew under another name", path = .path.display())]
    Entry {
        /// The database.
        path: PathBuf,
        /// Whose log.
        name: String,
        /// Which entry.
        seq: i64,
        /// Why.
        why: String,
    },
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// SQLite or the file system failed in another way.
    #[error("{path}: {what}; try again, and copy the file to another disk if it stays so", path = .path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was said.
        what: String,
    },
}

impl StoreError {
    pub(super) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    /// Sorts an error of SQLite by what a person can do about it.
    pub(crate) fn sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        let what = error.to_string();
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::Full { path },
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Busy { path },
            Some(Code::NotADatabase) => Self::NotARun {
                path,
                why: "it is no SQLite database, or its beginning is damaged".to_owned(),
            },
            Some(Code::DatabaseCorrupt) => Self::Corrupt { path, what },
            Some(Code::ReadOnly | Code::PermissionDenied) => Self::Denied {
                path,
                doing: "written",
                why: what,
            },
            Some(Code::CannotOpen) => Self::Denied {
                path,
                doing: "opened",
                why: what,
            },
            Some(_) => Self::Failed { path, what },
            None => match error {
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::QueryReturnedNoRows => Self::Corrupt { path, what },
                _ => Self::Failed { path, what },
            },
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound if doing == "opened" => Self::NotFound { path: path.to_owned() },
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full { path: path.to_owned() },
            _ => Self::Denied {
                path: path.to_owned(),
                doing,
                why: error.to_string(),
            },
        }
    }
}
