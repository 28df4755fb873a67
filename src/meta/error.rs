//! Why a meta-LLM's work, or one of its calls, came to nothing.

use crate::llm::LlmError;
use crate::store::StoreError;

/// Why a talk ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// The model could not answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// It used up its tokens.
    #[error("{spec} used {used} of {budget} tokens without finishing; give it more")]
    Budget {
        /// Who.
        spec: String,
        /// Tokens used.
        used: u64,
        /// Tokens it had.
        budget: u64,
    },
    /// It stopped without a result, or what it gave is none.
    #[error("{spec} did not finish: {why}")]
    Nothing {
        /// Who.
        spec: String,
        /// What came instead.
        why: String,
    },
    /// A run could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something of the machine's failed.
    #[error("{0}")]
    Other(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Why a tool gives no result.
#[derive(Debug)]
pub enum Fault {
    /// What the model is told.
    Told(String),
    /// The work as such cannot go on.
    Fatal(MetaError),
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self::Told(text)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            // A step or a file that is not there is the model's mistake.
            StoreError::NoEpisode { .. } | StoreError::NoStep { .. } | StoreError::NoFile { .. } => {
                Self::Told(error.to_string())
            }
            StoreError::Cancelled => Self::Fatal(MetaError::Cancelled),
            error => Self::Fatal(error.into()),
        }
    }
}

impl From<MetaError> for Fault {
    fn from(error: MetaError) -> Self {
        Self::Fatal(error)
    }
}
