//! `config.toml`: where it lies, how its layers lie over each other, and what comes of them.
//!
//! Owns reading and checking. The layers, the later over the earlier: the program's defaults, the
//! user's file, the workspace's file, the environment; flags of the command line lie over all of
//! them, where they are parsed. A file that is wrong is never ignored.

mod options;
mod problem;
mod raw;
mod resolve;
mod show;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::workspace::Workspace;
use crate::types::Seeds;

pub use options::{OPTIONS, OptionKind, OptionSpec};
pub use problem::{Problem, SettingsError};
pub use resolve::{Origin, Resolved};
pub use show::{Entry, ExtraKeys, reference, sample};

/// The name of the file.
const FILE: &str = "config.toml";

/// Every setting, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Name of the colour theme.
    pub theme: String,
    /// Colours of the terminal.
    pub colors: Colors,
    /// How the game is drawn.
    pub pictures: String,
    /// The speed a replay begins with.
    pub replay_speed: Speed,
    /// Scripted players.
    pub scripted: PlayerSettings,
    /// The list of runs.
    pub runs: RunsSettings,
    /// What a run is started with.
    pub run: RunSettings,
    /// Model servers.
    pub server: ServerSettings,
    /// Whoever writes revisions.
    pub meta: MetaSettings,
    /// Keys that were changed, as text; the screen checks them.
    pub keys: Vec<KeySetting>,
}

/// Colours of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colors {
    /// The environment says.
    #[default]
    Auto,
    /// None.
    Mono,
    /// 16.
    Ansi16,
    /// 256.
    Ansi256,
    /// All.
    True,
}

/// The speed of a replay as a power of two: 0 is normal, 1 twice as fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Speed(pub i8);

/// Scripted players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayerSettings {
    /// Milliseconds a step takes at least while it is watched.
    pub step_ms: u64,
}

/// The list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsSettings {
    /// Names of columns; empty leaves them to the width.
    pub columns: Vec<String>,
    /// Name of the order.
    pub sort: String,
}

/// What a run is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// World.
    pub env: String,
    /// Scaffold: a name or a folder.
    pub scaffold: String,
    /// Who plays.
    pub model: String,
    /// The memory specialist.
    pub specialist: Option<String>,
    /// Seeds as written.
    pub seeds: String,
    /// Steps an episode may take.
    pub max_steps: u32,
    /// Episodes played at once.
    pub workers: u32,
    /// Repeat to the bit.
    pub exact: bool,
    /// Threads of a local model.
    pub threads: Option<u32>,
    /// Tokens of a local model's context.
    pub context: Option<u32>,
}

impl RunSettings {
    /// The seeds.
    ///
    /// # Errors
    /// When they are written wrongly, which is found when the settings are read.
    pub fn seeds(&self) -> Result<Vec<u64>, SettingsError> {
        let seeds: Result<Seeds, String> = self.seeds.parse();
        seeds.map(|seeds| seeds.0).map_err(|message| {
            SettingsError::Invalid(vec![Problem {
                place: "run.seeds".to_owned(),
                line: 0,
                column: 0,
                message,
                hint: String::new(),
            }])
        })
    }
}

/// How long model servers may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// Seconds to accept a connection.
    pub connect_s: u64,
    /// Seconds until the first word of an answer.
    pub first_byte_s: u64,
    /// Seconds between two parts of an answer.
    pub idle_s: u64,
    /// Times a failed request is tried again.
    pub retries: u32,
}

/// Meta-LLMs and commands that write revisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetaSettings {
    /// Tokens an answer may have.
    pub max_tokens: u32,
    /// Tokens a revision may cost, prompts and answers of all calls.
    pub token_budget: u64,
    /// Seconds a command may take.
    pub command_s: u64,
    /// Dollars for a million prompt tokens.
    pub input_per_million: Option<f64>,
    /// Dollars for a million prompt tokens from a cache.
    pub cached_per_million: Option<f64>,
    /// Dollars for a million answer tokens.
    pub output_per_million: Option<f64>,
}

/// The keys of an action, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySetting {
    /// Name of the place.
    pub place: String,
    /// Name of the action.
    pub action: String,
    /// Keys, as `automem config keys` writes them; none takes the action's keys away.
    pub keys: Vec<String>,
    /// Where place, action and keys are written, for problems.
    places: Vec<raw::At>,
}

impl KeySetting {
    /// A problem with the place's name.
    pub fn place_problem(&self, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        self.places[0].problem(message, hint)
    }

    /// A problem with the action's name.
    pub fn action_problem(&self, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        self.places[1].problem(message, hint)
    }

    /// A problem with one of its keys.
    pub fn key_problem(&self, index: usize, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        self.places
            .get(index + 2)
            .unwrap_or(&self.places[1])
            .problem(message, hint)
    }

    /// `FILE:LINE`, where the action is written.
    pub fn origin(&self) -> String {
        format!("{}:{}", self.places[1].place, self.places[1].line)
    }

    /// Keys as if written in line 1 of `test`, for tests of those who check them.
    #[cfg(test)]
    pub(crate) fn for_test(place: &str, action: &str, keys: &[&str]) -> Self {
        let at = raw::At {
            place: "test".to_owned(),
            line: 1,
            column: 1,
        };
        Self {
            place: place.to_owned(),
            action: action.to_owned(),
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            places: vec![at; keys.len() + 2],
        }
    }
}

/// A file that settings may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Whose it is.
    pub whose: &'static str,
    /// Where it lies or would lie.
    pub path: PathBuf,
    /// It was named, so that it must exist.
    pub must_exist: bool,
}

/// Where the environment's values come from; a test gives its own.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Default for Settings {
    fn default() -> Self {
        Resolved::defaults().settings
    }
}

impl Settings {
    /// The files in the order in which they are read: the user's, then the workspace's. When
    /// `AUTOMEM_CONFIG` names a file, that one alone.
    pub fn files(workspace: &Workspace) -> Vec<SettingsFile> {
        if let Some(named) = std::env::var_os("AUTOMEM_CONFIG").filter(|value| !value.is_empty()) {
            return vec![SettingsFile {
                whose: "AUTOMEM_CONFIG",
                path: named.into(),
                must_exist: true,
            }];
        }
        let user = directories::ProjectDirs::from("", "", "automem").map(|folders| SettingsFile {
            whose: "user",
            path: folders.config_dir().join(FILE),
            must_exist: false,
        });
        let workspace = SettingsFile {
            whose: "workspace",
            path: workspace.root().join(FILE),
            must_exist: false,
        };
        let same = user.as_ref().is_some_and(|user| user.path == workspace.path);
        user.into_iter().chain((!same).then_some(workspace)).collect()
    }

    /// Reads every layer but the command line.
    ///
    /// # Errors
    /// When a file cannot be read or anything in a layer is wrong.
    pub fn load(workspace: &Workspace) -> Result<Resolved, SettingsError> {
        Self::layered(&Self::files(workspace), &|name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        })
    }

    /// Reads one file and nothing else.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn of_file(path: &Path) -> Result<Resolved, SettingsError> {
        let file = SettingsFile {
            whose: "named",
            path: path.to_owned(),
            must_exist: true,
        };
        Self::layered(&[file], &|_| None)
    }

    fn layered(files: &[SettingsFile], variables: Variables<'_>) -> Result<Resolved, SettingsError> {
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        for file in files {
            let path = file.path.display().to_string();
            let text = match std::fs::read(&file.path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !file.must_exist => continue,
                Err(cause) => return Err(SettingsError::Read { path, cause }),
            };
            match String::from_utf8(text) {
                Ok(text) => {
                    let (raw, found) = raw::read(&path, &text);
                    layers.push(raw);
                    problems.extend(found);
                }
                Err(_) => problems.push(Problem {
                    place: path,
                    line: 0,
                    column: 0,
                    message: "the file is not UTF-8 text".to_owned(),
                    hint: "save it as UTF-8".to_owned(),
                }),
            }
        }
        layers.push(raw::Raw {
            options: OPTIONS
                .iter()
                .filter_map(|spec| Some(raw::from_variable(spec, &variables(&spec.variable())?)))
                .collect(),
            keys: Vec::new(),
        });
        let (resolved, found) = resolve::resolve(layers);
        problems.extend(found);
        if problems.is_empty() {
            Ok(resolved)
        } else {
            Err(SettingsError::Invalid(problems))
        }
    }
}
