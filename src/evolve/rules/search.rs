//! Searches that find nothing: PLAN is told what can be found.

use super::case::Case;
use super::draft::Draft;

const BECAUSE: &[&str] = &["never-found", "empty-retrievals"];

const ADVICE: &str = "Search for one word as it stands in the files, and only in a file that has lines; what was not found once is \
     not found by asking again.\n";

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    let prompt = "prompts/plan.md";
    if !case.has(BECAUSE) || draft.says(prompt, ADVICE.trim_end()) {
        return false;
    }
    if !draft.insert(prompt, ADVICE, |line| line.contains("<|ACTION|>")) {
        return false;
    }
    draft.say("PLAN is told what a search can find.", BECAUSE);
    true
}
