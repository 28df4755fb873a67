//! LOG: what the last action did, written into the notes.

use crate::protocol::{DONE, print_op};
use crate::types::Phase;

use super::notes::{Last, Notes, TRIES, WALKED};
use super::prompt::Prompt;
use super::screen::{Asked, Cell, Screen, beyond, step_of};

/// Messages that say a step leads nowhere, whenever it is tried.
const NO_WAY: [&str; 9] = [
    "a wall",
    "solid stone",
    "diagonally",
    "in vain",
    "squeeze",
    "carrying too much",
    "iron bars",
    "a tree",
    "There is a boulder",
];

/// Messages that say the player is held for a while.
const HELD: [&str; 8] = ["pit", "web", "trap", "stuck", "hold", "crawl", "cannot escape", "swap"];
/// Searches at a place after which steps that led nowhere are tried once more.
const SECOND_THOUGHTS: u32 = 25;

/// The first turn of a phase: read the notes.
pub(super) fn consult(prompt: &Prompt<'_>) -> String {
    let mut text = match prompt.phase {
        Phase::Log => String::from("What had I noted?\n"),
        Phase::Plan => String::from("Where have I been, what have I tried?\n"),
    };
    if prompt.lists(WALKED) {
        text.push_str(&print_op("SEARCH", &[WALKED, &format!("Dlvl {} row", prompt.level())]));
        text.push('\n');
    }
    if prompt.lists(TRIES) {
        text.push_str(&print_op("READ", &[TRIES]));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes what is new.
pub(super) fn record(prompt: &Prompt<'_>) -> String {
    let Some(screen) = &prompt.screen else {
        return DONE.to_owned();
    };
    let before = prompt.notes();
    let level = prompt.level();
    let now = after(prompt, screen, before.clone(), level);
    let mut text = String::new();
    let mut write = |op: &str, args: &[&str]| {
        text.push_str(&print_op(op, args));
        text.push('\n');
    };
    if !prompt.keeps_walked && (now.walked != before.walked || !prompt.lists(WALKED)) {
        write("WRITE", &[WALKED, &now.walked_text(level)]);
    }
    if now != before || !prompt.lists(TRIES) {
        write("WRITE", &[TRIES, &now.tries_text(level)]);
    }
    let step = prompt.step;
    if before.last.is_some_and(|last| last.level != level) {
        write("APPEND", &["events.txt", &format!("[{step}] reached Dlvl {level}")]);
    }
    if !prompt.keeps_stairs {
        for (x, y) in now.stairs.difference(&before.stairs) {
            write(
                "APPEND",
                &[
                    "map_notes.txt",
                    &format!("[{step}] Dlvl {level}: stairs down at {x},{y}"),
                ],
            );
        }
    }
    let heard = screen.message.lines().find(|line| is_news(line));
    if let Some(line) = heard {
        write("APPEND", &["events.txt", &format!("[{step}] Dlvl {level}: {line}")]);
    }
    text.push_str(DONE);
    text
}

/// Whether a message is worth a line.
fn is_news(line: &str) -> bool {
    [
        "You kill",
        "You destroy",
        "Welcome to experience level",
        "You fall through",
        "You feel that",
        "You begin praying",
    ]
    .iter()
    .any(|word| line.contains(word))
}

/// The notes as they are after the last action.
fn after(prompt: &Prompt<'_>, screen: &Screen<'_>, mut notes: Notes, level: u32) -> Notes {
    let action = prompt.previous;
    let last = notes.last.filter(|last| last.level == level);
    if notes.last.is_some_and(|last| last.level != level) {
        let kept = (notes.peaceful, notes.prayed);
        notes = Notes {
            peaceful: kept.0,
            prayed: kept.1,
            walked: if prompt.keeps_walked {
                notes.walked
            } else {
                Default::default()
            },
            ..Notes::default()
        };
    }
    let cell = match (screen.asked, screen.cursor, last) {
        (None, Some(cell), _) => cell,
        (_, _, Some(last)) => last.cell,
        _ => return notes,
    };
    if screen.asked.is_none() {
        notes.walked.insert(cell);
    }
    if screen.message.contains("Really attack") {
        // The question may call it otherwise than the description does.
        notes.peaceful.extend(attacked(screen.message));
        notes.peaceful.extend(screen.beside(action).map(str::to_owned));
    }
    if action == "pray" || screen.message.contains("You begin praying") {
        notes.prayed = screen.status.map(|status| status.turn);
    }
    notes.stairs.extend(
        screen
            .find('>')
            .filter(|_| screen.speaks_of("stairs down") || screen.speaks_of("ladder down")),
    );
    if screen.message.contains("staircase down here") || screen.message.contains("ladder down here") {
        notes.stairs.insert(cell);
    }
    if prompt.is_boxoban {
        notes.fountains.extend(screen.find('{'));
    }
    let stayed = last.is_some_and(|last| last.cell == cell);
    if let (Some(last), Some(step)) = (last, step_of(action)) {
        tried(&mut notes, screen, last, action, step, stayed);
    }
    if action == "search" && stayed {
        let searched = notes.searched.entry(cell).or_insert(0);
        *searched += 1;
        if searched.is_multiple_of(SECOND_THOUGHTS) {
            notes.no_way.clear();
        }
    }
    if prompt.is_boxoban {
        super::boxoban::follow(&mut notes, screen, cell, action, !stayed);
    }
    let still = match last {
        Some(last) if stayed && action != "search" => last.still + 1,
        _ => 0,
    };
    notes.last = Some(Last {
        level,
        cell,
        still: still.min(99),
        kicking: screen.asked == Some(Asked::Direction) && action == "kick",
    });
    notes
}

/// What came of a step, or of a direction that was asked for.
fn tried(notes: &mut Notes, screen: &Screen<'_>, last: Last, action: &str, step: Cell, stayed: bool) {
    let to = beyond(last.cell, step);
    let said = |word: &str| screen.message.contains(word);
    if last.kicking {
        if said("WHAMM") || said("Ouch") || said("Thump") {
            *notes.locked.entry(to).or_insert(0) += 1;
        } else {
            notes.locked.remove(&to);
        }
        return;
    }
    if !stayed || screen.asked.is_some() {
        return;
    }
    if said("locked") {
        notes.locked.entry(to).or_insert(0);
    } else if NO_WAY.iter().any(|word| said(word))
        || (last.still >= 7 && !HELD.iter().any(|word| said(word)) && !screen.creature(to))
    {
        notes.no_way.insert((last.cell, action.to_owned()));
    }
}

/// The name in `Really attack the gnome lord?`.
fn attacked(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("Really attack ")?;
    let name = rest.split('?').next()?;
    Some(name.trim_start_matches("the ").trim().to_owned())
}
