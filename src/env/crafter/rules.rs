//! Crafter's tables: actions, items, achievements, and what each collecting, placing and making
//! takes and gives.

use super::tiles;

/// Names of the actions in the order of their numbers, as BALROG calls them.
pub const ACTIONS: [&str; 17] = [
    "Noop",
    "Move West",
    "Move East",
    "Move North",
    "Move South",
    "Do",
    "Sleep",
    "Place Stone",
    "Place Table",
    "Place Furnace",
    "Place Plant",
    "Make Wood Pickaxe",
    "Make Stone Pickaxe",
    "Make Iron Pickaxe",
    "Make Wood Sword",
    "Make Stone Sword",
    "Make Iron Sword",
];

/// What an action number means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    Nothing,
    Move(i32, i32),
    Do,
    Sleep,
    Place(&'static Placing),
    Make(&'static Making),
}

/// The meaning of an action; a number that is none does nothing.
pub(super) fn deed(action: u8) -> Deed {
    match action {
        1 => Deed::Move(-1, 0),
        2 => Deed::Move(1, 0),
        3 => Deed::Move(0, -1),
        4 => Deed::Move(0, 1),
        5 => Deed::Do,
        6 => Deed::Sleep,
        7..=10 => Deed::Place(&PLACINGS[usize::from(action) - 7]),
        11..=16 => Deed::Make(&MAKINGS[usize::from(action) - 11]),
        _ => Deed::Nothing,
    }
}

/// The number of [`Deed::Sleep`].
pub(super) const SLEEP: u8 = 6;

/// Items by number: the four vitals, then what is carried.
pub(crate) mod item {
    pub(crate) const HEALTH: usize = 0;
    pub(crate) const FOOD: usize = 1;
    pub(crate) const DRINK: usize = 2;
    pub(crate) const ENERGY: usize = 3;
    pub(crate) const SAPLING: usize = 4;
    pub(crate) const WOOD: usize = 5;
    pub(crate) const STONE: usize = 6;
    pub(crate) const COAL: usize = 7;
    pub(crate) const IRON: usize = 8;
    pub(crate) const DIAMOND: usize = 9;
    pub(crate) const WOOD_PICKAXE: usize = 10;
    pub(crate) const STONE_PICKAXE: usize = 11;
    pub(crate) const IRON_PICKAXE: usize = 12;
    pub(crate) const WOOD_SWORD: usize = 13;
    pub(crate) const STONE_SWORD: usize = 14;
    pub(crate) const IRON_SWORD: usize = 15;
}

/// Names of the items.
pub const ITEMS: [&str; 16] = [
    "health",
    "food",
    "drink",
    "energy",
    "sapling",
    "wood",
    "stone",
    "coal",
    "iron",
    "diamond",
    "wood_pickaxe",
    "stone_pickaxe",
    "iron_pickaxe",
    "wood_sword",
    "stone_sword",
    "iron_sword",
];

/// What an item counts up to.
pub(super) const ITEM_MAX: u8 = 9;

/// Achievements by number, in alphabetical order.
pub(super) mod achievement {
    pub(crate) const COLLECT_COAL: usize = 0;
    pub(crate) const COLLECT_DIAMOND: usize = 1;
    pub(crate) const COLLECT_DRINK: usize = 2;
    pub(crate) const COLLECT_IRON: usize = 3;
    pub(crate) const COLLECT_SAPLING: usize = 4;
    pub(crate) const COLLECT_STONE: usize = 5;
    pub(crate) const COLLECT_WOOD: usize = 6;
    pub(crate) const DEFEAT_SKELETON: usize = 7;
    pub(crate) const DEFEAT_ZOMBIE: usize = 8;
    pub(crate) const EAT_COW: usize = 9;
    pub(crate) const EAT_PLANT: usize = 10;
    pub(crate) const MAKE_IRON_PICKAXE: usize = 11;
    pub(crate) const MAKE_IRON_SWORD: usize = 12;
    pub(crate) const MAKE_STONE_PICKAXE: usize = 13;
    pub(crate) const MAKE_STONE_SWORD: usize = 14;
    pub(crate) const MAKE_WOOD_PICKAXE: usize = 15;
    pub(crate) const MAKE_WOOD_SWORD: usize = 16;
    pub(crate) const PLACE_FURNACE: usize = 17;
    pub(crate) const PLACE_PLANT: usize = 18;
    pub(crate) const PLACE_STONE: usize = 19;
    pub(crate) const PLACE_TABLE: usize = 20;
    pub(crate) const WAKE_UP: usize = 21;
}

/// Names of the achievements.
pub const ACHIEVEMENTS: [&str; 22] = [
    "collect_coal",
    "collect_diamond",
    "collect_drink",
    "collect_iron",
    "collect_sapling",
    "collect_stone",
    "collect_wood",
    "defeat_skeleton",
    "defeat_zombie",
    "eat_cow",
    "eat_plant",
    "make_iron_pickaxe",
    "make_iron_sword",
    "make_stone_pickaxe",
    "make_stone_sword",
    "make_wood_pickaxe",
    "make_wood_sword",
    "place_furnace",
    "place_plant",
    "place_stone",
    "place_table",
    "wake_up",
];

/// How a material is collected.
#[derive(Debug)]
pub(super) struct Collecting {
    pub(super) tool: Option<usize>,
    pub(super) gives: usize,
    pub(super) leaves: u8,
    pub(super) chance: f64,
    pub(super) counts: usize,
}

/// How a material is collected; `None` for one that cannot be.
pub(super) fn collecting(material: u8) -> Option<&'static Collecting> {
    use achievement as a;
    macro_rules! rule {
        ($tool:expr, $gives:expr, $leaves:expr, $chance:expr, $counts:expr) => {{
            static RULE: Collecting = Collecting {
                tool: $tool,
                gives: $gives,
                leaves: $leaves,
                chance: $chance,
                counts: $counts,
            };
            Some(&RULE)
        }};
    }
    match material {
        tiles::TREE => rule!(None, item::WOOD, tiles::GRASS, 1.0, a::COLLECT_WOOD),
        tiles::STONE => rule!(
            Some(item::WOOD_PICKAXE),
            item::STONE,
            tiles::PATH,
            1.0,
            a::COLLECT_STONE
        ),
        tiles::COAL => rule!(Some(item::WOOD_PICKAXE), item::COAL, tiles::PATH, 1.0, a::COLLECT_COAL),
        tiles::IRON => rule!(Some(item::STONE_PICKAXE), item::IRON, tiles::PATH, 1.0, a::COLLECT_IRON),
        tiles::DIAMOND => rule!(
            Some(item::IRON_PICKAXE),
            item::DIAMOND,
            tiles::PATH,
            1.0,
            a::COLLECT_DIAMOND
        ),
        tiles::WATER => rule!(None, item::DRINK, tiles::WATER, 1.0, a::COLLECT_DRINK),
        tiles::GRASS => rule!(None, item::SAPLING, tiles::GRASS, 0.1, a::COLLECT_SAPLING),
        _ => None,
    }
}

/// How something is placed.
#[derive(Debug)]
pub(super) struct Placing {
    pub(super) on: &'static [u8],
    pub(super) takes: (usize, u8),
    /// The material or object that comes to be.
    pub(super) becomes: u8,
    pub(super) counts: usize,
}

static PLACINGS: [Placing; 4] = [
    Placing {
        on: &[tiles::GRASS, tiles::SAND, tiles::PATH, tiles::WATER, tiles::LAVA],
        takes: (item::STONE, 1),
        becomes: tiles::STONE,
        counts: achievement::PLACE_STONE,
    },
    Placing {
        on: &[tiles::GRASS, tiles::SAND, tiles::PATH],
        takes: (item::WOOD, 2),
        becomes: tiles::TABLE,
        counts: achievement::PLACE_TABLE,
    },
    Placing {
        on: &[tiles::GRASS, tiles::SAND, tiles::PATH],
        takes: (item::STONE, 4),
        becomes: tiles::FURNACE,
        counts: achievement::PLACE_FURNACE,
    },
    Placing {
        on: &[tiles::GRASS],
        takes: (item::SAPLING, 1),
        becomes: tiles::PLANT,
        counts: achievement::PLACE_PLANT,
    },
];

/// How something is made.
#[derive(Debug)]
pub(super) struct Making {
    pub(super) beside: &'static [u8],
    /// One of each is paid.
    pub(super) takes: &'static [usize],
    pub(super) gives: usize,
    pub(super) counts: usize,
}

const WOODEN: &[usize] = &[item::WOOD];
const STONY: &[usize] = &[item::WOOD, item::STONE];
const IRON: &[usize] = &[item::WOOD, item::COAL, item::IRON];
const TABLE: &[u8] = &[tiles::TABLE];
const BOTH: &[u8] = &[tiles::TABLE, tiles::FURNACE];

const fn making(beside: &'static [u8], takes: &'static [usize], gives: usize, counts: usize) -> Making {
    Making {
        beside,
        takes,
        gives,
        counts,
    }
}

static MAKINGS: [Making; 6] = [
    making(TABLE, WOODEN, item::WOOD_PICKAXE, achievement::MAKE_WOOD_PICKAXE),
    making(TABLE, STONY, item::STONE_PICKAXE, achievement::MAKE_STONE_PICKAXE),
    making(BOTH, IRON, item::IRON_PICKAXE, achievement::MAKE_IRON_PICKAXE),
    making(TABLE, WOODEN, item::WOOD_SWORD, achievement::MAKE_WOOD_SWORD),
    making(TABLE, STONY, item::STONE_SWORD, achievement::MAKE_STONE_SWORD),
    making(BOTH, IRON, item::IRON_SWORD, achievement::MAKE_IRON_SWORD),
];

/// Whether cows, zombies and skeletons walk on a material (the player also walks into lava).
pub(super) fn walkable(material: u8) -> bool {
    matches!(material, tiles::GRASS | tiles::PATH | tiles::SAND)
}

/// Whether arrows fly over a material.
pub(super) fn flyable(material: u8) -> bool {
    walkable(material) || matches!(material, tiles::WATER | tiles::LAVA)
}
