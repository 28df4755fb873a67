//! The trash: runs that were deleted and can be brought back until the session ends.
//!
//! Owns `trash/SESSION/N/` in the workspace: the files of one deleted run and `item.json`, which
//! says where they were. A session holds a lock on its folder, so that what a session that broke
//! down left behind is told from what another one still needs. Nothing is removed for good unless
//! [`Trash::empty`] or [`Leftover::remove`] is called.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::lock;
use super::workspace::Registry;
use crate::config::Workspace;

/// What says where the files of an item were.
const ITEM: &str = "item.json";
/// What a session holds.
const LOCK: &str = "lock";

/// The deleted runs of one session.
#[derive(Debug)]
pub struct Trash {
    workspace: Workspace,
    folder: PathBuf,
    lock: Option<File>,
    items: Vec<Item>,
    /// Items ever made, for names that do not repeat.
    made: usize,
}

#[derive(Debug)]
struct Item {
    folder: PathBuf,
    note: Note,
}

/// `item.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// Where the run was.
    run: PathBuf,
    /// The registry knew it.
    registered: bool,
    /// Names in the item's folder and where they were.
    parts: Vec<(String, PathBuf)>,
}

/// A deleted run that a session which broke down left behind.
#[derive(Debug)]
pub struct Leftover {
    workspace: Workspace,
    item: Item,
}

impl Trash {
    /// The trash of a new session. Nothing is written before something is deleted.
    pub fn new(workspace: &Workspace) -> Self {
        let session = uuid::Uuid::now_v7().to_string();
        Self {
            folder: workspace.trash_dir().join(session),
            workspace: workspace.clone(),
            lock: None,
            items: Vec::new(),
            made: 0,
        }
    }

    /// Deleted runs that can be brought back.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing can be brought back.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Deletes a run: its file and the folders beside it that belong to it go to the trash, the
    /// registry forgets it.
    ///
    /// # Errors
    /// When a process writes the run, or something cannot be moved; then everything is where it was.
    pub fn put(&mut self, run: &Path, beside: &[PathBuf]) -> Result<(), StoreError> {
        if lock::is_held(run) {
            return Err(StoreError::Busy { path: run.to_owned() });
        }
        let registry = Registry::open(&self.workspace)?;
        let whole = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
        let mut sources = vec![whole.clone()];
        sources.extend(["-wal", "-shm", "-journal"].map(|end| companion(&whole, end)));
        sources.extend(
            beside
                .iter()
                .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        );
        let parts: Vec<(String, PathBuf)> = (0..)
            .zip(sources)
            .filter(|(_, path)| std::fs::symlink_metadata(path).is_ok())
            .map(|(n, path): (usize, PathBuf)| (format!("{n}"), path))
            .collect();
        if parts.is_empty() {
            return Err(StoreError::NotFound { path: whole });
        }
        let folder = self.next_folder()?;
        let note = Note {
            registered: registry.knows(&whole)?,
            run: whole,
            parts,
        };
        write_note(&folder, &note)?;
        let item = Item { folder, note };
        for (done, (name, path)) in item.note.parts.iter().enumerate() {
            if let Err(error) = shift(path, &item.folder.join(name)) {
                // Back to where it was; what cannot go back stays in the trash with its note.
                let mut whole = true;
                for (name, path) in &item.note.parts[..done] {
                    whole &= shift(&item.folder.join(name), path).is_ok();
                }
                if whole {
                    let _ = std::fs::remove_dir_all(&item.folder);
                }
                return Err(StoreError::io(path, "moved to the trash", &error));
            }
        }
        // A run that is listed without its file is only untidy: it can be forgotten by hand.
        let _ = registry.forget(&item.note.run);
        self.items.push(item);
        Ok(())
    }

    /// Brings the run back that was deleted last. Gives where it is; `None` when there is none.
    ///
    /// # Errors
    /// When something is in its place or it cannot be moved; then it stays in the trash.
    pub fn undo(&mut self) -> Result<Option<PathBuf>, StoreError> {
        let Some(item) = self.items.last() else {
            return Ok(None);
        };
        item.restore(&self.workspace)?;
        Ok(self.items.pop().map(|item| item.note.run))
    }

    /// Removes for good what was deleted in this session.
    ///
    /// # Errors
    /// When something cannot be removed; it is offered again at the next start.
    pub fn empty(&mut self) -> Result<(), StoreError> {
        let held = self.lock.take();
        if held.is_none() {
            return Ok(());
        }
        drop(held);
        self.items.clear();
        let removed = std::fs::remove_dir_all(&self.folder);
        // The folder of all sessions goes when this was the last one.
        let _ = std::fs::remove_dir(self.workspace.trash_dir());
        removed.map_err(|error| StoreError::io(&self.folder, "removed", &error))
    }

    /// What sessions that broke down left behind, oldest first.
    pub fn leftovers(workspace: &Workspace) -> Vec<Leftover> {
        let Ok(sessions) = std::fs::read_dir(workspace.trash_dir()) else {
            return Vec::new();
        };
        let mut sessions: Vec<PathBuf> = sessions.flatten().map(|entry| entry.path()).collect();
        sessions.sort();
        let items = sessions.iter().filter(|session| !is_held(session)).flat_map(|session| {
            let mut folders: Vec<PathBuf> = std::fs::read_dir(session)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            folders.sort();
            folders
        });
        items
            .filter_map(|folder| {
                let note = serde_json::from_slice(&std::fs::read(folder.join(ITEM)).ok()?).ok()?;
                Some(Leftover {
                    workspace: workspace.clone(),
                    item: Item { folder, note },
                })
            })
            .collect()
    }

    fn next_folder(&mut self) -> Result<PathBuf, StoreError> {
        let fail = |error: std::io::Error| StoreError::io(&self.folder, "written", &error);
        if self.lock.is_none() {
            std::fs::create_dir_all(&self.folder).map_err(fail)?;
            let lock = File::create(self.folder.join(LOCK)).map_err(fail)?;
            // A file system without locks: another session may offer these runs back, no more.
            let _ = lock.try_lock();
            self.lock = Some(lock);
        }
        let folder = self.folder.join(format!("{:04}", self.made));
        self.made += 1;
        std::fs::create_dir(&folder).map_err(fail)?;
        Ok(folder)
    }
}

impl Leftover {
    /// Where the run was.
    pub fn run(&self) -> &Path {
        &self.item.note.run
    }

    /// Brings it back.
    ///
    /// # Errors
    /// As [`Trash::undo`].
    pub fn restore(self) -> Result<(), StoreError> {
        self.item.restore(&self.workspace)?;
        self.tidy();
        Ok(())
    }

    /// Removes it for good.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        std::fs::remove_dir_all(&self.item.folder)
            .map_err(|error| StoreError::io(&self.item.folder, "removed", &error))?;
        self.tidy();
        Ok(())
    }

    /// The session's folder goes with its last item.
    fn tidy(&self) {
        let Some(session) = self.item.folder.parent() else {
            return;
        };
        let is_last = std::fs::read_dir(session)
            .is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name().to_str() == Some(LOCK)));
        if is_last {
            let _ = std::fs::remove_dir_all(session);
            let _ = std::fs::remove_dir(self.workspace.trash_dir());
        }
    }
}

impl Item {
    fn restore(&self, workspace: &Workspace) -> Result<(), StoreError> {
        let here: Vec<_> = self
            .note
            .parts
            .iter()
            .map(|(name, path)| (self.folder.join(name), path))
            .filter(|(from, _)| std::fs::symlink_metadata(from).is_ok())
            .collect();
        if let Some((_, path)) = here.iter().find(|(_, path)| std::fs::symlink_metadata(path).is_ok()) {
            return Err(StoreError::Exists { path: (*path).clone() });
        }
        for (from, path) in &here {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, "created", &error))?;
            }
            shift(from, path).map_err(|error| StoreError::io(path, "brought back", &error))?;
        }
        if self.note.registered
            && let Ok(registry) = Registry::open(workspace)
        {
            // A broken run cannot be registered again; its file is back all the same.
            let _ = registry.register(&self.note.run);
        }
        std::fs::remove_dir_all(&self.folder).map_err(|error| StoreError::io(&self.folder, "removed", &error))
    }
}

fn companion(run: &Path, end: &str) -> PathBuf {
    let mut name = run.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn write_note(folder: &Path, note: &Note) -> Result<(), StoreError> {
    let path = folder.join(ITEM);
    let fail = |what: String| StoreError::Failed {
        path: path.clone(),
        what,
    };
    let text = serde_json::to_vec_pretty(note).map_err(|error| fail(error.to_string()))?;
    std::fs::write(&path, text).map_err(|error| StoreError::io(&path, "written", &error))
}

fn is_held(session: &Path) -> bool {
    File::open(session.join(LOCK)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Moves a file or folder; over to another disk it is copied first, then removed.
fn shift(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            copy(from, to)?;
            if from.is_dir() {
                std::fs::remove_dir_all(from)
            } else {
                std::fs::remove_file(from)
            }
        }
        other => other,
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !std::fs::symlink_metadata(from)?.is_dir() {
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::reader::Reader;
    use super::super::testing::{event, finished, meta};
    use super::super::writer::Writer;
    use super::*;

    fn run(workspace: &Workspace, name: &str) -> (PathBuf, PathBuf) {
        let path = std::path::absolute(workspace.runs_dir().join(name)).unwrap();
        let mut writer = Writer::create(&path, &meta()).unwrap();
        writer.commit(&[event(0, 0, finished(1.0))]).unwrap();
        writer.finish().unwrap();
        let memory = path.with_extension("memory");
        std::fs::create_dir_all(memory.join("ep_00")).unwrap();
        std::fs::write(memory.join("ep_00/notes.txt"), "mine").unwrap();
        (path, memory)
    }

    fn paths(workspace: &Workspace) -> Vec<PathBuf> {
        let registry = Registry::open(workspace).unwrap();
        registry.runs().unwrap().into_iter().map(|run| run.path).collect()
    }

    #[test]
    fn a_deleted_run_comes_back_whole_the_last_one_first() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join("workspace"));
        let (a, a_memory) = run(&workspace, "a.db");
        let (b, b_memory) = run(&workspace, "b.db");
        let mut trash = Trash::new(&workspace);
        trash.put(&a, std::slice::from_ref(&a_memory)).unwrap();
        trash.put(&b, &[b_memory]).unwrap();
        assert!(!a.exists() && !a_memory.exists() && paths(&workspace).is_empty());
        // What a living session holds is no leftover.
        assert!(Trash::leftovers(&workspace).is_empty());
        assert_eq!(trash.undo().unwrap(), Some(b));
        assert_eq!(trash.undo().unwrap(), Some(a.clone()));
        assert_eq!(trash.undo().unwrap(), None);
        assert_eq!(
            std::fs::read_to_string(a_memory.join("ep_00/notes.txt")).unwrap(),
            "mine"
        );
        assert_eq!(Reader::open(&a).unwrap().episodes().unwrap()[0].steps, 1);
        trash.put(&a, &[a_memory]).unwrap();
        trash.empty().unwrap();
        assert!(!workspace.trash_dir().exists());
        assert_eq!(paths(&workspace).len(), 1);
    }

    #[test]
    fn what_a_crash_left_is_offered_and_never_removed_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join("workspace"));
        let (a, memory) = run(&workspace, "a.db");
        let (b, _) = run(&workspace, "b.db");
        let mut trash = Trash::new(&workspace);
        trash.put(&a, &[memory]).unwrap();
        trash.put(&b, &[]).unwrap();
        // As if the process were gone.
        drop(trash);
        let mut found = Trash::leftovers(&workspace);
        assert_eq!(
            found.iter().map(|item| item.run().to_owned()).collect::<Vec<_>>(),
            [a.clone(), b.clone()]
        );
        drop(Trash::leftovers(&workspace));
        found.pop().unwrap().remove().unwrap();
        found.pop().unwrap().restore().unwrap();
        assert!(a.exists() && !b.exists() && !workspace.trash_dir().exists());
    }

    #[test]
    fn a_run_that_is_written_or_in_the_way_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join("workspace"));
        let path = std::path::absolute(workspace.runs_dir().join("live.db")).unwrap();
        let writer = Writer::create(&path, &meta()).unwrap();
        let mut trash = Trash::new(&workspace);
        assert!(matches!(trash.put(&path, &[]), Err(StoreError::Busy { .. })));
        writer.finish().unwrap();
        trash.put(&path, &[]).unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(matches!(trash.undo(), Err(StoreError::Exists { .. })));
        assert_eq!(trash.len(), 1);
        std::fs::remove_file(&path).unwrap();
        assert!(trash.undo().unwrap().is_some());
        assert!(matches!(
            trash.put(&dir.path().join("no.db"), &[]),
            Err(StoreError::NotFound { .. })
        ));
        assert!(trash.is_empty());
    }

    #[test]
    fn a_run_elsewhere_is_registered_again() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join("workspace"));
        let other = Workspace::at(dir.path().join("elsewhere"));
        let (path, memory) = run(&other, "a.db");
        Registry::open(&workspace).unwrap().register(&path).unwrap();
        let mut trash = Trash::new(&workspace);
        trash.put(&path, &[memory]).unwrap();
        assert!(paths(&workspace).is_empty());
        trash.undo().unwrap();
        assert_eq!(paths(&workspace), [path]);
    }
}
