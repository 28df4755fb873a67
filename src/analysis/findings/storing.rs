//! Rules on what files hold and whether they are read.

use super::{Case, Problem, Severity, Steps, counted, percent};

/// Below these a file is no problem yet.
const GROWING_STEPS: u64 = 20;
const GROWING_BYTES: f64 = 1000.0;
const GROWTH: f64 = 2.0;
/// A file this large costs more than a prompt has room for.
const LARGE: f64 = 20_000.0;

/// A file that only ever grows.
pub(super) fn unbounded_append(case: &Case<'_>) -> Vec<Problem> {
    let grows = |file: &&crate::analysis::FileMetrics| {
        file.bytes >= GROWING_BYTES && file.growth_per_step.is_some_and(|growth| growth >= GROWTH)
    };
    let mut found = Vec::new();
    for file in case.metrics.files.iter().filter(grows) {
        let shrunk: u64 = case.stories(&file.path).map(|(.., story)| story.shrunk).sum();
        let grown = case.steps_of(&file.path, |story| &story.grown);
        let cut = case.steps_of(&file.path, |story| &story.cut);
        if shrunk > 0 || grown.count < GROWING_STEPS {
            continue;
        }
        let growth = file.growth_per_step.unwrap_or(0.0);
        let severity = match () {
            () if cut.count > 0 || file.bytes >= LARGE => Severity::High,
            () => Severity::Medium,
        };
        let cut = match cut.count {
            0 => String::new(),
            count => format!(" {} of it were cut.", counted(count, "read", "reads")),
        };
        found.push(Problem {
            of: file.path.clone(),
            severity,
            title: format!("{} only grows: {growth:.0} bytes a step", file.path),
            detail: format!(
                "It grew in {} and never became smaller; it ends with {:.0} bytes in {:.0} lines, and would have \
                 {:.0} kB after 10,000 steps.{cut}",
                counted(grown.count, "change", "changes"),
                file.bytes,
                file.lines,
                growth * 10.0
            ),
            steps: grown.places,
            files: vec![file.path.clone()],
            advice: "Give the file a policy of upsert (one line a key) or a largest number of lines with a rule that \
                     prunes the oldest, and let LOG write only what changed.",
        });
    }
    found
}

/// Lines with the same key that say different things.
pub(super) fn duplicate_keys(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for path in case.paths() {
        let steps = case.steps_of(path, |story| &story.conflicts);
        let added: u64 = case.stories(path).map(|(.., story)| story.added).sum();
        if steps.count < 3 || (steps.count as f64) < 0.1 * added as f64 {
            continue;
        }
        found.push(Problem {
            of: path.to_owned(),
            severity: Severity::Medium,
            title: format!("{path} holds several values for one key"),
            detail: format!(
                "{} of {} lines that were added have the key of another line and say something else; which of them \
                 holds is left to the reader.",
                steps.count, added
            ),
            steps: steps.places,
            files: vec![path.to_owned()],
            advice: "Write the file by key (an UPSERT operation, or policy upsert with a key pattern), so that a new \
                     value takes the place of the old.",
        });
    }
    found
}

/// Writes that tell a file what it says already.
pub(super) fn redundant_writes(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for file in &case.metrics.files {
        let rate = file.redundant_writes as f64 / file.writes.max(1) as f64;
        if file.redundant_writes < 3 || rate < 0.1 {
            continue;
        }
        let steps = case.steps_of(&file.path, |story| &story.redundant);
        let duplicates: u64 = case
            .meters
            .iter()
            .filter_map(|(_, meter)| meter.file(&file.path))
            .map(|f| f.1)
            .sum();
        found.push(Problem {
            of: file.path.clone(),
            severity: if rate >= 0.3 { Severity::Medium } else { Severity::Low },
            title: format!(
                "{} is told the same again in {} of its writes",
                file.path,
                percent(rate)
            ),
            detail: format!(
                "{} of {} writes added only lines the file had, apart from step numbers, capitals and punctuation; it \
                 ends with {}.",
                file.redundant_writes,
                file.writes,
                counted(duplicates, "duplicate line", "duplicate lines")
            ),
            steps: steps.places,
            files: vec![file.path.clone()],
            advice: "Show LOG the last lines of the file or search it before it writes, and say that nothing new means \
                     no write; or key the file, so that the same fact is one line.",
        });
    }
    found
}

/// Lines that change their form.
pub(super) fn schema_drift(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for path in case.paths() {
        let mut forms: Vec<((char, char), Steps)> = Vec::new();
        for (episode, _, story) in case.stories(path) {
            for (form, sample) in &story.forms {
                let at = match forms.iter().position(|(other, _)| other == form) {
                    Some(at) => at,
                    None => {
                        forms.push((*form, Steps::default()));
                        forms.len() - 1
                    }
                };
                forms[at].1.count += sample.count;
                sample.steps.iter().for_each(|step| forms[at].1.show(episode, *step));
            }
        }
        let lines: u64 = forms.iter().map(|(_, steps)| steps.count).sum();
        forms.sort_by_key(|(_, steps)| std::cmp::Reverse(steps.count));
        let Some(((_, usual), others)) = forms.split_first() else {
            continue;
        };
        if lines < 12 || usual.count as f64 >= 0.75 * lines as f64 {
            continue;
        }
        found.push(Problem {
            of: path.to_owned(),
            severity: Severity::Low,
            title: format!("The lines of {path} come in {} forms", others.len() + 1),
            detail: format!(
                "The most common form has {} of {lines} lines the model wrote; a form is what a line begins with and \
                 its first separator.",
                usual.count
            ),
            steps: others
                .iter()
                .flat_map(|(_, steps)| steps.places.first())
                .copied()
                .take(6)
                .collect(),
            files: vec![path.to_owned()],
            advice: "Show one example line of the file in the LOG prompt, give the file a line pattern in \
                     scaffold.toml, or split it in two files.",
        });
    }
    found
}

/// A file that is written and never shown to the model.
pub(super) fn never_read(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for file in case
        .metrics
        .files
        .iter()
        .filter(|file| file.writes >= 3 && file.retrievals == 0)
    {
        let unseen = case
            .meters
            .iter()
            .all(|(_, meter)| meter.file(&file.path).is_none() || meter.is_unseen(&file.path));
        if !unseen {
            continue;
        }
        let steps = case.steps_of(&file.path, |story| &story.grown);
        found.push(Problem {
            of: file.path.clone(),
            severity: if file.writes >= 20 {
                Severity::High
            } else {
                Severity::Medium
            },
            title: format!("{} is written and never read", file.path),
            detail: format!(
                "{} by the model, no retrieval named it, and no prompt showed a line it ends with.",
                counted(file.writes, "write", "writes")
            ),
            steps: steps.places,
            files: vec![file.path.clone()],
            advice: "Have PLAN search or tail it where it would help, inline its newest lines in the PLAN prompt, or \
                     drop the file.",
        });
    }
    found
}

/// A file of which only the whole is ever read.
pub(super) fn always_read_whole(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for file in &case.metrics.files {
        let hits = file.retrievals - file.empty_retrievals.min(file.retrievals);
        if hits < 5 || file.whole_reads < hits || file.bytes < 500.0 {
            continue;
        }
        let steps = case.steps_of(&file.path, |story| &story.whole);
        found.push(Problem {
            of: file.path.clone(),
            severity: if file.bytes >= 4000.0 {
                Severity::Medium
            } else {
                Severity::Low
            },
            title: format!("{} is always read whole", file.path),
            detail: format!(
                "All {hits} reads that found something showed all of it; it ends with {:.0} bytes.",
                file.bytes
            ),
            steps: steps.places,
            files: vec![file.path.clone()],
            advice: "Tell PLAN to SEARCH it for the word it needs or to TAIL the newest lines, or keep the file small \
                     with a rule.",
        });
    }
    found
}

/// Reads whose result did not fit the budget.
pub(super) fn reads_cut(case: &Case<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for path in case.paths() {
        let steps = case.steps_of(path, |story| &story.cut);
        if steps.count < 3 {
            continue;
        }
        found.push(Problem {
            of: path.to_owned(),
            severity: Severity::Medium,
            title: format!("What {path} holds does not fit a tool result"),
            detail: format!(
                "{} of it left something out because of the budget; the model did not see those lines.",
                counted(steps.count, "read", "reads")
            ),
            steps: steps.places,
            files: vec![path.to_owned()],
            advice: "Prune the file, or tell the model to SEARCH it instead of reading it.",
        });
    }
    found
}
