//! What everything but the player does in one step. The order of draws is part of the rules.

use super::map::{DIRECTIONS, Map, Object, PLAYER_SLOT, Pos, Slot};
use super::player::Player;
use super::rng::Rng;
use super::rules;
use super::tiles;

/// Age above which a plant can be eaten.
pub(super) const RIPE: u16 = 300;

/// One object's turn, with all it may touch.
pub(super) struct Turn<'a> {
    pub(super) map: &'a mut Map,
    pub(super) player: &'a mut Player,
    pub(super) rng: &'a mut Rng,
}

impl Turn<'_> {
    /// Lets an object act; the player has its own update.
    pub(super) fn update(&mut self, slot: Slot) {
        match self.map.get(slot).kind {
            tiles::COW => self.cow(slot),
            tiles::ZOMBIE => self.zombie(slot),
            tiles::SKELETON => self.skeleton(slot),
            tiles::ARROW => self.arrow(slot),
            tiles::PLANT => self.plant(slot),
            _ => {}
        }
    }

    fn cow(&mut self, slot: Slot) {
        let mut mover = self.arise(slot);
        if self.rng.uniform() < 0.5 {
            let step = self.any_direction();
            mover.go(self.map, step);
        }
    }

    fn zombie(&mut self, slot: Slot) {
        let mut mover = self.arise(slot);
        let step = if self.distance(&mover) <= 8 && self.rng.uniform() < 0.9 {
            let long = self.rng.uniform() < 0.8;
            self.toward(&mover, long)
        } else {
            self.any_direction()
        };
        mover.go(self.map, step);
        if self.distance(&mover) <= 1 {
            let cooldown = self.map.get(slot).counter;
            if cooldown > 0 {
                self.map.get_mut(slot).counter = cooldown - 1;
            } else {
                self.player.hurt(if self.player.sleeping { 7 } else { 2 });
                self.map.get_mut(slot).counter = 5;
            }
        }
    }

    fn skeleton(&mut self, slot: Slot) {
        let mut mover = self.arise(slot);
        let reload = self.map.get(slot).counter.saturating_sub(1);
        self.map.get_mut(slot).counter = reload;
        let distance = self.distance(&mover);
        if distance <= 3 {
            let long = self.rng.uniform() < 0.6;
            let t = self.toward(&mover, long);
            if mover.go(self.map, Pos::new(-t.x, -t.y)) {
                return;
            }
        }
        if distance <= 5 && self.rng.uniform() < 0.5 {
            let facing = self.toward(&mover, true);
            let target = mover.pos.plus(facing);
            if reload == 0 && facing != Pos::new(0, 0) && self.map.is_free(target, rules::flyable) {
                let mut arrow = Object::new(tiles::ARROW, target);
                arrow.facing = facing;
                self.map.add(arrow);
                self.map.get_mut(slot).counter = 4;
            }
        } else if distance <= 8 && self.rng.uniform() < 0.3 {
            let long = self.rng.uniform() < 0.6;
            let step = self.toward(&mover, long);
            mover.go(self.map, step);
        } else if self.rng.uniform() < 0.2 {
            let step = self.any_direction();
            mover.go(self.map, step);
        }
    }

    fn arrow(&mut self, slot: Slot) {
        let arrow = *self.map.get(slot);
        let target = arrow.pos.plus(arrow.facing);
        if let Some(hit) = self.map.occupant(target) {
            if hit == PLAYER_SLOT {
                self.player.hurt(2);
            } else {
                let object = self.map.get_mut(hit);
                object.health = object.health.saturating_sub(2);
            }
            self.map.remove(slot);
        } else if rules::flyable(self.map.material(target)) {
            self.map.relocate(slot, target);
        } else {
            self.map.remove(slot);
            if matches!(self.map.material(target), tiles::TABLE | tiles::FURNACE) {
                self.map.set_material(target, tiles::PATH);
            }
        }
    }

    fn plant(&mut self, slot: Slot) {
        let mut plant = *self.map.get(slot);
        plant.counter = plant.counter.saturating_add(1);
        let eaten = DIRECTIONS.iter().any(|step| {
            self.map
                .occupant(plant.pos.plus(*step))
                .is_some_and(|other| matches!(self.map.get(other).kind, tiles::COW | tiles::ZOMBIE | tiles::SKELETON))
        });
        if eaten {
            plant.health = plant.health.saturating_sub(1);
        }
        *self.map.get_mut(slot) = plant;
        if plant.health == 0 {
            self.map.remove(slot);
        }
    }

    /// A creature at the start of its turn. A dead one is taken off the map, and yet takes the turn.
    fn arise(&mut self, slot: Slot) -> Mover {
        let object = self.map.get(slot);
        let (pos, dead) = (object.pos, object.health == 0);
        if dead {
            self.map.remove(slot);
        }
        Mover { slot, pos, dead }
    }

    fn distance(&self, mover: &Mover) -> i32 {
        self.map.player().pos.distance(mover.pos)
    }

    /// One step towards the player along the longer or the shorter axis; no step where the shorter
    /// one has no distance.
    fn toward(&self, mover: &Mover, long: bool) -> Pos {
        let player = self.map.player().pos;
        let (dx, dy) = (player.x - mover.pos.x, player.y - mover.pos.y);
        if (dx.abs() > dy.abs()) == long {
            Pos::new(dx.signum(), 0)
        } else {
            Pos::new(0, dy.signum())
        }
    }

    fn any_direction(&mut self) -> Pos {
        DIRECTIONS[self.rng.below(4) as usize]
    }
}

/// A creature that may move in its turn.
struct Mover {
    slot: Slot,
    pos: Pos,
    /// It is off the map: its steps count as taken where they could be, and change nothing.
    dead: bool,
}

impl Mover {
    fn go(&mut self, map: &mut Map, step: Pos) -> bool {
        let to = self.pos.plus(step);
        let free = map.is_walkable(to);
        if free && !self.dead {
            map.relocate(self.slot, to);
            self.pos = to;
        }
        free
    }
}
