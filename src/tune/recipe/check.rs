//! Recipes as proposals: made, checked, read from what was decided.

use std::collections::BTreeMap;

use super::text::read_all;
use super::{Recipe, write};
use crate::llm::Usage;
use crate::review::{Content, Desk, Draft, ProposalId, ReviewError, RevisionContent, State, What};
use crate::scaffold::{ProblemAt, digest_of};

/// The one file of a recipe.
pub const FILE: &str = "recipe.toml";

/// A proposal of a recipe for a specialist's line, compared with the one before it, if there is one.
pub fn draft(line: &str, base: Option<&Recipe>, proposed: &Recipe, rationale: &str, author: &str) -> Draft {
    let files = |recipe: &Recipe| BTreeMap::from([(FILE.to_owned(), write(recipe))]);
    let before = base.map(files).unwrap_or_default();
    let configs: Vec<String> = proposed.train.iter().map(super::TrainConfig::line).collect();
    Draft {
        author: author.to_owned(),
        title: format!("{} recipe: {}", proposed.env, configs.join(" and ")),
        rationale: rationale.to_owned(),
        evidence: Vec::new(),
        usage: Usage::default(),
        origin: None,
        content: Content::Recipe(Box::new(RevisionContent {
            line: line.to_owned(),
            parent: base.map(|_| line.to_owned()).unwrap_or_default(),
            parent_digest: digest_of(&before),
            base: before,
            files: files(proposed),
        })),
    }
}

/// What is wrong with the files of a recipe; empty when it can be trained by.
pub fn check(files: &BTreeMap<String, String>) -> Vec<ProblemAt> {
    let problem = |file: &str, (line, column): (u32, u32), message: String, hint: String| ProblemAt {
        file: file.to_owned(),
        line,
        column,
        message,
        hint,
    };
    let Some(text) = files.get(FILE) else {
        let hint = "nothing can be trained without it; accept it, or discard the proposal";
        return vec![problem(FILE, (0, 0), "there is no recipe".to_owned(), hint.to_owned())];
    };
    let others = files.keys().filter(|file| *file != FILE).map(|file| {
        let message = "a recipe has no such file".to_owned();
        problem(file, (0, 0), message, format!("leave it out; {FILE} is all there is"))
    });
    let found = read_all(text).err().unwrap_or_default();
    let found = found
        .into_iter()
        .map(|found| problem(FILE, found.at, found.what, found.hint));
    found.chain(others).collect()
}

/// Checks what came out of the decisions on a recipe and writes that down, unless somebody else has done so or the
/// decisions were taken back meanwhile. Other proposals are left alone.
///
/// # Errors
/// When the log cannot be read or written.
pub fn check_proposal(desk: &mut Desk, id: &ProposalId, by: &str) -> Result<(), ReviewError> {
    loop {
        let dossier = desk.dossier(id)?;
        let Content::Recipe(content) = &dossier.proposal.draft.content else {
            return Ok(());
        };
        let standing = &dossier.standing;
        let files = standing.files(content);
        let result = digest_of(&files);
        if standing.result != Some(result) || !matches!(standing.state, State::Decided | State::CheckFailed) {
            return Ok(());
        }
        let problems = check(&files);
        match desk.append(id, standing.seq, by, What::Checked { result, problems }) {
            // Somebody said something at the same time: it is looked at again.
            Err(ReviewError::Meanwhile { .. }) => {}
            other => return other.map(|_| ()),
        }
    }
}
