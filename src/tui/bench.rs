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
    // What the loader brings first: the cursor's step and its memory. The rest comes later.
    for effect in update::settle(&mut state) {
        if let Effect::Load(mut request) = effect {
            request.around.clear();
            take(&mut state, loader::read(&reader, Effect::Load(request)));
        }
    }
    update::settle(&mut state);
    let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.0, SIZE.1));
    let mut canvas = Canvas::new(terminal);
    draw(&mut canvas, &mut state);
    let first_frame_ms = ms(began);

    // The loader works beside the screen: its work is done before frames are measured.
    let some = last.clamp(1, 120);
    for step in 0..some {
        go(&mut state, step);
        for effect in update::settle(&mut state) {
            if !matches!(effect, Effect::LoadBlame { .. }) {
                take(&mut state, loader::read(&reader, effect));
            }
        }
    }
    let mut frames = Vec::new();
    let measuring = Instant::now();
    let mut step = 0u32;
    while measuring.elapsed() < time || frames.len() < 20 {
        step = (step + 7) % some;
        let began = Instant::now();
        go(&mut state, step);
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

fn take(state: &mut State, data: Vec<Data>) {
    for data in data {
        update::update(state, Event::Data(data));
    }
}

fn go(state: &mut State, step: u32) {
    if let Some(watch) = &mut state.watch {
        watch.go(StepNo(step));
    }
    state.redraw = true;
}

fn draw(canvas: &mut Canvas<TestBackend>, state: &mut State) {
    let Ok(_) = canvas.draw(state);
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
