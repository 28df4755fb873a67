//! What can go wrong while a game is set up, each with its cause and the next step.

use std::io;
use std::path::Path;

use crate::jobs::pip::PipError;

/// Why a game could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Somebody cancelled it.
    #[error("cancelled; what was complete stays, and the same command goes on from there")]
    Cancelled,
    /// Another process sets up the same folder.
    #[error("{0} is being set up by another process; wait for it")]
    Busy(String),
    /// pip could not bring it.
    #[error("{error}; or bring the file {file} here and give its folder with `--offline DIR`")]
    Pip {
        /// What pip said.
        error: PipError,
        /// The file that is wanted.
        file: String,
    },
    /// The folder that was given does not hold a file.
    #[error(
        "{folder} does not hold {file}; fetch it where there is a network (`{fetch}`) and put it there, or leave \
         `--offline` out"
    )]
    Absent {
        /// The folder.
        folder: String,
        /// The file.
        file: String,
        /// The command that fetches it.
        fetch: String,
    },
    /// The package has nothing for this system.
    #[error("{package} has no file for {system}; there is one for: {known}")]
    System {
        /// The package and its version.
        package: String,
        /// This system.
        system: String,
        /// Those it has files for.
        known: String,
    },
    /// A checksum differs.
    #[error("{path} is not what it should be: its SHA-256 is {found}, but {expected} is expected; fetch it again")]
    Checksum {
        /// The file.
        path: String,
        /// Its checksum.
        found: String,
        /// The right one.
        expected: String,
    },
    /// The archive cannot be read, or holds what must not be unpacked.
    #[error("{path} cannot be unpacked: {message}; nothing of it was kept, fetch it again")]
    Archive {
        /// The archive.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// The Boxoban levels are no levels.
    #[error(
        "{path}: {message}; `--boxoban DIR` wants a copy of the repository google-deepmind/boxoban-levels, with \
         medium/train and hard"
    )]
    Levels {
        /// The file or folder.
        path: String,
        /// What is wrong, with the line where there is one.
        message: String,
    },
    /// The network.
    #[error(
        "{from}: {message}. Two ways out: fetch the repository where there is a network and give its folder with \
         `--boxoban DIR`; or leave `--boxoban` out, then all but the two Boxoban tasks can be played"
    )]
    Remote {
        /// Where it was to come from.
        from: String,
        /// What is wrong.
        message: String,
    },
    /// The disk.
    #[error("{doing} {path} did not work: {error}; {hint}")]
    Io {
        /// What was done.
        doing: &'static str,
        /// To what.
        path: String,
        /// Why it did not work.
        error: io::Error,
        /// What to do.
        hint: &'static str,
    },
}

/// Something wrong with an archive.
pub(super) fn archive_error(path: &Path, message: impl ToString) -> SetupError {
    let message = crate::protocol::sanitize::clean_line(&message.to_string()).into_owned();
    SetupError::Archive {
        path: path.display().to_string(),
        message,
    }
}

/// Something wrong with the disk.
pub(super) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.display().to_string();
    move |error| SetupError::Io {
        doing,
        path,
        hint: match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room and run the same command again",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder yours to write, or set AUTOMEM_NETHACK to another one"
            }
            _ => "check that it is there and may be read and written, or set AUTOMEM_NETHACK to another folder",
        },
        error,
    }
}
