//! A whole run measured: numbers, findings, and what its failures go back to.
//!
//! Owns the pass over the record, which goes on from where it stopped when the run has grown. The folds
//! themselves know nothing of files.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fault::{self, Fault};
use super::finding::Finding;
use super::findings::{self, Case};
use super::metrics::{Course, EpisodeMetrics, Meter, RunMetrics, together};
use crate::env;
use crate::jobs::Cancel;
use crate::store::{Kinds, Progress, Reader, StoreError};
use crate::types::{EpisodeNo, RunMeta, StepNo};

/// What a look at a whole run gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The run in numbers.
    pub metrics: RunMetrics,
    /// Named problems, the worst first.
    pub findings: Vec<Finding>,
    /// Failures, each with the memory decisions that led to it.
    pub faults: Vec<Fault>,
}

/// Findings and faults of episodes that were measured.
pub fn conclude(meters: &[(EpisodeNo, Meter)]) -> (Vec<Finding>, Vec<Fault>) {
    let metrics = together(meters.iter().map(|(_, meter)| meter));
    let case = Case {
        meters,
        metrics: &metrics,
    };
    (findings::find(&case), fault::trace(meters))
}

/// Measures a run, finished or live (as far as it is committed).
///
/// # Errors
/// When there is no such run, it is damaged, or the work is cancelled.
pub fn analyse(run: &Path, cancel: &Cancel, progress: &mut dyn FnMut(Progress)) -> Result<Analysis, StoreError> {
    let mut analyst = Analyst::new(run);
    analyst.go_on(cancel, progress)?;
    Ok(analyst.analysis())
}

/// Measures a run that may grow: each look takes in only what is new.
#[derive(Debug)]
pub struct Analyst {
    path: PathBuf,
    /// Whose run it is; `None` before the first look.
    run: Option<RunMetrics>,
    meters: Vec<(EpisodeNo, Meter)>,
    /// For each of them: the world's seed, the first step that was not looked at, the numbers over its steps.
    episodes: Vec<(u64, StepNo, Course)>,
}

impl Analyst {
    /// An analyst of a run at which nobody has looked yet.
    pub fn new(run: &Path) -> Self {
        Self {
            path: run.to_owned(),
            run: None,
            meters: Vec::new(),
            episodes: Vec::new(),
        }
    }

    /// The run's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in what was committed since the last look. After an error it goes on from where it stopped.
    ///
    /// # Errors
    /// When there is no such run, it is damaged, or the work is cancelled.
    pub fn go_on(&mut self, cancel: &Cancel, progress: &mut dyn FnMut(Progress)) -> Result<(), StoreError> {
        // Opened anew each time, so that the file is not held while its writer wants to close it.
        let reader = Reader::open(&self.path)?;
        let things = env::things(&reader.meta().world.name);
        self.run.get_or_insert_with(|| head(&self.path, reader.meta()));
        let seeds = reader.episodes()?;
        let (meters, episodes, path) = (&mut self.meters, &mut self.episodes, &self.path);
        let begun: Vec<_> = meters.iter().zip(&*episodes).map(|(m, e)| (m.0, e.1)).collect();
        let from = |episode| {
            begun
                .iter()
                .find(|(known, _)| *known == episode)
                .map_or(StepNo(0), |(_, step)| *step)
        };
        reader.each_step(Kinds::ALL, &from, cancel, progress, &mut |episode, step, events| {
            let at = match meters.binary_search_by_key(&episode, |(known, _)| *known) {
                Ok(at) => at,
                Err(at) => {
                    let seed = seeds
                        .iter()
                        .find(|one| one.episode == episode)
                        .map_or(0, |one| one.seed);
                    meters.insert(at, (episode, Meter::new(things)));
                    episodes.insert(at, (seed, StepNo(0), Course::default()));
                    at
                }
            };
            let (Some((_, meter)), Some((_, next, course))) = (meters.get_mut(at), episodes.get_mut(at)) else {
                return Ok(());
            };
            for event in events {
                meter.push(&event).map_err(|error| StoreError::Corrupt {
                    path: path.clone(),
                    what: format!("step {step} of episode {episode}: {error}"),
                })?;
            }
            *next = step.next();
            course.note(step, meter);
            Ok(())
        })
    }

    /// What is known so far.
    pub fn analysis(&self) -> Analysis {
        let (findings, faults) = conclude(&self.meters);
        let episodes = self
            .meters
            .iter()
            .zip(&self.episodes)
            .map(|((episode, meter), (seed, ..))| {
                let metrics = meter.metrics();
                EpisodeMetrics {
                    episode: *episode,
                    seed: *seed,
                    steps: metrics.steps,
                    metrics,
                }
            });
        let mut metrics = self.run.clone().unwrap_or_default();
        metrics.metrics = together(self.meters.iter().map(|(_, meter)| meter));
        metrics.episodes = episodes.collect();
        Analysis {
            metrics,
            findings,
            faults,
        }
    }

    /// The numbers of an episode over its steps; `None` when it is not known.
    pub fn course(&self, episode: EpisodeNo) -> Option<&Course> {
        let at = self.meters.binary_search_by_key(&episode, |(known, _)| *known).ok()?;
        self.episodes.get(at).map(|(.., course)| course)
    }
}

fn head(path: &Path, meta: &RunMeta) -> RunMetrics {
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    RunMetrics {
        run: name.unwrap_or_else(|| meta.id.to_string()),
        scaffold: meta.scaffold.name.clone(),
        model: meta.model.name.clone(),
        ..RunMetrics::default()
    }
}
