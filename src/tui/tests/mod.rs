//! The screens as a person sees and drives them.

mod curate;
mod dungeon;
mod insight;
mod keys;
mod lab;
mod panes;
mod review;
mod review_gate;
mod runs;
mod screens;
mod take_over;
mod themes;

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::data::{ControlRequest, ControlView, Data, Effect, Event, LiveId, SearchNews};
use super::export::{Format, export};
use super::keymap::{self, Place, Screen, TABLE};
use super::layout::Pane;
use super::live::LiveRun;
use super::overlay::Overlay;
use super::panes::GameView;
use super::state::State;
use super::testing;
use super::theme::{Depth, Theme};
use super::update::{settle, update};
use super::view;
use crate::types::{At, Body, Delta, EpisodeNo, Event as RunEvent, Phase, Role, StepNo, TurnNo};

/// The drawn screen.
fn drawn(state: &State) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    view::draw(state, &mut buf);
    buf
}

fn text(state: &State) -> String {
    export(&drawn(state), Format::Text, &state.theme)
}

/// Presses keys as the table writes them, one word each.
fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys.split(' ') {
        effects.extend(update(state, Event::Key(event(key))));
        effects.extend(settle(state));
    }
    effects
}

/// Types a text.
fn write(state: &mut State, said: &str) {
    for c in said.chars() {
        update(state, Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
    }
}

fn event(key: &str) -> KeyEvent {
    let (modifiers, plain) = match key.strip_prefix("C-") {
        Some(plain) => (KeyModifiers::CONTROL, plain),
        None => (KeyModifiers::NONE, key),
    };
    let code = match plain {
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Tab" => KeyCode::Tab,
        "S-Tab" => KeyCode::BackTab,
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Space" => KeyCode::Char(' '),
        "Backspace" => KeyCode::Backspace,
        _ => match plain.strip_prefix('F').and_then(|n| n.parse().ok()) {
            Some(n) => KeyCode::F(n),
            None => KeyCode::Char(plain.chars().next().unwrap()),
        },
    };
    KeyEvent::new(code, modifiers)
}

fn cursor(state: &State) -> u32 {
    state.watch.as_ref().unwrap().cursor.0
}

fn focus(state: &State) -> Pane {
    state.watch.as_ref().unwrap().focus
}

/// A run of this process, three steps in.
fn live(size: (u16, u16)) -> State {
    let mut state = testing::watching(size, 3, 3);
    let watch = state.watch.as_mut().unwrap();
    watch.finished = false;
    watch.follow = true;
    watch.episodes[0].end = None;
    watch.episodes[0].state = crate::types::EpisodeState::Open;
    watch.records.forget(StepNo(3));
    watch.memories.forget(StepNo(3));
    state.live = Some(LiveRun::new(watch.path.clone(), true));
    let events = testing::episode_events(4);
    for event in events.into_iter().filter(|event| event.at.step < StepNo(3)) {
        update(&mut state, Event::Live(LiveId(0), event));
    }
    let frame = std::sync::Arc::new(testing::frame(3));
    tell(&mut state, Body::Observed { frame });
    settle(&mut state);
    state
}

fn tell(state: &mut State, body: Body) {
    let at = At {
        episode: EpisodeNo(0),
        step: StepNo(3),
        agent: "agent".into(),
        memory_root: "ep_00".into(),
    };
    update(state, Event::Live(LiveId(0), RunEvent { at, body }));
}
