//! Proposals as files: to hand one on, and the sample that comes with the program.

use std::path::Path;

use serde_json::{Value, json};

use super::error::ReviewError;
use super::proposal::{Content, Draft};
use crate::scaffold::{digest_of, files_problem};

/// Format of the file.
const FORMAT: u64 = 1;
/// Names the kind of file.
const KIND: &str = "automem-proposal";

/// The proposal that comes with the program; its evidence is in the sample runs.
const SAMPLE: &str = include_str!("../../sample-runs/proposal.json");
/// Folder that the sample's evidence names its runs by.
const SAMPLE_RUNS: &str = "sample-runs/";

/// A draft as a file's text: JSON.
pub fn write_draft(draft: &Draft) -> String {
    let value = json!({ "kind": KIND, "format": FORMAT, "proposal": draft });
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads a file that [`write_draft`] made. `name` is for messages.
///
/// # Errors
/// When it is none, a newer program made it, or what it holds does not fit together.
pub fn read_draft(name: &str, text: &str) -> Result<Draft, ReviewError> {
    let broken = |why: String| ReviewError::Record {
        path: name.into(),
        what: "the proposal".to_owned(),
        why,
    };
    let mut value: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
    if value["kind"] != KIND {
        return Err(broken(
            "this is no file that `automem proposals export` wrote".to_owned(),
        ));
    }
    match value["format"].as_u64() {
        Some(FORMAT) => {}
        Some(newer) => {
            return Err(broken(format!(
                "it has format {newer} and this program knows {FORMAT}; use the newer automem"
            )));
        }
        None => return Err(broken("it names no format".to_owned())),
    }
    let draft: Draft = serde_json::from_value(value["proposal"].take()).map_err(|error| broken(error.to_string()))?;
    let Content::Revision(revision) = &draft.content else {
        return Err(broken(
            "only scaffold revisions are handed on as files; a recipe is a file itself, a selection belongs to its runs"
                .to_owned(),
        ));
    };
    for files in [&revision.base, &revision.files] {
        if let Some((path, why)) = files_problem(files) {
            return Err(broken(format!("{path}: {why}")));
        }
    }
    if digest_of(&revision.base) != revision.parent_digest {
        return Err(broken(
            "the parent's files are not those of the digest it names".to_owned(),
        ));
    }
    Ok(draft)
}

/// The sample proposal, with its evidence in the sample runs as they lie in a workspace's folder of runs.
///
/// # Errors
/// Never, as a test shows.
pub fn sample(runs: &Path) -> Result<Draft, ReviewError> {
    let mut draft = read_draft("the sample proposal", SAMPLE)?;
    for item in &mut draft.evidence {
        if let Some(name) = item.run.strip_prefix(SAMPLE_RUNS) {
            item.run = runs.join(format!("sample-{name}")).display().to_string();
        }
    }
    Ok(draft)
}
