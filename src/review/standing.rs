//! Where a proposal stands: a fold over its entries, and which entries it takes next.
//!
//! Pure: no files, no clock.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::decision::{Entry, Seq, Verdict, What};
use super::error::ReviewError;
use super::gate::{GateReport, Outcome};
use super::part::{Part, PartId, PartKind, Taken, assemble};
use super::proposal::{Content, Proposal, ProposalId, RevisionContent};
use super::stamp::stamped;
use crate::scaffold::{ProblemAt, digest_of};
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
            Self::Applying => "applying",
            Self::Promoted => "promoted",
            Self::Discarded => "discarded",
            Self::Superseded => "superseded",
            Self::Stale => "stale",
        }
    }

    /// Whether something can still come of it.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Promoted | Self::Discarded | Self::Superseded | Self::Stale)
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
    /// `revision`.
    pub kind: &'static str,
    /// Its title.
    pub title: String,
    /// Its author.
    pub author: String,
    /// When it was made.
    pub created: String,
    /// Name of the scaffold line it belongs to.
    pub line: String,
    /// Name of its parent.
    pub parent: String,
    /// Digest of its parent.
    pub parent_digest: Digest,
    /// The last entry that was taken in.
    pub seq: Seq,
    /// Its state.
    pub state: State,
    /// How much was taken; `None` while it is pending.
    pub extent: Option<Extent>,
    /// Its parts, as they are split now.
    pub parts: Vec<PartStanding>,
    /// What was said.
    pub comments: Vec<Comment>,
    /// Digest of the files that came out; `None` while it is pending.
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
        let Content::Revision(revision) = &proposal.draft.content;
        let mut standing = Self {
            id: proposal.id.clone(),
            kind: proposal.draft.content.word(),
            title: proposal.draft.title.clone(),
            author: proposal.draft.author.clone(),
            created: proposal.created.clone(),
            line: revision.line.clone(),
            parent: revision.parent.clone(),
            parent_digest: revision.parent_digest,
            seq: Seq(0),
            state: State::Pending,
            extent: None,
            parts: proposal
                .parts
                .iter()
                .cloned()
                .map(|part| PartStanding { part, decision: None })
                .collect(),
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
        if files == revision.base {
            return files;
        }
        stamped(files, &revision.line, &revision.parent, revision.parent_digest)
    }

    /// Whether an entry may follow.
    ///
    /// # Errors
    /// Why not, and what goes instead.
    pub fn allows(&self, what: &What, proposal: &Proposal, entries: &[Entry]) -> Result<(), ReviewError> {
        let not_now = |why: &str| {
            Err(ReviewError::NotNow {
                id: self.id.clone(),
                state: self.state.word().to_owned(),
                why: why.to_owned(),
            })
        };
        let only = |states: &[State], why: &str| {
            if states.contains(&self.state) {
                Ok(())
            } else {
                not_now(why)
            }
        };
        let reopen = "its decisions are committed; take the commitment back first (`u`, or `automem proposals undo`)";
        match what {
            What::Proposed => not_now("it was made already"),
            What::Commented { .. } => Ok(()),
            What::Decided {
                part, digest, verdict, ..
            } => {
                let found = self.part(part)?;
                if found.digest != *digest {
                    return Err(ReviewError::OtherBytes {
                        id: self.id.clone(),
                        part: part.clone(),
                        given: *digest,
                        is: found.digest,
                    });
                }
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                match verdict {
                    Verdict::Edit { .. } if found.kind == PartKind::RemovedFile => {
                        not_now("a part that removes a file is accepted or rejected, it has no text to edit")
                    }
                    _ => Ok(()),
                }
            }
            What::Split { part } => {
                let found = self.part(part)?;
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                if found.splits() {
                    Ok(())
                } else {
                    not_now("the part is a single line or a whole file and cannot be split; `e` edits it")
                }
            }
            What::Undone { seq } => self.allows_undo(*seq, entries),
            What::Committed { result } => {
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                if self.waiting() > 0 {
                    return not_now(&format!("{} parts wait for a decision", self.waiting()));
                }
                let Content::Revision(revision) = &proposal.draft.content;
                if digest_of(&self.files(revision)) != *result {
                    return not_now("the files were put together from other decisions; look at it again");
                }
                Ok(())
            }
            What::Checked { .. } => only(
                &[State::Decided, State::CheckFailed, State::Checked],
                "only committed decisions are checked",
            ),
            What::GateStarted { .. } => {
                if self.extent == Some(Extent::None) {
                    return not_now("nothing of it was accepted: there is nothing to evaluate");
                }
                only(
                    &[State::Checked, State::Gated],
                    "a gate needs a result that passed its check",
                )
            }
            What::GateStopped { .. } | What::Gated { .. } => only(&[State::Gating], "no gate is under way"),
            What::Applying { .. } => only(
                &[State::Checked, State::Gated],
                "only a result that passed its check can be applied",
            ),
            What::Promoted { .. } | What::ApplyFailed { .. } => only(&[State::Applying], "it is not being applied"),
            What::Demoting { .. } => only(&[State::Promoted], "it is not promoted"),
            What::Demoted { .. } => only(&[State::Applying], "its promotion is not being taken back"),
            What::Discarded { .. } | What::Superseded { .. } => match self.state {
                State::Gating => not_now("its gate is under way; stop that first"),
                State::Promoted => not_now("it is promoted; undo that first"),
                State::Applying => not_now("it is being applied"),
                State::Discarded | State::Superseded => not_now(CLOSED),
                _ => Ok(()),
            },
        }
    }

    fn part(&self, id: &PartId) -> Result<&Part, ReviewError> {
        let found = self.parts.iter().map(|slot| &slot.part).find(|part| part.id == *id);
        found.ok_or_else(|| ReviewError::NoPart {
            id: self.id.clone(),
            part: id.clone(),
            hint: match self.parts.len() {
                0 => "it changes nothing".to_owned(),
                n => format!(
                    "it has {n}: {}{}",
                    self.parts[..n.min(8)]
                        .iter()
                        .map(|slot| slot.part.id.to_string())
                        .collect::<Vec<_>>()
                        .join(", "),
                    if n > 8 { ", ..." } else { "" }
                ),
            },
        })
    }

    fn allows_undo(&self, seq: Seq, entries: &[Entry]) -> Result<(), ReviewError> {
        let refuse = |why: String| {
            Err(ReviewError::NotNow {
                id: self.id.clone(),
                state: self.state.word().to_owned(),
                why,
            })
        };
        let Some(entry) = entries.iter().find(|entry| entry.seq == seq) else {
            return refuse(format!("it has no entry {}", seq.0));
        };
        if entries.iter().any(|other| other.what == What::Undone { seq }) {
            return refuse(format!("entry {} was taken back already", seq.0));
        }
        match entry.what {
            What::Commented { .. } => Ok(()),
            What::Decided { .. } | What::Split { .. } if self.state == State::Pending => Ok(()),
            What::Decided { .. } | What::Split { .. } => {
                refuse("its decisions are committed; take the commitment back first".to_owned())
            }
            What::Committed { .. } => match self.state {
                State::Decided | State::Checked | State::CheckFailed | State::Gated | State::Stale => Ok(()),
                _ => refuse("that can be done before a gate or after it, and not once it is promoted".to_owned()),
            },
            What::Discarded { .. } | What::Superseded { .. } => Ok(()),
            _ => refuse("the entry tells what the program did; it cannot be taken back".to_owned()),
        }
    }

    /// The entry that undoing takes back next: the last one of a person that still holds.
    pub fn last_undoable(&self, entries: &[Entry]) -> Option<Seq> {
        entries
            .iter()
            .rev()
            .map(|entry| entry.seq)
            .find(|seq| self.allows_undo(*seq, entries).is_ok())
    }
}

const CLOSED: &str = "it is closed";
