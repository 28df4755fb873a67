//! What a gate measured: a revision and its parent on the same seeds.

use serde::{Deserialize, Serialize};

/// An episode of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Score at its end, 0 to 1.
    pub progression: f64,
    /// Sum of rewards.
    #[serde(rename = "return")]
    pub total_reward: f64,
    /// Steps.
    pub steps: u32,
    /// Prompt and answer tokens.
    pub tokens: u64,
    /// Seconds it took.
    pub seconds: f64,
}

/// One seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The seed.
    pub seed: u64,
    /// The parent's episode.
    pub parent: Option<Score>,
    /// The revision's episode; `None` when it was not played any more.
    pub revision: Option<Score>,
}

/// How a gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Mean progression is higher.
    Better,
    /// It is not.
    NotBetter,
    /// It could not become higher any more, so the rest was left out.
    CannotWin,
}

impl Outcome {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NotBetter => "not better",
            Self::CannotWin => "cannot win any more",
        }
    }
}

/// How a gate went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateReport {
    /// Seed by seed.
    pub pairs: Vec<Pair>,
    /// Run file of the parent.
    pub parent_run: String,
    /// Run file of the revision.
    pub revision_run: String,
    /// The parent's run is of an earlier evaluation with equal scaffold, model, sampling and world.
    pub parent_reused: bool,
    /// The parent's mean progression.
    pub parent_mean: f64,
    /// Its standard error.
    pub parent_error: f64,
    /// The revision's mean progression over what was played.
    pub revision_mean: f64,
    /// Its standard error.
    pub revision_error: f64,
    /// Mean of the paired differences.
    pub difference: f64,
    /// 95 % interval of that mean, by paired bootstrap.
    pub interval: (f64, f64),
    /// Seeds on which the revision did better, worse, equally.
    pub wins: u32,
    /// Worse.
    pub losses: u32,
    /// Equally.
    pub ties: u32,
    /// Two-sided sign test over the seeds that differ; 1 without any.
    pub sign_p: f64,
    /// By the paper's rule.
    pub outcome: Outcome,
}
