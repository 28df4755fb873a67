//! What a meta-LLM works on: the runs it may look at, and its draft of the next scaffold.
//!
//! Owns both. Must not know which tools there are.

use crate::evolve::candidate::{Files, METHOD, Refusal, essence, judge};
use crate::evolve::reviser::{ReviserError, Task};
use crate::jobs::Cancel;
use crate::meta::{Fault, MetaError, Runs};
use crate::scaffold::digest_of;
use crate::types::Digest;

/// See the module.
pub(super) struct Bench<'a> {
    pub(super) task: &'a Task,
    pub(super) runs: Runs<'a>,
    /// The scaffold as it is being written.
    pub(super) files: Files,
    /// The last judgement, and of which files.
    judged: Option<(Digest, Result<(), Refusal>)>,
}

impl<'a> Bench<'a> {
    /// Opens the runs; the draft is the parent, or what is continued.
    pub(super) fn new(task: &'a Task, cancel: &'a Cancel) -> Result<Self, MetaError> {
        Ok(Self {
            task,
            runs: Runs::open(&task.runs, cancel)?,
            files: start(task),
            judged: None,
        })
    }

    /// Judges the draft; the same files are judged once.
    pub(super) fn judge(&mut self) -> Result<Result<(), Refusal>, Fault> {
        let digest = self.key();
        if let Some((judged, result)) = &self.judged
            && *judged == digest
        {
            return Ok(result.clone());
        }
        let result = judge(self.task, &self.files).map_err(fatal)?;
        self.judged = Some((digest, result.clone()));
        Ok(result)
    }

    /// Whether the draft as it is was judged and taken.
    pub(super) fn stands(&self) -> bool {
        matches!(&self.judged, Some((judged, Ok(()))) if *judged == self.key())
    }

    /// What a judgement is about: all files but the method's, which nothing runs.
    fn key(&self) -> Digest {
        let mut files = self.files.clone();
        files.remove(METHOD);
        digest_of(&files)
    }

    /// Whether anything was changed.
    pub(super) fn is_changed(&self) -> bool {
        essence(&self.files) != essence(&start(self.task))
    }
}

/// The files that the work starts from.
pub(in crate::evolve) fn start(task: &Task) -> Files {
    match task.tried.last().filter(|_| task.continuation) {
        Some(tried) => tried.files.clone(),
        None => task.parent.files().clone(),
    }
}

/// What a judgement that could not be made means for the talk.
fn fatal(error: ReviserError) -> Fault {
    Fault::Fatal(match error {
        ReviserError::Model(error) => MetaError::Model(error),
        ReviserError::Store(error) => MetaError::Store(error),
        ReviserError::Cancelled => MetaError::Cancelled,
        ReviserError::Budget { spec, used, budget } => MetaError::Budget { spec, used, budget },
        ReviserError::Nothing { spec, why } => MetaError::Nothing { spec, why },
        other @ (ReviserError::Unusable { .. } | ReviserError::Other(_)) => MetaError::Other(other.to_string()),
    })
}
