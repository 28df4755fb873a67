//! The event loop: takes events in, has effects carried out, draws when something changed.
//!
//! Owns the order of these and the clock. Must not decide anything: that is `update`'s.

use std::io::{Stdout, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event as term;
use ratatui::layout::Rect;

use super::data::{Data, Effect, Event};
use super::edge::{Edge, Left};
use super::editor::{Desk, Keyboard};
use super::export::{Format, export};
use super::pictures::Wire;
use super::pictures::probe::{self, Hints, Late};
use super::state::{Mood, State};
use super::{TuiError, panels, terminal, update, view};

/// Time between two frames at least.
pub(super) const FRAME: Duration = Duration::from_millis(16);
/// Events that are taken in before the screen is drawn.
const BATCH: usize = 4096;
/// Events that may wait.
const WAITING: usize = 8192;

/// The queue of everything that reaches the screen.
pub(super) fn queue() -> (Sender<Event>, Receiver<Event>) {
    bounded(WAITING)
}

/// A screen that is drawn when, and only when, its state changed.
pub(super) struct Canvas<B: Backend> {
    pub(super) terminal: Terminal<B>,
    /// Frames drawn so far.
    pub(super) frames: u64,
    /// The picture that stands on the screen.
    picture: Option<(Rect, Wire)>,
}

impl<B: Backend> Canvas<B> {
    pub(super) fn new(terminal: Terminal<B>) -> Self {
        Self {
            terminal,
            frames: 0,
            picture: None,
        }
    }

    /// Draws if something changed.
    pub(super) fn draw(&mut self, state: &mut State) -> Result<bool, B::Error> {
        if !state.redraw {
            return Ok(false);
        }
        state.redraw = false;
        let wanted = panels::game::wanted(state);
        let picture = wanted
            .as_ref()
            .and_then(|wanted| Some((wanted.area, state.pictures.ready(wanted)?.clone())));
        let stands = picture.as_ref().map(|(area, ready)| (*area, ready.key.graphics.wire));
        // A kitty takes its pictures away with the cells that hold them; other terminals keep
        // pixels until everything is emptied.
        if let Some((_, wire)) = self.picture
            && self.picture != stands
            && wire != Wire::Kitty
        {
            let size = self.terminal.size()?;
            self.terminal.resize(Rect::new(0, 0, size.width, size.height))?;
        }
        self.picture = stands;
        self.terminal.draw(|frame| {
            let area = frame.area();
            state.size = (area.width, area.height);
            let cursor = view::draw(state, frame.buffer_mut());
            if let Some((place, ready)) = &picture
                && place.intersection(area) == *place
            {
                frame.render_widget(ratatui_image::Image::new(&ready.image), *place);
            }
            if let Some(at) = cursor {
                frame.set_cursor_position(at);
            }
        })?;
        self.frames += 1;
        update::saw(state);
        Ok(true)
    }
}

/// Runs until a person or a signal ends it.
pub(super) fn run(
    state: &mut State,
    edge: &mut Edge,
    canvas: &mut Canvas<CrosstermBackend<Stdout>>,
    desk: &mut Desk,
    events: &Receiver<Event>,
    first: Vec<Effect>,
    mut probe: Option<Probe>,
) -> Result<(), TuiError> {
    let mut drawn = Instant::now() - FRAME;
    let mut tick: Option<Instant> = None;
    let mut effects = first;
    loop {
        effects.extend(update::settle(state));
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                let meta = state.watch.as_ref().map(|watch| Arc::clone(&watch.meta));
                match edge.carry_out(effect, meta.as_ref()) {
                    Left::Nothing => {}
                    Left::Quit => return Ok(()),
                    left => here(left, state, canvas, desk)?,
                }
            }
        }
        let now = Instant::now();
        tick = state
            .tick_every()
            .map(|every| tick.unwrap_or(now + every).min(now + every));
        // An editor may have the terminal.
        let draw_at = (state.redraw && !desk.is_away()).then(|| drawn + FRAME);
        if draw_at.is_some_and(|at| at <= now) {
            canvas.draw(state).map_err(TuiError::Terminal)?;
            drawn = Instant::now();
            if let Some(probe) = probe.take() {
                probe.ask().map_err(TuiError::Terminal)?;
            }
            continue;
        }
        let wake = [draw_at, tick, edge.count_at()].into_iter().flatten().min();
        wait(events, edge, wake);
        let due = tick.is_some_and(|at| at <= Instant::now());
        if due {
            tick = None;
        }
        match take_in(state, edge, events, due) {
            Some(more) => effects.extend(more),
            None => return Ok(()),
        }
    }
}

/// Takes in everything that waits; `None` when nothing will come any more.
pub(super) fn take_in(state: &mut State, edge: &mut Edge, events: &Receiver<Event>, tick: bool) -> Option<Vec<Effect>> {
    let mut batch = Vec::new();
    for _ in 0..BATCH {
        match events.try_recv() {
            Ok(event) => batch.push(event),
            Err(TryRecvError::Empty) => break,
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    batch.extend(edge.news(BATCH));
    if tick {
        batch.push(Event::Tick);
    }
    let mut effects = Vec::new();
    for event in batch {
        if matches!(event, Event::Data(Data::Started { .. })) {
            edge.adopt();
        }
        effects.extend(update::update(state, event));
    }
    Some(effects)
}

/// Waits until there is news or it is time.
pub(super) fn wait(events: &Receiver<Event>, edge: &Edge, wake: Option<Instant>) {
    let mut select = Select::new();
    select.recv(events);
    for feed in edge.feeds() {
        select.recv(feed);
    }
    match wake {
        Some(at) => drop(select.ready_deadline(at)),
        None => {
            select.ready();
        }
    }
}

/// What only this loop can do: it holds the terminal.
fn here(
    left: Left,
    state: &mut State,
    canvas: &mut Canvas<CrosstermBackend<Stdout>>,
    desk: &mut Desk,
) -> Result<(), TuiError> {
    match left {
        Left::Nothing | Left::Quit => {}
        Left::Suspend => {
            terminal::suspend(&mut canvas.terminal).map_err(TuiError::Terminal)?;
            state.pictures.forget();
            state.redraw = true;
        }
        Left::Clear => {
            terminal::clear(&mut canvas.terminal).map_err(TuiError::Terminal)?;
            state.redraw = true;
        }
        Left::Copy(text) => {
            if let Err(error) = terminal::copy(&text) {
                state.say(Mood::Bad, format!("not copied: {error}"));
            }
        }
        Left::Save(name) => save(&name, state),
        Left::Edit(request) => {
            if let Err(error) = desk.edit(request) {
                state.say(Mood::Bad, error);
            }
        }
        Left::Back => {
            desk.back().map_err(TuiError::Terminal)?;
            terminal::clear(&mut canvas.terminal).map_err(TuiError::Terminal)?;
            state.pictures.forget();
            state.redraw = true;
        }
    }
    Ok(())
}

fn save(name: &str, state: &mut State) {
    let size = state.size;
    let mut buf = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    state.message = None;
    state.pictures.hidden = true;
    view::draw(state, &mut buf);
    state.pictures.hidden = false;
    let text = export(&buf, Format::of_name(name), &state.theme);
    match std::fs::write(name, text) {
        Ok(()) => state.say(Mood::Good, format!("saved {name}")),
        Err(error) => state.say(
            Mood::Bad,
            format!("{name} was not saved: {error}; choose another name or folder"),
        ),
    }
}

/// The question what the terminal can show, to be asked when the first frame is on it.
pub(super) struct Probe {
    hints: Hints,
    asked: Sender<()>,
}

impl Probe {
    /// Asks, and lets the thread that reads keys listen for the answer.
    fn ask(self) -> std::io::Result<()> {
        let mut out = std::io::stdout();
        out.write_all(probe::question(self.hints).as_bytes())?;
        out.flush()?;
        let _ = self.asked.try_send(());
        Ok(())
    }
}

/// Starts the threads that turn keys and signals into events. With hints the terminal will be
/// asked what it can show.
pub(super) fn listen(
    events: &Sender<Event>,
    hints: Option<Hints>,
    keyboard: Keyboard,
) -> Result<Option<Probe>, TuiError> {
    let keys = events.clone();
    let (asked, begun) = bounded(1);
    std::thread::Builder::new()
        .name("keys".into())
        .spawn(move || {
            if let Some(hints) = hints
                && begun.recv().is_ok()
            {
                terminal::hear(hints, |event| {
                    // A screen that is gone hears nothing.
                    let _ = keys.send(event);
                });
            }
            let mut late = Late::default();
            loop {
                keyboard.pass();
                let Ok(event) = term::read() else { break };
                let events = match event {
                    term::Event::Key(key) if hints.is_some() => late.sift(key).into_iter().map(Event::Key).collect(),
                    term::Event::Key(key) => vec![Event::Key(key)],
                    term::Event::Paste(text) => vec![Event::Paste(text)],
                    term::Event::Resize(columns, rows) => vec![Event::Resize(columns, rows)],
                    _ => continue,
                };
                for event in events {
                    if keys.send(event).is_err() {
                        return;
                    }
                }
            }
            // The terminal is gone.
            let _ = keys.send(Event::Terminate);
        })
        .map_err(TuiError::Terminal)?;
    signals(events.clone())?;
    Ok(hints.map(|hints| Probe { hints, asked }))
}

#[cfg(unix)]
fn signals(events: Sender<Event>) -> Result<(), TuiError> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCONT]).map_err(TuiError::Terminal)?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                // What a person types while an editor has the terminal is for the editor alone.
                if matches!(signal, SIGINT | SIGTSTP | SIGCONT) && !terminal::is_taken() {
                    continue;
                }
                let event = match signal {
                    SIGTSTP => Event::Suspend,
                    SIGCONT => Event::Resumed,
                    _ => Event::Terminate,
                };
                if events.send(event).is_err() {
                    return;
                }
            }
        })
        .map(|_| ())
        .map_err(TuiError::Terminal)
}

#[cfg(not(unix))]
fn signals(_: Sender<Event>) -> Result<(), TuiError> {
    Ok(())
}
