//! Candidates for training: single LOG phases and PLAN consultations, with what speaks for and against them.
//!
//! Plain data. The conversation itself stays in the run file and is read when it is needed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::select::Sketch;
use crate::types::{Digest, EpisodeNo, Phase, RunId, StepNo};

/// Names a candidate: start of the run's identity, episode, step, phase; `019ad3f2:0:17:LOG`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateId(pub Arc<str>);

impl fmt::Display for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Runs and their candidates, in the order of runs, episodes, steps, phases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Harvest {
    /// The runs.
    pub runs: Vec<HarvestedRun>,
    /// All candidates.
    pub candidates: Vec<Candidate>,
    /// Phases that are no candidates, by reason.
    pub left_out: BTreeMap<&'static str, u32>,
}

/// A run that was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HarvestedRun {
    /// Its file.
    pub path: PathBuf,
    /// Its identity.
    pub id: RunId,
    /// World.
    pub env: String,
    /// Name of the scaffold it was played with, and digest of its files.
    pub scaffold: (String, Digest),
    /// Name of the model.
    pub model: String,
    /// One seed an episode.
    pub seeds: Vec<u64>,
}

/// A phase that could be trained on. Its target is the last answer of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name.
    pub id: CandidateId,
    /// Index of its run in the harvest.
    pub run: u32,
    /// The episode.
    pub episode: EpisodeNo,
    /// The step.
    pub step: StepNo,
    /// LOG or PLAN.
    pub phase: Phase,
    /// Seed of the episode.
    pub seed: u64,
    /// Digest of the conversation, verbatim: roles and texts.
    pub digest: Digest,
    /// Messages of the conversation.
    pub messages: u32,
    /// Bytes of the conversation.
    pub bytes: u64,
    /// By which nearly equal answers are found.
    #[serde(skip)]
    pub sketch: Sketch,
    /// What speaks for and against it.
    pub evidence: Evidence,
}

/// What happened in a phase and after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Names of the memory ops in the order written, those that failed too.
    pub ops: Vec<Arc<str>>,
    /// Bytes it wrote.
    pub bytes_written: u64,
    /// How often what it wrote was read or found again in this episode.
    pub later_reads: u32,
    /// The first step at which it was.
    pub first_read: Option<StepNo>,
    /// Mean reward of the following steps less the episode's mean reward a step.
    pub advantage: f64,
    /// Sum of rewards of the following steps.
    pub reward_after: f64,
    /// Writes that said what stood there already.
    pub redundant_writes: u32,
    /// Searches and reads that found nothing.
    pub empty_retrievals: u32,
    /// Tags that could not be read.
    pub malformed: u32,
    /// Ops that were refused or failed.
    pub failed_ops: u32,
    /// Place in the episode, 0 to 1.
    pub position: f64,
    /// Progression of its episode at the end, 0 to 1.
    pub progression: f64,
}
