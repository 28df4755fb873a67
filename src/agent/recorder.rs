//! From a step's events to the record, and only then to whoever watches.
//!
//! Owns the thread that writes. Steps are committed in the order they come, each in one
//! transaction, and shown after that; meanwhile the agent plays on, but never more than
//! [`MOST_PENDING`] steps ahead of the record. The record is never dropped for the view's sake;
//! the view's small news (a model's words as they come) may be.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, TrySendError};

use super::controls::{ControlState, Controls};
use crate::store::{StoreError, Writer};
use crate::types::Event;

/// Steps that may be played and not yet committed, over all episodes.
const MOST_PENDING: usize = 2;
/// News that may wait for the writing thread; more are dropped.
const MOST_NEWS: usize = 1024;

/// Shared by all workers of a run.
pub(super) struct Recorder {
    orders: Sender<Order>,
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
}

enum Order {
    Commit(Vec<Event>),
    News(Event),
    /// The end: the run is over and is closed, or it is left open.
    End {
        over: bool,
    },
}

#[derive(Default)]
struct State {
    pending: Mutex<usize>,
    changed: Condvar,
    /// The record cannot be written any more.
    broken: AtomicBool,
    /// Nobody listens any more.
    deaf: AtomicBool,
}

impl State {
    /// Waits until at most `most` commits are pending, or the record is broken.
    fn wait_for(&self, most: usize) -> std::sync::MutexGuard<'_, usize> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let too_many = |pending: &mut usize| *pending > most && !self.broken.load(Ordering::Acquire);
        let guard = self.changed.wait_while(pending, too_many);
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        *pending = pending.saturating_sub(1);
        self.changed.notify_all();
    }

    fn break_off(&self) {
        let _pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        self.broken.store(true, Ordering::Release);
        self.changed.notify_all();
    }
}

/// The record cannot be written any more; [`Recorder::end`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

impl Recorder {
    pub(super) fn new(writer: Writer, live: Sender<Event>, controls: Controls) -> Self {
        let (orders, inbox) = crossbeam_channel::bounded(MOST_NEWS + MOST_PENDING);
        let state = Arc::<State>::default();
        let desk = Desk {
            state: Arc::clone(&state),
            live,
            controls,
        };
        let thread = std::thread::spawn(move || {
            // Also after a panic nobody may wait for a commit that will not come.
            let _guard = BreakOnDrop(Arc::clone(&desk.state));
            desk.work(writer, &inbox)
        });
        Self {
            orders,
            state,
            thread: Mutex::new(Some(thread)),
        }
    }

    /// Hands the events over to be committed in one transaction and then shown.
    pub(super) fn commit(&self, events: Vec<Event>) -> Result<(), Broken> {
        *self.state.wait_for(MOST_PENDING - 1) += 1;
        if self.is_broken() || self.orders.send(Order::Commit(events)).is_err() {
            return Err(Broken);
        }
        Ok(())
    }

    /// Waits until everything handed over is committed and shown.
    pub(super) fn flush(&self) {
        drop(self.state.wait_for(0));
    }

    /// Whether the record cannot be written any more.
    fn is_broken(&self) -> bool {
        self.state.broken.load(Ordering::Acquire)
    }

    /// Closes the record of a run that is over, or leaves it open to be resumed. Gives the first
    /// fault of the record, now or before.
    pub(super) fn end(&self, over: bool) -> Result<(), StoreError> {
        // A writing thread that broke off has no inbox any more, and says why when joined.
        drop(self.orders.send(Order::End { over }));
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }

    /// Whether anybody may still listen.
    pub(super) fn is_watched(&self) -> bool {
        !self.state.deaf.load(Ordering::Relaxed)
    }

    /// Shows news that only the live view wants, in their place between the commits; dropped when
    /// the viewer is behind.
    pub(super) fn news(&self, event: Event) {
        if self.is_watched() {
            drop(self.orders.try_send(Order::News(event)));
        }
    }
}

struct BreakOnDrop(Arc<State>);

impl Drop for BreakOnDrop {
    fn drop(&mut self) {
        self.0.break_off();
    }
}

/// The writing thread's side.
struct Desk {
    state: Arc<State>,
    live: Sender<Event>,
    controls: Controls,
}

impl Desk {
    fn work(&self, mut writer: Writer, inbox: &Receiver<Order>) -> Result<(), StoreError> {
        for order in inbox {
            match order {
                Order::Commit(events) => {
                    if let Err(error) = writer.commit(&events) {
                        self.controls.abort();
                        return Err(error);
                    }
                    events.into_iter().for_each(|event| self.show(event));
                    self.state.done();
                }
                Order::News(event) => self.show_news(event),
                Order::End { over: true } => return writer.finish(),
                Order::End { over: false } => return Ok(()),
            }
        }
        Ok(())
    }

    /// Shows a committed event. Waits for a slow viewer, but not for one that is gone, nor while
    /// the run is being stopped: the record has it anyway.
    fn show(&self, mut event: Event) {
        while !self.state.deaf.load(Ordering::Relaxed) {
            match self.live.send_timeout(event, Duration::from_millis(100)) {
                Ok(()) => return,
                Err(SendTimeoutError::Disconnected(_)) => self.state.deaf.store(true, Ordering::Relaxed),
                Err(SendTimeoutError::Timeout(_)) if self.controls.state() == ControlState::Stopping => return,
                Err(SendTimeoutError::Timeout(back)) => {
                    event = back;
                    continue;
                }
            }
            return;
        }
    }

    fn show_news(&self, event: Event) {
        if let Err(TrySendError::Disconnected(_)) = self.live.try_send(event) {
            self.state.deaf.store(true, Ordering::Relaxed);
        }
    }
}
