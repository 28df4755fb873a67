//! What a run is: its constants, its episodes in numbers, and where it came from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, EpisodeNo, RunId, Sampling, StepNo, WorldSpec};

/// Everything about a run that is known before its first step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Its identity.
    pub id: RunId,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// Version of the program that made it.
    pub automem: String,
    /// The world.
    pub world: WorldSpec,
    /// One seed an episode.
    pub seeds: Vec<u64>,
    /// Agent steps an episode may take.
    pub max_steps: u32,
    /// The scaffold in full, so that the run explains itself anywhere.
    pub scaffold: ScaffoldRef,
    /// The model; the gameplay model when there is a specialist.
    pub model: ModelRef,
    /// The memory specialist of a two-model run, as it was at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<ModelRef>,
    /// How tokens are drawn (each turn records its own seed).
    pub sampling: Sampling,
    /// Episodes played at once.
    pub workers: u32,
    /// Bit-exact repetition was asked for.
    pub exact: bool,
    /// The run this one was forked from.
    pub origin: Option<Origin>,
}

impl RunMeta {
    /// Who plays, by name: `base + specialist`, or one model.
    pub fn players(&self) -> String {
        match &self.specialist {
            Some(specialist) => format!("{} + {}", self.model.name, specialist.name),
            None => self.model.name.clone(),
        }
    }
}

/// A scaffold as a run used it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaffoldRef {
    /// Its name, such as `crafter-v0`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The scaffold it was made from.
    pub parent: Option<String>,
    /// Digest over all its files.
    pub digest: Digest,
    /// Its files by path, with their text.
    pub files: BTreeMap<String, String>,
}

/// A model as a run used it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// Short name, such as `smollm2-135m` or `scripted`.
    pub name: String,
    /// Back end: `llama`, `openai`, `scripted`, `recorded`.
    pub backend: String,
    /// False for a player that is a program and no language model.
    pub is_llm: bool,
    /// What else names it: file, quantisation, context length, threads.
    pub details: BTreeMap<String, String>,
}

/// Where a fork left its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The parent run.
    pub run: RunId,
    /// The episode that was copied.
    pub episode: EpisodeNo,
    /// The first step that is the fork's own.
    pub step: StepNo,
    /// Digest of the world's frame at that step.
    pub digest: Digest,
}

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The game ended (in Crafter: the player died).
    Terminated,
    /// The world's own step limit.
    Truncated,
    /// The run's `--max-steps`.
    StepLimit,
    /// A person or a signal stopped it.
    Stopped,
    /// The world or the model failed for good.
    Failed,
}

impl EndReason {
    /// The word in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            Self::Truncated => "truncated",
            Self::StepLimit => "step_limit",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether an episode is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeState {
    /// It has no end in the record: it is being played, or was interrupted and can be resumed.
    Open,
    /// It is over.
    Done,
}

/// An episode in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeSummary {
    /// Its place in the run.
    pub episode: EpisodeNo,
    /// The world's seed.
    pub seed: u64,
    /// Finished steps.
    pub steps: u32,
    /// Sum of rewards.
    #[serde(rename = "return")]
    pub total_reward: f64,
    /// The field's score, 0 to 1.
    pub progression: f64,
    /// Prompt tokens over all turns.
    pub prompt_tokens: u64,
    /// Of those, taken from the KV cache.
    pub cached_tokens: u64,
    /// Answer tokens over all turns.
    pub completion_tokens: u64,
    /// Why it ended; `None` while it is open.
    pub end: Option<EndReason>,
    /// Whether it is over.
    pub state: EpisodeState,
}
