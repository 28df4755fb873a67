use super::*;
use proptest::prelude::*;

/// A map of one glyph with the hero in its middle.
fn map(ground: i16) -> Observation {
    let mut seen = Observation::default();
    seen.glyphs.fill(ground);
    seen.blstats[stat::X] = 39;
    seen.blstats[stat::Y] = 10;
    seen
}

const FLOOR: i16 = 2378;
const WALL: i16 = 2360;
const OPEN_DOOR: i16 = 2372;
const BARS: i16 = 2376;
const JACKAL: i16 = 12;

fn at(seen: &mut Observation, column: usize, row: usize, glyph: i16) {
    seen.glyphs[row * COLUMNS + column] = glyph;
}

#[test]
fn directions_are_words_by_the_longer_axis() {
    for (dx, dy, wanted) in [
        (0, 1, "north"),
        (1, 9, "northnortheast"),
        (2, 2, "northeast"),
        (3, 1, "eastnortheast"),
        (1, 0, "east"),
        (5, -1, "eastsoutheast"),
        (4, -4, "southeast"),
        (1, -2, "southsoutheast"),
        (0, -3, "south"),
        (-1, -2, "southsouthwest"),
        (-7, -7, "southwest"),
        (-2, -1, "westsouthwest"),
        (-9, 0, "west"),
        (-2, 1, "westnorthwest"),
        (-1, 1, "northwest"),
        (-1, 2, "northnorthwest"),
    ] {
        assert_eq!(DIRECTIONS[direction(dx, dy)], wanted, "{dx} {dy}");
    }
}

#[test]
fn distances_have_five_names() {
    let name = |dx, dy| DISTANCES[distance(dx, dy)];
    assert_eq!((name(1, -1), name(-2, 0)), ("adjacent", "very near"));
    assert_eq!(
        (name(3, 0), name(5, 1), name(6, 0), name(19, 2), name(20, 0)),
        ("near", "near", "far", "far", "very far")
    );
}

#[test]
fn lines_are_grouped_and_ordered() {
    let mut seen = map(FLOOR);
    assert_eq!(glyphs(&seen), "");
    for (column, row) in [(40, 10), (40, 9), (44, 9), (45, 9), (60, 10)] {
        at(&mut seen, column, row, JACKAL);
    }
    assert_eq!(
        glyphs(&seen),
        "jackal very far east\njackal far eastnortheast\njackal near eastnortheast\njackal adjacent northeast and east"
    );
    at(&mut seen, 43, 9, JACKAL);
    assert!(glyphs(&seen).contains("jackals near eastnortheast"));
}

#[test]
fn where_one_and_many_are_called_the_same_both_lines_tell_of_the_many() {
    let mut seen = map(FLOOR);
    for (column, row) in [(39, 7), (42, 9), (43, 9)] {
        at(&mut seen, column, row, BARS);
    }
    assert_eq!(glyphs(&seen), "bars near eastnortheast\nbars near eastnortheast");
}

#[test]
fn walls_end_a_line_of_sight_and_doors_do_not() {
    let mut seen = map(FLOOR);
    at(&mut seen, 41, 10, OPEN_DOOR);
    at(&mut seen, 42, 10, WALL);
    at(&mut seen, 43, 10, WALL);
    at(&mut seen, 39, 0, WALL);
    assert_eq!(
        glyphs(&seen),
        "vertical wall near east\nvertical open door very near east"
    );
    assert_eq!(glyphs(&map(2359)).lines().count(), 1);
}

#[test]
fn the_cursor_tells_what_it_is_on() {
    let mut seen = map(FLOOR);
    at(&mut seen, 39, 10, JACKAL);
    seen.tty_cursor = [11, 39];
    assert_eq!(cursor(&seen), "Yourself a jackal");
    seen.tty_cursor = [11, 41];
    assert_eq!(cursor(&seen), "very near east ");
    seen.tty_cursor = [0, 5];
    assert_eq!(cursor(&seen), "");
    seen.tty_cursor = [255, 255];
    assert_eq!(cursor(&seen), "");
}

proptest! {
    #[test]
    fn nothing_shown_makes_it_panic(
        cells in proptest::collection::vec(any::<i16>(), CELLS),
        hero in any::<(i64, i64)>(),
        cursor_at in any::<[u8; 2]>(),
    ) {
        let mut seen = Observation::default();
        seen.glyphs.copy_from_slice(&cells);
        seen.blstats[stat::X] = hero.0;
        seen.blstats[stat::Y] = hero.1;
        seen.tty_cursor = cursor_at;
        let text = glyphs(&seen);
        prop_assert!(text.lines().all(|line| !line.is_empty()));
        cursor(&seen);
        hero_name(&seen);
    }

    #[test]
    fn every_thing_on_the_map_is_told_once(cells in proptest::collection::vec((0usize..79, 0usize..21), 1..40)) {
        let mut seen = map(FLOOR);
        for (column, row) in &cells {
            if (*column, *row) != (39, 10) {
                at(&mut seen, *column, *row, JACKAL);
            }
        }
        let told = sightings(&seen).len();
        let there = seen.glyphs.iter().filter(|glyph| **glyph == JACKAL).count();
        prop_assert_eq!(told, there);
    }
}
