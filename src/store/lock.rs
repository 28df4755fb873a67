//! One writer a run file: a lock that the system drops with the process.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// Holds `RUN-lock` beside the run. (Not the run file itself: SQLite's locks are on that one.)
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

fn beside(run: &Path) -> PathBuf {
    let mut name = run.as_os_str().to_owned();
    name.push("-lock");
    PathBuf::from(name)
}

/// Whether a process writes the run now.
pub(super) fn is_held(run: &Path) -> bool {
    File::open(beside(run)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Lock {
    pub(super) fn take(run: &Path) -> Result<Self, StoreError> {
        let path = beside(run);
        let file = File::create(&path).map_err(|error| StoreError::io(run, "written", &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy { path: run.to_owned() }),
            // A file system without locks (some network disks): better unguarded than unusable.
            Err(TryLockError::Error(_)) => Ok(Self { path, _file: file }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Ours while we hold it; if it cannot be removed it does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}
