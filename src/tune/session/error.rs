//! Why a tuning does not go on. Its log is safe in every case.

use crate::agent::AgentError;
use crate::gate::GateError;
use crate::llm::LlmError;
use crate::review::ReviewError;
use crate::scaffold::ScaffoldError;
use crate::store::StoreError;
use crate::tune::TuneError;
use crate::tune::train::TrainError;

/// Why a tuning does not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What was asked for makes no sense.
    #[error("{what}; {hint}")]
    Setup {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// There is no such tuning.
    #[error("there is no tuning `{name}`; {there}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        there: String,
    },
    /// Another process works on it.
    #[error("another automem process works on {name}; stop that one first, or watch it on the Lab screen")]
    Busy {
        /// The tuning.
        name: String,
    },
    /// The workspace's database or a run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The desk.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// A gate.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// Candidates, selection, certifying.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// The training.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A scaffold.
    #[error(transparent)]
    Scaffold(#[from] ScaffoldError),
    /// The agent.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The model.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SessionError {
    /// What was asked for makes no sense.
    pub(super) fn setup(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Setup {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// Whether it was only cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::Gate(GateError::Cancelled)
                | Self::Tune(TuneError::Cancelled)
                | Self::Train(TrainError::Cancelled)
                | Self::Store(StoreError::Cancelled)
                | Self::Model(LlmError::Cancelled)
        )
    }
}
