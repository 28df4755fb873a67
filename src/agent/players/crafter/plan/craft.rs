//! Getting on: wood, table, tools, stone, furnace, coal, iron, diamond.

use super::{Choice, Mind, item};
use crate::env::crafter::tiles;

impl Mind<'_> {
    /// Makes what can be made here.
    pub(super) fn craft(&self) -> Option<Choice> {
        if !self.is_near(tiles::TABLE) {
            return None;
        }
        let (wood, stone) = (self.has(item::WOOD), self.has(item::STONE));
        let iron = wood && self.has(item::COAL) && self.has(item::IRON) && self.is_near(tiles::FURNACE);
        let tools = [
            (wood, item::WOOD_PICKAXE, "Make Wood Pickaxe"),
            (iron, item::IRON_PICKAXE, "Make Iron Pickaxe"),
            (wood && stone, item::STONE_PICKAXE, "Make Stone Pickaxe"),
            (wood, item::WOOD_SWORD, "Make Wood Sword"),
            (iron, item::IRON_SWORD, "Make Iron Sword"),
            (wood && stone, item::STONE_SWORD, "Make Stone Sword"),
        ];
        tools
            .iter()
            .find(|(possible, tool, _)| *possible && !self.has(*tool))
            .map(|(_, _, action)| Choice::new(action, "I stand beside a table and have what it takes."))
    }

    /// Plants a sapling, or looks for one in the grass.
    pub(super) fn plant(&self) -> Option<Choice> {
        if self.now.front != tiles::GRASS || self.is_danger_near(3) {
            return None;
        }
        if self.has(item::SAPLING) && !self.memory.has("place_plant") {
            return Some(Choice::new("Place Plant", "I plant the sapling."));
        }
        let wanted = !self.memory.has("collect_sapling") && !self.has(item::SAPLING);
        wanted.then(|| Choice::new("Do", "There may be a sapling in the grass."))
    }

    /// The next thing on the way to a diamond.
    pub(super) fn progress(&self) -> Option<Choice> {
        if self.has(item::STONE) && !self.memory.has("place_stone") && self.can_place() {
            return Some(Choice::new("Place Stone", "I place a stone for the first time."));
        }
        if !self.has(item::WOOD_PICKAXE) || (!self.has(item::WOOD_SWORD) && self.reach(tiles::TABLE) <= 6) {
            return self.first_tools();
        }
        if !self.has(item::STONE_PICKAXE) {
            return self.stone_tools();
        }
        self.place_furnace().or_else(|| self.iron_tools())
    }

    fn first_tools(&self) -> Option<Choice> {
        let wood = self.count(item::WOOD);
        if wood >= 1 && self.reach(tiles::TABLE) <= 12 {
            return self.gather_station(tiles::TABLE);
        }
        if wood >= 4 || (wood >= 3 && self.reach(tiles::TREE) > 6) {
            return self.place_table();
        }
        self.gather(tiles::TREE)
    }

    fn stone_tools(&self) -> Option<Choice> {
        let (wood, stone) = (self.count(item::WOOD), self.count(item::STONE));
        let is_table_close = self.reach(tiles::TABLE) <= 8;
        let enough = if is_table_close { 2 } else { 4 };
        if wood < enough && self.reach(tiles::TREE) <= 10 && !self.is_torn {
            return self.gather(tiles::TREE);
        }
        if stone < 2 {
            return self.gather(tiles::STONE);
        }
        self.at_table(1)
    }

    /// Goes to a table with `needed` wood, or places one if there is wood for both.
    fn at_table(&self, needed: u8) -> Option<Choice> {
        let wood = self.count(item::WOOD);
        if wood < needed {
            return self.gather(tiles::TREE);
        }
        let far = self.reach(tiles::TABLE);
        if far <= 8 || (wood < needed + 2 && far <= 40) {
            return self.gather_station(tiles::TABLE);
        }
        if wood >= needed + 2 {
            self.place_table()
        } else {
            self.gather(tiles::TREE)
        }
    }

    /// Goes to a station until it is near enough to work at it.
    fn gather_station(&self, tile: u8) -> Option<Choice> {
        if self.is_near(tile) {
            return None;
        }
        let seen = self.now.find(tile);
        let why = || format!("I go to the {}.", tiles::name(tile));
        seen.and_then(|seen| self.approach(&self.atlas.candidates(seen), why()))
            .or_else(|| self.gather_remembered(tile, i32::MAX))
    }

    fn place_table(&self) -> Option<Choice> {
        if self.can_place() {
            return Some(Choice::new("Place Table", "I have wood enough for a table."));
        }
        self.face_ground(None, "I look for room for a table.")
    }

    /// The first furnace wherever stone is at hand; the one that is needed beside a table.
    fn place_furnace(&self) -> Option<Choice> {
        let is_first = !self.memory.has("place_furnace");
        if !is_first {
            return None;
        }
        if self.count(item::STONE) < 5 {
            return self.gather(tiles::STONE);
        }
        if self.can_place() {
            return Some(Choice::new("Place Furnace", "I have stone enough for a furnace."));
        }
        self.face_ground(None, "I look for room for a furnace.")
    }

    fn iron_tools(&self) -> Option<Choice> {
        let (wood, stone) = (self.count(item::WOOD), self.count(item::STONE));
        if self.has(item::IRON_PICKAXE) && self.now.find(tiles::DIAMOND).is_some() {
            return self.gather_seen(tiles::DIAMOND);
        }
        for (tile, what, most) in [(tiles::IRON, item::IRON, 4), (tiles::COAL, item::COAL, 4)] {
            if self.count(what) < most && self.now.find(tile).is_some() {
                let choice = self.gather_seen(tile);
                if choice.is_some() {
                    return choice;
                }
            }
        }
        let complete = self.has(item::IRON_PICKAXE) && self.has(item::IRON_SWORD) && self.has(item::STONE_SWORD);
        if !self.has(item::STONE_SWORD) && wood >= 1 && stone >= 1 && self.reach(tiles::TABLE) <= 10 {
            return self.gather_station(tiles::TABLE);
        }
        if !complete && self.has(item::COAL) && self.has(item::IRON) {
            return self.iron_works();
        }
        if stone < 5 && self.now.distance(tiles::STONE) <= 2 && !self.is_torn {
            return self.gather_seen(tiles::STONE);
        }
        if !complete && wood < 5 && self.reach(tiles::TREE) <= 6 && !self.is_torn {
            return self.gather(tiles::TREE);
        }
        if self.has(item::IRON_PICKAXE) {
            let diamond = self.gather(tiles::DIAMOND);
            if diamond.is_some() {
                return diamond;
            }
        }
        let iron = || self.gather(tiles::IRON).filter(|_| self.count(item::IRON) < 2);
        let coal = || self.gather(tiles::COAL).filter(|_| self.count(item::COAL) < 2);
        if complete { None } else { iron().or_else(coal) }
    }

    /// A table and a furnace side by side, and the tools that need both.
    fn iron_works(&self) -> Option<Choice> {
        if self.is_near(tiles::TABLE) {
            if self.is_near(tiles::FURNACE) {
                return None;
            }
            if self.count(item::STONE) < 4 {
                return self.gather(tiles::STONE);
            }
            if self.can_place() {
                return Some(Choice::new("Place Furnace", "The furnace goes beside the table."));
            }
            let table = self.now.find(tiles::TABLE);
            return self.face_ground(table, "I look for room for a furnace beside the table.");
        }
        self.at_table(1)
    }
}
