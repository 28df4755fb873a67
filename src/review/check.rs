//! Whether what came out of decisions can work at all: the static check and the rehearsal.

use std::collections::BTreeMap;

use super::decision::What;
use super::desk::Desk;
use super::error::ReviewError;
use super::proposal::{Content, ProposalId};
use super::standing::State;
use crate::agent::rehearse;
use crate::scaffold::{self, MANIFEST, ProblemAt, Scaffold, digest_of};

impl Desk {
    /// Checks what came out of the decisions on a revision, which takes seconds, and writes that down, unless somebody
    /// else has done so or the decisions were taken back meanwhile. Other proposals are left alone: what a recipe must
    /// be is not known here.
    ///
    /// # Errors
    /// When the rehearsal could not be held, or the log cannot be read or written.
    pub fn check(&mut self, id: &ProposalId, by: &str) -> Result<(), ReviewError> {
        let dossier = self.dossier(id)?;
        if !matches!(dossier.proposal.draft.content, Content::Revision(_)) {
            return Ok(());
        }
        let files = dossier.standing.files(dossier.revision()?);
        let (result, problems) = (digest_of(&files), check_result(&files)?);
        loop {
            let now = self.dossier(id)?.standing;
            if now.result != Some(result) || !matches!(now.state, State::Decided | State::CheckFailed) {
                return Ok(());
            }
            let problems = problems.clone();
            match self.append(id, now.seq, by, What::Checked { result, problems }) {
                // Somebody said something at the same time: it is looked at again.
                Err(ReviewError::Meanwhile { .. }) => {}
                other => return other.map(|_| ()),
            }
        }
    }
}

/// What cannot work in these files; empty when they are a scaffold that can be played. Takes seconds: twenty steps
/// are rehearsed, under the limits of the script's process.
///
/// # Errors
/// When the rehearsal could not be held.
pub fn check_result(files: &BTreeMap<String, String>) -> Result<Vec<ProblemAt>, ReviewError> {
    if !files.contains_key(MANIFEST) {
        return Ok(vec![ProblemAt {
            file: MANIFEST.to_owned(),
            line: 0,
            column: 0,
            message: "there is no manifest: this is not a scaffold that can be played".to_owned(),
            hint: "a folder of other files can be read and compared, not run".to_owned(),
        }]);
    }
    let problems = scaffold::check(files);
    if !problems.is_empty() {
        return Ok(problems);
    }
    Ok(rehearse(&Scaffold::from_files(files.clone())?)?)
}
