//! A proposal: what somebody wants to change, and why.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::part::{Part, parts_of};
use super::selection::SelectionContent;
use crate::llm::Usage;
use crate::types::{Digest, EpisodeNo, StepNo};

/// Names a proposal in its workspace: `p1`, `p2`, ...
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProposalId(pub Arc<str>);

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&str> for ProposalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// A step that shows something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Path of the run file.
    pub run: String,
    /// The episode.
    pub episode: EpisodeNo,
    /// The step.
    pub step: StepNo,
    /// What it shows, in one line.
    pub note: String,
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Its identity.
    pub id: ProposalId,
    /// When it was made, RFC 3339, UTC.
    pub created: String,
    /// What was suggested.
    pub draft: Draft,
    /// Its parts as they were cut when it was made, before anything is split.
    pub parts: Vec<Part>,
}

impl Proposal {
    /// A draft with an identity, cut into parts.
    pub fn new(id: ProposalId, created: String, draft: Draft) -> Self {
        Self {
            id,
            created,
            parts: draft.content.parts(),
            draft,
        }
    }
}

/// A proposal before it has an identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Who made it: `rules`, `anthropic:MODEL`, `command:...`, `person`.
    pub author: String,
    /// One line.
    pub title: String,
    /// Why (Markdown).
    pub rationale: String,
    /// Steps the reasons rest on.
    pub evidence: Vec<Evidence>,
    /// What its author cost.
    pub usage: Usage,
    /// The optimization it belongs to, and where in it.
    pub origin: Option<Origin>,
    /// What it would change.
    pub content: Content,
}

/// Where in an optimization a proposal stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The optimization's name.
    pub optimization: String,
    /// Which iteration, from 1.
    pub iteration: u32,
    /// Which fresh attempt of it, from 1.
    pub attempt: u32,
    /// It continues an attempt that failed.
    pub continues: Option<ProposalId>,
}

/// What a proposal would change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// A scaffold's next version.
    Revision(Box<RevisionContent>),
    /// Data and training of one attempt at a specialist, as files: `recipe.toml`, compared with an earlier one.
    Recipe(Box<RevisionContent>),
    /// Candidates to train on.
    Selection(Box<SelectionContent>),
}

/// A scaffold revision or a recipe: two sets of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionContent {
    /// Name under which it is used when it is promoted: a folder in the workspace's scaffolds; for a recipe the name of
    /// the specialist.
    pub line: String,
    /// Name of the scaffold it changes.
    pub parent: String,
    /// Digest of that scaffold's files.
    pub parent_digest: Digest,
    /// That scaffold's files.
    pub base: BTreeMap<String, String>,
    /// The files as suggested.
    pub files: BTreeMap<String, String>,
}

impl Content {
    /// `revision`, `recipe` or `selection`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Revision(_) => "revision",
            Self::Recipe(_) => "recipe",
            Self::Selection(_) => "selection",
        }
    }

    /// The two sets of files, where it has some.
    pub fn files(&self) -> Option<&RevisionContent> {
        match self {
            Self::Revision(files) | Self::Recipe(files) => Some(files),
            Self::Selection(_) => None,
        }
    }

    /// Cuts it into parts.
    fn parts(&self) -> Vec<Part> {
        match self.files() {
            Some(revision) => parts_of(&revision.base, &revision.files),
            None => Vec::new(),
        }
    }
}
