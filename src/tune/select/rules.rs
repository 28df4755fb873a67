//! Selection by rules: filters, a score, quotas, near duplicates.

use serde::{Deserialize, Serialize};

use crate::types::Phase;

/// Rules as a recipe holds them. What is left out has the value of [`Rules::default`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Phases that are taken.
    pub phases: Vec<Phase>,
    /// Memory ops it has at least (`DONE` of a LOG phase is none).
    pub min_ops: u32,
    /// Times that what a writing candidate wrote was read again, at least.
    pub min_later_reads: u32,
    /// Advantage it has at least.
    pub min_advantage: Option<f64>,
    /// Redundant writes it has at most.
    pub max_redundant: u32,
    /// Empty retrievals it has at most.
    pub max_empty: u32,
    /// Malformed tags and failed ops it has at most.
    pub max_malformed: u32,
    /// Places in the episode that are taken, 0 to 1.
    pub position: (f64, f64),
    /// Share of episodes that are taken, the best by progression first, in percent.
    pub top_episodes_percent: f64,
    /// Candidates an episode gives at most.
    pub per_episode: Option<u32>,
    /// Candidates a phase gives at most.
    pub per_phase: Option<u32>,
    /// Candidates an op gives at most (a candidate counts for its first op).
    pub per_op: Option<u32>,
    /// Candidates in all at most.
    pub at_most: Option<u32>,
    /// Answers whose similarity (0 to 1) is above this count as one; 1 turns it off.
    pub similarity: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            phases: vec![Phase::Log, Phase::Plan],
            min_ops: 1,
            min_later_reads: 0,
            min_advantage: None,
            max_redundant: 0,
            max_empty: 0,
            max_malformed: 0,
            position: (0.0, 1.0),
            top_episodes_percent: 100.0,
            per_episode: None,
            per_phase: None,
            per_op: None,
            at_most: None,
            similarity: 0.9,
        }
    }
}
