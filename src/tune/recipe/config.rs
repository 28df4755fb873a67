//! A training configuration.

use serde::{Deserialize, Serialize};

/// How an adapter is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Rank of the two matrices.
    pub rank: u32,
    /// The adapter's output is scaled by alpha / rank.
    pub alpha: f64,
    /// Share of the adapter's inputs that is left out at random.
    pub dropout: f64,
    /// Learning rate at its peak.
    pub learning_rate: f64,
    /// Passes over the data.
    pub epochs: u32,
    /// Conversations a device takes at once.
    pub batch: u32,
    /// Batches an update takes.
    pub accumulation: u32,
    /// Tokens of a conversation at most.
    pub cutoff: u32,
    /// How the learning rate falls.
    pub schedule: Schedule,
    /// Share of the updates over which the learning rate rises.
    pub warmup: f64,
    /// Checkpoints are kept after each epoch (at scale only; the native trainer always keeps its last).
    pub save: bool,
    /// GPUs (at scale only).
    pub gpus: u32,
    /// Which matrices get an adapter.
    pub targets: Targets,
    /// Seed of order, start and dropout.
    pub seed: u64,
}

/// How the learning rate falls after its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Half a cosine, to zero.
    Cosine,
    /// A straight line to zero.
    Linear,
    /// Not at all.
    Constant,
}

/// Which matrices get an adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// Query, key, value and output.
    Attn,
    /// Gate, up and down.
    Mlp,
    /// Both.
    All,
    /// By PEFT's names: `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`, `down_proj`.
    Names(Vec<String>),
}

impl Targets {
    /// PEFT's names of the matrices.
    pub fn modules(&self) -> Vec<String> {
        const ATTN: [&str; 4] = ["q_proj", "k_proj", "v_proj", "o_proj"];
        const MLP: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match self {
            Self::Attn => owned(&ATTN),
            Self::Mlp => owned(&MLP),
            Self::All => [owned(&ATTN), owned(&MLP)].concat(),
            Self::Names(names) => names.clone(),
        }
    }
}
