//! The workspace: the folder that holds runs, scaffolds, models and the workspace database.

use std::path::{Path, PathBuf};

/// A workspace folder. Its parts are named here and made by those who write into them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Neither a `.automem` folder nor a home directory.
    #[error(
        "no `.automem` folder is above this one and the user's data directory is unknown; set HOME, or make a folder `.automem` here"
    )]
    NoHome,
    /// The current folder is gone or unreadable.
    #[error("the current folder cannot be read: {0}; change to one that exists")]
    CurrentFolder(#[from] std::io::Error),
}

impl Workspace {
    /// The nearest `.automem` folder at or above the current one, else the user's data directory
    /// (`AUTOMEM_HOME` overrides both).
    ///
    /// # Errors
    /// When neither exists.
    pub fn find() -> Result<Self, WorkspaceError> {
        if let Some(root) = std::env::var_os("AUTOMEM_HOME").filter(|value| !value.is_empty()) {
            return Ok(Self::at(root));
        }
        if let Some(root) = Self::above(&std::env::current_dir()?) {
            return Ok(root);
        }
        let folders = directories::ProjectDirs::from("", "", "automem").ok_or(WorkspaceError::NoHome)?;
        Ok(Self::at(folders.data_dir()))
    }

    /// The nearest `.automem` folder at or above `folder`.
    pub fn above(folder: &Path) -> Option<Self> {
        folder
            .ancestors()
            .map(|dir| dir.join(".automem"))
            .find(|dir| dir.is_dir())
            .map(Self::at)
    }

    /// The workspace with this root.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where runs are written by default.
    pub fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Where scaffolds of the user live, one folder each.
    pub fn scaffolds_dir(&self) -> PathBuf {
        self.root.join("scaffolds")
    }

    /// Where models live.
    pub fn models_dir(&self) -> PathBuf {
        self.root.join("models")
    }

    /// Where LoRA adapters live.
    pub fn adapters_dir(&self) -> PathBuf {
        self.root.join("adapters")
    }

    /// Where trainings keep their logs and checkpoints, one folder each.
    pub fn trainings_dir(&self) -> PathBuf {
        self.root.join("trainings")
    }

    /// Where certified training sets live.
    pub fn datasets_dir(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// Where deleted runs lie until the session ends.
    pub fn trash_dir(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The registry of runs, proposals and decisions.
    pub fn database(&self) -> PathBuf {
        self.root.join("workspace.db")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_above_wins() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(dir.path().join(".automem")).unwrap();
        assert_eq!(
            Workspace::above(&inner),
            Some(Workspace::at(dir.path().join(".automem")))
        );
        std::fs::create_dir(dir.path().join("a/.automem")).unwrap();
        assert_eq!(
            Workspace::above(&inner),
            Some(Workspace::at(dir.path().join("a/.automem")))
        );
    }
}
