//! The tile pictures of `tiles.txt`: parsed once, looked up by id and size.
//!
//! Owns pixels and letters as data. Must not know terminals or panes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A colour.
pub(crate) type Rgb = (u8, u8, u8);

/// Sides of the pictures, in pixels, largest first.
pub(crate) const SIZES: [usize; 3] = [8, 6, 4];

/// The tile of nothing: beyond the map, or an id that has no picture.
pub(crate) const NOTHING: u8 = 0;
/// The player facing south; the other directions and asleep follow from [`PLAYER_NORTH`].
pub(crate) const PLAYER: u8 = 13;
/// The player facing north, then west, east, asleep.
pub(crate) const PLAYER_NORTH: u8 = 32;

const WATER: u8 = 1;
const GRASS: u8 = 2;
const PATH: u8 = 4;
const SAND: u8 = 5;

/// One tile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tile {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its one pixel on the whole map.
    pub(crate) color: Rgb,
    /// Its letter.
    pub(crate) letter: char,
    /// Pixels by size as in [`SIZES`], row by row; `None` lets the ground show.
    pictures: [Vec<Option<Rgb>>; 3],
}

impl Tile {
    /// The colour of a pixel; `size` is an index into [`SIZES`].
    pub(crate) fn pixel(&self, size: usize, x: usize, y: usize) -> Option<Rgb> {
        self.pictures
            .get(size)
            .and_then(|pixels| pixels.get(y * SIZES[size] + x).copied())
            .flatten()
    }
}

static TILES: LazyLock<Vec<Option<Tile>>> = LazyLock::new(|| {
    let mut tiles = parse(include_str!("tiles.txt"));
    (0..=PLAYER_NORTH + 3).map(|id| tiles.remove(&id)).collect()
});

/// The tile of an id; unknown ids look like nothing.
pub(crate) fn tile(id: u8) -> &'static Tile {
    static NONE: LazyLock<Tile> = LazyLock::new(|| Tile {
        name: "unknown",
        color: (13, 14, 18),
        letter: '?',
        pictures: [Vec::new(), Vec::new(), Vec::new()],
    });
    TILES.get(usize::from(id)).and_then(Option::as_ref).unwrap_or(&NONE)
}

/// Whether things can stand on the tile, so that it is what shows behind them.
pub(crate) fn is_ground(id: u8) -> bool {
    matches!(id, WATER | GRASS | PATH | SAND)
}

/// Whether the tile covers the ground only in part.
pub(crate) fn needs_ground(id: u8) -> bool {
    matches!(id, 6 | 11 | 13..=18 | 32..=35)
}

/// What most likely lies under a thing, from the tiles around it.
pub(crate) fn ground_under(id: u8, around: impl Iterator<Item = u8>) -> u8 {
    let usual = match id {
        6 | 18 => return GRASS,
        16 => PATH,
        _ => GRASS,
    };
    let mut counts = [0u8; 6];
    for near in around.filter(|near| is_ground(*near) && *near != WATER) {
        counts[usize::from(near)] += 1;
    }
    counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .max_by_key(|(ground, count)| (**count, *ground == usize::from(usual)))
        .map_or(usual, |(ground, _)| ground as u8)
}

/// Reads the file of tiles. What it cannot read it leaves out; a test sees to it that nothing is.
fn parse(text: &'static str) -> BTreeMap<u8, Tile> {
    let mut paints: BTreeMap<char, Rgb> = BTreeMap::new();
    let mut tiles = BTreeMap::new();
    let mut lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .peekable();
    while let Some(line) = lines.next() {
        let mut words = line.split(' ');
        match words.next() {
            Some("paint") => {
                if let (Some(name), Some(color)) = (words.next(), words.next().and_then(hex)) {
                    paints.extend(name.chars().next().map(|name| (name, color)));
                }
            }
            Some("tile") => {
                let (Some(id), Some(name), Some(color), Some(letter)) = (
                    words.next().and_then(|id| id.parse().ok()),
                    words.next(),
                    words.next().and_then(hex),
                    words.next().and_then(|letter| letter.chars().next()),
                ) else {
                    continue;
                };
                let mut pictures = [Vec::new(), Vec::new(), Vec::new()];
                while let Some(size) = lines
                    .peek()
                    .and_then(|line| line.parse::<usize>().ok())
                    .and_then(|side| SIZES.iter().position(|known| *known == side))
                {
                    lines.next();
                    pictures[size] = lines
                        .by_ref()
                        .take(SIZES[size])
                        .flat_map(str::chars)
                        .map(|paint| paints.get(&paint).copied())
                        .collect();
                }
                tiles.insert(
                    id,
                    Tile {
                        name,
                        color,
                        letter,
                        pictures,
                    },
                );
            }
            _ => {}
        }
    }
    tiles
}

fn hex(text: &str) -> Option<Rgb> {
    let value = u32::from_str_radix(text, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    Some((r, g, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_has_every_size_and_only_known_paints() {
        let text = include_str!("tiles.txt");
        let paints: Vec<char> = text
            .lines()
            .filter_map(|line| line.strip_prefix("paint ")?.chars().next())
            .collect();
        let ids: Vec<u8> = (0..=18).chain(32..=35).collect();
        let tiles = parse(text);
        assert_eq!(tiles.keys().copied().collect::<Vec<_>>(), ids);
        for (id, tile) in &tiles {
            for (size, pixels) in tile.pictures.iter().enumerate() {
                assert_eq!(pixels.len(), SIZES[size].pow(2), "tile {id} at {}", SIZES[size]);
                assert_eq!(
                    pixels.iter().any(Option::is_none),
                    needs_ground(*id),
                    "tile {id} at {}: dots are for tiles on a ground",
                    SIZES[size]
                );
            }
        }
        for line in text.lines().filter(|line| !line.contains(' ') && line.len() > 1) {
            assert!(line.chars().all(|c| c == '.' || paints.contains(&c)), "{line}");
        }
    }

    #[test]
    fn the_ground_under_a_thing_is_what_lies_around() {
        assert_eq!(ground_under(PLAYER, [SAND, SAND, GRASS, WATER].into_iter()), SAND);
        assert_eq!(ground_under(PLAYER, std::iter::empty()), GRASS);
        assert_eq!(ground_under(16, [3, 3, 3].into_iter()), PATH);
        assert_eq!(ground_under(6, [SAND; 4].into_iter()), GRASS);
    }
}
