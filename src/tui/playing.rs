//! The runs that this process plays: their handles, their news, how fast they are.
//!
//! Owns handles and feeds. Must not decide what is shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, never};

use super::data::{ControlRequest, ControlView, Event, LiveId};
use super::pace::Pace;
use crate::agent::{ControlState, Controls, RunHandle};
use crate::types::{Action, Body, EpisodeNo, Event as RunEvent};

/// A run under way and how fast a program plays it.
pub(super) type Playing = (RunHandle, Option<Pace>);

/// Time over which steps are counted.
const COUNT: Duration = Duration::from_secs(1);

/// The runs of this process.
pub(super) struct Played {
    runs: Vec<One>,
    meter: Meter,
}

struct One {
    id: LiveId,
    handle: RunHandle,
    pace: Option<Pace>,
    feed: Receiver<RunEvent>,
    ended: bool,
}

impl Played {
    /// No runs yet.
    pub(super) fn new() -> Self {
        Self {
            runs: Vec::new(),
            meter: Meter::new(),
        }
    }

    /// From now on its news are heard.
    pub(super) fn add(&mut self, id: LiveId, (handle, pace): Playing) {
        self.runs.push(One {
            id,
            feed: handle.events.clone(),
            handle,
            pace,
            ended: false,
        });
    }

    /// Where news come from.
    pub(super) fn feeds(&self) -> impl Iterator<Item = &Receiver<RunEvent>> {
        self.runs.iter().filter(|run| !run.ended).map(|run| &run.feed)
    }

    /// The news that wait, up to so many of each run.
    pub(super) fn news(&mut self, most: usize) -> Vec<Event> {
        let mut news = Vec::new();
        for run in self.runs.iter_mut().filter(|run| !run.ended) {
            for _ in 0..most {
                match run.feed.try_recv() {
                    Ok(event) => {
                        self.meter.count(run.id, &event);
                        news.push(Event::Live(run.id, event));
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        run.ended = true;
                        run.feed = never();
                        news.push(Event::Control(run.id, ControlView::Finished));
                        break;
                    }
                }
            }
        }
        news.extend(self.meter.read(Instant::now()).map(Event::Rates));
        news
    }

    /// When steps are to be counted next; `None` while nothing plays.
    pub(super) fn count_at(&self) -> Option<Instant> {
        self.meter.due()
    }

    /// Steers a run; gives how it stands then.
    pub(super) fn control(&self, id: LiveId, request: ControlRequest) -> Option<ControlView> {
        let run = self.runs.iter().find(|run| run.id == id)?;
        let controls = &run.handle.controls;
        match request {
            ControlRequest::Pause => controls.pause(),
            ControlRequest::Resume => controls.resume(),
            ControlRequest::Step => controls.step(),
            ControlRequest::Stop => controls.stop(),
            ControlRequest::Leave => controls.abort(),
            ControlRequest::Pace(ms) => {
                if let Some(pace) = &run.pace {
                    pace.set(ms);
                }
            }
        }
        Some(match controls.state() {
            ControlState::Running => ControlView::Running,
            ControlState::Paused => ControlView::Paused,
            ControlState::Stopping => ControlView::Stopping,
            ControlState::Finished => ControlView::Finished,
        })
    }

    /// Plays a person's action as the next step of an episode.
    pub(super) fn act(&self, id: LiveId, episode: EpisodeNo, action: Action) {
        if let Some(controls) = self.controls(id) {
            controls.act_now(episode, action);
        }
    }

    /// Has the agent told something in the next prompt of an episode.
    pub(super) fn say(&self, id: LiveId, episode: EpisodeNo, text: String) {
        if let Some(controls) = self.controls(id) {
            controls.say(episode, text);
        }
    }

    /// Whether an episode waits between two steps.
    pub(super) fn waits(&self, id: LiveId, episode: EpisodeNo) -> bool {
        self.controls(id).is_some_and(|controls| controls.waits(episode))
    }

    /// A run's controls.
    pub(super) fn controls(&self, id: LiveId) -> Option<&Controls> {
        self.runs
            .iter()
            .find(|run| run.id == id)
            .map(|run| &run.handle.controls)
    }

    /// Lets the handles go, whose workers may still be closing their records.
    pub(super) fn into_handles(self) -> Vec<RunHandle> {
        self.runs.into_iter().map(|run| run.handle).collect()
    }
}

/// Counts finished steps.
struct Meter {
    began: Instant,
    counts: BTreeMap<(LiveId, EpisodeNo), u32>,
    /// Episodes whose last rate was not zero.
    moving: Vec<(LiveId, EpisodeNo)>,
}

impl Meter {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            counts: BTreeMap::new(),
            moving: Vec::new(),
        }
    }

    fn count(&mut self, id: LiveId, event: &RunEvent) {
        if !matches!(event.body, Body::StepFinished { .. }) {
            return;
        }
        if self.counts.is_empty() && self.moving.is_empty() {
            self.began = Instant::now();
        }
        *self.counts.entry((id, event.at.episode)).or_default() += 1;
    }

    fn due(&self) -> Option<Instant> {
        (!self.counts.is_empty() || !self.moving.is_empty()).then(|| self.began + COUNT)
    }

    /// Steps a second since the last time, once that is long enough ago.
    fn read(&mut self, now: Instant) -> Option<Vec<(LiveId, EpisodeNo, f64)>> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let seconds = now.duration_since(self.began).as_secs_f64();
        let mut rates: Vec<_> = self
            .counts
            .iter()
            .map(|((id, episode), count)| (*id, *episode, f64::from(*count) / seconds))
            .collect();
        for (id, episode) in &self.moving {
            if !self.counts.contains_key(&(*id, *episode)) {
                rates.push((*id, *episode, 0.0));
            }
        }
        self.moving = std::mem::take(&mut self.counts).into_keys().collect();
        self.began = now;
        Some(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn rates_are_told_once_a_second_and_zero_once() {
        let mut meter = Meter::new();
        assert!(meter.due().is_none());
        for event in testing::episode_events(10) {
            meter.count(LiveId(1), &event);
        }
        let began = meter.began;
        assert!(meter.read(began + COUNT / 2).is_none());
        let rates = meter.read(began + COUNT * 2).unwrap();
        assert_eq!(rates, [(LiveId(1), EpisodeNo(0), 5.0)]);
        assert!(meter.due().is_some());
        assert_eq!(meter.read(began + COUNT * 4).unwrap(), [(LiveId(1), EpisodeNo(0), 0.0)]);
        assert!(meter.due().is_none());
    }
}
