//! How a new world comes about: terrain from noise, then the first creatures.

use super::map::{Map, Object, Pos, SIDE};
use super::rng::Rng;
use super::simplex::Simplex;
use super::tiles;

/// Where the player starts; the land around is grass.
pub(super) const START: Pos = Pos { x: 32, y: 32 };

/// Fills a map that holds nothing but the player.
pub(super) fn generate(map: &mut Map, rng: &mut Rng) {
    let noise = Noise(Simplex::new(i64::from(rng.below((1 << 31) - 1))));
    let mut tunnels = vec![false; SIDE * SIDE];
    for x in 0..SIDE {
        for y in 0..SIDE {
            let material = noise.material(x as f64, y as f64, rng, &mut tunnels[x * SIDE + y]);
            map.set_material(Pos::new(x as i32, y as i32), material);
        }
    }
    for x in 0..SIDE {
        for y in 0..SIDE {
            let pos = Pos::new(x as i32, y as i32);
            if let Some(object) = first_object(map.material(pos), pos, tunnels[x * SIDE + y], rng) {
                map.add(object);
            }
        }
    }
}

fn distance(x: f64, y: f64) -> f64 {
    let (dx, dy) = (x - f64::from(START.x), y - f64::from(START.y));
    (dx * dx + dy * dy).sqrt()
}

struct Noise(Simplex);

impl Noise {
    /// One octave, `size` cells wide.
    fn at(&self, x: f64, y: f64, z: f64, size: f64) -> f64 {
        self.0.noise3(x / size, y / size, z)
    }

    /// The material of a cell. Draws from `rng` happen only where the condition before them holds.
    fn material(&self, x: f64, y: f64, rng: &mut Rng, tunnel: &mut bool) -> u8 {
        let start = (4.0 - distance(x, y)) + 2.0 * self.at(x, y, 8.0, 3.0);
        let start = 1.0 / (1.0 + (-start).exp());
        let water = (self.at(x, y, 3.0, 15.0) + 0.15 * self.at(x, y, 3.0, 5.0)) + 0.1 - 2.0 * start;
        let mountain = (self.at(x, y, 0.0, 15.0) + 0.3 * self.at(x, y, 0.0, 5.0)) / 1.3 - (4.0 * start + 0.3 * water);
        if start > 0.5 {
            tiles::GRASS
        } else if mountain > 0.15 {
            self.mountain(x, y, mountain, rng, tunnel)
        } else if water > 0.25 && water <= 0.35 && self.at(x, y, 4.0, 9.0) > -0.2 {
            tiles::SAND
        } else if water > 0.3 {
            tiles::WATER
        } else if self.at(x, y, 5.0, 7.0) > 0.0 && rng.uniform() > 0.8 {
            tiles::TREE
        } else {
            tiles::GRASS
        }
    }

    fn mountain(&self, x: f64, y: f64, mountain: f64, rng: &mut Rng, tunnel: &mut bool) -> u8 {
        if self.at(x, y, 6.0, 7.0) > 0.15 && mountain > 0.3 {
            tiles::PATH
        } else if self.at(2.0 * x, y / 5.0, 7.0, 3.0) > 0.4 || self.at(x / 5.0, 2.0 * y, 7.0, 3.0) > 0.4 {
            *tunnel = true;
            tiles::PATH
        } else if self.at(x, y, 1.0, 8.0) > 0.0 && rng.uniform() > 0.85 {
            tiles::COAL
        } else if self.at(x, y, 2.0, 6.0) > 0.4 && rng.uniform() > 0.75 {
            tiles::IRON
        } else if mountain > 0.18 && rng.uniform() > 0.994 {
            tiles::DIAMOND
        } else if mountain > 0.3 && self.at(x, y, 6.0, 5.0) > 0.35 {
            tiles::LAVA
        } else {
            tiles::STONE
        }
    }
}

/// The creature a cell starts with.
fn first_object(material: u8, pos: Pos, tunnel: bool, rng: &mut Rng) -> Option<Object> {
    if !super::rules::walkable(material) {
        return None;
    }
    let d = distance(f64::from(pos.x), f64::from(pos.y));
    if d > 3.0 && material == tiles::GRASS && rng.uniform() > 0.985 {
        Some(Object::new(tiles::COW, pos))
    } else if d > 10.0 && rng.uniform() > 0.993 {
        Some(Object::new(tiles::ZOMBIE, pos))
    } else if material == tiles::PATH && tunnel && rng.uniform() > 0.95 {
        Some(Object::new(tiles::SKELETON, pos))
    } else {
        None
    }
}
