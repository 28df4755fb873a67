//! Checking a run against the world: the recorded actions must lead to the recorded observations.

use std::path::Path;

use serde::Serialize;

use super::error::AgentError;
use super::replay::{Differs, ReplayError, replay};
use super::run::OpenWorld;
use crate::env::{self, Address};
use crate::jobs::Cancel;
use crate::store::{Reader, StoreError};
use crate::types::{EpisodeNo, StepNo};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyReport {
    /// Every observation is as recorded.
    pub ok: bool,
    /// Steps that were played again.
    pub steps: u64,
    /// The first thing that is not.
    pub first_difference: Option<Difference>,
}

/// Where record and world part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The episode.
    pub episode: EpisodeNo,
    /// The step.
    pub step: StepNo,
    /// `long`, `short`, `reward`, `terminated`, `truncated`, `progression`, `digest`, or `world` when it failed.
    pub field: String,
    /// What is recorded.
    pub recorded: String,
    /// What the world gives now.
    pub simulated: String,
}

/// How far a check has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    /// The episode.
    pub episode: EpisodeNo,
    /// Steps played again, over all episodes.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
}

/// Plays every episode again and compares every observation. Ends at the first difference.
///
/// # Errors
/// When the file cannot be read, the world does not exist here, or the check was cancelled.
pub fn verify(
    path: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport, AgentError> {
    let address = Address::of(&Reader::open(path)?.meta().world).to_string();
    verify_in(path, std::sync::Arc::new(move || env::open(&address)), cancel, progress)
}

/// As [`verify`], with worlds that the caller makes.
///
/// # Errors
/// As [`verify`].
pub fn verify_in(
    path: &Path,
    open_world: OpenWorld,
    cancel: &Cancel,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport, AgentError> {
    let reader = Reader::open(path)?;
    let episodes = reader.episodes()?;
    let total = episodes.iter().map(|episode| u64::from(episode.steps)).sum();
    let mut world = open_world()?;
    let mut steps = 0;
    for summary in &episodes {
        let episode = summary.episode;
        let mut tick = |_: StepNo| {
            steps += 1;
            progress(VerifyProgress {
                episode,
                done: steps,
                total,
            });
            !cancel.is_cancelled()
        };
        let played = replay(&reader, episode, summary.seed, world.as_mut(), &mut tick);
        if cancel.is_cancelled() {
            return Err(AgentError::Store(StoreError::Cancelled));
        }
        let differs = match played {
            Ok(_) => continue,
            Err(ReplayError::Store(error)) => return Err(AgentError::Store(error)),
            Err(ReplayError::Differs(differs)) => differs,
            Err(ReplayError::World(error)) => Differs {
                step: StepNo(u32::try_from(steps).unwrap_or(u32::MAX)),
                field: "world",
                recorded: "an answer".to_owned(),
                simulated: error.to_string(),
            },
            Err(ReplayError::Incomplete(what)) => return Err(AgentError::Incomplete { episode, what }),
        };
        return Ok(VerifyReport {
            ok: false,
            steps,
            first_difference: Some(Difference {
                episode,
                step: differs.step,
                field: differs.field.to_owned(),
                recorded: differs.recorded,
                simulated: differs.simulated,
            }),
        });
    }
    Ok(VerifyReport {
        ok: true,
        steps,
        first_difference: None,
    })
}
