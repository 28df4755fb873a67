//! The edge: carries out effects. Everything that touches files, threads, the agent or the
//! clipboard on behalf of the screen is called from here.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};

use super::coloring;
use super::curate::TalkWish;
use super::curating;
use super::data::{Data, EditRequest, Effect, Event, LiveId, StartRequest};
use super::effects::{Ask, ColourRequest, EditOf, LabAsk};
use super::insight;
use super::jobs;
use super::laboratory;
use super::loader::{self, Request};
use super::optimizing;
use super::outside::Lookout;
use super::pictures::{Wanted, encode};
use super::playing::{Played, Playing};
use super::proposals;
use super::specialist::Wish;
use super::theme::Themes;
use super::trainings::Follower;
use crate::agent::RunHandle;
use crate::analysis::Analyst;
use crate::config::{Settings, Workspace};
use crate::jobs::Cancel;
use crate::store::{Leftover, Registry, Trash};
use crate::types::{Event as RunEvent, RunMeta};

/// Carries out effects.
pub(super) struct Edge {
    workspace: Workspace,
    settings: Settings,
    events: Sender<Event>,
    loader: Sender<Request>,
    played: Played,
    /// The number of the next run.
    next: LiveId,
    /// Where jobs leave the runs they started.
    started: Arc<Mutex<Vec<(LiveId, Playing)>>>,
    trash: Arc<Mutex<Trash>>,
    leftovers: Arc<Mutex<Vec<Leftover>>>,
    pictures: Option<encode::Desk>,
    search: Cancel,
    filter: Cancel,
    analysis: Cancel,
    /// What the last run that was measured came to, so that only what is new is measured.
    analyst: Arc<Mutex<Option<Analyst>>>,
    lookout: Option<Lookout>,
    proposals: Sender<Ask>,
    colours: Option<Sender<ColourRequest>>,
    /// Where the hunk that is edited lies.
    hunk: Option<tempfile::TempDir>,
    pull: Cancel,
    /// The specialist that is being loaded.
    exchange: Cancel,
    /// The optimization under way.
    optimization: Cancel,
    trainings: Option<Follower>,
    talks: Option<Sender<TalkWish>>,
    /// The selection that is being made.
    selecting: Cancel,
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
    /// Give the terminal to an editor.
    Edit(EditRequest),
    /// Take the terminal back from it.
    Back,
}

impl Edge {
    /// Starts the loader.
    pub(super) fn new(
        workspace: Workspace,
        settings: Settings,
        events: Sender<Event>,
        playing: Option<Playing>,
    ) -> std::io::Result<Self> {
        let mut played = Played::new();
        if let Some(playing) = playing {
            played.add(LiveId(0), playing);
        }
        Ok(Self {
            loader: loader::spawn(events.clone())?,
            trash: Arc::new(Mutex::new(Trash::new(&workspace))),
            leftovers: Arc::default(),
            pictures: None,
            proposals: proposals::spawn(workspace.clone(), events.clone())?,
            colours: None,
            hunk: None,
            workspace,
            settings,
            events,
            played,
            next: LiveId(1),
            started: Arc::default(),
            search: Cancel::new(),
            filter: Cancel::new(),
            analysis: Cancel::new(),
            analyst: Arc::default(),
            lookout: None,
            pull: Cancel::new(),
            exchange: Cancel::new(),
            optimization: Cancel::new(),
            trainings: None,
            talks: None,
            selecting: Cancel::new(),
        })
    }

    /// Where the runs of this process tell their news.
    pub(super) fn feeds(&self) -> impl Iterator<Item = &Receiver<RunEvent>> {
        self.played.feeds()
    }

    /// What they have told, up to so many events of each.
    pub(super) fn news(&mut self, most: usize) -> Vec<Event> {
        self.played.news(most)
    }

    /// When their speed is to be told next.
    pub(super) fn count_at(&self) -> Option<Instant> {
        self.played.count_at()
    }

    /// Jobs started runs: from now on their news are heard.
    pub(super) fn adopt(&mut self) {
        for (id, playing) in locked(&self.started).drain(..) {
            self.played.add(id, playing);
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
            Effect::TakeBack => return Left::Back,
            Effect::Edit(request) => return self.edit(request),
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
            Effect::LoadMap { episode, step } => self.ask(Request::Map { episode, step }),
            Effect::Picture(wanted) => self.picture(wanted),
            Effect::LoadBlame { episode, step, path } => self.ask(Request::Blame { episode, step, path }),
            Effect::Search { path, text } => {
                self.search.cancel();
                self.search = Cancel::new();
                let cancel = self.search.clone();
                jobs::spawn(&self.events, move |events| jobs::search(path, &text, &cancel, events));
            }
            Effect::CancelSearch => self.search.cancel(),
            Effect::Analyse { path, episode } => {
                self.analysis.cancel();
                self.analysis = Cancel::new();
                let (cancel, analyst) = (self.analysis.clone(), Arc::clone(&self.analyst));
                jobs::spawn(&self.events, move |events| {
                    insight::measure(path, episode, &mut locked(&analyst), &cancel, events)
                });
            }
            Effect::CancelAnalysis => self.analysis.cancel(),
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
            Effect::Control(id, request) => {
                if let Some(view) = self.played.control(id, request) {
                    let _ = self.events.try_send(Event::Control(id, view));
                }
            }
            Effect::Act(id, episode, action) => self.played.act(id, episode, action),
            Effect::Say(id, episode, text) => self.played.say(id, episode, text),
            Effect::Exchange(id, spec) => self.exchange(id, spec, meta),
            Effect::LoadTheme(request) => {
                let themes = Themes::of(&self.workspace);
                jobs::spawn(&self.events, move |_| jobs::theme(&themes, &request));
            }
            Effect::Lab(ask) => self.lab(ask),
            Effect::Review(ask) => {
                // A thread that is gone has said why.
                let _ = self.proposals.send(ask);
            }
            Effect::Colour(request) => self.colour(request),
            Effect::Talk(wish) => self.talk(wish),
            Effect::Select(request) => {
                self.selecting = Cancel::new();
                let (workspace, cancel) = (self.workspace.clone(), self.selecting.clone());
                jobs::spawn(&self.events, move |events| {
                    curating::select(&workspace, &request, &cancel, events)
                });
            }
            Effect::StopSelecting => self.selecting.cancel(),
            Effect::Start(request) => self.start(request),
            Effect::Resume(path) => {
                let (workspace, settings) = (self.workspace.clone(), self.settings.clone());
                self.play(false, true, move || jobs::resume(&workspace, &settings, &path));
            }
            Effect::Delete(path) => {
                let (workspace, trash) = (self.workspace.clone(), Arc::clone(&self.trash));
                jobs::spawn(&self.events, move |_| {
                    jobs::delete(&workspace, &mut locked(&trash), path)
                });
            }
            Effect::Forget(path) => {
                let workspace = self.workspace.clone();
                jobs::spawn(&self.events, move |_| jobs::forget(&workspace, &path));
            }
            Effect::Undo => {
                let trash = Arc::clone(&self.trash);
                jobs::spawn(&self.events, move |_| jobs::undo(&mut locked(&trash)));
            }
            Effect::LookForLeftovers => {
                let (workspace, leftovers) = (self.workspace.clone(), Arc::clone(&self.leftovers));
                jobs::spawn(&self.events, move |_| {
                    let mut found = locked(&leftovers);
                    *found = Trash::leftovers(&workspace);
                    Data::Leftovers(found.iter().map(|item| item.run().to_owned()).collect())
                });
            }
            Effect::Leftovers { restore } => {
                let leftovers = Arc::clone(&self.leftovers);
                jobs::spawn(&self.events, move |_| {
                    jobs::leftovers(std::mem::take(&mut *locked(&leftovers)), restore)
                });
            }
            Effect::Close(path) => self.ask(Request::Close { path }),
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

    /// Only while the agent waits between two steps may somebody else write its memory. A hunk is laid out in a
    /// folder of its own.
    fn edit(&mut self, mut request: EditRequest) -> Left {
        let said = match &request.of {
            EditOf::Memory(id, episode) if self.played.waits(*id, *episode) => return Left::Edit(request),
            EditOf::Memory(..) => "the agent is not between two steps: wait until it is, then edit again".to_owned(),
            EditOf::Hunk { text, .. } => {
                let folder = tempfile::Builder::new().prefix("automem-hunk-").tempdir();
                let laid = folder.and_then(|folder| {
                    std::fs::write(folder.path().join(&request.path), text)?;
                    Ok(folder)
                });
                match laid {
                    Ok(folder) => {
                        request.root = folder.path().to_owned();
                        self.hunk = Some(folder);
                        return Left::Edit(request);
                    }
                    Err(error) => format!("the hunk could not be laid out for an editor: {error}; see to TMPDIR"),
                }
            }
        };
        let _ = self.events.try_send(Event::Data(Data::Failed(said)));
        Left::Nothing
    }

    fn lab(&mut self, ask: LabAsk) {
        let (workspace, settings) = (self.workspace.clone(), self.settings.clone());
        let job = match ask {
            LabAsk::Load => {
                // They are followed from the first look at Lab on.
                if self.trainings.is_none() {
                    self.trainings = Follower::start(&workspace, self.events.clone());
                }
                return jobs::spawn(&self.events, move |_| laboratory::load(&workspace));
            }
            LabAsk::Stop => return self.optimization.cancel(),
            LabAsk::Start(request) => optimizing::Job::Start(request),
            LabAsk::Resume(name) => optimizing::Job::Resume(name),
        };
        self.optimization = Cancel::new();
        let cancel = self.optimization.clone();
        jobs::spawn(&self.events, move |events| {
            optimizing::work(&workspace, &settings, job, &cancel, events)
        });
    }

    /// Has colours found. The thread begins with the first wish.
    fn colour(&mut self, request: ColourRequest) {
        if self.colours.is_none() {
            self.colours = coloring::spawn(self.events.clone()).ok();
        }
        if let Some(colours) = &self.colours {
            // Without room the lines stay plain.
            let _ = colours.try_send(request);
        }
    }

    /// Has conversations read. The thread begins with the first wish.
    fn talk(&mut self, wish: TalkWish) {
        if self.talks.is_none() {
            self.talks = curating::spawn(self.events.clone()).ok();
        }
        if let Some(talks) = &self.talks {
            // Without room the newest is asked for with the next item.
            let _ = talks.try_send(wish);
        }
    }

    fn ask(&self, request: Request) {
        // A loader that is gone has said why.
        let _ = self.loader.send(request);
    }

    /// Has a picture encoded. The thread begins with the first one.
    fn picture(&mut self, wanted: Wanted) {
        if self.pictures.is_none() {
            self.pictures = encode::spawn(self.events.clone()).ok();
        }
        if let Some(pictures) = &self.pictures {
            pictures.want(wanted);
        }
    }

    /// The list of runs shall know the run, wherever it lies.
    fn remember(&self, path: PathBuf) {
        let workspace = self.workspace.clone();
        std::thread::spawn(move || {
            // A registry that cannot be written is no reason not to show the run.
            let _ = Registry::open(&workspace).and_then(|registry| registry.register(&path));
        });
    }

    /// Has a specialist loaded for a run. Of several wishes the last one counts.
    fn exchange(&mut self, id: LiveId, spec: Option<String>, meta: Option<&Arc<RunMeta>>) {
        self.exchange.cancel();
        self.exchange = Cancel::new();
        let (Some(controls), Some(meta)) = (self.played.controls(id), meta) else {
            return;
        };
        let wish = Wish {
            workspace: self.workspace.clone(),
            settings: self.settings.clone(),
            controls: controls.clone(),
            meta: Arc::clone(meta),
            spec,
            cancel: self.exchange.clone(),
        };
        jobs::spawn(&self.events, move |events| wish.fulfil(events));
    }

    fn start(&mut self, request: StartRequest) {
        let (workspace, settings) = (self.workspace.clone(), self.settings.clone());
        let show = request.show;
        self.play(show, show, move || jobs::start(&workspace, &settings, &request));
    }

    /// Has a job start a run.
    fn play(&mut self, show: bool, keep_pace: bool, start: impl FnOnce() -> anyhow::Result<Playing> + Send + 'static) {
        let started = Arc::clone(&self.started);
        let id = self.next;
        self.next = LiveId(id.0 + 1);
        jobs::spawn(&self.events, move |_| match start() {
            Ok(playing) => {
                let path = playing.0.run.clone();
                let paced = playing.1.is_some();
                if let Some(pace) = playing.1.as_ref().filter(|_| !keep_pace) {
                    pace.set(0);
                }
                locked(&started).push((id, playing));
                Data::Started { id, path, paced, show }
            }
            Err(error) => Data::StartFailed(format!("{error:#}")),
        });
    }

    /// Lets everything go and removes for good what was deleted; gives the runs that were played,
    /// whose workers may still be closing their records, and what could not be removed.
    pub(super) fn close(mut self) -> (Vec<RunHandle>, Option<String>) {
        self.search.cancel();
        self.filter.cancel();
        self.analysis.cancel();
        self.lookout = None;
        self.trainings = None;
        self.pull.cancel();
        self.optimization.cancel();
        self.selecting.cancel();
        self.adopt();
        let emptied = locked(&self.trash).empty();
        (self.played.into_handles(), emptied.err().map(|error| error.to_string()))
    }
}

/// A panic elsewhere leaves plain values behind: they are still good.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
