//! What the player keeps in memory files, and their lines: `walked.txt` (a line a row of cells it stood on) and
//! `tries.txt` (what it tried where, and where it was a step ago).
//!
//! Owns both forms, both ways: what was written is what is read. Lines that are none of these are passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::screen::Cell;

/// The cells that were walked. Some scaffolds keep this file themselves, in the same form.
pub(super) const WALKED: &str = "walked.txt";
/// What was tried.
pub(super) const TRIES: &str = "tries.txt";

/// Where the player was a step ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) level: u32,
    pub(super) cell: Cell,
    /// Steps in a row that ended there.
    pub(super) still: u32,
    /// The game was waiting for a direction to kick.
    pub(super) kicking: bool,
}

/// What is known of the level the player is on, and of the game.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) walked: BTreeSet<Cell>,
    /// How often a place was searched from.
    pub(super) searched: BTreeMap<Cell, u32>,
    /// How often a door was kicked; 0 when it is only known to be locked.
    pub(super) locked: BTreeMap<Cell, u32>,
    /// Steps that did not lead on, by their names.
    pub(super) no_way: BTreeSet<(Cell, String)>,
    /// Stairs down, also while something lies on them.
    pub(super) stairs: BTreeSet<Cell>,
    /// Fountains, also while a boulder stands on them.
    pub(super) fountains: BTreeSet<Cell>,
    /// Creatures that are not to be attacked.
    pub(super) peaceful: BTreeSet<String>,
    /// The turn of the last prayer.
    pub(super) prayed: Option<u32>,
    /// Moves of a solution that is under way.
    pub(super) solution: String,
    pub(super) last: Option<Last>,
}

impl Notes {
    /// Reads what memory operations gave, for a level.
    pub(super) fn read(text: &str, level: u32) -> Self {
        let mut notes = Self::default();
        let head = format!("Dlvl {level} ");
        for line in text.lines() {
            // A search puts the line's number before it.
            let line = match line.split_once(": ") {
                Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest,
                _ => line,
            };
            if let Some(rest) = line.strip_prefix(&head) {
                notes.take_place(rest);
            } else if let Some(turn) = line.strip_prefix("prayed at turn ") {
                notes.prayed = turn.trim().parse().ok().or(notes.prayed);
            } else if let Some(name) = line.strip_prefix("peaceful ") {
                notes.peaceful.insert(name.trim().to_owned());
            } else if let Some(moves) = line.strip_prefix("solution ") {
                moves.trim().clone_into(&mut notes.solution);
            } else if let Some(last) = line.strip_prefix("last Dlvl ").and_then(read_last) {
                notes.last = Some(last);
            }
        }
        notes
    }

    fn take_place(&mut self, rest: &str) {
        if let Some((row, columns)) = rest.strip_prefix("row ").and_then(|rest| rest.split_once(": ")) {
            let Ok(y) = row.parse::<i32>() else { return };
            for run in columns.split_whitespace() {
                let (from, to) = run.split_once('-').unwrap_or((run, run));
                if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
                    self.walked.extend((from..=to.min(79)).map(|x| (x, y)));
                }
            }
            return;
        }
        let Some((cell, what)) = rest
            .split_once(' ')
            .and_then(|(cell, what)| Some((read_cell(cell)?, what.trim())))
        else {
            return;
        };
        let count = |word: &str| what.strip_prefix(word).and_then(|n| n.trim().parse::<u32>().ok());
        if let Some(n) = count("searched ") {
            self.searched.insert(cell, n);
        } else if let Some(n) = count("locked, kicked ") {
            self.locked.insert(cell, n);
        } else if let Some(step) = what.strip_prefix("no way ") {
            self.no_way.insert((cell, step.to_owned()));
        } else if what == "stairs down" {
            self.stairs.insert(cell);
        } else if what == "fountain" {
            self.fountains.insert(cell);
        }
    }

    /// The text of `walked.txt`.
    pub(super) fn walked_text(&self, level: u32) -> String {
        let mut rows: BTreeMap<i32, Vec<(i32, i32)>> = BTreeMap::new();
        for (x, y) in &self.walked {
            let runs = rows.entry(*y).or_default();
            match runs.last_mut() {
                Some((_, to)) if *to == x - 1 => *to = *x,
                _ => runs.push((*x, *x)),
            }
        }
        let mut text = String::new();
        for (y, runs) in rows {
            let _ = write!(text, "Dlvl {level} row {y}:");
            for (from, to) in runs {
                let _ = if from == to {
                    write!(text, " {from}")
                } else {
                    write!(text, " {from}-{to}")
                };
            }
            text.push('\n');
        }
        text
    }

    /// The text of `tries.txt`.
    pub(super) fn tries_text(&self, level: u32) -> String {
        let mut text = String::new();
        if let Some(last) = self.last {
            let kicking = if last.kicking { ", kicking" } else { "" };
            let (x, y) = last.cell;
            let _ = writeln!(text, "last Dlvl {} {x},{y} still {}{kicking}", last.level, last.still);
        }
        if let Some(turn) = self.prayed {
            let _ = writeln!(text, "prayed at turn {turn}");
        }
        for name in &self.peaceful {
            let _ = writeln!(text, "peaceful {name}");
        }
        if !self.solution.is_empty() {
            let _ = writeln!(text, "solution {}", self.solution);
        }
        let mut line = |(x, y): Cell, what: &str| {
            let _ = writeln!(text, "Dlvl {level} {x},{y} {what}");
        };
        self.stairs.iter().for_each(|cell| line(*cell, "stairs down"));
        self.fountains.iter().for_each(|cell| line(*cell, "fountain"));
        for (cell, n) in &self.locked {
            line(*cell, &format!("locked, kicked {n}"));
        }
        for (cell, n) in &self.searched {
            line(*cell, &format!("searched {n}"));
        }
        for (cell, step) in &self.no_way {
            line(*cell, &format!("no way {step}"));
        }
        text
    }
}

fn read_cell(text: &str) -> Option<Cell> {
    let (x, y) = text.split_once(',')?;
    Some((x.parse().ok()?, y.parse().ok()?)).filter(|(x, y)| (0..80).contains(x) && (1..22).contains(y))
}

/// Reads `1 47,18 still 2, kicking`.
fn read_last(text: &str) -> Option<Last> {
    let (text, kicking) = match text.strip_suffix(", kicking") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let mut words = text.split_whitespace();
    Some(Last {
        level: words.next()?.parse().ok()?,
        cell: read_cell(words.next()?)?,
        still: words.nth(1)?.parse().ok()?,
        kicking,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells() -> impl Strategy<Value = BTreeSet<Cell>> {
        proptest::collection::btree_set((0..80_i32, 1..22_i32), 0..20)
    }

    fn counts() -> impl Strategy<Value = BTreeMap<Cell, u32>> {
        proptest::collection::btree_map((0..80_i32, 1..22_i32), 0..50_u32, 0..9)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            walked in cells(), stairs in cells(), searched in counts(), locked in counts(), level in 1..50_u32,
            prayed in proptest::option::of(0..5000_u32), kicking in any::<bool>(), still in 0..9_u32,
        ) {
            let notes = Notes {
                no_way: walked.iter().take(3).map(|cell| (*cell, "northeast".to_owned())).collect(),
                fountains: walked.iter().take(2).copied().collect(),
                peaceful: BTreeSet::from(["gnome lord".to_owned()]),
                last: Some(Last { level, cell: (3, 4), still, kicking }),
                solution: "nneesw".to_owned(),
                walked, stairs, searched, locked, prayed,
            };
            let text = format!("{}{}", notes.walked_text(level), notes.tries_text(level));
            prop_assert_eq!(Notes::read(&text, level), notes.clone());
            let numbered: String = text.lines().enumerate().fold(String::new(), |all, (n, line)| format!("{all}{n}: {line}\n"));
            prop_assert_eq!(Notes::read(&numbered, level).walked, notes.walked);
            prop_assert!(Notes::read(&text, level + 50).walked.is_empty());
        }

        #[test]
        fn anything_else_is_passed_over(text in "(?s).{0,80}") {
            let _ = Notes::read(&text, 1);
            let _ = Notes::read(&format!("Dlvl 1 {text}\nlast Dlvl {text}"), 1);
        }
    }
}
