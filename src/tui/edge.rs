//! The edge: carries out effects. Everything that touches files, threads, the agent or the
//! clipboard on behalf of the screen is called from here.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, never};

use super::data::{ControlRequest, ControlView, Data, Effect, Event, StartRequest};
use super::jobs;
use super::loader::{self, Request};
use super::outside::Lookout;
use super::pace::Pace;
use crate::agent::{ControlState, RunHandle};
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::store::Registry;
use crate::types::{Event as RunEvent, RunMeta};

/// A run under way and how fast a program plays it.
pub(super) type Playing = (RunHandle, Option<Pace>);

/// Carries out effects.
pub(super) struct Edge {
    workspace: Workspace,
    events: Sender<Event>,
    loader: Sender<Request>,
    playing: Option<Playing>,
    /// Where a job leaves the run it started.
    started: Arc<Mutex<Option<Playing>>>,
    live: Receiver<RunEvent>,
    search: Cancel,
    filter: Cancel,
    lookout: Option<Lookout>,
    pull: Cancel,
}

/// What only the program's loop can do.
#[derive(Debug, PartialEq)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// Leave.
    Quit,
    /// Suspend to the shell.
    Suspend,
    /// Draw everything anew.
    Clear,
    /// Put text on the clipboard.
    Copy(String),
    /// Save the screen under this name.
    Save(String),
}

impl Edge {
    /// Starts the loader.
    pub(super) fn new(workspace: Workspace, events: Sender<Event>, playing: Option<Playing>) -> std::io::Result<Self> {
        let live = playing.as_ref().map_or_else(never, |(handle, _)| handle.events.clone());
        Ok(Self {
            loader: loader::spawn(events.clone())?,
            workspace,
            events,
            playing,
            started: Arc::default(),
            live,
            search: Cancel::new(),
            filter: Cancel::new(),
            lookout: None,
            pull: Cancel::new(),
        })
    }

    /// What the run of this process tells.
    pub(super) fn live(&self) -> &Receiver<RunEvent> {
        &self.live
    }

    /// The run's news have ended: it is over.
    pub(super) fn live_ended(&mut self) -> Event {
        self.live = never();
        Event::Control(ControlView::Finished)
    }

    /// A job started a run: from now on its news are heard. An earlier one that is over is let go.
    pub(super) fn adopt(&mut self) {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(playing) = started {
            self.live = playing.0.events.clone();
            self.playing = Some(playing);
        }
    }

    /// Carries an effect out, or says what is left to do.
    pub(super) fn carry_out(&mut self, effect: Effect, meta: Option<&Arc<RunMeta>>) -> Left {
        match effect {
            Effect::Quit => return Left::Quit,
            Effect::Suspend => return Left::Suspend,
            Effect::ClearScreen => return Left::Clear,
            Effect::Copy(text) => return Left::Copy(text),
            Effect::SaveScreen(name) => return Left::Save(name),
            Effect::ListRuns => {
                let workspace = self.workspace.clone();
                jobs::spawn(&self.events, move |_| jobs::list(&workspace));
            }
            Effect::Open { path, episode, step } => {
                self.remember(path.clone());
                self.ask(Request::Open { path, episode, step });
            }
            Effect::Load(request) => self.ask(Request::Load(request)),
            Effect::LoadTimeline { episode, from } => self.ask(Request::Timeline { episode, from }),
            Effect::LoadTrail { episode, step } => self.ask(Request::Trail { episode, step }),
            Effect::LoadBlame { episode, step, path } => self.ask(Request::Blame { episode, step, path }),
            Effect::Search { path, text } => {
                self.search.cancel();
                self.search = Cancel::new();
                let cancel = self.search.clone();
                jobs::spawn(&self.events, move |events| jobs::search(path, &text, &cancel, events));
            }
            Effect::CancelSearch => self.search.cancel(),
            Effect::LoadHeat { episode, upto } => self.ask(Request::Heat { episode, upto }),
            Effect::LoadMemoryDiff(wish) => self.ask(Request::MemoryDiff(wish)),
            Effect::Sift { episode, steps, filter } => self.ask(Request::Sift { episode, steps, filter }),
            Effect::Filter { path, filter } => {
                self.filter.cancel();
                self.filter = Cancel::new();
                let cancel = self.filter.clone();
                jobs::spawn(&self.events, move |events| jobs::filter(path, filter, &cancel, events));
            }
            Effect::CancelFilter => self.filter.cancel(),
            Effect::Lookout(path) => {
                self.lookout = path.and_then(|path| Lookout::start(path, self.events.clone()));
            }
            Effect::Diff { against } => {
                if let Some(meta) = meta.cloned() {
                    let workspace = self.workspace.clone();
                    jobs::spawn(&self.events, move |_| jobs::diff(&workspace, &meta.scaffold, against));
                }
            }
            Effect::Control(request) => self.control(request),
            Effect::Start(request) => self.start(request),
            Effect::PullModel(request) => {
                let (workspace, cancel) = (self.workspace.clone(), self.pull.clone());
                jobs::spawn(&self.events, move |events| {
                    jobs::pull_model(&workspace, request, &cancel, events)
                });
            }
            Effect::OpenSample => {
                let workspace = self.workspace.clone();
                jobs::spawn(&self.events, move |_| jobs::sample(&workspace));
            }
        }
        Left::Nothing
    }

    fn ask(&self, request: Request) {
        // A loader that is gone has said why.
        let _ = self.loader.send(request);
    }

    /// The list of runs shall know the run, wherever it lies.
    fn remember(&self, path: PathBuf) {
        let workspace = self.workspace.clone();
        std::thread::spawn(move || {
            // A registry that cannot be written is no reason not to show the run.
            let _ = Registry::open(&workspace).and_then(|registry| registry.register(&path));
        });
    }

    fn control(&mut self, request: ControlRequest) {
        let Some((handle, pace)) = &self.playing else {
            return;
        };
        let controls = &handle.controls;
        match request {
            ControlRequest::Pause => controls.pause(),
            ControlRequest::Resume => controls.resume(),
            ControlRequest::Step => controls.step(),
            ControlRequest::Leave => controls.abort(),
            ControlRequest::Pace(ms) => {
                if let Some(pace) = pace {
                    pace.set(ms);
                }
            }
        }
        let view = match controls.state() {
            ControlState::Running => ControlView::Running,
            ControlState::Paused => ControlView::Paused,
            ControlState::Stopping => ControlView::Stopping,
            ControlState::Finished => ControlView::Finished,
        };
        let _ = self.events.try_send(Event::Control(view));
    }

    fn start(&mut self, request: StartRequest) {
        let (workspace, started) = (self.workspace.clone(), Arc::clone(&self.started));
        jobs::spawn(&self.events, move |_| match jobs::start(&workspace, &request) {
            Ok(playing) => {
                let path = playing.0.run.clone();
                let paced = playing.1.is_some();
                *started.lock().unwrap_or_else(PoisonError::into_inner) = Some(playing);
                Data::Started { path, paced }
            }
            Err(error) => Data::Failed(format!("{error:#}")),
        });
    }

    /// Lets everything go; gives the run that was played last, whose worker may still be closing
    /// its record.
    pub(super) fn close(mut self) -> Option<RunHandle> {
        self.search.cancel();
        self.filter.cancel();
        self.lookout = None;
        self.pull.cancel();
        self.live = never();
        self.playing.take().map(|(handle, _)| handle)
    }
}
