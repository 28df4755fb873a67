//! Small files that are asked for in nearly every step: PLAN, where they matter, shows them.

use super::case::Case;
use super::draft::Draft;
use super::manifest::{file_table, list, quoted};

const BECAUSE: &[&str] = &["always-read-whole"];

/// Bytes of a file that are shown.
const SHOWN: u64 = 4096;
/// Retrievals a step from which on a file counts as read in every step.
const OFTEN: f64 = 0.9;
/// Files that are shown at most.
const MOST: usize = 3;

/// What prompts say of them. The name stands before the text, so that a reader knows what need not be read again.
const BLOCK: &str = "{% for file in inlined %}\n== {{ file.path }}{{ \" (its end)\" if file.cut }} ==\n{{ file.text or \"(empty)\" }}\n{% endfor %}\n\n";

pub(super) fn apply(case: &Case, draft: &mut Draft) -> bool {
    let whole = case.files_of("always-read-whole");
    let mut files: Vec<(f64, &str)> = case
        .files
        .iter()
        .filter(|file| file.bytes <= SHOWN as f64 && file.writes > 0 && case.steps > 0)
        .map(|file| (file.retrievals as f64 / case.steps as f64, file.path.as_str()))
        .filter(|(rate, path)| *rate >= OFTEN || whole.contains(path))
        .collect();
    files.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    files.truncate(MOST);
    let known = &draft.before.prompt.inline;
    let new: Vec<String> = files
        .iter()
        .map(|(_, path)| (*path).to_owned())
        .filter(|path| !known.contains(path))
        .collect();
    if new.is_empty() {
        return false;
    }
    for path in &new {
        if !draft.before.files.contains_key(path) {
            let table = file_table(path);
            let planned = draft.set(&table, "about", &quoted("kept by the agent of its own accord"))
                && draft.set(&table, "policy", &quoted("append"))
                && draft.set(&table, "initial", "\"\"");
            if !planned {
                return false;
            }
            draft.say(
                format!("`{path}`, which the agent made by itself and uses all the time, is planned."),
                BECAUSE,
            );
        }
    }
    let all: Vec<String> = draft
        .before
        .prompt
        .inline
        .iter()
        .cloned()
        .chain(new.iter().cloned())
        .collect();
    let bytes = draft.before.prompt.inline_bytes.max(SHOWN);
    if !draft.set("prompt", "inline", &list(&all)) || !draft.set("prompt", "inline_bytes", &bytes.to_string()) {
        return false;
    }
    let prompt = "prompts/plan.md";
    if !draft.says(prompt, "in inlined") && !draft.insert(prompt, BLOCK, |line| line.starts_with("MEMORY FILES")) {
        return false;
    }
    draft.say(
        format!(
            "PLAN shows {}: small, and asked for in nearly every step.",
            new.iter()
                .map(|path| format!("`{path}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        BECAUSE,
    );
    true
}
