//! Training: what is trained, by whom, and what is told meanwhile.
//!
//! Plain data and one trait; who trains is in the modules beside it.

pub mod child;
pub mod failure;
pub mod folder;
pub mod llamafactory;
#[cfg(feature = "train")]
pub mod native;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::recipe::TrainConfig;
use crate::jobs::Cancel;
use crate::types::Digest;

/// A training, as `job.json` of its folder holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainJob {
    /// Its name: that of its folder in the workspace's `trainings`.
    pub name: String,
    /// GGUF file of the base model.
    pub base: PathBuf,
    /// The certified set (`dataset`'s form).
    pub data: PathBuf,
    /// How.
    pub config: TrainConfig,
    /// Where the adapter goes.
    pub out: PathBuf,
    /// Folder for checkpoints and the log `train.jsonl` (one [`TrainNews`] a line); what is there is gone on with.
    pub folder: PathBuf,
    /// Share of the conversations that is kept back to measure on, 0 to 0.5.
    pub held_out: f64,
    /// Threads; `None` for one a core.
    pub threads: Option<u32>,
    /// Memory it may take, in bytes; `None` for three quarters of what is free.
    pub memory: Option<u64>,
}

/// What is told while an adapter is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum TrainNews {
    /// It is clear what will be done.
    Planned {
        /// Updates in all.
        steps: u32,
        /// Conversations to train on.
        examples: u32,
        /// Conversations kept back.
        held_out: u32,
        /// Conversations left out because the target does not fit the cutoff.
        too_long: u32,
        /// Trainable numbers.
        parameters: u64,
        /// Memory it will take at its peak, by estimate, in bytes.
        memory: u64,
        /// Layers' activations are computed twice to save memory.
        checkpointing: bool,
        /// Updates that an earlier process has done.
        done: u32,
        /// `cpu`, `cuda:0`, `metal`.
        device: String,
    },
    /// An update is done.
    Step {
        /// Which, from 1.
        step: u32,
        /// Of how many.
        of: u32,
        /// Passes over the data so far.
        epoch: f64,
        /// Mean loss a supervised token, in nats.
        loss: f64,
        /// Learning rate.
        lr: f64,
        /// Length of the gradient before it was clipped.
        grad_norm: f64,
        /// Tokens a second, prompts included.
        tokens_per_second: f64,
    },
    /// The loss on what is kept back.
    HeldOut {
        /// After which update; 0 before the first.
        step: u32,
        /// Mean loss a supervised token.
        loss: f64,
    },
    /// A checkpoint is on the disk.
    Saved {
        /// After which update.
        step: u32,
    },
    /// A line of the log of another program that trains.
    Line {
        /// What it says.
        text: String,
    },
    /// The adapter is there.
    Done {
        /// Updates.
        steps: u32,
        /// Mean loss of the last tenth of the updates.
        loss: f64,
        /// Held-out loss at the end.
        held_out: Option<f64>,
        /// The adapter.
        adapter: PathBuf,
        /// Digest of its file.
        digest: Digest,
        /// Seconds, over all processes that worked on it.
        seconds: f64,
        /// Most memory the process held, in bytes; 0 where it is not known.
        peak_rss: u64,
    },
}

/// What came of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// The adapter.
    pub adapter: PathBuf,
    /// Digest of its file.
    pub digest: Digest,
    /// Mean loss of the last tenth of the updates.
    pub loss: f64,
    /// Held-out loss at the end.
    pub held_out: Option<f64>,
}

/// Why there is no adapter.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// What was given cannot be trained with.
    #[error("{what}; {hint}")]
    Unfit {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// It would need more memory than there is.
    #[error("training would need about {} MiB, but {} MiB may be used; {hint}", .needed >> 20, .available >> 20)]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// What makes it smaller.
        hint: String,
    },
    /// The loss is not a number.
    #[error(
        "the loss became {loss} at update {step}; the checkpoint of update {kept} is kept. Lower the learning rate, then start again under another name"
    )]
    NotANumber {
        /// At which update.
        step: u32,
        /// What it was.
        loss: f64,
        /// Update of the last checkpoint.
        kept: u32,
    },
    /// A model file cannot be used.
    #[error(transparent)]
    Model(#[from] crate::llm::LlmError),
    /// The set cannot be used.
    #[error(transparent)]
    Data(#[from] super::TuneError),
    /// A file cannot be read or written.
    #[error("{}: it cannot be {done}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// `read`, `written`.
        done: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The program that trains failed.
    #[error("{0}")]
    Program(String),
    /// It was cancelled; its last checkpoint is kept.
    #[error("cancelled")]
    Cancelled,
}

/// Somebody who trains: this program, this program in a process of its own, LLaMA-Factory.
pub trait TrainBackend: Send {
    /// How it is asked for: `native`, `llamafactory`.
    fn name(&self) -> &'static str;

    /// Trains, or goes on with what is in the job's folder.
    ///
    /// # Errors
    /// Why there is no adapter, with what to do; what was done is kept.
    fn train(
        &mut self,
        job: &TrainJob,
        cancel: &Cancel,
        news: &mut dyn FnMut(TrainNews),
    ) -> Result<Trained, TrainError>;
}
