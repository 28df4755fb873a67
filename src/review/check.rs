//! Whether what came out of decisions can work at all: the static check and the rehearsal.

use std::collections::BTreeMap;

use super::error::ReviewError;
use crate::agent::rehearse;
use crate::scaffold::{self, MANIFEST, ProblemAt, Scaffold};

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
