//! Worlds that show a terminal's screen, a picture or only text.

use std::sync::Arc;

use super::*;
use crate::types::{Frame, PictureView, View};

/// The watch screen at a step whose frame is this one.
fn watching(size: (u16, u16), frame: &Frame) -> State {
    let mut state = testing::watching(size, 60, 23);
    show(&mut state, frame);
    state
}

/// Puts a frame in the place of the one that the made-up run has.
fn show(state: &mut State, frame: &Frame) {
    let mut record = testing::record(23);
    for body in &mut record.events {
        if let Body::Observed { frame: seen } = body {
            *seen = Arc::new(frame.clone());
        }
    }
    state.watch.as_mut().unwrap().shown = Some(Arc::new(record));
}

fn press_and_show(state: &mut State, keys: &str, frame: &Frame) {
    press(state, keys);
    show(state, frame);
}

#[test]
fn a_dungeon_at_three_sizes() {
    let frame = testing::dungeon(3);
    insta::assert_snapshot!("dungeon_80x24", text(&watching((80, 24), &frame)));
    insta::assert_snapshot!("dungeon_160x48", text(&watching((160, 48), &frame)));
    let mut state = watching((200, 60), &frame);
    press_and_show(&mut state, "z", &frame);
    insta::assert_snapshot!("dungeon_200x60_zoomed", text(&state));
}

#[test]
fn the_text_the_model_saw_is_one_key_away() {
    let frame = testing::dungeon(3);
    let mut state = watching((160, 48), &frame);
    press_and_show(&mut state, "v", &frame);
    assert!(text(&state).contains("language observation:"));
    press_and_show(&mut state, "v", &frame);
    assert!(text(&state).contains("|$..d...+"));
}

#[test]
fn a_screen_that_has_no_room_can_be_moved() {
    let frame = testing::dungeon(3);
    let mut state = watching((70, 24), &frame);
    press_and_show(&mut state, "PgUp", &frame);
    assert!(!text(&state).contains("|$..d...+"));
    press_and_show(&mut state, "PgDn", &frame);
    assert!(text(&state).contains("|$..d...+"));
    press_and_show(&mut state, "<", &frame);
    assert_eq!(state.watch.as_ref().unwrap().game.pan.0, -4);
}

#[test]
fn a_picture_is_drawn_and_a_broken_one_is_told_as_text() {
    use base64::Engine as _;
    let rgb = base64::engine::general_purpose::STANDARD.encode([200u8, 30, 30].repeat(64));
    let picture = |rgb: &str| Frame {
        view: View::Picture(PictureView {
            width: 8,
            height: 8,
            rgb: rgb.into(),
        }),
        ..testing::frame(3)
    };
    let state = watching((160, 48), &picture(&rgb));
    assert!(text(&state).contains("picture"));
    let red = ratatui::style::Color::Rgb(200, 30, 30);
    assert!(drawn(&state).content().iter().any(|cell| cell.bg == red));
    let state = watching((160, 48), &picture("AAAA"));
    assert!(text(&state).contains("You face tree"));
    let nothing = Frame {
        view: View::Text,
        ..testing::frame(3)
    };
    assert!(text(&watching((80, 24), &nothing)).contains("You face tree"));
}

#[test]
fn every_depth_and_theme_draws_a_dungeon() {
    for name in crate::tui::theme::Themes::default().names() {
        for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let mut state = watching((120, 40), &testing::dungeon(5));
            state.theme = Theme::load(&name, depth).unwrap();
            assert!(text(&state).contains('@'), "{name} {depth:?}");
        }
    }
}
