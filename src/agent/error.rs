//! Why a run could not be started, continued or checked.

use std::path::PathBuf;

use crate::env::WorldError;
use crate::llm::LlmError;
use crate::memory::MemoryError;
use crate::scaffold::ScaffoldError;
use crate::store::StoreError;
use crate::types::{EpisodeNo, StepNo};

/// A fault of the agent's side of a run. What was committed is safe in every case.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The plan makes no sense.
    #[error("{what}; {hint}")]
    Plan {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The run file exists.
    #[error("{} exists already; choose another --out, or continue it with `automem resume`", .0.display())]
    Exists(PathBuf),
    /// The folder beside the run file exists.
    #[error(
        "{} exists already and may hold the memory of another run; choose another --out, or move the folder away",
        .0.display()
    )]
    MemoryExists(PathBuf),
    /// A folder could not be made.
    #[error("the folder {} could not be made: {source}; choose another --out", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The run is over.
    #[error("{} is finished: there is nothing to resume; watch it with `automem replay`", .0.display())]
    Finished(PathBuf),
    /// The recorded actions lead elsewhere.
    #[error(
        "episode {episode} cannot be resumed: replaying its actions, the world differs from the record at step {step} ({what}); \
         it was played with another version of the world ({recorded}, this program has {here}). What is recorded stays readable with `automem replay`"
    )]
    WorldDiffers {
        /// The episode.
        episode: EpisodeNo,
        /// The first step that differs.
        step: StepNo,
        /// What differs.
        what: &'static str,
        /// Engine of the record.
        recorded: String,
        /// Engine of this program.
        here: String,
    },
    /// The record lacks something that resuming needs.
    #[error("episode {episode} cannot be resumed: {what}; what is recorded stays readable with `automem replay`")]
    Incomplete {
        /// The episode.
        episode: EpisodeNo,
        /// What is missing.
        what: String,
    },
    /// The specialist of a run is not what it was.
    #[error(
        "the run was played with the specialist `{name}`, {cause}; give it, or another one, with --specialist, or go on with one model with --specialist none"
    )]
    Specialist {
        /// Its name.
        name: String,
        /// What is wrong.
        cause: String,
    },
    /// The world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The world failed while an episode was played, which stays open.
    #[error(
        "{error}; episode {episode} stays open at step {step}: `automem resume` plays its actions again and goes on"
    )]
    WorldFailed {
        /// The episode.
        episode: EpisodeNo,
        /// The step that was not finished.
        step: StepNo,
        /// What the world said.
        error: WorldError,
    },
    /// The model.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The scaffold.
    #[error(transparent)]
    Scaffold(#[from] ScaffoldError),
    /// The memory directory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The run file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A worker thread ended without an answer.
    #[error("a worker of the run broke down: {0}; what was committed is safe, continue with `automem resume`")]
    Worker(String),
}

impl AgentError {
    /// The record cannot be written any more. A worker ends with this; the run's own error is the
    /// cause, which the recorder gives at its end.
    pub(super) fn broken() -> Self {
        Self::Store(StoreError::Cancelled)
    }

    pub(super) fn plan(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Plan {
            what: what.into(),
            hint: hint.into(),
        }
    }
}
