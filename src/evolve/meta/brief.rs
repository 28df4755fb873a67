//! The brief: what whoever writes a revision is told.
//!
//! Owns its words, together with the Markdown files beside it. Must not know who reads it.

use std::fmt::Write;

use crate::evolve::reviser::Task;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, Template};
use crate::store::{Reader, StoreError};

const TOOLS: &str = include_str!("tools.md");
const FOLDER: &str = include_str!("folder.md");
const CONSTRAINTS: &str = include_str!("constraints.md");
/// The scaffold format as people read it.
const FORMAT: &str = include_str!("../../../docs/SCAFFOLDS.md");

/// Bytes of the parent's files that are put into the brief; the rest is read with tools.
const PARENT_BYTES: usize = 60_000;

/// The system prompt of a model with tools: the same for every task, so that it stays cached.
pub(in crate::evolve) fn system() -> String {
    format!("{TOOLS}\n{CONSTRAINTS}\n{}", format_reference())
}

/// The brief of a command, for its folder.
pub(in crate::evolve) fn for_folder(task: &Task) -> Result<String, StoreError> {
    Ok(format!(
        "{FOLDER}\n{CONSTRAINTS}\n{}\n{}",
        about(task)?,
        format_reference()
    ))
}

/// The first message to a model with tools.
pub(in crate::evolve) fn first_message(task: &Task) -> Result<String, StoreError> {
    let mut text = about(task)?;
    text.push_str("\n# The parent's files\n");
    let mut left = PARENT_BYTES;
    for (path, content) in task.parent.files() {
        if content.len() <= left {
            left -= content.len();
            let _ = write!(text, "\n--- {path}\n{}\n", content.trim_end());
        } else {
            let _ = write!(text, "\n--- {path} ({} bytes; see read_scaffold_file)\n", content.len());
        }
    }
    let _ = write!(
        text,
        "\nYou may use {} tokens, prompts and answers of all calls together.",
        task.token_budget
    );
    Ok(clean(&text).into_owned())
}

/// What is to be revised, how it played, what was tried.
fn about(task: &Task) -> Result<String, StoreError> {
    let manifest = task.parent.manifest();
    let mut text = format!(
        "# The case\n\nScaffold: {} {} (world: {}).\n",
        manifest.name, manifest.version, manifest.env
    );
    for (n, path) in task.runs.iter().enumerate() {
        let reader = Reader::open(path)?;
        let meta = reader.meta();
        let _ = writeln!(
            text,
            "\nRun {n}: model {}, up to {} steps an episode.",
            meta.model.name, meta.max_steps
        );
        let episodes = reader.episodes()?;
        let mut sum = 0.0;
        for episode in &episodes {
            sum += episode.progression;
            let _ = writeln!(
                text,
                "- episode {}: seed {}, {} steps, progression {:.4}, return {:.2}, ended: {}",
                episode.episode,
                episode.seed,
                episode.steps,
                episode.progression,
                episode.total_reward,
                episode.end.map_or("not yet", |end| end.word())
            );
        }
        if !episodes.is_empty() {
            let _ = writeln!(text, "Mean progression: {:.4}.", sum / episodes.len() as f64);
        }
    }
    if !task.in_use.is_empty() {
        let _ = writeln!(
            text,
            "\nA run is under way with the memory files {}: keep their names.",
            task.in_use.join(", ")
        );
    }
    text.push_str(&tried(task));
    Ok(clean(&text).into_owned())
}

fn tried(task: &Task) -> String {
    let mut text = String::new();
    if !task.tried.is_empty() {
        text.push_str("\n# What was tried on this parent before\n");
    }
    for (n, tried) in task.tried.iter().enumerate() {
        let _ = write!(
            text,
            "\n## {}. {}\n\nWhat became of it: {}\n",
            n + 1,
            tried.title,
            tried.outcome.trim()
        );
        let last = n + 1 == task.tried.len();
        let changes = scaffold::diff(task.parent.files(), &tried.files);
        let _ = writeln!(text, "\nWhat it changed:");
        for file in &changes {
            let what = match (file.added, file.removed) {
                (true, _) => " (new)",
                (_, true) => " (gone)",
                _ => "",
            };
            let _ = writeln!(text, "--- {}{what}", file.path);
            // The last attempt in full, the others by name.
            for line in file.hunks.iter().flatten().filter(|_| last) {
                let _ = writeln!(text, "{} {}", line.tag.sign(), line.text);
            }
        }
    }
    match (task.continuation, task.tried.last()) {
        (true, Some(last)) => {
            let _ = write!(
                text,
                "\n**This is a continuation of `{}`.** Its idea is kept: find out from what became of it why it failed, \
                 and mend that. You start from its files, not from the parent's. What a person wrote about it counts \
                 most.\n",
                last.title
            );
        }
        (false, Some(_)) => text.push_str(
            "\n**This is a fresh attempt.** Do not repeat what was tried; take another approach, and heed what a person \
             wrote about the others.\n",
        ),
        _ => {}
    }
    text
}

fn format_reference() -> String {
    let mut text = format!("{FORMAT}\n## Variables of the templates\n");
    for template in Template::every() {
        let optional = if template.default_text().is_some() {
            " (only with two models; if it is missing the program has its own)"
        } else {
            ""
        };
        let _ = write!(text, "\n{}{optional}:", template.file());
        for variable in scaffold::variables(template) {
            let _ = write!(text, "\n- {}: {}", variable.name, variable.about);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Workspace;
    use crate::evolve::Tried;
    use crate::scaffold::Scaffold;

    fn task() -> Task {
        Task {
            parent: Scaffold::named("crafter-v0", &Workspace::at("/nonexistent")).unwrap(),
            runs: Vec::new(),
            in_use: vec!["strategy.txt".into()],
            tried: Vec::new(),
            continuation: false,
            token_budget: 77_000,
        }
    }

    #[test]
    fn both_briefs_state_the_constraints_and_the_format() {
        let (tools, folder) = (system(), for_folder(&task()).unwrap());
        for brief in [&tools, &folder] {
            for said in [
                "mean progression",
                "before its outcome was seen",
                "structural",
                "Complete files",
                "[budgets]",
            ] {
                assert!(brief.contains(said), "{said}");
            }
            assert!(brief.contains("observation_long"), "the variables are listed");
        }
        assert!(tools.contains("`finish`") && !tools.contains("REVISION.md"));
        assert!(folder.contains("output/REVISION.md") && folder.contains("strategy.txt"));
    }

    #[test]
    fn what_was_tried_is_told_with_what_the_person_said() {
        let mut task = task();
        let first = first_message(&task).unwrap();
        assert!(
            first.contains("--- scaffold.toml") && first.contains("77000 tokens") && !first.contains("fresh attempt")
        );
        let mut files = task.parent.files().clone();
        files.insert("prompts/part.md".into(), "a new line\u{1b}[2J\n".into());
        for title in ["One", "Two"] {
            task.tried.push(Tried {
                title: title.into(),
                files: files.clone(),
                outcome: format!("{title}: the person wrote: keep it short"),
            });
        }
        let text = first_message(&task).unwrap();
        assert!(text.contains("Two: the person wrote: keep it short") && text.contains("This is a fresh attempt"));
        assert_eq!(
            text.matches("+ a new line").count(),
            1,
            "the last one's changes in full"
        );
        assert!(!text.contains('\u{1b}'));
        task.continuation = true;
        let text = first_message(&task).unwrap();
        assert!(text.contains("continuation of `Two`") && !text.contains("This is a fresh attempt"));
    }
}
