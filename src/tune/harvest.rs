//! The candidates of runs: every LOG phase and every PLAN consultation, with what happened in it and after it.
//!
//! Owns the pass over the records. What counts as a later read or as redundant is [`crate::analysis`]'s. Must not
//! select.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::TuneError;
use super::candidate::{Candidate, CandidateId, Evidence, Harvest, HarvestedRun};
use super::conversation;
use super::select::Sketch;
use crate::analysis::Work;
use crate::jobs::Cancel;
use crate::memory;
use crate::protocol::{OpSyntax, parse};
use crate::scaffold::Scaffold;
use crate::store::{Kinds, Progress, Reader, StoreError};
use crate::types::{Body, Digest, EpisodeNo, EpisodeSummary, Event, Phase, RunMeta, StepNo, Turn};

/// Steps after a phase whose rewards are held against the episode's mean: its own action and those that follow.
pub const FOLLOWING: usize = 20;

/// Characters of a run's identity that begin a candidate's, where they tell the runs apart.
const RUN_NAMES: [usize; 2] = [8, 13];

const NO_CONSULTATION: &str = "PLAN phases that asked memory for nothing";
const NO_MESSAGES: &str = "phases whose record does not show where messages stand";

/// What is needed of a step.
const KINDS: Kinds = Kinds::MEMORY.and(Kinds::TURNS).and(Kinds::OUTCOMES);

/// Lists the candidates of runs, finished or live (as far as they are committed).
///
/// # Errors
/// When a run cannot be read or is given twice, or the work is cancelled.
pub fn harvest(runs: &[PathBuf], cancel: &Cancel, progress: &mut dyn FnMut(Progress)) -> Result<Harvest, TuneError> {
    let mut all = Harvest::default();
    let mut readers = Vec::new();
    for path in runs {
        let reader = Reader::open(path)?;
        let meta = reader.meta();
        if let Some(other) = all.runs.iter().find(|run| run.id == meta.id) {
            return Err(TuneError::data(
                format!(
                    "{} and {} are the same run ({})",
                    other.path.display(),
                    path.display(),
                    meta.id
                ),
                "name each run once",
            ));
        }
        all.runs.push(head(path.clone(), meta));
        readers.push((reader.episodes()?, reader));
    }
    let names = run_names(&all.runs);
    let total = readers
        .iter()
        .flat_map(|(episodes, _)| episodes)
        .map(|episode| episode.steps as usize + 1)
        .sum();
    let mut told = Progress {
        total,
        ..Progress::default()
    };
    for ((number, (episodes, reader)), name) in readers.iter().enumerate().zip(&names) {
        let vocabulary = vocabulary_of(reader.meta());
        let mut folds: BTreeMap<EpisodeNo, Fold> = BTreeMap::new();
        let before = told;
        let mut tell = |run: Progress| {
            told.done = (before.done + run.done).min(total);
            progress(told);
        };
        let mut visit = |episode: EpisodeNo, step: StepNo, events: Vec<Event>| {
            let fold = folds.entry(episode).or_default();
            fold.step(step, &events, &vocabulary)
                .map_err(|why| StoreError::Corrupt {
                    path: reader.path().to_owned(),
                    what: format!("step {step} of episode {episode}: {why}"),
                })
        };
        reader.each_step(KINDS, &|_| StepNo(0), cancel, &mut tell, &mut visit)?;
        for summary in episodes {
            let Some(fold) = folds.remove(&summary.episode) else {
                continue;
            };
            for (reason, count) in &fold.left_out {
                *all.left_out.entry(reason).or_default() += count;
            }
            fold.finish(name, number as u32, summary, &mut all.candidates);
        }
        told.hits = all.candidates.len();
    }
    Ok(all)
}

fn head(path: PathBuf, meta: &RunMeta) -> HarvestedRun {
    HarvestedRun {
        path,
        id: meta.id.clone(),
        env: meta.world.name.clone(),
        scaffold: (meta.scaffold.name.clone(), meta.scaffold.digest),
        model: meta.model.name.clone(),
        seeds: meta.seeds.clone(),
    }
}

/// Starts of the runs' identities, long enough to tell them apart.
fn run_names(runs: &[HarvestedRun]) -> Vec<String> {
    let short = |length: usize| {
        let name = |run: &HarvestedRun| run.id.0.chars().take(length).collect::<String>();
        let names: Vec<String> = runs.iter().map(name).collect();
        let distinct: HashSet<&String> = names.iter().collect();
        (distinct.len() == names.len()).then_some(names)
    };
    let found = RUN_NAMES.into_iter().find_map(short);
    found.unwrap_or_else(|| runs.iter().map(|run| run.id.to_string()).collect())
}

/// The operations the run's agent knew.
fn vocabulary_of(meta: &RunMeta) -> Vec<OpSyntax> {
    match Scaffold::from_files(meta.scaffold.files.clone()) {
        Ok(scaffold) => scaffold.vocabulary().iter().map(|entry| entry.syntax).collect(),
        // A run keeps its scaffold for people; one that this program cannot read any more costs only its own operations.
        Err(_) => memory::ops().iter().map(|op| op.syntax).collect(),
    }
}

/// An episode as far as it was read.
#[derive(Debug, Default)]
struct Fold {
    work: Work,
    /// Rewards by step.
    rewards: Vec<f64>,
    found: Vec<Found>,
    left_out: BTreeMap<&'static str, u32>,
}

/// A candidate before it is known what follows.
#[derive(Debug)]
struct Found {
    step: StepNo,
    phase: Phase,
    digest: Digest,
    messages: u32,
    bytes: u64,
    malformed: u32,
    sketch: Sketch,
}

impl Fold {
    fn step(&mut self, step: StepNo, events: &[Event], vocabulary: &[OpSyntax]) -> Result<(), String> {
        for event in events {
            self.work.take(step, &event.body).map_err(|error| error.to_string())?;
            match &event.body {
                Body::EpisodeStarted { .. } | Body::EpisodeAttempt { .. } => {
                    self.rewards.clear();
                    self.found.clear();
                    self.left_out.clear();
                }
                Body::StepFinished { reward, .. } => {
                    let at = step.0 as usize;
                    if self.rewards.len() <= at {
                        self.rewards.resize(at + 1, 0.0);
                    }
                    self.rewards[at] = *reward;
                }
                _ => {}
            }
        }
        for phase in [Phase::Log, Phase::Plan] {
            let bodies = events.iter().map(|event| &event.body);
            let Some(turn) = conversation::target(bodies, phase) else {
                let planned = |event: &Event| matches!(&event.body, Body::TurnFinished { turn } if turn.phase == phase);
                if phase == Phase::Plan && events.iter().any(planned) {
                    *self.left_out.entry(NO_CONSULTATION).or_default() += 1;
                }
                continue;
            };
            match found(step, phase, turn, events, vocabulary) {
                Some(found) => self.found.push(found),
                None => *self.left_out.entry(NO_MESSAGES).or_default() += 1,
            }
        }
        Ok(())
    }

    fn finish(self, run: &str, number: u32, summary: &EpisodeSummary, out: &mut Vec<Candidate>) {
        let steps = self.rewards.len();
        let mean = match steps {
            0 => 0.0,
            steps => self.rewards.iter().sum::<f64>() / steps as f64,
        };
        let last = steps.saturating_sub(1).max(1) as f64;
        for found in self.found {
            let at = found.step.0 as usize;
            let following = self
                .rewards
                .get(at..steps.min(at.saturating_add(FOLLOWING)))
                .unwrap_or_default();
            let after: f64 = following.iter().sum();
            let work = self.work.phase(found.step, found.phase);
            out.push(Candidate {
                id: id(run, summary.episode, found.step, found.phase),
                run: number,
                episode: summary.episode,
                step: found.step,
                phase: found.phase,
                seed: summary.seed,
                digest: found.digest,
                messages: found.messages,
                bytes: found.bytes,
                sketch: found.sketch,
                evidence: Evidence {
                    ops: work.map(|work| work.ops.clone()).unwrap_or_default(),
                    bytes_written: work.map_or(0, |work| work.bytes_written),
                    later_reads: work.map_or(0, |work| work.later_reads),
                    first_read: work.and_then(|work| work.first_read),
                    advantage: match following.len() {
                        0 => 0.0,
                        steps => after / steps as f64 - mean,
                    },
                    reward_after: after,
                    redundant_writes: work.map_or(0, |work| work.redundant_writes),
                    empty_retrievals: work.map_or(0, |work| work.empty_retrievals),
                    malformed: found.malformed,
                    failed_ops: work.map_or(0, |work| work.failed_ops),
                    position: (at as f64 / last).min(1.0),
                    progression: summary.progression,
                },
            });
        }
    }
}

fn id(run: &str, episode: EpisodeNo, step: StepNo, phase: Phase) -> CandidateId {
    let name = format!("{run}:{episode}:{step}:{}", phase.word());
    CandidateId(Arc::from(name))
}

/// The candidate of a phase; `None` where the record does not show its messages.
fn found(step: StepNo, phase: Phase, turn: &Turn, events: &[Event], vocabulary: &[OpSyntax]) -> Option<Found> {
    let texts = conversation::texts(turn)?;
    let turns = events.iter().filter_map(|event| match &event.body {
        Body::TurnFinished { turn: other } if other.phase == phase && other.turn <= turn.turn => Some(other),
        _ => None,
    });
    let malformed: usize = turns
        .map(|turn| {
            let parsed = parse(&turn.response, vocabulary);
            parsed.problems.len() + parsed.more_problems
        })
        .sum();
    Some(Found {
        step,
        phase,
        digest: conversation::digest_of_texts(texts.iter().copied()),
        messages: u32::try_from(texts.len()).unwrap_or(u32::MAX),
        bytes: texts.iter().map(|(_, text)| text.len() as u64).sum(),
        malformed: u32::try_from(malformed).unwrap_or(u32::MAX),
        sketch: Sketch::of(&turn.response),
    })
}
