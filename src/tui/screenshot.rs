//! One drawn screen of a run from disk, without a terminal.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::coloring;
use super::curating;
use super::data::{Data, Effect, Event, Opened};
use super::export::{Format, export};
use super::keymap::Screen;
use super::layout::Pane;
use super::loader;
use super::panes::GameView;
use super::pictures::{self, Pictures};
use super::proposals::opened;
use super::rules::Rules;
use super::state::State;
use super::theme::{Depth, Themes};
use super::{TuiError, jobs, update, view};
use crate::config::Workspace;
use crate::review::Desk;
use crate::store::Reader;
use crate::types::{EpisodeNo, StepNo};

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShotScreen {
    /// The list of runs.
    Runs,
    /// The run.
    Watch,
    /// Proposals.
    Review,
    /// Data selections.
    Curate,
}

/// A picture to be drawn.
#[derive(Debug, Clone)]
pub struct Shot {
    /// The run file; the list of runs needs none.
    pub run: Option<PathBuf>,
    /// The proposal that is open on the screen of proposals.
    pub proposal: Option<String>,
    /// Episode.
    pub episode: EpisodeNo,
    /// Step.
    pub step: StepNo,
    /// Screen.
    pub screen: ShotScreen,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Form.
    pub format: Format,
    /// Name or path of the theme.
    pub theme: String,
    /// How many colours the terminal would have.
    pub colors: Depth,
    /// How the game is drawn: `halfblocks`, `letters`, `mono`.
    pub pictures: Option<String>,
    /// The pane that has the focus: `game`, `memory`, `actions`, `scaffold`, `timeline`.
    pub pane: Option<String>,
    /// The game's view: `agent`, `map`, `text`.
    pub view: Option<String>,
}

/// Draws a screen as text.
///
/// # Errors
/// When the run or the theme cannot be read.
pub fn shoot(shot: &Shot, workspace: &Workspace) -> Result<String, TuiError> {
    let theme = Themes::of(workspace).load(&shot.theme, shot.colors)?;
    let screen = match shot.screen {
        ShotScreen::Runs => Screen::Runs,
        ShotScreen::Watch => Screen::Watch,
        ShotScreen::Review => Screen::Review,
        ShotScreen::Curate => Screen::Curate,
    };
    let mut state = State::new(shot.size, theme, screen);
    let choice = pictures::choice(shot.pictures.as_deref().unwrap_or_default()).map_err(TuiError::Pictures)?;
    state.pictures = Pictures::new(choice, None);
    if screen == Screen::Runs {
        update::update(&mut state, Event::Data(jobs::list(workspace)));
    }
    if let Some(run) = &shot.run {
        load(&mut state, run.clone(), shot)?;
        state.screen = screen;
    }
    if matches!(screen, Screen::Review | Screen::Curate) {
        proposals(&mut state, workspace, shot.proposal.as_deref())?;
    }
    update::settle(&mut state);
    let mut buf = Buffer::empty(Rect::new(0, 0, shot.size.0, shot.size.1));
    view::draw(&state, &mut buf);
    Ok(export(&buf, shot.format, &state.theme))
}

/// Proposals, one of them open.
fn proposals(state: &mut State, workspace: &Workspace, open: Option<&str>) -> Result<(), TuiError> {
    // Looking makes no database.
    let mut list = Vec::new();
    if workspace.database().is_file() || open.is_some() {
        let desk = Desk::open(workspace)?;
        list = desk.list()?;
        if let Some(id) = open {
            let (dossier, items) = opened(&desk, &id.into())?;
            let id = dossier.standing.id.clone();
            state.screen = if items.is_some() {
                Screen::Curate
            } else {
                Screen::Review
            };
            state.review.opening = Some(id.clone());
            state.curate.opening = Some(id.clone());
            if let Some(items) = items {
                update::update(state, Event::Data(Data::Items(id, Arc::new(items))));
            }
            update::update(state, Event::Data(Data::Dossier(Arc::new(dossier))));
        }
    }
    update::update(state, Event::Data(Data::Proposals(list)));
    for effect in update::settle(state) {
        let answers = match effect {
            Effect::Colour(wish) => coloring::at_once(wish).into_iter().collect(),
            Effect::Talk(wish) => curating::at_once(wish),
            _ => Vec::new(),
        };
        for data in answers {
            update::update(state, Event::Data(data));
        }
    }
    Ok(())
}

/// Everything that the cursor needs, read at once.
fn load(state: &mut State, run: PathBuf, shot: &Shot) -> Result<(), TuiError> {
    let reader = Reader::open(&run)?;
    let timeline = loader::timeline_of(&reader, shot.episode, StepNo(0))?;
    let meta = Arc::new(reader.meta().clone());
    let opened = Opened {
        path: run,
        rules: Arc::new(Rules::of(&meta)),
        meta,
        timeline,
        step: Some(shot.step),
    };
    update::update(state, Event::Data(Data::Opened(Box::new(opened))));
    if let Some(watch) = &mut state.watch {
        choose(watch, shot);
    }
    // The first request names what the cursor needs, the trail comes beside it.
    // What it brings leads to the next wish: who wrote the file that is open.
    for _ in 0..3 {
        for data in update::settle(state)
            .into_iter()
            .flat_map(|effect| loader::read(&reader, effect))
        {
            update::update(state, Event::Data(data));
        }
    }
    Ok(())
}

fn choose(watch: &mut super::watch::Watch, shot: &Shot) {
    let pane = Pane::ALL.into_iter().find(|pane| {
        shot.pane
            .as_ref()
            .is_some_and(|name| pane.title().eq_ignore_ascii_case(name))
    });
    if let Some(pane) = pane {
        watch.focus_on(pane);
    }
    watch.game.view = match shot.view.as_deref() {
        Some("map") => GameView::Map,
        Some("text") => GameView::Text,
        _ => GameView::Agent,
    };
}
