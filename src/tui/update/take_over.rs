//! Taking over: a person plays in the agent's place, edits its memory, tells it something.

use crate::agent;
use crate::memory;
use crate::tui::data::{ControlRequest, ControlView, EditRequest, Effect};
use crate::tui::effects::EditOf;
use crate::tui::keymap::{self, Place};
use crate::tui::live::LiveEpisode;
use crate::tui::overlay::{Command, Entry, LineFor, LinePrompt, Overlay, Picker, erase_word};
use crate::tui::panels;
use crate::tui::state::{Mood, State};
use crate::tui::take_over::{EditOutcome, Edited, Standing, TakeOver, erase_letter};
use crate::tui::widgets::text;
use crate::types::{Action, EpisodeNo};

/// Opens the panel, or says why a person cannot play here. An agent that plays waits after its step.
pub(super) fn open(state: &mut State) -> Vec<Effect> {
    if let Some(why) = refusal(state) {
        state.say(Mood::Info, why);
        return Vec::new();
    }
    let Some((id, control)) = state.live_here().map(|live| (live.id, live.control)) else {
        return Vec::new();
    };
    if let Some(watch) = &mut state.watch {
        watch.follow = true;
        watch.playing = false;
    }
    super::push(state, Overlay::TakeOver(Box::default()));
    match control {
        ControlView::Running => vec![Effect::Control(id, ControlRequest::Pause)],
        _ => Vec::new(),
    }
}

/// Why nobody can take over here and now, and what to do instead.
fn refusal(state: &State) -> Option<String> {
    let watch = state.watch.as_ref()?;
    if state.live_here().is_none() {
        return Some(if watch.finished {
            "this run is over: only a run that is being played can be taken over".to_owned()
        } else {
            "nobody plays this run here: resume it from the list of runs, then take over".to_owned()
        });
    }
    match Standing::of(state) {
        Standing::Over => Some("this episode is over: only one that is being played can be taken over".to_owned()),
        Standing::Stops => Some("the run is being stopped: it cannot be taken over any more".to_owned()),
        _ if !watch.at_end() => {
            let key = state.keymap.shown(Place::Watch, keymap::Action::Last);
            Some(format!(
                "this is step {} of the past: {key} goes to the live end, then take over",
                watch.cursor
            ))
        }
        _ => None,
    }
}

/// A key in the panel; gives what comes over it, too.
pub(super) fn act(state: &mut State, panel: &mut TakeOver, action: keymap::Action) -> (Vec<Effect>, Option<Overlay>) {
    use keymap::Action as A;
    let mut effects = Vec::new();
    let mut over = None;
    let actions = state
        .watch
        .as_ref()
        .map(|watch| watch.meta.world.actions.clone())
        .unwrap_or_default();
    let len = panel.matches(&actions).len();
    let rows = panels::take_over::rows(state);
    match action {
        A::Accept => match panel.matches(&actions).get(panel.scroll.selected) {
            Some(action) => effects = play(state, (*action).clone()),
            None => state.say(
                Mood::Bad,
                format!("no action of this world is called `{}`", panel.filter),
            ),
        },
        A::Walk(side) => match side.action(&actions) {
            Some(action) => effects = play(state, action.clone()),
            None => state.say(
                Mood::Info,
                "this world has no action that walks there; choose one from the list",
            ),
        },
        A::Toggle => panel.walks = !panel.walks,
        A::Up => panel.scroll.select_by(-1, len, rows),
        A::Down => panel.scroll.select_by(1, len, rows),
        A::PageUp => panel.scroll.select_by(-(rows as isize), len, rows),
        A::PageDown => panel.scroll.select_by(rows as isize, len, rows),
        A::Erase => panel.erase(erase_letter),
        A::EraseWord => panel.erase(erase_word),
        A::EraseAll => panel.erase(String::clear),
        A::EditMemory => over = files(state).map(Overlay::Files),
        A::Tell => over = tell_line(state).map(Overlay::Line),
        _ => {}
    }
    (effects, over)
}

/// The panel is closed: the game is given back.
pub(super) fn closed(state: &mut State) {
    if matches!(Standing::of(state), Standing::Waits(_) | Standing::Finishes(_)) {
        let key = state.keymap.shown(Place::Watch, keymap::Action::PlayPause);
        state.say(
            Mood::Info,
            format!("the agent has the game again and waits: {key} lets it go on"),
        );
    }
}

/// Plays one step with a person's action.
fn play(state: &mut State, action: Action) -> Vec<Effect> {
    let step = match Standing::of(state) {
        Standing::Waits(step) => step,
        other => {
            state.say(Mood::Info, not_now(other));
            return Vec::new();
        }
    };
    let Some((id, number)) = shown(state) else {
        return Vec::new();
    };
    if let Some(episode) = episode(state) {
        episode.chosen = Some((step, action.0.clone()));
    }
    if let Some(watch) = &mut state.watch {
        watch.follow = true;
    }
    vec![Effect::Act(id, number, action)]
}

/// Why a step, an edit or a word has to wait.
fn not_now(standing: Standing) -> String {
    match standing {
        Standing::Waits(_) => String::new(),
        Standing::Finishes(step) => format!("step {step} is still being played: wait for its end"),
        Standing::Plays => "the agent plays: pause it first".to_owned(),
        Standing::Stops => "the run is being stopped".to_owned(),
        Standing::Over => "this episode is over: nothing more can be played, edited or said".to_owned(),
    }
}

fn shown(state: &State) -> Option<(crate::tui::data::LiveId, EpisodeNo)> {
    let live = state.live_here()?;
    Some((live.id, state.watch.as_ref()?.episode))
}

/// The episode that shows, if this process plays it.
fn episode(state: &mut State) -> Option<&mut LiveEpisode> {
    let (_, number) = shown(state)?;
    state.live.as_mut()?.episodes.get_mut(&number)
}

/// The files that can be edited; the open one is selected.
fn files(state: &mut State) -> Option<Picker> {
    if !matches!(Standing::of(state), Standing::Waits(_)) {
        let said = not_now(Standing::of(state));
        state.say(Mood::Info, said);
        return None;
    }
    let watch = state.watch.as_ref()?;
    let memory = watch.memory_shown.as_ref()?;
    let entries = memory.files.iter().map(|(path, file)| Entry {
        place: "",
        keys: format!("{} lines", file.lines),
        help: text::clean(path).into_owned(),
        command: Command::Edit(path.clone()),
    });
    let mut picker = Picker::of_files(entries.collect());
    let open = watch.memory.open_path(memory);
    picker.scroll.selected = memory
        .files
        .keys()
        .position(|path| Some(path.as_str()) == open)
        .unwrap_or(0);
    Some(picker)
}

/// Edits the file that is open in the memory pane.
pub(super) fn edit_open(state: &mut State) -> Vec<Effect> {
    let open = state.watch.as_ref().and_then(|watch| {
        let memory = watch.memory_shown.as_ref()?;
        watch.memory.open_path(memory).map(str::to_owned)
    });
    match (open, refusal(state)) {
        (_, Some(why)) => state.say(Mood::Info, why),
        (None, None) => state.say(Mood::Info, "no file is open"),
        (Some(path), None) => return edit(state, &path),
    }
    Vec::new()
}

/// Has a file edited, which may be a new one.
pub(super) fn edit(state: &mut State, path: &str) -> Vec<Effect> {
    let standing = Standing::of(state);
    if !matches!(standing, Standing::Waits(_)) {
        state.say(Mood::Info, not_now(standing));
        return Vec::new();
    }
    let path = match memory::confine(path) {
        Ok(path) => path.to_owned(),
        Err(why) => {
            state.say(Mood::Bad, format!("`{path}` can be no memory file: {why}"));
            return Vec::new();
        }
    };
    let Some((id, number)) = shown(state) else {
        return Vec::new();
    };
    let most = state.watch.as_ref().map_or(0, |watch| watch.rules.file_bytes);
    let folder = state.live.as_ref().map(|live| agent::memory_folder(&live.path));
    let root = folder
        .zip(episode(state))
        .map(|(folder, episode)| folder.join(&*episode.root));
    let Some(root) = root else {
        return Vec::new();
    };
    vec![Effect::Edit(EditRequest {
        of: EditOf::Memory(id, number),
        root,
        path,
        most,
    })]
}

/// The editor has ended: the screen comes back, and the edit shows.
pub(super) fn edited(state: &mut State, edited: Edited) -> Vec<Effect> {
    let Edited {
        request,
        outcome,
        trouble,
    } = edited;
    let EditOf::Memory(id, episode) = request.of else {
        return vec![Effect::TakeBack];
    };
    let path = &request.path;
    let now = match &outcome {
        EditOutcome::Saved(text) => Some(Some(std::sync::Arc::clone(text))),
        EditOutcome::Removed => Some(None),
        _ => None,
    };
    if let Some(now) = now
        && let Some(live) = state.live_mut(id)
        && let Some(edited) = live.episodes.get_mut(&episode)
    {
        edited.edit(path, now);
        if let Some(watch) = &mut state.watch
            && watch.episode == episode
        {
            watch.memory.chosen = Some(path.clone());
        }
    }
    let tail = trouble.as_ref().map_or_else(String::new, |how| format!(" ({how})"));
    let recorded = "it is recorded at the next step, as a person's";
    match outcome {
        EditOutcome::Unchanged => match trouble {
            Some(how) => state.say(Mood::Bad, format!("{how}; {path} is as it was")),
            None => state.say(Mood::Info, format!("{path} is as it was")),
        },
        EditOutcome::Saved(_) => state.say(Mood::Good, format!("{path} is edited: {recorded}{tail}")),
        EditOutcome::Removed => state.say(Mood::Good, format!("{path} is gone: {recorded}{tail}")),
        EditOutcome::Refused { why, kept } => {
            let name = kept.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            state.say(
                Mood::Bad,
                format!("{path} is as it was: {why}; what was written is kept as {name}{tail}"),
            );
        }
        EditOutcome::Failed(error) => state.say(Mood::Bad, format!("{error}{tail}")),
    }
    vec![Effect::TakeBack]
}

fn tell_line(state: &mut State) -> Option<LinePrompt> {
    let standing = Standing::of(state);
    if matches!(standing, Standing::Over | Standing::Stops) {
        state.say(Mood::Info, not_now(standing));
        return None;
    }
    Some(LinePrompt {
        purpose: LineFor::Tell,
        text: String::new(),
    })
}

/// Has the agent told something.
pub(super) fn tell(state: &mut State, said: &str) -> Vec<Effect> {
    let said = said.trim().to_owned();
    let standing = Standing::of(state);
    if said.is_empty() {
        return Vec::new();
    }
    let Some((id, number)) = shown(state).filter(|_| !matches!(standing, Standing::Over | Standing::Stops)) else {
        state.say(Mood::Bad, format!("not said: {}", not_now(standing)));
        return Vec::new();
    };
    let Some(episode) = episode(state) else {
        return Vec::new();
    };
    if episode.told.contains(&said) {
        state.say(Mood::Info, "that waits for the next prompt already");
        return Vec::new();
    }
    episode.told.push(said.clone());
    vec![Effect::Say(id, number, said)]
}
