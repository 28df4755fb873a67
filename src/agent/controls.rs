//! Pause, step, resume, stop: what a person tells a run, and where its workers listen.
//!
//! Owns the wish and the waiting. Must not know what a step is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::models::Models;
use crate::jobs::Cancel;
use crate::llm::ChatModel;
use crate::types::{Action, EpisodeNo};

/// What a run is doing, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlState {
    /// It plays.
    Running,
    /// It waits between two steps, or will after the step under way.
    Paused,
    /// It ends after the step under way.
    Stopping,
    /// It is over.
    Finished,
}

/// A run's controls. Clones control the same run.
#[derive(Debug, Clone, Default)]
pub struct Controls(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    wish: Mutex<Wish>,
    changed: Condvar,
    abort: Cancel,
}

#[derive(Debug)]
struct Wish {
    state: ControlState,
    /// Single steps granted so far; every worker takes each grant once.
    grants: u64,
    /// What was asked for, in order: every episode records it.
    words: Vec<&'static str>,
    /// Episodes that may play one step while the run is paused.
    singles: BTreeSet<EpisodeNo>,
    /// Episodes that wait between two steps.
    waiting: BTreeSet<EpisodeNo>,
    /// Actions that a person chose, for the next step of an episode.
    actions: BTreeMap<EpisodeNo, Action>,
    /// What a person wants the agent to be told in the next prompt of an episode.
    messages: Vec<(EpisodeNo, String)>,
    /// Who plays from the next step of each episode on; `None` when the run is over, so that models are let go.
    models: Option<Held>,
}

/// Models, whose innards are nobody's business.
struct Held(Models);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |model: &Arc<dyn ChatModel>| model.describe().name;
        f.debug_tuple("Held")
            .field(&name(&self.0.0))
            .field(&self.0.1.as_ref().map(name))
            .finish()
    }
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            state: ControlState::Running,
            grants: 0,
            words: Vec::new(),
            singles: BTreeSet::new(),
            waiting: BTreeSet::new(),
            actions: BTreeMap::new(),
            messages: Vec::new(),
            models: None,
        }
    }
}

impl Controls {
    /// Controls of a run that plays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits after the step under way.
    pub fn pause(&self) {
        self.change(ControlState::Running, ControlState::Paused, "paused");
    }

    /// Plays on.
    pub fn resume(&self) {
        self.change(ControlState::Paused, ControlState::Running, "resumed");
    }

    /// Plays one step and waits again; pauses a run that plays.
    pub fn step(&self) {
        let mut wish = self.wish();
        match wish.state {
            ControlState::Paused => {
                wish.grants += 1;
                wish.words.push("stepped");
                self.0.changed.notify_all();
            }
            ControlState::Running => {
                drop(wish);
                self.pause();
            }
            ControlState::Stopping | ControlState::Finished => {}
        }
    }

    /// Ends every episode after the step under way; what was played is kept, the run is over.
    pub fn stop(&self) {
        let mut wish = self.wish();
        if matches!(wish.state, ControlState::Running | ControlState::Paused) {
            wish.state = ControlState::Stopping;
            wish.words.push("stopped");
            self.0.changed.notify_all();
        }
    }

    /// Leaves at once: the step under way is dropped, model calls are cancelled, the run stays
    /// open and can be resumed.
    pub fn abort(&self) {
        self.0.abort.cancel();
        let mut wish = self.wish();
        if wish.state != ControlState::Finished {
            wish.state = ControlState::Stopping;
            self.0.changed.notify_all();
        }
    }

    /// Chooses the next action of an episode in the agent's place. LOG is played as ever; the model is
    /// not asked for a plan. A second choice before that step replaces the first. It does not start a
    /// run that is paused: [`Controls::step`] does.
    pub fn act(&self, episode: EpisodeNo, action: Action) {
        self.wish().actions.insert(episode, action);
    }

    /// Chooses the next action of an episode and has it played, while every other episode of a paused
    /// run goes on waiting. In a run that plays it is the next step's action.
    pub fn act_now(&self, episode: EpisodeNo, action: Action) {
        let mut wish = self.wish();
        wish.actions.insert(episode, action);
        if wish.state == ControlState::Paused {
            wish.singles.insert(episode);
            self.0.changed.notify_all();
        }
    }

    /// Has the agent told something in the next prompt of an episode.
    pub fn say(&self, episode: EpisodeNo, text: impl Into<String>) {
        self.wish().messages.push((episode, text.into()));
    }

    /// Exchanges the memory specialist: `None` leaves all to the base. It holds from the next step of each episode on,
    /// never within one, and every episode records it. False when the run is over.
    pub fn swap_specialist(&self, specialist: Option<Arc<dyn ChatModel>>) -> bool {
        let mut wish = self.wish();
        // Whoever went before is let go outside of the lock: closing a context takes a moment.
        let before = wish
            .models
            .as_mut()
            .map(|held| std::mem::replace(&mut held.0.1, specialist));
        drop(wish);
        before.is_some()
    }

    /// Who plays from the next step on: the base, and the specialist if there is one. `None` when the run is over.
    pub fn models(&self) -> Option<Models> {
        self.wish().models.as_ref().map(|held| held.0.clone())
    }

    /// The models a run begins with.
    pub(super) fn begin_with(&self, models: Models) {
        self.wish().models = Some(Held(models));
    }

    /// The action a person chose for this step.
    pub(super) fn take_action(&self, episode: EpisodeNo) -> Option<Action> {
        self.wish().actions.remove(&episode)
    }

    /// What a person wants the agent to be told.
    pub(super) fn take_messages(&self, episode: EpisodeNo) -> Vec<String> {
        let mut wish = self.wish();
        let (now, later) = std::mem::take(&mut wish.messages)
            .into_iter()
            .partition(|(wanted, _)| *wanted == episode);
        wish.messages = later;
        now.into_iter().map(|(_, text): (EpisodeNo, String)| text).collect()
    }

    /// What the run is doing.
    pub fn state(&self) -> ControlState {
        self.wish().state
    }

    /// Episodes that wait between two steps: a pause has taken effect when this is the number of
    /// episodes under way.
    pub fn waiting(&self) -> usize {
        self.wish().waiting.len()
    }

    /// Whether an episode waits between two steps: its record is written, its memory is left alone.
    pub fn waits(&self, episode: EpisodeNo) -> bool {
        let wish = self.wish();
        wish.waiting.contains(&episode) && !wish.singles.contains(&episode)
    }

    /// The flag that cancels model calls.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.0.abort
    }

    pub(super) fn finish(&self) {
        let mut wish = self.wish();
        wish.state = ControlState::Finished;
        let models = wish.models.take();
        drop(wish);
        drop(models);
        self.0.changed.notify_all();
    }

    fn change(&self, from: ControlState, to: ControlState, word: &'static str) {
        let mut wish = self.wish();
        if wish.state == from {
            wish.state = to;
            wish.words.push(word);
            self.0.changed.notify_all();
        }
    }

    fn wish(&self) -> MutexGuard<'_, Wish> {
        // A panic elsewhere leaves plain values behind: they are still good.
        self.0.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// Play the next step.
    Play,
    /// End the episode.
    Stop,
    /// Leave it open, at once.
    Abort,
}

/// One worker's place at the controls.
#[derive(Debug)]
pub(super) struct Gate {
    controls: Controls,
    grants: u64,
    words: usize,
}

impl Gate {
    pub(super) fn new(controls: &Controls) -> Self {
        Self {
            grants: controls.wish().grants,
            words: 0,
            controls: controls.clone(),
        }
    }

    /// Waits while the run is paused; `settle` runs before that, and nobody is told that the pause
    /// has taken effect until it is done. Gives what to do and what was asked for since the last time.
    pub(super) fn pass(&mut self, episode: EpisodeNo, settle: &dyn Fn()) -> (Permit, Vec<&'static str>) {
        let inner = Arc::clone(&self.controls.0);
        let mut wish = self.controls.wish();
        let mut settled = false;
        let permit = loop {
            if inner.abort.is_cancelled() {
                break Permit::Abort;
            }
            match wish.state {
                ControlState::Stopping | ControlState::Finished => break Permit::Stop,
                ControlState::Running => {
                    self.grants = wish.grants;
                    wish.singles.remove(&episode);
                    break Permit::Play;
                }
                ControlState::Paused if self.grants < wish.grants => {
                    self.grants += 1;
                    break Permit::Play;
                }
                ControlState::Paused if wish.singles.contains(&episode) => {
                    wish.singles.remove(&episode);
                    break Permit::Play;
                }
                ControlState::Paused if !settled => {
                    drop(wish);
                    settle();
                    settled = true;
                    wish = self.controls.wish();
                }
                ControlState::Paused => {
                    wish.waiting.insert(episode);
                    wish = inner.changed.wait(wish).unwrap_or_else(PoisonError::into_inner);
                    wish.waiting.remove(&episode);
                }
            }
        };
        drop(wish);
        (permit, self.words())
    }

    /// What was asked for since the last time.
    pub(super) fn words(&mut self) -> Vec<&'static str> {
        let wish = self.controls.wish();
        let words = wish.words.get(self.words..).unwrap_or_default().to_vec();
        self.words = wish.words.len();
        words
    }

    /// Whether episodes shall end after their step. Those of a run that is being left stay open.
    pub(super) fn is_stopping(&self) -> bool {
        self.controls.state() == ControlState::Stopping && !self.controls.cancel().is_cancelled()
    }

    /// Sleeps for a while, but not beyond an abort. False when the run is being aborted.
    pub(super) fn sleep(&self, duration: Duration) -> bool {
        let inner = Arc::clone(&self.controls.0);
        let wish = self.controls.wish();
        let aborted = |_: &mut Wish| !inner.abort.is_cancelled();
        drop(inner.changed.wait_timeout_while(wish, duration, aborted));
        !inner.abort.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_one_step_and_words_are_told_once() {
        let controls = Controls::new();
        let mut gate = Gate::new(&controls);
        assert_eq!(gate.pass(EpisodeNo(0), &|| ()), (Permit::Play, vec![]));
        controls.pause();
        controls.step();
        controls.step();
        assert_eq!(
            gate.pass(EpisodeNo(0), &|| ()),
            (Permit::Play, vec!["paused", "stepped", "stepped"])
        );
        assert_eq!(gate.pass(EpisodeNo(0), &|| ()), (Permit::Play, vec![]));
        controls.stop();
        assert_eq!(gate.pass(EpisodeNo(0), &|| ()), (Permit::Stop, vec!["stopped"]));
        assert_eq!(controls.state(), ControlState::Stopping);
        controls.resume();
        assert_eq!(controls.state(), ControlState::Stopping);
    }

    #[test]
    fn a_person_plays_one_episode_while_the_others_wait() {
        let controls = Controls::new();
        controls.pause();
        let mut gate = Gate::new(&controls);
        controls.act_now(EpisodeNo(0), "Do".into());
        assert_eq!(gate.pass(EpisodeNo(0), &|| ()), (Permit::Play, vec!["paused"]));
        assert_eq!(controls.take_action(EpisodeNo(0)), Some("Do".into()));
        let waiter = std::thread::spawn({
            let mut gate = Gate::new(&controls);
            move || gate.pass(EpisodeNo(1), &|| ()).0
        });
        while !controls.waits(EpisodeNo(1)) {
            std::thread::yield_now();
        }
        assert!(!controls.waits(EpisodeNo(0)));
        // What was granted for a step that a run on its way plays anyway is no step after the next pause.
        controls.act_now(EpisodeNo(0), "Do".into());
        controls.resume();
        assert_eq!(waiter.join().unwrap(), Permit::Play);
        assert_eq!(gate.pass(EpisodeNo(0), &|| ()).0, Permit::Play);
        assert!(controls.wish().singles.is_empty());
    }

    #[test]
    fn a_waiting_worker_is_woken() {
        let controls = Controls::new();
        controls.pause();
        let mut gate = Gate::new(&controls);
        let waiter = std::thread::spawn(move || gate.pass(EpisodeNo(0), &|| ()).0);
        while controls.waiting() == 0 {
            std::thread::yield_now();
        }
        controls.abort();
        assert_eq!(waiter.join().unwrap(), Permit::Abort);
    }
}
