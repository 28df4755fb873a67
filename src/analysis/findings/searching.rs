//! Rules on what is looked for, and on what is known.

use std::collections::BTreeMap;

use super::{Case, Problem, Severity, Steps, counted, percent};

/// A text that is searched for again and again and never found.
pub(super) fn never_found(case: &Case<'_>) -> Vec<Problem> {
    let mut texts: BTreeMap<(&str, &str), (Steps, u64)> = BTreeMap::new();
    for (episode, evidence) in case.evidence() {
        for ((file, text), query) in &evidence.queries {
            let (steps, found) = texts.entry((file, text)).or_default();
            *found += query.found;
            steps.count += query.empty.count;
            query.empty.steps.iter().for_each(|step| steps.show(episode, *step));
        }
    }
    let mut never: Vec<_> = texts
        .into_iter()
        .filter(|(_, (steps, found))| *found == 0 && steps.count >= 3)
        .collect();
    never.sort_by_key(|(_, (steps, _))| std::cmp::Reverse(steps.count));
    let problem = |((file, text), (steps, _)): ((&str, &str), (Steps, u64))| Problem {
        of: format!("{file}/{}", short(text)),
        severity: if steps.count >= 10 {
            Severity::Medium
        } else {
            Severity::Low
        },
        title: format!("`{}` is searched for in {file} and never found", short(text)),
        detail: format!("{} found nothing.", counted(steps.count, "search", "searches")),
        steps: steps.places,
        files: vec![file.to_owned()],
        advice: "Have LOG write the fact under the word PLAN searches for, or tell PLAN which words the file uses.",
    };
    never.into_iter().take(5).map(problem).collect()
}

/// Many retrievals that find nothing.
pub(super) fn empty_retrievals(case: &Case<'_>) -> Vec<Problem> {
    let metrics = case.metrics;
    let (Some(rate), count) = (metrics.empty_retrieval_rate, metrics.empty_retrievals) else {
        return Vec::new();
    };
    if count < 10 || rate < 0.25 {
        return Vec::new();
    }
    let steps = Steps::of(case.evidence().map(|(episode, evidence)| (episode, &evidence.empty)));
    vec![Problem {
        of: String::new(),
        severity: if rate >= 0.5 { Severity::High } else { Severity::Medium },
        title: format!("{} of the retrievals find nothing", percent(rate)),
        detail: format!("{count} retrievals came back empty; each is an answer of the model and a longer prompt."),
        steps: steps.places,
        files: Vec::new(),
        advice: "Show the model what its files hold (line counts, last lines), and let it search only for words that \
                 are in them.",
    }]
}

/// What was seen, was not written, and was looked for later.
pub(super) fn seen_not_written(case: &Case<'_>) -> Vec<Problem> {
    let mut words: BTreeMap<&str, (Steps, String)> = BTreeMap::new();
    for (episode, evidence) in case.evidence() {
        for missed in &evidence.missed {
            let (steps, detail) = words.entry(&missed.word).or_default();
            steps.count += 1;
            steps.show(episode, missed.seen);
            steps.show(episode, missed.needed);
            if detail.is_empty() {
                *detail = format!(
                    "Step {} of episode {episode} showed it last; no file held it when step {} searched {}.",
                    missed.seen, missed.needed, missed.file
                );
            }
        }
    }
    let problem = |(word, (steps, detail)): (&str, (Steps, String))| Problem {
        of: word.to_owned(),
        severity: Severity::High,
        title: format!("`{word}` was seen, not written down, and then looked for"),
        detail,
        steps: steps.places,
        files: Vec::new(),
        advice: "Have LOG write what comes into sight and may be needed again, with its place, before it is out of \
                 sight.",
    };
    words.into_iter().take(8).map(problem).collect()
}

/// Facts that name what no observation has shown.
pub(super) fn unsupported_facts(case: &Case<'_>) -> Vec<Problem> {
    let Some(rate) = case.metrics.unsupported_fact_rate.filter(|rate| *rate >= 0.1) else {
        return Vec::new();
    };
    let steps = Steps::of(
        case.evidence()
            .map(|(episode, evidence)| (episode, &evidence.unsupported)),
    );
    vec![Problem {
        of: String::new(),
        severity: if rate >= 0.3 { Severity::High } else { Severity::Medium },
        title: format!("{} of the facts name what was never seen", percent(rate)),
        detail: format!(
            "{} that say where something is name a thing that no observation of the episode had shown until then.",
            counted(steps.count, "line", "lines")
        ),
        steps: steps.places,
        files: Vec::new(),
        advice: "Have LOG copy names and places from the observation, and show it the observation next to the file.",
    }]
}

/// A text short enough for an id.
fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
