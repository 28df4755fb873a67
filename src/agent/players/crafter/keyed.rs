//! Notes for a scaffold that tells position, trail and changes by itself and keeps a map of one line a
//! cell: only what is new is written.

use super::log::{Pen, events, look, places_gone, places_new};
use super::notes::{self, Memory};
use super::prompt::{Cell, Prompt};
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
        match prompt.told() {
            "" => Self::recall(results),
            told => Self::recall(&format!("{told}\n{results}")),
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
        let mut mark = |cell: Cell, what: &str| pen.write("UPSERT", &[&format!("{},{}", cell.0, cell.1), what]);
        for place in places_gone(&memory, pos, now) {
            mark(place.pos, "gone");
        }
        for place in places_new(prompt.step, &memory, pos, now) {
            mark(place.pos, tiles::name(place.tile));
        }
    }
    pen.text.push_str("<|DONE|>");
    pen.text
}
