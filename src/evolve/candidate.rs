//! What a suggested scaffold must be before anybody is shown it: complete, another than its parent and than what was
//! tried, changed in more than its words, and able to work.
//!
//! Owns these rules and the words of their refusals, for every kind of reviser. Must not change a file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use super::reviser::{ReviserError, Task};
use crate::memory::confine;
use crate::review::check_result;
use crate::scaffold::hooks::HOOKS;
use crate::scaffold::{MANIFEST, Manifest, ProblemAt, Scaffold, digest_of};
use crate::types::Digest;

/// The file that says what changed.
pub(super) const METHOD: &str = "METHOD.md";
/// Bytes of one file.
pub(super) const FILE_BYTES: usize = 256 << 10;
/// Bytes of all files.
const ALL_BYTES: usize = 1 << 20;
/// Files.
const FILES: usize = 100;
/// Problems that a message lists.
const LISTED: usize = 20;

/// A scaffold's files.
pub(super) type Files = BTreeMap<String, String>;

/// Why a suggestion is not taken.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// It is its parent.
    Unchanged,
    /// It was tried.
    Tried {
        /// Under which title.
        title: String,
        /// What became of it.
        outcome: String,
    },
    /// Nothing but words changed.
    WordingOnly,
    /// Files that a run uses are gone.
    Renamed(Vec<String>),
    /// It is too large.
    TooLarge(String),
    /// It cannot work.
    Problems(Vec<ProblemAt>),
}

impl Refusal {
    /// What its author is told.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Unchanged => "Nothing is changed against the parent. Change files first.".to_owned(),
            Self::Tried { title, outcome } => {
                format!("This was tried: it is the same scaffold as `{title}`, of which came: {outcome}\nChange more.")
            }
            Self::WordingOnly => {
                "Only wording is changed. At least one change must be structural: another rule, schema or policy of a \
                 memory file, another operation, budget or variable, a condition or variable in a template, or code in \
                 hooks.star."
                    .to_owned()
            }
            Self::Renamed(files) => format!(
                "A run uses the memory files {}: they must stay under their names in scaffold.toml.",
                files.join(", ")
            ),
            Self::TooLarge(why) => why.clone(),
            Self::Problems(problems) => {
                let mut text = format!("The scaffold cannot work; {} problems:\n", problems.len());
                for problem in problems.iter().take(LISTED) {
                    let _ = writeln!(text, "- {problem}");
                }
                if problems.len() > LISTED {
                    let _ = writeln!(text, "- and {} more", problems.len() - LISTED);
                }
                text
            }
        }
    }

    /// The error that it becomes when its author does not mend it.
    pub(super) fn error(self, spec: String) -> ReviserError {
        match self {
            Self::Problems(problems) => ReviserError::Unusable { spec, problems },
            other => ReviserError::Nothing {
                spec,
                why: other.words(),
            },
        }
    }
}

/// Judges a suggestion; `Ok(Ok(()))` takes it. Takes seconds when nothing else is wrong: it is rehearsed.
///
/// # Errors
/// When the rehearsal could not be held.
pub(super) fn judge(task: &Task, files: &Files) -> Result<Result<(), Refusal>, ReviserError> {
    if let Err(refusal) = differs(task, files) {
        return Ok(Err(refusal));
    }
    let problems = problems_of(files)?;
    if !problems.is_empty() {
        return Ok(Err(Refusal::Problems(problems)));
    }
    let Ok(scaffold) = Scaffold::from_files(files.clone()) else {
        return Ok(Ok(()));
    };
    let gone: Vec<String> = task
        .in_use
        .iter()
        .filter(|file| !scaffold.manifest().files.contains_key(*file))
        .cloned()
        .collect();
    Ok(match () {
        () if !gone.is_empty() => Err(Refusal::Renamed(gone)),
        () if !is_structural(&task.parent, &scaffold) => Err(Refusal::WordingOnly),
        () => Ok(()),
    })
}

/// What cannot work in these files.
pub(super) fn problems_of(files: &Files) -> Result<Vec<ProblemAt>, ReviserError> {
    check_result(files).map_err(|error| ReviserError::Other(format!("the scaffold could not be tried: {error}")))
}

/// Whether it is another scaffold than all that are known, and not too large.
fn differs(task: &Task, files: &Files) -> Result<(), Refusal> {
    if files.len() > FILES || files.values().map(String::len).sum::<usize>() > ALL_BYTES {
        return Err(Refusal::TooLarge(format!(
            "The scaffold is too large: it may have {FILES} files and {ALL_BYTES} bytes."
        )));
    }
    let own = essence(files);
    if own == essence(task.parent.files()) {
        return Err(Refusal::Unchanged);
    }
    match task.tried.iter().find(|tried| essence(&tried.files) == own) {
        Some(tried) => Err(Refusal::Tried {
            title: tried.title.clone(),
            outcome: tried.outcome.clone(),
        }),
        None => Ok(()),
    }
}

/// A digest of what a scaffold does: without its METHOD.md, and without name, version and parent, so that the same
/// idea under another name is known again.
pub(super) fn essence(files: &Files) -> Digest {
    let mut files = files.clone();
    files.remove(METHOD);
    if let Some(text) = files.get_mut(MANIFEST)
        && let Ok(mut table) = text.parse::<toml::Table>()
    {
        for key in ["name", "version", "parent"] {
            table.remove(key);
        }
        *text = table.to_string();
    }
    digest_of(&files)
}

/// Whether more than words changed: the manifest (but who it is and what files are about), the script, which templates
/// there are, or what stands in their braces.
fn is_structural(parent: &Scaffold, new: &Scaffold) -> bool {
    rules(parent.manifest()) != rules(new.manifest())
        || parent.files().get(HOOKS) != new.files().get(HOOKS)
        || braces(parent.files()) != braces(new.files())
}

fn rules(manifest: &Manifest) -> Manifest {
    let mut rules = manifest.clone();
    rules.name.clear();
    rules.version.clear();
    rules.parent = None;
    rules.files.values_mut().for_each(|file| file.about.clear());
    rules
}

/// What stands in the braces of each template.
fn braces(files: &Files) -> BTreeMap<&str, Vec<&str>> {
    static BRACES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)\{[{%].*?[%}]\}").ok());
    let templates = files.iter().filter(|(path, _)| path.starts_with("prompts/"));
    templates
        .map(|(path, text)| {
            let found = BRACES.iter().flat_map(|braces| braces.find_iter(text));
            (path.as_str(), found.map(|found| found.as_str()).collect())
        })
        .collect()
}

/// The name of a scaffold's file as a model or a person wrote it, made plain.
///
/// # Errors
/// Why it can be no file of a scaffold.
pub(super) fn plain_path(path: &str) -> Result<&str, String> {
    confine(path).map_err(|why| {
        format!(
            "`{path}`: {}",
            why.replace("the memory directory", "the scaffold's folder")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Workspace;
    use crate::evolve::Tried;

    fn task() -> Task {
        Task {
            parent: Scaffold::named("crafter-v0", &Workspace::at("/nonexistent")).unwrap(),
            runs: Vec::new(),
            in_use: Vec::new(),
            tried: Vec::new(),
            continuation: false,
            token_budget: 1,
        }
    }

    fn edited(task: &Task, path: &str, edit: impl Fn(&str) -> String) -> Files {
        let mut files = task.parent.files().clone();
        let text = edit(files.get(path).map_or("", String::as_str));
        files.insert(path.to_owned(), text);
        files
    }

    fn bounded(text: &str) -> String {
        text.replace("policy = \"append\"", "policy = \"append\"\nmax_lines = 50")
    }

    #[test]
    fn a_name_or_a_method_makes_no_other_scaffold() {
        let mut task = task();
        let renamed = edited(&task, MANIFEST, |text| {
            text.replace("crafter-v0", "other").replace("0.1.0", "0.2.0")
        });
        assert_eq!(differs(&task, &renamed), Err(Refusal::Unchanged));
        assert_eq!(
            differs(&task, &edited(&task, METHOD, |_| "new".into())),
            Err(Refusal::Unchanged)
        );
        let changed = edited(&task, MANIFEST, bounded);
        assert_eq!(differs(&task, &changed), Ok(()));
        task.tried.push(Tried {
            title: "Bounded files".into(),
            files: changed.clone(),
            outcome: "no better".into(),
        });
        let again = differs(&task, &changed).unwrap_err().words();
        assert!(again.contains("This was tried") && again.contains("Bounded files") && again.contains("no better"));
    }

    #[test]
    fn structure_is_told_from_wording() {
        let task = task();
        let is = |files: Files| is_structural(&task.parent, &Scaffold::from_files(files).unwrap());
        let system = "prompts/system.md";
        assert!(!is(edited(&task, system, |text| format!("{text}\nBe brief."))));
        assert!(!is(
            edited(&task, MANIFEST, |text| text.replace("the plan:", "your plan:"))
        ));
        assert!(is(edited(&task, MANIFEST, bounded)));
        assert!(is(edited(&task, system, |text| format!("{text}\n{{{{ world }}}}"))));
        assert!(is(edited(&task, HOOKS, |_| {
            "def hook(state, event):\n    return state, []\n".into()
        })));
        assert!(is(edited(&task, "prompts/part.md", |_| "x".into())));
    }

    #[test]
    fn files_in_use_keep_their_names() {
        let mut task = task();
        task.in_use = vec!["strategy.txt".into(), "map_notes.txt".into()];
        let files = edited(&task, MANIFEST, |text| {
            bounded(text).replace("strategy.txt", "plans.txt")
        });
        let refusal = judge(&task, &files).unwrap().unwrap_err();
        assert_eq!(refusal, Refusal::Renamed(vec!["strategy.txt".into()]));
        assert_eq!(judge(&task, &edited(&task, MANIFEST, bounded)).unwrap(), Ok(()));
    }

    #[test]
    fn what_is_too_large_or_cannot_work_is_told() {
        let task = task();
        let huge = edited(&task, "prompts/huge.md", |_| "x".repeat(ALL_BYTES));
        assert!(matches!(judge(&task, &huge).unwrap(), Err(Refusal::TooLarge(_))));
        let broken = edited(&task, MANIFEST, |text| text.replace("api = 1", "api = \"one\""));
        let words = judge(&task, &broken).unwrap().unwrap_err().words();
        assert!(words.contains("scaffold.toml:4"), "{words}");
    }

    #[test]
    fn paths_stay_inside() {
        assert_eq!(plain_path(" ./prompts/plan.md "), Ok("prompts/plan.md"));
        for path in ["../x", "/etc/passwd", "a/../../b", ".git/config", "", "~/x", "a\\b"] {
            assert!(plain_path(path).is_err(), "{path}");
        }
        assert!(plain_path("../x").unwrap_err().contains("the scaffold's folder"));
    }
}
