//! The map as the player knows it, drawn from its notes, and ways through it.

use super::notes::MapNote;
use super::prompt::{Cell, Observation, Seen, is_ground};
use crate::env::crafter::tiles;

/// Cells along one side; the start is the cell (0, 0) in the middle.
const SIDE: i32 = 64;
const HALF: i32 = SIDE / 2;
/// Nothing is known of the cell.
const UNKNOWN: u8 = 0;
/// Something one can stand on.
const FREE: u8 = u8::MAX;
/// How far the view reaches.
const REACH: Cell = (4, 3);
/// West and north of these the game shows nothing at all.
pub(super) const BLIND: Cell = (-29, -30);

/// What a way may lead through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Means {
    /// Stone can be dug.
    pub(super) digs: bool,
    /// Stone can be laid over water and lava.
    pub(super) bridges: bool,
}

/// A first step of a way and what lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lead {
    pub(super) step: Cell,
    pub(super) tile: u8,
    /// Cost of the whole way.
    pub(super) cost: u32,
}

/// What is known of the map.
pub(super) struct Atlas {
    cells: Vec<u8>,
    pos: Cell,
    near_lava: bool,
}

impl Atlas {
    /// Draws the map from known cells, notes, the latest last, and what is seen now.
    pub(super) fn draw(cells: &[(Cell, u8)], notes: &[MapNote], pos: Cell, now: &Observation) -> Self {
        let mut atlas = Self {
            cells: vec![UNKNOWN; (SIDE * SIDE) as usize],
            pos,
            near_lava: false,
        };
        for (cell, tile) in cells {
            atlas.set(*cell, *tile);
        }
        for note in notes {
            atlas.add(note.pos, note.facing, note.front, &note.seen, true);
        }
        let facing = notes.last().map_or((0, 1), |note| note.facing);
        atlas.add(pos, facing, now.front, &now.seen, false);
        atlas.fear_lava(now);
        atlas
    }

    fn add(&mut self, pos: Cell, facing: Cell, front: u8, seen: &[Seen], is_past: bool) {
        self.set(pos, FREE);
        let solid = |seen: &&Seen| !is_ground(seen.tile);
        let nearest_solid = seen.iter().filter(solid).map(|seen| seen.distance).min();
        if !seen.is_empty() {
            // Nothing solid is nearer than the nearest solid thing. In old notes creatures are left
            // out, and what was dug or built since is told by later notes.
            let radius = nearest_solid.unwrap_or(8) - 1;
            for dx in -REACH.0..=REACH.0 {
                for dy in -REACH.1..=REACH.1 {
                    let cell = (pos.0 + dx, pos.1 + dy);
                    if dx.abs() + dy.abs() <= radius && (!is_past || !is_solid(self.get(cell))) {
                        self.set(cell, FREE);
                    }
                }
            }
        }
        for seen in seen.iter().filter(|seen| seen.is_straight()) {
            let cell = (
                pos.0 + seen.toward.0 * seen.distance,
                pos.1 + seen.toward.1 * seen.distance,
            );
            self.set(cell, seen.tile);
        }
        if front != tiles::NOTHING {
            self.set((pos.0 + facing.0, pos.1 + facing.1), front);
        }
    }

    /// Lava in view may be on any cell that fits what is seen of it.
    fn fear_lava(&mut self, now: &Observation) {
        let Some(lava) = now.find(tiles::LAVA) else { return };
        self.near_lava = lava.distance <= 1;
        for cell in self.candidates(lava) {
            if self.get(cell) == UNKNOWN {
                self.set(cell, tiles::LAVA);
            }
        }
    }

    fn index(cell: Cell) -> Option<usize> {
        let (x, y) = (cell.0 + HALF, cell.1 + HALF);
        ((0..SIDE).contains(&x) && (0..SIDE).contains(&y)).then_some((y * SIDE + x) as usize)
    }

    /// Whether the cell is where one sees nothing. It is closed to ways.
    fn is_blind(cell: Cell) -> bool {
        cell.0 <= BLIND.0 || cell.1 <= BLIND.1
    }

    pub(super) fn get(&self, cell: Cell) -> u8 {
        Self::index(cell).map_or(tiles::WATER, |i| self.cells[i])
    }

    fn set(&mut self, cell: Cell, tile: u8) {
        if let Some(i) = Self::index(cell) {
            self.cells[i] = tile;
        }
    }

    /// Whether nothing can come through the cell.
    pub(super) fn is_closed(&self, cell: Cell) -> bool {
        is_solid(self.get(cell))
    }

    /// Whether a step onto the cell cannot end in lava, as far as is known.
    pub(super) fn is_safe(&self, cell: Cell) -> bool {
        match self.get(cell) {
            tiles::LAVA => false,
            UNKNOWN => !self.near_lava,
            _ => true,
        }
    }

    /// The cells where something in view can be.
    pub(super) fn candidates(&self, seen: &Seen) -> Vec<Cell> {
        let at = |dx: i32, dy: i32| (self.pos.0 + seen.toward.0 * dx, self.pos.1 + seen.toward.1 * dy);
        if seen.is_straight() {
            return vec![at(seen.distance, seen.distance)];
        }
        let all: Vec<Cell> = (1..=REACH.0)
            .map(|dx| (dx, seen.distance - dx))
            .filter(|(_, dy)| (1..=REACH.1).contains(dy))
            .map(|(dx, dy)| at(dx, dy))
            .collect();
        let fitting = |cell: &Cell| matches!(self.get(*cell), known if known == UNKNOWN || known == seen.tile);
        let fits: Vec<Cell> = all.iter().copied().filter(fitting).collect();
        if fits.is_empty() { all } else { fits }
    }

    /// The first step of the cheapest way to a cell for which `arrived` holds; `None` without a way
    /// or when the player is there already.
    pub(super) fn way(&self, means: Means, arrived: impl Fn(Cell) -> bool) -> Option<Lead> {
        const RING: usize = 16;
        let start = Self::index(self.pos)?;
        let mut cost = vec![u32::MAX; self.cells.len()];
        let mut first = vec![u8::MAX; self.cells.len()];
        let mut ring: [Vec<usize>; RING] = Default::default();
        cost[start] = 0;
        ring[0].push(start);
        let mut waiting = 1_usize;
        let mut price = 0_u32;
        while waiting > 0 {
            while let Some(i) = ring[price as usize % RING].pop() {
                waiting -= 1;
                if cost[i] != price {
                    continue;
                }
                let cell = (i as i32 % SIDE - HALF, i as i32 / SIDE - HALF);
                if i != start && arrived(cell) {
                    let step = STEPS[usize::from(first[i])];
                    let tile = self.get((self.pos.0 + step.0, self.pos.1 + step.1));
                    return Some(Lead {
                        step,
                        tile,
                        cost: price,
                    });
                }
                for (n, step) in STEPS.iter().enumerate() {
                    let next = (cell.0 + step.0, cell.1 + step.1);
                    let Some(j) = Self::index(next).filter(|_| !Self::is_blind(next)) else {
                        continue;
                    };
                    let Some(toll) = self.toll(self.cells[j], means, i == start) else {
                        continue;
                    };
                    if price + toll < cost[j] {
                        cost[j] = price + toll;
                        first[j] = if i == start { n as u8 } else { first[i] };
                        ring[(price + toll) as usize % RING].push(j);
                        waiting += 1;
                    }
                }
            }
            price += 1;
        }
        None
    }

    /// What entering a cell costs; `None` where there is no entering.
    fn toll(&self, tile: u8, means: Means, is_next: bool) -> Option<u32> {
        match tile {
            FREE | tiles::GRASS | tiles::SAND | tiles::PATH => Some(2),
            // Lava is not always told apart from the unknown: no step into the dark beside it.
            UNKNOWN if self.near_lava && is_next => None,
            UNKNOWN => Some(3),
            tiles::COW | tiles::ZOMBIE | tiles::SKELETON | tiles::ARROW => Some(6),
            tiles::TREE => Some(9),
            tiles::STONE | tiles::COAL if means.digs => Some(5),
            tiles::WATER if means.bridges => Some(9),
            _ => None,
        }
    }

    /// The cells around the player that can be reached, up to `limit` of them, and where they end
    /// without a wall.
    pub(super) fn room(&self, limit: usize) -> Room {
        self.flood(self.pos, None, limit)
    }

    /// Whether a stone on `door` closes the room that `from` is in, as far as is known.
    pub(super) fn encloses(&self, door: Cell, from: Cell, limit: usize) -> bool {
        if self.is_closed(door) {
            return false;
        }
        let room = self.flood(from, Some(door), limit);
        room.openings.len() <= limit + 2 && self.only_unknown(&room.openings)
    }

    /// Whether all openings lead into what is not known, none to where one can surely walk.
    pub(super) fn only_unknown(&self, openings: &[(Cell, Cell)]) -> bool {
        openings
            .iter()
            .all(|(cell, step)| self.get((cell.0 + step.0, cell.1 + step.1)) == UNKNOWN)
    }

    fn flood(&self, from: Cell, door: Option<Cell>, limit: usize) -> Room {
        let mut cells = vec![from];
        let mut openings = Vec::new();
        let mut n = 0;
        while n < cells.len() {
            for step in STEPS {
                let next = (cells[n].0 + step.0, cells[n].1 + step.1);
                if self.is_closed(next) || cells.contains(&next) || door == Some(next) {
                    continue;
                }
                if self.get(next) == UNKNOWN || cells.len() >= limit {
                    openings.push((cells[n], step));
                } else {
                    cells.push(next);
                }
            }
            n += 1;
        }
        Room { openings }
    }
}

/// What surrounds the player.
pub(super) struct Room {
    /// Cells of the room and steps that lead out of it, or into what is not known.
    pub(super) openings: Vec<(Cell, Cell)>,
}

const STEPS: [Cell; 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

fn is_solid(tile: u8) -> bool {
    matches!(
        tile,
        tiles::WATER
            | tiles::STONE
            | tiles::TREE
            | tiles::LAVA
            | tiles::COAL
            | tiles::IRON
            | tiles::DIAMOND
            | tiles::TABLE
            | tiles::FURNACE
            | tiles::PLANT
    )
}
