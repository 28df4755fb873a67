//! Getting somewhere: to things in view, to places remembered, to parts of the map not seen yet.

use super::{Choice, Mind, item};
use crate::agent::players::crafter::atlas::{BLIND, Lead};
use crate::agent::players::crafter::notes::distance;
use crate::agent::players::crafter::prompt::{Cell, Seen, is_ground};
use crate::env::crafter::tiles;

impl Mind<'_> {
    /// Goes to the nearest thing of a kind, in view or remembered, and uses it.
    pub(super) fn gather(&self, tile: u8) -> Option<Choice> {
        let name = tiles::name(tile);
        if self.now.front == tile {
            return Some(Choice::new("Do", format!("There is {name} in front of me.")));
        }
        self.gather_seen(tile)
            .or_else(|| self.gather_remembered(tile, i32::MAX))
    }

    /// Goes to the nearest thing of a kind in view and uses it.
    pub(super) fn gather_seen(&self, tile: u8) -> Option<Choice> {
        let name = tiles::name(tile);
        if self.now.front == tile {
            return Some(Choice::new("Do", format!("There is {name} in front of me.")));
        }
        let seen = self.now.find(tile)?;
        let why = format!("I go for the {name}, {} away.", seen.distance);
        self.approach(&self.atlas.candidates(seen), why)
    }

    /// Goes to the nearest remembered place of a kind.
    pub(super) fn gather_remembered(&self, tile: u8, within: i32) -> Option<Choice> {
        let cell = self.nearest_place(tile, within)?;
        let why = format!("I remember {} at ({},{}).", tiles::name(tile), cell.0, cell.1);
        self.approach(&[cell], why)
    }

    /// The nearest remembered place of a kind.
    pub(super) fn nearest_place(&self, tile: u8, within: i32) -> Option<Cell> {
        let far = |cell: &Cell| distance(*cell, self.pos);
        let places = self.memory.places.iter().filter(|place| place.tile == tile);
        places
            .map(|place| place.pos)
            .filter(|cell| far(cell) <= within)
            .min_by_key(far)
    }

    /// How far the nearest thing of a kind is, in view or remembered.
    pub(super) fn reach(&self, tile: u8) -> i32 {
        let remembered = self
            .nearest_place(tile, i32::MAX)
            .map_or(i32::MAX, |cell| distance(cell, self.pos));
        remembered.min(self.now.distance(tile))
    }

    /// Steps towards one of some cells until it is in front.
    pub(super) fn approach(&self, cells: &[Cell], why: String) -> Option<Choice> {
        for cell in cells {
            let step = (cell.0 - self.pos.0, cell.1 - self.pos.1);
            if step.0.abs() + step.1.abs() == 1
                && (step != self.facing || cells.len() > 1 || self.memory.map.is_empty())
            {
                return Some(Choice::new(move_action(step), why));
            }
        }
        let lead = self.atlas.way(self.means(), |cell| {
            cells.iter().any(|target| distance(*target, cell) <= 1)
        })?;
        Some(self.follow(lead, why))
    }

    /// Takes the first step of a way, through what stands there if need be.
    pub(super) fn follow(&self, lead: Lead, why: String) -> Choice {
        let is_in_front = lead.step == self.facing && self.now.front == lead.tile;
        let action = match lead.tile {
            tiles::STONE | tiles::COAL | tiles::TREE | tiles::COW | tiles::ZOMBIE | tiles::SKELETON if is_in_front => {
                "Do"
            }
            tiles::WATER if is_in_front => "Place Stone",
            _ => move_action(lead.step),
        };
        Choice::new(action, why)
    }

    /// Turns to a cell where something can be placed, staying beside `anchor` if one is given.
    pub(super) fn face_ground(&self, anchor: Option<&Seen>, why: &str) -> Option<Choice> {
        let is_diggable = self.now.front == tiles::STONE && self.has(item::WOOD_PICKAXE);
        if is_diggable || self.now.front == tiles::TREE {
            return Some(Choice::new("Do", why));
        }
        let anchors = anchor.map(|seen| self.atlas.candidates(seen));
        STEPS
            .iter()
            .filter(|step| !self.atlas.is_closed((self.pos.0 + step.0, self.pos.1 + step.1)))
            .filter(|step| {
                let to = (self.pos.0 + step.0, self.pos.1 + step.1);
                anchors.as_ref().is_none_or(|cells| {
                    cells
                        .iter()
                        .any(|cell| (cell.0 - to.0).abs() <= 1 && (cell.1 - to.1).abs() <= 1)
                })
            })
            .map(|step| Choice::new(move_action(*step), why))
            .next()
    }

    /// Steps back to where the game shows something; tries the other way now and then.
    pub(super) fn leave_the_edge(&self) -> Choice {
        let is_west = self.pos.0 - BLIND.0 <= self.pos.1 - BLIND.1;
        let action = if is_west != (self.step % 12 >= 8) {
            "Move East"
        } else {
            "Move South"
        };
        Choice::new(action, "I see nothing here: back from the edge of the map.")
    }

    /// Goes to the nearest part of the map that it has not been to.
    pub(super) fn explore(&self) -> Option<Choice> {
        let centre = |region: &Cell| (region.0 * 8 + 4, region.1 * 8 + 4);
        let mut unseen: Vec<Cell> = (-4..4)
            .flat_map(|x| (-4..4).map(move |y| (x, y)))
            .filter(|region| !self.memory.regions.contains(region))
            .collect();
        if unseen.is_empty() {
            // All was seen, but creatures come and go: once more round the map.
            unseen.push(REGIONS[(self.step / 50) as usize % REGIONS.len()]);
        }
        // The nearest first; when that does not get on, others in an order that does not depend on
        // where it stands, so that it keeps to one for a while.
        let is_stuck = self.is_stuck();
        if !is_stuck {
            unseen.sort_by_key(|region| (distance(centre(region), self.pos), *region));
        }
        let skip = if is_stuck {
            (self.step / 32) as usize * 7 % unseen.len()
        } else {
            0
        };
        unseen
            .iter()
            .cycle()
            .skip(skip)
            .take(unseen.len().min(6))
            .find_map(|region| {
                let target = centre(region);
                let lead = self.atlas.way(self.means(), |cell| distance(cell, target) <= 3)?;
                let why = format!("I look at the part of the map around ({},{}).", target.0, target.1);
                Some(self.follow(lead, why))
            })
    }

    /// Whether it has been in one spot for a while without anything to do there.
    fn is_stuck(&self) -> bool {
        let notes = &self.memory.map;
        let Some(first) = notes.first() else { return false };
        notes.len() >= 16
            && self.step - first.step.min(self.step) >= 20
            && notes.iter().all(|note| distance(note.pos, first.pos) <= 4)
    }

    /// Whether it has been going to and fro between the same cells.
    pub(super) fn is_dithering(&self) -> bool {
        let notes = &self.memory.map;
        let arrivals: Vec<Cell> = notes
            .windows(2)
            .filter(|pair| pair[0].pos != pair[1].pos)
            .map(|pair| pair[1].pos)
            .collect();
        let late = &arrivals[arrivals.len().saturating_sub(12)..];
        late.iter()
            .any(|pos| late.iter().filter(|other| *other == pos).count() >= 4)
    }

    /// Any step that does no harm; the direction changes as time goes by.
    pub(super) fn wander(&self) -> Choice {
        let turn = (self.step / 7) as usize;
        let safe = |step: &&Cell| self.atlas.is_safe((self.pos.0 + step.0, self.pos.1 + step.1));
        let step = STEPS.iter().cycle().skip(turn % 4).take(4).find(safe);
        match step {
            Some(step) if !is_ground(self.now.front) && *step == self.facing && self.has(item::WOOD_PICKAXE) => {
                Choice::new("Do", "I try my luck with what is in front of me.")
            }
            Some(step) => Choice::new(move_action(*step), "I have no better idea than to walk on."),
            None => Choice::new("Noop", "There is lava all around."),
        }
    }
}

/// Where it goes when it has been everywhere.
const REGIONS: [Cell; 5] = [(0, 0), (-2, -2), (1, -2), (1, 1), (-2, 1)];

pub(super) const STEPS: [Cell; 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

/// The action that steps or turns.
pub(super) fn move_action(step: Cell) -> &'static str {
    match step {
        (0, -1) => "Move North",
        (1, 0) => "Move East",
        (-1, 0) => "Move West",
        _ => "Move South",
    }
}
