//! Contrast in every theme and depth; files that inherit, and files that are wrong.

use super::depth::{self, contrast, shown, terminal_ground};
use super::*;

const DEPTHS: [Depth; 4] = [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True];

fn shipped() -> Vec<String> {
    Themes::default().names()
}

#[test]
fn every_theme_loads_with_every_name_at_every_depth() {
    assert_eq!(shipped(), ["colorblind", "dark", "light", "monochrome"]);
    for name in shipped() {
        for depth in DEPTHS {
            let theme = Theme::load(&name, depth).unwrap();
            assert_eq!(theme.name(), name);
            assert_eq!(theme.colors.len(), Slot::ALL.len());
            assert_eq!(theme.terminal(), depth);
        }
    }
    let error = Theme::load("drak", Depth::True).unwrap_err().to_string();
    assert!(error.contains("did you mean `dark`?"), "{error}");
}

/// What a colour looks like; the terminal's own is plain text, or the ground that the theme names.
fn look(theme: &Theme, slot: Slot, palette: usize) -> Rgb {
    shown(theme.color(slot), palette).unwrap_or_else(|| {
        let ground = terminal_ground(theme.is_dark());
        if slot.is_ground() {
            ground
        } else {
            terminal_ground(!theme.is_dark())
        }
    })
}

#[test]
fn text_marks_and_borders_can_be_read_on_their_grounds_at_every_depth() {
    for name in shipped() {
        for depth in DEPTHS {
            let theme = Theme::load(&name, depth).unwrap();
            for palette in 0..depth::PALETTES.len() {
                for slot in Slot::ALL.iter().filter(|slot| !slot.is_ground()) {
                    let (wanted, grounds) = slot.needs();
                    for ground in grounds {
                        let got = contrast(look(&theme, *slot, palette), look(&theme, *ground, palette));
                        assert!(
                            got >= wanted,
                            "{name}, {}: {slot:?} on {ground:?} has contrast {got:.2}, not {wanted}",
                            depth.word()
                        );
                    }
                }
                let got = contrast(look(&theme, Slot::Text, palette), look(&theme, Slot::Match, palette));
                assert!(got >= 4.5, "{name}, {}: a match has contrast {got:.2}", depth.word());
            }
        }
    }
}

#[test]
fn a_selected_row_is_told_from_its_ground_at_every_depth() {
    for name in shipped() {
        for depth in DEPTHS {
            let theme = Theme::load(&name, depth).unwrap();
            for (style, what) in [
                (theme.selected(true), "selected"),
                (theme.selected(false), "selected, not focused"),
                (theme.matched(), "found"),
            ] {
                let other = style.bg.is_some_and(|ground| ground != theme.color(Slot::Background));
                assert!(
                    other || !style.add_modifier.is_empty(),
                    "{name}, {}: {what} looks like nothing",
                    depth.word()
                );
            }
        }
    }
}

#[test]
fn good_and_bad_differ_wherever_there_are_colours() {
    for name in shipped().iter().filter(|name| *name != "monochrome") {
        for depth in [Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let theme = Theme::load(name, depth).unwrap();
            for (a, b) in [
                (Slot::Good, Slot::Bad),
                (Slot::Added, Slot::Removed),
                (Slot::Write, Slot::Invalid),
            ] {
                assert_ne!(theme.color(a), theme.color(b), "{name}, {}: {a:?}, {b:?}", depth.word());
            }
        }
    }
}

/// What eyes without the cones for red (or green) see, roughly: red and green have one value.
fn without_red_and_green(color: Rgb) -> (f32, f32) {
    let (r, g, b) = (f32::from(color.0), f32::from(color.1), f32::from(color.2));
    (0.4 * r + 0.6 * g, b)
}

#[test]
fn the_colour_blind_theme_does_not_need_red_against_green() {
    let theme = Theme::load("colorblind", Depth::True).unwrap();
    for (a, b) in [
        (Slot::Good, Slot::Bad),
        (Slot::Added, Slot::Removed),
        (Slot::Write, Slot::Invalid),
    ] {
        let (a, b) = (without_red_and_green(theme.rgb(a)), without_red_and_green(theme.rgb(b)));
        assert!((a.1 - b.1).abs() > 100.0, "{a:?} {b:?}: only red and green differ");
    }
}

#[test]
fn a_letter_and_its_ground_never_become_one_colour() {
    let levels = [0u8, 40, 90, 128, 170, 215, 255];
    let of = |n: usize| (levels[n / 49], levels[n / 7 % 7], levels[n % 7]);
    let all: Vec<Rgb> = (0..343).map(of).collect();
    for depth in [Depth::Ansi16, Depth::Ansi256] {
        let theme = Theme::load("dark", depth).unwrap();
        for ground in all.iter().step_by(3) {
            for letter in all.iter().step_by(5) {
                let (ink, back) = theme.pair(*letter, *ground);
                assert_ne!(ink, back, "{letter:?} on {ground:?}, {}", depth.word());
            }
        }
    }
}

#[test]
fn depth_follows_the_environment() {
    assert_eq!(Depth::from_variables("1", "truecolor", "xterm-256color"), Depth::Mono);
    assert_eq!(Depth::from_variables("", "truecolor", "xterm"), Depth::True);
    assert_eq!(Depth::from_variables("", "", "tmux-256color"), Depth::Ansi256);
    assert_eq!(Depth::from_variables("", "", "xterm-kitty"), Depth::True);
    assert_eq!(Depth::from_variables("", "", "linux"), Depth::Ansi16);
    assert_eq!(Depth::from_variables("", "", "dumb"), Depth::Mono);
}

#[test]
fn lesser_depths_keep_the_hue() {
    let dark = Theme::load("dark", Depth::Ansi16).unwrap();
    assert_eq!(dark.fit((0x8f, 0xce, 0x6b)), Color::LightGreen);
    assert_eq!(dark.color(Slot::Good), Color::LightGreen);
    assert_eq!(dark.color(Slot::Bad), Color::LightRed);
    // Blue cannot be read on black.
    assert_eq!(dark.color(Slot::Plan), Color::LightCyan);
    let many = Theme::load("dark", Depth::Ansi256).unwrap();
    assert_eq!(many.fit((0, 0, 0)), Color::Indexed(16));
    assert_eq!(many.fit((255, 255, 255)), Color::Indexed(231));
}

#[test]
fn monochrome_has_no_colour_and_keeps_what_the_terminal_can() {
    let theme = Theme::load("monochrome", Depth::True).unwrap();
    assert_eq!((theme.depth(), theme.terminal()), (Depth::Mono, Depth::True));
    assert!(Slot::ALL.iter().all(|slot| theme.color(*slot) == Color::Reset));
}

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Themes) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let themes = Themes::in_folders([dir.path().to_owned()]);
    (dir, themes)
}

#[test]
fn a_theme_of_ones_own_inherits_and_is_found_by_name_and_path() {
    let (dir, themes) = folder(&[
        ("sea.toml", "inherits = \"light\"\n[colors]\naccent = \"#004488\"\n"),
        (
            "deep.toml",
            "name = \"deep sea\"\ninherits = \"sea.toml\"\n[colors]\ntext = \"#001122\"\n",
        ),
        ("dark.toml", "inherits = \"dark\"\n[colors]\ngood = \"#00ff00\"\n"),
    ]);
    assert!(themes.names().contains(&"sea".to_owned()));
    let sea = themes.load("sea", Depth::True).unwrap();
    assert!(!sea.is_dark());
    assert_eq!(sea.name(), "sea");
    assert_eq!(sea.rgb(Slot::Accent), (0, 0x44, 0x88));
    let deep = themes
        .load(dir.path().join("deep.toml").to_str().unwrap(), Depth::True)
        .unwrap();
    assert_eq!((deep.name(), deep.rgb(Slot::Accent)), ("deep sea", (0, 0x44, 0x88)));
    assert_eq!(deep.rgb(Slot::Text), (0, 0x11, 0x22));
    // One's own `dark` stands before the shipped one, which it inherits from.
    let dark = themes.load("dark", Depth::True).unwrap();
    assert_eq!(dark.rgb(Slot::Good), (0, 255, 0));
    assert_eq!(
        dark.rgb(Slot::Bad),
        Theme::load("dark", Depth::True).unwrap().rgb(Slot::Bad)
    );
    assert_ne!(sea.digest(), deep.digest());
    std::fs::write(dir.path().join("sea.toml"), "inherits = \"light\"\n").unwrap();
    assert_ne!(themes.load("sea", Depth::True).unwrap().digest(), sea.digest());
}

#[test]
fn a_wrong_file_says_where_and_what_to_do() {
    let (_dir, themes) = folder(&[
        ("a.toml", "inherits = \"b\"\n"),
        ("b.toml", "inherits = \"a\"\n"),
        ("key.toml", "inherit = \"dark\"\n"),
        ("slot.toml", "inherits = \"dark\"\n[colors]\n  acent = \"#112233\"\n"),
        ("value.toml", "inherits = \"dark\"\n[colors]\naccent = \"blue\"\n"),
        ("top.toml", "accent = \"#112233\"\n"),
        ("parent.toml", "inherits = \"lihgt\"\n"),
        ("alone.toml", "[colors]\naccent = \"#112233\"\n"),
        ("broken.toml", "inherits = \"dark\"\n[colors\n"),
        ("kind.toml", "dark = \"yes\"\n"),
    ]);
    for (name, place, said) in [
        ("a", "b.toml:1:12: ", "inherits from this theme in turn"),
        ("key", "key.toml:1:1: ", "did you mean `inherits`?"),
        ("slot", "slot.toml:3:3: ", "did you mean `accent`?"),
        ("value", "value.toml:3:10: ", "write it as \"#rrggbb\""),
        ("top", "top.toml:1:1: ", "colours stand under [colors]"),
        ("parent", "parent.toml:1:12: ", "did you mean `light`?"),
        ("alone", "alone.toml:1:1: ", "inherits = \"dark\""),
        ("broken", "broken.toml:2:", ""),
        ("kind", "kind.toml:1:8: ", "`dark` must be true or false"),
    ] {
        let error = themes.load(name, Depth::True).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(said), "{name}: {error}");
    }
}
