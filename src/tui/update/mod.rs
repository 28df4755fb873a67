//! How the state changes: `state + event -> state + effects`, without I/O, clocks or threads.
//!
//! Owns the meaning of events and actions. What an effect does is the edge's business.

mod curate;
mod filter;
mod insight;
mod lab;
mod memory;
mod news;
mod overlays;
mod panes;
mod review;
mod runs;
mod search;
mod settle;
mod specialist;
mod take_over;
mod watch;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::data::{ControlRequest, ControlView, Effect, Event, ThemeRequest};
use super::effects::Ask;
use super::keymap::{self, Action, Screen};
use super::layout;
use super::live;
use super::overlay::{Confirm, LineFor, LinePrompt, Overlay, Picker};
use super::state::{Mood, State};
use super::theme::Theme;

pub(crate) use review::saw;
pub(crate) use settle::settle;

/// Takes in an event.
pub(crate) fn update(state: &mut State, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Event::Key(key) => press(state, &key),
        Event::Paste(text) => {
            for c in text.chars().filter(|c| !c.is_control()) {
                overlays::write(state, c);
            }
            Vec::new()
        }
        Event::Resize(columns, rows) => {
            state.size = (columns, rows);
            state.redraw = true;
            Vec::new()
        }
        Event::Tick => watch::tick(state),
        Event::Live(id, event) => news::live(state, id, event),
        Event::Control(id, control) => news::control(state, id, control),
        Event::Rates(rates) => news::rates(state, &rates),
        Event::Graphics(graphics) => {
            state.pictures.graphics = graphics.or(state.pictures.graphics);
            state.redraw = true;
            Vec::new()
        }
        Event::Data(data) => news::data(state, data),
        Event::Terminate => quit_now(state),
        Event::Suspend => vec![Effect::Suspend],
        Event::Resumed => {
            state.pictures.forget();
            state.redraw = true;
            vec![Effect::ClearScreen]
        }
    }
}

fn press(state: &mut State, key: &KeyEvent) -> Vec<Effect> {
    // Esc and the next key may come as one: terminals write Alt that way.
    if key.modifiers.contains(KeyModifiers::ALT) {
        let mut effects = press(state, &KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        let plain = KeyEvent::new(key.code, key.modifiers - KeyModifiers::ALT);
        effects.extend(press(state, &plain));
        return effects;
    }
    let places = state.places();
    let bound = keymap::name(key).and_then(|name| keymap::find(&name, &places, state));
    if let Some(binding) = bound {
        if state.message.take().is_some() {
            state.redraw = true;
        }
        return act(state, binding.action);
    }
    let types = places.iter().any(|place| place.types());
    if let KeyCode::Char(c) = key.code
        && types
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return overlays::write(state, c);
    }
    Vec::new()
}

/// Does what an action says, at the place that holds now.
pub(crate) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    if let Some(effects) = everywhere(state, action) {
        return effects;
    }
    if !state.overlays.is_empty() {
        return overlays::act(state, action);
    }
    match state.screen {
        Screen::Runs => runs::act(state, action),
        Screen::Watch => watch::act(state, action),
        Screen::Lab => lab::act(state, action),
        Screen::Review => review::act(state, action),
        Screen::Curate => curate::act(state, action),
    }
}

/// Actions that mean the same at every place.
fn everywhere(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let none = Some(Vec::new());
    match action {
        Action::Quit => Some(quit(state)),
        Action::Suspend => Some(vec![Effect::Suspend]),
        Action::Redraw => {
            state.pictures.forget();
            state.redraw = true;
            Some(vec![Effect::ClearScreen])
        }
        Action::Help => {
            let picker = Picker::of_keys(&state.places(), state);
            push(state, Overlay::Help(picker));
            none
        }
        Action::Specialist => Some(specialist::open(state)),
        Action::Palette => {
            let picker = Picker::of_commands(&state.places(), state);
            push(state, Overlay::Palette(picker));
            none
        }
        Action::Show(screen) => Some(show(state, screen)),
        Action::NextTheme => Some(load_theme(state, None)),
        Action::SaveScreen => {
            let text = match &state.watch {
                Some(watch) if state.screen == Screen::Watch => format!("automem-step-{}.svg", watch.cursor),
                _ if state.screen == Screen::Lab => "automem-lab.svg".to_owned(),
                _ if state.screen == Screen::Curate => "automem-curate.svg".to_owned(),
                _ if state.screen == Screen::Review => "automem-review.svg".to_owned(),
                _ => "automem-runs.svg".to_owned(),
            };
            let purpose = LineFor::Save;
            push(state, Overlay::Line(LinePrompt { purpose, text }));
            none
        }
        Action::Copy => Some(copy(state)),
        _ => None,
    }
}

fn push(state: &mut State, overlay: Overlay) {
    state.overlays.push(overlay);
    state.redraw = true;
}

/// Shows a screen.
fn show(state: &mut State, screen: Screen) -> Vec<Effect> {
    state.overlays.clear();
    state.redraw = true;
    state.screen = screen;
    state.came_from = None;
    if let Some(watch) = state.watch.as_mut().filter(|_| screen != Screen::Watch) {
        watch.playing = false;
    }
    if screen == Screen::Lab {
        return lab::load(state);
    }
    if screen == Screen::Runs {
        state.home = Screen::Runs;
        return vec![Effect::ListRuns];
    }
    Vec::new()
}

/// Asks for a theme; without a name for the one that shows if its files changed, else the next.
pub(super) fn load_theme(state: &State, key: Option<String>) -> Vec<Effect> {
    vec![Effect::LoadTheme(ThemeRequest {
        key,
        shows: (state.theme.key().to_owned(), state.theme.digest()),
        depth: state.theme.terminal(),
    })]
}

/// Uses a theme for what is drawn from now on.
pub(super) fn use_theme(state: &mut State, theme: Theme) {
    state.theme = theme;
    state.redraw = true;
    if let Some(watch) = &mut state.watch {
        watch.memory.open.key = None;
        watch.scaffold.open.key = None;
    }
    if let Some(open) = &mut state.review.open {
        open.why.key = None;
    }
    if let Some(open) = &mut state.curate.open {
        open.page.key = None;
    }
    // A prompt that is open was coloured when it was opened.
    let at = state
        .overlays
        .iter()
        .position(|overlay| matches!(overlay, Overlay::Inspector(_)));
    if let Some(at) = at
        && let Overlay::Inspector(old) = state.overlays.remove(at)
    {
        let open = match watch::inspect_beside(state, &old, 0) {
            Some(mut open) => {
                (open.part, open.scroll) = (old.part, old.scroll);
                Box::new(open)
            }
            None => old,
        };
        state.overlays.insert(at, Overlay::Inspector(open));
    }
}

/// Back, then out; asks if a run is being played.
fn quit(state: &mut State) -> Vec<Effect> {
    if matches!(state.overlays.last(), Some(Overlay::Confirm(_))) {
        return Vec::new();
    }
    if !state.overlays.is_empty() {
        state.overlays.pop();
        state.redraw = true;
        return Vec::new();
    }
    if let Some(before) = state.came_from.filter(|_| state.screen == Screen::Watch) {
        return show(state, before);
    }
    if state.screen == Screen::Review && (state.review.open.is_some() || state.home != Screen::Review) {
        return match state.review.open.take() {
            Some(_) => vec![Effect::Review(Ask::Close)],
            None => show(state, state.home),
        };
    }
    if state.screen == Screen::Curate && (state.curate.open.is_some() || state.home != Screen::Curate) {
        return match state.curate.open.take() {
            Some(_) => vec![Effect::Review(Ask::Close)],
            None => show(state, state.home),
        };
    }
    if state.screen == Screen::Watch && state.home == Screen::Runs && state.live_here().is_none() {
        return show(state, Screen::Runs);
    }
    if state.screen == Screen::Lab && state.home == Screen::Runs {
        return show(state, Screen::Runs);
    }
    if state.lab.working.is_some() && !state.is_playing_a_run() {
        push(state, Overlay::Confirm(Confirm::QuitWhileOptimizing));
        return Vec::new();
    }
    if state.is_playing_a_run() {
        push(state, Overlay::Confirm(Confirm::QuitWhileLive));
        // A resumed run has its memory from the record.
        let episodes = state.lives().flat_map(|live| live.episodes.values());
        let edited = episodes.flat_map(live::LiveEpisode::edited).next();
        if let Some(said) =
            edited.map(|path| format!("your edit of {path} is not recorded yet: a step more, and it is"))
        {
            state.say(Mood::Bad, said);
        }
        return Vec::new();
    }
    vec![Effect::Quit]
}

/// Out without a question. The agent leaves at once: what was committed stays. A run that was told to stop does that.
fn quit_now(state: &mut State) -> Vec<Effect> {
    let mut effects: Vec<Effect> = state
        .lives()
        .filter(|live| live.control != ControlView::Stopping)
        .map(|live| Effect::Control(live.id, ControlRequest::Leave))
        .collect();
    effects.push(Effect::Quit);
    effects
}

/// Copies what is selected.
fn copy(state: &mut State) -> Vec<Effect> {
    let text = match (state.overlays.last(), state.screen) {
        (Some(Overlay::Inspector(inspector)), _) => Some(inspector.copy()),
        (Some(_), _) => None,
        (None, Screen::Runs) => state.runs.selected().map(|(entry, _)| entry.path.display().to_string()),
        (None, Screen::Lab) => state
            .lab
            .selected_node()
            .map(|node| format!("{}@{}", node.line, node.digest)),
        (None, Screen::Watch) => state.watch.as_ref().and_then(|watch| watch::copied(watch)),
        (None, Screen::Review) => review::copied(state),
        (None, Screen::Curate) => curate::copied(state),
    };
    match text {
        Some(text) => {
            let bytes = text.len();
            state.say(
                Mood::Good,
                format!("copied {bytes} bytes (if the terminal allows OSC 52)"),
            );
            vec![Effect::Copy(text)]
        }
        None => {
            state.say(Mood::Info, "there is nothing to copy here");
            Vec::new()
        }
    }
}

/// Rows of a page in the list of runs.
fn page(state: &State) -> usize {
    usize::from(layout::frame(state.size).body.height)
        .saturating_sub(4)
        .max(1)
}
