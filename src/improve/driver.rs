//! Carries out a plan, stage by stage.

use std::error::Error;

use serde::Serialize;

use super::plan::{Plan, Stage, StageKind};
use super::state::{Effect, Event, State};
use crate::agent::Models;
use crate::config::Workspace;
use crate::evolve::session as evolve;
use crate::evolve::{Reviser, session::Setup as EvolveSetup};
use crate::gate::ledger::{Ledger, Row};
use crate::jobs::Cancel;
use crate::store::{Claim, Journal, StoreError};
use crate::tune::session as tune;
use crate::tune::session::{Backends, Setup as TuneSetup};

/// Why something could not be opened.
type Refusal = Box<dyn Error + Send + Sync>;
/// Who plays an optimization, and who revises.
type Players = (Models, Box<dyn Reviser>);

/// What stages are made from: settings are not known here.
pub trait Open {
    /// What an optimization is asked for.
    ///
    /// # Errors
    /// When it makes no sense.
    fn optimization(&self, plan: &Plan, stage: &Stage, state: &State) -> Result<EvolveSetup, Refusal>;
    /// Who works on it.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    fn players(&self, setup: &EvolveSetup) -> Result<Players, Refusal>;
    /// What a tuning is asked for.
    ///
    /// # Errors
    /// When it makes no sense.
    fn tuning(&self, plan: &Plan, stage: &Stage, state: &State) -> Result<TuneSetup, Refusal>;
    /// Who works on it.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    fn backends(&self, setup: &TuneSetup, stage: &Stage) -> Result<Backends, Refusal>;
}

/// What is told meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "improve", rename_all = "snake_case")]
pub enum ImproveNews {
    /// It begins or goes on.
    Improving {
        /// Its name.
        name: String,
        /// Where it stands.
        stage: String,
    },
    /// Of the optimization under way.
    Optimize {
        /// What.
        #[serde(flatten)]
        news: evolve::News,
    },
    /// Of the tuning under way.
    Tune {
        /// What.
        #[serde(flatten)]
        news: tune::News,
    },
    /// A stage is over.
    Reached {
        /// The scaffold to go on with.
        scaffold: String,
        /// The specialist to go on with.
        specialist: Option<String>,
    },
    /// All stages are over.
    Done,
}

/// Why an improvement does not go on. What was reached is kept.
#[derive(Debug, thiserror::Error)]
pub enum ImproveError {
    /// There is no such improvement.
    #[error("there is no improvement `{name}`; {there}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        there: String,
    },
    /// Another process works on it.
    #[error("another automem process works on {0}; stop that one first")]
    Busy(String),
    /// The workspace's database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stage could not be opened.
    #[error("{0}")]
    Open(String),
    /// An optimization.
    #[error(transparent)]
    Optimize(#[from] evolve::SessionError),
    /// A tuning.
    #[error(transparent)]
    Tune(#[from] tune::SessionError),
}

impl ImproveError {
    /// Whether it was only cancelled.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Optimize(error) => error.is_cancelled(),
            Self::Tune(error) => error.is_cancelled(),
            _ => false,
        }
    }
}

fn open(refusal: Refusal) -> ImproveError {
    ImproveError::Open(refusal.to_string())
}

fn journal(workspace: &Workspace) -> Result<Journal<Event>, StoreError> {
    Journal::open(workspace, "improvements")
}

/// An improvement with its state.
pub type Listed = crate::store::Listed<State>;

/// An improvement by name.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn one(workspace: &Workspace, name: &str) -> Result<Listed, ImproveError> {
    let journal = journal(workspace)?;
    match journal.listed(name, State::of)? {
        Some(listed) => Ok(listed),
        None => Err(ImproveError::Unknown {
            name: name.to_owned(),
            there: journal.there("there are none yet; `automem improve --plan PLAN.toml` begins one")?,
        }),
    }
}

/// All improvements, the newest first.
///
/// # Errors
/// When one cannot be read.
pub fn list(workspace: &Workspace) -> Result<Vec<Listed>, ImproveError> {
    let names = journal(workspace)?.names()?;
    names.iter().map(|name| one(workspace, name)).collect()
}

/// The gates of an improvement's stages in their order: one ledger for both loops.
///
/// # Errors
/// When the ledger cannot be read.
pub fn rows(workspace: &Workspace, state: &State) -> Result<Vec<Row>, StoreError> {
    let mut rows = Ledger::of(workspace).rows()?.0;
    let names = state.done.iter().map(|(_, name)| name).chain(&state.running);
    let names: Vec<&String> = names.collect();
    rows.retain(|row| names.contains(&&row.optimization));
    Ok(rows)
}

/// An improvement at work. One process an improvement.
pub struct Improvement {
    workspace: Workspace,
    name: String,
    journal: Journal<Event>,
    state: State,
    cancel: Cancel,
    _claim: Claim,
}

impl Improvement {
    /// Begins; the plan is written down first.
    ///
    /// # Errors
    /// When the workspace cannot be written.
    pub fn begin(workspace: &Workspace, plan: &Plan, cancel: Cancel) -> Result<Self, ImproveError> {
        let event = Event::Started {
            plan: Box::new(plan.clone()),
        };
        let name = journal(workspace)?.begin(&plan.name, &event)?;
        Self::resume(workspace, &name, cancel)
    }

    /// Goes on.
    ///
    /// # Errors
    /// When there is none of that name, or another process works on it.
    pub fn resume(workspace: &Workspace, name: &str, cancel: Cancel) -> Result<Self, ImproveError> {
        one(workspace, name)?;
        let busy = || ImproveError::Busy(name.to_owned());
        let claim = Claim::take(workspace, &format!("improve-{name}"))?.ok_or_else(busy)?;
        // Read again under the claim.
        let state = one(workspace, name)?.state;
        Ok(Self {
            journal: journal(workspace)?,
            workspace: workspace.clone(),
            name: name.to_owned(),
            state,
            cancel,
            _claim: claim,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Works until all stages are over.
    ///
    /// # Errors
    /// When a stage fails or is cancelled; [`Improvement::resume`] goes on with it.
    pub fn run(&mut self, from: &dyn Open, news: &mut dyn FnMut(ImproveNews)) -> Result<(), ImproveError> {
        loop {
            news(ImproveNews::Improving {
                name: self.name.clone(),
                stage: self.state.word(),
            });
            match self.state.next() {
                Effect::Begin { stage } => match stage.kind {
                    StageKind::Optimize => self.optimize(&stage, None, from, news)?,
                    StageKind::Tune => self.tune(&stage, None, from, news)?,
                },
                Effect::GoOn { stage, name } => match stage.kind {
                    StageKind::Optimize => self.optimize(&stage, Some(&name), from, news)?,
                    StageKind::Tune => self.tune(&stage, Some(&name), from, news)?,
                },
                Effect::End => {
                    news(ImproveNews::Done);
                    return Ok(());
                }
            }
        }
    }

    fn note(&mut self, event: Event) -> Result<(), ImproveError> {
        self.journal.append(&self.name, &event)?;
        self.state.take(event);
        Ok(())
    }

    fn optimize(
        &mut self,
        stage: &Stage,
        name: Option<&str>,
        from: &dyn Open,
        news: &mut dyn FnMut(ImproveNews),
    ) -> Result<(), ImproveError> {
        let setup = match name {
            Some(name) => evolve::Log::open(&self.workspace)?.one(name)?.state.setup,
            None => from.optimization(&self.state.plan, stage, &self.state).map_err(open)?,
        };
        let (models, reviser) = from.players(&setup).map_err(open)?;
        let cancel = self.cancel.clone();
        let mut session = match name {
            Some(name) => evolve::Session::resume(&self.workspace, name, models, reviser, cancel)?,
            None => {
                let session = evolve::Session::begin(&self.workspace, &setup, models, reviser, cancel)?;
                let name = session.name().to_owned();
                self.note(Event::Begun { name })?;
                session
            }
        };
        session.run(&mut |told| news(ImproveNews::Optimize { news: told }))?;
        let scaffold = match session.state().promoted.is_empty() {
            true => self.state.scaffold.clone(),
            false => setup.line,
        };
        self.over(scaffold, self.state.specialist.clone(), news)
    }

    fn tune(
        &mut self,
        stage: &Stage,
        name: Option<&str>,
        from: &dyn Open,
        news: &mut dyn FnMut(ImproveNews),
    ) -> Result<(), ImproveError> {
        let setup = match name {
            Some(name) => tune::Log::open(&self.workspace)?.one(name)?.state.setup,
            None => from.tuning(&self.state.plan, stage, &self.state).map_err(open)?,
        };
        let backends = from.backends(&setup, stage).map_err(open)?;
        let cancel = self.cancel.clone();
        let mut session = match name {
            Some(name) => tune::Session::resume(&self.workspace, name, backends, cancel)?,
            None => {
                let session = tune::Session::begin(&self.workspace, &setup, backends, cancel)?;
                let name = session.name().to_owned();
                self.note(Event::Begun { name })?;
                session
            }
        };
        session.run(&mut |told| news(ImproveNews::Tune { news: told }))?;
        let best = session.state().best.as_ref();
        let specialist = best.map(|best| best.file.display().to_string());
        self.over(
            self.state.scaffold.clone(),
            specialist.or_else(|| self.state.specialist.clone()),
            news,
        )
    }

    fn over(
        &mut self,
        scaffold: String,
        specialist: Option<String>,
        news: &mut dyn FnMut(ImproveNews),
    ) -> Result<(), ImproveError> {
        news(ImproveNews::Reached {
            scaffold: scaffold.clone(),
            specialist: specialist.clone(),
        });
        self.note(Event::Over { scaffold, specialist })
    }
}
