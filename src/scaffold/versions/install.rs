//! A version in the place of a scaffold's folder, and the folder away: in one step, verified, reversible.
//!
//! The new folder is written complete beside the old one, read back, and exchanged with it. Whatever the folder
//! held is kept as a version before. Killed at any moment, the folder is wholly the old one or wholly the new.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{VersionError, Versions};
use crate::scaffold::folder::{sync_folder, write_files};
use crate::scaffold::{MANIFEST, digest_of, read_folder, sound_name};
use crate::types::Digest;

/// Beginning of the names of folders that are being written or taken away.
const UNDER_WAY: &str = ".automem-";
/// Where a folder waits while its successor takes its name, where names cannot be exchanged.
const ASIDE: &str = ".aside-";
const LOCK: &str = "scaffolds.lock";
const WAIT_FOR_LOCK: Duration = Duration::from_secs(5);

/// What an installation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Digest of what the folder held before; `None` when there was none or nothing changed.
    pub replaced: Option<Digest>,
    /// Where the old folder lies when it held more than a scaffold's files (hidden ones, links).
    pub left: Option<PathBuf>,
}

/// Held while folders change; the system drops it with the process.
pub(super) struct Lock {
    _file: Option<File>,
}

impl Versions {
    /// The digest of what a scaffold's folder holds now; `None` when it has no folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn present(&self, line: &str) -> Result<Option<Digest>, VersionError> {
        Ok(self.present_files(line)?.map(|files| digest_of(&files)))
    }

    fn folder_of(&self, line: &str) -> Result<PathBuf, VersionError> {
        if sound_name(line) {
            Ok(self.scaffolds.join(line))
        } else {
            Err(VersionError::BadName(line.to_owned()))
        }
    }

    fn present_files(&self, line: &str) -> Result<Option<BTreeMap<String, String>>, VersionError> {
        let folder = self.folder_of(line)?;
        let in_the_way = |why: &str| {
            Err(VersionError::InTheWay {
                path: folder.clone(),
                why: why.to_owned(),
            })
        };
        match std::fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(VersionError::folder(&folder, "read", &error)),
            Ok(meta) if meta.is_symlink() => return in_the_way("is a link to elsewhere"),
            Ok(meta) if !meta.is_dir() => return in_the_way("is no folder"),
            Ok(_) => {}
        }
        let files = read_folder(&folder).map_err(|error| VersionError::reading(&folder, error))?;
        Ok(Some(files))
    }

    /// Puts a kept version in the place of the folder of `line`. What the folder holds is kept as a version
    /// first. Nothing is done when the folder holds that version already.
    ///
    /// # Errors
    /// When the folder does not hold `expect` (`None`: there is no folder), the version is not kept, or the
    /// file system refuses. The folder is then as it was.
    pub fn install(&self, line: &str, digest: Digest, expect: Option<Digest>) -> Result<Installed, VersionError> {
        let files = self.get(digest)?;
        if !files.contains_key(MANIFEST) {
            return Err(VersionError::NotAScaffold(digest));
        }
        let folder = self.folder_of(line)?;
        let made = std::fs::create_dir_all(&self.scaffolds);
        made.map_err(|error| VersionError::folder(&self.scaffolds, "made", &error))?;
        let _lock = self.lock(WAIT_FOR_LOCK)?;
        self.tidy();
        let present = self.present(line)?;
        if present == Some(digest) {
            return Ok(Installed {
                replaced: None,
                left: None,
            });
        }
        self.keep_present(line, present, expect)?;
        let draft = self.under_way(digest);
        let written = std::fs::create_dir(&draft).and_then(|()| write_files(&draft, &files));
        let done = match written {
            Ok(()) => self.put(line, &folder, &draft, digest, expect),
            Err(error) => Err(VersionError::folder(&self.scaffolds, "written", &error)),
        };
        if done.is_err() {
            // It never took the name, or it was taken back: the draft lies there, and nothing else is removed.
            self.remove_if_kept(&draft, Some(digest));
        }
        done
    }

    /// Takes the folder of `line` away; its files are kept as a version first. Nothing is done when there is none.
    ///
    /// # Errors
    /// When the folder does not hold `expect`, or the file system refuses. The folder is then as it was.
    pub fn uninstall(&self, line: &str, expect: Digest) -> Result<Installed, VersionError> {
        let folder = self.folder_of(line)?;
        if !folder.exists() {
            return Ok(Installed {
                replaced: None,
                left: None,
            });
        }
        let _lock = self.lock(WAIT_FOR_LOCK)?;
        self.tidy();
        let present = self.present(line)?;
        self.keep_present(line, present, Some(expect))?;
        let away = self.under_way(expect);
        std::fs::rename(&folder, &away).map_err(|error| VersionError::folder(&folder, "taken away", &error))?;
        let found = read_folder(&away).map(|files| digest_of(&files)).ok();
        if found != Some(expect) {
            std::fs::rename(&away, &folder).map_err(|error| VersionError::folder(&away, "put back", &error))?;
            return Err(changed(line, found, Some(expect)));
        }
        sync_folder(&self.scaffolds);
        let left = self.cleared(line, &away, expect);
        Ok(Installed {
            replaced: Some(expect),
            left,
        })
    }

    /// Keeps what the folder holds, after looking whether that is what the caller saw.
    fn keep_present(&self, line: &str, present: Option<Digest>, expect: Option<Digest>) -> Result<(), VersionError> {
        if present != expect {
            return Err(changed(line, present, expect));
        }
        if let Some(files) = self.present_files(line)? {
            let kept = self.keep(&files, line, None, "")?;
            if Some(kept) != expect {
                return Err(changed(line, Some(kept), expect));
            }
        }
        Ok(())
    }

    /// Gives the draft the folder's name; the draft's place then holds the old folder, if there was one.
    pub(super) fn put(
        &self,
        line: &str,
        folder: &Path,
        draft: &Path,
        digest: Digest,
        expect: Option<Digest>,
    ) -> Result<Installed, VersionError> {
        let holds = |at: &Path| read_folder(at).map(|files| digest_of(&files)).ok();
        let refused = |error: io::Error| VersionError::folder(folder, "put in place", &error);
        if holds(draft) != Some(digest) {
            return Err(VersionError::Folder {
                path: self.scaffolds.clone(),
                doing: "written",
                why: "what was read back is not what was written".to_owned(),
            });
        }
        match expect {
            None => rename_new(draft, folder).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                    changed(line, self.present(line).ok().flatten(), None)
                }
                _ => refused(error),
            })?,
            Some(_) => self.exchange(line, draft, folder).map_err(refused)?,
        }
        let found = expect.and_then(|_| holds(draft));
        if found != expect {
            // Somebody wrote into it between the look and the exchange: theirs goes back.
            self.exchange(line, draft, folder).map_err(refused)?;
            return Err(changed(line, found, expect));
        }
        sync_folder(&self.scaffolds);
        let left = expect.and_then(|old| self.cleared(line, draft, old));
        Ok(Installed { replaced: expect, left })
    }

    /// Exchanges two folders' names: in one step where the system can, else with a third name.
    pub(super) fn exchange(&self, line: &str, draft: &Path, folder: &Path) -> io::Result<()> {
        if exchange_names(draft, folder)? {
            return Ok(());
        }
        self.exchange_by_aside(line, draft, folder)
    }

    /// For systems without an exchange. Killed half way, [`Versions::tidy`] gives the folder its name back.
    pub(super) fn exchange_by_aside(&self, line: &str, draft: &Path, folder: &Path) -> io::Result<()> {
        let aside = self.scaffolds.join(format!("{ASIDE}{line}"));
        std::fs::rename(folder, &aside)?;
        if let Err(error) = std::fs::rename(draft, folder) {
            std::fs::rename(&aside, folder)?;
            return Err(error);
        }
        std::fs::rename(&aside, draft)
    }

    /// Removes a folder whose files are kept; one that holds more is left, and told where.
    fn cleared(&self, line: &str, folder: &Path, holds: Digest) -> Option<PathBuf> {
        if !holds_more(folder) && std::fs::remove_dir_all(folder).is_ok() {
            return None;
        }
        let name = format!(".{line}.replaced-{}", holds.short());
        let kept = (0..100)
            .map(|n| {
                self.scaffolds
                    .join(if n == 0 { name.clone() } else { format!("{name}-{n}") })
            })
            .find(|path| !path.exists())?;
        match std::fs::rename(folder, &kept) {
            Ok(()) => Some(kept),
            Err(_) => Some(folder.to_owned()),
        }
    }

    pub(super) fn under_way(&self, digest: Digest) -> PathBuf {
        self.scaffolds
            .join(format!("{UNDER_WAY}{digest}-{}", uuid::Uuid::now_v7().simple()))
    }

    pub(super) fn lock(&self, wait: Duration) -> Result<Lock, VersionError> {
        let path = self.database.with_file_name(LOCK);
        let file = File::create(&path).map_err(|error| VersionError::folder(&self.scaffolds, "written", &error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: Some(file) }),
                // A file system without locks (some network disks): the digests still guard.
                Err(TryLockError::Error(_)) => return Ok(Lock { _file: None }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(VersionError::Busy {
                        path: self.scaffolds.clone(),
                    });
                }
            }
        }
    }

    /// Sets right what a killed process left, unless another is at work.
    pub(super) fn recover(&self) {
        let left = |name: &str| name.starts_with(UNDER_WAY) || name.starts_with(ASIDE);
        if self.entries().iter().any(|name| left(name))
            && let Ok(_lock) = self.lock(Duration::ZERO)
        {
            self.tidy();
        }
    }

    fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.scaffolds).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    /// What killed processes left: a folder that lost its name gets it back; drafts and folders whose files are
    /// kept go. Anything else stays.
    fn tidy(&self) {
        for name in self.entries() {
            let path = self.scaffolds.join(&name);
            if let Some(line) = name.strip_prefix(ASIDE) {
                let folder = self.scaffolds.join(line);
                if folder.exists() {
                    self.remove_if_kept(&path, None);
                } else {
                    let _ = std::fs::rename(&path, &folder);
                }
            } else if let Some(rest) = name.strip_prefix(UNDER_WAY) {
                let draft_of = rest.split('-').next().and_then(|digest| digest.parse().ok());
                self.remove_if_kept(&path, draft_of);
            }
        }
    }

    fn remove_if_kept(&self, path: &Path, draft_of: Option<Digest>) {
        if holds_more(path) {
            return;
        }
        let Ok(found) = read_folder(path) else { return };
        let draft = draft_of.and_then(|digest| self.get(digest).ok());
        let half = draft.is_some_and(|whole| {
            found
                .iter()
                .all(|(path, text)| whole.get(path).is_some_and(|all| all.starts_with(text)))
        });
        if half || self.has(digest_of(&found)) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn changed(line: &str, found: Option<Digest>, expected: Option<Digest>) -> VersionError {
    VersionError::Changed {
        line: line.to_owned(),
        found,
        expected,
    }
}

/// Whether a folder holds what a version does not keep: hidden files, links, empty folders.
fn holds_more(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return true;
    };
    for entry in entries {
        let Ok(entry) = entry else { return true };
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        match entry.file_type() {
            Ok(kind) if kind.is_file() && !hidden => {}
            Ok(kind) if kind.is_dir() && !hidden => {
                let empty = std::fs::read_dir(entry.path()).is_ok_and(|mut inner| inner.next().is_none());
                if empty || holds_more(&entry.path()) {
                    return true;
                }
            }
            _ => return true,
        }
    }
    false
}

#[cfg(target_os = "linux")]
fn exchange_names(one: &Path, two: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        // A file system or kernel that cannot.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange_names(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Renames a folder to a name that nothing may have.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Renaming a folder over one that holds something fails anyway.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::rename(from, to),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}
