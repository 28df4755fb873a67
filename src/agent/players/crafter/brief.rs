//! Notes for a scaffold with one short file, whose end is always shown: one new fact a step, looked up when it is needed.

use super::log::look;
use super::plan::{self, item};
use super::prompt::{Prompt, Seen};
use crate::env::crafter::tiles;

/// Things worth a fact, the rarest first.
const WORTH: [u8; 8] = [
    tiles::DIAMOND,
    tiles::IRON,
    tiles::COAL,
    tiles::TABLE,
    tiles::WATER,
    tiles::COW,
    tiles::STONE,
    tiles::TREE,
];
/// A vital at or below this is a need.
const LOW: u8 = 6;

/// LOG: one fact that the shown notes do not have, or nothing.
pub(super) fn record(prompt: &Prompt<'_>, file: &str) -> String {
    let known = prompt.opening();
    let new = |tile: &u8| {
        let seen = prompt.observation.find(*tile)?;
        let head = format!("{} is ", tiles::name(*tile));
        let toward = direction(seen);
        // What was noted of it last still holds while it lies in the same direction.
        let last = known.lines().rfind(|line| line.starts_with(&head));
        let holds = last.is_some_and(|line| line.ends_with(&format!(" {toward}")));
        (!holds).then(|| format!("{head}{} {toward}", seen.distance))
    };
    let mut text = String::new();
    if let Some(fact) = WORTH.iter().find_map(new) {
        look(&mut text, "APPEND", &[file, &fact]);
    }
    text.push_str("<|DONE|>");
    text
}

/// PLAN: look up what is needed and not in sight, when the notes have it; else act.
pub(super) fn decide(prompt: &Prompt<'_>, file: &str) -> String {
    let need = need(prompt).map(tiles::name);
    let known = prompt.opening();
    match need.filter(|need| prompt.results.is_none() && known.contains(&format!("{need} is "))) {
        Some(need) => {
            let mut text = String::new();
            look(&mut text, "SEARCH", &[file, need]);
            text.truncate(text.trim_end().len());
            text
        }
        None => plan::commit(prompt),
    }
}

/// What it needs most and does not see.
fn need(prompt: &Prompt<'_>) -> Option<u8> {
    let now = &prompt.observation;
    if !now.is_there {
        return None;
    }
    let wanted = if now.items[item::DRINK] <= LOW {
        tiles::WATER
    } else if now.items[item::FOOD] <= LOW {
        tiles::COW
    } else if now.items[item::WOOD_PICKAXE] == 0 {
        tiles::TREE
    } else if now.items[item::STONE_PICKAXE] == 0 {
        tiles::STONE
    } else {
        tiles::COAL
    };
    (now.distance(wanted) > 1).then_some(wanted)
}

fn direction(seen: &Seen) -> String {
    let (x, y) = seen.toward;
    let part = |n: i32, positive: &'static str, negative: &'static str| match n {
        0 => "",
        n if n > 0 => positive,
        _ => negative,
    };
    let (south, east) = (part(y, "south", "north"), part(x, "east", "west"));
    match (south, east) {
        ("", _) | (_, "") => format!("{south}{east}"),
        _ => format!("{south}-{east}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer;
    use crate::types::{ChatRole, Message};

    fn said(phase: &str, notes: &str, status: &str) -> String {
        let notes = match notes {
            "" => String::new(),
            notes => format!("notes.txt ends with:\n{notes}\n"),
        };
        answer(&[
            Message::new(
                ChatRole::System,
                "You play Crafter.\nMemory: one file, notes.txt.\nAnswer with tags only.",
            ),
            Message::new(
                ChatRole::User,
                format!(
                    "PHASE: {phase}\nSTEP: 3\nPREVIOUS ACTION: Noop\nYou see:\n- grass 1 step to your west\n- water 3 steps to \
                     your north-east\n- tree 4 steps to your west\n\nYou face grass at your front.\nYour status:\n- health: \
                     9/9\n- food: 9/9\n- drink: {status}/9\n- energy: 9/9\n\nYou have nothing in your inventory.\n{notes}"
                ),
            ),
        ])
    }

    #[test]
    fn one_new_fact_is_written_a_step_and_nothing_twice() {
        assert_eq!(
            said("LOG", "", "9"),
            "<|APPEND|>notes.txt|water is 3 north-east<|END|>\n<|DONE|>"
        );
        let more = said("LOG", "water is 3 north-east", "9");
        assert_eq!(more, "<|APPEND|>notes.txt|tree is 4 west<|END|>\n<|DONE|>");
        assert_eq!(said("LOG", "water is 9 north-east\ntree is 4 west", "9"), "<|DONE|>");
        let moved = said("LOG", "tree is 4 west\nwater is 2 south\ntree is 1 east", "9");
        assert_eq!(moved, "<|APPEND|>notes.txt|water is 3 north-east<|END|>\n<|DONE|>");
    }

    #[test]
    fn what_is_needed_is_looked_up_where_the_notes_have_it() {
        assert_eq!(
            said("PLAN", "water is 3 north-east", "3"),
            "<|SEARCH|>notes.txt|water<|END|>"
        );
        let acts = said("PLAN", "", "3");
        assert!(acts.contains("<|ACTION|>") && !acts.contains("SEARCH"), "{acts}");
    }
}
