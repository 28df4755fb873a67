//! Rules that turn numbers into named problems. One function a rule, one line each in the table.
//!
//! A rule looks at all episodes of a run together. Must not read files.

mod acting;
mod searching;
mod storing;

use std::collections::BTreeSet;

use super::finding::{Finding, Place, Severity};
use super::metrics::{Evidence, FileStory, Meter, Metrics, Sample};
use crate::types::{EpisodeNo, StepNo};

/// Steps a finding shows.
const MOST_STEPS: usize = 12;

/// What rules look at.
pub(super) struct Case<'a> {
    /// Every episode's meter.
    pub(super) meters: &'a [(EpisodeNo, Meter)],
    /// The numbers of all of them together.
    pub(super) metrics: &'a Metrics,
}

/// A rule: its name, which begins the ids of its findings, and what it does.
type Rule = (&'static str, fn(&Case<'_>) -> Vec<Problem>);

/// All rules.
const RULES: &[Rule] = &[
    ("unbounded-append", storing::unbounded_append),
    ("duplicate-keys", storing::duplicate_keys),
    ("redundant-writes", storing::redundant_writes),
    ("schema-drift", storing::schema_drift),
    ("never-read", storing::never_read),
    ("always-read-whole", storing::always_read_whole),
    ("reads-cut", storing::reads_cut),
    ("never-found", searching::never_found),
    ("empty-retrievals", searching::empty_retrievals),
    ("seen-not-written", searching::seen_not_written),
    ("unsupported-facts", searching::unsupported_facts),
    ("repeated-failure", acting::repeated_failure),
    ("stuck", acting::stuck),
    ("oscillation", acting::oscillation),
    ("invalid-actions", acting::invalid_actions),
    ("context-overflow", acting::context_overflow),
];

/// What a rule found; its name is added by the table.
pub(super) struct Problem {
    /// The file it is about, or what else tells two problems of a rule apart; empty when there is only one.
    of: String,
    severity: Severity,
    title: String,
    detail: String,
    steps: Vec<Place>,
    files: Vec<String>,
    advice: &'static str,
}

/// The names of all rules, as they begin the ids of findings.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// Everything the rules find, the worst first.
pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (rule, look) in RULES {
        findings.extend(look(case).into_iter().map(|problem| Finding {
            id: match problem.of.as_str() {
                "" => (*rule).to_owned(),
                of => format!("{rule}:{of}"),
            },
            rule: (*rule).to_owned(),
            severity: problem.severity,
            title: problem.title,
            detail: problem.detail,
            steps: problem.steps,
            files: problem.files,
            advice: problem.advice.to_owned(),
        }));
    }
    // Stable: rules keep their order inside a severity.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Steps of several episodes.
#[derive(Default)]
struct Steps {
    count: u64,
    places: Vec<Place>,
}

impl Case<'_> {
    fn evidence(&self) -> impl Iterator<Item = (EpisodeNo, &Evidence)> {
        self.meters.iter().map(|(episode, meter)| (*episode, meter.evidence()))
    }

    /// All paths that any episode's memory had.
    fn paths(&self) -> BTreeSet<&str> {
        let files = self.metrics.files.iter().map(|file| file.path.as_str());
        files.collect()
    }

    fn stories<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (EpisodeNo, &'a Meter, &'a FileStory)> {
        self.meters
            .iter()
            .filter_map(move |(episode, meter)| Some((*episode, meter, meter.evidence().files.get(path)?)))
    }

    /// A file's steps of some kind over all episodes.
    fn steps_of(&self, path: &str, pick: fn(&FileStory) -> &Sample) -> Steps {
        let samples = self.stories(path).map(|(episode, _, story)| (episode, pick(story)));
        Steps::of(samples)
    }
}

impl Steps {
    fn of<'a>(samples: impl IntoIterator<Item = (EpisodeNo, &'a Sample)>) -> Self {
        let mut steps = Self::default();
        for (episode, sample) in samples {
            steps.count += sample.count;
            sample.steps.iter().for_each(|step| steps.show(episode, *step));
        }
        steps
    }

    fn show(&mut self, episode: EpisodeNo, step: StepNo) {
        let place = Place { episode, step };
        if self.places.len() < MOST_STEPS && !self.places.contains(&place) {
            self.places.push(place);
        }
    }
}

/// `12 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1 step`, `3 steps`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
