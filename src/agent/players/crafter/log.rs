//! LOG: what the last action did, worked out from the notes before it and the observation after it.

use super::atlas::BLIND;
use super::notes::{self, ActionNote, MapNote, Memory, Place, distance};
use super::prompt::{Cell, Observation, Prompt, Seen, is_creature, is_ground, step_of};
use crate::env::crafter::tiles;

/// Items by number that LOG looks at.
const HEALTH: usize = 0;
const FOOD: usize = 1;
const DRINK: usize = 2;
const ENERGY: usize = 3;

/// The first turn: look up the last notes.
pub(super) fn consult(prompt: &Prompt<'_>) -> String {
    let mut text = String::from("What did I know before?\n");
    if prompt.tracked().is_some() {
        super::keyed::consult(&mut text);
        return text;
    }
    for kind in [notes::MAP, notes::ACTIONS] {
        for file in notes::files_before(kind, prompt.step, 0) {
            look(&mut text, "TAIL", &[&file, "1"]);
        }
    }
    recollect(&mut text, prompt);
    text
}

/// Looks up what both phases need: achievements, places, regions. What the prompt shows is not asked for again.
pub(super) fn recollect(text: &mut String, prompt: &Prompt<'_>) {
    if !prompt.shows(notes::PROGRESS) {
        look(text, "READ", &[notes::PROGRESS]);
    }
    if prompt.lists(notes::PLACES) && !prompt.shows(notes::PLACES) {
        look(text, "TAIL", &[notes::PLACES, "40"]);
    }
    if !prompt.shows(notes::STRATEGY) {
        look(text, "TAIL", &[notes::STRATEGY, "64"]);
    }
}

pub(super) fn look(text: &mut String, op: &str, args: &[&str]) {
    text.push_str("<|");
    text.push_str(op);
    text.push_str("|>");
    text.push_str(&args.join("|"));
    text.push_str("<|END|>\n");
}

/// Operations of an answer; what scaffolds usually allow.
const MOST: usize = 8;

/// Writes notes into files, the important ones first.
#[derive(Default)]
pub(super) struct Pen {
    pub(super) text: String,
    written: usize,
}

impl Pen {
    pub(super) fn append(&mut self, file: &str, line: &str) {
        self.write("APPEND", &[file, line]);
    }

    pub(super) fn write(&mut self, op: &str, args: &[&str]) {
        if self.written < MOST {
            self.written += 1;
            look(&mut self.text, op, args);
        }
    }
}

/// The second turn: append what happened.
pub(super) fn record(prompt: &Prompt<'_>) -> String {
    if prompt.tracked().is_some() {
        return super::keyed::record(prompt);
    }
    let memory = Memory::of(prompt);
    let mut pen = Pen::default();
    let now = &prompt.observation;
    let step = prompt.step;
    let action = prompt.previous.unwrap_or("Noop");
    if now.is_there {
        let before = memory.map.last();
        let note = map_note(step, action, before, now);
        let moved = before.is_some_and(|before| before.pos != note.pos);
        let events = events(action, &memory, now, before, note.facing);
        let remark = remark(action, moved, now, &events);
        let is_new = notes::is_new_file(step);
        if is_new || before.is_none_or(|before| MapNote { step, ..before.clone() } != note) {
            pen.append(&notes::file_at(notes::MAP, step), &note.write());
        }
        // A step without any other consequence is told by the map notes.
        let is_same = memory.last_action.as_ref().is_some_and(|last| last.items == now.items);
        let is_plain = is_same && (moved || prompt.wants_only_news());
        if is_new || !is_plain {
            let line = ActionNote::write(step.saturating_sub(1), action, &now.items, &remark);
            pen.append(&notes::file_at(notes::ACTIONS, step), &line);
        }
        for event in events.iter().filter(|event| !memory.has(event)) {
            pen.append(
                notes::PROGRESS,
                &format!("achieved {event} [{step}] at ({},{})", note.pos.0, note.pos.1),
            );
        }
        note_dangers(&mut pen, step, &memory, now);
        note_places(&mut pen, step, &memory, &note, now);
    }
    pen.text.push_str("<|DONE|>");
    pen.text
}

/// Where the player is now, by dead reckoning.
fn map_note(step: u32, action: &str, before: Option<&MapNote>, now: &Observation) -> MapNote {
    let mut note = MapNote {
        step,
        pos: before.map_or((0, 0), |before| before.pos),
        asleep: now.asleep,
        facing: before.map_or((0, 1), |before| before.facing),
        front: now.front,
        seen: now
            .seen
            .iter()
            .filter(|seen| !is_creature(seen.tile))
            .copied()
            .collect(),
    };
    let slept = now.asleep || before.is_some_and(|before| before.asleep);
    if let Some(toward) = step_of(action).filter(|_| !slept) {
        note.facing = toward;
        if has_moved(toward, before, now, &note.seen) {
            note.pos = (note.pos.0 + toward.0, note.pos.1 + toward.1);
        }
        if let Some(before) = before {
            note.pos = corrected(note.pos, toward, before.seen.is_empty(), now.is_blind());
        }
    }
    note
}

/// The edges where sight ends are at known places: crossing one corrects the reckoning.
fn corrected(pos: Cell, toward: Cell, was_blind: bool, is_blind: bool) -> Cell {
    match (was_blind, is_blind, toward) {
        (false, true, (-1, 0)) => (BLIND.0, pos.1),
        (false, true, (0, -1)) => (pos.0, BLIND.1),
        (true, false, (1, 0)) => (BLIND.0 + 1, pos.1),
        (true, false, (0, 1)) => (pos.0, BLIND.1 + 1),
        _ => pos,
    }
}

/// Whether a move changed the position. A free cell in front says yes: what blocks a move stays in
/// front. Else the view tells: it changes with the position and hardly without.
fn has_moved(toward: Cell, before: Option<&MapNote>, now: &Observation, seen: &[Seen]) -> bool {
    if is_ground(now.front) {
        return true;
    }
    let Some(before) = before else { return false };
    if now.is_blind() || before.seen.is_empty() {
        return true;
    }
    if before.facing == toward && !is_ground(before.front) && !is_creature(before.front) {
        return false;
    }
    let solid = |list: &[Seen]| {
        list.iter()
            .filter(|seen| !is_ground(seen.tile))
            .copied()
            .collect::<Vec<_>>()
    };
    if solid(&before.seen) != solid(seen) {
        return true;
    }
    // The nearest ground shifts with the position, and with creatures that stand on it.
    let crowded = now.seen.iter().any(|seen| is_creature(seen.tile) && seen.distance <= 3);
    !crowded && before.seen != seen
}

/// What was achieved by the action, as far as can be told.
pub(super) fn events(
    action: &str,
    memory: &Memory,
    now: &Observation,
    before: Option<&MapNote>,
    facing: Cell,
) -> Vec<&'static str> {
    let Some(last) = &memory.last_action else {
        return Vec::new();
    };
    let mut events = Vec::new();
    let gained = |item: usize| now.items[item] > last.items[item];
    let front = before
        .filter(|before| before.facing == facing)
        .map_or(0, |before| before.front);
    let mut note = |happened: bool, name: &'static str| {
        if happened {
            events.push(name);
        }
    };
    match action {
        "Do" => {
            note(gained(DRINK), "collect_drink");
            note(gained(FOOD) && front == tiles::COW, "eat_cow");
            note(gained(FOOD) && front == tiles::PLANT, "eat_plant");
            note(gained(4), "collect_sapling");
            note(gained(5), "collect_wood");
            note(gained(6), "collect_stone");
            note(gained(7), "collect_coal");
            note(gained(8), "collect_iron");
            note(gained(9), "collect_diamond");
            let beaten = |kind| front == kind && now.front != kind && now.distance(kind) > 2;
            note(beaten(tiles::ZOMBIE), "defeat_zombie");
            note(beaten(tiles::SKELETON), "defeat_skeleton");
        }
        "Place Stone" => note(now.items[6] < last.items[6], "place_stone"),
        "Place Table" => note(now.items[5] < last.items[5], "place_table"),
        "Place Furnace" => note(now.items[6] < last.items[6], "place_furnace"),
        "Place Plant" => note(now.items[4] < last.items[4], "place_plant"),
        "Make Wood Pickaxe" => note(gained(10), "make_wood_pickaxe"),
        "Make Stone Pickaxe" => note(gained(11), "make_stone_pickaxe"),
        "Make Iron Pickaxe" => note(gained(12), "make_iron_pickaxe"),
        "Make Wood Sword" => note(gained(13), "make_wood_sword"),
        "Make Stone Sword" => note(gained(14), "make_stone_sword"),
        "Make Iron Sword" => note(gained(15), "make_iron_sword"),
        _ => {}
    }
    let woke = before.is_some_and(|before| before.asleep) && !now.asleep;
    note(woke && now.items[ENERGY] >= 9, "wake_up");
    events
}

fn remark(action: &str, moved: bool, now: &Observation, events: &[&str]) -> String {
    if now.asleep {
        return "asleep".into();
    }
    if step_of(action).is_some() {
        return if moved {
            "moved".into()
        } else {
            format!("stopped by {}", tiles::name(now.front))
        };
    }
    events.join(", ")
}

/// How far apart two places of a kind are at least to be noted both; `None` for what is not noted.
fn spacing(tile: u8) -> Option<i32> {
    match tile {
        tiles::COAL | tiles::IRON | tiles::DIAMOND | tiles::TABLE | tiles::FURNACE => Some(2),
        tiles::TREE => Some(4),
        tiles::WATER | tiles::COW => Some(7),
        tiles::STONE => Some(8),
        _ => None,
    }
}

fn note_places(pen: &mut Pen, step: u32, memory: &Memory, note: &MapNote, now: &Observation) {
    let region = notes::region_of(note.pos);
    if !memory.regions.contains(&region) {
        pen.append(
            notes::STRATEGY,
            &format!("region seen at ({},{}) [{step}]", region.0, region.1),
        );
    }
    for place in places_gone(memory, note.pos, now) {
        pen.append(notes::PLACES, &place.write_gone(step));
    }
    for place in places_new(step, memory, note.pos, now) {
        pen.append(notes::PLACES, &place.write());
    }
}

/// Known places that are in sight and not there any more.
pub(super) fn places_gone(memory: &Memory, pos: Cell, now: &Observation) -> Vec<Place> {
    let is_gone = |place: &&Place| {
        let (dx, dy) = ((place.pos.0 - pos.0).abs(), (place.pos.1 - pos.1).abs());
        let nearest = now.distance(place.tile);
        if place.is_exact {
            dx <= 4 && dy <= 3 && nearest > dx + dy
        } else {
            dx + dy <= 2 && nearest > 4
        }
    };
    memory.places.iter().filter(is_gone).copied().collect()
}

/// Places in sight that are worth noting and not known yet.
pub(super) fn places_new(step: u32, memory: &Memory, pos: Cell, now: &Observation) -> Vec<Place> {
    let mut new = Vec::new();
    for seen in &now.seen {
        let Some(spacing) = spacing(seen.tile) else { continue };
        let place = Place {
            tile: seen.tile,
            pos: likely_cell(pos, seen),
            is_exact: seen.is_straight() && !is_creature(seen.tile),
            step,
        };
        let known = memory.places.iter().any(|other| {
            let apart = if place.is_exact == other.is_exact { spacing } else { 3 };
            let is_better = other.is_exact || !place.is_exact;
            other.tile == place.tile && is_better && distance(other.pos, place.pos) <= apart
        });
        if !known {
            new.push(place);
        }
    }
    new
}

/// The cell of something in view: exact on a straight line, else the middle of where it can be.
fn likely_cell(from: Cell, seen: &Seen) -> Cell {
    let (sx, sy) = seen.toward;
    let (dx, dy) = match (sx, sy) {
        (_, 0) => (seen.distance, 0),
        (0, _) => (0, seen.distance),
        _ => {
            let dy = (seen.distance / 2).clamp(1, 3);
            (seen.distance - dy, dy)
        }
    };
    (from.0 + sx * dx, from.1 + sy * dy)
}

fn note_dangers(pen: &mut Pen, step: u32, memory: &Memory, now: &Observation) {
    let Some(last) = &memory.last_action else { return };
    let (was, is) = (last.items[HEALTH], now.items[HEALTH]);
    if is < was {
        let mut near: Vec<&str> = Vec::new();
        for kind in [tiles::ZOMBIE, tiles::SKELETON, tiles::ARROW, tiles::LAVA] {
            if now.distance(kind) <= 3 {
                near.push(tiles::name(kind));
            }
        }
        let near = if near.is_empty() {
            "nothing near".to_owned()
        } else {
            near.join(", ")
        };
        pen.append(notes::SURVIVAL, &format!("hurt at step {step}: {was} to {is}; {near}"));
    }
}
