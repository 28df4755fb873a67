//! Redundant writes and duplicate keys: LOG is told to write only what is new, and lines that repeat go by rule.

use super::case::Case;
use super::draft::Draft;
use super::manifest::{file_table, quoted};
use crate::scaffold::Policy;

const BECAUSE: &[&str] = &["redundant-writes", "duplicate-keys"];

/// What LOG is told.
const ADVICE: &str = "Write only what is new: no line that says what a line of the file says already, whatever its step. \
     When nothing is new, answer <|DONE|> alone.\n";

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    let mut files = case.files_of("redundant-writes");
    files.extend(case.files_of("duplicate-keys"));
    if !case.has(BECAUSE) {
        return false;
    }
    let prompt = "prompts/log.md";
    if draft.says(prompt, "only what is new") {
        return false;
    }
    if !draft.insert(prompt, ADVICE, |line| line.contains("<|DONE|>")) {
        return false;
    }
    draft.say(
        "LOG is told to write only what is new, and to write nothing when nothing is: many lines said what the file \
         said already.",
        BECAUSE,
    );
    for path in files {
        let Some(planned) = draft.before.files.get(path) else {
            continue;
        };
        let free = planned.policy == Policy::Append && planned.prune.is_none();
        if free && draft.set(&file_table(path), "prune", &quoted("duplicates")) {
            draft.say(format!("Lines of `{path}` that repeat another go after LOG."), BECAUSE);
        }
    }
    true
}
