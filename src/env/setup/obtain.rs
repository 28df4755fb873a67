//! A package's file, checked: one that is here already, one from a folder, or one that pip fetches.
//!
//! Owns where it lies meanwhile. Must not look into it.

use std::path::{Path, PathBuf};

use super::error::io_error;
use super::packages::{Archive, Package};
use super::{DOWNLOADS, Progress, Setup, SetupError, Stage};
use crate::jobs::checksum::sha256;
use crate::jobs::pip::{self, Form, PipError, Wanted};

/// The file of a package for a system.
pub(super) fn archive_of(package: &Package, (os, arch): (&str, &str)) -> Result<&'static Archive, SetupError> {
    package.archive(os, arch).ok_or_else(|| SetupError::System {
        package: format!("{} {}", package.name, package.version),
        system: format!("{os} {arch}"),
        known: package.systems(),
    })
}

impl Setup<'_> {
    /// The file, with the right checksum, and whether it is ours to remove.
    pub(super) fn obtain(
        &mut self,
        package: &Package,
        archive: &Archive,
        work: &Path,
    ) -> Result<(PathBuf, bool), SetupError> {
        if let Some(folder) = self.offline {
            let file = folder.join(archive.file);
            if !file.is_file() {
                return Err(SetupError::Absent {
                    folder: folder.display().to_string(),
                    file: archive.file.to_owned(),
                    fetch: command(package, archive),
                });
            }
            self.check(package, archive, &file)?;
            return Ok((file, false));
        }
        let downloads = self.data.join(DOWNLOADS);
        let file = downloads.join(archive.file);
        // One that is wrong is fetched anew.
        if file.is_file() && self.check(package, archive, &file).is_ok() {
            return Ok((file, true));
        }
        if self.cancel.is_cancelled() {
            return Err(SetupError::Cancelled);
        }
        let came = self.download(package, archive, work)?;
        self.check(package, archive, &came)?;
        std::fs::create_dir_all(&downloads).map_err(io_error("making the folder", &downloads))?;
        std::fs::rename(&came, &file).map_err(io_error("renaming to", &file))?;
        Ok((file, true))
    }

    fn download(&mut self, package: &Package, archive: &Archive, work: &Path) -> Result<PathBuf, SetupError> {
        let wanted = Wanted {
            package: package.name,
            version: package.version,
            bytes: archive.bytes,
            form: match archive.system {
                Some(_) => Form::WheelFor {
                    python: archive.python,
                    sha256: archive.sha256,
                },
                None => Form::Source { sha256: archive.sha256 },
            },
        };
        let mut tell = |done| {
            (self.progress)(Progress {
                part: package.folder,
                stage: Stage::Fetching,
                done,
                total: archive.bytes,
            });
        };
        pip::download(&wanted, work, self.cancel, &mut tell).map_err(|error| match error {
            PipError::Cancelled => SetupError::Cancelled,
            error => SetupError::Pip {
                error,
                file: archive.file.to_owned(),
            },
        })
    }

    fn check(&mut self, package: &Package, archive: &Archive, file: &Path) -> Result<(), SetupError> {
        let mut tell = |done| {
            (self.progress)(Progress {
                part: package.folder,
                stage: Stage::Checking,
                done,
                total: archive.bytes,
            });
        };
        let found = sha256(file, self.cancel, &mut tell)
            .map_err(io_error("reading", file))?
            .ok_or(SetupError::Cancelled)?;
        if found != archive.sha256 {
            return Err(SetupError::Checksum {
                path: file.display().to_string(),
                found,
                expected: archive.sha256.to_owned(),
            });
        }
        Ok(())
    }
}

/// The command that fetches a file on another machine.
fn command(package: &Package, archive: &Archive) -> String {
    let which = match archive.system {
        None => format!("--no-binary {}", package.name),
        Some(_) => {
            // The last part of a wheel's name is its platforms.
            let stem = archive.file.trim_end_matches(".whl");
            let platforms = stem.rsplit('-').next().unwrap_or_default();
            let platforms: Vec<String> = platforms.split('.').map(|name| format!("--platform {name}")).collect();
            format!(
                "--only-binary :all: --implementation cp --python-version {} {}",
                archive.python,
                platforms.join(" ")
            )
        }
    };
    format!(
        "python3 -m pip download --no-deps {which} {}=={}",
        package.name, package.version
    )
}
