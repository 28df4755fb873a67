//! The state of Lab: where scaffolds come from and how they do, gates, optimizations.
//!
//! Owns what is listed and selected there. Must not load anything or draw.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::optimize::OptimizeForm;
use super::trainings::Training;
use super::widgets::list::Scroll;
use crate::review::{GateReport, Outcome, Pair, ProposalId, State as Stage};
use crate::scaffold::{Lineage, Node};
use crate::types::{Digest, EpisodeNo};

/// A pane of Lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LabPane {
    /// Scaffolds and their versions.
    #[default]
    Lineage,
    /// Their progression with errors.
    Chart,
    /// Gates, seed by seed.
    Gates,
    /// Optimizations.
    Optimizations,
    /// Trainings of adapters.
    Trainings,
}

impl LabPane {
    /// In the order of Tab.
    pub(crate) const ALL: [Self; 5] = [
        Self::Lineage,
        Self::Chart,
        Self::Gates,
        Self::Optimizations,
        Self::Trainings,
    ];

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Lineage => "Lineage",
            Self::Chart => "Progression",
            Self::Gates => "Gates",
            Self::Optimizations => "Optimizations",
            Self::Trainings => "Trainings",
        }
    }

    /// The pane so many further in the circle.
    pub(crate) fn further(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|pane| *pane == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}

/// A proposal as Lab shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Suggested {
    /// Which.
    pub(crate) id: ProposalId,
    /// Its title.
    pub(crate) title: String,
    /// Who made it.
    pub(crate) author: String,
    /// The scaffold it would be.
    pub(crate) line: String,
    /// What it was made from.
    pub(crate) parent: Digest,
    /// What it became; `None` while it is pending.
    pub(crate) result: Option<Digest>,
    /// Where it stands.
    pub(crate) stage: Stage,
    /// A person is waited for.
    pub(crate) waits: bool,
    /// Why it ended so.
    pub(crate) why: String,
    /// How its gate went.
    pub(crate) gate: Option<GateReport>,
}

impl Suggested {
    /// Where it stands: a mark and words.
    pub(crate) fn standing(&self) -> String {
        let outcome = self.gate.as_ref().map(|gate| gate.outcome);
        match (self.stage, outcome) {
            (Stage::Promoted, Some(Outcome::NotBetter | Outcome::CannotWin)) => {
                "★ promoted against its gate".to_owned()
            }
            (Stage::Promoted, _) => "★ promoted".to_owned(),
            (Stage::Discarded, Some(outcome)) => format!("✗ discarded: {}", outcome.word()),
            (Stage::Discarded, None) => "✗ discarded".to_owned(),
            (Stage::CheckFailed, _) => "✗ cannot work".to_owned(),
            (Stage::Superseded | Stage::Stale, _) => format!("– {}", self.stage.word()),
            (Stage::Gated, Some(outcome)) => format!("● gated: {}", outcome.word()),
            (stage, _) if self.waits => format!("● {}, waits for you", stage.word()),
            (stage, _) => format!("… {}", stage.word()),
        }
    }
}

/// What a gate cost, and where in an optimization it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GateRow {
    /// Its proposal.
    pub(crate) proposal: ProposalId,
    /// When it was over.
    pub(crate) time: String,
    /// The optimization.
    pub(crate) optimization: String,
    /// Which iteration.
    pub(crate) iteration: u32,
    /// Which attempt of it.
    pub(crate) attempt: u32,
    /// Tokens the revisers had used by then.
    pub(crate) reviser_tokens: u64,
    /// What they had cost by then, where that is known.
    pub(crate) dollars: Option<f64>,
}

/// A memory specialist that was played against what it is to beat, as the ledger tells it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Specialist {
    /// Its adapter.
    pub(crate) name: String,
    /// Digest of the adapter.
    pub(crate) digest: Digest,
    /// Its recipe.
    pub(crate) proposal: ProposalId,
    /// Which tuning it is from, and which iteration of that.
    pub(crate) tuning: (String, u32),
    /// Its mean progression with the standard error.
    pub(crate) mean: (f64, f64),
    /// What it was played against, and the mean of that.
    pub(crate) against: (String, f64),
    /// Seeds.
    pub(crate) seeds: usize,
    /// By the paper's rule.
    pub(crate) outcome: Outcome,
    /// Its run.
    pub(crate) run: PathBuf,
}

/// An optimization as Lab shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Optimized {
    /// Its name.
    pub(crate) name: String,
    /// When something happened last.
    pub(crate) touched: String,
    /// What it does or waits for, in words.
    pub(crate) word: String,
    /// The proposal it is about now.
    pub(crate) proposal: Option<ProposalId>,
    /// Nothing more is to be done.
    pub(crate) over: bool,
    /// Iteration under way and all of them.
    pub(crate) iteration: (u32, u32),
    /// Attempt under way.
    pub(crate) attempt: u32,
    /// What it began with and where its promotions go.
    pub(crate) scaffold: String,
    /// The name of its line.
    pub(crate) line: String,
    /// Its seeds.
    pub(crate) seeds: usize,
    /// Who writes revisions.
    pub(crate) meta: String,
    /// Who plays.
    pub(crate) model: String,
    /// Run of the parent, once it was evaluated.
    pub(crate) run: Option<PathBuf>,
    /// Promotions.
    pub(crate) promoted: usize,
    /// Tokens the revisers used.
    pub(crate) tokens: u64,
    /// What they cost, where that is known.
    pub(crate) dollars: Option<f64>,
}

/// Everything Lab shows, as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabData {
    /// Scaffolds and versions.
    pub(crate) lineage: Lineage,
    /// Proposals, newest first.
    pub(crate) proposals: Vec<Suggested>,
    /// The ledger, oldest first.
    pub(crate) ledger: Vec<GateRow>,
    /// Specialists, oldest first.
    pub(crate) specialists: Vec<Specialist>,
    /// Optimizations, newest first.
    pub(crate) optimizations: Vec<Optimized>,
    /// Episodes of the runs of gates by seed.
    pub(crate) episodes: BTreeMap<String, Vec<(u64, EpisodeNo)>>,
    /// What could not be read.
    pub(crate) faults: Vec<String>,
}

impl LabData {
    /// A proposal by its name.
    pub(crate) fn proposal(&self, id: &ProposalId) -> Option<&Suggested> {
        self.proposals.iter().find(|proposal| proposal.id == *id)
    }

    /// The proposal whose result a version is.
    pub(crate) fn made_by(&self, node: &Node) -> Option<&Suggested> {
        let of = |proposal: &&Suggested| proposal.result == Some(node.digest) && proposal.line == node.line;
        let mut found = self.proposals.iter().filter(of);
        let first = found.next()?;
        // Of several that lead to the same files the promoted one is meant.
        let promoted = std::iter::once(first)
            .chain(found)
            .find(|proposal| proposal.stage == Stage::Promoted);
        Some(promoted.unwrap_or(first))
    }

    /// Proposals with a gate, newest first.
    pub(crate) fn gated(&self) -> impl Iterator<Item = (&Suggested, &GateReport)> {
        self.proposals
            .iter()
            .filter_map(|proposal| Some((proposal, proposal.gate.as_ref()?)))
    }

    /// The ledger's row of a proposal.
    pub(crate) fn row_of(&self, id: &ProposalId) -> Option<&GateRow> {
        self.ledger.iter().rev().find(|row| row.proposal == *id)
    }

    /// The episode of a run with this seed; the first when that is not known.
    pub(crate) fn episode(&self, run: &str, seed: u64) -> EpisodeNo {
        let known = self.episodes.get(run).into_iter().flatten();
        known
            .into_iter()
            .find(|(other, _)| *other == seed)
            .map_or(EpisodeNo(0), |(_, episode)| *episode)
    }
}

/// A row of the lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineageRow {
    /// A version: its index.
    Version(usize),
    /// A proposal that became no version: its index, and how deep it stands.
    Proposal(usize, usize),
    /// A run of a version: their indexes.
    Run(usize, usize),
    /// A memory specialist: its index.
    Specialist(usize),
}

/// A row of the gates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GateLine {
    /// A gate: its proposal's index.
    Gate(usize),
    /// A seed of it: the proposal's index and the pair.
    Seed(usize, Pair),
}

/// The optimization that this process works on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Working {
    /// Its name, once it has one.
    pub(crate) name: Option<String>,
    /// What it does.
    pub(crate) word: String,
    /// Done and all of it, where that is known.
    pub(crate) progress: Option<(u64, u64)>,
    /// It was asked to stop.
    pub(crate) stopping: bool,
    /// What happened last, oldest first.
    pub(crate) told: Vec<String>,
}

impl Working {
    /// Lines of news that are kept.
    const KEPT: usize = 100;

    /// Keeps a line of news.
    pub(crate) fn tell(&mut self, said: String) {
        if self.told.last() != Some(&said) {
            self.told.push(said);
        }
        let over = self.told.len().saturating_sub(Self::KEPT);
        self.told.drain(..over);
    }
}

/// Lab.
#[derive(Debug, Default)]
pub(crate) struct LabScreen {
    /// It was read.
    pub(crate) loaded: bool,
    /// It is being read.
    pub(crate) looking: bool,
    /// It is out of date.
    pub(crate) stale: bool,
    /// What was read.
    pub(crate) data: LabData,
    /// The pane with the focus.
    pub(crate) pane: LabPane,
    /// Where each pane is scrolled to.
    pub(crate) scrolls: [Scroll; 5],
    /// Trainings, the one that was worked on last first.
    pub(crate) trainings: Vec<Training>,
    /// Of the selected training shows what it is trained with, in place of its loss.
    pub(crate) shows_facts: bool,
    /// Versions whose runs show, by name and digest.
    pub(crate) unfolded: BTreeSet<(String, Digest)>,
    /// Gates whose seeds show.
    pub(crate) opened: BTreeSet<ProposalId>,
    /// The dialog as it was left.
    pub(crate) form: Option<OptimizeForm>,
    /// The optimization that this process works on.
    pub(crate) working: Option<Working>,
}

impl LabScreen {
    /// Where a pane is scrolled to.
    pub(crate) fn scroll(&self, pane: LabPane) -> Scroll {
        self.scrolls[pane as usize]
    }

    /// Takes in what was read; selections stay within what there is.
    pub(crate) fn take(&mut self, data: LabData) {
        let first = !self.loaded;
        self.loaded = true;
        self.looking = false;
        self.data = data;
        if first && let Some((newest, _)) = self.data.gated().next() {
            let id = newest.id.clone();
            self.opened.insert(id);
        }
        for pane in LabPane::ALL {
            let len = self.len(pane);
            let scroll = &mut self.scrolls[pane as usize];
            scroll.selected = scroll.selected.min(len.saturating_sub(1));
        }
    }

    /// Rows of a pane.
    pub(crate) fn len(&self, pane: LabPane) -> usize {
        match pane {
            LabPane::Lineage => self.lineage_rows().len(),
            LabPane::Chart => self.charted().len(),
            LabPane::Gates => self.gate_lines().len(),
            LabPane::Optimizations => self.data.optimizations.len(),
            LabPane::Trainings => self.trainings.len(),
        }
    }

    /// Rows of the lineage: versions as a tree, below each its runs if they are unfolded, and the proposals that
    /// were made from it and became no version; then specialists.
    pub(crate) fn lineage_rows(&self) -> Vec<LineageRow> {
        let nodes = &self.data.lineage.nodes;
        let mut rows = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            rows.push(LineageRow::Version(at));
            if self.unfolded.contains(&(node.line.clone(), node.digest)) {
                rows.extend((0..node.runs.len()).map(|run| LineageRow::Run(at, run)));
            }
            for (index, proposal) in self.data.proposals.iter().enumerate().rev() {
                let version = |other: &Node| Some(other.digest) == proposal.result && other.line == proposal.line;
                // The same files may have several names: the first is meant.
                let first = nodes.iter().position(|other| other.digest == proposal.parent) == Some(at);
                if first && !nodes.iter().any(version) {
                    rows.push(LineageRow::Proposal(index, node.depth + 1));
                }
            }
        }
        rows.extend((0..self.data.specialists.len()).map(LineageRow::Specialist));
        rows
    }

    /// The selected row of the lineage.
    pub(crate) fn selected_lineage(&self) -> Option<LineageRow> {
        self.lineage_rows().get(self.scroll(LabPane::Lineage).selected).copied()
    }

    /// The version that the selected row of the lineage is about.
    pub(crate) fn selected_node(&self) -> Option<&Node> {
        let nodes = &self.data.lineage.nodes;
        match self.selected_lineage()? {
            LineageRow::Version(at) | LineageRow::Run(at, _) => nodes.get(at),
            LineageRow::Proposal(at, _) => {
                let parent = self.data.proposals.get(at)?.parent;
                nodes.iter().find(|node| node.digest == parent)
            }
            LineageRow::Specialist(_) => None,
        }
    }

    /// Versions on the chart: all that come from the same first scaffold as the selected one, as far as they were
    /// played; all that were played when none of these were.
    pub(crate) fn charted(&self) -> Vec<&Node> {
        let lineage = &self.data.lineage;
        let root = self.selected_node().and_then(|node| lineage.ancestry(&node.line).pop());
        let played = |node: &&Node| node.mean().is_some();
        let of_family: Vec<&Node> = lineage
            .nodes
            .iter()
            .filter(played)
            .filter(|node| lineage.ancestry(&node.line).last() == root.as_ref())
            .collect();
        if of_family.is_empty() {
            lineage.nodes.iter().filter(played).collect()
        } else {
            of_family
        }
    }

    /// Rows of the gates: each with its seeds if they show.
    pub(crate) fn gate_lines(&self) -> Vec<GateLine> {
        let mut lines = Vec::new();
        for (at, proposal) in self.data.proposals.iter().enumerate() {
            let Some(gate) = &proposal.gate else { continue };
            lines.push(GateLine::Gate(at));
            if self.opened.contains(&proposal.id) {
                lines.extend(gate.pairs.iter().map(|pair| GateLine::Seed(at, *pair)));
            }
        }
        lines
    }

    /// The selected row of the gates.
    pub(crate) fn selected_gate(&self) -> Option<GateLine> {
        self.gate_lines().get(self.scroll(LabPane::Gates).selected).copied()
    }

    /// Takes in trainings; the selection stays with its training.
    pub(crate) fn take_trainings(&mut self, trainings: Vec<Training>) {
        let name = self.selected_training().map(|one| one.name.clone());
        self.trainings = trainings;
        let at = name.and_then(|name| self.trainings.iter().position(|one| one.name == name));
        self.scrolls[LabPane::Trainings as usize].selected = at.unwrap_or(0);
    }

    /// The selected training.
    pub(crate) fn selected_training(&self) -> Option<&Training> {
        self.trainings.get(self.scroll(LabPane::Trainings).selected)
    }

    /// The selected optimization.
    pub(crate) fn selected_optimization(&self) -> Option<&Optimized> {
        self.data
            .optimizations
            .get(self.scroll(LabPane::Optimizations).selected)
    }
}
