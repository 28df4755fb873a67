//! What the templates are filled with: memory files in numbers, inlined texts, help on operations.
//!
//! Everything that grows with an episode is kept up to date change by change, so that a prompt
//! costs the same at step 10,000 as at step 100.

use std::collections::BTreeMap;

use crate::scaffold::{Entry, FileLine, Inlined, Manifest, OpHelp, PlannedFile, Scaffold, SystemVars};
use crate::types::{Edit, MemoryChange, MemoryFiles, WorldSpec};

/// Lines of all memory files, kept change by change.
#[derive(Debug, Clone, Default)]
pub(super) struct LineCounts(BTreeMap<String, u64>);

impl LineCounts {
    /// Counts what is there.
    pub(super) fn of(files: &MemoryFiles) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| (path.clone(), newlines(text)))
                .collect(),
        )
    }

    /// Follows a change. `self` then fits the files after it.
    pub(super) fn apply(&mut self, change: &MemoryChange) {
        let path = &change.path;
        match &change.edit {
            Edit::Delete => {
                self.0.remove(path);
            }
            Edit::Create { text } | Edit::Replace { text } => {
                self.0.insert(path.clone(), newlines(text));
            }
            Edit::Append { text } => *self.0.entry(path.clone()).or_default() += newlines(text),
            Edit::Splice { deleted, inserted, .. } => {
                let count = self.0.entry(path.clone()).or_default();
                *count = (*count + newlines(inserted)).saturating_sub(newlines(deleted));
            }
        }
    }

    /// All files with their numbers.
    pub(super) fn list(&self, files: &MemoryFiles, manifest: &Manifest) -> Vec<FileLine> {
        files
            .iter()
            .map(|(path, text)| {
                let open_end = !text.is_empty() && !text.ends_with('\n');
                FileLine {
                    path: path.clone(),
                    lines: self.0.get(path).copied().unwrap_or_default() + u64::from(open_end),
                    bytes: text.len() as u64,
                    about: manifest
                        .files
                        .get(path)
                        .map(|file| file.about.clone())
                        .unwrap_or_default(),
                }
            })
            .collect()
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// The newest lines of the files that stand in the prompt.
pub(super) fn inlined(files: &MemoryFiles, manifest: &Manifest) -> Vec<Inlined> {
    let limit = usize::try_from(manifest.prompt.inline_bytes).unwrap_or(usize::MAX);
    manifest
        .prompt
        .inline
        .iter()
        .filter_map(|path| {
            let text = files.get(path)?;
            let end = newest(text, limit);
            Some(Inlined {
                path: path.clone(),
                cut: end.len() < text.len(),
                text: end.trim_end().to_owned(),
            })
        })
        .collect()
}

/// The end of a text: whole lines where possible, at most `limit` bytes.
fn newest(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let rest = &text[start..];
    match rest.find('\n') {
        Some(end) if end + 1 < rest.len() => &rest[end + 1..],
        _ => rest,
    }
}

/// The explanations of the operations that are allowed.
pub(super) fn op_help(vocabulary: &[Entry], allowed: &[&'static str]) -> Vec<OpHelp> {
    vocabulary
        .iter()
        .filter(|op| allowed.contains(&op.syntax.name))
        .map(|op| OpHelp {
            name: op.syntax.name.to_owned(),
            usage: op.syntax.usage(),
            help: op.help.clone(),
            writes: op.writes,
        })
        .collect()
}

/// The variables of the first message, constant over an episode.
pub(super) fn system_vars(scaffold: &Scaffold, world: &WorldSpec, max_steps: u32) -> SystemVars {
    let manifest = scaffold.manifest();
    let vocabulary = scaffold.vocabulary();
    SystemVars {
        world: world.name.clone(),
        task: world.task.clone(),
        scaffold: manifest.name.clone(),
        instructions: world.instruction_prompt.clone(),
        actions: super::shared::actions(manifest, world)
            .into_iter()
            .map(|action| action.0)
            .collect(),
        fallback: manifest
            .actions
            .fallback
            .clone()
            .unwrap_or_else(|| world.fallback.0.clone()),
        max_steps,
        log_ops: op_help(&vocabulary, &manifest.log_ops),
        plan_ops: op_help(&vocabulary, &manifest.plan_ops),
        planned_files: manifest
            .files
            .iter()
            .map(|(path, file)| PlannedFile {
                path: path.clone(),
                about: file.about.clone(),
                policy: file.policy.word().to_owned(),
            })
            .collect(),
        log_turns: manifest.budgets.log_turns,
        plan_turns: manifest.budgets.plan_turns,
        ops_per_turn: manifest.budgets.ops_per_turn,
    }
}

/// What a model had written as its action, short enough to be told to it again.
pub(super) fn quoted_raw(raw: &str) -> String {
    const MOST: usize = 80;
    let one_line: String = raw
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let more = if raw.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("{}{more}", one_line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_changes() {
        let steps = [
            None,
            Some("a\nb\n"),
            Some("a\nb\nc"),
            Some("a\nx\ny\nc"),
            Some(""),
            None,
        ];
        let mut files = MemoryFiles::new();
        let mut counts = LineCounts::default();
        for pair in steps.windows(2) {
            let Some(change) = MemoryChange::between("f", pair[0], pair[1]) else {
                continue;
            };
            change.apply(&mut files).unwrap();
            counts.apply(&change);
            let lines = files.get("f").map_or(0, |text| text.lines().count() as u64);
            let open_end = u64::from(
                files
                    .get("f")
                    .is_some_and(|text| !text.is_empty() && !text.ends_with('\n')),
            );
            assert_eq!(
                counts.0.get("f").copied().unwrap_or_default() + open_end,
                lines,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn keeps_the_newest_whole_lines() {
        assert_eq!(newest("one\ntwo\nthree\n", 10), "three\n");
        assert_eq!(newest("one\n", 10), "one\n");
        assert_eq!(newest("ééééé", 5), "éé");
    }

    #[test]
    fn a_raw_action_is_told_on_one_short_line() {
        assert_eq!(quoted_raw("Fly\u{1b}[31m\nnow"), "Fly [31m now");
        assert!(quoted_raw(&"x".repeat(500)).chars().count() < 90);
    }
}
