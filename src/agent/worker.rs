//! Worker threads: each takes the next episode until there is none, or the run is stopped.

use std::any::Any;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::controls::{ControlState, Gate};
use super::episode::{Carry, Episode, Start};
use super::error::AgentError;
use super::run::{OpenWorld, run_event};
use super::shared::Shared;
use crate::env::World;
use crate::memory::MemoryDir;
use crate::store::StoreError;
use crate::types::{AgentName, At, Body, EndReason, EpisodeNo, Event, MemoryFiles, StepNo};

/// An episode to play.
pub(super) struct Job {
    pub(super) episode: EpisodeNo,
    pub(super) seed: u64,
    /// Where the record ends; `None` for an episode that has not begun.
    pub(super) resume: Option<Start>,
}

impl Job {
    pub(super) fn fresh(episode: EpisodeNo, seed: u64) -> Self {
        Self {
            episode,
            seed,
            resume: None,
        }
    }
}

/// Where an episode stands.
pub(super) fn place(episode: EpisodeNo, step: StepNo) -> At {
    At {
        episode,
        step,
        agent: AgentName::from("agent"),
        memory_root: format!("ep_{:02}", episode.0).into(),
    }
}

type Queue<T> = Arc<Mutex<VecDeque<T>>>;

fn next<T>(queue: &Queue<T>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// Starts the workers and a thread that waits for them and closes the run.
pub(super) fn spawn(
    shared: Arc<Shared>,
    jobs: Vec<Job>,
    worlds: Vec<Box<dyn World>>,
    workers: u32,
    open_world: OpenWorld,
) -> JoinHandle<Result<(), AgentError>> {
    std::thread::spawn(move || {
        let count = jobs.len().min(workers.max(1) as usize);
        let jobs: Queue<Job> = Arc::new(Mutex::new(jobs.into()));
        let worlds: Queue<Box<dyn World>> = Arc::new(Mutex::new(worlds.into()));
        let threads: Vec<_> = (0..count)
            .map(|_| {
                let (shared, jobs, worlds) = (Arc::clone(&shared), Arc::clone(&jobs), Arc::clone(&worlds));
                let open_world = Arc::clone(&open_world);
                std::thread::spawn(move || {
                    let result = work(&shared, &jobs, &worlds, &open_world);
                    if result.is_err() {
                        // Whatever failed here (a full disk) will fail for the others too: leave
                        // their episodes open, so that they can be resumed.
                        shared.controls.abort();
                    }
                    result
                })
            })
            .collect();
        let mut result = Ok(());
        for thread in threads {
            let ended = thread
                .join()
                .unwrap_or_else(|panic| Err(AgentError::Worker(panic_text(&*panic))));
            if result.is_ok() {
                result = ended;
            }
        }
        let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (true, Some(failed)) = (result.is_ok(), failed) {
            result = Err(failed);
        }
        let over = result.is_ok() && !shared.controls.cancel().is_cancelled();
        let ended = end(&shared, over);
        shared.controls.finish();
        ended.map_err(AgentError::Store).and(result)
    })
}

/// Closes the run when it is over; otherwise leaves it to be resumed.
fn end(shared: &Shared, over: bool) -> Result<(), StoreError> {
    // A record that is broken says so at its end.
    let over = over && shared.recorder.commit(vec![run_event(Body::RunFinished)]).is_ok();
    shared.recorder.end(over)?;
    if over {
        let episodes = std::mem::take(&mut *shared.over.lock().unwrap_or_else(PoisonError::into_inner));
        episodes.into_iter().for_each(remove_projection);
        // Goes only when it is empty.
        drop(std::fs::remove_dir(&shared.memory_root));
    }
    Ok(())
}

fn work(
    shared: &Arc<Shared>,
    jobs: &Queue<Job>,
    worlds: &Queue<Box<dyn World>>,
    open_world: &OpenWorld,
) -> Result<(), AgentError> {
    let mut gate = Gate::new(&shared.controls);
    let mut spare: Option<Box<dyn World>> = None;
    while shared.controls.state() != ControlState::Stopping {
        let Some(job) = next(jobs) else { break };
        let start = match job.resume {
            Some(start) => start,
            None => {
                let world = match spare.take().or_else(|| next(worlds)) {
                    Some(world) => world,
                    None => open_world()?,
                };
                match fresh(shared, world, job.episode, job.seed)? {
                    Some(start) => start,
                    None => continue,
                }
            }
        };
        let played = Episode::new(shared, &mut gate, start)?.play()?;
        // A world that failed is not played in again.
        spare = played.memory.is_some().then_some(played.world);
        let mut over = shared.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.extend(played.memory);
    }
    Ok(())
}

/// The start of an episode; `None` when the world could not be reset, which is recorded.
fn fresh(
    shared: &Shared,
    mut world: Box<dyn World>,
    episode: EpisodeNo,
    seed: u64,
) -> Result<Option<Start>, AgentError> {
    let at = place(episode, StepNo(0));
    let memory: MemoryFiles = shared.scaffold.initial_memory();
    match world.reset(seed) {
        Ok(frame) => Ok(Some(Start {
            at,
            seed,
            world,
            frame: Arc::new(frame),
            memory,
            resumed: false,
            carry: Carry::default(),
        })),
        Err(error) => {
            let message = format!("{error}; the episode could not begin");
            let bodies = [
                Body::EpisodeStarted {
                    seed,
                    inherited: memory,
                },
                Body::WorldFailed { message },
                Body::EpisodeFinished { end: EndReason::Failed },
            ];
            let events = bodies.map(|body| Event { at: at.clone(), body });
            shared
                .recorder
                .commit(events.into())
                .map_err(|_| AgentError::broken())?;
            Ok(None)
        }
    }
}

/// Removes the memory directory of an episode that is over: the record has it all. A directory
/// that holds anything else, such as a person's last edit, stays.
fn remove_projection(memory: MemoryDir) {
    let folder = memory.path().to_owned();
    let untouched = memory
        .files()
        .iter()
        .all(|(path, text)| std::fs::read(folder.join(path)).is_ok_and(|bytes| bytes == text.as_bytes()));
    if !untouched {
        return;
    }
    for path in memory.files().keys() {
        drop(std::fs::remove_file(folder.join(path)));
    }
    drop(std::fs::remove_file(folder.join(crate::memory::MARKER)));
    remove_empty(&folder);
}

/// Removes a folder and the empty folders in it.
fn remove_empty(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    drop(std::fs::remove_dir(folder));
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
