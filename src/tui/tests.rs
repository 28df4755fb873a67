//! The screens as a person sees and drives them: snapshots, keys, limits.

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::data::{ControlRequest, ControlView, Data, Effect, Event, SearchNews};
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
        update(&mut state, Event::Live(event));
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
    update(state, Event::Live(RunEvent { at, body }));
}

#[test]
fn watch_at_80_by_24() {
    let mut state = testing::watching((80, 24), 60, 23);
    insta::assert_snapshot!("watch_80x24_game", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("watch_80x24_memory", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("watch_80x24_actions", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("watch_80x24_scaffold", text(&state));
}

#[test]
fn watch_at_160_by_48() {
    insta::assert_snapshot!(text(&testing::watching((160, 48), 60, 23)));
}

#[test]
fn runs_at_both_sizes() {
    insta::assert_snapshot!("runs_80x24", text(&testing::listing((80, 24), testing::entries())));
    insta::assert_snapshot!("runs_160x48", text(&testing::listing((160, 48), testing::entries())));
}

#[test]
fn an_empty_list_offers_what_to_start() {
    insta::assert_snapshot!("start_80x24", text(&testing::listing((80, 24), Vec::new())));
    insta::assert_snapshot!("start_160x48", text(&testing::listing((160, 48), Vec::new())));
}

#[test]
fn what_lies_over_the_screen() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "?");
    insta::assert_snapshot!("help_80x24", text(&state));
    press(&mut state, "Esc Tab Tab Enter");
    insta::assert_snapshot!("inspector_80x24", text(&state));
    let mut state = live((80, 24));
    press(&mut state, "q");
    insta::assert_snapshot!("quit_80x24", text(&state));
}

#[test]
fn a_live_answer_streams_in() {
    let mut state = live((160, 48));
    press(&mut state, "Tab Tab");
    let (phase, turn) = (Phase::Log, TurnNo(0));
    tell(&mut state, Body::TurnStarted { phase, turn, role: Role::Agent });
    let delta = Delta::Prompt { done: 612, total: 940, cached: 318 };
    tell(&mut state, Body::TurnDelta { phase, turn, delta });
    settle(&mut state);
    let screen = text(&state);
    assert!(screen.contains("evaluating prompt 612 of 940 (318 cached)"), "{screen}");
    assert!(screen.contains("● LIVE"), "{screen}");
    let delta = Delta::Text { text: "I see a <|APP".into() };
    tell(&mut state, Body::TurnDelta { phase, turn, delta });
    settle(&mut state);
    assert!(text(&state).contains("I see a <|APP"));
    insta::assert_snapshot!("live_160x48", text(&state));
}

#[test]
fn a_small_terminal_says_what_it_needs() {
    let state = testing::watching((59, 20), 10, 3);
    let screen = text(&state);
    assert!(screen.contains("needs 60x16"), "{screen}");
    assert!(screen.contains("has 59x20"), "{screen}");
    for size in [(1, 1), (5, 2), (60, 16), (80, 17), (139, 31), (140, 16), (400, 150)] {
        let mut state = testing::watching(size, 10, 3);
        for _ in 0..5 {
            drawn(&state);
            press(&mut state, "Tab");
        }
    }
}

#[test]
fn the_cursor_moves_in_both_directions_and_stays_inside() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "Right Right l Left");
    assert_eq!(cursor(&state), 25);
    press(&mut state, "End Right");
    assert_eq!(cursor(&state), 60);
    press(&mut state, "Home Left");
    assert_eq!(cursor(&state), 0);
    press(&mut state, "G");
    assert_eq!(cursor(&state), 60);
    press(&mut state, "g");
    assert_eq!(cursor(&state), 0);
}

#[test]
fn a_number_in_the_palette_goes_to_the_step() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, ":");
    write(&mut state, "41");
    press(&mut state, "Enter");
    assert_eq!(cursor(&state), 41);
    press(&mut state, "C-p");
    write(&mut state, "last step");
    press(&mut state, "Enter");
    assert_eq!(cursor(&state), 60);
    assert!(state.overlays.is_empty());
}

#[test]
fn events_are_found_by_kind() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "]");
    assert_eq!(cursor(&state), 24);
    press(&mut state, "S-Tab");
    assert_eq!(focus(&state), Pane::Timeline);
    press(&mut state, "r ]");
    assert_eq!(cursor(&state), 28);
    press(&mut state, "[");
    assert_eq!(cursor(&state), 23);
    press(&mut state, "e C-Right");
    assert_eq!(cursor(&state), 28);
    press(&mut state, "End ]");
    assert!(state.message.as_ref().unwrap().text.contains("no error after"));
}

#[test]
fn h_and_l_fold_in_a_tree_and_step_elsewhere() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "Tab");
    assert_eq!(focus(&state), Pane::Memory);
    press(&mut state, "g j");
    assert_eq!(cursor(&state), 0);
    press(&mut state, "End");
    let rows = |state: &State| {
        let watch = state.watch.as_ref().unwrap();
        watch.memory.rows(watch.memory_shown.as_ref().unwrap()).len()
    };
    assert_eq!(rows(&state), 3);
    press(&mut state, "k k Down h");
    assert_eq!((rows(&state), cursor(&state)), (2, 60));
    press(&mut state, "l");
    assert_eq!((rows(&state), cursor(&state)), (3, 60));
    press(&mut state, "Left");
    assert_eq!(cursor(&state), 59);
}

#[test]
fn rows_of_the_stream_lead_to_the_next_step() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "Tab Tab");
    let rows = super::stream::rows(&testing::record(23)).len();
    for _ in 0..rows {
        press(&mut state, "j");
    }
    assert_eq!(cursor(&state), 24);
    press(&mut state, "k");
    assert_eq!(cursor(&state), 23);
    assert_eq!(state.watch.as_ref().unwrap().actions.row, rows - 1);
    press(&mut state, "PgDn PgUp");
    assert_eq!(cursor(&state), 23);
}

#[test]
fn the_inspector_goes_through_all_turns() {
    let mut state = testing::watching((160, 48), 60, 23);
    press(&mut state, "Tab Tab Enter");
    let place = |state: &State| match state.overlays.last() {
        Some(Overlay::Inspector(inspector)) => Some((inspector.step.0, inspector.index)),
        _ => None,
    };
    assert_eq!(place(&state), Some((23, 0)));
    press(&mut state, "Right");
    assert_eq!(place(&state), Some((23, 1)));
    press(&mut state, "l");
    assert_eq!((place(&state), cursor(&state)), (Some((24, 0)), 24));
    press(&mut state, "h");
    assert_eq!((place(&state), cursor(&state)), (Some((23, 1)), 23));
    let effects = press(&mut state, "Tab Y");
    assert!(matches!(&effects[0], Effect::Copy(text) if text.starts_with("<|im_start|>system")), "{effects:?}");
    press(&mut state, "Esc");
    assert_eq!(place(&state), None);
}

#[test]
fn space_plays_a_replay_and_pauses_it() {
    let mut state = testing::watching((80, 24), 60, 58);
    assert_eq!(state.tick_every(), None);
    press(&mut state, "Space");
    assert!(state.tick_every().is_some());
    update(&mut state, Event::Tick);
    settle(&mut state);
    assert_eq!(cursor(&state), 59);
    press(&mut state, "Space");
    assert_eq!(state.tick_every(), None);
    press(&mut state, "Space");
    update(&mut state, Event::Tick);
    settle(&mut state);
    assert_eq!((cursor(&state), state.tick_every()), (60, None));
    let before = state.watch.as_ref().unwrap().speed;
    press(&mut state, "+");
    assert_ne!(state.watch.as_ref().unwrap().speed, before);
    press(&mut state, "- =");
    assert_eq!(state.watch.as_ref().unwrap().speed, before);
    press(&mut state, "Home .");
    assert_eq!((cursor(&state), state.tick_every()), (1, None));
}

#[test]
fn space_and_dot_steer_a_live_agent() {
    let mut state = live((80, 24));
    assert_eq!(cursor(&state), 3);
    assert_eq!(press(&mut state, "Space"), [Effect::Control(ControlRequest::Pause)]);
    update(&mut state, Event::Control(ControlView::Paused));
    settle(&mut state);
    assert!(text(&state).contains("PAUSED"));
    assert!(press(&mut state, ".").contains(&Effect::Control(ControlRequest::Step)));
    assert!(press(&mut state, "Space").contains(&Effect::Control(ControlRequest::Resume)));
    assert!(press(&mut state, "+").contains(&Effect::Control(ControlRequest::Pace(125))));
    // Away from the live end the same keys go through what is recorded.
    press(&mut state, "Home .");
    assert_eq!(cursor(&state), 1);
    press(&mut state, "f");
    assert_eq!(cursor(&state), 3);
}

#[test]
fn quitting_asks_only_while_a_run_is_played() {
    let mut state = testing::watching((80, 24), 10, 3);
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
    let mut state = live((80, 24));
    assert!(!press(&mut state, "q").contains(&Effect::Quit));
    assert!(!press(&mut state, "n").contains(&Effect::Quit));
    assert!(state.overlays.is_empty());
    let effects = press(&mut state, "C-c y");
    assert_eq!(effects[effects.len() - 2..], [Effect::Control(ControlRequest::Leave), Effect::Quit]);
    let effects = update(&mut state, Event::Terminate);
    assert!(effects.contains(&Effect::Quit));
}

#[test]
fn q_goes_back_to_the_list_it_came_from() {
    let mut state = testing::listing((80, 24), testing::entries());
    let effects = press(&mut state, "Enter");
    assert!(matches!(&effects[0], Effect::Open { path, .. } if path.ends_with("a.db")), "{effects:?}");
    update(&mut state, Event::Data(Data::Opened(Box::new(testing::opened(12)))));
    assert_eq!(state.screen, Screen::Watch);
    let effects = press(&mut state, "q");
    assert_eq!(state.screen, Screen::Runs);
    assert!(!effects.contains(&Effect::Quit));
    press(&mut state, "2");
    assert_eq!(state.screen, Screen::Watch);
    press(&mut state, "F1");
    assert!(press(&mut state, "q").contains(&Effect::Quit));
}

#[test]
fn the_list_filters_sorts_and_tells_what_is_broken() {
    let mut state = testing::listing((160, 48), testing::entries());
    press(&mut state, "/");
    write(&mut state, "scripted");
    assert_eq!(state.runs.rows.len(), 2);
    press(&mut state, "Enter Esc");
    assert_eq!(state.runs.rows.len(), 5);
    press(&mut state, "s");
    assert!(state.message.as_ref().unwrap().text.contains("best first"));
    press(&mut state, "G");
    let (entry, _) = state.runs.selected().unwrap();
    assert!(entry.path.ends_with("d.db"));
    assert!(press(&mut state, "Enter").is_empty());
    assert!(text(&state).contains("restore it from a copy"));
}

#[test]
fn starting_begins_with_the_scripted_player() {
    let mut state = testing::listing((80, 24), Vec::new());
    let effects = press(&mut state, "Right Enter");
    assert!(
        matches!(&effects[0], Effect::Start(request) if request.model == "scripted" && request.seed == 43),
        "{effects:?}"
    );
    let effects = press(&mut state, "Down Enter");
    assert!(matches!(&effects[0], Effect::PullModel(request) if request.scaffold == "crafter-tiny"), "{effects:?}");
    let mut state = testing::listing((80, 24), testing::entries());
    press(&mut state, "n");
    assert!(matches!(press(&mut state, "Enter")[0], Effect::Start(_)));
}

#[test]
fn a_search_counts_and_goes_round() {
    let mut state = testing::watching((80, 24), 60, 23);
    press(&mut state, "/");
    write(&mut state, "tree");
    let effects = press(&mut state, "Enter");
    assert!(matches!(&effects[0], Effect::Search { text, .. } if text == "tree"));
    let place = |step| super::data::Place {
        episode: EpisodeNo(0),
        step: StepNo(step),
        what: "observation".into(),
    };
    let found = SearchNews::Found(vec![place(4), place(30), place(44)]);
    update(&mut state, Event::Data(Data::Search(found)));
    assert_eq!(cursor(&state), 30);
    press(&mut state, "n");
    assert_eq!(cursor(&state), 44);
    press(&mut state, "n");
    assert_eq!(cursor(&state), 4);
    press(&mut state, "N Esc");
    assert_eq!(cursor(&state), 44);
    assert!(text(&state).contains("3 of 3"), "{}", text(&state));
}

#[test]
fn the_loader_is_asked_once_for_where_the_cursor_rests() {
    let mut state = State::new((80, 24), testing::theme(), Screen::Watch);
    let effects = update(&mut state, Event::Data(Data::Opened(Box::new(testing::opened(5000)))));
    assert!(effects.is_empty());
    for _ in 0..100 {
        update(&mut state, Event::Key(event("Right")));
    }
    let effects = settle(&mut state);
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(matches!(&effects[0], Effect::Load(request) if request.step == StepNo(100) && request.record));
    assert!(settle(&mut state).is_empty());
}

#[test]
fn nothing_is_drawn_anew_when_nothing_changed() {
    let mut state = testing::watching((80, 24), 60, 23);
    state.redraw = false;
    update(&mut state, Event::Key(event("€")));
    update(&mut state, Event::Tick);
    settle(&mut state);
    assert!(!state.redraw);
    press(&mut state, "Right");
    assert!(state.redraw);
}

#[test]
fn a_hundred_thousand_steps_are_as_fast_as_a_hundred() {
    let mut state = testing::watching((200, 60), 60, 23);
    let watch = state.watch.as_mut().unwrap();
    watch.marks = (0..100_000).map(testing::mark).collect();
    watch.episodes[0].steps = 100_000;
    watch.go(StepNo(77_777));
    settle(&mut state);
    let began = std::time::Instant::now();
    let screen = text(&state);
    // Far from a measurement, but building all rows would take seconds.
    assert!(began.elapsed().as_millis() < 1000);
    assert!(screen.contains("77777 of 100000"), "{screen}");
}

#[test]
fn hostile_text_reaches_no_cell() {
    let mut state = testing::watching((160, 48), 60, 23);
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}abc\r\n漢字\u{0}";
    let watch = state.watch.as_mut().unwrap();
    let mut record = testing::record(23);
    for body in &mut record.events {
        match body {
            Body::TurnFinished { turn } => {
                turn.response = format!("{evil}{}", "y".repeat(1_000_000));
                turn.prompt = evil.repeat(1000);
            }
            Body::MemoryOp { op } => op.args = vec![evil.to_owned(), "z".repeat(10_000_000)],
            Body::ActionCommitted { validated, .. } => *validated = evil.to_owned(),
            Body::Observed { frame } => {
                let frame = std::sync::Arc::make_mut(frame);
                frame.long = evil.repeat(10);
                frame.short = evil.to_owned();
                frame.info = serde_json::json!({ "inventory": { evil: 3 } });
            }
            _ => {}
        }
    }
    watch.records.put(StepNo(23), std::sync::Arc::new(record), StepNo(23));
    let mut memory = testing::memory(23);
    let file = memory.files.remove("goals.txt").unwrap();
    let bad = super::data::FileView { text: evil.into(), ..file };
    memory.files.insert(evil.to_owned(), bad);
    watch.memories.put(StepNo(23), std::sync::Arc::new(memory), StepNo(23));
    for keys in ["Tab", "g Home", "Tab", "Enter", "Esc v v", "Y", "Tab"] {
        press(&mut state, keys);
        state.watch.as_mut().unwrap().cursor = StepNo(23);
        settle(&mut state);
        for cell in drawn(&state).content() {
            assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn views_of_the_game_go_round() {
    let mut state = testing::watching((80, 24), 60, 23);
    let effects = press(&mut state, "v");
    assert!(effects.contains(&Effect::LoadTrail { episode: EpisodeNo(0), step: StepNo(23) }));
    assert_eq!(state.watch.as_ref().unwrap().game.view, GameView::Map);
    drawn(&state);
    press(&mut state, "v");
    assert!(text(&state).contains("You face tree at your front."));
    press(&mut state, "v V");
    assert!(text(&state).contains('@'));
}

#[test]
fn every_depth_and_theme_draws() {
    for name in Theme::names() {
        for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let mut state = testing::watching((160, 48), 60, 23);
            state.theme = Theme::load(&name, depth).unwrap();
            let watch = state.watch.as_mut().unwrap();
            watch.memory.open.key = None;
            watch.scaffold.open.key = None;
            settle(&mut state);
            drawn(&state);
            if depth == Depth::Mono {
                let buf = drawn(&state);
                assert!(buf.content().iter().all(|cell| cell.fg == ratatui::style::Color::Reset));
            }
        }
    }
}

/// States in which every place holds.
fn states() -> Vec<State> {
    let mut states = vec![
        testing::listing((160, 48), testing::entries()),
        testing::listing((160, 48), Vec::new()),
        live((160, 48)),
    ];
    for keys in ["Esc", "Tab", "Tab Enter", "Tab Tab", "Tab Tab Tab", "Tab Tab Tab Enter", "S-Tab", "Tab Tab Enter", "?", ":", "/"] {
        let mut state = testing::watching((160, 48), 60, 23);
        press(&mut state, keys);
        states.push(state);
    }
    let mut state = live((160, 48));
    press(&mut state, "q");
    states.push(state);
    states
}

#[test]
fn keys_are_unique_in_their_place_and_can_be_pressed() {
    let mut reached = BTreeSet::new();
    for state in states() {
        let places = state.places();
        for place in &places {
            let mut seen = BTreeSet::new();
            let here = TABLE.iter().filter(|binding| binding.place == *place && (binding.when)(&state));
            for key in here.flat_map(|binding| binding.keys) {
                assert!(seen.insert(*key), "{key} is bound twice at {place:?}");
                assert_eq!(keymap::name(&event(key)).as_deref(), Some(*key), "{key} cannot be pressed");
            }
            reached.insert(*place);
        }
    }
    let all: BTreeSet<Place> = TABLE.iter().map(|binding| binding.place).collect();
    assert_eq!(reached, all, "no state reaches some places");
}

#[test]
fn every_hint_and_every_line_of_the_help_does_something() {
    for state in states() {
        let places = state.places();
        for (binding, keys) in keymap::available(&places, &state) {
            for key in keys {
                let found = keymap::find(key, &places, &state).unwrap();
                assert_eq!(found.action, binding.action, "{key} at {places:?}");
            }
            assert!(!binding.help.is_empty() && !binding.label.is_empty());
        }
        for room in [58, 78, 158] {
            let line = super::panels::hints::hint_line(&state, room);
            assert!(line.width() <= room + 2, "{} > {room}: {line:?}", line.width());
            if !places.iter().any(|place| place.types()) && !places.contains(&Place::Confirm) {
                assert!(line.to_string().contains("? keys"), "{line}");
            }
        }
    }
}

#[test]
#[ignore = "writes pictures to look at"]
fn pictures() {
    let dir = std::env::temp_dir().join("tui-shots");
    std::fs::create_dir_all(&dir).unwrap();
    let save = |name: &str, state: &State| {
        let svg = export(&drawn(state), Format::Svg, &state.theme);
        std::fs::write(dir.join(format!("{name}.svg")), svg).unwrap();
    };
    for (columns, rows) in [(80, 24), (110, 36), (160, 48), (200, 60)] {
        for theme in ["dark", "light"] {
            let mut state = testing::watching((columns, rows), 60, 23);
            state.theme = Theme::load(theme, Depth::True).unwrap();
            save(&format!("watch-{columns}-{theme}"), &state);
            let mut state = testing::listing((columns, rows), testing::entries());
            state.theme = Theme::load(theme, Depth::True).unwrap();
            save(&format!("runs-{columns}-{theme}"), &state);
        }
    }
}
