//! A claim: one process at a time works on something of the workspace that has a name.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use super::error::StoreError;
use crate::config::Workspace;

/// A claim; the system drops it with the process.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

fn file(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.root().join(format!("{name}.lock"))
}

impl Claim {
    /// Takes the claim; `None` when another process has it.
    ///
    /// # Errors
    /// When its file cannot be made.
    pub fn take(workspace: &Workspace, name: &str) -> Result<Option<Self>, StoreError> {
        let path = file(workspace, name);
        let file = File::create(&path).map_err(|error| StoreError::io(&path, "created", &error))?;
        Ok(match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            // A file system without locks: better unguarded than unusable.
            Ok(()) | Err(TryLockError::Error(_)) => Some(Self { path, _file: file }),
        })
    }

    /// Whether a process has it now.
    pub fn is_held(workspace: &Workspace, name: &str) -> bool {
        File::open(file(workspace, name))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Ours while we hold it; if it cannot be removed it does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}
