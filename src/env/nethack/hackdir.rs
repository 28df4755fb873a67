//! The folder a game runs in: made for it, gone with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A game's folder, removed when dropped.
#[derive(Debug)]
pub(super) struct HackDir(TempDir);

/// Why there is no folder for a game.
#[derive(Debug, thiserror::Error)]
#[error("the game's folder cannot be made in {parent}: {cause}; let TMPDIR name a folder that can be written", parent = parent.display())]
pub(in crate::env) struct HackDirError {
    /// Where.
    parent: PathBuf,
    /// Why.
    cause: io::Error,
}

impl HackDir {
    /// Makes one in the system's folder for such things, or in `parent`.
    pub(super) fn make(parent: Option<&Path>, nhdat: &Path) -> Result<Self, HackDirError> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        fill(&parent, nhdat)
            .map(Self)
            .map_err(|cause| HackDirError { parent, cause })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

fn fill(parent: &Path, nhdat: &Path) -> io::Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("automem-nethack-").tempdir_in(parent)?;
    link(&nhdat.canonicalize()?, &dir.path().join("nhdat"))?;
    for name in ["perm", "record", "logfile", "xlogfile"] {
        fs::write(dir.path().join(name), "")?;
    }
    fs::create_dir(dir.path().join("save"))?;
    Ok(dir)
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_and_goes() {
        let room = tempfile::tempdir().unwrap();
        let nhdat = room.path().join("data");
        fs::write(&nhdat, "levels").unwrap();
        let dir = HackDir::make(Some(room.path()), &nhdat).unwrap();
        let path = dir.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("nhdat")).unwrap(), "levels");
        assert!(path.join("save").is_dir() && path.join("perm").is_file());
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_takes_no_folder_is_named() {
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("file");
        fs::write(&file, "").unwrap();
        let error = HackDir::make(Some(&file), &file).unwrap_err().to_string();
        assert!(error.contains("file: ") && error.contains("TMPDIR"), "{error}");
    }
}
