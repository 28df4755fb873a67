//! A scaffold's folder on disk: which names its files may have, and writing it whole.
//!
//! Must not know workspaces or versions.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Larger files do not belong into a scaffold.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;
/// Files of a scaffold that comes from elsewhere.
pub(super) const MAX_FILES: usize = 1000;
/// Bytes of all of them.
pub(super) const MAX_ALL_BYTES: u64 = 16 << 20;
/// Folders and the file, together.
const MAX_DEPTH: usize = 8;
/// Bytes of one name, as file systems have it.
const MAX_NAME: usize = 255;

/// Why a text cannot be the path of a scaffold's file; `None` when it can.
pub fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.starts_with('/') || path.starts_with('~') || path.get(1..3) == Some(":/") {
        return Some("it is absolute");
    }
    if path.contains('\\') {
        return Some("it has a backslash; folders are parted by `/`");
    }
    if path.chars().any(char::is_control) {
        return Some("it has control characters");
    }
    for name in path.split('/') {
        match name {
            "" => return Some("a name between slashes is missing"),
            "." | ".." => return Some("it leads out of the folder"),
            _ if name.starts_with('.') => return Some("a name begins with a dot, and hidden files are left out"),
            _ if name.len() > MAX_NAME => return Some("a name is too long"),
            _ => {}
        }
    }
    (path.split('/').count() > MAX_DEPTH).then_some("too many folders are inside each other")
}

/// What cannot be written as a scaffold's folder, as path and reason; `None` when all can.
pub fn files_problem(files: &BTreeMap<String, String>) -> Option<(String, String)> {
    for (path, text) in files {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let why = if let Some(why) = path_problem(path) {
            why.to_owned()
        } else if let Some(file) = above.into_iter().find(|above| files.contains_key(*above)) {
            format!("`{file}` is a file and a folder at once")
        } else if text.len() as u64 > MAX_FILE_BYTES {
            format!(
                "it has {} bytes; a scaffold's file may have {MAX_FILE_BYTES}",
                text.len()
            )
        } else {
            continue;
        };
        return Some((path.clone(), why));
    }
    None
}

/// Names that are nobody's text: hidden files, and what Python and systems leave beside files.
pub(super) fn left_out(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "__pycache__" | "__MACOSX") || name.ends_with(".pyc")
}

/// Whether a scaffold may be called this: one plain folder name.
pub fn sound_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(plain)
}

/// Writes files into an empty folder, and has the system put them on the device.
///
/// # Errors
/// What the operating system refuses; some files may stand by then.
pub(super) fn write_files(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some((path, why)) = files_problem(files) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{path}: {why}")));
    }
    let mut folders = vec![folder.to_owned()];
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(above) = path.parent()
            && !folders.iter().any(|known| known == above)
        {
            std::fs::create_dir_all(above)?;
            folders.push(above.to_owned());
        }
        let mut file = File::create_new(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    folders.iter().rev().for_each(|folder| sync_folder(folder));
    Ok(())
}

/// Has the system put a folder's names on the device. Systems that cannot do so keep what they keep.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        for good in ["scaffold.toml", "prompts/log.md", "a/b/c.py", "地图.md"] {
            assert_eq!(path_problem(good), None, "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "~/x",
            "C:/x",
            "a\\b",
            "../x",
            "a/../x",
            "a//b",
            "./a",
            ".git/config",
            "a/.b",
            "a\nb",
            "a/b/c/d/e/f/g/h/i",
        ] {
            assert!(path_problem(bad).is_some(), "{bad}");
        }
        assert!(sound_name("crafter-v1.2_x"));
        for bad in ["", ".x", "a/b", "a b", "é", "..", "a@b"] {
            assert!(!sound_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_file_is_no_folder_and_has_its_bounds() {
        let files = |list: &[(&str, usize)]| -> BTreeMap<String, String> {
            list.iter()
                .map(|(path, size)| ((*path).to_owned(), "x".repeat(*size)))
                .collect()
        };
        assert_eq!(files_problem(&files(&[("a", 1), ("b/c", 1)])), None);
        assert!(
            files_problem(&files(&[("a", 1), ("a/b", 1)]))
                .unwrap()
                .1
                .contains("at once")
        );
        assert!(
            files_problem(&files(&[("a", (1 << 20) + 1)]))
                .unwrap()
                .1
                .contains("bytes")
        );
        let dir = tempfile::tempdir().unwrap();
        assert!(write_files(dir.path(), &files(&[("../a", 1)])).is_err());
        write_files(dir.path(), &files(&[("p/q/r", 2), ("s", 3)])).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("p/q/r")).unwrap(), "xx");
    }
}
