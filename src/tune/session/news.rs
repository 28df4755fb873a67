//! What a tuning tells while it works: data, for lines, JSON and screens alike.

use serde::Serialize;

use crate::gate::GateNews;
use crate::review::{GateReport, Policy, ProposalId};
use crate::tune::train::TrainNews;

/// What a tuning tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// It begins or goes on.
    Tuning {
        /// Its name.
        name: String,
        /// Where it stands.
        stage: String,
    },
    /// Episodes are played for traces.
    Tracing {
        /// The run file.
        run: String,
        /// How many episodes.
        episodes: usize,
    },
    /// Episodes.
    Gate {
        /// What of them.
        #[serde(flatten)]
        gate: GateNews,
    },
    /// A recipe lies on the desk.
    Recipe {
        /// Which.
        proposal: ProposalId,
        /// What is different about it.
        why: String,
    },
    /// Runs are read.
    Reading {
        /// Parts that are read.
        done: usize,
        /// Of how many.
        total: usize,
    },
    /// Somebody selects.
    Selecting {
        /// What they say.
        text: String,
    },
    /// A selection lies on the desk.
    Selection {
        /// Which.
        proposal: ProposalId,
        /// Candidates.
        count: usize,
        /// Of those, selected.
        selected: usize,
    },
    /// A person is waited for.
    Waiting {
        /// The proposal.
        proposal: ProposalId,
        /// `recipe` or `selection`.
        kind: &'static str,
    },
    /// The policy decided.
    Decided {
        /// The proposal.
        proposal: ProposalId,
        /// How.
        policy: Policy,
    },
    /// The training set stands.
    Certified {
        /// The selection.
        proposal: ProposalId,
        /// Its file.
        dataset: String,
        /// Examples in it.
        examples: u32,
    },
    /// A training begins or goes on.
    Training {
        /// Its name.
        name: String,
        /// By which configuration.
        config: String,
    },
    /// What it tells.
    Train {
        /// What.
        train: TrainNews,
    },
    /// An adapter was played on the gate's seeds.
    Judged {
        /// The adapter.
        adapter: String,
        /// How it did against the one before.
        report: Box<GateReport>,
    },
    /// The iteration ends early.
    Ended {
        /// Which.
        iteration: u32,
        /// Why.
        why: String,
    },
    /// Nothing more is done.
    Over {
        /// Why.
        why: String,
        /// The best adapter; `None` when none was better than what there was.
        best: Option<String>,
    },
}
