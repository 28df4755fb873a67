//! Actions on the list of runs, and on the choice of what to start.

use super::page;
use crate::tui::columns::Column;
use crate::tui::data::{ControlRequest, ControlView, Effect, RunState};
use crate::tui::keymap::{Action, Place, Screen};
use crate::tui::live::LiveRun;
use crate::tui::overlay::{Confirm, LineFor, LinePrompt, Overlay};
use crate::tui::start::{Choice, Form, StartPanel};
use crate::tui::state::{Mood, State};

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
        Action::NewRun => open_form(state),
        Action::Columns => state.overlays.push(Overlay::Columns(0)),
        Action::Unfold => state.runs.fold(true),
        Action::Fold => state.runs.fold(false),
        Action::PlayPause => return pause(state),
        Action::StopRun => {
            if let Some(id) = state.selected_live().map(|live| live.id) {
                state.overlays.push(Overlay::Confirm(Confirm::StopRun(id)));
            }
        }
        Action::ResumeRun => return resume(state),
        Action::Delete => delete(state),
        Action::Undo => return undo(state),
        Action::Sample => {
            state.opening = true;
            return vec![Effect::OpenSample];
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
    // A run with several episodes opens at the first that plays.
    let running = state.live_of(&entry.path).and_then(LiveRun::running);
    let episode = row
        .episode
        .and_then(|index| entry.episodes.get(index))
        .map(|summary| summary.episode)
        .or(running)
        .unwrap_or_default();
    let path = entry.path.clone();
    state.opening = true;
    vec![Effect::Open {
        path,
        episode,
        step: None,
    }]
}

/// Pauses the selected run, or lets it go on.
fn pause(state: &State) -> Vec<Effect> {
    let Some(live) = state.selected_live() else {
        return Vec::new();
    };
    let request = match live.control {
        ControlView::Paused => ControlRequest::Resume,
        _ => ControlRequest::Pause,
    };
    vec![Effect::Control(live.id, request)]
}

/// Goes on with the selected run.
fn resume(state: &mut State) -> Vec<Effect> {
    let Some((entry, _)) = state.runs.selected() else {
        return Vec::new();
    };
    let path = entry.path.clone();
    state.say(Mood::Info, "going on with the run");
    vec![Effect::Resume(path)]
}

/// Brings back what was deleted last; what another session left is asked about.
fn undo(state: &mut State) -> Vec<Effect> {
    if state.runs.deleted > 0 {
        return vec![Effect::Undo];
    }
    let left = state.runs.leftovers.clone();
    if !left.is_empty() {
        state.overlays.push(Overlay::Confirm(Confirm::Leftovers(left)));
    }
    Vec::new()
}

/// Asks whether the selected run shall be deleted.
fn delete(state: &mut State) {
    let Some((entry, _)) = state.runs.selected() else {
        return;
    };
    let path = entry.path.clone();
    if state.live_of(&path).is_some() {
        let key = state.keymap.shown(Place::Runs, Action::StopRun);
        state.say(Mood::Bad, format!("the run is being played; {key} stops it first"));
    } else if entry.state == RunState::Running {
        let said = "another process plays the run; stop that one first";
        state.say(Mood::Bad, said);
    } else {
        let question = if entry.elsewhere {
            Confirm::DeleteElsewhere(path)
        } else {
            Confirm::DeleteRun(path)
        };
        state.overlays.push(Overlay::Confirm(question));
    }
}

/// Opens the dialog as it was left, else with what was started last.
fn open_form(state: &mut State) {
    let mut form = match state.runs.form.take() {
        Some(form) => form,
        None => Form::new(&state.runs.run, &state.runs.here),
    };
    form.know(&state.runs.here);
    form.fields.at = 0;
    state.overlays.push(Overlay::Form(Box::new(form)));
}

/// Actions in the dialog that starts a run.
pub(super) fn form(state: &mut State, form: &mut Form, action: Action) -> Vec<Effect> {
    if form.starting {
        return Vec::new();
    }
    match action {
        Action::ChoiceBy(by) => form.choose(by),
        Action::Accept | Action::Background => {
            let pull = form.must_pull();
            let Some(request) = form.request(action == Action::Accept) else {
                return Vec::new();
            };
            if pull && state.job.is_some() {
                form.fields.error = Some("wait for what is being fetched".to_owned());
                return Vec::new();
            }
            form.starting = true;
            return vec![if pull {
                Effect::PullModel(request)
            } else {
                Effect::Start(request)
            }];
        }
        other => form.fields.act(other),
    }
    Vec::new()
}

/// Actions on the choice of columns.
pub(super) fn choose_column(state: &mut State, selected: &mut usize, action: Action) {
    let last = Column::ALL.len() - 1;
    let chosen = &mut state.runs.columns;
    match action {
        Action::Up => *selected = selected.saturating_sub(1),
        Action::Down => *selected = (*selected + 1).min(last),
        Action::EraseAll => chosen.clear(),
        Action::Toggle => {
            let column = Column::ALL[(*selected).min(last)];
            if chosen.is_empty() {
                chosen.extend(Column::ALL);
            }
            match chosen.iter().position(|other| *other == column) {
                // The last one stays: a list without columns says nothing.
                Some(at) if chosen.len() > 1 => drop(chosen.remove(at)),
                Some(_) => {}
                None => chosen.push(column),
            }
            if Column::ALL.iter().all(|column| chosen.contains(column)) {
                chosen.clear();
            }
        }
        _ => {}
    }
}

/// Actions on the choice of what to start, in place of the list.
fn choose(state: &mut State, start: &mut StartPanel, action: Action) -> Vec<Effect> {
    state.redraw = true;
    match action {
        Action::Up => start.selected = start.selected.saturating_sub(1),
        Action::Down => start.selected = (start.selected + 1).min(start.choices.len().saturating_sub(1)),
        Action::StepBy(by) => start.seed = start.seed.saturating_add_signed(i64::from(by)),
        Action::NewRun => open_form(state),
        Action::Undo => return undo(state),
        Action::Accept => return begin(state, start),
        _ => {}
    }
    Vec::new()
}

fn begin(state: &mut State, start: &StartPanel) -> Vec<Effect> {
    if state.job.is_some() {
        state.say(Mood::Info, "wait for what is being fetched");
        return Vec::new();
    }
    match (start.choices.get(start.selected), start.request(&state.runs.run)) {
        (Some(Choice::More), _) => {
            open_form(state);
            Vec::new()
        }
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
