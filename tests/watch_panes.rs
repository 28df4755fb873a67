//! The Memory and Actions panes as a person uses them, with the real binary in a pseudo-terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::scripted_run;
use common::terminal::Terminal;

/// The step number in `12 of 300` on the timeline.
fn shown_step(screen: &str) -> Option<u32> {
    let line = screen.lines().rev().find(|line| line.contains("×1"))?;
    let (before, _) = line.rsplit_once(" of ")?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn leave(mut terminal: Terminal) {
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored(), "the terminal was not given back");
}

#[test]
fn the_stream_is_filtered_searched_and_opened() {
    let room = tempfile::tempdir().unwrap();
    let run = scripted_run(room.path(), "run.db", "42", 60);
    let mut terminal = Terminal::start(room.path(), &["replay", run.to_str().unwrap()], 100, 30);
    terminal.wait_for("Game");
    terminal.send("\t\t");
    terminal.wait_for("PLAN");

    // A word that is none is told with those there are, and can be mended.
    terminal.send("Fop=APPEND\r");
    terminal.wait_for("no word of a filter");
    terminal.send("F\x15op:APPEND phase:LOG\r");
    let screen = terminal.wait_until("the filter's line", |screen| {
        screen.contains("only op:APPEND phase:LOG") && screen.contains(" steps") && !screen.contains("looking through")
    });
    assert!(!screen.contains("ACTION "), "other rows are hidden:\n{screen}");
    terminal.send("]");
    let screen = terminal.wait_until("the first match", |screen| screen.contains("1 of "));
    let first = shown_step(&screen).unwrap();
    terminal.send("]");
    let screen = terminal.wait_until("the second match", |screen| screen.contains("2 of "));
    assert!(shown_step(&screen).unwrap() > first, "{screen}");
    terminal.send("[");
    terminal.wait_until("back at the first", |screen| shown_step(screen) == Some(first));
    terminal.send("X");
    terminal.wait_until("everything again", |screen| screen.contains("ACTION "));

    // A search counts its places and always moves on.
    terminal.send("/tree\r");
    terminal.wait_until("places", |screen| screen.contains(" of ") && screen.contains("step "));
    let mut before = String::new();
    for _ in 0..4 {
        terminal.send("n");
        let seen = before.clone();
        let screen = terminal.wait_until("another place", move |screen| {
            let last = screen.lines().last().unwrap_or_default();
            last.contains(" of ") && last != seen
        });
        before = screen.lines().last().unwrap_or_default().to_owned();
    }
    terminal.send("/\r");

    // The exact prompt: heads with their sizes; parts fold.
    terminal.send("g\r");
    terminal.wait_for("PHASE: PLAN");
    terminal.send("\tg");
    terminal.wait_for("▸ rules · The game");
    terminal.send("\r");
    terminal.wait_until("the system's part open", |screen| {
        screen.contains("▾ system") && screen.contains("You are an agent that plays a long game")
    });
    terminal.send(" ");
    terminal.wait_for("▸ system");
    terminal.send("z");
    terminal.wait_for("▸ observation");
    terminal.send("zg");
    terminal.wait_for("▾ system");
    terminal.send("\x1b");
    terminal.wait_for("Actions");
    leave(terminal);
}

#[test]
fn a_line_leads_to_the_step_that_wrote_it_and_to_those_that_read_it() {
    let room = tempfile::tempdir().unwrap();
    let run = scripted_run(room.path(), "run.db", "42", 60);
    let mut terminal = Terminal::start(room.path(), &["replay", run.to_str().unwrap()], 120, 30);
    terminal.wait_for("Game");
    terminal.send("G\t");
    terminal.wait_until("the last step", |screen| shown_step(screen) == Some(60));
    terminal.send("\r");
    let screen = terminal.wait_until("blame and heat", |screen| {
        screen.contains("written ") && screen.contains("L ")
    });
    assert!(
        screen.contains("w·") || screen.contains("w▁") || screen.contains("r"),
        "{screen}"
    );
    // Up from the end of the file until a line of an earlier step is found.
    terminal.send("\r");
    let screen = terminal.wait_until("who wrote the line", |screen| screen.contains(" wrote the line"));
    if screen.contains("you were at step") {
        let step = shown_step(&screen).unwrap();
        assert!(step < 60, "{screen}");
        assert!(screen.contains(&format!("step {step} wrote the line")), "{screen}");
    }
    // The difference, with signs.
    terminal.send("d");
    terminal.wait_until("a difference", |screen| screen.contains("→") && screen.contains(" in "));
    terminal.send("d");
    let screen = terminal.wait_until("since the start", |screen| screen.contains("start → step"));
    assert!(screen.lines().any(|line| line.contains("+ ")), "{screen}");
    terminal.send("d");
    terminal.wait_until("the file again", |screen| !screen.contains("start → step"));
    terminal.send("o");
    terminal.wait_for("only file:");
    leave(terminal);
}

#[test]
fn an_edit_from_outside_shows_at_once_while_the_agent_is_paused() {
    let room = tempfile::tempdir().unwrap();
    let out = room.path().join("run.db");
    let args = [
        "watch",
        "--env",
        "crafter",
        "--scaffold",
        "crafter-v0",
        "--model",
        "scripted",
        "--seeds",
        "42",
        "--max-steps",
        "2000",
        "--out",
        out.to_str().unwrap(),
    ];
    let mut terminal = Terminal::start(room.path(), &args, 160, 48);
    terminal.wait_until("some steps", |screen| {
        screen.contains("LIVE") && shown_step(screen).is_some_and(|step| step > 3)
    });
    terminal.send(" ");
    terminal.wait_for("PAUSED");
    let root = room.path().join("run.memory/ep_00");
    // The watch may need a moment to stand: the edit is made again until it is told.
    let (mut told, mut last) = (None, String::new());
    for n in 0..20 {
        std::fs::write(root.join("from_outside.txt"), format!("a person wrote this, {n}\n")).unwrap();
        let began = std::time::Instant::now();
        while began.elapsed() < std::time::Duration::from_secs(2) && told.is_none() {
            let screen = terminal.screen();
            last.clone_from(&screen);
            told = screen.contains("◆ from_outside.txt").then_some(screen);
        }
        if told.is_some() {
            break;
        }
    }
    let screen = told.unwrap_or_else(|| panic!("the edit is not told:\n{last}"));
    assert!(
        screen.contains("from_outside.txt was ") && screen.contains("outside: it will be recorded"),
        "no notice:\n{screen}"
    );
    // One step on it is recorded, and the mark is gone.
    terminal.send(".");
    terminal.wait_until("the edit is recorded", |screen| {
        screen.contains("a person edited from_outside.txt") && !screen.contains("◆ from_outside.txt")
    });
    terminal.send("q");
    terminal.wait_for("running");
    terminal.send("y");
    assert!(terminal.wait_exit().success());
}
