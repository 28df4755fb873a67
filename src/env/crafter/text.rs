//! The observation as text, word for word as BALROG's wrapper of Crafter writes it.

use super::map::{Map, Pos, SIDE};
use super::player::Player;
use super::rules::ITEMS;
use super::tiles;

/// Cells seen to the west and east of the player.
pub(super) const REACH_X: i32 = 4;
/// Cells seen to the north and south of the player.
pub(super) const REACH_Y: i32 = 3;

/// What the agent sees: the nearest thing of each name, and what it faces.
pub fn long(map: &Map, player: &Player) -> String {
    let body = map.player();
    scene(
        map.picture(),
        body.pos,
        body.facing,
        player.sleeping,
        player.health() == 0,
    )
}

/// The view from a cell of any map (row by row, 64 wide).
pub fn scene(picture: &[u8], pos: Pos, facing: Pos, sleeping: bool, dead: bool) -> String {
    let mut text = String::with_capacity(384);
    if sleeping {
        text.push_str("You are sleeping, and will not be able take actions until energy is full.\n\n\n\n");
    } else if dead {
        text.push_str("You died.\n\n\n\n");
    }
    let seen = Seen::scan(picture, pos);
    if seen.count == 0 {
        text.push_str("You see nothing away from you.");
    } else {
        text.push_str("You see:");
    }
    for &(tile, place) in &seen.nearest[..seen.count] {
        push_line(&mut text, tile, place, pos);
    }
    text.push_str("\n\nYou face ");
    let front = pos.plus(facing);
    let tile = if is_seen(pos, front) {
        at(picture, front)
    } else {
        tiles::NOTHING
    };
    text.push_str(tiles::name(tile));
    text.push_str(" at your front.");
    text
}

/// The nearest cell of each tile in view, in order of first appearance.
struct Seen {
    nearest: [(u8, Pos); 19],
    count: usize,
}

impl Seen {
    fn scan(picture: &[u8], pos: Pos) -> Self {
        let mut seen = Self {
            nearest: [(0, pos); 19],
            count: 0,
        };
        if !has_view(pos) {
            return seen;
        }
        // Where in `nearest` a tile stands, and how far away it is.
        let mut places = [(u8::MAX, i32::MAX); 19];
        let last = SIDE as i32 - 1;
        for x in pos.x - REACH_X..=(pos.x + REACH_X).min(last) {
            for y in pos.y - REACH_Y..=(pos.y + REACH_Y).min(last) {
                let cell = Pos::new(x, y);
                let tile = at(picture, cell);
                let distance = pos.distance(cell);
                let Some(place) = places.get_mut(usize::from(tile)) else {
                    continue;
                };
                if distance == 0 || distance >= place.1 {
                    continue;
                }
                if place.0 == u8::MAX {
                    place.0 = seen.count as u8;
                    seen.count += 1;
                }
                place.1 = distance;
                seen.nearest[usize::from(place.0)] = (tile, cell);
            }
        }
        seen
    }
}

/// In the first columns and rows the original cuts an empty view out of the map.
fn has_view(pos: Pos) -> bool {
    pos.x >= REACH_X && pos.y >= REACH_Y
}

fn is_seen(pos: Pos, cell: Pos) -> bool {
    let inside = 0..SIDE as i32;
    has_view(pos) && inside.contains(&cell.x) && inside.contains(&cell.y)
}

fn at(picture: &[u8], cell: Pos) -> u8 {
    picture
        .get(cell.y as usize * SIDE + cell.x as usize)
        .copied()
        .unwrap_or(0)
}

fn push_line(text: &mut String, tile: u8, cell: Pos, from: Pos) {
    text.push_str("\n- ");
    text.push_str(tiles::name(tile));
    let distance = from.distance(cell);
    text.push(' ');
    push_number(text, distance as u32);
    text.push_str(if distance == 1 {
        " step to your "
    } else {
        " steps to your "
    });
    let (dx, dy) = (cell.x - from.x, cell.y - from.y);
    text.push_str(match dy.signum() {
        -1 => "north",
        1 => "south",
        _ => "",
    });
    if dx != 0 && dy != 0 {
        text.push('-');
    }
    text.push_str(match dx.signum() {
        -1 => "west",
        1 => "east",
        _ => "",
    });
}

/// How the player is and what it carries.
pub fn short(items: &[u8; 16]) -> String {
    let mut text = String::with_capacity(192);
    text.push_str("Your status:\n");
    for (name, count) in ITEMS.iter().zip(items).take(4) {
        push_item(&mut text, name, *count);
        text.push_str("/9\n");
    }
    text.push('\n');
    let mut empty = true;
    for (name, count) in ITEMS.iter().zip(items).skip(4).filter(|(_, count)| **count > 0) {
        text.push_str(if empty { "Your inventory:\n" } else { "\n" });
        push_item(&mut text, name, *count);
        empty = false;
    }
    if empty {
        text.push_str("You have nothing in your inventory.");
    }
    text
}

fn push_item(text: &mut String, name: &str, count: u8) {
    text.push_str("- ");
    text.push_str(name);
    text.push_str(": ");
    push_number(text, u32::from(count));
}

fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}
