//! Takes files out of a wheel (a zip) or a source archive (tar.gz).
//!
//! Owns what may come out: plain files with plain relative paths, of bounded size, and only those that have a place.
//! Must not know packages.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use super::SetupError;
use super::error::{archive_error, io_error};
use crate::jobs::Cancel;

/// How much may come out of one archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of all files together.
    pub(super) bytes: u64,
    /// Files and folders in the archive.
    pub(super) members: usize,
}

/// Where a member goes, and whether it is a program; `None` for what stays in the archive.
pub(super) type Place<'a> = &'a dyn Fn(&str) -> Option<(String, bool)>;

/// One archive on its way out.
struct Unpacking<'a> {
    archive: &'a Path,
    into: &'a Path,
    left: u64,
    limits: Limits,
    out: Vec<String>,
    cancel: &'a Cancel,
    progress: &'a mut dyn FnMut(u64),
}

/// Takes all members that have a place into the folder `into`, and gives their paths there. `progress` gets the bytes
/// so far.
///
/// # Errors
/// When the archive is none, is cut short, or holds what must not come out; when the disk fails; when cancelled.
pub(super) fn unpack(
    archive: &Path,
    into: &Path,
    place: Place<'_>,
    limits: Limits,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<String>, SetupError> {
    let file = File::open(archive).map_err(io_error("reading", archive))?;
    let mut unpacking = Unpacking {
        archive,
        into,
        left: limits.bytes,
        limits,
        out: Vec::new(),
        cancel,
        progress,
    };
    if archive.extension().is_some_and(|extension| extension == "gz") {
        unpacking.tar(BufReader::new(file), place)?;
    } else {
        unpacking.zip(BufReader::new(file), place)?;
    }
    Ok(unpacking.out)
}

impl Unpacking<'_> {
    fn zip(&mut self, file: BufReader<File>, place: Place<'_>) -> Result<(), SetupError> {
        let mut zip = zip::ZipArchive::new(file).map_err(|error| self.wrong(error))?;
        self.count(zip.len())?;
        for at in 0..zip.len() {
            let member = zip.by_index(at).map_err(|error| self.wrong(error))?;
            let name = member.name().map_err(|error| self.wrong(error))?.into_owned();
            let Some((to, run)) = place(&name).filter(|_| !member.is_dir()) else {
                continue;
            };
            if member.is_symlink() {
                return Err(self.wrong(format!("{name} is a link")));
            }
            self.write(&name, &to, run, member)?;
        }
        Ok(())
    }

    fn tar(&mut self, file: BufReader<File>, place: Place<'_>) -> Result<(), SetupError> {
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
        let entries = tar.entries().map_err(|error| self.wrong(error))?;
        for (at, entry) in entries.enumerate() {
            self.count(at + 1)?;
            let entry = entry.map_err(|error| self.wrong(error))?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let kind = entry.header().entry_type();
            let Some((to, run)) = place(&name).filter(|_| !kind.is_dir()) else {
                if self.cancel.is_cancelled() {
                    return Err(SetupError::Cancelled);
                }
                continue;
            };
            if !kind.is_file() {
                return Err(self.wrong(format!("{name} is no plain file")));
            }
            self.write(&name, &to, run, entry)?;
        }
        Ok(())
    }

    fn count(&self, members: usize) -> Result<(), SetupError> {
        if members > self.limits.members {
            return Err(self.wrong(format!("it has more than {} members", self.limits.members)));
        }
        Ok(())
    }

    fn write(&mut self, name: &str, to: &str, run: bool, mut from: impl Read) -> Result<(), SetupError> {
        if !is_plain(to) {
            return Err(self.wrong(format!("the path {name:?} leads out of its folder")));
        }
        if self.out.iter().any(|before| before == to) {
            return Err(self.wrong(format!("{name:?} is in it twice")));
        }
        let path = self.into.join(to);
        let folder = path.parent().unwrap_or(self.into);
        std::fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
        let mut file = File::create_new(&path).map_err(io_error("writing", &path))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            if self.cancel.is_cancelled() {
                return Err(SetupError::Cancelled);
            }
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.wrong(format!("{name}: {error}"))),
            };
            self.left = self
                .left
                .checked_sub(count as u64)
                .ok_or_else(|| self.wrong(format!("more than {} bytes come out of it", self.limits.bytes)))?;
            file.write_all(&buffer[..count]).map_err(io_error("writing", &path))?;
            (self.progress)(self.limits.bytes - self.left);
        }
        set_mode(&file, run).map_err(io_error("setting the rights of", &path))?;
        file.sync_all().map_err(io_error("writing", &path))?;
        self.out.push(to.to_owned());
        Ok(())
    }

    fn wrong(&self, message: impl ToString) -> SetupError {
        archive_error(self.archive, message)
    }
}

/// Whether a path stays in its folder on every system.
fn is_plain(path: &str) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.is_empty()
        && !path.contains(['\\', ':'])
        && !path.chars().any(char::is_control)
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
        && PathBuf::from(path).components().all(plain)
}

#[cfg(unix)]
fn set_mode(file: &File, run: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(if run { 0o755 } else { 0o644 }))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_are_plain() {
        for plain in ["a", "dat/quest.des", "a b/..c"] {
            assert!(is_plain(plain), "{plain}");
        }
        for bad in [
            "",
            "/etc/x",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            "a/",
            "C:x",
            "a\\..\\b",
            "a\nb",
            "a\0",
        ] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_plain_path_stays_below(path in "[a./\\\\:~ -]{0,12}") {
            if is_plain(&path) {
                let mut depth = 0i32;
                for part in Path::new("/base").join(&path).components().skip(2) {
                    depth += match part { Component::Normal(_) => 1, _ => -100 };
                }
                proptest::prop_assert!(depth > 0);
            }
        }
    }
}
