//! What stands around the hero, in words.

use super::names::{NAMES, Told};
use crate::env::nethack::observation::{CELLS, COLUMNS, Observation, ROWS, stat};

/// Directions as columns and rows, in the order in which lines of sight are followed: east first, then clockwise.
const LINES: [(i32, i32); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];
/// Cells a line of sight reaches.
const REACH: i32 = 9;

/// Directions, clockwise from north.
const DIRECTIONS: [&str; 16] = [
    "north",
    "northnortheast",
    "northeast",
    "eastnortheast",
    "east",
    "eastsoutheast",
    "southeast",
    "southsoutheast",
    "south",
    "southsouthwest",
    "southwest",
    "westsouthwest",
    "west",
    "westnorthwest",
    "northwest",
    "northnorthwest",
];
/// Distances, farthest first.
const DISTANCES: [&str; 5] = ["very far", "far", "near", "very near", "adjacent"];

/// Number of the distance in [`DISTANCES`].
fn distance(dx: i32, dy: i32) -> usize {
    match dx.abs().max(dy.abs()) {
        ..=1 => 4,
        2 => 3,
        3..=5 => 2,
        6..=19 => 1,
        _ => 0,
    }
}

/// Number of the direction in [`DIRECTIONS`]; `dy` grows northwards. Off the straight and the diagonal lines it is
/// the longer axis's word before the diagonal's, whatever the angle.
fn direction(dx: i32, dy: i32) -> usize {
    let (north, east) = (dy > 0, dx > 0);
    if dx == 0 {
        return if north { 0 } else { 8 };
    }
    if dy == 0 {
        return if east { 4 } else { 12 };
    }
    let diagonal = match (north, east) {
        (true, true) => 2,
        (false, true) => 6,
        (false, false) => 10,
        (true, false) => 14,
    };
    if dx.abs() == dy.abs() {
        return diagonal;
    }
    // East and west follow northeast and southwest, and precede southeast and northwest.
    let level = dx.abs() > dy.abs();
    if level == (north == east) {
        diagonal + 1
    } else {
        diagonal - 1
    }
}

/// The hero's cell; off the map when the game is not under way.
fn hero(seen: &Observation) -> (i32, i32) {
    let number = |index: usize| i32::try_from(seen.blstats[index]).unwrap_or(i32::MAX / 4);
    (number(stat::X), number(stat::Y))
}

/// Something seen: its name's number, its distance and direction.
type Seen = (usize, usize, u16);

/// Everything that is told, in the order it is told in.
fn sightings(seen: &Observation) -> Vec<Seen> {
    let (x, y) = hero(seen);
    let mut found: Vec<Seen> = Vec::with_capacity(64);
    let mut add = |number: u16, column: i32, row: i32| {
        let (dx, dy) = (column.saturating_sub(x), y.saturating_sub(row));
        found.push((distance(dx, dy), direction(dx, dy), number));
    };
    for (index, glyph) in seen.glyphs.iter().enumerate() {
        let (column, row) = ((index % COLUMNS) as i32, (index / COLUMNS) as i32);
        match NAMES.of(*glyph) {
            Some((number, Told::Always)) if (column, row) != (x, y) => add(number, column, row),
            _ => {}
        }
    }
    for (right, down) in LINES {
        for step in 1..=REACH {
            let (column, row) = (x.saturating_add(right * step), y.saturating_add(down * step));
            let Some(cell) = cell(column, row) else { break };
            match NAMES.of(seen.glyphs[cell]) {
                Some((number, Told::InLine)) => add(number, column, row),
                Some((number, Told::EndsLine)) => {
                    add(number, column, row);
                    break;
                }
                _ => {}
            }
        }
    }
    found.sort_by_key(|(distance, direction, _)| (*distance, *direction));
    found
}

/// Number of a cell on the map.
fn cell(column: i32, row: i32) -> Option<usize> {
    let (column, row) = (usize::try_from(column).ok()?, usize::try_from(row).ok()?);
    (column < COLUMNS && row < ROWS).then_some(row * COLUMNS + column)
}

/// Things of one name at one distance.
struct Group {
    name: u16,
    distance: usize,
    /// Each direction with how many are there, clockwise from north.
    directions: Vec<(usize, u32)>,
}

/// Everything around the hero, a line for each name and distance.
pub(in crate::env) fn glyphs(seen: &Observation) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for (distance, direction, name) in sightings(seen) {
        // Few groups share a distance, and those come last.
        let at = groups
            .iter()
            .rposition(|group| group.name == name && group.distance == distance);
        let group = match at {
            Some(at) => &mut groups[at],
            None => {
                groups.push(Group {
                    name,
                    distance,
                    directions: Vec::new(),
                });
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        match group.directions.last_mut() {
            Some((last, count)) if *last == direction => *count += 1,
            _ => group.directions.push((direction, 1)),
        }
    }
    let mut text = String::new();
    for group in &groups {
        let Some(name) = NAMES.name(group.name) else { continue };
        let single: Vec<usize> = directions(group, |count| count == 1);
        let several: Vec<usize> = directions(group, |count| count > 1);
        // Upstream keeps a line under its name: where one and many are called the same, the later line's directions
        // stand in both.
        let first = if name.one == name.many && !several.is_empty() {
            &several
        } else {
            &single
        };
        if !single.is_empty() {
            line(&mut text, &name.one, group.distance, first);
        }
        if !several.is_empty() {
            line(&mut text, &name.many, group.distance, &several);
        }
    }
    text
}

fn directions(group: &Group, keep: impl Fn(u32) -> bool) -> Vec<usize> {
    group
        .directions
        .iter()
        .filter(|(_, count)| keep(*count))
        .map(|(direction, _)| *direction)
        .collect()
}

fn line(text: &mut String, name: &str, distance: usize, directions: &[usize]) {
    if !text.is_empty() {
        text.push('\n');
    }
    for part in [name, " ", DISTANCES[distance], " "] {
        text.push_str(part);
    }
    let last = directions.len() - 1;
    for (index, direction) in directions.iter().enumerate() {
        text.push_str(match index {
            0 => "",
            _ if index < last => ", ",
            1 => " and ",
            _ => ", and ",
        });
        text.push_str(DIRECTIONS[*direction]);
    }
}

/// What the cursor is on; empty where that is not on the map.
pub(in crate::env) fn cursor(seen: &Observation) -> String {
    let [row, column] = seen.tty_cursor.map(i32::from);
    let row = row - 1;
    let index = column + row * COLUMNS as i32;
    let (x, y) = hero(seen);
    let (dx, dy) = (column.saturating_sub(x), y.saturating_sub(row));
    if index < 1 || index >= CELLS as i32 || dx.abs() > COLUMNS as i32 || dy.abs() > ROWS as i32 {
        return String::new();
    }
    let name = NAMES.full(seen.glyphs[index as usize]);
    if (dx, dy) == (0, 0) {
        format!("Yourself a {name}")
    } else {
        format!(
            "{} {} {name}",
            DISTANCES[distance(dx, dy)],
            DIRECTIONS[direction(dx, dy)]
        )
    }
}

/// What the hero is called where it stands, such as `valkyrie`; empty if that is not seen.
pub(in crate::env) fn hero_name(seen: &Observation) -> &'static str {
    let (x, y) = hero(seen);
    cell(x, y).map_or("", |cell| NAMES.full(seen.glyphs[cell]))
}

#[cfg(test)]
#[path = "glyphs_tests.rs"]
mod tests;
