//! Going on with a run that was interrupted: its actions are replayed on a fresh world, its memory
//! is rebuilt from the record, and the next step is played as if nothing had happened.

use std::path::Path;
use std::sync::Arc;

use super::episode::Start;
use super::error::AgentError;
use super::handoff::ADAPTER_DIGEST;
use super::models::{self, Models};
use super::replay::{ReplayError, replay};
use super::run::{OpenWorld, Parts, RunHandle, launch, memory_folder};
use super::worker::{Job, place};
use crate::env::{self, Address, World};
use crate::llm::{ChatModel, ModelOptions};
use crate::scaffold::Scaffold;
use crate::store::{Reader, Writer};
use crate::types::{Body, EpisodeNo, EpisodeState, EpisodeSummary, MemoryFiles, ModelRef, RunMeta, StepNo};

/// Goes on with the open episodes of a run, and with those that have not begun. Returns once the
/// recorded part is replayed.
///
/// # Errors
/// When the run is finished, damaged or being written; when the world of this program does not
/// answer the recorded actions as it did.
pub fn resume(
    path: &Path,
    model: Arc<dyn ChatModel>,
    specialist: Option<Arc<dyn ChatModel>>,
) -> Result<RunHandle, AgentError> {
    let address = Address::of(&Reader::open(path)?.meta().world).to_string();
    resume_in(path, (model, specialist), Arc::new(move || env::open(&address)))
}

/// Opens the specialist that a run goes on with: the one that is given (`none` leaves all to the base), else the one of its
/// last recorded step. `None` for a run that goes on with one model.
///
/// # Errors
/// When it is not found by its recorded name, is another one now, or cannot be used with the base.
pub fn open_recorded_specialist(
    run: &Path,
    base: &Arc<dyn ChatModel>,
    given: Option<&str>,
    options: &ModelOptions,
) -> Result<Option<Arc<dyn ChatModel>>, AgentError> {
    let reader = Reader::open(run)?;
    let world = reader.meta().world.name.clone();
    if given.is_some() {
        let opened = models::wanted(given).map(|spec| models::open_specialist(base, spec, &world, options));
        return Ok(opened.transpose()?);
    }
    let Some(recorded) = specialist_at_end(&reader)? else {
        return Ok(None);
    };
    let lost = |cause: String| AgentError::Specialist {
        name: recorded.name.clone(),
        cause,
    };
    let spec = models::spec_of(&recorded).ok_or_else(|| {
        lost(format!(
            "which is not found by its name (it was of the kind {})",
            recorded.backend
        ))
    })?;
    let opened = models::open_specialist(base, &spec, &world, options)
        .map_err(|error| lost(format!("which cannot be opened: {error}")))?;
    let digest = |model: &ModelRef| model.details.get(ADAPTER_DIGEST).cloned();
    if digest(&recorded).is_some_and(|known| digest(&opened.describe()) != Some(known)) {
        return Err(lost("but what has this name now is another adapter".to_owned()));
    }
    Ok(Some(opened))
}

/// The specialist of the last recorded step.
fn specialist_at_end(reader: &Reader) -> Result<Option<ModelRef>, AgentError> {
    let first = reader.meta().specialist.clone();
    // Every episode records the specialist it does not begin with.
    let Some(last) = reader.episodes()?.last().map(|summary| summary.episode) else {
        return Ok(first);
    };
    let mut exchanged = None;
    for event in reader.episode_events(last)? {
        if let Body::AdapterChanged { adapter } = event?.body {
            exchanged = Some(adapter);
        }
    }
    Ok(match exchanged {
        None => first,
        Some(None) => None,
        Some(Some(name)) => Some(first.filter(|first| first.name == name).unwrap_or(ModelRef {
            // An adapter of the workspace, as far as the record of an exchange tells.
            name,
            backend: "llama".to_owned(),
            is_llm: true,
            details: std::collections::BTreeMap::new(),
        })),
    })
}

/// As [`resume`], with worlds that the caller makes.
fn resume_in(path: &Path, models: Models, open_world: OpenWorld) -> Result<RunHandle, AgentError> {
    let reader = Reader::open(path)?;
    let meta = reader.meta().clone();
    let episodes = reader.episodes()?;
    let mut jobs = Vec::new();
    for (n, seed) in (0..).zip(&meta.seeds) {
        let episode = EpisodeNo(n);
        match episodes.iter().find(|summary| summary.episode == episode) {
            None => jobs.push(Job::fresh(episode, *seed)),
            Some(summary) if summary.state == EpisodeState::Open => {
                jobs.push(reopened(&reader, &meta, summary, open_world()?)?);
            }
            Some(_) => {}
        }
    }
    if reader.is_finished() || (jobs.is_empty() && episodes.is_empty()) {
        return Err(AgentError::Finished(path.to_owned()));
    }
    let scaffold = Scaffold::from_files(meta.scaffold.files.clone())?;
    drop(reader);
    let memory_root = memory_folder(path);
    std::fs::create_dir_all(&memory_root).map_err(|source| AgentError::Folder {
        path: memory_root.clone(),
        source,
    })?;
    let parts = Parts {
        scaffold,
        model: models.0,
        specialist: models.1,
        writer: Writer::reopen(path)?,
        memory_root,
        first: None,
    };
    Ok(launch(path, meta, parts, jobs, Vec::new(), open_world))
}

fn reopened(
    reader: &Reader,
    meta: &RunMeta,
    summary: &EpisodeSummary,
    mut world: Box<dyn World>,
) -> Result<Job, AgentError> {
    let episode = summary.episode;
    let here = engine(world.spec());
    let replayed =
        replay(reader, episode, summary.seed, world.as_mut(), &mut |_| true).map_err(|error| match error {
            ReplayError::Store(error) => AgentError::Store(error),
            ReplayError::World(error) => AgentError::World(error),
            ReplayError::Incomplete(what) => AgentError::Incomplete { episode, what },
            ReplayError::Differs(differs) => AgentError::WorldDiffers {
                episode,
                step: differs.step,
                what: differs.field,
                recorded: engine(&meta.world),
                here,
            },
        })?;
    let Some(frame) = replayed.frame else {
        let what = "its first observation is not recorded".to_owned();
        return Err(AgentError::Incomplete { episode, what });
    };
    let step = StepNo(replayed.steps);
    let memory = match step.previous() {
        Some(last) => reader
            .memory_at(episode, last)?
            .files
            .iter()
            .map(|(path, file)| (path.clone(), Arc::clone(&file.text)))
            .collect(),
        None => MemoryFiles::new(),
    };
    Ok(Job {
        episode,
        seed: summary.seed,
        resume: Some(Start {
            at: place(episode, step),
            seed: summary.seed,
            world,
            frame,
            memory,
            resumed: true,
            carry: replayed.carry,
        }),
    })
}

fn engine(spec: &crate::types::WorldSpec) -> String {
    format!("{} {} {}", spec.name, spec.engine, spec.engine_version)
}
