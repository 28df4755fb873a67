//! What the screens look like: snapshots, sizes, colours, hostile text.

use super::*;

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
    tell(
        &mut state,
        Body::TurnStarted {
            phase,
            turn,
            role: Role::Agent,
        },
    );
    let delta = Delta::Prompt {
        done: 612,
        total: 940,
        cached: 318,
    };
    tell(&mut state, Body::TurnDelta { phase, turn, delta });
    settle(&mut state);
    let screen = text(&state);
    assert!(screen.contains("evaluating prompt 612 of 940 (318 cached)"), "{screen}");
    assert!(screen.contains("● LIVE"), "{screen}");
    let delta = Delta::Text {
        text: "I see a <|APP".into(),
    };
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
    let bad = crate::tui::data::FileView {
        text: evil.into(),
        ..file
    };
    memory.files.insert(evil.to_owned(), bad);
    watch.memories.put(StepNo(23), std::sync::Arc::new(memory), StepNo(23));
    for keys in ["Tab", "g Home", "Tab", "Enter", "Esc v v", "Y", "Tab"] {
        press(&mut state, keys);
        state.watch.as_mut().unwrap().cursor = StepNo(23);
        settle(&mut state);
        for cell in drawn(&state).content() {
            assert!(
                !cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'),
                "{:?}",
                cell.symbol()
            );
        }
    }
}

#[test]
fn views_of_the_game_go_round() {
    let mut state = testing::watching((80, 24), 60, 23);
    let effects = press(&mut state, "v");
    assert!(effects.contains(&Effect::LoadMap {
        episode: EpisodeNo(0),
        step: StepNo(23)
    }));
    assert_eq!(state.watch.as_ref().unwrap().game.view, GameView::Map);
    drawn(&state);
    press(&mut state, "v");
    assert!(text(&state).contains("You face tree at your front."));
    press(&mut state, "v V");
    assert!(text(&state).contains('@'));
}

#[test]
fn every_depth_and_theme_draws() {
    for name in crate::tui::theme::Themes::default().names() {
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
