//! The player's notes: how they are written into its memory files and read back from results.
//!
//! Every kind of line is recognised by its own form, so that it does not matter how results are
//! laid out around it.

use std::fmt::Write;

use super::prompt::{Cell, Seen, tile};
use crate::env::crafter::{ACHIEVEMENTS, ITEMS, tiles};

/// Where it is and what stands around, a line each time that changes.
pub(super) const MAP: &str = "map_notes";
/// What it did and what it had then, a line for each action of note.
pub(super) const ACTIONS: &str = "actions_log";
/// What it has achieved.
pub(super) const PROGRESS: &str = "crafting_progress.txt";
/// Places worth going back to.
pub(super) const PLACES: &str = "landmarks.txt";
/// Parts of the map it has been to.
pub(super) const STRATEGY: &str = "strategy.txt";
/// The map of a scaffold that keeps one line a cell.
pub(super) const KEYED_MAP: &str = "map.txt";
/// What it has achieved, in a scaffold that keeps track of places itself.
pub(super) const SHORT_PROGRESS: &str = "progress.txt";
/// What hurt it.
pub(super) const SURVIVAL: &str = "survival_log.txt";

/// Steps after which a growing file is left alone and the next one begun, so that none meets the
/// limit of its size.
const BLOCK: u32 = 400;

/// The file of a growing kind ([`MAP`], [`ACTIONS`]) that notes of a step go to.
pub(super) fn file_at(kind: &str, step: u32) -> String {
    match step / BLOCK {
        0 => format!("{kind}.txt"),
        n => format!("{kind}_{}.txt", n + 1),
    }
}

/// Whether a step begins a file: then everything is noted anew.
pub(super) fn is_new_file(step: u32) -> bool {
    step.is_multiple_of(BLOCK)
}

/// Files of a growing kind in which the notes before a step are, `lines` of them, the older first.
pub(super) fn files_before(kind: &str, step: u32, lines: u32) -> Vec<String> {
    let mut files = Vec::new();
    if step >= BLOCK && step % BLOCK <= lines {
        files.push(file_at(kind, step - step % BLOCK - 1));
    }
    if !is_new_file(step) || step == 0 {
        files.push(file_at(kind, step));
    }
    files
}

/// Everything that results told.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// In the order in which they were written.
    pub(super) map: Vec<MapNote>,
    pub(super) last_action: Option<ActionNote>,
    /// One bit an achievement.
    pub(super) achieved: u32,
    pub(super) places: Vec<Place>,
    pub(super) regions: Vec<Cell>,
}

/// `[12] (3,-2) facing north=tree: tree 1N, water 4NE`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MapNote {
    pub(super) step: u32,
    pub(super) pos: Cell,
    pub(super) asleep: bool,
    pub(super) facing: Cell,
    pub(super) front: u8,
    /// Creatures excepted.
    pub(super) seen: Vec<Seen>,
}

/// `step 12 Do: health 9 food 8 drink 9 energy 9; wood 2, sapling 1`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ActionNote {
    pub(super) step: u32,
    pub(super) items: [u8; 16],
}

/// `tree seen at (5,-3) [12]`, or `seen near` where the cell is not known exactly
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) tile: u8,
    pub(super) pos: Cell,
    pub(super) is_exact: bool,
    pub(super) step: u32,
}

impl Memory {
    /// Reads results.
    pub(super) fn recall(results: &str) -> Self {
        let mut memory = Self::default();
        for line in results.lines() {
            if let Some(at) = line.find("achieved ") {
                let name = line[at + 9..].split(' ').next().unwrap_or("");
                if let Some(n) = ACHIEVEMENTS.iter().position(|known| *known == name) {
                    memory.achieved |= 1 << n;
                }
            } else if let Some((left, right)) = line.split_once(" seen at (") {
                memory.add_place(left, right, true);
            } else if let Some((left, right)) = line.split_once(" seen near (") {
                memory.add_place(left, right, false);
            } else if let Some((left, right)) = line.split_once(" gone from (") {
                let subject = left.rsplit(' ').next().unwrap_or("");
                if let Some((pos, _)) = read_cell(right) {
                    memory.forget(tile(subject), pos);
                }
            } else if let Some(note) = ActionNote::read(line) {
                memory.last_action = Some(note);
            } else if let Some(note) = MapNote::read(line) {
                // What is told of a step last is told in full.
                memory.map.retain(|other| other.step != note.step);
                memory.map.push(note);
            } else if let Some(place) = read_keyed(line) {
                memory.hold(place);
            }
        }
        memory
    }

    fn add_place(&mut self, left: &str, right: &str, is_exact: bool) {
        let subject = left.rsplit(' ').next().unwrap_or("");
        let Some((pos, rest)) = read_cell(right) else { return };
        if subject == "region" {
            self.regions.push(pos);
            return;
        }
        let place = Place {
            tile: tile(subject),
            pos,
            is_exact,
            step: read_step(rest).unwrap_or(0),
        };
        self.hold(place);
    }

    /// What is known exactly takes the place of guesses.
    fn hold(&mut self, place: Place) {
        self.places.retain(|other| {
            let is_same = other.tile == place.tile && (other.pos == place.pos || (place.is_exact && !other.is_exact));
            !is_same || distance(other.pos, place.pos) > 3
        });
        self.places.push(place);
    }

    fn forget(&mut self, tile: u8, pos: Cell) {
        self.places.retain(|place| place.tile != tile || place.pos != pos);
    }

    /// Where the player is as far as its notes tell.
    pub(super) fn position(&self) -> Cell {
        self.map.last().map_or((0, 0), |note| note.pos)
    }

    /// Whether an achievement was noted.
    pub(super) fn has(&self, achievement: &str) -> bool {
        ACHIEVEMENTS
            .iter()
            .position(|known| *known == achievement)
            .is_some_and(|n| self.achieved & (1 << n) != 0)
    }
}

impl MapNote {
    pub(super) fn write(&self) -> String {
        let mut text = format!("[{}] ({},{}) ", self.step, self.pos.0, self.pos.1);
        if self.asleep {
            text.push_str("asleep ");
        }
        text.push_str("facing ");
        text.push_str(direction_name(self.facing));
        text.push('=');
        text.push_str(tiles::name(self.front));
        text.push_str(": ");
        for (n, seen) in self.seen.iter().enumerate() {
            if n > 0 {
                text.push_str(", ");
            }
            let _ = write!(text, "{} {}", tiles::name(seen.tile), seen.distance);
            text.push_str(match seen.toward.1 {
                -1 => "N",
                1 => "S",
                _ => "",
            });
            text.push_str(match seen.toward.0 {
                -1 => "W",
                1 => "E",
                _ => "",
            });
        }
        text
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let at = line.find("] (")?;
        let step = line[..at].rsplit('[').next()?.parse().ok()?;
        let (pos, rest) = read_cell(&line[at + 3..])?;
        let rest = rest.strip_prefix(' ')?;
        let awake = rest.strip_prefix("asleep ");
        let (facing, rest) = awake.unwrap_or(rest).strip_prefix("facing ")?.split_once('=')?;
        let (front, list) = rest.split_once(':')?;
        Some(Self {
            step,
            pos,
            asleep: awake.is_some(),
            facing: direction(facing)?,
            front: tile(front),
            seen: list
                .split(',')
                .filter_map(|item| read_short_seen(item.trim()))
                .collect(),
        })
    }
}

/// Reads `tree 4NE`.
fn read_short_seen(item: &str) -> Option<Seen> {
    let (name, place) = item.split_once(' ')?;
    let letters = place.find(|c: char| !c.is_ascii_digit())?;
    let (digits, letters) = place.split_at(letters);
    let part =
        |positive: char, negative: char| i32::from(letters.contains(positive)) - i32::from(letters.contains(negative));
    Some(Seen {
        tile: tile(name),
        distance: digits.parse().ok()?,
        toward: (part('E', 'W'), part('S', 'N')),
    })
}

impl ActionNote {
    pub(super) fn write(step: u32, action: &str, items: &[u8; 16], remark: &str) -> String {
        let mut text = format!("step {step} {action}:");
        for (name, count) in ITEMS.iter().zip(items).take(4) {
            let _ = write!(text, " {name} {count}");
        }
        let mut mark = ';';
        for (name, count) in ITEMS.iter().zip(items).skip(4).filter(|(_, count)| **count > 0) {
            let _ = write!(text, "{mark} {name} {count}");
            mark = ',';
        }
        if !remark.is_empty() {
            text.push_str(" -- ");
            text.push_str(remark);
        }
        text
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let (head, tail) = line.split_once(": health ")?;
        let at = head.rfind("step ")?;
        let step = head[at + 5..].split(' ').next()?.parse().ok()?;
        let mut items = [0; 16];
        let (tail, _) = tail.split_once(" -- ").unwrap_or((tail, ""));
        let mut words = tail.split([' ', ';', ',']).filter(|word| !word.is_empty());
        items[0] = words.next()?.parse().ok()?;
        while let (Some(name), Some(count)) = (words.next(), words.next()) {
            let item = ITEMS.iter().position(|known| *known == name)?;
            items[item] = count.parse().ok()?;
        }
        Some(Self { step, items })
    }
}

impl Place {
    pub(super) fn write(&self) -> String {
        format!(
            "{} seen at ({},{}) [{}]",
            tiles::name(self.tile),
            self.pos.0,
            self.pos.1,
            self.step
        )
    }

    pub(super) fn write_gone(&self, step: u32) -> String {
        format!(
            "{} gone from ({},{}) [{step}]",
            tiles::name(self.tile),
            self.pos.0,
            self.pos.1
        )
    }
}

/// Steps between two cells.
pub(super) fn distance(a: Cell, b: Cell) -> i32 {
    (a.0 - b.0).abs() + (a.1 - b.1).abs()
}

/// The eighth of the map a cell lies in, in both directions.
pub(super) fn region_of(pos: Cell) -> Cell {
    (pos.0.div_euclid(8), pos.1.div_euclid(8))
}

/// Reads `3,-2) rest`.
fn read_cell(text: &str) -> Option<(Cell, &str)> {
    let (x, rest) = text.split_once(',')?;
    let (y, rest) = rest.split_once(')')?;
    Some(((x.parse().ok()?, y.parse().ok()?), rest))
}

/// Reads `3,-2 tree`, as it stands in a keyed map and in what operations show of it.
fn read_keyed(line: &str) -> Option<Place> {
    let line = line.trim_start();
    // Operations may put the line's number before it.
    let line = match line.split_once(": ") {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    };
    let (cell, what) = line.split_once(' ')?;
    let (x, y) = cell.split_once(',')?;
    let place = Place {
        tile: tile(what.trim()),
        pos: (x.parse().ok()?, y.parse().ok()?),
        is_exact: true,
        step: 0,
    };
    (place.tile != tiles::NOTHING).then_some(place)
}

/// Reads ` [12]`.
fn read_step(text: &str) -> Option<u32> {
    text.trim_start().strip_prefix('[')?.split(']').next()?.parse().ok()
}

fn direction_name(step: Cell) -> &'static str {
    match step {
        (0, -1) => "north",
        (1, 0) => "east",
        (-1, 0) => "west",
        _ => "south",
    }
}

fn direction(name: &str) -> Option<Cell> {
    match name {
        "north" => Some((0, -1)),
        "east" => Some((1, 0)),
        "west" => Some((-1, 0)),
        "south" => Some((0, 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let seen = |tile, distance, toward| Seen { tile, distance, toward };
        let map = MapNote {
            step: 12,
            pos: (3, -2),
            asleep: true,
            facing: (0, -1),
            front: tiles::TREE,
            seen: vec![seen(tiles::TREE, 1, (0, -1)), seen(tiles::WATER, 4, (1, -1))],
        };
        let mut items = [0; 16];
        (items[0], items[1], items[5], items[10]) = (9, 7, 2, 1);
        let action = ActionNote { step: 12, items };
        let place = Place {
            tile: tiles::WATER,
            pos: (-5, 3),
            is_exact: true,
            step: 12,
        };
        let gone = Place {
            tile: tiles::IRON,
            is_exact: false,
            ..place
        };
        let text = format!(
            "== TAIL ==\n 3: {}\n{}\n{}\n{}\n{}\nachieved place_table [4] at (1,1)\nregion seen at (1,-2) [3]\n",
            map.write(),
            ActionNote::write(12, "Do", &items, "wood +1"),
            place.write(),
            gone.write(),
            gone.write_gone(13),
        );
        let memory = Memory::recall(&text);
        assert_eq!(memory.map, [map]);
        assert_eq!(memory.last_action, Some(action));
        assert_eq!(memory.places, [place]);
        assert_eq!(memory.regions, [(1, -2)]);
        assert!(memory.has("place_table") && !memory.has("wake_up"));
    }

    #[test]
    fn other_text_is_no_note() {
        let memory =
            Memory::recall("[FILE IS EMPTY]\n] (\nstep x: health y\n seen at (a,b)\n(1,2) [3]\nachieved nothing");
        assert!(memory.map.is_empty() && memory.last_action.is_none() && memory.places.is_empty());
        assert_eq!(memory.achieved, 0);
    }
}
