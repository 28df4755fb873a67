//! A selection as a proposal that a person decides on.

use super::candidate::{Candidate, Harvest};
use super::select::rules::praise;
use super::select::{Choice, SIMILARITY, alike};
use crate::llm::Usage;
use crate::review::{Content, Draft, Evidence, Facts, Item, SelectedRun, SelectionContent};
use crate::types::Digest;

/// Steps that a draft names as its evidence.
const SHOWN: usize = 12;

/// The draft and its items, in the order of the candidates.
///
/// `choices` are one a candidate, `criteria` what they were made by (rules as TOML, or a brief in words).
pub fn selection(
    harvest: &Harvest,
    choices: &[Choice],
    criteria: &str,
    gate_seeds: &[u64],
    minimum: u32,
    author: &str,
) -> (Draft, Vec<Item>) {
    let groups = alike(harvest.candidates.iter().map(|candidate| &candidate.sketch), SIMILARITY);
    let items: Vec<Item> = harvest
        .candidates
        .iter()
        .zip(choices)
        .zip(groups)
        .map(|((candidate, choice), alike)| item(candidate, choice, alike))
        .collect();
    let selected = items.iter().filter(|item| item.selected).count();
    let count = |what: usize| u32::try_from(what).unwrap_or(u32::MAX);
    let draft = Draft {
        author: author.to_owned(),
        title: format!("{selected} of {} candidates to train on", items.len()),
        rationale: rationale(harvest, selected, criteria),
        evidence: evidence(harvest, &items),
        usage: Usage::default(),
        origin: None,
        content: Content::Selection(Box::new(SelectionContent {
            env: harvest.runs.first().map(|run| run.env.clone()).unwrap_or_default(),
            scaffold: scaffolds(harvest),
            runs: harvest
                .runs
                .iter()
                .map(|run| SelectedRun {
                    path: run.path.display().to_string(),
                    id: run.id.clone(),
                })
                .collect(),
            criteria: criteria.to_owned(),
            // The desk fills it in from the items.
            items: Digest::default(),
            count: count(items.len()),
            selected: count(selected),
            gate_seeds: gate_seeds.to_vec(),
            minimum,
        })),
    };
    (draft, items)
}

/// A candidate as an item.
fn item(candidate: &Candidate, choice: &Choice, alike: Option<u32>) -> Item {
    let evidence = &candidate.evidence;
    Item {
        id: candidate.id.to_string(),
        run: candidate.run,
        episode: candidate.episode,
        seed: candidate.seed,
        step: candidate.step,
        phase: candidate.phase,
        ops: evidence.ops.iter().map(ToString::to_string).collect(),
        digest: candidate.digest,
        selected: choice.selected,
        score: choice.score,
        reason: choice.reason.clone(),
        note: praise(evidence),
        alike,
        facts: Facts {
            messages: candidate.messages,
            bytes: candidate.bytes,
            bytes_written: evidence.bytes_written,
            later_reads: evidence.later_reads,
            first_read: evidence.first_read,
            advantage: evidence.advantage,
            reward_after: evidence.reward_after,
            redundant: evidence.redundant_writes,
            empty: evidence.empty_retrievals,
            malformed: evidence.malformed,
            failed: evidence.failed_ops,
            position: evidence.position,
            progression: evidence.progression,
        },
    }
}

fn scaffolds(harvest: &Harvest) -> String {
    let mut names: Vec<&str> = harvest.runs.iter().map(|run| run.scaffold.0.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn rationale(harvest: &Harvest, selected: usize, criteria: &str) -> String {
    let episodes: usize = harvest.runs.iter().map(|run| run.seeds.len()).sum();
    let mut text = format!(
        "{selected} of {} candidates from {episodes} episodes of {} runs are selected.\n",
        harvest.candidates.len(),
        harvest.runs.len()
    );
    for (reason, count) in &harvest.left_out {
        text.push_str(&format!("Not listed: {count} {reason}.\n"));
    }
    if !criteria.trim().is_empty() {
        text.push_str(&format!("\nCriteria:\n\n{}\n", criteria.trim_end()));
    }
    text
}

/// The selected items with the best scores.
fn evidence(harvest: &Harvest, items: &[Item]) -> Vec<Evidence> {
    let mut best: Vec<&Item> = items.iter().filter(|item| item.selected).collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    best.into_iter()
        .take(SHOWN)
        .filter_map(|item| {
            let run = harvest.runs.get(item.run as usize)?;
            Some(Evidence {
                run: run.path.display().to_string(),
                episode: item.episode,
                step: item.step,
                note: format!("{}: {}", item.phase.word(), item.note),
            })
        })
        .collect()
}
