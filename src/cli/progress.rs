//! One line on stderr that tells how far a run is; nothing when stderr is no terminal, except
//! one line an episode.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::agent::RunHandle;
use crate::types::{Body, Event};

/// Times between two lines on a terminal.
const PAUSE: Duration = Duration::from_millis(100);

/// Lines on failures that are remembered, so that none is shown twice.
const TOLD: usize = 32;

/// Shows progress until the run's events end.
pub(super) fn show(handle: &RunHandle) {
    let terminal = std::io::stderr().is_terminal();
    let mut state = State::default();
    let mut shown = Instant::now();
    eprintln!("writing {}", handle.run.display());
    while let Ok(event) = handle.events.recv() {
        if let Some(line) = state.take(&event) {
            eprintln!("{}{line}", if terminal { "\r\x1b[K" } else { "" });
        } else if terminal && shown.elapsed() >= PAUSE {
            shown = Instant::now();
            eprint!("\r\x1b[K{}", state.line());
            // A line of progress that cannot be written is no loss.
            drop(std::io::stderr().flush());
        }
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
}

struct State {
    began: Instant,
    steps: u64,
    place: String,
    model: String,
    /// The lines on failures that were shown last.
    told: VecDeque<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            steps: 0,
            place: "starting".to_owned(),
            model: String::new(),
            told: VecDeque::new(),
        }
    }
}

impl State {
    /// Takes in an event; gives a line that stays, when one is due.
    fn take(&mut self, event: &Event) -> Option<String> {
        match &event.body {
            Body::StepFinished { progression, .. } => {
                self.steps += 1;
                self.place = format!(
                    "episode {} step {} progression {:.1}%",
                    event.at.episode,
                    event.at.step,
                    progression * 100.0
                );
                self.model.clear();
            }
            Body::TurnDelta {
                phase,
                delta: crate::types::Delta::Prompt { done, total, cached },
                ..
            } => {
                self.model = format!("{}: prompt {done} of {total} tokens ({cached} cached)", phase.word());
            }
            Body::ModelFailed { message, .. } | Body::WorldFailed { message } => {
                let message = crate::protocol::sanitize::clean_line(message).into_owned();
                let line = format!("episode {} step {}: {message}", event.at.episode, event.at.step);
                // Events of the step under way come twice: as they happen, and when it is committed.
                let told = self.told.contains(&line);
                self.told.push_front(line.clone());
                self.told.truncate(TOLD);
                return (!told).then_some(line);
            }
            Body::EpisodeFinished { end } => {
                return Some(format!(
                    "episode {} ended after {} steps: {end}",
                    event.at.episode, event.at.step
                ));
            }
            _ => {}
        }
        None
    }

    fn line(&self) -> String {
        let rate = self.steps as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        let model = if self.model.is_empty() {
            String::new()
        } else {
            format!("  {}", self.model)
        };
        format!("{}  {rate:.1} steps/s{model}", self.place)
    }
}
