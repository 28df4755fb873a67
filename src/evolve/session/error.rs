//! Why an optimization does not go on. Its log is safe in every case.

use crate::agent::AgentError;
use crate::evolve::reviser::ReviserError;
use crate::gate::GateError;
use crate::llm::LlmError;
use crate::review::ReviewError;
use crate::scaffold::ScaffoldError;
use crate::store::StoreError;

/// Why an optimization does not go on.
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
    /// There is no such optimization.
    #[error("there is no optimization `{name}`; {there}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        there: String,
    },
    /// Another process works on it.
    #[error("another automem process works on {name}; stop that one first, or watch it with `automem proposals list`")]
    Busy {
        /// The optimization.
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
    /// The reviser, where another attempt would not help.
    #[error(transparent)]
    Reviser(#[from] ReviserError),
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
    /// Whether it was only cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Cancelled | Self::Gate(GateError::Cancelled) | Self::Reviser(ReviserError::Cancelled)
        ) || matches!(self, Self::Store(StoreError::Cancelled))
    }
}
