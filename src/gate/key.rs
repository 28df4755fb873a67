//! When an earlier evaluation may be used again: everything that could change its scores is equal.

use std::path::PathBuf;

use serde::Serialize;

use crate::agent::RunPlan;
use crate::config::Workspace;
use crate::store::{Registry, StoreError};
use crate::types::{Digest, EndReason, EpisodeSummary, ModelRef, RunMeta, Sampling, WorldSpec};

/// What an evaluation's scores depend on. Workers are left out: they change the last bits of what a local model
/// computes, as two runs with equal workers may differ too; bit-exact runs are compared with such alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Key {
    /// Digest of the scaffold's files.
    pub scaffold: Digest,
    /// Who played, with file, quantisation and address.
    pub model: ModelRef,
    /// The memory specialist, with its adapter's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<ModelRef>,
    /// How tokens were drawn, their seed included.
    pub sampling: Sampling,
    /// The world with engine, version, task, rules as they are told, and actions.
    pub world: WorldSpec,
    /// Steps an episode may take.
    pub max_steps: u32,
    /// One episode a seed, in this order.
    pub seeds: Vec<u64>,
    /// Bit-exact repetition.
    pub exact: bool,
}

impl Key {
    /// The key of a recorded run; `None` for a fork, which began elsewhere.
    pub fn of_run(meta: &RunMeta) -> Option<Self> {
        meta.origin.is_none().then(|| Self {
            scaffold: meta.scaffold.digest,
            model: meta.model.clone(),
            specialist: meta.specialist.clone(),
            sampling: meta.sampling,
            world: meta.world.clone(),
            max_steps: meta.max_steps,
            seeds: meta.seeds.clone(),
            exact: meta.exact,
        })
    }

    /// The key of a run that is yet to be played in a world.
    pub fn of_plan(plan: &RunPlan, world: &WorldSpec) -> Self {
        Self {
            scaffold: plan.scaffold.digest(),
            model: plan.model.describe(),
            specialist: plan.specialist.as_ref().map(|specialist| specialist.describe()),
            sampling: plan.sampling_used(),
            world: world.clone(),
            max_steps: plan.max_steps,
            seeds: plan.seeds.clone(),
            exact: plan.exact,
        }
    }
}

/// A finished run of the workspace with an equal key, all of whose episodes have a score; the newest. Runs that a
/// person had a hand in are left out.
///
/// # Errors
/// When the workspace's list of runs cannot be read. A single run that cannot is passed over.
pub fn reusable(workspace: &Workspace, key: &Key) -> Result<Option<PathBuf>, StoreError> {
    for run in Registry::open(workspace)?.runs()? {
        let Ok(content) = run.content else { continue };
        if content.finished
            && !content.live
            && Key::of_run(&content.meta).as_ref() == Some(key)
            && content.episodes.len() == key.seeds.len()
            && content.episodes.iter().all(has_score)
            && !was_touched(&run.path)
        {
            return Ok(Some(run.path));
        }
    }
    Ok(None)
}

/// Whether the episode ended by itself or at its step limit: others have no score.
pub(super) fn has_score(episode: &EpisodeSummary) -> bool {
    matches!(
        episode.end,
        Some(EndReason::Terminated | EndReason::Truncated | EndReason::StepLimit)
    )
}

/// Whether a person acted, spoke or edited memory in it; what cannot be read counts as touched.
fn was_touched(run: &std::path::Path) -> bool {
    let look = || -> Result<bool, StoreError> {
        let reader = crate::store::Reader::open(run)?;
        for episode in reader.episodes()? {
            let marks = reader.timeline(episode.episode, crate::types::StepNo(0))?;
            if marks.iter().any(|mark| mark.marks.has(crate::store::Marks::HUMAN)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    look().unwrap_or(true)
}
