//! Starting a run: from a plan to worker threads, and what comes back when they are done.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use serde::Serialize;

use super::controls::Controls;
use super::error::AgentError;
use super::recorder::Recorder;
use super::shared::{self, PhaseSetup, Shared};
use super::worker::{self, Job};
use crate::env::{self, World, WorldError};
use crate::llm::ChatModel;
use crate::scaffold::Scaffold;
use crate::store::{Reader, Writer};
use crate::types::{AgentName, At, Body, EpisodeNo, EpisodeSummary, Event, Phase, RunId, RunMeta, Sampling, StepNo};

/// Events a viewer may be behind before the run waits for it.
const LIVE_EVENTS: usize = 4096;

/// What to play.
#[derive(Clone)]
pub struct RunPlan {
    /// The world's [`Address`](crate::env::Address).
    pub world: String,
    /// Prompts, budgets, memory files.
    pub scaffold: Scaffold,
    /// Who plays; the gameplay model when there is a specialist.
    pub model: Arc<dyn ChatModel>,
    /// The memory specialist, which answers LOG and consults memory in PLAN; `None` for one model.
    pub specialist: Option<Arc<dyn ChatModel>>,
    /// One episode a seed.
    pub seeds: Vec<u64>,
    /// Agent steps an episode may take.
    pub max_steps: u32,
    /// Episodes played at once.
    pub workers: u32,
    /// How tokens are drawn where the scaffold has no wish of its own; its seed is the run's.
    pub sampling: Sampling,
    /// Bit-exact repetition is wanted: one worker.
    pub exact: bool,
    /// The run file, which must not exist.
    pub out: PathBuf,
}

impl RunPlan {
    /// How tokens are drawn: the scaffold's wishes over the plan's.
    pub fn sampling_used(&self) -> Sampling {
        shared::sampling(self.scaffold.manifest(), self.sampling)
    }
}

/// How to get a world; called once a worker.
pub type OpenWorld = Arc<dyn Fn() -> Result<Box<dyn World>, WorldError> + Send + Sync>;

/// A run under way.
#[derive(Debug)]
pub struct RunHandle {
    /// The run file.
    pub run: PathBuf,
    /// Pause, step, resume, stop.
    pub controls: Controls,
    /// What happens, step by step after it was committed, with a model's words in between.
    /// A viewer that keeps this must read it: the run waits for it. Drop it to let the run go on unseen.
    pub events: Receiver<Event>,
    worker: JoinHandle<Result<(), AgentError>>,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The run file.
    pub run: String,
    /// Its episodes.
    pub episodes: Vec<EpisodeSummary>,
    /// Mean of their scores, 0 to 1.
    pub mean_progression: f64,
}

impl RunReport {
    /// The report of a run file, finished or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(run: &Path) -> Result<Self, AgentError> {
        let episodes = Reader::open(run)?.episodes()?;
        let sum: f64 = episodes.iter().map(|episode| episode.progression).sum();
        Ok(Self {
            run: run.display().to_string(),
            mean_progression: if episodes.is_empty() {
                0.0
            } else {
                sum / episodes.len() as f64
            },
            episodes,
        })
    }
}

impl RunHandle {
    /// Waits until the run is over and closed. Lets go of [`RunHandle::events`].
    ///
    /// # Errors
    /// When the run could not be recorded or a worker broke down; what was committed is safe.
    pub fn wait(self) -> Result<RunReport, AgentError> {
        let Self {
            run, events, worker, ..
        } = self;
        drop(events);
        worker
            .join()
            .map_err(|panic| AgentError::Worker(worker::panic_text(&*panic)))??;
        RunReport::of(&run)
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.worker.is_finished()
    }
}

/// Where the memory directories of a run lie: `RUN.memory` beside `RUN.db`.
pub fn memory_folder(run: &Path) -> PathBuf {
    run.with_extension("memory")
}

/// Creates the run file and starts to play.
///
/// # Errors
/// When the plan makes no sense, the world or scaffold does not fit, or nothing can be written there.
pub fn start(plan: RunPlan) -> Result<RunHandle, AgentError> {
    let address = plan.world.clone();
    start_in(plan, Arc::new(move || env::open(&address)))
}

/// As [`start`], with worlds that the caller makes.
///
/// # Errors
/// As [`start`].
pub fn start_in(plan: RunPlan, open_world: OpenWorld) -> Result<RunHandle, AgentError> {
    check(&plan)?;
    let world = open_world()?;
    let manifest = plan.scaffold.manifest();
    if manifest.env != world.spec().name {
        let what = format!(
            "the scaffold {} is for {}, not for {}",
            manifest.name,
            manifest.env,
            world.spec().name
        );
        let next = "choose a scaffold for this world (`automem scaffold list`)";
        return Err(AgentError::plan(what, next));
    }
    let meta = meta(&plan, world.spec().clone());
    let memory_root = memory_folder(&plan.out);
    // A link that leads nowhere is in the way too.
    if std::fs::symlink_metadata(&plan.out).is_ok() {
        return Err(AgentError::Exists(plan.out));
    }
    if std::fs::symlink_metadata(&memory_root).is_ok() {
        return Err(AgentError::MemoryExists(memory_root));
    }
    let mut writer = Writer::create(&plan.out, &meta)?;
    let started = run_event(Body::RunStarted {
        meta: Box::new(meta.clone()),
    });
    writer.commit(std::slice::from_ref(&started))?;
    std::fs::create_dir_all(&memory_root).map_err(|source| AgentError::Folder {
        path: memory_root.clone(),
        source,
    })?;
    let jobs = (0..)
        .zip(&plan.seeds)
        .map(|(n, seed)| Job::fresh(EpisodeNo(n), *seed))
        .collect();
    let parts = Parts {
        scaffold: plan.scaffold,
        model: plan.model,
        specialist: plan.specialist,
        writer,
        memory_root,
        first: Some(started),
    };
    Ok(launch(&plan.out, meta, parts, jobs, vec![world], open_world))
}

/// What a run is launched with beside its constants.
pub(super) struct Parts {
    pub(super) scaffold: Scaffold,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) specialist: Option<Arc<dyn ChatModel>>,
    pub(super) writer: Writer,
    pub(super) memory_root: PathBuf,
    /// An event that is committed and not shown yet.
    pub(super) first: Option<Event>,
}

pub(super) fn launch(
    path: &Path,
    meta: RunMeta,
    parts: Parts,
    jobs: Vec<Job>,
    worlds: Vec<Box<dyn World>>,
    open_world: OpenWorld,
) -> RunHandle {
    let controls = Controls::new();
    let (live, events) = crossbeam_channel::bounded(LIVE_EVENTS);
    if let Some(first) = parts.first {
        // The channel is new and empty: there is room.
        drop(live.try_send(first));
    }
    controls.begin_with((Arc::clone(&parts.model), parts.specialist));
    let scaffold = parts.scaffold.for_task(&meta.world.task);
    let manifest = scaffold.manifest();
    let shared = Arc::new(Shared {
        log: PhaseSetup::new(Phase::Log, &scaffold, &meta.world),
        plan: PhaseSetup::new(Phase::Plan, &scaffold, &meta.world),
        vocabulary: scaffold
            .vocabulary()
            .into_iter()
            .map(|op| (op.syntax.name, op))
            .collect(),
        quotas: shared::quotas(manifest),
        model_name: meta.model.name.clone(),
        first_specialist: meta.specialist.clone(),
        sampling: meta.sampling,
        max_steps: meta.max_steps,
        memory_root: parts.memory_root,
        recorder: Recorder::new(parts.writer, live, controls.clone()),
        controls: controls.clone(),
        over: std::sync::Mutex::default(),
        failed: std::sync::Mutex::default(),
        scaffold: scaffold.clone(),
        model: parts.model,
        world: meta.world,
    });
    let worker = worker::spawn(shared, jobs, worlds, meta.workers, open_world);
    RunHandle {
        run: path.to_owned(),
        controls,
        events,
        worker,
    }
}

/// An event of the whole run.
pub(super) fn run_event(body: Body) -> Event {
    Event {
        at: At {
            episode: EpisodeNo(0),
            step: StepNo(0),
            agent: AgentName::from("agent"),
            memory_root: "".into(),
        },
        body,
    }
}

fn check(plan: &RunPlan) -> Result<(), AgentError> {
    if plan.seeds.is_empty() {
        return Err(AgentError::plan(
            "no seeds are given",
            "give --seeds 42 or --seeds 42..45",
        ));
    }
    if plan.max_steps == 0 || plan.workers == 0 {
        let what = "a run needs at least one step and one worker";
        return Err(AgentError::plan(what, "give --max-steps and --workers of 1 or more"));
    }
    if plan.exact && plan.workers > 1 {
        let what = format!("bit-exact repetition is not possible with {} workers", plan.workers);
        return Err(AgentError::plan(what, "leave --exact out, or give --workers 1"));
    }
    Ok(())
}

fn meta(plan: &RunPlan, world: crate::types::WorldSpec) -> RunMeta {
    RunMeta {
        id: RunId(uuid::Uuid::now_v7().to_string().into()),
        created: jiff::Timestamp::now().to_string(),
        automem: env!("CARGO_PKG_VERSION").to_owned(),
        world,
        seeds: plan.seeds.clone(),
        max_steps: plan.max_steps,
        scaffold: plan.scaffold.reference(),
        model: plan.model.describe(),
        specialist: plan.specialist.as_ref().map(|specialist| specialist.describe()),
        sampling: plan.sampling_used(),
        workers: plan.workers,
        exact: plan.exact,
        origin: None,
    }
}
