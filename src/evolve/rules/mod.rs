//! The reviser without a model: revisions that follow from findings, so that the loop works offline.
//!
//! Owns a table of rules, one file each: what a finding asks for, as an edit of the scaffold's files. A candidate is
//! all rules that apply, then fewer, so that none is tried twice. Must not play or decide.

mod bounded;
mod case;
mod draft;
mod manifest;
mod new_only;
mod repetition;
mod search;
mod shown;
mod unread;

use std::path::Path;

use super::candidate::{self, Refusal};
use super::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::analysis::analyse;
use crate::jobs::Cancel;
use crate::llm::Usage;
use crate::review::Evidence;

use case::Case;
use draft::Draft;

/// Steps that a finding gives as evidence.
const STEPS: usize = 3;

/// A rule: its name, and what it does to a scaffold's files.
struct Rule {
    /// In a word.
    name: &'static str,
    /// What it changes; false when it does not apply.
    apply: fn(&Case, &mut Draft) -> bool,
}

/// All rules; the first are tried with the others and stay longest.
const RULES: &[Rule] = &[
    Rule {
        name: "write only what is new",
        apply: new_only::apply,
    },
    Rule {
        name: "show what is read every step",
        apply: shown::apply,
    },
    Rule {
        name: "bound what grows",
        apply: bounded::apply,
    },
    Rule {
        name: "point out repetition",
        apply: repetition::apply,
    },
    Rule {
        name: "search for what is there",
        apply: search::apply,
    },
    Rule {
        name: "show what is never read",
        apply: unread::apply,
    },
];

/// Writes revisions by rules.
#[derive(Debug, Default)]
pub struct RulesReviser;

impl RulesReviser {
    /// A reviser. All are alike: equal runs and equal attempts give equal revisions.
    pub fn new() -> Self {
        Self
    }
}

impl Reviser for RulesReviser {
    fn spec(&self) -> String {
        "rules".to_owned()
    }

    fn revise(
        &mut self,
        task: &Task,
        cancel: &Cancel,
        news: &mut dyn FnMut(ReviserNews),
    ) -> Result<Revision, ReviserError> {
        let mut case = Case::default();
        for run in &task.runs {
            let analysis = analyse(run, cancel, &mut |_| {})?;
            news(ReviserNews::Called {
                what: format!("findings of {}", name_of(run)),
                outcome: format!("{} findings", analysis.findings.len()),
            });
            case.add(&run.display().to_string(), analysis);
        }
        revise(&case, task)
    }
}

fn name_of(run: &Path) -> String {
    run.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The first candidate that was not tried and can be used.
fn revise(case: &Case, task: &Task) -> Result<Revision, ReviserError> {
    let applicable: Vec<&Rule> = RULES
        .iter()
        .filter(|rule| applied(case, task, &[rule]).is_some())
        .collect();
    let mut problems = None;
    for chosen in candidates(applicable.len()) {
        let rules: Vec<&Rule> = chosen.iter().map(|at| applicable[*at]).collect();
        let Some(draft) = applied(case, task, &rules) else {
            continue;
        };
        let revision = written(case, draft, &rules);
        match candidate::judge(task, &revision.files)? {
            Ok(()) => return Ok(revision),
            Err(Refusal::Problems(wrong)) => {
                problems.get_or_insert(wrong);
            }
            Err(_) => {}
        }
    }
    match problems {
        Some(problems) => Err(ReviserError::Unusable {
            spec: "rules".to_owned(),
            problems,
        }),
        None => Err(ReviserError::Nothing {
            spec: "rules".to_owned(),
            why: match (applicable.len(), task.tried.len()) {
                (0, _) => "no finding of these runs has a rule that changes this scaffold".to_owned(),
                (_, tried) => format!("every rule that applies was tried ({tried} candidates)"),
            },
        }),
    }
}

/// What rules make of the parent, one after another; `None` when one of them changes nothing.
fn applied(case: &Case, task: &Task, rules: &[&Rule]) -> Option<Draft> {
    let mut draft = Draft::of(&task.parent);
    rules.iter().all(|rule| (rule.apply)(case, &mut draft)).then_some(draft)
}

/// Which of `n` rules are taken together, in the order in which they are tried: all, all but one (the last first),
/// and each by itself.
fn candidates(n: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..n).collect();
    let but_one = (0..n)
        .rev()
        .map(|left| all.iter().copied().filter(|at| *at != left).collect());
    let single = (0..n).map(|at| vec![at]);
    let mut list: Vec<Vec<usize>> = Vec::new();
    for chosen in std::iter::once(all.clone()).chain(but_one).chain(single) {
        if !chosen.is_empty() && !list.contains(&chosen) {
            list.push(chosen);
        }
    }
    list
}

fn written(case: &Case, draft: Draft, rules: &[&Rule]) -> Revision {
    let names: Vec<&str> = rules.iter().map(|rule| rule.name).collect();
    let used: Vec<&(String, crate::analysis::Finding)> = case
        .findings
        .iter()
        .filter(|(_, finding)| draft.because.contains(&finding.rule))
        .collect();
    let analysis: String = used
        .iter()
        .map(|(_, finding)| {
            format!(
                "- **{}** ({}). {}\n",
                finding.title,
                finding.severity.word(),
                finding.detail
            )
        })
        .collect();
    let evidence = used
        .iter()
        .flat_map(|(run, finding)| {
            finding.steps.iter().take(STEPS).map(|place| Evidence {
                run: run.clone(),
                episode: place.episode,
                step: place.step,
                note: finding.title.clone(),
            })
        })
        .collect();
    let changes: String = draft.changes.iter().map(|change| format!("- {change}\n")).collect();
    let method = format!("Changes that follow from what the parent's episodes showed:\n\n{changes}");
    let mut files = draft.files;
    let title = names.join("; ");
    files.insert(
        candidate::METHOD.to_owned(),
        format!("# {title}\n\n{method}\n## What the episodes showed\n\n{analysis}"),
    );
    Revision {
        title,
        analysis: format!("What the parent's episodes showed:\n\n{analysis}"),
        method,
        files,
        evidence,
        usage: Usage::default(),
    }
}

#[cfg(test)]
mod tests;
