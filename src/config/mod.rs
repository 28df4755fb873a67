//! Where things are, and how a person wants them: the workspace and `config.toml`.
//!
//! Owns directories and settings. Must not open what it names, and knows no keys: they are text here.

pub(crate) mod position;
mod settings;
mod workspace;

pub use settings::{
    Colors, Entry, ExtraKeys, KeySetting, OPTIONS, OptionKind, OptionSpec, Origin, PlayerSettings, Problem, Resolved,
    RunSettings, RunsSettings, ServerSettings, Settings, SettingsError, SettingsFile, Speed, reference, sample,
};
pub use workspace::{Workspace, WorkspaceError};
