//! The map: what every cell is made of, the objects on it, and the chunks they are counted in.
//!
//! Owns all bookkeeping, so that materials, objects, chunks and the picture of the map never
//! disagree. Must not know the rules by which things move. Orders matter here: objects are kept in
//! order of creation, chunks in order of their first object, members of a chunk in order of entry.

use super::rules;
use super::tiles::{self, MATERIALS};

/// Cells along one side of the map.
pub const SIDE: usize = 64;
/// Cells along one side of a chunk (the last ones are smaller).
const CHUNK: usize = 12;
const CHUNKS: usize = SIDE.div_ceil(CHUNK);
/// Marks the place of a removed object.
const GONE: u16 = u16::MAX;

/// A cell, or a step between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pos {
    /// Grows eastwards.
    pub x: i32,
    /// Grows southwards.
    pub y: i32,
}

impl Pos {
    /// A cell by its coordinates.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The cell one step further.
    #[must_use]
    pub const fn plus(self, step: Self) -> Self {
        Self::new(self.x + step.x, self.y + step.y)
    }

    /// Steps between two cells without diagonals.
    pub const fn distance(self, other: Self) -> i32 {
        (self.x - other.x).abs() + (self.y - other.y).abs()
    }

    /// Index in column order; `None` beyond the map.
    fn index(self) -> Option<usize> {
        let inside = 0..SIDE as i32;
        (inside.contains(&self.x) && inside.contains(&self.y)).then(|| self.x as usize * SIDE + self.y as usize)
    }

    fn chunk(self) -> usize {
        (self.x as usize / CHUNK) * CHUNKS + self.y as usize / CHUNK
    }
}

/// The four directions in the order in which Crafter numbers them.
pub(super) const DIRECTIONS: [Pos; 4] = [Pos::new(-1, 0), Pos::new(1, 0), Pos::new(0, -1), Pos::new(0, 1)];

/// Something that stands on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Its tile, 13 to 18.
    pub kind: u8,
    /// Its cell.
    pub pos: Pos,
    /// What is left of it. The player's health is an item, this one is not used.
    pub health: u8,
    /// Zombie: cooldown. Skeleton: reload. Plant: age.
    pub counter: u16,
    /// Player and arrow: where they look.
    pub facing: Pos,
}

impl Object {
    /// A new object.
    pub(super) fn new(kind: u8, pos: Pos) -> Self {
        let health = match kind {
            tiles::COW | tiles::SKELETON => 3,
            tiles::ZOMBIE => 5,
            tiles::PLANT => 1,
            _ => 0,
        };
        Self {
            kind,
            pos,
            health,
            counter: 0,
            facing: Pos::new(0, 1),
        }
    }
}

/// Where an object is kept. The player's is always [`PLAYER_SLOT`].
pub(super) type Slot = u16;
/// The player is the first object of a world.
pub(super) const PLAYER_SLOT: Slot = 0;

/// A chunk that has held an object.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// Its first column and row.
    pub(super) origin: Pos,
    /// Objects in it, in the order in which they came.
    pub(super) members: Vec<Slot>,
}

/// The map and all that stands on it.
#[derive(Debug, Clone)]
pub struct Map {
    /// Column by column.
    materials: Box<[u8; SIDE * SIDE]>,
    /// Row by row, objects drawn over the ground.
    picture: Box<[u8; SIDE * SIDE]>,
    /// Slot + 1 of the object on a cell, 0 for none.
    occupants: Box<[u16; SIDE * SIDE]>,
    slots: Vec<Object>,
    free: Vec<Slot>,
    freed: Vec<Slot>,
    order: Vec<Slot>,
    chunks: Vec<Chunk>,
    chunk_at: [Option<u8>; CHUNKS * CHUNKS],
    counts: [[u16; MATERIALS]; CHUNKS * CHUNKS],
    changes: u64,
}

impl Map {
    /// A map of nothing.
    pub(super) fn new() -> Self {
        let mut counts = [[0; MATERIALS]; CHUNKS * CHUNKS];
        for (i, count) in counts.iter_mut().enumerate() {
            let side = |n: usize| CHUNK.min(SIDE - n * CHUNK);
            count[0] = (side(i / CHUNKS) * side(i % CHUNKS)) as u16;
        }
        Self {
            materials: Box::new([0; SIDE * SIDE]),
            picture: Box::new([0; SIDE * SIDE]),
            occupants: Box::new([0; SIDE * SIDE]),
            slots: Vec::with_capacity(128),
            free: Vec::new(),
            freed: Vec::new(),
            order: Vec::with_capacity(128),
            chunks: Vec::with_capacity(CHUNKS * CHUNKS),
            chunk_at: [None; CHUNKS * CHUNKS],
            counts,
            changes: 0,
        }
    }

    /// Materials, column by column (`x * 64 + y`).
    pub fn materials(&self) -> &[u8] {
        &self.materials[..]
    }

    /// What is seen, row by row (`y * 64 + x`): objects over materials.
    pub fn picture(&self) -> &[u8] {
        &self.picture[..]
    }

    /// How often a material has changed; equal numbers mean equal materials.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The material of a cell; nothing beyond the map.
    pub fn material(&self, pos: Pos) -> u8 {
        pos.index().map_or(tiles::NOTHING, |i| self.materials[i])
    }

    /// What is seen on a cell; nothing beyond the map.
    pub fn tile(&self, pos: Pos) -> u8 {
        pos.index().map_or(tiles::NOTHING, |_| self.picture[picture_index(pos)])
    }

    pub(super) fn set_material(&mut self, pos: Pos, material: u8) {
        let Some(i) = pos.index() else { return };
        let before = std::mem::replace(&mut self.materials[i], material);
        if before != material {
            let counts = &mut self.counts[pos.chunk()];
            counts[usize::from(before)] -= 1;
            counts[usize::from(material)] += 1;
            self.changes += 1;
            if self.occupants[i] == 0 {
                self.picture[picture_index(pos)] = material;
            }
        }
    }

    /// The object on a cell.
    pub(super) fn occupant(&self, pos: Pos) -> Option<Slot> {
        pos.index().and_then(|i| self.occupants[i].checked_sub(1))
    }

    pub(super) fn get(&self, slot: Slot) -> &Object {
        &self.slots[usize::from(slot)]
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Object {
        &mut self.slots[usize::from(slot)]
    }

    /// The player.
    pub fn player(&self) -> &Object {
        self.get(PLAYER_SLOT)
    }

    /// All objects in order of their creation.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.order
            .iter()
            .filter(|slot| **slot != GONE)
            .map(|slot| self.get(*slot))
    }

    /// Places in the order of creation, those of removed objects included until [`Self::settle`].
    pub(super) fn places(&self) -> usize {
        self.order.len()
    }

    /// The object at a place; `None` when it was removed.
    pub(super) fn place(&self, place: usize) -> Option<Slot> {
        self.order.get(place).copied().filter(|slot| *slot != GONE)
    }

    /// Chunks in order of their first object.
    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Puts a new object on its cell.
    pub(super) fn add(&mut self, object: Object) {
        let Some(i) = object.pos.index() else { return };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[usize::from(slot)] = object;
                slot
            }
            None => {
                self.slots.push(object);
                (self.slots.len() - 1) as Slot
            }
        };
        self.order.push(slot);
        self.occupants[i] = slot + 1;
        self.picture[picture_index(object.pos)] = object.kind;
        self.enter_chunk(slot, object.pos);
    }

    /// Takes an object off the map. Its slot is given to another only after [`Self::settle`].
    pub(super) fn remove(&mut self, slot: Slot) {
        let pos = self.get(slot).pos;
        if let Some(place) = self.order.iter_mut().find(|place| **place == slot) {
            *place = GONE;
        }
        self.vacate(pos);
        self.leave_chunk(slot, pos);
        self.freed.push(slot);
    }

    /// Moves an object to a free cell.
    pub(super) fn relocate(&mut self, slot: Slot, to: Pos) {
        let Some(i) = to.index() else { return };
        let object = self.get_mut(slot);
        let (kind, from) = (object.kind, std::mem::replace(&mut object.pos, to));
        self.vacate(from);
        self.occupants[i] = slot + 1;
        self.picture[picture_index(to)] = kind;
        if from.chunk() != to.chunk() {
            self.leave_chunk(slot, from);
            self.enter_chunk(slot, to);
        }
    }

    /// Closes the gaps that removed objects have left.
    pub(super) fn settle(&mut self) {
        if !self.freed.is_empty() {
            self.order.retain(|slot| *slot != GONE);
            self.free.append(&mut self.freed);
        }
    }

    /// Whether nothing stands on the cell and the material passes the test.
    pub(super) fn is_free(&self, pos: Pos, passable: impl Fn(u8) -> bool) -> bool {
        pos.index()
            .is_some_and(|i| self.occupants[i] == 0 && passable(self.materials[i]))
    }

    /// Whether a creature can walk onto the cell.
    pub(super) fn is_walkable(&self, pos: Pos) -> bool {
        self.is_free(pos, rules::walkable)
    }

    /// How many cells of a chunk are of a material.
    pub(super) fn count(&self, origin: Pos, material: u8) -> u32 {
        u32::from(self.counts[origin.chunk()][usize::from(material)])
    }

    /// The `n`th cell of a material in a chunk, column by column.
    pub(super) fn nth(&self, origin: Pos, material: u8, n: u32) -> Option<Pos> {
        let end = |from: i32| (from + CHUNK as i32).min(SIDE as i32);
        (origin.x..end(origin.x))
            .flat_map(|x| (origin.y..end(origin.y)).map(move |y| Pos::new(x, y)))
            .filter(|pos| self.material(*pos) == material)
            .nth(n as usize)
    }

    fn vacate(&mut self, pos: Pos) {
        if let Some(i) = pos.index() {
            self.occupants[i] = 0;
            self.picture[picture_index(pos)] = self.materials[i];
        }
    }

    fn enter_chunk(&mut self, slot: Slot, pos: Pos) {
        let key = pos.chunk();
        let at = *self.chunk_at[key].get_or_insert_with(|| {
            let origin = Pos::new(pos.x - pos.x % CHUNK as i32, pos.y - pos.y % CHUNK as i32);
            self.chunks.push(Chunk {
                origin,
                members: Vec::new(),
            });
            (self.chunks.len() - 1) as u8
        });
        self.chunks[usize::from(at)].members.push(slot);
    }

    fn leave_chunk(&mut self, slot: Slot, pos: Pos) {
        if let Some(at) = self.chunk_at[pos.chunk()] {
            self.chunks[usize::from(at)].members.retain(|member| *member != slot);
        }
    }
}

fn picture_index(pos: Pos) -> usize {
    pos.y as usize * SIDE + pos.x as usize
}
