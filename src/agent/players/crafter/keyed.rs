//! Notes for a scaffold that tells position, trail and changes by itself and keeps a map of one line a
//! cell: only what is new is written.

use super::log::{Pen, events, likely_cell, look, spacing};
use super::notes::{self, Memory, Place, distance};
use super::prompt::{Cell, Observation, Prompt, is_creature, is_ground};
use crate::env::crafter::tiles;

/// The first turn of both phases: look up what is known.
pub(super) fn consult(text: &mut String) {
    look(text, "TAIL", &[notes::KEYED_MAP, "160"]);
    look(text, "READ", &[notes::SHORT_PROGRESS]);
    look(text, "TAIL", &[notes::STRATEGY, "64"]);
}

impl Memory {
    /// Everything the chat tells: what the scaffold says itself, and what operations gave.
    pub(super) fn of(prompt: &Prompt<'_>) -> Self {
        let results = prompt.results.unwrap_or("");
        match prompt.tracked() {
            Some(told) => Self::recall(&format!("{told}\n{results}")),
            None => Self::recall(results),
        }
    }
}

/// The second turn of LOG: write what is new.
pub(super) fn record(prompt: &Prompt<'_>) -> String {
    let memory = Memory::of(prompt);
    let mut pen = Pen::default();
    let now = &prompt.observation;
    if now.is_there {
        let action = prompt.previous.unwrap_or("Noop");
        let (before, pos, facing) = match memory.map.as_slice() {
            [.., before, note] => (Some(before), note.pos, note.facing),
            [note] => (None, note.pos, note.facing),
            [] => (None, (0, 0), (0, 1)),
        };
        for event in events(action, &memory, now, before, facing) {
            if !memory.has(event) {
                pen.append(notes::SHORT_PROGRESS, &format!("achieved {event} [{}]", prompt.step));
            }
        }
        let region = notes::region_of(pos);
        if !memory.regions.contains(&region) {
            pen.append(notes::STRATEGY, &format!("region seen at ({},{})", region.0, region.1));
        }
        note_cells(&mut pen, &memory, pos, facing, now);
    }
    pen.text.push_str("<|DONE|>");
    pen.text
}

fn note_cells(pen: &mut Pen, memory: &Memory, pos: Cell, facing: Cell, now: &Observation) {
    let known = |cell: Cell| memory.cells.iter().rev().find(|known| known.0 == cell).map(|known| known.1);
    let mut mark = |cell: Cell, what: &str| pen.write("UPSERT", &[&format!("{},{}", cell.0, cell.1), what]);
    let in_front = (pos.0 + facing.0, pos.1 + facing.1);
    // What stood in front and is something else now.
    if now.front != tiles::NOTHING && !is_creature(now.front) {
        match known(in_front) {
            Some(tile) if tile != now.front && is_ground(now.front) => mark(in_front, "gone"),
            Some(tile) if tile != now.front => mark(in_front, tiles::name(now.front)),
            None if !is_ground(now.front) => mark(in_front, tiles::name(now.front)),
            _ => {}
        }
    }
    for place in &memory.places {
        let (dx, dy) = ((place.pos.0 - pos.0).abs(), (place.pos.1 - pos.1).abs());
        let nearest = now.distance(place.tile);
        let is_gone = if place.is_exact {
            place.pos != in_front && dx <= 4 && dy <= 3 && nearest > dx + dy
        } else {
            dx + dy <= 2 && nearest > 4
        };
        if is_gone {
            mark(place.pos, "gone");
        }
    }
    for seen in now.seen.iter().filter(|seen| !is_ground(seen.tile)) {
        let cell = likely_cell(pos, seen);
        let is_exact = seen.is_straight() && !is_creature(seen.tile);
        if is_exact && cell != in_front && known(cell) != Some(seen.tile) {
            mark(cell, tiles::name(seen.tile));
        }
        let Some(spacing) = spacing(seen.tile).filter(|_| !is_exact) else { continue };
        let is_known = memory
            .places
            .iter()
            .any(|other: &Place| other.tile == seen.tile && distance(other.pos, cell) <= spacing);
        if !is_known && known(cell).is_none() {
            mark(cell, &format!("{}?", tiles::name(seen.tile)));
        }
    }
}
