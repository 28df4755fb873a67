//! The screens: the list of runs, and one run live or replayed.
//!
//! Owns state, keys, drawing and the event loop. What changes is decided in `update` as
//! `state + event -> state + effects`; `edge` carries effects out. Only this module names the
//! terminal. Must not know how runs are stored, played or thought: it asks those who do.
//!
//! To add a panel: a file in `panels`, its rectangle in `layout`, its keys in `keymap/table.rs`.

mod app;
pub mod bench;
mod blame;
mod cache;
mod data;
mod edge;
mod export;
mod filter;
mod folded;
mod inspector;
mod jobs;
mod keymap;
mod layout;
mod live;
mod loader;
mod memory_diff;
mod outside;
mod overlay;
mod pace;
mod panels;
mod panes;
mod prompt;
mod runs;
mod screenshot;
mod state;
mod stream;
mod terminal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod theme;
mod update;
mod view;
mod watch;
mod widgets;

use std::path::PathBuf;

use crate::agent::{AgentError, RunHandle};
use crate::config::Workspace;
use crate::store::StoreError;
use crate::types::{EpisodeNo, StepNo};

pub use export::Format;
pub use pace::{Pace, paced};
pub use screenshot::{Shot, ShotScreen, shoot};
pub use theme::{Depth, Theme, ThemeError};

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
    /// Name of the theme; `None` takes `AUTOMEM_THEME`, else the dark one.
    pub theme: Option<String>,
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
    /// The theme cannot be used.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run that was played did not end well.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// What is to be said after the terminal was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Farewell {
    /// The run that was played last, if any.
    pub run: Option<PathBuf>,
    /// It can be resumed.
    pub open: bool,
}

/// Shows the screens until a person or a signal ends them.
///
/// # Errors
/// When there is no terminal, or the run that was played could not be recorded.
pub fn run(start: Start) -> Result<Farewell, TuiError> {
    if !terminal::is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let theme = chosen(start.theme)?;
    let (sender, events) = app::queue();
    let (mut state, effects, playing) = begin(start.open, theme);
    let mut edge = edge::Edge::new(start.workspace, sender.clone(), playing).map_err(TuiError::Terminal)?;
    let result = {
        let (_guard, screen) = terminal::Guard::take(sender.clone()).map_err(TuiError::Terminal)?;
        app::listen(&sender)?;
        let mut canvas = app::Canvas::new(screen);
        if let Ok(size) = canvas.terminal.size() {
            state.size = (size.width, size.height);
        }
        app::run(&mut state, &mut edge, &mut canvas, &events, effects)
    };
    drop(events);
    let mut farewell = Farewell { run: None, open: false };
    if let Some(handle) = edge.close() {
        handle.controls.abort();
        let path = handle.run.clone();
        let report = handle.wait()?;
        farewell.open = report.episodes.iter().any(|episode| episode.end.is_none());
        farewell.run = Some(path);
    }
    result.map(|()| farewell)
}

fn chosen(name: Option<String>) -> Result<Theme, ThemeError> {
    let name = name
        .or_else(|| std::env::var("AUTOMEM_THEME").ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "dark".to_owned());
    Theme::load(&name, Depth::detect())
}

/// The first state, and what it asks for.
fn begin(open: Open, theme: Theme) -> (state::State, Vec<data::Effect>, Option<edge::Playing>) {
    use data::Effect;
    let size = (80, 24);
    let list = Effect::ListRuns;
    match open {
        Open::Runs => (state::State::new(size, theme, keymap::Screen::Runs), vec![list], None),
        Open::Replay { path, episode, step } => {
            let mut state = state::State::new(size, theme, keymap::Screen::Watch);
            state.opening = true;
            (state, vec![Effect::Open { path, episode, step }], None)
        }
        Open::Live(handle, pace) => {
            let mut state = state::State::new(size, theme, keymap::Screen::Watch);
            state.opening = true;
            state.live = Some(live::LiveRun::new(handle.run.clone(), pace.is_some()));
            let open = Effect::Open {
                path: handle.run.clone(),
                episode: EpisodeNo(0),
                step: None,
            };
            (state, vec![open], Some((handle, pace)))
        }
    }
}
