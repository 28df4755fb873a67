//! A file that is being fetched: what is there of it, and a note of what it is part of, so that a later fetch goes on.
//!
//! Owns the two files `NAME.gguf.part` and `NAME.gguf.part.json` beside the model that they will be. Must not know the
//! network.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{PullError, io_error};

/// How often a lock is tried again, and how long it is waited between.
const TRIES: u32 = 20;
const NAP: Duration = Duration::from_millis(25);
/// What is added to the name.
const ENDING: &str = ".part";
const NOTE_ENDING: &str = ".part.json";

/// What the bytes that are there are part of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// Where they come from; nothing secret.
    pub(super) from: String,
    /// The server's name for this state of the file (ETag, or the time of its last change).
    pub(super) state: Option<String>,
    /// Bytes of the whole file.
    pub(super) total: Option<u64>,
}

/// The file, open and ours alone.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    note: PathBuf,
    file: File,
    length: u64,
}

impl Partial {
    /// Opens what is there for a model, or begins it.
    pub(super) fn open(target: &Path) -> Result<Self, PullError> {
        let path = beside(target, ENDING);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(io_error("writing", &path))?;
        let mut tries = TRIES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // A fetch that was just cancelled lets go in a moment.
                Err(TryLockError::WouldBlock) if tries > 0 => std::thread::sleep(NAP),
                Err(TryLockError::WouldBlock) => return Err(PullError::Busy(path.display().to_string())),
                // Not every file system has locks; then two fetches at once are the user's matter.
                Err(TryLockError::Error(_)) => break,
            }
            tries -= 1;
        }
        let length = file.metadata().map_err(io_error("reading", &path))?.len();
        Ok(Self {
            note: beside(target, NOTE_ENDING),
            path,
            file,
            length,
        })
    }

    /// What is noted, when it belongs to this address and there is something to go on with.
    pub(super) fn note(&self, from: &str) -> Option<Note> {
        let text = std::fs::read_to_string(&self.note).ok()?;
        let note: Note = serde_json::from_str(&text).ok()?;
        (note.from == from && self.length > 0).then_some(note)
    }

    /// Begins again with nothing.
    pub(super) fn restart(&mut self, note: &Note) -> Result<(), PullError> {
        // Nothing is noted while the file may still hold something else.
        self.forget_note();
        self.file.set_len(0).map_err(io_error("writing", &self.path))?;
        self.length = 0;
        let text = serde_json::to_string(note).unwrap_or_default();
        std::fs::write(&self.note, text).map_err(io_error("writing", &self.note))
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), PullError> {
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(bytes));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => PullError::DiskFull {
                path: self.path.display().to_string(),
                kept: self.length,
            },
            _ => io_error("writing", &self.path)(error),
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes sure that all of it is on the disk.
    pub(super) fn flush(&self) -> Result<(), PullError> {
        self.file.sync_all().map_err(io_error("writing", &self.path))
    }

    /// Bytes that are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Throws it away.
    pub(super) fn remove(self) {
        self.forget_note();
        // What cannot be removed is overwritten by the next fetch.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Throws away what is at a path, when nobody has it open any more.
    pub(super) fn remove_at(path: &Path) {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_file(beside(path, ".json"));
    }

    /// Gives it its name.
    pub(super) fn become_model(self, target: &Path) -> Result<(), PullError> {
        std::fs::rename(&self.path, target).map_err(io_error("renaming to", target))?;
        self.forget_note();
        Ok(())
    }

    fn forget_note(&self) {
        // It may not be there; one that stays is checked against the address and the server's state.
        let _ = std::fs::remove_file(&self.note);
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_where_it_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("m.gguf");
        let note = Note {
            from: "http://h/m.gguf".into(),
            state: Some("\"a\"".into()),
            total: Some(5),
        };
        let mut partial = Partial::open(&target).unwrap();
        assert_eq!(partial.note("http://h/m.gguf"), None);
        partial.restart(&note).unwrap();
        partial.append(b"ab").unwrap();
        drop(partial);
        let mut partial = Partial::open(&target).unwrap();
        assert_eq!((partial.length(), partial.note("http://h/m.gguf")), (2, Some(note)));
        assert_eq!(partial.note("http://other/m.gguf"), None);
        partial.append(b"cde").unwrap();
        partial.become_model(&target).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"abcde");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("m.gguf");
        let first = Partial::open(&target).unwrap();
        assert!(matches!(Partial::open(&target), Err(PullError::Busy(_))));
        first.remove();
        assert!(Partial::open(&target).is_ok());
    }
}
