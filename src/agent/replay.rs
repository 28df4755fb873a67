//! Playing recorded actions again on a fresh world, frame by frame against the record.

use std::sync::Arc;

use super::episode::{Carry, Previous};
use crate::env::{World, WorldError};
use crate::scaffold::hooks::StatePatch;
use crate::store::{Reader, StoreError};
use crate::types::{Action, ActionBy, Body, EpisodeNo, Event, Frame, StepNo};

/// The first thing that is not as recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Differs {
    pub(super) step: StepNo,
    pub(super) field: &'static str,
    pub(super) recorded: String,
    pub(super) simulated: String,
}

/// Why a replay ended early.
pub(super) enum ReplayError {
    Store(StoreError),
    World(WorldError),
    Differs(Differs),
    /// The record is not in the order that every run has.
    Incomplete(String),
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Where a replay stands at the end of the record.
pub(super) struct Replayed {
    /// Finished steps.
    pub(super) steps: u32,
    /// What the world shows now; `None` when the episode could not begin.
    pub(super) frame: Option<Arc<Frame>>,
    pub(super) carry: Carry,
}

/// The step that is being put together.
#[derive(Default)]
struct Step {
    action: Option<(String, String, ActionBy)>,
    failed: bool,
}

/// Replays an episode on `world`. `tick` hears of every step and may end it by giving false.
pub(super) fn replay(
    reader: &Reader,
    episode: EpisodeNo,
    seed: u64,
    world: &mut dyn World,
    tick: &mut dyn FnMut(StepNo) -> bool,
) -> Result<Replayed, ReplayError> {
    let mut done = Replayed {
        steps: 0,
        frame: None,
        carry: Carry::default(),
    };
    let mut step = Step::default();
    for event in reader.episode_events(episode)? {
        let Event { at, body } = event?;
        match body {
            Body::Observed { frame } => {
                if done.frame.is_none() {
                    done.frame = Some(Arc::new(world.reset(seed).map_err(ReplayError::World)?));
                }
                compare(at.step, &frame, done.frame.as_deref())?;
            }
            Body::ModelFailed { retried: false, .. } => step.failed = true,
            Body::ActionCommitted { raw, validated, by, .. } => step.action = Some((raw, validated, by)),
            Body::AdapterChanged { adapter } => done.carry.exchanged = Some(adapter),
            Body::HookFailed { .. } => done.carry.script_failures += 1,
            Body::StepFinished {
                reward, state_patch, ..
            } => {
                if let Some(patch) = state_patch {
                    let patch: StatePatch = serde_json::from_value(patch)
                        .map_err(|error| ReplayError::Incomplete(format!("step {}: {error}", at.step)))?;
                    patch.apply(&mut done.carry.script);
                }
                let (Some((raw, action, by)), Some(before)) = (step.action.take(), done.frame.take()) else {
                    return Err(ReplayError::Incomplete(format!("step {} has no action", at.step)));
                };
                let after = world.step(&Action(action.clone())).map_err(ReplayError::World)?;
                same(at.step, "reward", reward, after.reward)?;
                let previous = Previous {
                    raw,
                    action,
                    invalid: by == ActionBy::Fallback,
                    reward,
                };
                done.carry
                    .advance(&before, &after, previous, std::mem::take(&mut step.failed));
                done.frame = Some(Arc::new(after));
                done.steps = at.step.0 + 1;
                if !tick(at.step) {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(done)
}

fn compare(step: StepNo, recorded: &Frame, simulated: Option<&Frame>) -> Result<(), ReplayError> {
    let Some(simulated) = simulated else {
        return Ok(());
    };
    same(step, "long", &recorded.long, &simulated.long)?;
    same(step, "short", &recorded.short, &simulated.short)?;
    same(step, "reward", recorded.reward, simulated.reward)?;
    same(step, "terminated", recorded.terminated, simulated.terminated)?;
    same(step, "truncated", recorded.truncated, simulated.truncated)?;
    same(step, "progression", recorded.progression, simulated.progression)?;
    same(step, "digest", recorded.digest, simulated.digest)
}

fn same<T: PartialEq + ToString>(
    step: StepNo,
    field: &'static str,
    recorded: T,
    simulated: T,
) -> Result<(), ReplayError> {
    if recorded == simulated {
        return Ok(());
    }
    Err(ReplayError::Differs(Differs {
        step,
        field,
        recorded: recorded.to_string(),
        simulated: simulated.to_string(),
    }))
}
