//! What keys do, and that the one table tells the truth about them.

use super::*;

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
    let rows = crate::tui::stream::rows(&testing::record(23)).len();
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
    assert!(
        matches!(&effects[0], Effect::Copy(text) if text.starts_with("<|im_start|>system")),
        "{effects:?}"
    );
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
    assert_eq!(
        press(&mut state, "Space"),
        [Effect::Control(LiveId(0), ControlRequest::Pause)]
    );
    update(&mut state, Event::Control(LiveId(0), ControlView::Paused));
    settle(&mut state);
    assert!(text(&state).contains("PAUSED"));
    assert!(press(&mut state, ".").contains(&Effect::Control(LiveId(0), ControlRequest::Step)));
    assert!(press(&mut state, "Space").contains(&Effect::Control(LiveId(0), ControlRequest::Resume)));
    assert!(press(&mut state, "+").contains(&Effect::Control(LiveId(0), ControlRequest::Pace(125))));
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
    assert_eq!(
        effects[effects.len() - 2..],
        [Effect::Control(LiveId(0), ControlRequest::Leave), Effect::Quit]
    );
    let effects = update(&mut state, Event::Terminate);
    assert!(effects.contains(&Effect::Quit));
}

#[test]
fn q_goes_back_to_the_list_it_came_from() {
    let mut state = testing::listing((80, 24), testing::entries());
    let effects = press(&mut state, "Enter");
    assert!(
        matches!(&effects[0], Effect::Open { path, .. } if path.ends_with("a.db")),
        "{effects:?}"
    );
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
    assert_eq!(state.runs.rows.len(), 1);
    press(&mut state, "Enter Esc");
    assert_eq!(state.runs.rows.len(), 4);
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
        matches!(&effects[0], Effect::Start(request) if request.model == "scripted" && request.seeds == "43"),
        "{effects:?}"
    );
    let effects = press(&mut state, "Down Enter");
    assert!(
        matches!(&effects[0], Effect::PullModel(request) if request.scaffold == "crafter-tiny"),
        "{effects:?}"
    );
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
    let place = |step| crate::tui::data::Place {
        episode: EpisodeNo(0),
        step: StepNo(step),
        event: 0,
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

/// States in which every place holds.
fn states() -> Vec<State> {
    let mut states = vec![
        testing::listing((160, 48), testing::entries()),
        testing::listing((160, 48), Vec::new()),
        live((160, 48)),
    ];
    for keys in [
        "Esc",
        "Tab",
        "Tab Enter",
        "Tab Tab",
        "Tab Tab Tab",
        "Tab Tab Tab Enter",
        "S-Tab",
        "Tab Tab Enter",
        "?",
        ":",
        "/",
        "F",
        "i",
    ] {
        let mut state = testing::watching((160, 48), 60, 23);
        press(&mut state, keys);
        states.push(state);
    }
    for keys in ["n", "c", "d", "5", "5 n"] {
        let mut state = testing::listing((160, 48), testing::entries());
        press(&mut state, keys);
        states.push(state);
    }
    let mut state = live((160, 48));
    press(&mut state, "q");
    states.push(state);
    let mut state = State::new((160, 48), testing::theme(), Screen::Review);
    state
        .review
        .take(vec![super::review::dossier(Vec::new()).standing.clone()]);
    states.push(state);
    for keys in ["Esc", "x", "D Enter", "Tab Tab", "c"] {
        for size in [(80, 24), (160, 48)] {
            let mut state = super::review::reviewing(size, super::review::dossier(Vec::new()));
            press(&mut state, keys);
            states.push(state);
        }
    }
    for keys in ["Esc", "Tab", "Tab Tab", "x", "* y", "A", "Esc n"] {
        for size in [(80, 24), (160, 48)] {
            let mut state = super::curate::shown(size);
            press(&mut state, keys);
            states.push(state);
        }
    }
    for keys in ["t", "t Tab"] {
        let mut state = live((160, 48));
        press(&mut state, keys);
        states.push(state);
    }
    states
}

#[test]
fn keys_are_unique_in_their_place_and_can_be_pressed() {
    let mut reached = BTreeSet::new();
    for state in states() {
        let places = state.places();
        for place in &places {
            let mut seen = BTreeSet::new();
            let here = TABLE
                .iter()
                .filter(|binding| binding.place == *place && (binding.when)(&state));
            for key in here.flat_map(|binding| binding.keys) {
                assert!(seen.insert(*key), "{key} is bound twice at {place:?}");
                assert_eq!(
                    keymap::name(&event(key)).as_deref(),
                    Some(*key),
                    "{key} cannot be pressed"
                );
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
            let line = crate::tui::panels::hints::hint_line(&state, room);
            assert!(line.width() <= room + 2, "{} > {room}: {line:?}", line.width());
            if !places.iter().any(|place| place.types())
                && !places.contains(&Place::Confirm)
                && !places.contains(&Place::Seal)
            {
                assert!(line.to_string().contains("? keys"), "{line}");
            }
        }
    }
}
