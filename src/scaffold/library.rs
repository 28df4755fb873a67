//! Where scaffolds come from: a folder, the workspace, or the program itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::error::ScaffoldError;
use super::folder::{MAX_ALL_BYTES, MAX_FILE_BYTES, MAX_FILES, left_out, path_problem, sync_folder, write_files};
use super::{MANIFEST, Scaffold, VersionError, Versions, digest_of};
use crate::config::Workspace;

static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/scaffolds");

/// Where a scaffold was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In the workspace, in this folder.
    Workspace(PathBuf),
    /// Inside the program.
    Shipped,
}

/// A scaffold that can be asked for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaffoldName {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub source: Source,
}

impl Scaffold {
    /// Reads a scaffold's folder.
    ///
    /// # Errors
    /// When the folder cannot be read or the scaffold cannot be used.
    pub fn load(folder: &Path) -> Result<Self, ScaffoldError> {
        Self::from_files(read_folder(folder)?)
    }

    /// A scaffold by name (the workspace's before the program's own), by the path of its folder, or one of its
    /// kept versions as `name@` and the beginning of a digest.
    ///
    /// # Errors
    /// When there is none or it cannot be used.
    pub fn named(name: &str, workspace: &Workspace) -> Result<Self, ScaffoldError> {
        Self::from_files(Self::files_named(name, workspace)?)
    }

    /// The files of a scaffold by name or path, whether or not it can be used.
    ///
    /// # Errors
    /// When there is none or it cannot be read.
    pub fn files_named(name: &str, workspace: &Workspace) -> Result<BTreeMap<String, String>, ScaffoldError> {
        let folder = Path::new(name);
        if is_path(name) {
            let foreign = folder.is_dir() && !folder.join(MANIFEST).is_file();
            return if foreign {
                Ok(read_any(folder)?.files)
            } else {
                read_folder(folder)
            };
        }
        let own = workspace.scaffolds_dir().join(name);
        if own.join(MANIFEST).is_file() {
            return read_folder(&own);
        }
        if let Some(files) = shipped_files(name) {
            return Ok(files);
        }
        if Path::new(name).join(MANIFEST).is_file() {
            return read_folder(Path::new(name));
        }
        if let Some((line, prefix)) = name.split_once('@') {
            return version_files(line, prefix, workspace);
        }
        let known: Vec<String> = Self::list(workspace).into_iter().map(|found| found.name).collect();
        Err(ScaffoldError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        })
    }

    /// The files of a scaffold by name or path, or of any folder of text files by its path.
    ///
    /// # Errors
    /// When there is neither, or it cannot be read.
    pub fn any_named(name: &str, workspace: &Workspace) -> Result<AnyFolder, ScaffoldError> {
        let folder = Path::new(name);
        let other = folder.is_dir() && !folder.join(MANIFEST).is_file();
        if other && is_path(name) {
            return read_any(folder);
        }
        match Self::files_named(name, workspace) {
            Err(ScaffoldError::Unknown { .. }) if other => read_any(folder),
            found => Ok(AnyFolder {
                files: found?,
                left_out: Vec::new(),
            }),
        }
    }

    /// The scaffolds inside the program, by name.
    pub fn shipped() -> Vec<String> {
        let mut names: Vec<String> = SHIPPED
            .dirs()
            .filter(|dir| dir.get_file(dir.path().join(MANIFEST)).is_some())
            .filter_map(|dir| Some(dir.path().file_name()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    }

    /// Everything that can be asked for by name; the workspace's hide the program's of equal name.
    pub fn list(workspace: &Workspace) -> Vec<ScaffoldName> {
        let mut found: BTreeMap<String, Source> = Self::shipped()
            .into_iter()
            .map(|name| (name, Source::Shipped))
            .collect();
        // A workspace without scaffolds has no such folder: that is no fault.
        let entries = std::fs::read_dir(workspace.scaffolds_dir()).into_iter().flatten();
        for folder in entries.flatten().map(|entry| entry.path()) {
            if let Some(name) = folder.file_name().and_then(|name| name.to_str())
                && folder.join(MANIFEST).is_file()
            {
                found.insert(name.to_owned(), Source::Workspace(folder.clone()));
            }
        }
        found
            .into_iter()
            .map(|(name, source)| ScaffoldName { name, source })
            .collect()
    }
}

/// Name of the line that revisions of a scaffold go on: its own when the workspace has its folder, else another, so that
/// a shipped scaffold stays what it is.
pub fn line_of(name: &str, workspace: &Workspace) -> String {
    if workspace.scaffolds_dir().join(name).join(MANIFEST).is_file() {
        name.to_owned()
    } else {
        format!("{name}-auto")
    }
}

/// A kept version, or what the folder or the program has now under that name.
fn version_files(line: &str, prefix: &str, workspace: &Workspace) -> Result<BTreeMap<String, String>, ScaffoldError> {
    let prefix = prefix.to_ascii_lowercase();
    if let Some(versions) = Versions::reading(workspace)?
        && let Some(version) = versions.find(line, &prefix)?
    {
        return Ok(versions.get(version.digest)?);
    }
    let now = (!line.contains('@'))
        .then(|| Scaffold::files_named(line, workspace).ok())
        .flatten();
    now.filter(|files| !prefix.is_empty() && digest_of(files).to_string().starts_with(&prefix))
        .ok_or_else(|| {
            let (what, line) = (format!("{line}@{prefix}"), line.to_owned());
            VersionError::Unknown { what, line }.into()
        })
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.contains(std::path::MAIN_SEPARATOR) || name == "." || name == ".."
}

fn shipped_files(name: &str) -> Option<BTreeMap<String, String>> {
    let folder = SHIPPED.get_dir(name)?;
    let mut files = BTreeMap::new();
    let mut open = vec![folder];
    while let Some(dir) = open.pop() {
        open.extend(dir.dirs());
        for file in dir.files() {
            let path = file.path().strip_prefix(folder.path()).ok()?;
            files.insert(slashed(path)?, file.contents_utf8()?.to_owned());
        }
    }
    files.contains_key(MANIFEST).then_some(files)
}

/// Reads all files of a scaffold's folder. Hidden files and folders are left out.
///
/// # Errors
/// When a file cannot be read, is no UTF-8 text, or is larger than a mebibyte.
pub fn read_folder(folder: &Path) -> Result<BTreeMap<String, String>, ScaffoldError> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|source| read_error(&dir, source))? {
            let path = entry.map_err(|source| read_error(&dir, source))?.path();
            if path
                .file_name()
                .is_none_or(|name| name.to_string_lossy().starts_with('.'))
            {
                continue;
            }
            let meta = std::fs::metadata(&path).map_err(|source| read_error(&path, source))?;
            if meta.is_dir() {
                // A link to a folder could lead round in a circle.
                if !path.is_symlink() {
                    open.push(path);
                }
                continue;
            }
            if meta.len() > MAX_FILE_BYTES {
                let large = format!(
                    "it has {} bytes; a scaffold's file may have {MAX_FILE_BYTES}",
                    meta.len()
                );
                return Err(read_error(&path, std::io::Error::other(large)));
            }
            let text = std::fs::read_to_string(&path).map_err(|source| read_error(&path, source))?;
            if let Some(name) = path.strip_prefix(folder).ok().and_then(slashed) {
                files.insert(name, text);
            }
        }
    }
    Ok(files)
}

/// A folder of text files, whether or not it is a scaffold that can be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyFolder {
    /// Its files.
    pub files: BTreeMap<String, String>,
    /// What was left out because it is no text of a scaffold, by path.
    pub left_out: Vec<String>,
}

impl AnyFolder {
    /// What it is where it is no scaffold of this program: it can be read and compared, not played.
    pub fn foreign(&self) -> Option<&'static str> {
        foreign(&self.files)
    }
}

/// What files are where they are no scaffold of this program.
pub(super) fn foreign(files: &BTreeMap<String, String>) -> Option<&'static str> {
    if files.contains_key(MANIFEST) {
        return None;
    }
    let python = files.keys().any(|path| path.ends_with(".py"));
    Some(if python {
        "a folder of Python files; it can be read and compared, not run"
    } else {
        "a folder without scaffold.toml; it can be read and compared, not run"
    })
}

/// Reads the text files of any folder, such as a scaffold that is a Python program. Hidden files, links, what
/// Python leaves beside its files, and files that are no text or too large for one are left out and named.
///
/// # Errors
/// When the folder cannot be read, holds no text, or far more than a scaffold does.
pub fn read_any(folder: &Path) -> Result<AnyFolder, ScaffoldError> {
    let mut found = AnyFolder {
        files: BTreeMap::new(),
        left_out: Vec::new(),
    };
    let too_much = |what: String| Err(read_error(folder, std::io::Error::other(what)));
    let mut bytes = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|source| read_error(&dir, source))? {
            let path = entry.map_err(|source| read_error(&dir, source))?.path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let (Some(inside), false) = (path.strip_prefix(folder).ok().and_then(slashed), left_out(&name)) else {
                continue;
            };
            let meta = std::fs::symlink_metadata(&path).map_err(|source| read_error(&path, source))?;
            if meta.is_dir() {
                open.push(path);
                continue;
            }
            let fits = meta.is_file() && meta.len() <= MAX_FILE_BYTES && path_problem(&inside).is_none();
            let text = if fits {
                std::fs::read(&path).map_err(|source| read_error(&path, source))?
            } else {
                vec![0]
            };
            match String::from_utf8(text) {
                Ok(text) if !text.contains('\0') => {
                    bytes += text.len() as u64;
                    found.files.insert(inside, text);
                }
                _ => found.left_out.push(inside),
            }
            if bytes > MAX_ALL_BYTES || found.files.len() > MAX_FILES {
                let most = MAX_ALL_BYTES >> 20;
                return too_much(format!(
                    "it holds more than {MAX_FILES} files or {most} MiB, so it is no scaffold; give the folder inside of it"
                ));
            }
        }
    }
    found.left_out.sort();
    if found.files.is_empty() {
        return too_much("there are no text files in it".to_owned());
    }
    Ok(found)
}

/// Writes files as a new folder; nothing may be there. It has its name only when it is complete.
///
/// # Errors
/// When something is there, or what the operating system refuses.
pub fn write_new(folder: &Path, files: &BTreeMap<String, String>) -> std::io::Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            "something is there already",
        ));
    }
    let above = match folder.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(above)?;
    let draft = tempfile::Builder::new().prefix(".automem-").tempdir_in(above)?;
    let inner = draft.path().join("files");
    std::fs::create_dir(&inner)?;
    write_files(&inner, files)?;
    std::fs::rename(&inner, folder)?;
    sync_folder(above);
    Ok(())
}

fn read_error(path: &Path, source: std::io::Error) -> ScaffoldError {
    ScaffoldError::Read {
        path: path.to_owned(),
        source,
    }
}

fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(std::ffi::OsStr::to_str).collect();
    Some(parts?.join("/"))
}
