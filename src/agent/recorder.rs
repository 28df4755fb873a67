//! From a step's events to the record, and only then to whoever watches.
//!
//! Owns the order: first committed, then shown. The record is never dropped for the view's sake;
//! the view's small news (a model's words as they come) may be.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{SendTimeoutError, Sender, TrySendError};

use super::controls::{ControlState, Controls};
use crate::store::{StoreError, Writer};
use crate::types::Event;

/// Shared by all workers of a run.
pub(super) struct Recorder {
    /// `None` after [`Recorder::finish`].
    writer: Mutex<Option<Writer>>,
    live: Sender<Event>,
    /// Nobody listens any more.
    deaf: AtomicBool,
    controls: Controls,
}

impl Recorder {
    pub(super) fn new(writer: Writer, live: Sender<Event>, controls: Controls) -> Self {
        Self {
            writer: Mutex::new(Some(writer)),
            live,
            deaf: AtomicBool::new(false),
            controls,
        }
    }

    /// Commits the events in one transaction, then shows them.
    pub(super) fn commit(&self, events: Vec<Event>) -> Result<(), StoreError> {
        {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(writer) = writer.as_mut() {
                writer.commit(&events)?;
            }
        }
        for event in events {
            self.show(event);
        }
        Ok(())
    }

    /// Closes the record of a run that is over.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), Writer::finish)
    }

    /// Shows a committed event. Waits for a slow viewer, but not for one that is gone, nor while
    /// the run is being stopped: the record has it anyway.
    fn show(&self, mut event: Event) {
        while !self.deaf.load(Ordering::Relaxed) {
            match self.live.send_timeout(event, Duration::from_millis(100)) {
                Ok(()) => return,
                Err(SendTimeoutError::Disconnected(_)) => self.deaf.store(true, Ordering::Relaxed),
                Err(SendTimeoutError::Timeout(_)) if self.controls.state() == ControlState::Stopping => return,
                Err(SendTimeoutError::Timeout(back)) => {
                    event = back;
                    continue;
                }
            }
            return;
        }
    }

    /// Whether anybody may still listen.
    pub(super) fn is_watched(&self) -> bool {
        !self.deaf.load(Ordering::Relaxed)
    }

    /// Shows news that only the live view wants; dropped when the viewer is behind.
    pub(super) fn news(&self, event: Event) {
        if self.is_watched()
            && let Err(TrySendError::Disconnected(_)) = self.live.try_send(event)
        {
            self.deaf.store(true, Ordering::Relaxed);
        }
    }
}
