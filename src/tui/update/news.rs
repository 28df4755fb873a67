//! News from the loader, from jobs and from the agent.

use std::path::{Path, PathBuf};

use super::{curate, filter, insight, lab, memory, review, runs, search, take_over, use_theme};
use crate::tui::data::{ControlView, Data, Effect, LiveId, Opened, RunState, Timeline};
use crate::tui::effects::{Ask, EditOf};
use crate::tui::keymap::{Action, Place, Screen};
use crate::tui::live::LiveRun;
use crate::tui::overlay::Overlay;
use crate::tui::state::{Job, Mood, State};
use crate::tui::watch::Watch;
use crate::types::{Body, EpisodeNo, Event};

/// A run that this process plays goes on.
pub(super) fn live(state: &mut State, id: LiveId, event: Event) -> Vec<Effect> {
    let begins_or_ends = matches!(event.body, Body::EpisodeStarted { .. } | Body::EpisodeFinished { .. });
    let in_front = state.live.as_ref().is_some_and(|live| live.id == id);
    let Some(live) = state.live_mut(id) else {
        return Vec::new();
    };
    live.take(event);
    if begins_or_ends {
        state.runs.stale = true;
    }
    // What plays behind the open run shows in the list only.
    if in_front || state.screen == Screen::Runs {
        state.redraw = true;
    }
    Vec::new()
}

/// How fast episodes are.
pub(super) fn rates(state: &mut State, rates: &[(LiveId, EpisodeNo, f64)]) -> Vec<Effect> {
    for (id, episode, rate) in rates {
        if let Some(live) = state.live_mut(*id)
            && let Some(episode) = live.episodes.get_mut(episode)
        {
            episode.rate = if episode.ended { 0.0 } else { *rate };
        }
    }
    state.redraw = true;
    Vec::new()
}

/// The state of an agent changed.
pub(super) fn control(state: &mut State, id: LiveId, control: ControlView) -> Vec<Effect> {
    let Some(live) = state.live_mut(id) else {
        return Vec::new();
    };
    if live.control == control {
        return Vec::new();
    }
    live.control = control;
    live.stale = true;
    state.redraw = true;
    state.behind.retain(|live| !live.is_over());
    state.runs.stale |= control == ControlView::Finished;
    mark_lives(state);
    Vec::new()
}

/// The list knows from this process how its own runs stand.
fn mark_lives(state: &mut State) {
    for live in state.live.iter().chain(&state.behind) {
        let word = match live.control {
            ControlView::Running | ControlView::Stopping => RunState::Running,
            ControlView::Paused => RunState::Paused,
            ControlView::Finished => continue,
        };
        if let Some(entry) = state.runs.entries.iter_mut().find(|entry| entry.path == live.path) {
            entry.state = word;
        }
    }
}

pub(super) fn data(state: &mut State, data: Data) -> Vec<Effect> {
    state.redraw = true;
    match data {
        Data::Runs { entries, here } => {
            state.runs.start.know_models(&here.models);
            if let Some(Overlay::Form(form)) = state.overlays.last_mut() {
                form.know(&here);
            }
            if let Some(Overlay::Specialists(picker)) = state.overlays.last_mut() {
                picker.know_adapters(&here.adapters);
            }
            state.runs.here = here;
            state.runs.take(entries);
            mark_lives(state);
            if let Some(Overlay::Select(form)) = state.overlays.last_mut() {
                form.know(&state.runs.entries);
            }
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
        Data::Edited(edited) if matches!(edited.request.of, EditOf::Hunk { .. }) => {
            return review::edited(state, *edited);
        }
        Data::Edited(edited) => return take_over::edited(state, *edited),
        Data::Proposals(list) => {
            let (selections, others) = list.into_iter().partition(|standing| standing.items.is_some());
            state.curate.take(selections);
            state.review.take(others);
        }
        Data::Dossier(dossier) if dossier.standing.items.is_some() => return curate::opened(state, dossier),
        Data::Dossier(dossier) => return review::opened(state, dossier),
        Data::Items(id, items) => curate::items(state, id, items),
        Data::Talk { proposal, at, talk } => curate::talk(state, &proposal, at, talk),
        Data::Curate(news) => return curate::news(state, news),
        Data::ShowProposal(id) => {
            state.review.opening = Some(id.clone());
            return vec![Effect::Review(Ask::Open(id))];
        }
        Data::NoDossier(said) => {
            state.review.opening = None;
            state.curate.opening = None;
            state.say(Mood::Bad, said);
        }
        Data::Colours {
            proposal,
            file,
            side,
            from,
            spans,
        } => {
            let open = state.review.open.as_mut();
            if let Some(open) = open.filter(|open| open.standing().id == proposal) {
                open.take_colours(file, side, from, spans);
            }
        }
        Data::Search(news) => return search::news(state, news),
        Data::Filter(news) => filter::news(state, news),
        Data::Insight(news) => insight::news(state, news),
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
        Data::Started { id, path, paced, show } => return started(state, id, path, paced, show),
        Data::StartFailed(error) => start_failed(state, error),
        Data::Deleted { path, deleted } => {
            state.runs.deleted = deleted;
            return gone(state, &path, "deleted");
        }
        Data::Forgotten(path) => return gone(state, &path, "forgotten"),
        Data::Restored { path, deleted } => {
            state.runs.deleted = deleted;
            state.say(Mood::Good, format!("{} is back", name_of(&path)));
            return vec![Effect::ListRuns];
        }
        Data::Leftovers(paths) => {
            if !paths.is_empty() {
                let key = state.keymap.shown(Place::Runs, Action::Undo);
                let said = format!("{} deleted runs are left in the trash: {key} says which", paths.len());
                state.say(Mood::Info, said);
            }
            state.runs.leftovers = paths;
        }
        Data::LeftoversDone(said) => {
            state.say(Mood::Good, said);
            return vec![Effect::ListRuns, Effect::LookForLeftovers];
        }
        Data::Show(path) => {
            let (episode, step) = (EpisodeNo(0), None);
            return vec![Effect::Open { path, episode, step }, Effect::ListRuns];
        }
        Data::Progress { what, done, total } => state.job = Some(Job { what, done, total }),
        Data::Pulled(request) => {
            state.job = None;
            state.say(Mood::Good, format!("{} is here", request.model));
            state.runs.stale = true;
            return vec![Effect::Start(request), Effect::ListRuns];
        }
        Data::Theme { theme, names, reloaded } => {
            let again = if reloaded { " (read anew)" } else { "" };
            state.say(Mood::Info, format!("theme: {}{again}", theme.name()));
            state.themes = names;
            use_theme(state, *theme);
        }
        Data::Lab(news) => return lab::news(state, news),
        Data::Exchanged(text) => {
            state.job = None;
            state.say(Mood::Good, text);
        }
        Data::Note(text) => state.say(Mood::Good, text),
        Data::Failed(text) => {
            state.runs.looking = false;
            // A model that could not be fetched is the dialog's matter.
            start_failed(state, text);
        }
    }
    Vec::new()
}

/// A run of this process began.
fn started(state: &mut State, id: LiveId, path: PathBuf, paced: bool, show: bool) -> Vec<Effect> {
    state.job = None;
    let run = LiveRun::new(path.clone(), paced).numbered(id);
    if let Some(at) = state
        .overlays
        .iter()
        .position(|overlay| matches!(overlay, Overlay::Form(_)))
        && let Overlay::Form(mut form) = state.overlays.remove(at)
    {
        form.starting = false;
        state.runs.form = Some(*form);
    }
    if show {
        state.opening = true;
        state.put_in_front(run);
        return vec![Effect::Open {
            path,
            episode: EpisodeNo(0),
            step: None,
        }];
    }
    state.opening = false;
    if state.is_front_free() {
        state.put_in_front(run);
    } else {
        state.behind.push(run);
    }
    state.say(Mood::Good, format!("{} plays", name_of(&path)));
    vec![Effect::ListRuns]
}

/// The dialog keeps what was written and says what is wrong.
fn start_failed(state: &mut State, error: String) {
    state.job = None;
    state.opening = false;
    let form = state.overlays.iter_mut().find_map(|overlay| match overlay {
        Overlay::Form(form) if form.starting => Some(form),
        _ => None,
    });
    match form {
        Some(form) => {
            form.starting = false;
            form.fields.error = Some(error);
        }
        None => state.say(Mood::Bad, error),
    }
}

/// A run is not listed any more.
fn gone(state: &mut State, path: &Path, how: &str) -> Vec<Effect> {
    state.runs.remove(path);
    let key = state.keymap.shown(Place::Runs, Action::Undo);
    let undo = if how == "deleted" && !key.is_empty() {
        format!("; {key} brings it back")
    } else {
        String::new()
    };
    state.say(Mood::Good, format!("{} is {how}{undo}", name_of(path)));
    let mut effects = vec![Effect::ListRuns];
    if state.watch.as_ref().is_some_and(|watch| watch.path == path) {
        state.watch = None;
        effects.push(Effect::Close(path.to_owned()));
    }
    if state.live.as_ref().is_some_and(|live| live.path == path) {
        state.live = None;
    }
    effects
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

fn watching(state: &mut State, episode: EpisodeNo) -> Option<&mut Watch> {
    state.watch.as_deref_mut().filter(|watch| watch.episode == episode)
}

fn opened(state: &mut State, opened: Opened) -> Vec<Effect> {
    state.bring_to_front(&opened.path);
    // What was said about another episode of the same run still holds.
    let same = state.watch.as_ref().is_some_and(|watch| watch.path == opened.path);
    let message = state.message.take().filter(|_| same && state.screen == Screen::Watch);
    match &mut state.watch {
        Some(watch) if watch.path == opened.path => watch.reopen(opened),
        _ => {
            let mut watch = Watch::new(opened);
            if watch.finished {
                watch.speed = state.opens.speed;
            }
            state.watch = Some(Box::new(watch));
        }
    }
    let insight = state
        .overlays
        .pop_if(|overlay| same && matches!(overlay, Overlay::Insight(_)));
    runs::shown(state);
    state.overlays.extend(insight);
    state.message = message;
    Vec::new()
}

fn timeline(state: &mut State, news: Timeline) -> Vec<Effect> {
    if let Some(watch) = &mut state.watch {
        watch.take_timeline(news);
    }
    Vec::new()
}
