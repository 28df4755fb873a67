//! The directory on disk, through a handle that nothing leads out of (cap-std).
//!
//! Owns stamps, temporary names and the order of system calls. Must not know quotas, the mirror or
//! operations. Writes are not flushed to the device: the directory is a projection that is rebuilt
//! from the record.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::error::MemoryError;
use super::path::{is_hidden, max_folders};

/// Marks a directory as an agent's memory, so that no other directory is ever cleared.
pub(crate) const MARKER: &str = ".automem-memory";
const MARKER_TEXT: &str = "This folder is an agent's memory. It is rebuilt from the run file beside it.\n";
const TEMPORARY: &str = ".automem-tmp";
/// File times are no finer than this: a file changed so shortly before it was looked at may change
/// again without a new time.
const COARSE: Duration = Duration::from_millis(50);

/// What tells one state of a file from the next without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) len: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (changed, inode) = {
            use cap_std::fs::MetadataExt as _;
            ((metadata.ctime(), metadata.ctime_nsec()), metadata.ino())
        };
        #[cfg(not(unix))]
        let (changed, inode) = ((0, 0), 0);
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            changed,
            inode,
        }
    }

    /// Whether a change right after this stamp could leave it as it is.
    pub(super) fn is_fresh(&self) -> bool {
        match self.modified {
            Some(time) => SystemTime::now().duration_since(time).is_ok_and(|age| age < COARSE),
            None => true,
        }
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File(Stamp),
    Folder,
    /// A link, a pipe or a device: never followed, never opened.
    Other,
}

pub(super) struct Disk {
    root: PathBuf,
    dir: Dir,
    next_temporary: u64,
    #[cfg(test)]
    pub(super) fail_next_write: Option<io::ErrorKind>,
}

impl Disk {
    /// Opens a directory that is there and removes what an interrupted write left.
    pub(super) fn open(root: &Path) -> Result<Self, MemoryError> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|e| MemoryError::io("opening the memory directory", root, e))?;
        let disk = Self {
            root: root.to_owned(),
            dir,
            next_temporary: 0,
            #[cfg(test)]
            fail_next_write: None,
        };
        disk.remove_temporaries()
            .map_err(|e| MemoryError::io("tidying", root, e))?;
        Ok(disk)
    }

    /// Makes the directory if needed and empties it of memory files. Refuses to empty a directory
    /// that is none of ours; files whose names begin with a dot stay.
    pub(super) fn create(root: &Path) -> Result<Self, MemoryError> {
        std::fs::create_dir_all(root).map_err(|e| MemoryError::io("making the memory directory", root, e))?;
        let disk = Self::open(root)?;
        let fault = |e| MemoryError::io("clearing", root, e);
        let ours = disk.dir.is_file(MARKER);
        for entry in disk.dir.entries().map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name();
            if name.to_str().is_some_and(is_hidden) {
                continue;
            }
            if !ours {
                return Err(MemoryError::NotOurs(root.to_owned()));
            }
            if entry.file_type().map_err(fault)?.is_dir() {
                disk.dir.remove_dir_all(&name).map_err(fault)?;
            } else {
                disk.dir.remove_file(&name).map_err(fault)?;
            }
        }
        if !ours {
            disk.dir
                .write(MARKER, MARKER_TEXT)
                .map_err(|e| MemoryError::io("writing", root.join(MARKER), e))?;
        }
        Ok(disk)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the directory was removed, or another stands in its place.
    pub(super) fn is_gone(&self) -> bool {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            let here = self.dir.dir_metadata().map(|m| (m.dev(), m.ino()));
            let there = std::fs::metadata(&self.root).map(|m| {
                use std::os::unix::fs::MetadataExt as _;
                (m.dev(), m.ino())
            });
            !matches!((here, there), (Ok(here), Ok(there)) if here == there)
        }
        #[cfg(not(unix))]
        !self.root.is_dir()
    }

    /// All memory files with their stamps, sorted by path.
    pub(super) fn scan(&self) -> io::Result<Vec<(String, Stamp)>> {
        let mut found = Vec::new();
        scan_folder(&self.dir, "", max_folders(), &mut found)?;
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// What stands at `path`; a link anywhere on the way counts as [`Kind::Other`].
    pub(super) fn kind(&self, path: &str) -> io::Result<Kind> {
        for (slash, _) in path.match_indices('/') {
            match self.one_kind(&path[..slash])? {
                Kind::Folder => {}
                Kind::Nothing => return Ok(Kind::Nothing),
                Kind::File(_) | Kind::Other => return Ok(Kind::Other),
            }
        }
        self.one_kind(path)
    }

    fn one_kind(&self, path: &str) -> io::Result<Kind> {
        match self.dir.symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Kind::File(Stamp::of(&metadata))),
            Ok(metadata) if metadata.is_dir() => Ok(Kind::Folder),
            Ok(_) => Ok(Kind::Other),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Kind::Nothing),
            Err(e) => Err(e),
        }
    }

    /// Up to `limit` bytes of a file, whether that is all, and its stamp.
    pub(super) fn read(&self, path: &str, limit: u64) -> io::Result<(Vec<u8>, bool, Stamp)> {
        let file = self.dir.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
        }
        let stamp = Stamp::of(&metadata);
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.len.min(limit)).unwrap_or(0));
        let mut file = file.take(limit.saturating_add(1));
        file.read_to_end(&mut bytes)?;
        let whole = bytes.len() as u64 <= limit;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((bytes, whole, stamp))
    }

    /// Adds text to the end of the file that has `stamp`; `None` when it has another one now.
    /// A write that fails half way is taken back.
    pub(super) fn append(&mut self, path: &str, stamp: &Stamp, text: &str) -> io::Result<Option<Stamp>> {
        let mut file = self.dir.open_with(path, OpenOptions::new().append(true))?;
        if Stamp::of(&file.metadata()?) != *stamp {
            return Ok(None);
        }
        if let Err(e) = self.write_bytes(&mut file, text) {
            file.set_len(stamp.len)?;
            return Err(e);
        }
        Ok(Some(Stamp::of(&file.metadata()?)))
    }

    /// Puts a whole file in its place: written under a temporary name, then renamed.
    pub(super) fn replace(&mut self, path: &str, text: &str) -> io::Result<Stamp> {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.dir.create_dir_all(folder)?;
        }
        let temporary = format!("{TEMPORARY}-{}-{}", std::process::id(), self.next_temporary);
        self.next_temporary += 1;
        let result = self.write_and_rename(&temporary, path, text);
        if result.is_err() {
            // What went wrong matters more than a left-over, which the next opening removes.
            let _ = self.dir.remove_file(&temporary);
            self.remove_empty_folders(path);
        }
        result
    }

    fn write_and_rename(&mut self, temporary: &str, path: &str, text: &str) -> io::Result<Stamp> {
        let mut file = self
            .dir
            .open_with(temporary, OpenOptions::new().write(true).create_new(true))?;
        self.write_bytes(&mut file, text)?;
        self.put_in_place(temporary, path)?;
        Ok(Stamp::of(&file.metadata()?))
    }

    /// Renames the temporary file to `path`. An existing file is exchanged with it and then removed:
    /// renaming over it would be atomic too, but ext4 then waits for the disk (0.7 to 3 ms a write).
    #[cfg(target_os = "linux")]
    fn put_in_place(&self, temporary: &str, path: &str) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        let (folder, name) = match path.rsplit_once('/') {
            Some((folder, name)) => (Some(self.dir.open_dir(folder)?), name),
            None => (None, path),
        };
        // One plain name below a directory handle: no link can lead out.
        let to = folder.as_ref().unwrap_or(&self.dir);
        match renameat_with(&self.dir, temporary, to, name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                let _ = self.dir.remove_file(temporary);
                Ok(())
            }
            // There was no file, or the file system cannot exchange.
            Err(_) => self.dir.rename(temporary, &self.dir, path),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn put_in_place(&self, temporary: &str, path: &str) -> io::Result<()> {
        self.dir.rename(temporary, &self.dir, path)
    }

    fn write_bytes(&mut self, file: &mut cap_std::fs::File, text: &str) -> io::Result<()> {
        #[cfg(test)]
        if let Some(kind) = self.fail_next_write.take() {
            file.write_all(&text.as_bytes()[..text.len() / 2])?;
            return Err(kind.into());
        }
        file.write_all(text.as_bytes())
    }

    /// Removes a file and the folders that it leaves empty.
    pub(super) fn remove(&mut self, path: &str) -> io::Result<()> {
        self.dir.remove_file(path)?;
        self.remove_empty_folders(path);
        Ok(())
    }

    fn remove_empty_folders(&self, path: &str) {
        for (slash, _) in path.rmatch_indices('/') {
            if self.dir.remove_dir(&path[..slash]).is_err() {
                return;
            }
        }
    }

    fn remove_temporaries(&self) -> io::Result<()> {
        for entry in self.dir.entries()? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) {
                self.dir.remove_file(&name)?;
            }
        }
        Ok(())
    }
}

/// Folders and files that vanish while we look are simply not there.
fn scan_folder(dir: &Dir, prefix: &str, folders_left: usize, found: &mut Vec<(String, Stamp)>) -> io::Result<()> {
    let vanished = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !is_hidden(name)) else {
            continue;
        };
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(e) if vanished(&e) => continue,
            Err(e) => return Err(e),
        };
        let path = format!("{prefix}{name}");
        if metadata.is_file() {
            found.push((path, Stamp::of(&metadata)));
        } else if metadata.is_dir() && folders_left > 0 {
            match entry.open_dir() {
                Ok(dir) => scan_folder(&dir, &format!("{path}/"), folders_left - 1, found)?,
                Err(e) if vanished(&e) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}
