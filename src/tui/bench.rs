//! Measures of the screen for `automem bench tui`: what a frame costs, and that nothing is drawn
//! when nothing changed.

use std::path::Path;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::Canvas;
use super::data::{Data, Effect, Event, Opened};
use super::keymap::Screen;
use super::loader;
use super::state::State;
use super::theme::{Depth, Theme};
use super::{TuiError, update};
use crate::store::Reader;
use crate::types::{EpisodeNo, StepNo};

/// Columns and rows that are measured.
const SIZE: (u16, u16) = (200, 60);

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Milliseconds of a frame, the median over steps.
    pub frame_ms: f64,
    /// Milliseconds of the slowest frame in a hundred.
    pub slow_frame_ms: f64,
    /// Milliseconds from opening the run to the first complete frame.
    pub first_frame_ms: f64,
    /// Frames that were drawn for events that change nothing.
    pub idle_frames: u64,
    /// Frames for a burst of events between two drawings.
    pub burst_frames: u64,
}

/// Measures over a run for about the given time.
///
/// # Errors
/// When the run cannot be read.
pub fn measure(run: &Path, time: Duration) -> Result<Figures, TuiError> {
    let began = Instant::now();
    let theme = Theme::load("dark", Depth::True)?;
    let mut state = State::new(SIZE, theme, Screen::Watch);
    let reader = Reader::open(run)?;
    let opened = Opened {
        path: run.to_owned(),
        meta: std::sync::Arc::new(reader.meta().clone()),
        timeline: loader::timeline_of(&reader, EpisodeNo(0), StepNo(0))?,
        step: Some(StepNo(0)),
    };
    let last = opened.timeline.marks.len() as u32;
    update::update(&mut state, Event::Data(Data::Opened(Box::new(opened))));
    serve(&mut state, &reader);
    let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.0, SIZE.1));
    let mut canvas = Canvas::new(terminal);
    draw(&mut canvas, &mut state);
    let first_frame_ms = ms(began);

    let mut frames = Vec::new();
    let measuring = Instant::now();
    let mut step = 0u32;
    while measuring.elapsed() < time || frames.len() < 20 {
        step = (step + 7) % last.max(1);
        if let Some(watch) = &mut state.watch {
            watch.go(StepNo(step));
        }
        state.redraw = true;
        serve(&mut state, &reader);
        state.redraw = true;
        let began = Instant::now();
        update::settle(&mut state);
        draw(&mut canvas, &mut state);
        frames.push(ms(began));
    }
    frames.sort_by(f64::total_cmp);

    let before = canvas.frames;
    for _ in 0..1000 {
        // A key that nothing is bound to, and a tick while nothing plays.
        let key = KeyEvent::new(KeyCode::Char('€'), KeyModifiers::NONE);
        update::update(&mut state, Event::Key(key));
        update::update(&mut state, Event::Tick);
        update::settle(&mut state);
        draw(&mut canvas, &mut state);
    }
    let idle_frames = canvas.frames - before;
    let before = canvas.frames;
    for _ in 0..1000 {
        let key = KeyEvent::new(KeyCode::Right, KeyModifiers::NONE);
        update::update(&mut state, Event::Key(key));
    }
    draw(&mut canvas, &mut state);
    Ok(Figures {
        frame_ms: frames[frames.len() / 2],
        slow_frame_ms: frames[frames.len() * 99 / 100],
        first_frame_ms,
        idle_frames,
        burst_frames: canvas.frames - before,
    })
}

/// Gives the state what it asks for, at once.
fn serve(state: &mut State, reader: &Reader) {
    let effects: Vec<Effect> = update::settle(state);
    for data in effects.into_iter().flat_map(|effect| loader::read(reader, effect)) {
        update::update(state, Event::Data(data));
    }
    update::settle(state);
}

fn draw(canvas: &mut Canvas<TestBackend>, state: &mut State) {
    let Ok(_) = canvas.draw(state);
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
