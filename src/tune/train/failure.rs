//! Why a training ended without an adapter, as a line that another process can read.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::TrainError;

/// The last line of a training that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureLine {
    /// What it died of.
    pub failed: Failure,
}

/// An error of a training, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// What was given cannot be trained with.
    Unfit {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// There is not enough memory.
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// What makes it smaller.
        hint: String,
    },
    /// The loss is not a number.
    NotANumber {
        /// At which update.
        step: u32,
        /// What it was, in words: JSON has no such number.
        loss: String,
        /// Update of the last checkpoint.
        kept: u32,
    },
    /// A file cannot be used.
    File {
        /// Which.
        path: PathBuf,
        /// What cannot be done with it.
        done: String,
        /// Why.
        why: String,
    },
    /// It was cancelled.
    Cancelled,
    /// Anything else.
    Other {
        /// The whole message.
        message: String,
    },
}

impl From<&TrainError> for Failure {
    fn from(error: &TrainError) -> Self {
        match error {
            TrainError::Unfit { what, hint } => Self::Unfit {
                what: what.clone(),
                hint: hint.clone(),
            },
            TrainError::Memory {
                needed,
                available,
                hint,
            } => Self::Memory {
                needed: *needed,
                available: *available,
                hint: hint.clone(),
            },
            TrainError::NotANumber { step, loss, kept } => Self::NotANumber {
                step: *step,
                loss: loss.to_string(),
                kept: *kept,
            },
            TrainError::File { path, done, source } => Self::File {
                path: path.clone(),
                done: (*done).to_owned(),
                why: source.to_string(),
            },
            TrainError::Cancelled => Self::Cancelled,
            other => Self::Other {
                message: other.to_string(),
            },
        }
    }
}

impl From<Failure> for TrainError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unfit { what, hint } => Self::Unfit { what, hint },
            Failure::Memory {
                needed,
                available,
                hint,
            } => Self::Memory {
                needed,
                available,
                hint,
            },
            Failure::NotANumber { step, loss, kept } => Self::NotANumber {
                step,
                loss: loss.parse().unwrap_or(f64::NAN),
                kept,
            },
            Failure::File { path, done, why } => Self::File {
                path,
                done: ["read", "written", "made"]
                    .into_iter()
                    .find(|known| *known == done)
                    .unwrap_or("used"),
                source: io::Error::other(why),
            },
            Failure::Cancelled => Self::Cancelled,
            Failure::Other { message } => Self::Program(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_the_same_on_the_other_side() {
        let errors = [
            TrainError::Unfit {
                what: "a".to_owned(),
                hint: "b".to_owned(),
            },
            TrainError::Memory {
                needed: u64::MAX,
                available: 1 << 20,
                hint: "c".to_owned(),
            },
            TrainError::NotANumber {
                step: 3,
                loss: f64::NAN,
                kept: 2,
            },
            TrainError::NotANumber {
                step: 3,
                loss: f64::INFINITY,
                kept: 2,
            },
            TrainError::File {
                path: "/x".into(),
                done: "written",
                source: io::Error::other("no room"),
            },
            TrainError::Cancelled,
            TrainError::Program("d".to_owned()),
            TrainError::Data(crate::tune::TuneError::data("e", "f")),
        ];
        for error in errors {
            let line = serde_json::to_string(&FailureLine {
                failed: Failure::from(&error),
            })
            .unwrap();
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            let back: FailureLine = serde_json::from_value(value).unwrap();
            assert_eq!(TrainError::from(back.failed).to_string(), error.to_string());
        }
    }
}
