//! Where a proposal stands: a fold over its entries, and which entries it takes next.
//!
//! Pure: no files, no clock.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::decision::{Entry, Seq, Verdict, What};
use super::gate::{GateReport, Outcome};
use super::part::{Part, PartId, Taken, assemble};
use super::proposal::{Content, Proposal, ProposalId, RevisionContent};
use super::stamp::stamped;
use crate::scaffold::ProblemAt;
use crate::types::Digest;

/// How much of a proposal was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Every part as it was suggested.
    All,
    /// Some parts, or some with another text.
    Part,
    /// None.
    None,
}

/// The state of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Parts wait for a decision.
    Pending,
    /// The decisions are committed; the result is not checked yet.
    Decided,
    /// The result passed its check and has no gate yet.
    Checked,
    /// The result cannot work.
    CheckFailed,
    /// It is being played on the gate's seeds.
    Gating,
    /// Its gate is over.
    Gated,
    /// A selection: its training set is certified.
    Certified,
    /// A selection or recipe: something was made with it.
    Used,
    /// It is being made the head; a process that was killed here is seen to by the next.
    Applying,
    /// It is the head, or was until the next one.
    Promoted,
    /// It is not wanted.
    Discarded,
    /// Another has taken its place.
    Superseded,
    /// Its parent is not the head any more.
    Stale,
}

impl State {
    /// The word on the screen and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Decided => "decided",
            Self::Checked => "checked",
            Self::CheckFailed => "check-failed",
            Self::Gating => "gating",
            Self::Gated => "gated",
            Self::Certified => "certified",
            Self::Used => "used",
            Self::Applying => "applying",
            Self::Promoted => "promoted",
            Self::Discarded => "discarded",
            Self::Superseded => "superseded",
            Self::Stale => "stale",
        }
    }

    /// Whether something can still come of it.
    pub fn is_open(self) -> bool {
        !matches!(
            self,
            Self::Promoted | Self::Used | Self::Discarded | Self::Superseded | Self::Stale
        )
    }
}

/// A part and what was decided on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartStanding {
    /// The part.
    pub part: Part,
    /// What was decided; `None` while it waits.
    pub decision: Option<PartDecision>,
}

/// What was decided on a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartDecision {
    /// How.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// In words.
    pub comment: String,
    /// Who.
    pub by: String,
    /// When.
    pub time: String,
    /// Its entry.
    pub seq: Seq,
    /// The policy that decided in a person's place.
    pub policy: Option<String>,
}

/// What was decided on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemVerdict {
    /// It is taken.
    pub accepted: bool,
    /// The entry.
    pub seq: Seq,
}

/// The items of a selection, and what was decided on each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Items {
    /// How many there are.
    pub count: u32,
    /// Of those, selected by the author.
    pub selected: u32,
    /// Accepted so far.
    pub accepted: u32,
    /// Rejected so far.
    pub rejected: u32,
    /// In the list's order; `None` waits.
    #[serde(skip)]
    pub verdicts: Vec<Option<ItemVerdict>>,
}

impl Items {
    fn new(count: u32, selected: u32) -> Self {
        Self {
            count,
            selected,
            accepted: 0,
            rejected: 0,
            verdicts: vec![None; count as usize],
        }
    }

    fn set(&mut self, at: usize, verdict: ItemVerdict) {
        let Some(slot) = self.verdicts.get_mut(at) else { return };
        match slot.replace(verdict) {
            Some(before) if before.accepted => self.accepted -= 1,
            Some(_) => self.rejected -= 1,
            None => {}
        }
        match verdict.accepted {
            true => self.accepted += 1,
            false => self.rejected += 1,
        }
    }

    /// Places of the accepted items.
    pub fn taken(&self) -> impl Iterator<Item = usize> + '_ {
        let verdicts = self.verdicts.iter().enumerate();
        verdicts.filter_map(|(at, verdict)| verdict.is_some_and(|verdict| verdict.accepted).then_some(at))
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comment {
    /// About which part; `None` for the whole.
    pub part: Option<PartId>,
    /// What.
    pub text: String,
    /// Who.
    pub by: String,
    /// When.
    pub time: String,
    /// Its entry.
    pub seq: Seq,
}

/// Where a proposal stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// The proposal.
    pub id: ProposalId,
    /// `revision`, `recipe` or `selection`.
    pub kind: &'static str,
    /// Its title.
    pub title: String,
    /// Its author.
    pub author: String,
    /// When it was made.
    pub created: String,
    /// Name of the scaffold line it belongs to, of a recipe's specialist, of the scaffold of a selection's runs.
    pub line: String,
    /// Name of its parent.
    pub parent: String,
    /// Digest of its parent; of a selection's items.
    pub parent_digest: Digest,
    /// The last entry that was taken in.
    pub seq: Seq,
    /// Its state.
    pub state: State,
    /// How much was taken; `None` while it is pending.
    pub extent: Option<Extent>,
    /// Its parts, as they are split now.
    pub parts: Vec<PartStanding>,
    /// A selection's items; `None` for others.
    pub items: Option<Items>,
    /// A certified selection's training set: file, digest, examples.
    pub dataset: Option<(String, Digest, u32)>,
    /// What was made with it.
    pub used_by: Vec<String>,
    /// What was said.
    pub comments: Vec<Comment>,
    /// Digest of the files that came out, or of a selection's accepted items; `None` while it is pending.
    pub result: Option<Digest>,
    /// What the check found.
    pub problems: Vec<ProblemAt>,
    /// Run file of its gate, also of one under way.
    pub gate_run: Option<String>,
    /// How its gate went.
    pub gate: Option<Box<GateReport>>,
    /// Digest of the head that it takes or took the place of; the inner `None` is a line without a folder.
    pub replaces: Option<Option<Digest>>,
    /// Its promotion is being taken back.
    #[serde(skip)]
    pub(super) demoting: bool,
    /// Why it ended, or why the gate's word was not followed.
    pub why: String,
}

impl Standing {
    /// The standing of a proposal after these entries, which must be its own, in order.
    pub fn of(proposal: &Proposal, entries: &[Entry]) -> Self {
        let (line, parent, parent_digest, items) = match &proposal.draft.content {
            Content::Revision(of) | Content::Recipe(of) => (of.line.clone(), of.parent.clone(), of.parent_digest, None),
            Content::Selection(of) => (
                of.scaffold.clone(),
                of.env.clone(),
                of.items,
                Some(Items::new(of.count, of.selected)),
            ),
        };
        let mut standing = Self {
            id: proposal.id.clone(),
            kind: proposal.draft.content.word(),
            title: proposal.draft.title.clone(),
            author: proposal.draft.author.clone(),
            created: proposal.created.clone(),
            line,
            parent,
            parent_digest,
            seq: Seq(0),
            state: State::Pending,
            extent: None,
            parts: proposal
                .parts
                .iter()
                .cloned()
                .map(|part| PartStanding { part, decision: None })
                .collect(),
            items,
            dataset: None,
            used_by: Vec::new(),
            comments: Vec::new(),
            result: None,
            problems: Vec::new(),
            gate_run: None,
            gate: None,
            replaces: None,
            demoting: false,
            why: String::new(),
        };
        let undone: BTreeSet<Seq> = entries
            .iter()
            .filter_map(|entry| match entry.what {
                What::Undone { seq } => Some(seq),
                _ => None,
            })
            .collect();
        for entry in entries {
            standing.seq = standing.seq.max(entry.seq);
            if !undone.contains(&entry.seq) {
                standing.take(entry);
            }
        }
        standing
    }

    /// Takes one more entry in, which must have been allowed and must not be one that takes another back.
    pub(super) fn follow(&mut self, entry: &Entry) {
        self.seq = self.seq.max(entry.seq);
        self.take(entry);
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.what {
            What::Proposed | What::Undone { .. } => {}
            What::Decided {
                part,
                verdict,
                comment,
                policy,
                ..
            } => {
                if let Some(slot) = self.parts.iter_mut().find(|slot| slot.part.id == *part) {
                    slot.decision = Some(PartDecision {
                        verdict: verdict.clone(),
                        comment: comment.clone(),
                        by: entry.by.clone(),
                        time: entry.time.clone(),
                        seq: entry.seq,
                        policy: policy.clone(),
                    });
                }
            }
            What::Judged { items, verdict, .. } => {
                if let Some(all) = &mut self.items {
                    let verdict = ItemVerdict {
                        accepted: verdict.takes(),
                        seq: entry.seq,
                    };
                    items.iter().for_each(|at| all.set(at, verdict));
                }
            }
            What::Split { part } => {
                if let Some(at) = self.parts.iter().position(|slot| slot.part.id == *part) {
                    let pieces = self.parts[at].part.split();
                    let pieces = pieces.into_iter().map(|part| PartStanding { part, decision: None });
                    self.parts.splice(at..=at, pieces);
                }
            }
            What::Commented { part, text } => self.comments.push(Comment {
                part: part.clone(),
                text: text.clone(),
                by: entry.by.clone(),
                time: entry.time.clone(),
                seq: entry.seq,
            }),
            What::Discarded { why } => self.end(State::Discarded, why.clone()),
            What::Superseded { by } => self.end(State::Superseded, format!("{by} has taken its place")),
            What::Committed { result } if self.state == State::Pending => {
                self.state = State::Decided;
                self.extent = Some(self.taken());
                self.result = Some(*result);
            }
            // What follows a commitment that was taken back is void with it.
            _ if matches!(self.state, State::Pending) => {}
            What::Committed { .. } => {}
            What::Checked { problems, .. } => {
                self.problems.clone_from(problems);
                self.state = if problems.is_empty() {
                    State::Checked
                } else {
                    State::CheckFailed
                };
            }
            What::Certified {
                dataset,
                digest,
                examples,
                ..
            } => {
                self.dataset = Some((dataset.clone(), *digest, *examples));
                self.state = State::Certified;
            }
            What::Used { by } => {
                self.used_by.push(by.clone());
                self.state = State::Used;
            }
            // What was made with a recipe is played; the recipe stays used.
            What::Gated { report } if self.state == State::Used => self.gate = Some(report.clone()),
            What::GateStarted { run, .. } => {
                self.gate_run = Some(run.clone());
                self.state = State::Gating;
            }
            What::GateStopped { why } => {
                self.why.clone_from(why);
                self.state = self.rest();
            }
            What::Gated { report } => {
                self.gate = Some(report.clone());
                self.state = State::Gated;
            }
            What::Applying { from, .. } => {
                self.replaces = Some(*from);
                self.state = State::Applying;
            }
            What::Promoted { overrule, .. } => {
                self.why.clone_from(overrule);
                self.state = State::Promoted;
            }
            What::Demoting { .. } => {
                self.demoting = true;
                self.state = State::Applying;
            }
            What::ApplyFailed { why } => {
                self.why.clone_from(why);
                if std::mem::take(&mut self.demoting) {
                    self.state = State::Promoted;
                } else {
                    self.replaces = None;
                    self.state = self.rest();
                }
            }
            What::Demoted { why, .. } => {
                self.demoting = false;
                self.replaces = None;
                self.why.clone_from(why);
                self.state = self.rest();
            }
        }
    }

    fn end(&mut self, state: State, why: String) {
        self.state = state;
        self.why = why;
    }

    /// The state between two attempts of something.
    fn rest(&self) -> State {
        if self.gate.is_some() {
            State::Gated
        } else {
            State::Checked
        }
    }

    fn taken(&self) -> Extent {
        if let Some(items) = &self.items {
            return match items.accepted {
                0 => Extent::None,
                all if all == items.count => Extent::All,
                _ => Extent::Part,
            };
        }
        let verdicts = || self.parts.iter().filter_map(|slot| slot.decision.as_ref());
        if !verdicts().any(|decision| decision.verdict.takes()) {
            Extent::None
        } else if verdicts().all(|decision| decision.verdict == Verdict::Accept) {
            Extent::All
        } else {
            Extent::Part
        }
    }

    /// Parts that wait for a decision.
    pub fn waiting(&self) -> usize {
        self.parts.iter().filter(|slot| slot.decision.is_none()).count()
    }

    /// Whether the gate's rule would promote it.
    pub fn is_better(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.outcome == Outcome::Better)
    }

    /// Whether a person has something to do: decide, or judge a gate that is over.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Pending)
    }

    /// The files that come out by the decisions so far, as they would be installed: the parts that wait are left out.
    pub fn files(&self, revision: &RevisionContent) -> BTreeMap<String, String> {
        let parts: Vec<Part> = self.parts.iter().map(|slot| slot.part.clone()).collect();
        let verdicts: BTreeMap<&PartId, &Verdict> = self
            .parts
            .iter()
            .filter_map(|slot| Some((&slot.part.id, &slot.decision.as_ref()?.verdict)))
            .collect();
        let files = assemble(&revision.base, &parts, |part| match *verdicts.get(&part.id)? {
            Verdict::Accept => Some(Taken::Whole),
            Verdict::Edit { text } => Some(Taken::Instead(text)),
            Verdict::Reject { .. } => None,
        });
        if files == revision.base || self.kind != "revision" {
            return files;
        }
        stamped(files, &revision.line, &revision.parent, revision.parent_digest)
    }
}
