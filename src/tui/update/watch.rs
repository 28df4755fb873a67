//! Actions on the watch screen.

use std::sync::Arc;

use super::{filter, insight, memory, overlays, panes, search, take_over};
use crate::tui::data::{ControlRequest, ControlView, Effect};
use crate::tui::inspector::{Inspector, Reveal};
use crate::tui::keymap::{Action, Kind};
use crate::tui::layout::Pane;
use crate::tui::overlay::{Command, Entry, LineFor, LinePrompt, Overlay, Picker};
use crate::tui::panes::GameView;
use crate::tui::state::{Mood, State};
use crate::tui::stream;
use crate::tui::watch::{Speed, Watch};
use crate::tui::widgets::text;
use crate::types::{Body, EpisodeNo, StepNo, StepRecord, View};

/// Bytes of a value that a list shows.
const MOST_SHOWN: usize = 2000;

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    let live = state.plays_live();
    let running = state.live_here().map(|live| live.control);
    let id = state.live_here().map(|live| live.id).unwrap_or_default();
    let Some(watch) = state.watch.as_deref_mut() else {
        return Vec::new();
    };
    state.redraw = true;
    match action {
        Action::StepBy(by) => {
            watch.playing = false;
            moved(watch, watch.cursor.0.saturating_add_signed(by));
        }
        Action::First => moved(watch, 0),
        Action::Last => {
            let end = watch.end();
            watch.go(end);
            watch.follow = !watch.finished;
        }
        Action::EventBy(by) if watch.filtering.is_some() => return filter::go(state, by > 0),
        Action::EventBy(by) => match watch.event(by > 0) {
            Some(step) => {
                watch.playing = false;
                moved(watch, step.0);
            }
            None => {
                let word = kind_word(watch.kind);
                let side = if by > 0 { "after" } else { "before" };
                state.say(Mood::Info, format!("no {word} {side} this step"));
            }
        },
        Action::EventKind(kind) => {
            watch.kind = kind;
            state.say(Mood::Info, format!("[ ] stop at {}", kind_word(kind)));
        }
        Action::EpisodeBy(by) => return episode(state, by),
        Action::PlayPause if live => {
            return match running {
                Some(ControlView::Paused) => vec![Effect::Control(id, ControlRequest::Resume)],
                _ => vec![Effect::Control(id, ControlRequest::Pause)],
            };
        }
        Action::TakeOver => return take_over::open(state),
        Action::Insight => return insight::open(state),
        Action::EditMemory => return take_over::edit_open(state),
        Action::OneStep if live => return vec![Effect::Control(id, ControlRequest::Step)],
        Action::PlayPause => {
            watch.playing = !watch.playing;
            if watch.playing && watch.at_end() {
                watch.go(StepNo(0));
            }
            watch.follow = false;
        }
        Action::OneStep => {
            watch.playing = false;
            moved(watch, watch.cursor.0 + 1);
        }
        Action::Faster => return speed(state, |speed| speed.by(1)),
        Action::Slower => return speed(state, |speed| speed.by(-1)),
        Action::NormalSpeed => return speed(state, |_| Speed::default()),
        Action::Follow => {
            watch.follow = !watch.follow;
            watch.playing = false;
            let said = if watch.follow {
                "following the live end"
            } else {
                "staying here"
            };
            state.say(Mood::Info, said);
        }
        Action::FocusNext => focus(watch, 1),
        Action::FocusPrevious => focus(watch, -1),
        Action::Zoom => watch.zoom = !watch.zoom,
        Action::View => {
            let frame = watch.frame();
            let shown = frame.as_ref().map_or(&View::Text, |frame| &frame.view);
            watch.game.view = watch.game.view.next(shown);
            watch.game.text = Default::default();
            watch.game.pan = (0, 0);
        }
        Action::Picture => {
            let word = state.pictures.next(&state.theme);
            state.say(Mood::Info, format!("the game as {word}"));
        }
        Action::PanBy(by) => panes::pan(state, (by, 0)),
        Action::Diff => {
            watch.focus_on(Pane::Scaffold);
            return diff(watch);
        }
        Action::Search => {
            let text = String::new();
            let purpose = LineFor::Search;
            state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
        }
        Action::HitBy(by) => return search::hit(state, by),
        Action::Filter => filter::ask(state),
        Action::ClearFilter => return filter::clear(state),
        Action::Back if watch.focus == Pane::Actions && watch.filtering.is_some() && !watch.zoom => {
            return filter::clear(state);
        }
        Action::Back => {
            if !back(watch)
                && let Some(before) = state.came_from
            {
                return super::show(state, before);
            }
        }
        Action::MemoryDiff | Action::Mark | Action::OnlyThis | Action::Readers => return memory::act(state, action),
        Action::Open if watch.focus == Pane::Memory && watch.memory.in_file => return memory::act(state, action),
        Action::Open if watch.focus == Pane::Actions => open_turn(state),
        other => panes::act(state, other),
    }
    Vec::new()
}

fn moved(watch: &mut Watch, to: u32) {
    watch.go(StepNo(to));
    watch.follow = !watch.finished && watch.at_end() && watch.under_way.is_some();
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::All => "event",
        Kind::Reward => "reward",
        Kind::Write => "memory write",
        Kind::Error => "error",
    }
}

fn focus(watch: &mut Watch, by: isize) {
    let count = Pane::ALL.len() as isize;
    let at = Pane::ALL.iter().position(|pane| *pane == watch.focus).unwrap_or(0) as isize;
    watch.focus_on(Pane::ALL[(at + by).rem_euclid(count) as usize]);
}

/// Back inside the screen: out of a file, a difference, a zoomed pane; false when there is nothing to go out of.
fn back(watch: &mut Watch) -> bool {
    match watch.focus {
        Pane::Memory if watch.memory.in_file => watch.memory.in_file = false,
        Pane::Memory if watch.memory.against.is_some() => {
            watch.memory.against = None;
            watch.memory.diff = None;
            watch.memory.diff_asked = None;
        }
        Pane::Memory if watch.memory.chosen.is_some() => watch.memory.chosen = None,
        Pane::Scaffold if watch.scaffold.diff.is_some() => watch.scaffold.diff = None,
        Pane::Scaffold if watch.scaffold.in_file => watch.scaffold.in_file = false,
        _ if watch.zoom => watch.zoom = false,
        _ => return false,
    }
    true
}

fn episode(state: &mut State, by: i32) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    let live = state.live.as_ref().filter(|live| live.path == watch.path);
    let at = watch
        .episodes
        .iter()
        .position(|summary| summary.episode == watch.episode);
    let to = at
        .and_then(|at| at.checked_add_signed(by as isize))
        .and_then(|to| watch.episodes.get(to));
    match to {
        Some(summary) => {
            watch.playing = false;
            let (path, episode) = (watch.path.clone(), summary.episode);
            let plays = live.and_then(|live| live.episodes.get(&episode));
            watch.follow = plays.is_some_and(|episode| !episode.ended);
            let said = standing_of(state, episode);
            state.say(Mood::Info, said);
            vec![Effect::Open {
                path,
                episode,
                step: None,
            }]
        }
        None => {
            let said = if by < 0 {
                "the first episode"
            } else {
                "the last episode"
            };
            state.say(Mood::Info, said);
            Vec::new()
        }
    }
}

/// An episode of the open run in a line: `episode 3 of 8: seed 44, step 120 of 300, 14%, 85 steps/s`.
fn standing_of(state: &State, episode: EpisodeNo) -> String {
    let Some(watch) = &state.watch else {
        return String::new();
    };
    let Some(summary) = watch.episodes.iter().find(|summary| summary.episode == episode) else {
        return String::new();
    };
    let live = state.live_here().and_then(|live| live.episodes.get(&episode));
    let live = live.filter(|live| !live.ended);
    let steps = live.map_or(summary.steps, |live| live.steps.max(summary.steps));
    let score = live.map_or(summary.progression, |live| live.progression);
    let rate = live.map_or_else(String::new, |live| format!(", {:.0} steps/s", live.rate));
    format!(
        "episode {} of {}: seed {}, step {steps} of {}, {:.0}%{rate}",
        episode.0 + 1,
        watch.episodes.len(),
        summary.seed,
        watch.meta.max_steps,
        score * 100.0
    )
}

fn speed(state: &mut State, change: impl Fn(Speed) -> Speed) -> Vec<Effect> {
    let paced = state.live_here().filter(|live| live.paced).map(|live| live.id);
    let normal = state.opens.step_ms;
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    watch.speed = change(watch.speed);
    let said = format!("speed {}", watch.speed.word());
    let pace = ControlRequest::Pace(watch.speed.pace_ms(normal));
    state.say(Mood::Info, said);
    paced.map(|id| Effect::Control(id, pace)).into_iter().collect()
}

/// The replay goes on, unless the step that shows is still being loaded.
pub(super) fn tick(state: &mut State) -> Vec<Effect> {
    if let Some(watch) = state.watch.as_mut().filter(|watch| watch.playing)
        && (watch.record(watch.cursor).is_some() || watch.asked.is_none())
    {
        let to = watch.cursor.0.saturating_add(watch.speed.steps_a_tick());
        watch.go(StepNo(to));
        if watch.at_end() {
            watch.playing = false;
            watch.follow = !watch.finished;
        }
        state.redraw = true;
    }
    Vec::new()
}

fn diff(watch: &mut Watch) -> Vec<Effect> {
    let against = match &watch.scaffold.diff {
        None => None,
        Some(diff) => {
            let at = diff.others.iter().position(|name| *name == diff.against);
            let next = at.and_then(|at| diff.others.get(at + 1)).cloned();
            if next.is_none() {
                watch.scaffold.diff = None;
                return Vec::new();
            }
            next
        }
    };
    vec![Effect::Diff { against }]
}

fn open_turn(state: &mut State) {
    let Some(watch) = &state.watch else {
        return;
    };
    let Some(record) = watch.record(watch.cursor).cloned() else {
        return;
    };
    let rows = stream::rows_of(watch, watch.cursor);
    let row = rows.get(watch.actions.row.min(rows.len().saturating_sub(1)));
    if let Some(row) = row
        && matches!(row.row, stream::Row::Script(..))
    {
        open_script(state, &record);
        return;
    }
    let index = row.and_then(|row| row.turn).unwrap_or(0);
    // From a place that was found straight to the text.
    let found = watch.search.current();
    let found = found.filter(|hit| hit.step == watch.cursor && row.is_some_and(|row| row.event == Some(hit.event)));
    let found = found.map(|_| Reveal::Found(watch.search.text.clone()));
    match Inspector::open(watch.episode, &record, index, &state.theme, &watch.rules.vocabulary) {
        Some(mut inspector) => {
            inspector.reveal = found.or(inspector.reveal);
            overlays::inspect(state, inspector);
        }
        None => state.say(Mood::Info, "no model was asked in this step"),
    }
}

/// Lists what the step changed in the state of the scaffold's script.
fn open_script(state: &mut State, record: &StepRecord) {
    let changes = record.events.iter().find_map(|body| match body {
        Body::StepFinished { state_patch, .. } => state_patch.as_ref().map(stream::script_changes),
        _ => None,
    });
    let entries = changes.into_iter().flatten().map(|(name, value)| Entry {
        place: "",
        keys: text::clean(&name).into_owned(),
        help: text::clean(text::head(&value, MOST_SHOWN)).into_owned(),
        command: Command::GoTo(record.step),
    });
    let picker = Picker::of_entries(entries.collect());
    let title = format!("What step {} changed in the script's state", record.step);
    state.overlays.push(Overlay::Steps(title, picker));
}

/// The turn before or after one, in its step or the nearest other one that is loaded.
pub(super) fn inspect_beside(state: &mut State, inspector: &Inspector, by: i32) -> Option<Inspector> {
    let watch = state.watch.as_mut()?;
    let (theme, rules) = (&state.theme, Arc::clone(&watch.rules));
    let open = |record, index| Inspector::open(inspector.episode, record, index, theme, &rules.vocabulary);
    if let Some(index) = inspector
        .index
        .checked_add_signed(by as isize)
        .filter(|index| *index < inspector.count)
    {
        return open(watch.record(inspector.step)?, index);
    }
    let mut step = inspector.step;
    loop {
        step = if by > 0 { step.next() } else { step.previous()? };
        let record = watch.record(step)?.clone();
        let count = record.turns().count();
        if count > 0 {
            watch.follow = false;
            watch.playing = false;
            watch.go(step);
            return open(&record, if by > 0 { 0 } else { count - 1 });
        }
    }
}

/// What `Y` copies: what the focused pane shows.
pub(super) fn copied(watch: &Watch) -> Option<String> {
    let record = watch.record(watch.cursor)?;
    match watch.focus {
        Pane::Memory => {
            let memory = watch.memory_shown.as_ref()?;
            let path = watch.memory.open_path(memory)?;
            Some(memory.files.get(path)?.text.to_string())
        }
        Pane::Scaffold => watch.meta.scaffold.files.get(watch.scaffold.path.as_ref()?).cloned(),
        Pane::Actions => {
            let rows = stream::rows_of(watch, watch.cursor);
            let turn = rows.get(watch.actions.row)?.turn?;
            let turn = record.turns().nth(turn)?;
            Some(format!("{}{}", turn.prompt, turn.response))
        }
        Pane::Game | Pane::Timeline => {
            let frame = record.frame()?;
            Some(format!("{}\n\n{}", frame.long, frame.short))
        }
    }
}

/// The episode and step whose map is wanted.
pub(super) fn wanted_map(watch: &Watch) -> Option<(EpisodeNo, StepNo)> {
    let tiles = watch.frame().is_none_or(|frame| matches!(frame.view, View::Tiles(_)));
    (tiles && watch.game.view == GameView::Map).then_some((watch.episode, watch.cursor))
}
