//! Reading a prompt: phase, step, previous action, observation, results of memory operations.
//!
//! Tolerant of whatever else the prompt says: things are found by the lines that introduce them.

use crate::env::crafter::{ITEMS, tiles};
use crate::types::{ChatRole, Message, Phase};

/// A cell, or a step between two cells: x grows eastwards, y southwards.
pub(super) type Cell = (i32, i32);

/// What the messages of a chat say.
#[derive(Debug)]
pub(super) struct Prompt<'a> {
    pub(super) phase: Phase,
    pub(super) step: u32,
    pub(super) previous: Option<&'a str>,
    pub(super) observation: Observation,
    /// What memory operations gave; `None` in the first turn of a phase.
    pub(super) results: Option<&'a str>,
    /// The one file that the rules allow; `None` where there may be many.
    pub(super) one_file: Option<&'a str>,
    opening: &'a str,
}

/// Something in view, by distance and the signs of its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) tile: u8,
    pub(super) distance: i32,
    pub(super) toward: Cell,
}

impl Seen {
    pub(super) fn is_straight(&self) -> bool {
        self.toward.0 == 0 || self.toward.1 == 0
    }

    /// Whether it is one of the eight cells around.
    pub(super) fn is_near(&self) -> bool {
        self.distance == 1 || (self.distance == 2 && !self.is_straight())
    }
}

/// An observation.
#[derive(Debug, Clone, Default)]
pub(super) struct Observation {
    /// False when the prompt has none.
    pub(super) is_there: bool,
    pub(super) asleep: bool,
    pub(super) seen: Vec<Seen>,
    pub(super) front: u8,
    /// Items by number, vitals first.
    pub(super) items: [u8; 16],
}

impl Observation {
    /// The nearest thing of a kind.
    pub(super) fn find(&self, tile: u8) -> Option<&Seen> {
        self.seen.iter().find(|seen| seen.tile == tile)
    }

    /// Whether nothing is shown at all, as in the first columns and rows of the map.
    pub(super) fn is_blind(&self) -> bool {
        self.is_there && self.seen.is_empty() && self.front == tiles::NOTHING
    }

    /// Distance of the nearest thing of a kind.
    pub(super) fn distance(&self, tile: u8) -> i32 {
        self.find(tile).map_or(i32::MAX, |seen| seen.distance)
    }
}

impl<'a> Prompt<'a> {
    /// Reads a chat.
    pub(super) fn read(messages: &'a [Message]) -> Self {
        let users = || {
            messages
                .iter()
                .rev()
                .filter(|message| message.role == ChatRole::User)
                .map(|message| message.content.as_str())
        };
        let last = users().next().unwrap_or("");
        let opening = users()
            .find(|text| text.contains("PHASE:"))
            .or_else(|| users().find(|text| text.contains("You face ")))
            .unwrap_or(last);
        let headline = opening.lines().find(|line| line.contains("PHASE:"));
        let headline = headline.or_else(|| opening.lines().next()).unwrap_or("");
        let observed = users().find(|text| text.contains("You face ")).unwrap_or(opening);
        Self {
            phase: if headline.contains("LOG") {
                Phase::Log
            } else {
                Phase::Plan
            },
            step: value_of(opening, "STEP:")
                .and_then(|word| word.parse().ok())
                .unwrap_or(0),
            previous: value_of(opening, "PREVIOUS ACTION:").filter(|action| !action.is_empty()),
            observation: read_observation(observed),
            results: after_line(last, "RESULTS"),
            one_file: messages
                .iter()
                .find_map(|message| value_of(&message.content, "Memory: one file,"))
                .map(|name| name.trim_end_matches('.')),
            opening,
        }
    }
}

impl Prompt<'_> {
    /// What the prompt that opened the phase tells of places and possessions, when the scaffold keeps
    /// track of them itself: then only what is new needs to be written.
    pub(super) fn tracked(&self) -> Option<&str> {
        self.opening.contains("\nPOSITION: ").then_some(self.opening)
    }

    /// Whether the prompt that opened the phase shows a file's text, under a line with its name: `== progress.txt ==`.
    pub(super) fn shows(&self, file: &str) -> bool {
        self.opening
            .lines()
            .filter_map(|line| line.strip_prefix("== ")?.strip_suffix(" =="))
            .any(|name| name.strip_suffix(" (its end)").unwrap_or(name) == file)
    }

    /// What the prompt that opened the phase tells of memory by itself.
    pub(super) fn told(&self) -> &str {
        if self.tracked().is_some() || self.opening.contains("\n== ") {
            self.opening
        } else {
            ""
        }
    }

    /// The prompt that opened the phase.
    pub(super) fn opening(&self) -> &str {
        self.opening
    }

    /// Whether it is told to write only what is new.
    pub(super) fn wants_only_news(&self) -> bool {
        self.opening.contains("only what is new")
    }

    /// Whether the prompt that opened the phase names a file.
    pub(super) fn lists(&self, file: &str) -> bool {
        self.opening.contains(file)
    }
}

/// What stands behind a word that begins a line.
fn value_of<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.trim_start().strip_prefix(word))
        .map(|value| value.trim().trim_matches('"'))
}

/// The text after the first line that begins with a word.
fn after_line<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = if text.starts_with(word) {
        0
    } else {
        let mut from = 0;
        loop {
            let at = from + text[from..].find(word)?;
            if text[..at].ends_with('\n') {
                break at;
            }
            from = at + word.len();
        }
    };
    let line = text[start..].find('\n').map_or(text.len(), |end| start + end);
    Some(&text[line..])
}

/// The last observation in a text.
fn read_observation(text: &str) -> Observation {
    let mut observation = Observation::default();
    let Some(face) = text.rfind("You face ") else {
        return observation;
    };
    observation.is_there = true;
    let rest = &text[face + "You face ".len()..];
    observation.front = rest.find(" at your front").map_or(0, |end| tile(&rest[..end]));
    let see = text[..face].rfind("You see").unwrap_or(face);
    observation.seen = text[see..face].lines().filter_map(read_seen).collect();
    let before = &text[..see];
    let before = before.trim_end();
    observation.asleep = before
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.starts_with("You are sleeping"));
    let status = text.rfind("Your status:").unwrap_or(face);
    let mut started = false;
    for line in text[status..].lines() {
        let Some((name, count)) = line.strip_prefix("- ").and_then(|line| line.split_once(": ")) else {
            // The inventory comes after a heading; anything else after it is not ours.
            if started && !line.is_empty() && !line.starts_with("Your ") {
                break;
            }
            continue;
        };
        let digits = count.split('/').next().unwrap_or("");
        if let (Some(item), Ok(count)) = (ITEMS.iter().position(|item| *item == name), digits.trim().parse()) {
            observation.items[item] = count;
            started = true;
        }
    }
    observation
}

/// Reads `- tree 5 steps to your north-east`.
fn read_seen(line: &str) -> Option<Seen> {
    let mut words = line.strip_prefix("- ")?.split(' ');
    let tile = tile(words.next()?);
    let distance = words.next()?.parse().ok()?;
    let direction = words.next_back()?;
    let part = |positive: &str, negative: &str| {
        i32::from(direction.contains(positive)) - i32::from(direction.contains(negative))
    };
    Some(Seen {
        tile,
        distance,
        toward: (part("east", "west"), part("south", "north")),
    })
    .filter(|seen| seen.tile != tiles::NOTHING)
}

/// The tile of a name; nothing for a name that is none.
pub(super) fn tile(name: &str) -> u8 {
    tiles::NAMES.iter().position(|known| *known == name).unwrap_or(0) as u8
}

/// Whether the player can stand on it.
pub(super) fn is_ground(tile: u8) -> bool {
    matches!(tile, tiles::GRASS | tiles::PATH | tiles::SAND)
}

/// Whether it moves by itself.
pub(super) fn is_creature(tile: u8) -> bool {
    matches!(tile, tiles::COW | tiles::ZOMBIE | tiles::SKELETON | tiles::ARROW)
}

/// The step a move action takes.
pub(super) fn step_of(action: &str) -> Option<Cell> {
    DIRECTIONS
        .iter()
        .find(|(name, _)| {
            action
                .strip_prefix("Move ")
                .is_some_and(|rest| rest.eq_ignore_ascii_case(name))
        })
        .map(|(_, step)| *step)
}

/// The four directions by name.
pub(super) const DIRECTIONS: [(&str, Cell); 4] = [
    ("North", (0, -1)),
    ("East", (1, 0)),
    ("South", (0, 1)),
    ("West", (-1, 0)),
];
