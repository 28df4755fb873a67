//! A complete folder says what it is: `SHA256SUMS` names every file, `SOURCE` where they came from.
//!
//! Owns these two files. What is not named there, or differs, makes a folder half-made.

use std::fmt::Write as _;
use std::path::Path;

use super::SetupError;
use super::error::io_error;
use crate::jobs::Cancel;
use crate::jobs::checksum::sha256;

const SUMS: &str = "SHA256SUMS";
const SOURCE: &str = "SOURCE";

/// Names the files of a folder that was just filled.
pub(super) fn seal(folder: &Path, files: &[String], source: &str, cancel: &Cancel) -> Result<(), SetupError> {
    let mut files: Vec<&String> = files.iter().collect();
    files.sort();
    let mut text = String::new();
    for file in files {
        let path = folder.join(file);
        let sum = sum(&path, cancel)?;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{sum}  {file}");
    }
    for (name, text) in [(SOURCE, format!("{source}\n")), (SUMS, text)] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(io_error("writing", &path))?;
    }
    Ok(())
}

/// Whether a folder is complete and came from this source. Bytes of its files, or `None`.
pub(super) fn complete(folder: &Path, source: &str, cancel: &Cancel) -> Result<Option<u64>, SetupError> {
    if read(folder, SOURCE).trim_end() != source {
        return Ok(None);
    }
    verified(folder, &read(folder, SUMS), cancel)
}

/// Whether every file is there as it was put; `None` where the folder does not name its files.
pub(super) fn intact(folder: &Path, cancel: &Cancel) -> Result<Option<bool>, SetupError> {
    let sums = read(folder, SUMS);
    if sums.is_empty() {
        return Ok(None);
    }
    Ok(Some(verified(folder, &sums, cancel)?.is_some()))
}

/// Bytes of the files that are named, when each is there with its sum.
fn verified(folder: &Path, sums: &str, cancel: &Cancel) -> Result<Option<u64>, SetupError> {
    let mut bytes = 0;
    for line in sums.lines() {
        let Some((expected, file)) = line.split_once("  ") else {
            return Ok(None);
        };
        let path = folder.join(file);
        let Ok(metadata) = std::fs::metadata(&path) else {
            return Ok(None);
        };
        bytes += metadata.len();
        if !metadata.is_file() || sum(&path, cancel)? != expected {
            return Ok(None);
        }
    }
    Ok((!sums.is_empty()).then_some(bytes))
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// The two texts of a complete folder, to compare it with another.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).ok();
    [SUMS, SOURCE].iter().all(|name| {
        let text = read(one, name);
        text.is_some() && text == read(other, name)
    })
}

fn sum(path: &Path, cancel: &Cancel) -> Result<String, SetupError> {
    sha256(path, cancel, &mut |_| {})
        .map_err(io_error("reading", path))?
        .ok_or(SetupError::Cancelled)
}
