//! The things a Crafter map is made of, by number: materials 1 to 12, objects 13 to 18.

/// Beyond the map.
pub const NOTHING: u8 = 0;
/// Drunk from; arrows fly over it.
pub const WATER: u8 = 1;
/// Walked on; gives a sapling now and then.
pub const GRASS: u8 = 2;
/// Collected with a wood pickaxe.
pub const STONE: u8 = 3;
/// What is left of stone and ores; the ground of caves.
pub const PATH: u8 = 4;
/// Walked on, beside water.
pub const SAND: u8 = 5;
/// Gives one wood and becomes grass.
pub const TREE: u8 = 6;
/// Kills who walks into it.
pub const LAVA: u8 = 7;
/// Collected with a wood pickaxe.
pub const COAL: u8 = 8;
/// Collected with a stone pickaxe.
pub const IRON: u8 = 9;
/// Collected with an iron pickaxe.
pub const DIAMOND: u8 = 10;
/// Wood and stone tools are made beside it.
pub const TABLE: u8 = 11;
/// Iron tools are made beside it and a table.
pub const FURNACE: u8 = 12;
/// The player.
pub const PLAYER: u8 = 13;
/// Food.
pub const COW: u8 = 14;
/// Comes for the player on grass.
pub const ZOMBIE: u8 = 15;
/// Shoots arrows in tunnels.
pub const SKELETON: u8 = 16;
/// Flies until it hits.
pub const ARROW: u8 = 17;
/// A sapling in the ground; ripe after a while.
pub const PLANT: u8 = 18;

/// Number of materials, [`NOTHING`] included.
pub const MATERIALS: usize = 13;

/// Names by number, as the observation text has them.
pub const NAMES: [&str; 19] = [
    "nothing", "water", "grass", "stone", "path", "sand", "tree", "lava", "coal", "iron", "diamond", "table",
    "furnace", "player", "cow", "zombie", "skeleton", "arrow", "plant",
];

/// What a note can tell of: all names but those of nothing and of the player.
pub const THINGS: &[&str] = &[
    "water", "grass", "stone", "path", "sand", "tree", "lava", "coal", "iron", "diamond", "table", "furnace", "cow",
    "zombie", "skeleton", "arrow", "plant",
];

/// The name of a tile; `nothing` for a number that is none.
pub fn name(tile: u8) -> &'static str {
    NAMES.get(usize::from(tile)).copied().unwrap_or(NAMES[0])
}
