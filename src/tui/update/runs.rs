//! Actions on the list of runs, and on the choice of what to start.

use super::page;
use crate::tui::data::{Effect, RunState};
use crate::tui::keymap::{Action, Screen};
use crate::tui::overlay::{LineFor, LinePrompt, Overlay};
use crate::tui::runs::{Choice, StartPanel};
use crate::tui::state::{Mood, State};
use crate::types::EpisodeNo;

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    if state.shows_start() {
        let mut start = std::mem::take(&mut state.runs.start);
        let effects = choose(state, &mut start, action);
        state.runs.start = start;
        return effects;
    }
    state.redraw = true;
    let (len, height) = (state.runs.rows.len(), page(state));
    let scroll = &mut state.runs.scroll;
    match action {
        Action::Up => scroll.select_by(-1, len, height),
        Action::Down => scroll.select_by(1, len, height),
        Action::PageUp => scroll.select_by(-(height as isize), len, height),
        Action::PageDown => scroll.select_by(height as isize, len, height),
        Action::Top => scroll.select(0, len, height),
        Action::Bottom => scroll.select(len, len, height),
        Action::Open => return open(state),
        Action::NewRun => {
            let start = state.runs.start.clone();
            state.overlays.push(Overlay::Start(start));
        }
        Action::Filter => {
            let text = state.runs.filter.clone();
            let purpose = LineFor::Filter;
            state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
        }
        Action::Sort => {
            state.runs.sort = state.runs.sort.next();
            state.runs.arrange();
            let said = state.runs.sort.word();
            state.say(Mood::Info, said);
        }
        Action::Reload => return vec![Effect::ListRuns],
        Action::Back if !state.runs.filter.is_empty() => {
            state.runs.filter.clear();
            state.runs.arrange();
        }
        _ => {}
    }
    Vec::new()
}

fn open(state: &mut State) -> Vec<Effect> {
    let Some((entry, row)) = state.runs.selected() else {
        return Vec::new();
    };
    if let RunState::Broken(problem) = &entry.state {
        let text = problem.clone();
        state.say(Mood::Bad, text);
        return Vec::new();
    }
    let episode = row
        .episode
        .and_then(|index| entry.episodes.get(index))
        .map_or(EpisodeNo(0), |summary| summary.episode);
    let path = entry.path.clone();
    state.opening = true;
    vec![Effect::Open {
        path,
        episode,
        step: None,
    }]
}

/// Actions on the choice of what to start, in place of the list or over it.
pub(super) fn choose(state: &mut State, start: &mut StartPanel, action: Action) -> Vec<Effect> {
    state.redraw = true;
    match action {
        Action::Up => start.selected = start.selected.saturating_sub(1),
        Action::Down => start.selected = (start.selected + 1).min(start.choices.len().saturating_sub(1)),
        Action::StepBy(by) => start.seed = start.seed.saturating_add_signed(i64::from(by)),
        Action::Accept => return begin(state, start),
        _ => {}
    }
    Vec::new()
}

fn begin(state: &mut State, start: &StartPanel) -> Vec<Effect> {
    if state.is_playing_a_run() && start.choices.get(start.selected) != Some(&Choice::Sample) {
        state.say(
            Mood::Info,
            "a run is running; 2 shows it; wait for its end before another one starts",
        );
        return Vec::new();
    }
    if state.job.is_some() {
        state.say(Mood::Info, "wait for what is being fetched");
        return Vec::new();
    }
    match (start.choices.get(start.selected), start.request()) {
        (Some(Choice::Sample), _) => {
            state.opening = true;
            vec![Effect::OpenSample]
        }
        (Some(Choice::Pull), Some(request)) => {
            state.say(Mood::Info, format!("fetching {}", request.model));
            vec![Effect::PullModel(request)]
        }
        (Some(_), Some(request)) => {
            state.opening = true;
            state.say(Mood::Info, format!("starting {}", request.model));
            vec![Effect::Start(request)]
        }
        _ => Vec::new(),
    }
}

/// Shows the run that has just been opened.
pub(super) fn shown(state: &mut State) {
    state.overlays.clear();
    state.screen = Screen::Watch;
    state.message = None;
    state.opening = false;
    state.redraw = true;
}
