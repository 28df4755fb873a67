//! Files that are written and never read: PLAN shows their last lines.

use super::case::Case;
use super::draft::Draft;

const BECAUSE: &[&str] = &["never-read"];

/// Lines that are shown.
const LINES: u32 = 3;

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    let prompt = "prompts/plan.md";
    let mut done = false;
    for path in case.files_of("never-read") {
        // Only a name that needs no escaping stands in a template as it is.
        let plain = path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
        if !plain
            || draft.says(prompt, &format!("memory.tail(\"{path}\""))
            || draft.before.prompt.inline.iter().any(|known| known == path)
        {
            continue;
        }
        let block = format!(
            "{{% if memory.count(\"{path}\") > 0 %}}\nLATEST OF {path}:\n{{{{ memory.tail(\"{path}\", {LINES}) }}}}\n{{% endif %}}\n\n"
        );
        if draft.insert(prompt, &block, |line| line.starts_with("MEMORY FILES")) {
            draft.say(
                format!("PLAN shows the last {LINES} lines of `{path}`, which was written and never read."),
                BECAUSE,
            );
            done = true;
        }
    }
    done
}
