//! What has to be in the data directory for NetHack to run, where that directory is, and what is missing.
//!
//! Owns the directory's layout. Must not fetch or load anything.
//!
//! ```text
//! DATA/balrog-nle-0.9.0/libnethack.so      DATA/balrog-nle-0.9.0/nethackdir/{nhdat, lev_comp, dlb, ...}
//! DATA/nle-1.3.0/...                       DATA/minihack-0.1.6/{dat, lib}/   DATA/minihack-1.0.2/{dat, lib}/
//! DATA/boxoban/{hard, medium}/...
//! ```

use std::path::{Path, PathBuf};

use crate::env::WorldError;

/// The environment variable that names the data directory.
pub const VARIABLE: &str = "AUTOMEM_NETHACK";

/// Which build of the game plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// What BALROG and AutoMem ran: its seeds give their levels.
    BalrogNle,
    /// The later NLE; the same seeds give other levels.
    Nle,
}

impl Engine {
    /// All, the usual one first.
    pub const ALL: [Self; 2] = [Self::BalrogNle, Self::Nle];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BalrogNle => "balrog-nle",
            Self::Nle => "nle",
        }
    }

    /// The version that is used.
    pub fn version(self) -> &'static str {
        match self {
            Self::BalrogNle => "0.9.0",
            Self::Nle => "1.3.0",
        }
    }

    /// Name of its folder in the data directory.
    pub fn folder(self) -> &'static str {
        match self {
            Self::BalrogNle => "balrog-nle-0.9.0",
            Self::Nle => "nle-1.3.0",
        }
    }

    /// Where its library is, in a data directory.
    pub fn library(self, data: &Path) -> PathBuf {
        data.join(self.folder()).join("libnethack.so")
    }

    /// Where the game's data and tools are, in a data directory.
    pub fn nethackdir(self, data: &Path) -> PathBuf {
        data.join(self.folder()).join("nethackdir")
    }

    /// Name of the folder with MiniHack's levels that goes with it.
    pub fn minihack_folder(self) -> &'static str {
        match self {
            Self::BalrogNle => "minihack-0.1.6",
            Self::Nle => "minihack-1.0.2",
        }
    }

    /// The engine of this name; the usual one for none.
    ///
    /// # Errors
    /// When there is no such engine.
    pub fn named(name: Option<&str>, world: &str) -> Result<Self, WorldError> {
        let Some(name) = name else {
            return Ok(Self::BalrogNle);
        };
        Self::ALL
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| WorldError::Variant {
                world: world.to_owned(),
                what: "engine",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

/// What an engine needs, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Which.
    pub engine: Engine,
    /// Its library.
    pub library: PathBuf,
    /// The game's data and tools.
    pub nethackdir: PathBuf,
    /// The game's data file.
    pub nhdat: PathBuf,
}

/// What is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// There is no data directory.
    #[error("there is no folder {0}; run `automem setup nethack`, or let {VARIABLE} name the folder that holds it")]
    Data(PathBuf),
    /// The engine was never installed.
    #[error("{engine} {version} is not installed in {data}; run `automem setup nethack{flag}`",
        engine = engine.name(), version = engine.version(), data = data.display(), flag = engine_flag(*engine))]
    Engine {
        /// Which.
        engine: Engine,
        /// The data directory.
        data: PathBuf,
    },
    /// A file of an installed engine is gone.
    #[error("{path} is missing, so that {engine} cannot run; remove the folder {folder} and run `automem setup nethack{flag}` again",
        path = path.display(), engine = engine.name(), folder = folder.display(), flag = engine_flag(*engine))]
    File {
        /// Which.
        engine: Engine,
        /// The file.
        path: PathBuf,
        /// The engine's folder.
        folder: PathBuf,
    },
}

fn engine_flag(engine: Engine) -> &'static str {
    match engine {
        Engine::BalrogNle => "",
        Engine::Nle => " --engine nle",
    }
}

/// The data directory: what [`VARIABLE`] names, else the user's data directory of this program.
///
/// # Errors
/// When neither is known.
pub fn data_dir() -> Result<PathBuf, WorldError> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    directories::ProjectDirs::from("", "", "automem")
        .map(|folders| folders.data_dir().join("nethack"))
        .ok_or_else(|| WorldError::Engine {
            world: "nethack".to_owned(),
            message: format!("the user's data directory is unknown; set HOME, or let {VARIABLE} name a folder"),
        })
}

/// Whether everything an engine needs is there.
///
/// # Errors
/// What is missing, and what to do.
pub fn check(data: &Path, engine: Engine) -> Result<Installed, Missing> {
    if !data.is_dir() {
        return Err(Missing::Data(data.to_owned()));
    }
    let folder = data.join(engine.folder());
    if !folder.is_dir() {
        return Err(Missing::Engine {
            engine,
            data: data.to_owned(),
        });
    }
    let nethackdir = engine.nethackdir(data);
    let found = Installed {
        engine,
        library: engine.library(data),
        nhdat: nethackdir.join("nhdat"),
        nethackdir,
    };
    for path in [&found.library, &found.nhdat] {
        if !path.is_file() {
            return Err(Missing::File {
                engine,
                path: path.clone(),
                folder,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_thing_is_named_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let text = |engine| check(dir.path(), engine).unwrap_err().to_string();
        let none = dir.path().join("none");
        assert_eq!(check(&none, Engine::Nle), Err(Missing::Data(none.clone())));
        assert!(text(Engine::BalrogNle).contains("run `automem setup nethack`"));
        assert!(text(Engine::Nle).contains("run `automem setup nethack --engine nle`"));
        let folder = dir.path().join("nle-1.3.0");
        std::fs::create_dir_all(folder.join("nethackdir")).unwrap();
        assert!(text(Engine::Nle).contains("libnethack.so is missing"));
        std::fs::write(folder.join("libnethack.so"), "").unwrap();
        assert!(text(Engine::Nle).contains("nhdat is missing"));
        std::fs::write(folder.join("nethackdir/nhdat"), "").unwrap();
        assert_eq!(
            check(dir.path(), Engine::Nle).unwrap().library,
            folder.join("libnethack.so")
        );
    }

    #[test]
    fn engines_have_names() {
        assert_eq!(Engine::named(None, "nethack"), Ok(Engine::BalrogNle));
        assert_eq!(Engine::named(Some("nle"), "nethack"), Ok(Engine::Nle));
        let error = Engine::named(Some("nle2"), "minihack").unwrap_err().to_string();
        assert!(
            error.contains("minihack has no engine `nle2`") && error.contains("balrog-nle, nle"),
            "{error}"
        );
    }
}
