//! What an optimization tells while it works: data, for lines, JSON and screens alike.

use serde::Serialize;

use super::state::Ending;
use crate::evolve::reviser::ReviserNews;
use crate::gate::GateNews;
use crate::review::{GateReport, Policy, ProposalId};

/// What an optimization tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// It begins or goes on.
    Optimizing {
        /// Its name.
        name: String,
        /// Where it stands.
        stage: String,
    },
    /// The parent of an iteration is played, or taken from an earlier run.
    Parent {
        /// Which iteration.
        iteration: u32,
        /// Its name.
        scaffold: String,
        /// The earlier run.
        reused: Option<String>,
    },
    /// The parent has its scores.
    Evaluated {
        /// Mean progression.
        mean: f64,
        /// Its run.
        run: String,
    },
    /// Episodes.
    Gate {
        /// What of them.
        #[serde(flatten)]
        gate: GateNews,
    },
    /// A revision is asked for.
    Revising {
        /// Which iteration.
        iteration: u32,
        /// Which fresh attempt.
        attempt: u32,
        /// It is continued.
        continuation: bool,
    },
    /// What its author tells.
    Reviser {
        /// What.
        reviser: ReviserNews,
    },
    /// There is no revision this time.
    Failed {
        /// Why.
        why: String,
    },
    /// A revision lies on the desk.
    Proposed {
        /// Which.
        proposal: ProposalId,
        /// Its title.
        title: String,
        /// Its parts.
        parts: usize,
    },
    /// A person is waited for.
    Waiting {
        /// The proposal.
        proposal: ProposalId,
        /// Parts that wait.
        parts: usize,
    },
    /// The policy decided.
    Decided {
        /// The proposal.
        proposal: ProposalId,
        /// How.
        policy: Policy,
    },
    /// A gate is over.
    Gated {
        /// The proposal.
        proposal: ProposalId,
        /// How it went.
        report: Box<GateReport>,
    },
    /// It is clear what becomes of a proposal.
    Settled {
        /// Which.
        proposal: ProposalId,
        /// What.
        ending: Ending,
        /// In words.
        outcome: String,
    },
    /// Nothing more is done.
    Over {
        /// Why.
        why: String,
        /// What was promoted.
        promoted: Vec<ProposalId>,
    },
}
