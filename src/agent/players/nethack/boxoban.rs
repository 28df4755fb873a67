//! Boxoban: boulders are pushed onto fountains. A bounded search over pushes; what it does not find in time is not solved.
//!
//! Owns the search and the form of a solution: the letters n, e, s and w, a move each.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::notes::Notes;
use super::screen::{Cell, Ground, HEIGHT, STEPS, Screen, WIDTH, beyond};

/// Positions that are looked at.
const MOST_NODES: usize = 60_000;
/// What stands for a puzzle that was not solved.
const GIVEN_UP: &str = "none found";

const CELLS: usize = WIDTH * HEIGHT;
const FAR: u16 = u16::MAX;

fn at((x, y): Cell) -> usize {
    y as usize * WIDTH + x as usize
}

fn cell(index: usize) -> Cell {
    ((index % WIDTH) as i32, (index / WIDTH) as i32)
}

fn letter(direction: usize) -> char {
    ['n', 'e', 's', 'w'][direction]
}

/// The next move of the solution; without one, a move that pushes nothing.
pub(super) fn next(screen: &Screen<'_>, notes: &Notes, pos: Cell) -> Option<&'static str> {
    let named = |c: char| {
        STEPS[..4]
            .iter()
            .find(|(name, _)| name.starts_with(c))
            .map(|(name, _)| *name)
    };
    if notes.solution != GIVEN_UP
        && let Some(action) = notes.solution.chars().next().and_then(named)
    {
        return Some(action);
    }
    STEPS[..4]
        .iter()
        .find(|(_, step)| screen.ground(beyond(pos, *step)) == Ground::Floor)
        .map(|(name, _)| *name)
}

/// Keeps the solution in step with what was done, and looks for one when there is none.
pub(super) fn follow(notes: &mut Notes, screen: &Screen<'_>, pos: Cell, action: &str, moved: bool) {
    if notes.solution == GIVEN_UP {
        return;
    }
    let goes_on = moved && !notes.solution.is_empty() && notes.solution.starts_with(&action[..action.len().min(1)]);
    if goes_on {
        notes.solution.remove(0);
        if !notes.solution.is_empty() {
            return;
        }
    }
    let boulders: Vec<Cell> = Screen::cells()
        .filter(|cell| screen.ground(*cell) == Ground::Boulder)
        .collect();
    let mut fountains: Vec<Cell> = notes.fountains.iter().copied().collect();
    if boulders.is_empty() || boulders.len() > 8 {
        return;
    }
    // What stood on a fountain when it was first seen is hidden still: on the boulder last pushed, if any.
    if fountains.len() < boulders.len() {
        return;
    }
    fountains.truncate(64);
    let open = |cell: Cell| matches!(screen.ground(cell), Ground::Floor | Ground::Boulder) || cell == pos;
    notes.solution = Puzzle::new(open, &fountains)
        .solve(pos, &boulders)
        .unwrap_or_else(|| GIVEN_UP.to_owned());
}

/// The unmoving part of a puzzle.
struct Puzzle {
    open: Vec<bool>,
    /// Pushes from a cell to the nearest fountain; [`FAR`] where a boulder never comes out.
    pushes: Vec<u16>,
}

type Boulders = Vec<u16>;

impl Puzzle {
    fn new(is_open: impl Fn(Cell) -> bool, fountains: &[Cell]) -> Self {
        let mut open = vec![false; CELLS];
        Screen::cells()
            .filter(|cell| is_open(*cell))
            .for_each(|cell| open[at(cell)] = true);
        // Backwards from the fountains: a boulder pulled from here to there can be pushed from there to here.
        let mut pushes = vec![FAR; CELLS];
        let mut queue: VecDeque<Cell> = fountains.iter().copied().collect();
        queue.iter().for_each(|cell| pushes[at(*cell)] = 0);
        while let Some(here) = queue.pop_front() {
            for (_, step) in &STEPS[..4] {
                let from = beyond(here, *step);
                let hero = beyond(from, *step);
                let inside = |(x, y): Cell| (0..WIDTH as i32).contains(&x) && (1..HEIGHT as i32).contains(&y);
                if inside(from) && inside(hero) && open[at(from)] && open[at(hero)] && pushes[at(from)] == FAR {
                    pushes[at(from)] = pushes[at(here)] + 1;
                    queue.push_back(from);
                }
            }
        }
        Self { open, pushes }
    }

    fn estimate(&self, boulders: &Boulders) -> Option<u32> {
        boulders
            .iter()
            .map(|b| Some(self.pushes[usize::from(*b)]).filter(|n| *n != FAR).map(u32::from))
            .sum()
    }

    /// Where the hero gets without a push, with the direction of the last move.
    fn walks(&self, from: usize, boulders: &Boulders) -> Vec<u8> {
        let mut came = vec![u8::MAX; CELLS];
        came[from] = 4;
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front() {
            for (number, (_, step)) in STEPS[..4].iter().enumerate() {
                let to = at(beyond(cell(here), *step));
                if self.open[to] && came[to] == u8::MAX && !boulders.contains(&(to as u16)) {
                    came[to] = number as u8;
                    queue.push_back(to);
                }
            }
        }
        came
    }

    /// Four in a square that cannot move, one of them a boulder that is not on a fountain.
    fn is_stuck(&self, boulder: usize, boulders: &Boulders) -> bool {
        let (x, y) = cell(boulder);
        let solid = |c: Cell| !self.open[at(c)] || boulders.contains(&(at(c) as u16));
        let loose = |c: Cell| boulders.contains(&(at(c) as u16)) && self.pushes[at(c)] != 0;
        [(-1, -1), (1, -1), (-1, 1), (1, 1)].iter().any(|(dx, dy)| {
            let square = [(x, y), (x + dx, y), (x, y + dy), (x + dx, y + dy)];
            square.iter().all(|c| solid(*c)) && square.iter().any(|c| loose(*c))
        })
    }

    fn solve(&self, hero: Cell, boulders: &[Cell]) -> Option<String> {
        let mut start: Boulders = boulders.iter().map(|cell| at(*cell) as u16).collect();
        start.sort_unstable();
        let mut nodes: Vec<(Boulders, usize, usize, usize, usize)> = Vec::new();
        let mut known: HashMap<(Boulders, usize), u32> = HashMap::new();
        let mut open = BinaryHeap::new();
        let estimate = self.estimate(&start)?;
        nodes.push((start, at(hero), usize::MAX, 0, 0));
        open.push(Reverse((estimate, 0_u32, 0_usize)));
        while let Some(Reverse((_, cost, number))) = open.pop() {
            if nodes.len() > MOST_NODES {
                return None;
            }
            let (boulders, hero) = (nodes[number].0.clone(), nodes[number].1);
            if boulders.iter().all(|b| self.pushes[usize::from(*b)] == 0) {
                return Some(self.told(&nodes, number));
            }
            let came = self.walks(hero, &boulders);
            let region = came.iter().position(|c| *c != u8::MAX)?;
            match known.get(&(boulders.clone(), region)) {
                Some(before) if *before <= cost => continue,
                _ => known.insert((boulders.clone(), region), cost),
            };
            for (place, boulder) in boulders.iter().enumerate() {
                let boulder = usize::from(*boulder);
                for (direction, (_, step)) in STEPS[..4].iter().enumerate() {
                    let to = at(beyond(cell(boulder), *step));
                    let stand = at(beyond(cell(boulder), (-step.0, -step.1)));
                    let free = self.open[to] && !boulders.contains(&(to as u16)) && self.pushes[to] != FAR;
                    if !free || came[stand] == u8::MAX {
                        continue;
                    }
                    let mut after = boulders.clone();
                    after[place] = to as u16;
                    if self.is_stuck(to, &after) {
                        continue;
                    }
                    after.sort_unstable();
                    let Some(rest) = self.estimate(&after) else { continue };
                    nodes.push((after, boulder, number, stand, direction));
                    // Somewhat greedy: any solution will do.
                    open.push(Reverse((cost + 1 + 2 * rest, cost + 1, nodes.len() - 1)));
                }
            }
        }
        None
    }

    /// The moves that lead to a node.
    fn told(&self, nodes: &[(Boulders, usize, usize, usize, usize)], last: usize) -> String {
        let mut pieces: Vec<String> = Vec::new();
        let mut number = last;
        while nodes[number].2 != usize::MAX {
            let (_, _, before, stand, direction) = nodes[number];
            let (boulders, hero) = (&nodes[before].0, nodes[before].1);
            let came = self.walks(hero, boulders);
            let mut walk = vec![letter(direction)];
            let mut here = stand;
            while here != hero && came[here] < 4 {
                let from = usize::from(came[here]);
                walk.push(letter(from));
                let step = STEPS[from].1;
                here = at(beyond(cell(here), (-step.0, -step.1)));
            }
            pieces.push(walk.iter().rev().collect());
            number = before;
        }
        pieces.reverse();
        pieces.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A level in Boxoban's own signs.
    fn solved(level: &str) -> Option<String> {
        let rows: Vec<Vec<char>> = level.lines().map(|line| line.chars().collect()).collect();
        let find = |sign: char| -> Vec<Cell> {
            rows.iter()
                .enumerate()
                .flat_map(|(y, row)| {
                    row.iter()
                        .enumerate()
                        .filter(move |(_, c)| **c == sign)
                        .map(move |(x, _)| (x as i32 + 1, y as i32 + 1))
                })
                .collect()
        };
        let walls = find('#');
        let inside = |(x, y): Cell| (1..=rows[0].len() as i32).contains(&x) && (1..=rows.len() as i32).contains(&y);
        let puzzle = Puzzle::new(|cell| inside(cell) && !walls.contains(&cell), &find('.'));
        let (hero, boulders) = (find('@')[0], find('$'));
        let solution = puzzle.solve(hero, &boulders)?;
        // Played by the rules, it ends with all boulders on fountains.
        let (mut hero, mut boulders) = (hero, boulders);
        for c in solution.chars() {
            let step = STEPS[..4].iter().find(|(name, _)| name.starts_with(c)).unwrap().1;
            let to = beyond(hero, step);
            assert!(!walls.contains(&to), "{solution} runs into a wall");
            if let Some(boulder) = boulders.iter().position(|b| *b == to) {
                let behind = beyond(to, step);
                assert!(
                    !walls.contains(&behind) && !boulders.contains(&behind),
                    "{solution} pushes what is stuck"
                );
                boulders[boulder] = behind;
            }
            hero = to;
        }
        let fountains = find('.');
        assert!(boulders.iter().all(|b| fountains.contains(b)), "{solution}");
        Some(solution)
    }

    #[test]
    fn small_puzzles_are_solved_by_the_rules() {
        assert_eq!(solved("######\n#@$ .#\n######").as_deref(), Some("ee"));
        assert!(solved("#######\n#@ $ .#\n# $ . #\n#     #\n#######").is_some());
        let medium = "##########\n##  ######\n## .     #\n## $ $ . #\n#  .#@ $ #\n# $  #  .#\n#      ###\n##########";
        assert!(solved(medium).is_some());
    }

    #[test]
    fn what_cannot_be_solved_is_given_up() {
        assert_eq!(solved("#####\n#$ .#\n#  @#\n#####"), None);
        assert_eq!(solved("######\n#@ $##\n#.####\n######"), None);
    }
}
