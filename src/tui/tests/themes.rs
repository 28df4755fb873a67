//! Every screen in every theme and size: nothing panics, nothing that matters is cut; what themes
//! look like; the switch of themes.

use super::*;
use crate::tui::pictures::{Choice, Look, Pictures};
use crate::tui::theme::Themes;
use ratatui::style::{Color, Modifier};

const THEMES: [&str; 4] = ["dark", "light", "colorblind", "monochrome"];
const SIZES: [(u16, u16); 4] = [(80, 24), (60, 16), (200, 60), (300, 100)];

fn use_theme(state: &mut State, name: &str, depth: Depth) {
    let theme = Box::new(Theme::load(name, depth).unwrap());
    let news = Data::Theme {
        theme,
        names: Themes::default().names(),
        reloaded: false,
    };
    update(state, Event::Data(news));
    state.message = None;
    settle(state);
}

/// Every screen and everything that lies over one, with a word that must be on it.
fn places(size: (u16, u16)) -> Vec<(&'static str, State, &'static str)> {
    let watch = |keys: &str| {
        let mut state = testing::watching(size, 60, 23);
        if !keys.is_empty() {
            press(&mut state, keys);
        }
        state
    };
    let runs = |keys: &str| {
        let mut state = testing::listing(size, testing::entries());
        if !keys.is_empty() {
            press(&mut state, keys);
        }
        state
    };
    let mut quitting = live(size);
    press(&mut quitting, "q");
    let mut waiting = State::new(size, testing::theme(), Screen::Watch);
    waiting.opening = true;
    vec![
        ("runs", runs(""), "smollm2-135m"),
        ("nothing to list", testing::listing(size, Vec::new()), "scripted"),
        ("new run", runs("n"), "scripted"),
        ("filter", runs("/ a"), "ilter"),
        ("runs, keys", runs("?"), "Enter"),
        ("opening", waiting, "opening"),
        ("game", watch(""), "23 of 60"),
        ("map", watch("v"), "23 of 60"),
        ("text", watch("v v"), "You see:"),
        ("memory", watch("Tab"), "map.txt"),
        ("actions", watch("Tab Tab"), "PLAN"),
        ("scaffold", watch("Tab Tab Tab"), "scaffold.toml"),
        ("timeline", watch("Tab Tab Tab Tab"), "23 of 60"),
        ("zoom", watch("Tab Tab z"), "PLAN"),
        ("keys", watch("?"), "Keys of this place"),
        ("palette", watch(":"), "Command"),
        ("inspector", watch("Tab Tab Enter"), "Step 23"),
        ("search", watch("/ t r"), "tr"),
        ("save", watch("P"), "automem-step-23.svg"),
        ("live", live(size), "LIVE"),
        ("quit", quitting, "running"),
    ]
}

#[test]
fn every_place_draws_in_every_theme_and_size() {
    for size in SIZES {
        for (what, mut state, word) in places(size) {
            for theme in THEMES {
                use_theme(&mut state, theme, Depth::True);
                let screen = text(&state);
                let told = format!("{what} in {theme} at {}x{}:\n{screen}", size.0, size.1);
                assert!(screen.contains(word), "no `{word}`: {told}");
                let first = screen.lines().next().unwrap();
                assert!(first.contains("automem"), "no header: {told}");
                let last = screen.lines().last().unwrap();
                let typed = matches!(state.overlays.last(), Some(Overlay::Line(_)));
                let asks = state.overlays.iter().any(|overlay| {
                    matches!(
                        overlay,
                        Overlay::Line(_)
                            | Overlay::Help(_)
                            | Overlay::Palette(_)
                            | Overlay::Confirm(_)
                            | Overlay::Form(_)
                    )
                });
                assert!(typed || last.split_whitespace().count() >= 2, "no hints: {told}");
                // Where letters are typed or a question is asked, `?` is no key.
                assert!(asks || last.contains('?'), "no `?`: {told}");
            }
        }
    }
}

#[test]
fn the_hints_and_their_key_survive_every_width() {
    let mut states = [
        testing::watching((60, 24), 60, 23),
        testing::listing((60, 40), testing::entries()),
    ];
    for columns in (60..=320).step_by(3) {
        for state in &mut states {
            let rows = state.size.1;
            update(state, Event::Resize(columns, rows));
            settle(state);
            let screen = text(state);
            let last = screen.lines().last().unwrap();
            assert!(last.ends_with("? keys"), "{columns} columns: {last}");
        }
    }
}

#[test]
fn every_place_draws_at_every_depth() {
    for (what, mut state, word) in places((80, 24)) {
        for theme in THEMES {
            for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256] {
                use_theme(&mut state, theme, depth);
                let buf = drawn(&state);
                for cell in buf.content() {
                    let colours = [cell.fg, cell.bg];
                    let fits = colours.iter().all(|color| match (color, state.theme.depth()) {
                        (Color::Reset, _) => true,
                        (_, Depth::Mono) | (Color::Rgb(..), _) => false,
                        (Color::Indexed(n), Depth::Ansi256) => *n >= 16,
                        (_, Depth::Ansi16) => !matches!(color, Color::Indexed(_)),
                        _ => false,
                    });
                    assert!(fits, "{what} in {theme}, {}: {colours:?}", depth.word());
                    let seen = cell.symbol().trim();
                    let same = cell.fg == cell.bg && cell.fg != Color::Reset;
                    assert!(!same || seen.is_empty(), "{what} in {theme}: `{seen}` cannot be seen");
                }
                assert!(
                    export(&buf, Format::Text, &state.theme).contains(word),
                    "{what}: no `{word}`"
                );
            }
        }
    }
}

#[test]
fn without_colours_what_is_selected_still_stands_out() {
    for (keys, row) in [("", "a.db"), ("j", "b.db")] {
        let mut state = testing::listing((80, 24), testing::entries());
        if !keys.is_empty() {
            press(&mut state, keys);
        }
        use_theme(&mut state, "monochrome", Depth::True);
        let buf = drawn(&state);
        let reversed: Vec<u16> = (2..22)
            .filter(|y| buf[(10, *y)].modifier.contains(Modifier::REVERSED))
            .collect();
        assert_eq!(reversed.len(), 1, "one row is selected, {row}");
    }
    let mut state = testing::watching((160, 48), 60, 23);
    use_theme(&mut state, "monochrome", Depth::True);
    let screen = text(&state);
    // Marks differ by their shape; good and bad by words.
    for sign in ["★", "▴", "✗", "●"] {
        assert!(screen.contains(sign), "no {sign} on the timeline:\n{screen}");
    }
}

/// The screen with its styles: the text, then a letter a cell that names the style, then what the
/// letters mean.
fn styled(state: &State) -> String {
    const NAMES: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let buf = drawn(state);
    let mut known: Vec<(Color, Color, Modifier)> = Vec::new();
    let (mut rows, mut styles) = (String::new(), String::new());
    for y in 0..buf.area.height {
        let (mut row, mut style) = (String::new(), String::new());
        for x in 0..buf.area.width {
            let cell = &buf[(x, y)];
            let key = (cell.fg, cell.bg, cell.modifier);
            let at = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            row.push_str(cell.symbol());
            style.push(NAMES.chars().nth(at).unwrap_or('?'));
        }
        rows.push_str(row.trim_end());
        rows.push('\n');
        styles.push_str(&style);
        styles.push('\n');
    }
    let mut out = format!("{rows}\n{styles}\n");
    let color = |color: Color| match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        other => format!("{other:?}"),
    };
    for (name, (ink, ground, modifier)) in NAMES.chars().zip(known) {
        out.push_str(&format!("{name} {} on {} {modifier:?}\n", color(ink), color(ground)));
    }
    out
}

#[test]
fn what_the_four_themes_look_like() {
    for theme in THEMES {
        let letters = || Pictures::new(Choice::Look(Look::Letters), None);
        let mut state = testing::watching((80, 24), 60, 23);
        press(&mut state, "Tab Tab");
        use_theme(&mut state, theme, Depth::True);
        insta::assert_snapshot!(format!("{theme}_watch_80x24"), styled(&state));
        let mut state = testing::watching((200, 60), 60, 23);
        state.pictures = letters();
        use_theme(&mut state, theme, Depth::True);
        insta::assert_snapshot!(format!("{theme}_watch_200x60"), styled(&state));
        let mut state = testing::listing((80, 24), testing::entries());
        use_theme(&mut state, theme, Depth::True);
        insta::assert_snapshot!(format!("{theme}_runs_80x24"), styled(&state));
    }
}

#[test]
fn the_map_at_both_sizes() {
    for (size, name) in [((80, 24), "map_80x24"), ((160, 48), "map_160x48")] {
        let mut state = testing::watching(size, 60, 23);
        press(&mut state, "v V");
        let mut seen = vec![false; 64 * 64];
        (25..40).for_each(|y| seen[y * 64 + 20..y * 64 + 50].fill(true));
        let map = crate::tui::data::MapView {
            episode: EpisodeNo(0),
            step: StepNo(23),
            upto: StepNo(23),
            seen,
            trail: (0..90).map(|at| (22 + at % 25, 28 + at / 25)).collect(),
            marks: vec![
                ((40, 30), crate::tui::data::MapMark::Reward),
                ((24, 36), crate::tui::data::MapMark::Death),
            ],
        };
        update(&mut state, Event::Data(Data::Map(Box::new(map))));
        state.message = None;
        insta::assert_snapshot!(name, text(&state));
        // The map moves under the pane as far as there is more of it, and back with the view.
        let before = text(&state);
        press(&mut state, "j j j >");
        assert_ne!(text(&state), before);
        press(&mut state, "v v v");
        state.message = None;
        assert_eq!(text(&state), before);
    }
}

#[test]
fn the_switch_asks_for_the_next_theme_and_takes_it_in() {
    let mut state = testing::watching((80, 24), 10, 3);
    let effects = press(&mut state, "T");
    let request = effects
        .iter()
        .find_map(|effect| match effect {
            Effect::LoadTheme(request) => Some(request.clone()),
            _ => None,
        })
        .expect("a theme is asked for");
    assert_eq!((request.key, request.shows.0.as_str()), (None, "dark"));
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("own.toml");
    std::fs::write(&own, "inherits = \"light\"\n").unwrap();
    let themes = Themes::in_folders([dir.path().to_owned()]);
    // Through all of them and back; one's own is among them.
    let mut seen = Vec::new();
    let next = |state: &mut State| {
        let request = crate::tui::data::ThemeRequest {
            key: None,
            shows: (state.theme.key().to_owned(), state.theme.digest()),
            depth: state.theme.terminal(),
        };
        let data = crate::tui::jobs::theme(&themes, &request);
        update(state, Event::Data(data));
        settle(state);
        state.theme.name().to_owned()
    };
    for _ in 0..5 {
        seen.push(next(&mut state));
        drawn(&state);
    }
    assert_eq!(seen, ["light", "monochrome", "own", "colorblind", "dark"]);
    assert_eq!(state.theme.depth(), Depth::True, "monochrome must not stay");
    // A file that was edited is read anew before the switch goes on.
    next(&mut state);
    next(&mut state);
    assert_eq!(next(&mut state), "own");
    std::fs::write(&own, "inherits = \"light\"\n[colors]\naccent = \"#aa0011\"\n").unwrap();
    assert_eq!(next(&mut state), "own");
    assert_eq!(state.theme.rgb(crate::tui::theme::Slot::Accent), (0xaa, 0, 0x11));
    assert!(text(&state).contains("read anew"));
    // What is wrong in it is said, and the theme stays.
    std::fs::write(&own, "inherits = \"light\"\n[colors]\naccnt = \"#aa0011\"\n").unwrap();
    assert_eq!(next(&mut state), "own");
    let said = state.message.clone().unwrap().text;
    assert!(
        said.contains("own.toml:3:1: ") && said.contains("did you mean `accent`?"),
        "{said}"
    );
    std::fs::remove_file(&own).unwrap();
    assert_eq!(next(&mut state), "colorblind");
}

#[test]
fn a_picture_is_asked_for_once_and_goes_away_under_what_lies_over_it() {
    use crate::tui::panels::game::wanted;
    use crate::tui::pictures::{Graphics, Wire};
    let mut state = testing::watching((160, 48), 60, 23);
    let graphics = Graphics {
        wire: Wire::Kitty,
        cell: (10, 20),
        inflates: true,
        tmux: false,
    };
    update(&mut state, Event::Graphics(Some(graphics)));
    let asks = |effects: &[Effect]| {
        effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Picture(_)))
            .count()
    };
    assert_eq!(asks(&settle(&mut state)), 1);
    assert_eq!(asks(&settle(&mut state)), 0);
    assert_eq!(asks(&press(&mut state, "Right")), 1);
    assert!(wanted(&state).is_some());
    press(&mut state, "?");
    assert!(wanted(&state).is_none(), "help lies over it");
    press(&mut state, "Esc v");
    assert!(wanted(&state).is_none(), "the map shows");
    press(&mut state, "v v");
    assert!(wanted(&state).is_some());
    press(&mut state, "V");
    assert!(wanted(&state).is_none(), "half-blocks were chosen");
    press(&mut state, "V V V");
    assert!(wanted(&state).is_some());
    press(&mut state, "1");
    assert!(wanted(&state).is_none(), "the runs show");
    press(&mut state, "2");
    update(&mut state, Event::Resize(80, 24));
    let small = wanted(&state).unwrap();
    assert!(small.area.right() <= 80 && small.area.bottom() <= 23);
    // Suspended and back: the terminal forgot its pictures, so another one is asked for.
    let before = small.key;
    update(&mut state, Event::Resumed);
    assert_ne!(wanted(&state).unwrap().key, before);
}
