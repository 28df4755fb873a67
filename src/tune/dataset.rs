//! A certified training set on disk: JSON, a list of conversations with where each came from.

use serde::{Deserialize, Serialize};

use crate::types::{Digest, EpisodeNo, Message, Phase, RunId, StepNo};

/// A conversation to train on; its target is the last message, the assistant's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The messages.
    pub conversations: Vec<Message>,
    /// Where it comes from; `None` for a list somebody wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Where an example comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The run.
    pub run: RunId,
    /// The episode.
    pub episode: EpisodeNo,
    /// Its seed.
    pub seed: u64,
    /// The step.
    pub step: StepNo,
    /// LOG or PLAN.
    pub phase: Phase,
    /// Digest of the conversation as it was recorded, before anything was cut.
    pub digest: Digest,
}
