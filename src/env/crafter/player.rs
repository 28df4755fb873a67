//! What the player is and does in one step.

use super::map::{Map, PLAYER_SLOT, Pos, Slot};
use super::rng::Rng;
use super::rules::{self, Collecting, Deed, ITEM_MAX, Making, Placing, achievement, item};
use super::tiles;

/// The player's state beside its place on the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Player {
    /// Items by number; see [`rules::ITEMS`].
    pub items: [u8; 16],
    /// How often each achievement was reached; see [`rules::ACHIEVEMENTS`].
    pub achievements: [u32; 22],
    /// Whether it sleeps.
    pub sleeping: bool,
    /// Counts up to the next loss of food.
    pub hunger: f64,
    /// Counts up to the next loss of drink.
    pub thirst: f64,
    /// Counts up to the next loss of energy, or down to a gain.
    pub fatigue: f64,
    /// Counts up to a gain of health, or down to a loss.
    pub recover: f64,
    remembered_health: u8,
}

impl Player {
    /// A player at the start of an episode.
    pub(super) fn new() -> Self {
        let mut items = [0; 16];
        items[..4].fill(ITEM_MAX);
        Self {
            items,
            achievements: [0; 22],
            sleeping: false,
            hunger: 0.0,
            thirst: 0.0,
            fatigue: 0.0,
            recover: 0.0,
            remembered_health: ITEM_MAX,
        }
    }

    /// Health, 0 to 9; 0 is death.
    pub fn health(&self) -> u8 {
        self.items[item::HEALTH]
    }

    /// Number of different achievements reached so far.
    pub fn unlocked(&self) -> u32 {
        self.achievements.iter().filter(|count| **count > 0).count() as u32
    }

    /// The health the player had after its own last update: damage since then wakes it.
    pub(super) fn remembered_health(&self) -> u8 {
        self.remembered_health
    }

    /// Takes health away.
    pub(super) fn hurt(&mut self, damage: u8) {
        self.items[item::HEALTH] = self.items[item::HEALTH].saturating_sub(damage);
    }

    fn count(&mut self, achievement: usize) {
        self.achievements[achievement] += 1;
    }

    /// Plays an action, then lets a step's worth of life pass.
    pub(super) fn update(&mut self, map: &mut Map, rng: &mut Rng, action: u8) {
        let body = *map.player();
        let target = body.pos.plus(body.facing);
        let mut action = action;
        if self.sleeping {
            if self.items[item::ENERGY] < ITEM_MAX {
                action = rules::SLEEP;
            } else {
                self.sleeping = false;
                self.count(achievement::WAKE_UP);
            }
        }
        match rules::deed(action) {
            Deed::Nothing => {}
            Deed::Move(dx, dy) => self.walk(map, Pos::new(dx, dy)),
            Deed::Do => match map.occupant(target) {
                Some(object) => self.touch(map, object),
                None => self.collect(map, rng, target),
            },
            Deed::Sleep => self.sleeping |= self.items[item::ENERGY] < ITEM_MAX,
            Deed::Place(placing) => self.place(map, target, placing),
            Deed::Make(making) => self.make(map, making),
        }
        self.live();
    }

    fn walk(&mut self, map: &mut Map, step: Pos) {
        map.get_mut(PLAYER_SLOT).facing = step;
        let to = map.player().pos.plus(step);
        if map.is_free(to, |material| rules::walkable(material) || material == tiles::LAVA) {
            map.relocate(PLAYER_SLOT, to);
        }
        if map.material(map.player().pos) == tiles::LAVA {
            self.items[item::HEALTH] = 0;
        }
    }

    /// Uses the hands on an object.
    fn touch(&mut self, map: &mut Map, slot: Slot) {
        let damage = if self.items[item::IRON_SWORD] > 0 {
            5
        } else if self.items[item::STONE_SWORD] > 0 {
            3
        } else if self.items[item::WOOD_SWORD] > 0 {
            2
        } else {
            1
        };
        let object = map.get_mut(slot);
        match object.kind {
            tiles::PLANT if object.counter > super::creatures::RIPE => {
                object.counter = 0;
                self.items[item::FOOD] += 4;
                self.count(achievement::EAT_PLANT);
            }
            tiles::ZOMBIE | tiles::SKELETON | tiles::COW => {
                object.health = object.health.saturating_sub(damage);
                let kind = object.kind;
                if object.health == 0 {
                    match kind {
                        tiles::ZOMBIE => self.count(achievement::DEFEAT_ZOMBIE),
                        tiles::SKELETON => self.count(achievement::DEFEAT_SKELETON),
                        _ => {
                            self.items[item::FOOD] += 6;
                            self.hunger = 0.0;
                            self.count(achievement::EAT_COW);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn collect(&mut self, map: &mut Map, rng: &mut Rng, target: Pos) {
        let material = map.material(target);
        if material == tiles::WATER {
            self.thirst = 0.0;
        }
        let Some(rule) = rules::collecting(material) else {
            return;
        };
        let &Collecting {
            tool,
            gives,
            leaves,
            chance,
            counts,
        } = rule;
        if tool.is_some_and(|tool| self.items[tool] == 0) {
            return;
        }
        map.set_material(target, leaves);
        // The draw happens even where the outcome is certain.
        if rng.uniform() <= chance {
            self.items[gives] += 1;
            self.count(counts);
        }
    }

    fn place(&mut self, map: &mut Map, target: Pos, placing: &Placing) {
        let (paid, price) = placing.takes;
        if map.occupant(target).is_some() || !placing.on.contains(&map.material(target)) || self.items[paid] < price {
            return;
        }
        self.items[paid] -= price;
        if placing.becomes == tiles::PLANT {
            map.add(super::map::Object::new(tiles::PLANT, target));
        } else {
            map.set_material(target, placing.becomes);
        }
        self.count(placing.counts);
    }

    fn make(&mut self, map: &Map, making: &Making) {
        let pos = map.player().pos;
        if !making.beside.iter().all(|station| is_near(map, pos, *station))
            || making.takes.iter().any(|paid| self.items[*paid] == 0)
        {
            return;
        }
        for paid in making.takes {
            self.items[*paid] -= 1;
        }
        self.items[making.gives] += 1;
        self.count(making.counts);
    }

    /// Hunger, thirst, tiredness, healing.
    fn live(&mut self) {
        let pace = if self.sleeping { 0.5 } else { 1.0 };
        self.hunger += pace;
        if self.hunger > 25.0 {
            self.hunger = 0.0;
            self.lose(item::FOOD);
        }
        self.thirst += pace;
        if self.thirst > 20.0 {
            self.thirst = 0.0;
            self.lose(item::DRINK);
        }
        self.fatigue = if self.sleeping {
            (self.fatigue - 1.0).min(0.0)
        } else {
            self.fatigue + 1.0
        };
        if self.fatigue < -10.0 {
            self.fatigue = 0.0;
            self.items[item::ENERGY] += 1;
        }
        if self.fatigue > 30.0 {
            self.fatigue = 0.0;
            self.lose(item::ENERGY);
        }
        let well = self.items[item::FOOD] > 0
            && self.items[item::DRINK] > 0
            && (self.items[item::ENERGY] > 0 || self.sleeping);
        self.recover += match (well, self.sleeping) {
            (true, true) => 2.0,
            (true, false) => 1.0,
            (false, true) => -0.5,
            (false, false) => -1.0,
        };
        if self.recover > 25.0 {
            self.recover = 0.0;
            self.items[item::HEALTH] += 1;
        }
        if self.recover < -15.0 {
            self.recover = 0.0;
            self.lose(item::HEALTH);
        }
        for count in &mut self.items {
            *count = (*count).min(ITEM_MAX);
        }
        if self.health() < self.remembered_health {
            self.sleeping = false;
        }
        self.remembered_health = self.health();
    }

    fn lose(&mut self, item: usize) {
        self.items[item] = self.items[item].saturating_sub(1);
    }
}

/// Whether a station is among the nine cells around the player. In the first column and row the
/// original looks at no cell at all.
fn is_near(map: &Map, pos: Pos, station: u8) -> bool {
    pos.x > 0 && pos.y > 0 && (-1..=1).any(|dx| (-1..=1).any(|dy| map.material(pos.plus(Pos::new(dx, dy))) == station))
}
