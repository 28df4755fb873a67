//! The paths a person takes, with the real binary in a pseudo-terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::Duration;

use common::terminal::Terminal;
use common::{run_json, scripted_run};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The step number in `step 12` or `12 of 300` on the screen.
fn shown_step(screen: &str) -> Option<u32> {
    screen.lines().rev().find_map(|line| {
        let (before, _) = line.split_once(" of ")?;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    })
}

#[test]
fn watch_pause_step_resume_quit_and_replay() {
    let room = room();
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
    let screen = terminal.wait_for("LIVE");
    for pane in ["Game", "Memory", "Actions", "Scaffold"] {
        assert!(screen.contains(pane), "no pane {pane}:\n{screen}");
    }
    terminal.send(" ");
    terminal.wait_for("PAUSED");
    std::thread::sleep(Duration::from_millis(500));
    let at = shown_step(&terminal.screen()).expect("a step on the timeline");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(shown_step(&terminal.screen()), Some(at), "a paused agent must not move");
    terminal.send(".");
    terminal.wait_until("one more step", |screen| shown_step(screen) == Some(at + 1));
    terminal.send(" ");
    terminal.wait_until("more steps", |screen| {
        shown_step(screen).is_some_and(|step| step > at + 4)
    });
    terminal.send("q");
    terminal.wait_for("running");
    terminal.send("y");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored(), "the terminal was not given back");

    // What was seen is on disk, and replays.
    let report = run_json(room.path(), &["verify", out.to_str().unwrap(), "--json"]);
    assert_eq!(report["ok"], true, "{report}");
    assert!(report["steps"].as_u64().unwrap() > u64::from(at));
    let mut terminal = Terminal::start(room.path(), &["replay", out.to_str().unwrap()], 160, 48);
    terminal.wait_for("Game");
    terminal.send("g");
    terminal.wait_until("step 0", |screen| shown_step(screen) == Some(0));
    terminal.send("\x1b[C\x1b[C\x1b[C");
    terminal.wait_until("step 3", |screen| shown_step(screen) == Some(3));
    terminal.send("\x1b[D");
    terminal.wait_until("step 2", |screen| shown_step(screen) == Some(2));
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn a_prompt_opens_and_help_lists_the_keys() {
    let room = room();
    let run = scripted_run(room.path(), "run.db", "42", 30);
    let mut terminal = Terminal::start(room.path(), &["replay", run.to_str().unwrap()], 80, 24);
    terminal.wait_for("Game");
    terminal.send(":12\r");
    terminal.wait_until("step 12", |screen| shown_step(screen) == Some(12));
    terminal.send("?");
    terminal.wait_for("next step");
    terminal.send("\x1b");
    terminal.send("\t\t");
    terminal.wait_for("PLAN");
    terminal.send("\r");
    terminal.wait_for("PHASE:");
    terminal.send("\x1b");
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn the_first_start_offers_the_scripted_player_and_plays_at_once() {
    let room = room();
    let mut terminal = Terminal::start(room.path(), &[], 80, 24);
    terminal.wait_for("scripted");
    terminal.send("\r");
    terminal.wait_for("LIVE");
    terminal.wait_until("a step", |screen| shown_step(screen).is_some_and(|step| step > 3));
    terminal.send("q");
    terminal.wait_for("running");
    terminal.send("y");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn a_small_terminal_is_told_what_is_needed_and_recovers() {
    let room = room();
    let run = scripted_run(room.path(), "run.db", "42", 10);
    let mut terminal = Terminal::start(room.path(), &["replay", run.to_str().unwrap()], 40, 10);
    terminal.wait_for("60");
    terminal.resize(100, 30);
    terminal.wait_for("Game");
    terminal.resize(80, 24);
    terminal.wait_for("Game");
    terminal.send("q");
    assert!(terminal.wait_exit().success());
}

#[test]
fn sigterm_gives_the_terminal_back_and_keeps_the_record() {
    let room = room();
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
        "--out",
        out.to_str().unwrap(),
    ];
    let mut terminal = Terminal::start(room.path(), &args, 100, 30);
    terminal.wait_until("a step", |screen| shown_step(screen).is_some_and(|step| step > 3));
    let status = std::process::Command::new("kill")
        .args(["-TERM", &terminal.pid().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    terminal.wait_exit();
    assert!(terminal.is_restored(), "the terminal was not given back");
    let report = run_json(room.path(), &["verify", out.to_str().unwrap(), "--json"]);
    assert_eq!(report["ok"], true, "{report}");
}
