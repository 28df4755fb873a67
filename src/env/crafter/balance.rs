//! Creatures come and go, chunk by chunk, every tenth step.

use super::map::{Map, Object, Pos};
use super::rng::Rng;
use super::tiles;

/// How one kind of creature is kept in balance.
struct Kind {
    kind: u8,
    ground: u8,
    /// Nearest distance to the player at which one appears.
    span: i32,
    /// Nearest distance to the player at which one disappears.
    despan: i32,
    spawn: f64,
    despawn: f64,
}

const KINDS: [Kind; 3] = [
    Kind {
        kind: tiles::ZOMBIE,
        ground: tiles::GRASS,
        span: 6,
        despan: 0,
        spawn: 0.3,
        despawn: 0.4,
    },
    Kind {
        kind: tiles::SKELETON,
        ground: tiles::PATH,
        span: 7,
        despan: 7,
        spawn: 0.1,
        despawn: 0.1,
    },
    Kind {
        kind: tiles::COW,
        ground: tiles::GRASS,
        span: 5,
        despan: 5,
        spawn: 0.01,
        despawn: 0.1,
    },
];

impl Kind {
    /// Fewest and most creatures of a chunk with `cells` cells of their ground.
    fn targets(&self, cells: u32, light: f64) -> (usize, usize) {
        match self.kind {
            tiles::ZOMBIE => {
                let most = (3.5 - 3.0 * light) as usize;
                (if cells < 50 { 0 } else { most }, most)
            }
            tiles::SKELETON => (usize::from(cells >= 6), 2),
            _ => (usize::from(cells >= 30), (1.5 + light) as usize),
        }
    }
}

/// Balances every chunk that has ever held an object.
pub(super) fn balance(map: &mut Map, rng: &mut Rng, light: f64) {
    for chunk in 0..map.chunks().len() {
        for kind in &KINDS {
            balance_kind(map, rng, light, chunk, kind);
        }
    }
}

fn balance_kind(map: &mut Map, rng: &mut Rng, light: f64, chunk: usize, kind: &Kind) {
    let origin: Pos = map.chunks()[chunk].origin;
    let player = map.player().pos;
    let is_one = |map: &Map, slot: u16| map.get(slot).kind == kind.kind;
    let here = map.chunks()[chunk]
        .members
        .iter()
        .filter(|slot| is_one(map, **slot))
        .count();
    let cells = map.count(origin, kind.ground);
    let (fewest, most) = kind.targets(cells, light);
    if here < fewest && rng.uniform() < kind.spawn {
        let pick = rng.below(cells);
        if let Some(pos) = map.nth(origin, kind.ground, pick)
            && map.occupant(pos).is_none()
            && player.distance(pos) >= kind.span
        {
            map.add(Object::new(kind.kind, pos));
        }
    } else if here > most && rng.uniform() < kind.despawn {
        let pick = rng.below(here as u32) as usize;
        let members = &map.chunks()[chunk].members;
        let picked = members.iter().copied().filter(|slot| is_one(map, *slot)).nth(pick);
        if let Some(slot) = picked
            && player.distance(map.get(slot).pos) >= kind.despan
        {
            map.remove(slot);
        }
    }
}
