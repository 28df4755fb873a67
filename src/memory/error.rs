//! Faults of the memory directory itself. What a model does wrong is an `OpStatus`, not an error.

use std::io;
use std::path::{Path, PathBuf};

/// Why the memory directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The directory was removed or replaced.
    #[error("the memory directory {} is gone; resume the run to have it rebuilt from the record", .0.display())]
    Gone(PathBuf),
    /// The directory holds files that this program did not put there.
    #[error(
        "{} holds files that are not an agent's memory; choose another output name, or move them away",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// A file that the directory should hold cannot be there.
    #[error("the memory file `{path}` cannot be made: {why}; correct its name where it comes from")]
    BadFile {
        /// Its path inside the directory.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A recorded change does not fit.
    #[error("{0}; the record and the directory differ: rebuild it with resume")]
    Apply(#[from] crate::types::ApplyError),
    /// The operating system failed.
    #[error("{doing} {}: {source}; {}", .path.display(), hint(.source))]
    Io {
        /// What was tried, such as `writing`.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl MemoryError {
    pub(super) fn io(doing: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref().to_owned();
        Self::Io { doing, path, source }
    }
}

fn hint(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => "free some space, then resume the run",
        PermissionDenied | ReadOnlyFilesystem => "make the directory writable, or choose another one",
        _ => "check the disk, then resume the run",
    }
}
