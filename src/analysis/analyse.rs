//! A whole run measured: numbers, findings, and what its failures go back to.
//!
//! Owns the one pass over the record. The folds themselves know nothing of files.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fault::{self, Fault};
use super::finding::Finding;
use super::findings::{self, Case};
use super::metrics::{EpisodeMetrics, Meter, RunMetrics, together};
use crate::env;
use crate::jobs::Cancel;
use crate::store::{Kinds, Progress, Reader, StoreError};
use crate::types::EpisodeNo;

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
    let reader = Reader::open(run)?;
    let meta = reader.meta();
    let things = env::things(&meta.world.name);
    let mut meters: Vec<(EpisodeNo, Meter)> = Vec::new();
    reader.each_step(Kinds::ALL, cancel, progress, &mut |episode, step, events| {
        if meters.last().is_none_or(|(last, _)| *last != episode) {
            meters.push((episode, Meter::new(things)));
        }
        let Some((_, meter)) = meters.last_mut() else {
            return Ok(());
        };
        for event in events {
            meter.push(&event).map_err(|error| StoreError::Corrupt {
                path: run.to_owned(),
                what: format!("step {step} of episode {episode}: {error}"),
            })?;
        }
        Ok(())
    })?;
    let summaries = reader.episodes()?;
    let seed_of = |episode| summaries.iter().find(|s| s.episode == episode).map_or(0, |s| s.seed);
    let episodes = meters
        .iter()
        .map(|(episode, meter)| {
            let metrics = meter.metrics();
            EpisodeMetrics {
                episode: *episode,
                seed: seed_of(*episode),
                steps: metrics.steps,
                metrics,
            }
        })
        .collect();
    let name = run.file_stem().map(|name| name.to_string_lossy().into_owned());
    let (findings, faults) = conclude(&meters);
    Ok(Analysis {
        metrics: RunMetrics {
            run: name.unwrap_or_else(|| meta.id.to_string()),
            scaffold: meta.scaffold.name.clone(),
            model: meta.model.name.clone(),
            metrics: together(meters.iter().map(|(_, meter)| meter)),
            episodes,
        },
        findings,
        faults,
    })
}
