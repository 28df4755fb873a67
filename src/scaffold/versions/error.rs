//! What can go wrong with kept versions and installing them.

use std::path::{Path, PathBuf};

use crate::scaffold::ScaffoldError;
use crate::types::Digest;

/// Why a version could not be kept, found or installed. The folder is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The workspace's database failed.
    #[error("the versions of scaffolds in {path} cannot be reached: {why}; check its permissions and the disk's space", path = .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What was said.
        why: String,
    },
    /// A name that cannot be a folder's.
    #[error("`{0}` cannot be a scaffold's name; use letters, digits, `-`, `_` and `.`")]
    BadName(String),
    /// A file that cannot be part of a scaffold.
    #[error("the file `{path}` cannot be part of a scaffold: {why}")]
    BadFile {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
    /// Nothing of that digest is kept.
    #[error("no version {what} is kept; `automem scaffold log {line}` lists those there are")]
    Unknown {
        /// What was asked for.
        what: String,
        /// Whose, as far as known.
        line: String,
    },
    /// The beginning of a digest that several versions share.
    #[error("{prefix} is the beginning of several versions of {line} ({known}); give more of it")]
    Ambiguous {
        /// The scaffold.
        line: String,
        /// What was given.
        prefix: String,
        /// Those it fits.
        known: String,
    },
    /// What is kept is not what its digest says.
    #[error("the version {digest} in {path} is damaged; it is left alone. Copy the database back from a backup", path = .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// Which.
        digest: Digest,
    },
    /// The folder is not what the caller saw.
    #[error("the folder of {line} holds {}, not {}: it was changed meanwhile. Nothing was applied; look at it with `automem scaffold show {line}`, then try again", told(.found.as_ref()), told(.expected.as_ref()))]
    Changed {
        /// The scaffold.
        line: String,
        /// What it holds; `None` when there is no folder.
        found: Option<Digest>,
        /// What it should have held.
        expected: Option<Digest>,
    },
    /// What stands in the folder's place cannot be replaced safely.
    #[error("{path} {why}; move it elsewhere, or promote under another name", path = .path.display())]
    InTheWay {
        /// Where.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// Only scaffolds are installed.
    #[error("{0} has no scaffold.toml: it can be read and compared, not installed")]
    NotAScaffold(Digest),
    /// Another process is installing.
    #[error("another automem process is changing {path}; try again when it is done", path = .path.display())]
    Busy {
        /// The folder of scaffolds.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("{path} could not be {doing}: {why}; check its permissions and the disk's space", path = .path.display())]
    Folder {
        /// Where.
        path: PathBuf,
        /// `read`, `written`, ...
        doing: &'static str,
        /// What was said.
        why: String,
    },
}

fn told(digest: Option<&Digest>) -> String {
    digest.map_or_else(|| "nothing".to_owned(), Digest::short)
}

impl VersionError {
    pub(super) fn database(path: &Path, error: &rusqlite::Error) -> Self {
        Self::Database {
            path: path.to_owned(),
            why: error.to_string(),
        }
    }

    pub(super) fn folder(path: &Path, doing: &'static str, error: &std::io::Error) -> Self {
        Self::Folder {
            path: path.to_owned(),
            doing,
            why: error.to_string(),
        }
    }

    pub(super) fn reading(folder: &Path, error: ScaffoldError) -> Self {
        match error {
            ScaffoldError::Read { path, source } => Self::folder(&path, "read", &source),
            other => Self::Folder {
                path: folder.to_owned(),
                doing: "read",
                why: other.to_string(),
            },
        }
    }
}
