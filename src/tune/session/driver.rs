//! Carries out what a tuning's state asks for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SessionError;
use super::log::Log;
use super::news::News;
use super::setup::claim;
use super::state::{Effect, Event, Setup, State};
use crate::agent::{self, RunPlan};
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::llm::{ChatModel, ModelOptions};
use crate::review::{Desk, Origin};
use crate::scaffold::Scaffold;
use crate::store::Claim;
use crate::tune::author::Author;
use crate::tune::select::Selector;
use crate::tune::train::{TrainBackend, TrainJob};
use crate::types::Sampling;

/// Whose hand it is in the log of proposals.
pub(super) const HAND: &str = "tune";

/// Who does the work of a tuning.
pub struct Backends {
    /// How models are opened.
    pub models: ModelOptions,
    /// Who trains.
    pub trainer: Box<dyn TrainBackend>,
    /// Who selects, by the recipe's word.
    pub selector: Selector,
    /// Who writes recipes.
    pub author: Box<dyn Author>,
}

/// A tuning at work. One process a tuning.
pub struct Session {
    pub(super) workspace: Workspace,
    pub(super) name: String,
    pub(super) log: Log,
    pub(super) desk: Desk,
    pub(super) state: State,
    pub(super) backends: Backends,
    pub(super) cancel: Cancel,
    _claim: Claim,
}

impl Session {
    /// Begins a tuning; what was asked for is written down first.
    ///
    /// # Errors
    /// When what is asked for makes no sense, or the workspace cannot be written.
    pub fn begin(
        workspace: &Workspace,
        setup: &Setup,
        backends: Backends,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        setup.check(workspace)?;
        let mut log = Log::open(workspace)?;
        let name = log.begin(setup)?;
        Self::resume(workspace, &name, backends, cancel)
    }

    /// Goes on with a tuning.
    ///
    /// # Errors
    /// When there is none, or another process works on it.
    pub fn resume(workspace: &Workspace, name: &str, backends: Backends, cancel: Cancel) -> Result<Self, SessionError> {
        let log = Log::open(workspace)?;
        log.one(name)?;
        let busy = || SessionError::Busy { name: name.to_owned() };
        let held = Claim::take(workspace, &claim(name))?.ok_or_else(busy)?;
        // Read again under the claim.
        let state = log.one(name)?.state;
        Ok(Self {
            desk: Desk::open(workspace)?,
            workspace: workspace.clone(),
            name: name.to_owned(),
            log,
            state,
            backends,
            cancel,
            _claim: held,
        })
    }

    /// Whether a process works on a tuning now.
    pub fn is_at_work(workspace: &Workspace, name: &str) -> bool {
        Claim::is_held(workspace, &claim(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Works until nothing more is to be done.
    ///
    /// # Errors
    /// When something fails that going on would not mend, or it is cancelled. What was reached is kept:
    /// [`Session::resume`] goes on.
    pub fn run(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        news(News::Tuning {
            name: self.name.clone(),
            stage: self.state.word(),
        });
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            match self.state.next() {
                Effect::Trace => self.trace(news)?,
                Effect::Propose => self.propose(news)?,
                Effect::AttendRecipe { recipe } => self.attend_recipe(&recipe, news)?,
                Effect::Reuse { selection } => self.reuse(&selection)?,
                Effect::Select => self.select(news)?,
                Effect::AttendSelection { selection } => self.attend_selection(&selection, news)?,
                Effect::Train { config } => self.train(config, news)?,
                Effect::Judge { config } => self.judge(config, news)?,
                Effect::End { why } => {
                    let best = self.state.best.as_ref();
                    news(News::Over {
                        why,
                        best: best.map(|best| best.file.display().to_string()),
                    });
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn note(&mut self, event: Event) -> Result<(), SessionError> {
        self.log.append(&self.name, &event)?;
        self.state.take(event);
        Ok(())
    }

    /// Ends the iteration early.
    pub(super) fn end(&mut self, why: String, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        news(News::Ended {
            iteration: self.state.iteration,
            why: why.clone(),
        });
        self.note(Event::Ended { why })
    }

    pub(super) fn runs(&self, what: &str) -> PathBuf {
        self.workspace.runs_dir().join(format!("{}-{what}.db", self.name))
    }

    pub(super) fn origin(&self) -> Origin {
        Origin {
            optimization: self.name.clone(),
            iteration: self.state.iteration,
            attempt: 1,
            continues: None,
        }
    }

    pub(super) fn open_player(&self) -> Result<Arc<dyn ChatModel>, SessionError> {
        let setup = &self.state.setup;
        Ok(agent::open_model(&setup.player, &setup.env, &self.backends.models)?)
    }

    pub(super) fn plan(
        &self,
        model: Arc<dyn ChatModel>,
        specialist: Option<Arc<dyn ChatModel>>,
        out: PathBuf,
    ) -> Result<RunPlan, SessionError> {
        let setup = &self.state.setup;
        Ok(RunPlan {
            world: setup.env.clone(),
            scaffold: Scaffold::named(&setup.scaffold, &self.workspace)?,
            model,
            specialist,
            seeds: setup.seeds.clone(),
            max_steps: setup.max_steps,
            workers: setup.workers,
            sampling: Sampling {
                seed: setup.sampling_seed,
                ..Sampling::default()
            },
            exact: false,
            out,
        })
    }

    /// The training of a configuration of the iteration's recipe.
    pub(super) fn job(&self, config: usize, data: &Path) -> Result<TrainJob, SessionError> {
        let setup = &self.state.setup;
        let line = self.state.configs.get(config).map_or("", String::as_str);
        let name = format!("{}-i{}-c{}", self.name, self.state.iteration, config + 1);
        Ok(TrainJob {
            base: setup.base.clone(),
            data: data.to_owned(),
            config: crate::tune::recipe::TrainConfig::parse_line(line)?,
            out: self.workspace.adapters_dir().join(format!("{name}.gguf")),
            folder: self.workspace.trainings_dir().join(&name),
            held_out: setup.held_out,
            threads: setup.threads,
            memory: None,
            name,
        })
    }
}
