//! The level of a task as a des-file, the language NetHack's level compiler reads.
//!
//! Owns where the text comes from: MiniHack's own files are read where they were installed, what its
//! level generator composes is composed here, byte for byte. Must not compile or play.

pub(super) mod boxoban;
mod compose;

use std::path::{Path, PathBuf};

use super::tasks::Source;

/// A level, ready to be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// The des-file's bytes.
    pub des: Vec<u8>,
    /// Which level of a collection it is, such as `hard/000.txt 12`; `None` where a task has only one.
    pub name: Option<String>,
}

/// Why there is no level.
#[derive(Debug, thiserror::Error)]
pub(super) enum LevelError {
    /// MiniHack's file cannot be read.
    #[error("the level {path} of MiniHack cannot be read: {error}; run `automem setup nethack` to install it again")]
    Shipped {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Boxoban's files are missing or damaged.
    #[error("{0}")]
    Boxoban(#[from] boxoban::BoxobanError),
}

/// The level of a task. `minihack` is the folder with MiniHack's `dat`, `boxoban` the one with Boxoban's
/// sets; the seed draws where a task has many levels.
///
/// # Errors
/// When a file it needs is missing or damaged.
pub(super) fn level(source: Source, minihack: &Path, boxoban: &Path, seed: u64) -> Result<Level, LevelError> {
    let one = |des: Vec<u8>| Level { des, name: None };
    match source {
        Source::Shipped(file) => {
            let path = minihack.join("dat").join(file);
            match std::fs::read(&path) {
                Ok(des) => Ok(one(des)),
                Err(error) => Err(LevelError::Shipped { path, error }),
            }
        }
        Source::Maze(side) => Ok(one(compose::maze(side).into_bytes())),
        Source::DarkBattle => Ok(one(compose::dark_battle().into_bytes())),
        Source::Boxoban(set) => {
            let (puzzle, name) = boxoban::choose(boxoban, set, seed)?;
            Ok(Level {
                des: compose::boxoban(&puzzle).into_bytes(),
                name: Some(name),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shipped_level_is_read_where_it_was_installed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dat")).unwrap();
        let source = Source::Shipped("corridor3.des");
        let missing = level(source, folder.path(), folder.path(), 1).unwrap_err().to_string();
        assert!(
            missing.contains("corridor3.des") && missing.contains("automem setup nethack"),
            "{missing}"
        );
        std::fs::write(folder.path().join("dat/corridor3.des"), b"LEVEL: \"x\"\n\xff").unwrap();
        let read = level(source, folder.path(), folder.path(), 1).unwrap();
        assert_eq!(read.des, b"LEVEL: \"x\"\n\xff");
        assert_eq!(read.name, None);
    }
}
