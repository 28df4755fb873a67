//! Measures of the screen for `automem bench tui`: what a frame costs, that nothing is drawn when
//! nothing changed, and what is drawn while many episodes play.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{self, Canvas};
use super::curate::Talk;
use super::data::{ControlRequest, Data, Effect, Event, Opened, StartRequest};
use super::edge::Edge;
use super::keymap::Screen;
use super::loader;
use super::rules::Rules;
use super::state::{Mood, State};
use super::theme::{Depth, Theme};
use super::{TuiError, update};
use crate::config::{Settings, Workspace};
use crate::llm::Usage;
use crate::review::{
    Content, Dossier, Draft, Facts, Item, Proposal, RevisionContent, SelectedRun, SelectionContent, Standing,
    items_digest,
};
use crate::store::Reader;
use crate::types::{ChatRole, EpisodeNo, Message, Phase, StepNo};

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
        rules: Arc::new(Rules::of(reader.meta())),
        meta: Arc::new(reader.meta().clone()),
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

/// Milliseconds to the first frame of a difference of two texts of 100 kB, the median of some: comparing them,
/// laying them out, finding the words that changed, drawing. Colours come later, from a thread of their own.
///
/// # Errors
/// When the theme cannot be read.
pub fn diff() -> Result<f64, TuiError> {
    let old: String = (0..2_500)
        .map(|n| {
            format!(
                "{n:>5}: the line says what the player saw at {}, {}\n",
                n * 7 % 64,
                n * 13 % 64
            )
        })
        .collect();
    let changed = |(n, line): (usize, &str)| match n % 9 {
        0 => line.replace("player", "agent"),
        4 => format!("{line}    and one more of them\n"),
        7 => String::new(),
        _ => line.to_owned(),
    };
    let new: String = old.split_inclusive('\n').enumerate().map(changed).collect();
    let files = |text: &str| BTreeMap::from([("hooks.star".to_owned(), text.to_owned())]);
    let draft = Draft {
        author: String::new(),
        title: String::new(),
        rationale: String::new(),
        evidence: Vec::new(),
        usage: Usage::default(),
        origin: None,
        content: Content::Revision(Box::new(RevisionContent {
            line: String::new(),
            parent: String::new(),
            parent_digest: crate::types::Digest::of("parent"),
            base: files(&old),
            files: files(&new),
        })),
    };
    let mut times = Vec::new();
    for _ in 0..9 {
        let theme = Theme::load("dark", Depth::True)?;
        let mut state = State::new(SIZE, theme, Screen::Review);
        state.review.opening = Some("p1".into());
        let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.0, SIZE.1));
        let mut canvas = Canvas::new(terminal);
        let draft = draft.clone();
        let began = Instant::now();
        let proposal = Proposal::new("p1".into(), String::new(), draft);
        let dossier = Dossier {
            standing: Standing::of(&proposal, &[]),
            proposal,
            entries: Vec::new(),
        };
        update::update(&mut state, Event::Data(Data::Dossier(Arc::new(dossier))));
        update::settle(&mut state);
        draw(&mut canvas, &mut state);
        times.push(ms(began));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// What a data selection costs on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curating {
    /// Milliseconds from the items to the first frame.
    pub open_ms: f64,
    /// Milliseconds of a frame while items are scrolled, the median.
    pub frame_ms: f64,
    /// Milliseconds of the slowest frame in a hundred.
    pub slow_frame_ms: f64,
}

/// Measures the Curate screen over so many items, each key moving to another one with its conversation.
///
/// # Errors
/// When the theme cannot be read.
pub fn curate(count: u32) -> Result<Curating, TuiError> {
    let theme = Theme::load("dark", Depth::True)?;
    let mut state = State::new(SIZE, theme, Screen::Curate);
    let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.0, SIZE.1));
    let mut canvas = Canvas::new(terminal);
    let items = Arc::new((0..count).map(item).collect::<Vec<_>>());
    let proposal = Proposal::new("p1".into(), String::new(), selection(&items));
    let dossier = Arc::new(Dossier {
        standing: Standing::of(&proposal, &[]),
        proposal,
        entries: Vec::new(),
    });
    let talk = Arc::new(Talk {
        messages: vec![
            Message::new(ChatRole::System, "You play and keep notes. ".repeat(100)),
            Message::new(ChatRole::User, "You see grass to your west.\n".repeat(40)),
            Message::new(ChatRole::Assistant, "<|APPEND|>map.txt|12,7 a tree<|END|>\n<|DONE|>"),
        ],
        vocabulary: Rules::default().vocabulary,
        ..Talk::default()
    });
    let began = Instant::now();
    let id: crate::review::ProposalId = "p1".into();
    state.curate.opening = Some(id.clone());
    update::update(&mut state, Event::Data(Data::Items(id.clone(), items)));
    update::update(&mut state, Event::Data(Data::Dossier(dossier)));
    update::settle(&mut state);
    draw(&mut canvas, &mut state);
    let open_ms = ms(began);
    let mut frames = Vec::new();
    for n in 0..400 {
        let code = match n % 4 {
            0 => KeyCode::PageDown,
            1 if n % 40 == 1 => KeyCode::End,
            2 if n % 40 == 2 => KeyCode::Home,
            _ => KeyCode::Char('j'),
        };
        let began = Instant::now();
        update::update(&mut state, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        for effect in update::settle(&mut state) {
            if let Effect::Talk(wish) = effect {
                for wanted in wish.wanted {
                    let (proposal, at, talk) = (id.clone(), wanted.at, Ok(Arc::clone(&talk)));
                    update::update(&mut state, Event::Data(Data::Talk { proposal, at, talk }));
                }
            }
        }
        update::settle(&mut state);
        draw(&mut canvas, &mut state);
        frames.push(ms(began));
    }
    frames.sort_by(f64::total_cmp);
    Ok(Curating {
        open_ms,
        frame_ms: frames[frames.len() / 2],
        slow_frame_ms: frames[frames.len() * 99 / 100],
    })
}

fn selection(items: &[Item]) -> Draft {
    Draft {
        author: "rules".to_owned(),
        title: String::new(),
        rationale: String::new(),
        evidence: Vec::new(),
        usage: Usage::default(),
        origin: None,
        content: Content::Selection(Box::new(SelectionContent {
            env: "crafter".to_owned(),
            scaffold: "crafter-v0".to_owned(),
            runs: vec![SelectedRun {
                path: "traces.db".to_owned(),
                id: "traces".into(),
            }],
            criteria: String::new(),
            items: items_digest(items),
            count: items.len() as u32,
            selected: items.len() as u32,
            gate_seeds: vec![42],
            minimum: 300,
        })),
    }
}

fn item(n: u32) -> Item {
    let phase = if n.is_multiple_of(2) { Phase::Log } else { Phase::Plan };
    Item {
        id: format!("traces:{}:{n}:{}", n / 1000, phase.word()),
        run: 0,
        episode: EpisodeNo(n / 1000),
        seed: u64::from(n / 1000) + 100,
        step: StepNo(n % 1000),
        phase,
        ops: vec![["APPEND", "READ", "SEARCH"][n as usize % 3].to_owned()],
        digest: crate::types::Digest::of(n.to_le_bytes()),
        selected: true,
        score: 0.5,
        reason: "read 2 times, advantage +0.12".to_owned(),
        note: format!("read at step {}, reward +1 after it", n % 1000 + 9),
        alike: n.is_multiple_of(7).then_some(n / 14),
        facts: Facts::default(),
    }
}

/// What was measured while several episodes played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    /// Frames that were drawn a second.
    pub frames_per_s: f64,
    /// Milliseconds of work for a frame (events taken in, state settled, drawn): all but the slowest
    /// twentieth take less.
    pub frame_p95_ms: f64,
    /// Steps a second that all episodes made together.
    pub steps_per_s: f64,
}

/// Plays so many scripted episodes at once, unpaced, with one of them on the screen, for about the
/// given time.
///
/// # Errors
/// When the run cannot be started or read.
pub fn crowd(workspace: &Workspace, episodes: u32, time: Duration) -> Result<Crowd, TuiError> {
    let settings = Settings::default();
    let theme = Theme::load("dark", Depth::True)?;
    let (sender, events) = app::queue();
    let mut state = State::new(SIZE, theme, Screen::Runs);
    let mut edge = Edge::new(workspace.clone(), settings.clone(), sender, None).map_err(TuiError::Terminal)?;
    let Ok(terminal) = Terminal::new(TestBackend::new(SIZE.0, SIZE.1));
    let mut canvas = Canvas::new(terminal);
    let mut effects = vec![Effect::Start(StartRequest {
        world: settings.run.env,
        scaffold: settings.run.scaffold,
        model: "scripted".to_owned(),
        specialist: None,
        seeds: format!("1..{episodes}"),
        max_steps: 1_000_000,
        workers: episodes,
        show: true,
    })];
    let mut drawn = Instant::now();
    let (mut work, mut frames, mut counting) = (Duration::ZERO, Vec::new(), None);
    let mut paced = true;
    loop {
        let began = Instant::now();
        if let Some(live) = state.live.as_ref().filter(|_| std::mem::take(&mut paced)) {
            effects.push(Effect::Control(live.id, ControlRequest::Pace(0)));
        } else if state.live.is_none() {
            paced = true;
        }
        effects.extend(update::settle(&mut state));
        let meta = state.watch.as_ref().map(|watch| Arc::clone(&watch.meta));
        for effect in std::mem::take(&mut effects) {
            edge.carry_out(effect, meta.as_ref());
        }
        if state.redraw && drawn + app::FRAME <= began {
            draw(&mut canvas, &mut state);
            drawn = Instant::now();
            work += began.elapsed();
            if state.screen == Screen::Watch {
                counting.get_or_insert((drawn, steps_of(&state)));
                frames.push(work.as_secs_f64() * 1000.0);
            }
            work = Duration::ZERO;
        } else {
            work += began.elapsed();
        }
        let over = counting.is_some_and(|(since, _)| since.elapsed() >= time);
        if over || state.live.as_ref().is_some_and(|live| live.is_over()) {
            break;
        }
        app::wait(&events, &edge, Some((drawn + app::FRAME).max(Instant::now())));
        let began = Instant::now();
        effects.extend(app::take_in(&mut state, &mut edge, &events, false).unwrap_or_default());
        work += began.elapsed();
        if let Some(message) = state.message.as_ref().filter(|message| message.mood == Mood::Bad) {
            return Err(TuiError::Terminal(std::io::Error::other(message.text.clone())));
        }
    }
    let (since, before) = counting.unwrap_or((drawn, 0));
    let seconds = since.elapsed().as_secs_f64().max(0.001);
    let steps = steps_of(&state) - before;
    drop(events);
    let (handles, _) = edge.close();
    for handle in handles {
        handle.controls.abort();
        handle.wait()?;
    }
    let count = frames.len();
    frames.sort_by(f64::total_cmp);
    Ok(Crowd {
        frames_per_s: count as f64 / seconds,
        frame_p95_ms: frames.get(count * 95 / 100).copied().unwrap_or(0.0),
        steps_per_s: f64::from(steps) / seconds,
    })
}

fn steps_of(state: &State) -> u32 {
    let live = state.live.iter();
    live.flat_map(|live| live.episodes.values())
        .map(|episode| episode.steps)
        .sum()
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
