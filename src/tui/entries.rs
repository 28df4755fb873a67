//! The list of runs as data: its entries, and what runs can be started with.
//!
//! Owns plain values that the edge hands to the screen and back. Must not load anything.

use std::path::PathBuf;

use crate::types::EpisodeSummary;

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunEntry {
    /// Its file.
    pub(crate) path: PathBuf,
    /// When it began, RFC 3339; empty when unknown.
    pub(crate) created: String,
    /// World.
    pub(crate) world: String,
    /// Scaffold.
    pub(crate) scaffold: String,
    /// Model.
    pub(crate) model: String,
    /// False for a program that plays.
    pub(crate) is_llm: bool,
    /// Its episodes.
    pub(crate) episodes: Vec<EpisodeSummary>,
    /// Episodes it shall have.
    pub(crate) planned: usize,
    /// It lies elsewhere than the workspace's runs.
    pub(crate) elsewhere: bool,
    /// Steps an episode may take.
    pub(crate) max_steps: u32,
    /// How it stands.
    pub(crate) state: RunState,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunState {
    /// A process plays it.
    Running,
    /// This process plays it and it waits.
    Paused,
    /// It is complete.
    Done,
    /// It was interrupted and can be resumed.
    Open,
    /// It cannot be read.
    Broken(String),
}

impl RunState {
    /// The word in the list.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Open => "resumable",
            Self::Broken(_) => "broken",
        }
    }
}

/// What runs can be started with here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Here {
    /// Names of models.
    pub(crate) models: Vec<String>,
    /// Names of adapters.
    pub(crate) adapters: Vec<String>,
    /// Names of worlds.
    pub(crate) worlds: Vec<String>,
    /// Names of scaffolds and their worlds.
    pub(crate) scaffolds: Vec<(String, String)>,
    /// What was started last.
    pub(crate) last: Option<StartRequest>,
}

/// A run to start.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct StartRequest {
    /// World.
    pub(crate) world: String,
    /// Scaffold.
    pub(crate) scaffold: String,
    /// Model.
    pub(crate) model: String,
    /// Memory specialist; `None` for one model.
    #[serde(default)]
    pub(crate) specialist: Option<String>,
    /// Seeds as written: `42..45`.
    pub(crate) seeds: String,
    /// Steps an episode may take.
    pub(crate) max_steps: u32,
    /// Episodes played at once.
    pub(crate) workers: u32,
    /// Show it at once, slowed down when a program plays; otherwise it plays in the background.
    #[serde(default = "yes")]
    pub(crate) show: bool,
}

fn yes() -> bool {
    true
}
