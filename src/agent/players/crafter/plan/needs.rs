//! Staying alive: fights, food, drink, sleep.

use super::moves::{STEPS, move_action};
use super::{Choice, Mind, item};
use crate::agent::players::crafter::atlas::Means;
use crate::env::crafter::tiles;

/// Cells of the largest room that counts as a shelter.
const ROOM: usize = 5;

impl Mind<'_> {
    /// Strikes at monsters within reach.
    pub(super) fn fight(&self) -> Option<Choice> {
        for monster in [tiles::ZOMBIE, tiles::SKELETON] {
            let name = tiles::name(monster);
            if self.now.front == monster {
                return Some(Choice::new("Do", format!("I strike the {name}.")));
            }
            if let Some(seen) = self.now.find(monster).filter(|seen| seen.distance == 1) {
                let why = format!("I turn to the {name}.");
                return Some(Choice::new(move_action(seen.toward), why));
            }
        }
        None
    }

    /// Whether its last action has opened the rock in front.
    fn has_just_dug(&self) -> bool {
        let [.., before, last] = self.memory.map.as_slice() else {
            return false;
        };
        before.front == tiles::STONE
            && last.front == tiles::PATH
            && (before.pos, before.facing) == (last.pos, last.facing)
    }

    /// Gets out of a skeleton's line, or behind a stone, when hurt.
    pub(super) fn flee(&self) -> Option<Choice> {
        if self.count(item::HEALTH) > 4 {
            return None;
        }
        let archer = self.now.find(tiles::SKELETON).filter(|seen| seen.distance <= 6)?;
        let toward = archer.toward;
        let is_ahead = archer.is_straight() && toward == self.facing;
        if is_ahead && self.has(item::STONE) && self.can_place() {
            return Some(Choice::new("Place Stone", "A stone keeps the arrows off."));
        }
        let mut steps: Vec<_> = STEPS
            .iter()
            .filter(|step| !self.atlas.is_closed((self.pos.0 + step.0, self.pos.1 + step.1)))
            .filter(|step| step.0 * toward.0 + step.1 * toward.1 <= 0)
            .collect();
        // Out of the line first where there is one, else away.
        steps.sort_by_key(|step| {
            let along = step.0 * toward.0 + step.1 * toward.1;
            if archer.is_straight() { -along } else { along }
        });
        let step = steps.first()?;
        Some(Choice::new(move_action(**step), "I get away from the skeleton."))
    }

    /// Goes after monsters it has never beaten, when it is well.
    pub(super) fn hunt(&self) -> Option<Choice> {
        let is_well = self.count(item::HEALTH) >= 6;
        let prey =
            |kind: u8, name: &str, within: i32| is_well && !self.memory.has(name) && self.now.distance(kind) <= within;
        if prey(tiles::ZOMBIE, "defeat_zombie", 5) {
            return self.gather_seen(tiles::ZOMBIE);
        }
        if self.has(item::STONE_SWORD) && prey(tiles::SKELETON, "defeat_skeleton", 6) {
            return self.gather_seen(tiles::SKELETON);
        }
        None
    }

    /// Food and drink before it is too late.
    pub(super) fn urgent_needs(&self) -> Option<Choice> {
        let (food, drink) = (self.count(item::FOOD), self.count(item::DRINK));
        if self.now.front == tiles::WATER && drink < 8 {
            return Some(Choice::new("Do", "I drink."));
        }
        let thirsty = || self.gather(tiles::WATER).filter(|_| drink <= 4);
        let hungry = || {
            let search = || self.explore().filter(|_| food <= 2);
            self.gather(tiles::COW).or_else(search).filter(|_| food <= 4)
        };
        if drink <= food {
            thirsty().or_else(hungry)
        } else {
            hungry().or_else(thirsty)
        }
    }

    /// Food and drink that is at hand, and everything for the first time.
    pub(super) fn small_needs(&self) -> Option<Choice> {
        let (food, drink) = (self.count(item::FOOD), self.count(item::DRINK));
        let water = self.now.distance(tiles::WATER);
        if (drink <= 6 && water <= 4) || (!self.memory.has("collect_drink") && drink < 9 && water <= 9) {
            return self.gather_seen(tiles::WATER);
        }
        let cow = self.now.distance(tiles::COW);
        if (food <= 6 && cow <= 5) || (!self.memory.has("eat_cow") && cow <= 6) {
            return self.gather_seen(tiles::COW);
        }
        None
    }

    /// Sleep: once early on while it is safe, later behind stone.
    pub(super) fn rest(&self) -> Option<Choice> {
        let energy = self.count(item::ENERGY);
        let is_quiet = !self.is_danger_near(9);
        let first_nap = !self.memory.has("wake_up")
            && energy <= 8
            && is_quiet
            && self.now.find(tiles::PATH).is_none()
            && (10..110).contains(&(self.step % 300))
            && self.count(item::HEALTH) >= 5;
        if first_nap {
            return Some(Choice::new("Sleep", "It is quiet: a short nap."));
        }
        let is_fed = self.count(item::FOOD) >= 2 && self.count(item::DRINK) >= 2;
        let is_tired = energy <= 4 || (energy <= 8 && self.is_dark());
        if is_tired && (is_fed || energy == 0) {
            let shelter = self.shelter();
            if shelter.is_some() {
                return shelter;
            }
        }
        let is_spent = energy == 0 || (energy <= 2 && is_fed && is_quiet && !self.is_dark());
        is_spent.then(|| Choice::new("Sleep", "I cannot stay awake any longer."))
    }

    /// Hides from monsters when hurt, and stays behind the wall until it is better.
    pub(super) fn recover(&self) -> Option<Choice> {
        let health = self.count(item::HEALTH);
        let is_fed = self.count(item::FOOD) >= 2 && self.count(item::DRINK) >= 2;
        if !is_fed || health > 6 {
            return None;
        }
        if self.atlas.room(ROOM).openings.is_empty() {
            let can_wait = self.count(item::FOOD) >= 4 && self.count(item::DRINK) >= 4;
            if self.count(item::ENERGY) < 9 {
                return Some(Choice::new("Sleep", "Behind the wall I sleep until I am better."));
            }
            return can_wait.then(|| Choice::new("Noop", "Behind the wall I get better."));
        }
        let is_hunted = health <= 4 && self.is_danger_near(9);
        if is_hunted { self.shelter() } else { None }
    }

    /// Sleeps in a closed room, or works at one: digs two cells into the rock, turns round and closes
    /// the door with a stone.
    fn shelter(&self) -> Option<Choice> {
        let room = self.atlas.room(ROOM);
        if room.openings.is_empty() {
            return Some(Choice::new("Sleep", "All around is closed: I sleep."));
        }
        if !self.has(item::STONE) || !self.has(item::WOOD_PICKAXE) {
            return None;
        }
        let front = (self.pos.0 + self.facing.0, self.pos.1 + self.facing.1);
        if self.can_place() && self.atlas.encloses(front, self.pos, ROOM) {
            return Some(Choice::new("Place Stone", "I close the door for the night."));
        }
        // A step into the unknown shows whether there is a wall.
        if self.atlas.only_unknown(&room.openings) {
            let here = room.openings.iter().find(|(cell, _)| *cell == self.pos);
            let step = here.map(|(_, step)| *step).or_else(|| {
                let (there, _) = room.openings.first()?;
                self.atlas
                    .way(Means::default(), |cell| cell == *there)
                    .map(|lead| lead.step)
            });
            if let Some(step) = step {
                return Some(Choice::new(move_action(step), "I feel along the wall."));
            }
        }
        for step in STEPS {
            let next = (self.pos.0 + step.0, self.pos.1 + step.1);
            let door = (next.0 + step.0, next.1 + step.1);
            if !self.atlas.is_closed(next) && self.atlas.encloses(door, next, ROOM) {
                return Some(Choice::new(move_action(step), "I turn round to close the door."));
            }
        }
        if self.now.front == tiles::STONE {
            return Some(Choice::new("Do", "I dig myself in."));
        }
        if self.has_just_dug() {
            return Some(Choice::new(move_action(self.facing), "I go into my hole."));
        }
        self.gather(tiles::STONE).filter(|_| self.reach(tiles::STONE) <= 15)
    }
}
