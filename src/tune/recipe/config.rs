//! A training configuration, and what its numbers may be.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::super::TuneError;
use super::Wrong;

/// Seed of a configuration that names none.
pub(super) const SEED: u64 = 42;
/// PEFT's names of the matrices of attention.
const ATTN: [&str; 4] = ["q_proj", "k_proj", "v_proj", "o_proj"];
/// PEFT's names of the matrices of the feed-forward part.
const MLP: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];

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
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match self {
            Self::Attn => owned(&ATTN),
            Self::Mlp => owned(&MLP),
            Self::All => [owned(&ATTN), owned(&MLP)].concat(),
            Self::Names(names) => names.clone(),
        }
    }
}

/// The names that [`Targets::Names`] may hold.
pub(super) fn target_names() -> impl Iterator<Item = &'static str> {
    ATTN.into_iter().chain(MLP)
}

impl TrainConfig {
    /// Whether its numbers can be trained with.
    ///
    /// # Errors
    /// The first that cannot, with what goes.
    pub fn check(&self) -> Result<(), TuneError> {
        match self.wrong().into_iter().next() {
            None => Ok(()),
            Some(wrong) => Err(TuneError::data(wrong.what, wrong.hint)),
        }
    }

    /// Everything that is wrong with its numbers, by field.
    pub(super) fn wrong(&self) -> Vec<Wrong> {
        let mut all = Vec::new();
        let mut whole = |key: &str, number: u32, range: RangeInclusive<u32>| {
            if !range.contains(&number) {
                all.push(out_of(key, number, format!("{} to {}", range.start(), range.end())));
            }
        };
        whole("rank", self.rank, 1..=1024);
        whole("epochs", self.epochs, 1..=100);
        whole("batch", self.batch, 1..=1024);
        whole("accumulation", self.accumulation, 1..=4096);
        whole("cutoff", self.cutoff, 64..=1 << 20);
        whole("gpus", self.gpus, 1..=1024);
        // The comparisons are false for what is no number.
        let mut number = |key: &str, number: f64, fits: bool, range: &str| {
            if !fits {
                all.push(out_of(key, number, range.to_owned()));
            }
        };
        let Self {
            alpha,
            dropout,
            learning_rate,
            warmup,
            ..
        } = *self;
        number(
            "alpha",
            alpha,
            alpha > 0.0 && alpha <= 1e6,
            "a number above 0, often twice the rank",
        );
        number(
            "dropout",
            dropout,
            (0.0..1.0).contains(&dropout),
            "0 to below 1, such as 0.05",
        );
        let fits = learning_rate > 0.0 && learning_rate <= 1.0;
        number(
            "learning_rate",
            learning_rate,
            fits,
            "a number above 0 and up to 1, such as 5.0e-5",
        );
        number(
            "warmup",
            warmup,
            (0.0..=0.5).contains(&warmup),
            "0 to 0.5, a share of the updates",
        );
        if i64::try_from(self.seed).is_err() {
            all.push(out_of("seed", self.seed, format!("0 to {}", i64::MAX)));
        }
        all.extend(self.targets.wrong());
        all
    }
}

fn out_of(key: &str, number: impl Display, range: String) -> Wrong {
    Wrong::new(&[key], format!("`{key}` is {number}"), format!("give {range}"))
}

impl Targets {
    fn wrong(&self) -> Option<Wrong> {
        let Self::Names(names) = self else { return None };
        let known: Vec<&str> = target_names().collect();
        let hint = format!("give `attn`, `mlp`, `all`, or some of {}", known.join(", "));
        let what = if names.is_empty() {
            "`targets` names no matrix".to_owned()
        } else if let Some(other) = names.iter().find(|name| !known.contains(&name.as_str())) {
            format!(
                "`targets` names `{}`, which is no matrix that can be trained",
                other.escape_debug()
            )
        } else {
            let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
            format!("`targets` names `{}` twice", twice?.1)
        };
        Some(Wrong::new(&["targets"], what, hint))
    }
}
