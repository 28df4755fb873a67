//! Who writes revisions: one trait, whatever stands behind it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::jobs::Cancel;
use crate::llm::Usage;
use crate::review::Evidence;
use crate::scaffold::{ProblemAt, Scaffold};

/// Something that writes a revision of a scaffold: a meta-LLM, an agent's command line, rules, a recording.
pub trait Reviser: Send {
    /// How it is asked for: `rules`, `anthropic:MODEL`, `openai:URL,MODEL`, `command:...`, `recorded:FILE`.
    fn spec(&self) -> String;

    /// Writes one revision. It does not see what it does not ask for: the task names runs and scaffold.
    /// What comes back is a suggestion; nothing of it is applied.
    ///
    /// # Errors
    /// Why there is none, with what to do.
    fn revise(
        &mut self,
        task: &Task,
        cancel: &Cancel,
        news: &mut dyn FnMut(ReviserNews),
    ) -> Result<Revision, ReviserError>;
}

/// What is to be revised, and what is known.
#[derive(Debug, Clone)]
pub struct Task {
    /// The scaffold that is to become better.
    pub parent: Scaffold,
    /// Run files it was evaluated with; traces are read from them.
    pub runs: Vec<PathBuf>,
    /// Memory files that must not be renamed while a run uses them; empty when none does.
    pub in_use: Vec<String>,
    /// What was tried on this parent before, oldest first.
    pub tried: Vec<Tried>,
    /// The last of `tried` is to be continued (it is told why it failed), not replaced by a fresh idea.
    pub continuation: bool,
    /// Tokens the reviser may use in all, prompt and answer.
    pub token_budget: u64,
}

/// An earlier attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its title.
    pub title: String,
    /// Its files in full.
    pub files: BTreeMap<String, String>,
    /// What became of it: the gate's table in words, what the check said, what the person wrote part by part.
    pub outcome: String,
}

/// A revision as it was suggested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// One line.
    pub title: String,
    /// What is wrong with the parent, as far as the traces show (Markdown).
    pub analysis: String,
    /// What is changed and why (Markdown); becomes METHOD.md.
    pub method: String,
    /// All files of the new scaffold, complete.
    pub files: BTreeMap<String, String>,
    /// Steps that the analysis rests on.
    pub evidence: Vec<Evidence>,
    /// What it cost.
    pub usage: Usage,
}

/// What a reviser tells while it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum ReviserNews {
    /// It says something.
    Says {
        /// A piece of text.
        text: String,
    },
    /// It called a tool.
    Called {
        /// The tool with its arguments, short.
        what: String,
        /// What came of it, in one line.
        outcome: String,
    },
    /// What it has used so far.
    Used {
        /// In all.
        usage: Usage,
    },
}

/// Why there is no revision.
#[derive(Debug, thiserror::Error)]
pub enum ReviserError {
    /// The model could not answer.
    #[error(transparent)]
    Model(#[from] crate::llm::LlmError),
    /// It used up its tokens.
    #[error("{spec} used {used} of {budget} tokens without finishing a revision; give a larger --meta-tokens")]
    Budget {
        /// Who.
        spec: String,
        /// Tokens used.
        used: u64,
        /// Tokens it had.
        budget: u64,
    },
    /// It stopped without a revision, or what it gave is none.
    #[error("{spec} gave no revision: {why}")]
    Nothing {
        /// Who.
        spec: String,
        /// What came instead.
        why: String,
    },
    /// It wrote a scaffold that cannot work, and did not mend it when told.
    #[error("{spec} wrote a scaffold that cannot be used: {}", .problems.first().map_or_else(String::new, ToString::to_string))]
    Unusable {
        /// Who.
        spec: String,
        /// What is wrong.
        problems: Vec<ProblemAt>,
    },
    /// A run could not be read.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// Something of the machine's failed.
    #[error("{0}")]
    Other(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}
