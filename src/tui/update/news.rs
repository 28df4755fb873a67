//! News from the loader, from jobs and from the agent.

use super::{runs, use_theme, watch};
use crate::tui::data::{ControlView, Data, Effect, Opened, RunState, SearchNews, Timeline};
use crate::tui::live::LiveRun;
use crate::tui::state::{Job, Mood, State};
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
        Data::Map(map) => {
            if let Some(watch) = watching(state, map.episode) {
                watch.game.map = Some(map);
            }
        }
        Data::Picture(ready) => state.pictures.take(ready),
        Data::Blame(blame) => {
            if let Some(watch) = watching(state, blame.episode) {
                watch.memory.blame = Some(*blame);
            }
        }
        Data::Search(news) => return search(state, news),
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
        Data::Theme { theme, names, reloaded } => {
            let again = if reloaded { " (read anew)" } else { "" };
            state.say(Mood::Info, format!("theme: {}{again}", theme.name()));
            state.themes = names;
            use_theme(state, *theme);
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
    match &mut state.watch {
        Some(watch) if watch.path == opened.path => watch.reopen(opened),
        _ => state.watch = Some(Box::new(Watch::new(opened))),
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

fn search(state: &mut State, news: SearchNews) -> Vec<Effect> {
    let Some(open) = &mut state.watch else {
        return Vec::new();
    };
    match news {
        SearchNews::Progress(done, total) => open.search.progress = Some((done, total)),
        SearchNews::Found(hits) => {
            open.search.progress = None;
            open.search.hits = hits;
            open.search.at = None;
            if open.search.hits.is_empty() {
                let said = format!("`{}` is nowhere in the run", open.search.text);
                state.say(Mood::Info, said);
                return Vec::new();
            }
            return watch::hit(state, 1);
        }
        SearchNews::Failed(message) => {
            open.search.progress = None;
            state.say(Mood::Bad, message);
        }
    }
    Vec::new()
}
