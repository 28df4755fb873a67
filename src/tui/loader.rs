//! The thread that owns the run file: loads what the cursor needs, the newest wish first.
//!
//! Owns the reader. Wishes that newer ones replace are never carried out, so that holding a key
//! down does not pile up work.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::blame::{Fold, Survey};
use super::data::{Data, Effect, Event, FilterNews, LoadRequest, MemoryView, Opened, Timeline};
use super::filter::{self, Filter};
use super::memory_diff::{self, DiffWish};
use super::rules::Rules;
use super::track::Track;
use crate::store::{Reader, StoreError};
use crate::types::{EpisodeNo, StepNo, StepRecord};

/// How often a run that somebody else writes is looked at.
const POLL: Duration = Duration::from_millis(500);
/// How often a long count is told while it goes on.
const TELL: Duration = Duration::from_millis(250);

/// A wish.
#[derive(Debug)]
pub(super) enum Request {
    /// Open a run or another episode of it.
    Open {
        /// File.
        path: PathBuf,
        /// Episode.
        episode: EpisodeNo,
        /// Where the cursor goes.
        step: Option<StepNo>,
    },
    /// Let a run go.
    Close {
        /// File.
        path: PathBuf,
    },
    /// What the cursor needs.
    Load(LoadRequest),
    /// New finished steps.
    Timeline {
        /// Episode.
        episode: EpisodeNo,
        /// The first that is not known.
        from: StepNo,
    },
    /// Who wrote the lines of a file.
    Blame {
        /// Episode.
        episode: EpisodeNo,
        /// As of this step.
        step: StepNo,
        /// File.
        path: String,
    },
    /// How memory files were used in the steps before one.
    Heat {
        /// Episode.
        episode: EpisodeNo,
        /// Steps.
        upto: StepNo,
    },
    /// The difference of the memory between two steps.
    MemoryDiff(DiffWish),
    /// Which new steps a filter lets something of through.
    Sift {
        /// Episode.
        episode: EpisodeNo,
        /// Steps.
        steps: Range<StepNo>,
        /// The filter.
        filter: Filter,
    },
    /// What the agent has seen of the map.
    Map {
        /// Episode.
        episode: EpisodeNo,
        /// The last step.
        step: StepNo,
    },
}

/// Starts the thread. It ends when the sender is dropped.
pub(super) fn spawn(events: Sender<Event>) -> std::io::Result<Sender<Request>> {
    let (sender, receiver) = bounded(256);
    std::thread::Builder::new()
        .name("loader".into())
        .spawn(move || Loader::new(events).run(&receiver))?;
    Ok(sender)
}

/// The screen is gone.
struct Gone;

struct Loader {
    events: Sender<Event>,
    open: Option<Open>,
    around: VecDeque<(EpisodeNo, StepNo)>,
    blame: Option<(EpisodeNo, StepNo, String)>,
    map: Option<(EpisodeNo, StepNo)>,
    heat: Option<(EpisodeNo, StepNo)>,
}

struct Open {
    path: PathBuf,
    reader: Reader,
    episode: EpisodeNo,
    known: u32,
    track: Track,
    fold: Fold,
    survey: Survey,
    /// When the survey was told last.
    told: Instant,
}

impl Loader {
    fn new(events: Sender<Event>) -> Self {
        Self {
            events,
            open: None,
            around: VecDeque::new(),
            blame: None,
            map: None,
            heat: None,
        }
    }

    fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(()) = self.turn(requests) {}
    }

    /// One round: all wishes that wait, or one of the steps around the cursor, or a look for news.
    fn turn(&mut self, requests: &Receiver<Request>) -> Result<(), Gone> {
        if self.around.is_empty() && self.blame.is_none() && self.map.is_none() && self.heat.is_none() {
            let grows = self.open.as_ref().is_some_and(|open| !open.reader.is_finished());
            let first = if grows {
                match requests.recv_timeout(POLL) {
                    Ok(request) => request,
                    Err(RecvTimeoutError::Timeout) => return self.look(),
                    Err(RecvTimeoutError::Disconnected) => return Err(Gone),
                }
            } else {
                requests.recv().map_err(|_| Gone)?
            };
            return self.serve(first, requests);
        }
        match requests.try_recv() {
            Ok(first) => self.serve(first, requests),
            Err(crossbeam_channel::TryRecvError::Disconnected) => Err(Gone),
            Err(crossbeam_channel::TryRecvError::Empty) => match self.around.pop_front() {
                Some((episode, step)) => self.step(episode, step),
                None if self.map.is_some() => self.some_map(),
                None if self.blame.is_some() => self.some_blame(),
                None => self.some_heat(),
            },
        }
    }

    /// Carries out what waits; of each kind only the last.
    fn serve(&mut self, first: Request, requests: &Receiver<Request>) -> Result<(), Gone> {
        let (mut load, mut timeline, mut diff, mut sift) = (None, None, None, None);
        for request in std::iter::once(first).chain(requests.try_iter()) {
            match request {
                Request::Open { path, episode, step } => {
                    (load, timeline, diff, sift) = (None, None, None, None);
                    self.open(path, episode, step)?;
                }
                Request::Close { path } => {
                    if self.open.as_ref().is_some_and(|open| open.path == path) {
                        self.open = None;
                        self.around.clear();
                        self.blame = None;
                        self.map = None;
                        (load, timeline) = (None, None);
                    }
                }
                Request::Load(request) => load = Some(request),
                Request::Timeline { episode, from } => timeline = Some((episode, from)),
                Request::Map { episode, step } => self.map = Some((episode, step)),
                Request::Blame { episode, step, path } => self.blame = Some((episode, step, path)),
                Request::Heat { episode, upto } => self.heat = Some((episode, upto)),
                Request::MemoryDiff(wish) => diff = Some(wish),
                Request::Sift { episode, steps, filter } => sift = Some((episode, steps, filter)),
            }
        }
        if let Some((episode, from)) = timeline {
            self.timeline(episode, from)?;
        }
        if let Some(request) = load {
            self.load(request)?;
        }
        if let (Some(wish), Some(open)) = (diff, &self.open) {
            match memory_diff::load(&open.reader, wish) {
                Ok(diff) => self.send(Data::MemoryDiff(Box::new(diff)))?,
                Err(error) => self.send(Data::Failed(error.to_string()))?,
            }
        }
        if let Some((episode, steps, filter)) = sift {
            self.sift(episode, steps, filter)?;
        }
        Ok(())
    }

    fn send(&self, data: Data) -> Result<(), Gone> {
        self.events.send(Event::Data(data)).map_err(|_| Gone)
    }

    fn open(&mut self, path: PathBuf, episode: EpisodeNo, step: Option<StepNo>) -> Result<(), Gone> {
        self.around.clear();
        self.blame = None;
        self.map = None;
        self.heat = None;
        match opened(self.open.take(), path.clone(), episode) {
            Ok((open, timeline)) => {
                let meta = Arc::new(open.reader.meta().clone());
                self.open = Some(open);
                let rules = Arc::new(Rules::of(&meta));
                self.send(Data::Opened(Box::new(Opened {
                    path,
                    rules,
                    meta,
                    timeline,
                    step,
                })))
            }
            Err(error) => self.send(Data::OpenFailed(error.to_string())),
        }
    }

    fn timeline(&mut self, episode: EpisodeNo, from: StepNo) -> Result<(), Gone> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let read = open.refresh().and_then(|_| timeline_of(&open.reader, episode, from));
        match read {
            Ok(timeline) => {
                open.known = timeline.from.0 + timeline.marks.len() as u32;
                self.send(Data::Timeline(timeline))
            }
            Err(error) => self.send(Data::Failed(error.to_string())),
        }
    }

    /// Looks whether somebody else has added steps; says so only then.
    fn look(&mut self) -> Result<(), Gone> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        match open.refresh() {
            Ok(true) => {
                let (episode, from) = (open.episode, StepNo(open.known));
                self.timeline(episode, from)
            }
            Ok(false) => Ok(()),
            Err(error) => {
                let message = error.to_string();
                self.open = None;
                self.send(Data::Failed(message))
            }
        }
    }

    fn load(&mut self, request: LoadRequest) -> Result<(), Gone> {
        let LoadRequest { episode, step, .. } = request;
        if request.record {
            self.step(episode, step)?;
        }
        if request.memory
            && let Some(open) = &self.open
        {
            match memory_view(&open.reader, episode, step) {
                Ok(view) => self.send(Data::Memory {
                    episode,
                    view: Arc::new(view),
                })?,
                Err(error) => self.send(Data::Failed(error.to_string()))?,
            }
        }
        let mut steps: Vec<u32> = request
            .around
            .into_iter()
            .flatten()
            .filter(|other| *other != step.0)
            .collect();
        // The nearest first, and what lies ahead before what lies behind.
        steps.sort_by_key(|other| (other.abs_diff(step.0), *other < step.0));
        self.around = steps.into_iter().map(|step| (episode, StepNo(step))).collect();
        Ok(())
    }

    fn step(&mut self, episode: EpisodeNo, step: StepNo) -> Result<(), Gone> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let record = match open.reader.step(episode, step) {
            Ok(record) => record,
            Err(error) => {
                self.send(Data::Failed(error.to_string()))?;
                StepRecord::new(step)
            }
        };
        self.send(Data::Step {
            episode,
            record: Arc::new(record),
        })
    }

    /// Some more steps of the fold that tells who wrote what; the answer when it is there.
    fn some_blame(&mut self) -> Result<(), Gone> {
        let (Some(open), Some((episode, step, path))) = (&mut self.open, self.blame.take()) else {
            return Ok(());
        };
        if !open.fold.advance(&open.reader, episode, step) {
            self.blame = Some((episode, step, path));
            return Ok(());
        }
        let view = open.fold.view(episode, step, path);
        self.send(Data::Blame(Box::new(view)))
    }

    /// Some more steps of the count of reads and writes; told when it is there, and now and then
    /// on the way.
    fn some_heat(&mut self) -> Result<(), Gone> {
        let (Some(open), Some((episode, upto))) = (&mut self.open, self.heat.take()) else {
            return Ok(());
        };
        let done = open.survey.advance(&open.reader, episode, upto);
        if !done {
            self.heat = Some((episode, upto));
        }
        if !done && open.told.elapsed() < TELL {
            return Ok(());
        }
        open.told = Instant::now();
        let data = heat_of(&open.survey);
        self.send(data)
    }

    fn sift(&mut self, episode: EpisodeNo, steps: Range<StepNo>, filter: Filter) -> Result<(), Gone> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let news = match filter::sift_some(&open.reader, &filter, episode, steps.clone()) {
            Ok(matches) => FilterNews::More {
                filter,
                matches,
                episode,
                seen: steps.end,
            },
            Err(error) => FilterNews::Failed(error.to_string()),
        };
        self.send(Data::Filter(news))
    }

    /// Some more steps of the map; what is known of it whenever enough came together.
    fn some_map(&mut self) -> Result<(), Gone> {
        let (Some(open), Some((episode, step))) = (&mut self.open, self.map.take()) else {
            return Ok(());
        };
        let there = open.track.advance(&open.reader, episode, step);
        if !there {
            self.map = Some((episode, step));
        }
        match open.track.view(step, there) {
            Some(view) => self.send(Data::Map(Box::new(view))),
            None => Ok(()),
        }
    }
}

impl Open {
    fn refresh(&mut self) -> Result<bool, StoreError> {
        if self.reader.is_finished() {
            Ok(false)
        } else {
            self.reader.refresh()
        }
    }
}

/// Opens a run, or another episode of the one that is open.
fn opened(before: Option<Open>, path: PathBuf, episode: EpisodeNo) -> Result<(Open, Timeline), StoreError> {
    let mut open = match before {
        Some(open) if open.path == path => open,
        _ => Open {
            reader: Reader::open(&path)?,
            path,
            episode,
            known: 0,
            track: Track::default(),
            fold: Fold::default(),
            survey: Survey::default(),
            told: Instant::now(),
        },
    };
    open.refresh()?;
    let timeline = timeline_of(&open.reader, episode, StepNo(0))?;
    open.episode = episode;
    open.known = timeline.marks.len() as u32;
    Ok((open, timeline))
}

/// The finished steps of an episode from one on. An episode of a growing run that has no step yet
/// is empty, not missing.
pub(super) fn timeline_of(reader: &Reader, episode: EpisodeNo, from: StepNo) -> Result<Timeline, StoreError> {
    let episodes = reader.episodes()?;
    let there = episodes.iter().any(|summary| summary.episode == episode);
    let marks = if there || reader.is_finished() {
        reader.timeline(episode, from)?
    } else {
        Vec::new()
    };
    Ok(Timeline {
        episode,
        from,
        marks,
        episodes,
        finished: reader.is_finished(),
    })
}

/// The memory at a step with what the step changed.
pub(super) fn memory_view(reader: &Reader, episode: EpisodeNo, step: StepNo) -> Result<MemoryView, StoreError> {
    let now = reader.memory_at(episode, step)?;
    let before = match step.previous() {
        Some(before) => Some(reader.memory_at(episode, before)?),
        None => None,
    };
    Ok(MemoryView::new(
        step,
        before.as_deref().map(|state| &state.files),
        &now.files,
    ))
}

/// What an effect asks of the record, read at once; nothing for effects that ask for nothing.
pub(super) fn read(reader: &Reader, effect: Effect) -> Vec<Data> {
    match effect {
        Effect::Load(request) => {
            let episode = request.episode;
            let mut steps: Vec<u32> = request.around.into_iter().flatten().collect();
            steps.push(request.step.0);
            let mut out: Vec<Data> = steps
                .into_iter()
                .filter_map(|step| reader.step(episode, StepNo(step)).ok())
                .map(|record| Data::Step {
                    episode,
                    record: Arc::new(record),
                })
                .collect();
            out.extend(
                memory_view(reader, episode, request.step)
                    .ok()
                    .map(|view| Data::Memory {
                        episode,
                        view: Arc::new(view),
                    }),
            );
            out
        }
        Effect::LoadBlame { episode, step, path } => {
            let mut fold = Fold::default();
            while !fold.advance(reader, episode, step) {}
            vec![Data::Blame(Box::new(fold.view(episode, step, path)))]
        }
        Effect::LoadMap { episode, step } => {
            let mut track = Track::default();
            while !track.advance(reader, episode, step) {}
            let view = track.view(step, true);
            view.map(|view| Data::Map(Box::new(view))).into_iter().collect()
        }
        Effect::LoadHeat { episode, upto } => {
            let mut survey = Survey::default();
            while !survey.advance(reader, episode, upto) {}
            vec![heat_of(&survey)]
        }
        Effect::LoadMemoryDiff(wish) => memory_diff::load(reader, wish)
            .map(|diff| vec![Data::MemoryDiff(Box::new(diff))])
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn heat_of(survey: &Survey) -> Data {
    Data::Heat {
        episode: survey.episode,
        upto: StepNo(survey.next),
        heat: Arc::new(survey.heat.clone()),
    }
}
