//! Ways over the map: the shortest in moves to every place, and what lies at the edge of the known.

use super::notes::Notes;
use super::screen::{Cell, Ground, HEIGHT, STEPS, Screen, WIDTH, beyond};

/// How far a walk may go out of its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Daring {
    /// Boulders are pushed.
    pub(super) boulders: bool,
    /// Traps are walked on.
    pub(super) traps: bool,
}

#[derive(Debug, Clone, Copy)]
struct Reach {
    moves: u32,
    first: u8,
}

/// Moves from a place to all others.
#[derive(Debug)]
pub(super) struct Routes {
    reach: Vec<Option<Reach>>,
    /// Places in the order of their distance, the start first.
    pub(super) order: Vec<Cell>,
}

fn index((x, y): Cell) -> Option<usize> {
    let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
    (x < WIDTH && (1..HEIGHT).contains(&y)).then_some(y * WIDTH + x)
}

impl Routes {
    /// All ways from a place. Doors are the end of a way while they are closed.
    /// The next step leads to none of the places in `taken`.
    pub(super) fn from(screen: &Screen<'_>, notes: &Notes, start: Cell, taken: &[Cell], daring: Daring) -> Self {
        let mut routes = Self {
            reach: vec![None; WIDTH * HEIGHT],
            order: vec![start],
        };
        if let Some(at) = index(start) {
            routes.reach[at] = Some(Reach { moves: 0, first: 0 });
        }
        let mut next = 0;
        while let Some(&cell) = routes.order.get(next) {
            next += 1;
            let Some(here) = index(cell).and_then(|at| routes.reach[at]) else {
                continue;
            };
            // A door the player stands in shows as the player: its walls tell.
            let door = |cell| matches!(screen.ground(cell), Ground::OpenDoor | Ground::ClosedDoor);
            if cell != start && screen.ground(cell) == Ground::ClosedDoor {
                continue;
            }
            for (number, (name, step)) in STEPS.iter().enumerate() {
                let to = beyond(cell, *step);
                let Some(at) = index(to).filter(|at| routes.reach[*at].is_none()) else {
                    continue;
                };
                let slanted = step.0 != 0 && step.1 != 0;
                let open = match screen.ground(to) {
                    Ground::Unseen | Ground::Solid => false,
                    Ground::Floor | Ground::Corridor => true,
                    Ground::OpenDoor | Ground::ClosedDoor => !slanted,
                    Ground::Boulder => daring.boulders && !slanted,
                    Ground::Trap => daring.traps,
                };
                let waits = cell == start && taken.contains(&to);
                if !open
                    || waits
                    || (slanted && door(cell))
                    || (!notes.no_way.is_empty() && notes.no_way.contains(&(cell, (*name).to_owned())))
                {
                    continue;
                }
                let first = if cell == start { number as u8 } else { here.first };
                routes.reach[at] = Some(Reach {
                    moves: here.moves + 1,
                    first,
                });
                routes.order.push(to);
            }
        }
        routes
    }

    /// Moves to a place.
    pub(super) fn moves(&self, to: Cell) -> Option<u32> {
        Some(self.reach[index(to)?]?.moves)
    }

    /// The first step to a place other than the start.
    pub(super) fn first(&self, to: Cell) -> Option<&'static str> {
        let reach = self.reach[index(to)?]?;
        (reach.moves > 0).then(|| STEPS[usize::from(reach.first)].0)
    }

    /// The nearest place beside something unseen that was not walked, and where there is none, the nearest closed door.
    pub(super) fn frontier(&self, screen: &Screen<'_>, notes: &Notes) -> Option<Cell> {
        let is_new = |cell: &&Cell| !notes.walked.contains(*cell) && is_edge(screen, **cell);
        let doors = |cell: &&Cell| screen.ground(**cell) == Ground::ClosedDoor && !notes.locked.contains_key(*cell);
        let rest = || self.order.iter().skip(1);
        let edge = rest().find(is_new);
        let door = rest().find(doors);
        match (edge, door) {
            // A door close by is worth more than an edge far away.
            (Some(edge), Some(door)) if self.moves(*door)? + 8 < self.moves(*edge)? => Some(*door),
            (Some(edge), _) => Some(*edge),
            (None, door) => door.copied(),
        }
    }
}

/// Whether a place touches something unseen. In a room an unseen corner is no way on; corridors turn at any angle.
pub(super) fn is_edge(screen: &Screen<'_>, cell: Cell) -> bool {
    if screen.ground(cell) == Ground::ClosedDoor {
        return false;
    }
    let corridor = screen.ground(cell) == Ground::Corridor;
    STEPS.iter().any(|(_, step)| {
        let to = beyond(cell, *step);
        let straight = step.0 == 0 || step.1 == 0;
        index(to).is_some() && (1..79).contains(&to.0) && (straight || corridor) && screen.ground(to) == Ground::Unseen
    })
}
