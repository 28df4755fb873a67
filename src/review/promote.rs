//! Making a revision the head of its line, and taking that back.
//!
//! Each exchange is announced in the log, done, and confirmed in the log; what a killed process left between the
//! two is settled by what the folder holds.

use std::fs::File;

use super::decision::What;
use super::desk::{Desk, Dossier};
use super::error::ReviewError;
use super::gate::Outcome;
use super::proposal::ProposalId;
use super::standing::{Extent, State};
use crate::scaffold::{MANIFEST, Scaffold, Versions, digest_of};
use crate::store::StoreError;
use crate::types::Digest;

impl Desk {
    /// Makes a proposal's result the head of its line. Against the gate's word, or without one, a reason is needed.
    ///
    /// # Errors
    /// When its state does not allow it, another head is there, or the folder cannot be exchanged; the head is then
    /// as it was.
    pub fn promote(
        &mut self,
        id: &ProposalId,
        by: &str,
        overrule: &str,
        policy: Option<String>,
    ) -> Result<Digest, ReviewError> {
        let _lock = self.lock()?;
        let dossier = self.dossier(id)?;
        let standing = &dossier.standing;
        let not_now = |why: String| ReviewError::NotNow {
            id: id.clone(),
            state: standing.state.word().to_owned(),
            why,
        };
        let revision = dossier.revision()?;
        if standing.state == State::Stale {
            return Err(not_now(standing.why.clone()));
        }
        if standing.extent == Some(Extent::None) {
            return Err(not_now("nothing of it was accepted".to_owned()));
        }
        if matches!(standing.state, State::Checked | State::Gated)
            && !standing.is_better()
            && overrule.trim().is_empty()
        {
            let gate = match standing.gate.as_ref().map(|gate| gate.outcome) {
                None => "it has no gate yet".to_owned(),
                Some(Outcome::Better) => String::new(),
                Some(other) => format!("its gate says {}", other.word()),
            };
            return Err(not_now(format!(
                "{gate}; to apply it all the same, give a reason (--overrule)"
            )));
        }
        let files = standing.files(revision);
        let to = digest_of(&files);
        let from = self.folder_digest(&revision.line);
        standing.allows(&What::Applying { from, to }, &dossier.proposal, &dossier.entries)?;
        if standing.result != Some(to) || !files.contains_key(MANIFEST) || revision.line.is_empty() {
            return Err(not_now("there is no checked scaffold to apply".to_owned()));
        }
        let scaffold = Scaffold::from_files(files)?;
        let versions = Versions::open(&self.workspace)?;
        versions.keep(
            scaffold.files(),
            &revision.line,
            Some(revision.parent_digest),
            &format!("{id}: {}", dossier.proposal.draft.title),
        )?;
        let seen = self.append(id, standing.seq, by, What::Applying { from, to })?.seq;
        if let Err(error) = versions.install(&revision.line, to, from) {
            let why = error.to_string();
            self.append(id, seen, by, What::ApplyFailed { why })?;
            return Err(error.into());
        }
        let overrule = if standing.is_better() { "" } else { overrule.trim() };
        let what = What::Promoted {
            to,
            overrule: overrule.to_owned(),
            policy,
        };
        self.append(id, seen, by, what)?;
        Ok(to)
    }

    /// Takes a promotion back: the head is what it was before.
    ///
    /// # Errors
    /// When it is not the head (a later one must be taken back first, or the folder was edited), or the folder
    /// cannot be exchanged.
    pub fn demote(&mut self, id: &ProposalId, by: &str, why: &str) -> Result<Option<Digest>, ReviewError> {
        let _lock = self.lock()?;
        let dossier = self.dossier(id)?;
        let standing = &dossier.standing;
        let line = &dossier.revision()?.line;
        let not_now = |why: String| ReviewError::NotNow {
            id: id.clone(),
            state: standing.state.word().to_owned(),
            why,
        };
        let (State::Promoted, Some(to), Some(head)) = (standing.state, standing.replaces, standing.result) else {
            return Err(not_now("only a promotion can be taken back".to_owned()));
        };
        if self.folder_digest(line) != Some(head) {
            return Err(not_now(format!(
                "the folder of {line} is not what it promoted any more; undo the later promotion first, or put the \
                 folder back (`automem scaffold log {line}` shows its versions)"
            )));
        }
        let versions = Versions::open(&self.workspace)?;
        let seen = self.append(id, standing.seq, by, What::Demoting { to })?.seq;
        let done = match to {
            Some(digest) => versions.install(line, digest, Some(head)),
            None => versions.uninstall(line, head),
        };
        if let Err(error) = done {
            let why = error.to_string();
            self.append(id, seen, by, What::ApplyFailed { why })?;
            return Err(error.into());
        }
        let why = why.to_owned();
        self.append(id, seen, by, What::Demoted { to, why })?;
        Ok(to)
    }

    /// Ends what was announced and not confirmed: the folder tells whether it was done.
    pub(super) fn settle(&mut self) -> Result<(), ReviewError> {
        let half = self.half_applied()?;
        if half.is_empty() {
            return Ok(());
        }
        // Somebody is at it right now: then nothing is left half.
        let Some(_lock) = self.try_lock()? else { return Ok(()) };
        for id in half {
            let dossier = self.dossier(&id)?;
            if let Some(what) = self.outcome_of(&dossier) {
                self.append(&id, dossier.standing.seq, "recovery", what)?;
            }
        }
        Ok(())
    }

    fn outcome_of(&self, dossier: &Dossier) -> Option<What> {
        let head = self.folder_digest(&dossier.revision().ok()?.line);
        let interrupted = || What::ApplyFailed {
            why: "the program was stopped before the head was exchanged".to_owned(),
        };
        Some(match dossier.entries.last()?.what {
            What::Applying { to, .. } if head == Some(to) => What::Promoted {
                to,
                overrule: "the program was stopped just after the head was exchanged".to_owned(),
                policy: None,
            },
            What::Demoting { to } if head == to => What::Demoted {
                to,
                why: "the program was stopped just after the head was exchanged".to_owned(),
            },
            What::Applying { .. } | What::Demoting { .. } => interrupted(),
            _ => return None,
        })
    }

    fn lock_file(&self) -> Result<File, ReviewError> {
        let path = self.workspace.root().join("apply.lock");
        Ok(File::create(&path).map_err(|error| StoreError::io(&path, "created", &error))?)
    }

    fn lock(&self) -> Result<File, ReviewError> {
        let file = self.lock_file()?;
        file.lock()
            .map_err(|error| StoreError::io(&self.workspace.root().join("apply.lock"), "locked", &error))?;
        Ok(file)
    }

    fn try_lock(&self) -> Result<Option<File>, ReviewError> {
        let file = self.lock_file()?;
        Ok(file.try_lock().is_ok().then_some(file))
    }
}
