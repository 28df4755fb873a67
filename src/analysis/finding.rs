//! What a look at a run found: a named problem with the steps that show it and what to try.

use serde::{Deserialize, Serialize};

use crate::types::{EpisodeNo, StepNo};

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The episode.
    pub episode: EpisodeNo,
    /// The step.
    pub step: StepNo,
}

/// How much a problem costs the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It wastes some tokens or steps.
    Low,
    /// It wastes many.
    Medium,
    /// It keeps the agent from its aim, or will when the episode is longer.
    High,
}

impl Severity {
    /// The word in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A named problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable inside a run: the rule, and the file where there is one (`unbounded-append:actions_log.txt`).
    pub id: String,
    /// The rule that found it (`unbounded-append`).
    pub rule: String,
    /// How much it costs.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub title: String,
    /// With the numbers that show it.
    pub detail: String,
    /// Steps that show it, the clearest first; a few of many.
    pub steps: Vec<Place>,
    /// Memory files concerned.
    pub files: Vec<String>,
    /// What to try.
    #[serde(rename = "try")]
    pub advice: String,
}
