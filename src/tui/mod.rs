//! The screens: the list of runs, and one run live or replayed.
//!
//! Owns state, keys, drawing and the event loop. What changes is decided in `update` as
//! `state + event -> state + effects`; `edge` carries effects out. Only this module names the
//! terminal. Must not know how runs are stored, played or thought: it asks those who do.
//!
//! To add a panel: a file in `panels`, its rectangle in `layout`, its keys in `keymap/table.rs`.

mod abilities;
mod app;
pub mod bench;
mod blame;
mod cache;
mod coloring;
mod columns;
mod curate;
mod curating;
mod data;
mod edge;
mod editor;
mod effects;
mod entries;
mod export;
mod fields;
mod filter;
mod folded;
mod insight;
mod inspector;
mod jobs;
mod keymap;
mod lab;
mod laboratory;
mod layout;
mod live;
mod loader;
mod memory_diff;
mod optimize;
mod optimizing;
mod outside;
mod overlay;
mod pace;
mod panels;
mod panes;
mod pictures;
mod playing;
mod prompt;
mod proposals;
mod review;
mod rules;
mod runs;
mod screenshot;
mod specialist;
mod start;
mod state;
mod stream;
mod take_over;
mod terminal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod theme;
mod track;
mod trainings;
mod update;
mod view;
mod watch;
mod widgets;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agent::{AgentError, ControlState, RunHandle};
use crate::config::{Colors, Problem, Resolved, Settings, Workspace};
use crate::store::{Reader, StoreError};
use crate::types::{EpisodeNo, StepNo};

pub use abilities::{Abilities, LEAST_SIZE, PicturesFound, abilities};
pub use export::Format;
pub use keymap::KeyRow;
pub use pace::{Pace, paced};
pub use screenshot::{Shot, ShotScreen, shoot};
pub use theme::{Depth, Theme, ThemeError, Themes};

/// What the program begins with.
#[derive(Debug)]
pub enum Open {
    /// The list of runs.
    Runs,
    /// A run from disk.
    Replay {
        /// Its file.
        path: PathBuf,
        /// Episode.
        episode: EpisodeNo,
        /// Step; `None` begins at the start (of an unfinished run at its end).
        step: Option<StepNo>,
    },
    /// A run that has just been started.
    Live(RunHandle, Option<Pace>),
}

/// How the program begins.
#[derive(Debug)]
pub struct Start {
    /// Where runs and models lie.
    pub workspace: Workspace,
    /// What is shown first.
    pub open: Open,
    /// How a person wants it.
    pub settings: Settings,
}

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Nobody could see it.
    #[error(
        "this is not a terminal; `automem show RUN --episode 0 --step 0` and `automem run` print without one, `automem screenshot RUN` draws a screen"
    )]
    NoTerminal,
    /// The terminal failed.
    #[error("the terminal failed: {0}; try another terminal, or TERM=xterm-256color")]
    Terminal(#[source] std::io::Error),
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] crate::config::SettingsError),
    /// The theme cannot be used.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// The way of drawing pictures that was asked for does not exist.
    #[error("AUTOMEM_PICTURES: {0}")]
    Pictures(String),
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Proposals cannot be read.
    #[error(transparent)]
    Review(#[from] crate::review::ReviewError),
    /// The run that was played did not end well.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// What is to be said after the terminal was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Farewell {
    /// The runs that were played, and whether they can be resumed.
    pub runs: Vec<(PathBuf, bool)>,
    /// What went wrong at the end.
    pub problem: Option<String>,
}

/// Shows the screens until a person or a signal ends them.
///
/// # Errors
/// When there is no terminal, or the run that was played could not be recorded.
pub fn run(start: Start) -> Result<Farewell, TuiError> {
    if !terminal::is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let themes = Themes::of(&start.workspace);
    let theme = themes.load(&start.settings.theme, depth(&start.settings))?;
    let (sender, events) = app::queue();
    let choice = pictures::choice(&start.settings.pictures).map_err(TuiError::Pictures)?;
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let hints = pictures::probe::hints(choice, theme.terminal(), get, pictures::probe::tmux_passes).ok();
    let (mut state, effects, playing) = begin(start.open, &start.settings, theme)?;
    state.pictures = pictures::Pictures::new(choice, terminal::cell());
    state.themes = themes.names();
    let mut edge =
        edge::Edge::new(start.workspace, start.settings, sender.clone(), playing).map_err(TuiError::Terminal)?;
    let result = {
        let (_guard, screen) = terminal::Guard::take(sender.clone()).map_err(TuiError::Terminal)?;
        let keyboard = editor::Keyboard::default();
        let probe = app::listen(&sender, hints, keyboard.clone())?;
        let mut desk = editor::Desk::new(keyboard, sender.clone());
        let mut canvas = app::Canvas::new(screen);
        if let Ok(size) = canvas.terminal.size() {
            state.size = (size.width, size.height);
        }
        app::run(&mut state, &mut edge, &mut canvas, &mut desk, &events, effects, probe)
    };
    drop(events);
    let (handles, mut problem) = edge.close();
    let_stop(&handles);
    handles.iter().for_each(|handle| handle.controls.abort());
    let mut farewell = Farewell {
        runs: Vec::new(),
        problem: None,
    };
    for handle in handles {
        let path = handle.run.clone();
        match handle.wait() {
            Ok(_) => {
                let open = Reader::open(&path).is_ok_and(|reader| !reader.is_finished());
                farewell.runs.push((path, open));
            }
            // A run that was deleted meanwhile has nothing to report.
            Err(_) if !path.exists() => {}
            Err(error) => problem = Some(error.to_string()),
        }
    }
    farewell.problem = problem;
    result.map(|()| farewell)
}

/// How long a run that was told to stop may take when the screen is left.
const STOPPING: Duration = Duration::from_secs(3);

/// Gives runs that were told to stop a moment to end as stopped; what is cut off instead stays open.
fn let_stop(handles: &[RunHandle]) {
    let began = Instant::now();
    let stops = |handle: &RunHandle| handle.controls.state() == ControlState::Stopping && !handle.is_over();
    while handles.iter().any(stops) && began.elapsed() < STOPPING {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is wrong with the settings that only the screen understands: the theme and the keys.
pub fn check(resolved: &Resolved, workspace: &Workspace) -> Vec<Problem> {
    let settings = &resolved.settings;
    let mut problems = keymap::Keymap::with(&settings.keys).err().unwrap_or_default();
    if let Err(error) = Themes::of(workspace).load(&settings.theme, Depth::True) {
        let origin = resolved.entries().into_iter().find(|entry| entry.key == "theme");
        problems.push(Problem {
            place: origin.map_or_else(String::new, |entry| entry.origin),
            line: 0,
            column: 0,
            message: error.to_string(),
            hint: String::new(),
        });
    }
    problems
}

/// Every action with its keys under the settings.
///
/// # Errors
/// When keys of the settings cannot be used.
pub fn keys(settings: &Settings) -> Result<Vec<KeyRow>, Vec<Problem>> {
    keymap::Keymap::with(&settings.keys).map(|map| keymap::rows(&map))
}

/// What the terminal shall show.
pub(crate) fn depth(settings: &Settings) -> Depth {
    match settings.colors {
        Colors::Auto => Depth::detect(),
        Colors::Mono => Depth::Mono,
        Colors::Ansi16 => Depth::Ansi16,
        Colors::Ansi256 => Depth::Ansi256,
        Colors::True => Depth::True,
    }
}

/// A first state as the settings want it.
fn prepared(settings: &Settings, theme: Theme, screen: keymap::Screen) -> Result<state::State, TuiError> {
    let mut state = state::State::new((80, 24), theme, screen);
    state.keymap = keymap::Keymap::with(&settings.keys).map_err(crate::config::SettingsError::Invalid)?;
    state.opens = state::Opens {
        speed: watch::Speed(settings.replay_speed.0),
        step_ms: settings.scripted.step_ms,
    };
    state.runs.sort = runs::Sort::named(&settings.runs.sort);
    state.runs.columns = settings
        .runs
        .columns
        .iter()
        .filter_map(|name| columns::Column::named(name))
        .collect();
    state.runs.run = settings.run.clone();
    if let Some(seed) = settings.run.seeds().ok().and_then(|seeds| seeds.first().copied()) {
        state.runs.start.seed = seed;
    }
    Ok(state)
}

/// The first state, and what it asks for.
fn begin(
    open: Open,
    settings: &Settings,
    theme: Theme,
) -> Result<(state::State, Vec<data::Effect>, Option<playing::Playing>), TuiError> {
    use data::Effect;
    let screen = match open {
        Open::Runs => keymap::Screen::Runs,
        Open::Replay { .. } | Open::Live(..) => keymap::Screen::Watch,
    };
    let mut state = prepared(settings, theme, screen)?;
    Ok(match open {
        Open::Runs => (state, vec![Effect::ListRuns], None),
        Open::Replay { path, episode, step } => {
            state.opening = true;
            (state, vec![Effect::Open { path, episode, step }], None)
        }
        Open::Live(handle, pace) => {
            state.opening = true;
            state.live = Some(live::LiveRun::new(handle.run.clone(), pace.is_some()));
            let open = Effect::Open {
                path: handle.run.clone(),
                episode: EpisodeNo(0),
                step: None,
            };
            (state, vec![open], Some((handle, pace)))
        }
    })
}
