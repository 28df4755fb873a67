//! What happens to a proposal, as entries of a log that only grows.

use serde::{Deserialize, Serialize};

use super::gate::GateReport;
use super::part::PartId;
use super::proposal::ProposalId;
use super::selection::Places;
use crate::scaffold::ProblemAt;
use crate::types::Digest;

/// A place in the log, from 1; grows over all proposals of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub seq: Seq,
    /// Which proposal.
    pub proposal: ProposalId,
    /// When, RFC 3339, UTC.
    pub time: String,
    /// Whose hand: a user's name, or the program's part (`optimize`).
    pub by: String,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// Why a part is rejected, in one word that a machine can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The evidence does not show it.
    Unsupported,
    /// It would make something worse.
    Harmful,
    /// It changes more than its aim needs.
    TooBroad,
    /// It is not needed.
    Unneeded,
    /// It cannot be understood.
    Unclear,
    /// See the comment.
    Other,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Unsupported,
        Self::Harmful,
        Self::TooBroad,
        Self::Unneeded,
        Self::Unclear,
        Self::Other,
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Harmful => "harmful",
            Self::TooBroad => "too-broad",
            Self::Unneeded => "unneeded",
            Self::Unclear => "unclear",
            Self::Other => "other",
        }
    }

    /// Reads `harmful`, `harmful: words` or just words (which is [`Reason::Other`] with them as comment).
    pub fn read(text: &str) -> (Self, String) {
        let text = text.trim();
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let known = Self::ALL.into_iter().find(|reason| reason.word() == word.trim());
        match known {
            Some(reason) => (reason, rest.trim().to_owned()),
            None => (Self::Other, text.to_owned()),
        }
    }
}

/// What a person says of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Take it.
    Accept,
    /// Leave it.
    Reject {
        /// Why, in a word.
        reason: Reason,
    },
    /// Take this in its place.
    Edit {
        /// The lines that come in, line ends included.
        text: String,
    },
}

impl Verdict {
    /// `accept`, `reject` or `edit`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject { .. } => "reject",
            Self::Edit { .. } => "edit",
        }
    }

    /// Whether something of the part comes in.
    pub fn takes(&self) -> bool {
        !matches!(self, Self::Reject { .. })
    }
}

/// What happened to a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// It was made.
    Proposed,
    /// A part was decided on.
    Decided {
        /// Which.
        part: PartId,
        /// Digest of the part that was shown.
        digest: Digest,
        /// How.
        #[serde(flatten)]
        verdict: Verdict,
        /// In the person's words; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        comment: String,
        /// The policy that decided in a person's place, as it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<String>,
    },
    /// Items of a selection were decided on.
    Judged {
        /// Which.
        items: Places,
        /// Digest of those that were shown ([`super::items_digest`]).
        digest: Digest,
        /// How; items are not edited.
        #[serde(flatten)]
        verdict: Verdict,
        /// In the person's words; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        comment: String,
        /// The filter that chose them, as it was typed; empty for a single one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        filter: String,
        /// The policy that decided in a person's place, as it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<String>,
    },
    /// A part was split into its lines; what was decided on it is void.
    Split {
        /// Which.
        part: PartId,
    },
    /// Something was said about a part or the whole.
    Commented {
        /// Which part; `None` for the whole.
        part: Option<PartId>,
        /// What was said.
        text: String,
    },
    /// An earlier entry is taken back.
    Undone {
        /// Which.
        seq: Seq,
    },
    /// The decisions are complete; what they give is the proposal now.
    Committed {
        /// Digest of the files that come out.
        result: Digest,
    },
    /// The result was checked and rehearsed.
    Checked {
        /// Digest of the files that were checked.
        result: Digest,
        /// What cannot work; empty when all is well.
        problems: Vec<ProblemAt>,
    },
    /// Its gate began.
    GateStarted {
        /// Digest of the files that are played.
        result: Digest,
        /// Run file of the revision.
        run: String,
    },
    /// Its gate was stopped before it was over.
    GateStopped {
        /// Why.
        why: String,
    },
    /// Its gate is over.
    Gated {
        /// How it went.
        report: Box<GateReport>,
    },
    /// It is about to become the line's head.
    Applying {
        /// Digest of the head it takes the place of; `None` where the line has no folder yet.
        from: Option<Digest>,
        /// Digest of what comes.
        to: Digest,
    },
    /// It is the line's head.
    Promoted {
        /// Digest of the head.
        to: Digest,
        /// Why against the gate, or without one; empty when the gate's rule says so.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        overrule: String,
        /// The policy that decided in a person's place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<String>,
    },
    /// Its promotion is about to be taken back.
    Demoting {
        /// Digest of the head that comes back; `None` when the line had no folder.
        to: Option<Digest>,
    },
    /// The head could not be exchanged; it is as it was.
    ApplyFailed {
        /// Why.
        why: String,
    },
    /// Its promotion is taken back: the head is what it was before.
    Demoted {
        /// Digest of the head now; `None` when the line has no folder.
        to: Option<Digest>,
        /// Why.
        why: String,
    },
    /// The accepted items went through the postprocess and were certified.
    Certified {
        /// Digest of the items that were accepted.
        result: Digest,
        /// The training set's file.
        dataset: String,
        /// Digest of that file.
        digest: Digest,
        /// Examples in it.
        examples: u32,
    },
    /// Something was made with it.
    Used {
        /// What, such as `adapters/crafter-1.gguf`.
        by: String,
    },
    /// It is not wanted.
    Discarded {
        /// Why.
        why: String,
    },
    /// Another has taken its place.
    Superseded {
        /// Which.
        by: ProposalId,
    },
}

impl What {
    /// The entry's kind in words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Decided { verdict, .. } => match verdict {
                Verdict::Accept => "accepted a part",
                Verdict::Reject { .. } => "rejected a part",
                Verdict::Edit { .. } => "edited a part",
            },
            Self::Judged { verdict, .. } if verdict.takes() => "accepted items",
            Self::Judged { .. } => "rejected items",
            Self::Split { .. } => "split a part",
            Self::Commented { .. } => "commented",
            Self::Undone { .. } => "took something back",
            Self::Committed { .. } => "committed the decisions",
            Self::Checked { problems, .. } if problems.is_empty() => "checked: it can work",
            Self::Checked { .. } => "checked: it cannot work",
            Self::GateStarted { .. } => "began the gate",
            Self::GateStopped { .. } => "stopped the gate",
            Self::Gated { .. } => "ended the gate",
            Self::Applying { .. } => "began to apply it",
            Self::Promoted { .. } => "promoted it",
            Self::Demoting { .. } => "began to undo the promotion",
            Self::ApplyFailed { .. } => "could not apply it",
            Self::Demoted { .. } => "undid the promotion",
            Self::Certified { .. } => "certified the training set",
            Self::Used { .. } => "used it",
            Self::Discarded { .. } => "discarded it",
            Self::Superseded { .. } => "superseded it",
        }
    }
}
