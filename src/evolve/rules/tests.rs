//! Rules on findings made up for the purpose.

use std::collections::BTreeMap;

use super::case::FileUse;
use super::*;
use crate::analysis::{Finding, Place, Severity};
use crate::config::Workspace;
use crate::evolve::reviser::Tried;
use crate::review::{check_result, parts_of};
use crate::scaffold::{self, Prune, Scaffold};
use crate::types::{EpisodeNo, StepNo};

fn finding(rule: &str, file: &str) -> (String, Finding) {
    let finding = Finding {
        id: format!("{rule}:{file}"),
        rule: rule.to_owned(),
        severity: Severity::High,
        title: format!("{rule} of {file}"),
        detail: "It was seen.".to_owned(),
        steps: vec![Place {
            episode: EpisodeNo(1),
            step: StepNo(7),
        }],
        files: if file.is_empty() { vec![] } else { vec![file.to_owned()] },
        advice: String::new(),
    };
    ("run.db".to_owned(), finding)
}

fn case() -> Case {
    Case {
        findings: vec![
            finding("unbounded-append", "actions_log.txt"),
            finding("unbounded-append", "not_planned.txt"),
            finding("redundant-writes", "actions_log.txt"),
            finding("never-read", "survival_log.txt"),
            finding("always-read-whole", "crafting_progress.txt"),
            finding("stuck", ""),
            finding("never-found", ""),
        ],
        files: vec![
            FileUse {
                path: "landmarks.txt".to_owned(),
                bytes: 2000.0,
                writes: 90,
                retrievals: 200,
            },
            FileUse {
                path: "crafting_progress.txt".to_owned(),
                bytes: 400.0,
                writes: 9,
                retrievals: 60,
            },
            FileUse {
                path: "map_notes.txt".to_owned(),
                bytes: 30_000.0,
                writes: 200,
                retrievals: 200,
            },
        ],
        steps: 100,
    }
}

fn task(name: &str) -> Task {
    Task {
        parent: Scaffold::named(name, &Workspace::at("/nonexistent")).unwrap(),
        runs: vec![],
        in_use: vec![],
        tried: vec![],
        continuation: false,
        token_budget: 0,
    }
}

fn tried(revision: &Revision) -> Tried {
    Tried {
        title: revision.title.clone(),
        files: revision.files.clone(),
        outcome: "not better".to_owned(),
    }
}

#[test]
fn each_rule_by_itself_gives_a_scaffold_that_can_be_played() {
    let task = task("crafter-v0");
    for rule in RULES {
        let draft = applied(&case(), &task, &[rule]).unwrap_or_else(|| panic!("{} does not apply", rule.name));
        assert!(!draft.changes.is_empty(), "{}", rule.name);
        assert_eq!(check_result(&draft.files).unwrap(), vec![], "{}", rule.name);
        // What was changed is a few hunks of the files, and comments and order are as they were.
        let parts = parts_of(task.parent.files(), &draft.files);
        assert!((1..8).contains(&parts.len()), "{}: {parts:?}", rule.name);
        assert!(applied(&Case::default(), &task, &[rule]).is_none(), "{}", rule.name);
    }
}

#[test]
fn a_revision_says_what_it_changes_and_what_it_rests_on() {
    let task = task("crafter-v0");
    let revision = revise(&case(), &task).unwrap();
    assert_eq!(check_result(&revision.files).unwrap(), vec![]);
    let scaffold = Scaffold::from_files(revision.files.clone()).unwrap();
    let manifest = scaffold.manifest();
    let log = &manifest.files["actions_log.txt"];
    assert_eq!(
        (log.max_lines, log.keep_lines, log.prune),
        (Some(200), Some(100), Some(Prune::Duplicates))
    );
    assert_eq!(manifest.prompt.inline, ["landmarks.txt", "crafting_progress.txt"]);
    assert!(manifest.files.contains_key("landmarks.txt"));
    assert!(!manifest.files.contains_key("not_planned.txt"));
    assert!(revision.files["prompts/log.md"].contains("only what is new"));
    assert!(revision.method.contains("`actions_log.txt` keeps its newest 100 lines"));
    assert!(revision.analysis.contains("unbounded-append of actions_log.txt"));
    let there = revision
        .evidence
        .iter()
        .find(|shown| shown.note.contains("redundant-writes"))
        .unwrap();
    assert_eq!((there.run.as_str(), there.episode.0, there.step.0), ("run.db", 1, 7));
    assert_eq!(revise(&case(), &task).unwrap(), revision);
}

#[test]
fn no_candidate_comes_twice_and_in_the_end_there_is_none() {
    let mut task = task("crafter-v0");
    let mut seen: Vec<BTreeMap<String, String>> = Vec::new();
    let end = loop {
        match revise(&case(), &task) {
            Ok(revision) => {
                assert!(seen.len() < 50);
                assert!(!seen.contains(&revision.files), "{}", revision.title);
                assert_eq!(scaffold::check(&revision.files), vec![]);
                // Structural in the sense of the brief: a rule, a file, code, or what a template shows.
                assert_eq!(candidate::judge(&task, &revision.files).unwrap(), Ok(()));
                task.tried.push(tried(&revision));
                seen.push(revision.files);
            }
            Err(error) => break error,
        }
    };
    assert!(seen.len() >= 6, "{}", seen.len());
    assert!(end.to_string().contains("was tried"), "{end}");
}

#[test]
fn what_the_parent_has_already_is_not_proposed_again() {
    let first = revise(&case(), &task("crafter-v0")).unwrap();
    let task = Task {
        parent: Scaffold::from_files(first.files).unwrap(),
        ..task("crafter-v0")
    };
    assert!(matches!(revise(&case(), &task), Err(ReviserError::Nothing { .. })));
    assert!(matches!(
        revise(&Case::default(), &task),
        Err(ReviserError::Nothing { .. })
    ));
}

#[test]
fn other_scaffolds_are_changed_where_a_rule_fits_them() {
    for name in ["crafter-v1", "crafter-tiny"] {
        match revise(&case(), &task(name)) {
            Ok(revision) => assert_eq!(check_result(&revision.files).unwrap(), vec![], "{name}"),
            Err(error) => assert!(matches!(error, ReviserError::Nothing { .. }), "{name}: {error}"),
        }
    }
}
