//! Actions repeated without effect, and going back and forth: a script counts them, and the prompts say so.

use super::case::Case;
use super::draft::Draft;
use crate::scaffold::hooks::HOOKS;

const BECAUSE: &[&str] = &["repeated-failure", "stuck", "oscillation"];

/// The script; it knows nothing of a world but its observations and actions.
const SCRIPT: &str = include_str!("repetition.star");

const BLOCK: &str = "{% if repetition %}\nREPETITION: {{ repetition }}\n{% endif %}\n\n";

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    // A script that is there is not merged with another by rule.
    if !case.has(BECAUSE) || draft.files.contains_key(HOOKS) || draft.before.vars.contains_key("repetition") {
        return false;
    }
    if !draft.set("vars", "repetition", "\"\"") {
        return false;
    }
    draft.files.insert(HOOKS.to_owned(), SCRIPT.to_owned());
    for prompt in ["prompts/log.md", "prompts/plan.md"] {
        draft.insert(prompt, BLOCK, |line| line.starts_with("MEMORY FILES"));
    }
    draft.say(
        "A script counts actions that had no effect and steps that lead back and forth; LOG and PLAN tell it.",
        BECAUSE,
    );
    true
}
