//! News from the loader, from jobs and from the agent.

use super::{filter, memory, runs, search};
use crate::tui::data::{ControlView, Data, Effect, Opened, RunState, Timeline};
use crate::tui::live::LiveRun;
use crate::tui::panes::Trail;
use crate::tui::state::{Job, Mood, State};
use crate::tui::theme::Depth;
use crate::tui::watch::Watch;
use crate::types::{EpisodeNo, Event};

/// The run that this process plays goes on.
pub(super) fn live(state: &mut State, event: Event) -> Vec<Effect> {
    if let Some(live) = &mut state.live {
        live.take(event);
        state.redraw = true;
    }
    Vec::new()
}

/// The agent's state changed.
pub(super) fn control(state: &mut State, control: ControlView) -> Vec<Effect> {
    let Some(live) = &mut state.live else {
        return Vec::new();
    };
    if live.control == control {
        return Vec::new();
    }
    live.control = control;
    live.stale = true;
    state.redraw = true;
    let word = match control {
        ControlView::Running => RunState::Running,
        ControlView::Paused => RunState::Paused,
        ControlView::Stopping | ControlView::Finished => RunState::Done,
    };
    let path = live.path.clone();
    if let Some(entry) = state.runs.entries.iter_mut().find(|entry| entry.path == path) {
        entry.state = word;
    }
    if control == ControlView::Finished && state.screen == crate::tui::keymap::Screen::Runs {
        return vec![Effect::ListRuns];
    }
    Vec::new()
}

pub(super) fn data(state: &mut State, data: Data) -> Vec<Effect> {
    state.redraw = true;
    match data {
        Data::Runs { entries, models } => {
            state.runs.start.know_models(&models);
            state.runs.take(entries);
        }
        Data::Opened(opened) => return self::opened(state, *opened),
        Data::OpenFailed(message) => {
            state.opening = false;
            state.say(Mood::Bad, message);
        }
        Data::Timeline(news) => return timeline(state, news),
        Data::Step { episode, record } => {
            if let Some(watch) = watching(state, episode) {
                let near = watch.cursor;
                watch.records.put(record.step, record, near);
            }
        }
        Data::Memory { episode, view } => {
            if let Some(watch) = watching(state, episode) {
                let near = watch.cursor;
                watch.memories.put(view.step, view, near);
            }
        }
        Data::Trail { episode, step, cells } => {
            if let Some(watch) = watching(state, episode) {
                watch.game.trail = Some(Trail { episode, step, cells });
            }
        }
        Data::Blame(blame) => {
            if let Some(watch) = watching(state, blame.episode) {
                watch.memory.blame = Some(*blame);
            }
        }
        Data::Search(news) => return search::news(state, news),
        Data::Filter(news) => filter::news(state, news),
        Data::Heat { episode, upto, heat } => {
            if let Some(watch) = watching(state, episode) {
                watch.memory.heat = Some(heat);
                watch.memory.heat_upto = upto;
            }
        }
        Data::MemoryDiff(diff) => {
            if let Some(watch) = watching(state, diff.wish.episode).filter(|watch| watch.memory.against.is_some()) {
                watch.memory.diff = Some(*diff);
            }
        }
        Data::OnDisk { root, files } => memory::on_disk(state, &root, &files),
        Data::Diff(diff) => {
            if let Some(watch) = &mut state.watch {
                watch.scaffold.diff_scroll = Default::default();
                watch.scaffold.diff = Some(*diff);
            }
        }
        Data::Started { path, paced } => {
            state.job = None;
            state.opening = true;
            state.live = Some(LiveRun::new(path.clone(), paced));
            return vec![Effect::Open {
                path,
                episode: EpisodeNo(0),
                step: None,
            }];
        }
        Data::Show(path) => {
            let (episode, step) = (EpisodeNo(0), None);
            return vec![Effect::Open { path, episode, step }, Effect::ListRuns];
        }
        Data::Progress { what, done, total } => state.job = Some(Job { what, done, total }),
        Data::Pulled(request) => {
            state.job = None;
            state.say(Mood::Good, format!("{} is here", request.model));
            return vec![Effect::Start(request), Effect::ListRuns];
        }
        Data::Note(text) => state.say(Mood::Good, text),
        Data::Failed(text) => {
            state.job = None;
            state.opening = false;
            state.say(Mood::Bad, text);
        }
    }
    Vec::new()
}

fn watching(state: &mut State, episode: EpisodeNo) -> Option<&mut Watch> {
    state.watch.as_deref_mut().filter(|watch| watch.episode == episode)
}

fn opened(state: &mut State, opened: Opened) -> Vec<Effect> {
    let letters = state.theme.depth() < Depth::Ansi256;
    match &mut state.watch {
        Some(watch) if watch.path == opened.path => watch.reopen(opened),
        _ => state.watch = Some(Box::new(Watch::new(opened, letters))),
    }
    runs::shown(state);
    Vec::new()
}

fn timeline(state: &mut State, news: Timeline) -> Vec<Effect> {
    if let Some(watch) = &mut state.watch {
        watch.take_timeline(news);
    }
    Vec::new()
}
