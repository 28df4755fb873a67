//! The list of runs in a pseudo-terminal: start, play, delete, undo; several runs at once.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::terminal::Terminal;
use common::{run_json, scripted_run};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs in the workspace's folder.
fn runs(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(home.join("workspace/runs")) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "db"))
        .collect()
}

/// Fills a field of the dialog from where it is, and goes on to the next.
fn fill(terminal: &mut Terminal, text: &str) {
    terminal.send("\x15");
    terminal.send(text);
    terminal.send("\t");
}

/// Writes seeds, steps and workers into the dialog.
fn numbers(terminal: &mut Terminal, seeds: &str, steps: &str, workers: &str) {
    terminal.send("\t\t\t\t");
    fill(terminal, seeds);
    fill(terminal, steps);
    terminal.send("\x15");
    terminal.send(workers);
}

#[test]
fn a_run_is_started_watched_deleted_and_brought_back() {
    let room = room();
    let home = room.path();
    let mut terminal = Terminal::start(home, &[], 120, 40);
    terminal.wait_for("Something else");
    terminal.send("n");
    terminal.wait_for("New run");
    // What is wrong stays in the dialog.
    numbers(&mut terminal, "7x", "5", "1");
    terminal.send("\r");
    terminal.wait_for("no seed");
    terminal.send("\x15");
    terminal.send("7");
    terminal.send("\r");
    terminal.wait_until("the end of the run", |screen| {
        screen.contains("replay") && screen.contains("step 5")
    });
    terminal.send("1");
    terminal.wait_for("✓ done");
    let path = runs(home).pop().unwrap();
    terminal.send("d");
    terminal.wait_for("delete it");
    terminal.send("y");
    terminal.wait_for("Something else");
    assert!(runs(home).is_empty());
    terminal.wait_for("u brings it back");
    terminal.send("u");
    terminal.wait_for("✓ done");
    let report = run_json(home, &["verify", path.to_str().unwrap(), "--json"]);
    assert_eq!((&report["ok"], &report["steps"]), (&true.into(), &5.into()), "{report}");
    // At the end what is deleted is gone for good.
    terminal.send("d");
    terminal.wait_for("delete it");
    terminal.send("y");
    terminal.wait_for("Something else");
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
    assert!(runs(home).is_empty() && !home.join("workspace/trash").exists());
}

#[test]
fn two_runs_play_at_once_and_are_steered_from_the_list() {
    let room = room();
    let home = room.path();
    let mut terminal = Terminal::start(home, &[], 160, 48);
    terminal.wait_for("Something else");
    terminal.send("\r");
    terminal.wait_for("LIVE");
    terminal.send("1");
    terminal.wait_for("● running");
    terminal.send("n");
    terminal.wait_for("New run");
    numbers(&mut terminal, "1..3", "9999", "3");
    terminal.send("\r");
    let screen = terminal.wait_until("the new one", |screen| {
        screen.contains("LIVE") && screen.contains("of 3")
    });
    assert!(screen.contains("seed 1 "), "{screen}");
    terminal.send("1");
    // One in the header, one a row.
    terminal.wait_until("both", |screen| {
        screen.contains("×3") && screen.matches("● ").count() >= 3
    });
    // The newest is the first row: its episodes with their progress.
    terminal.send("g");
    terminal.send("l");
    terminal.wait_until("three episodes", |screen| screen.matches("/9999").count() >= 3);
    terminal.wait_until("their speed", |screen| screen.matches("/s ").count() >= 3);
    terminal.send("d");
    terminal.wait_for("stops it first");
    terminal.send(" ");
    terminal.wait_for("‖ paused");
    terminal.send(" ");
    terminal.wait_until("on again", |screen| !screen.contains("‖ paused"));
    // It is opened, then the other one again.
    terminal.send("\r");
    let screen = terminal.wait_for("LIVE");
    assert!(screen.contains("of 3"), "{screen}");
    terminal.send("1");
    terminal.wait_for("newest first");
    terminal.send("g");
    terminal.send("x");
    terminal.wait_for("Stop the run for good?");
    terminal.send("y");
    terminal.wait_for("■ stopped");
    terminal.send("G");
    terminal.send("\r");
    terminal.wait_for("LIVE");
    terminal.send("q");
    terminal.wait_for("still running");
    terminal.send("y");
    assert!(terminal.wait_exit().success());
    let said = terminal.screen();
    assert_eq!(said.matches("watch it again").count(), 2, "{said}");
    assert_eq!(said.matches("go on with it").count(), 1, "{said}");
    assert!(terminal.is_restored());
}

#[test]
fn a_run_in_the_background_leaves_the_list_where_it_is() {
    let room = room();
    let home = room.path();
    let mut terminal = Terminal::start(home, &[], 120, 40);
    terminal.wait_for("Something else");
    terminal.send("n");
    terminal.wait_for("New run");
    numbers(&mut terminal, "1,2", "5", "2");
    terminal.send("\x02");
    terminal.wait_for("✓ done");
    // The dialog offers what was started last, also in a new session.
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    let mut terminal = Terminal::start(home, &[], 120, 40);
    terminal.wait_for("✓ done");
    terminal.send("n");
    let screen = terminal.wait_for("New run");
    assert!(screen.contains("1,2"), "{screen}");
    terminal.send("\x1b");
    terminal.wait_until("no dialog", |screen| !screen.contains("New run"));
    terminal.send("q");
    assert!(terminal.wait_exit().success());
}

#[test]
fn what_a_crash_left_in_the_trash_is_offered_back() {
    let room = room();
    let home = room.path();
    std::fs::create_dir_all(home.join("workspace/runs")).unwrap();
    scripted_run(home, "workspace/runs/a.db", "42", 5);
    scripted_run(home, "workspace/runs/b.db", "43", 5);
    let mut terminal = Terminal::start(home, &[], 100, 30);
    terminal.wait_for("2 · newest first");
    terminal.send("d");
    terminal.wait_for("delete it");
    terminal.send("y");
    terminal.wait_for("1 deleted");
    let status = std::process::Command::new("kill")
        .args(["-KILL", &terminal.pid().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    terminal.wait_exit();
    let mut terminal = Terminal::start(home, &[], 100, 30);
    terminal.wait_for("left in the trash");
    assert_eq!(runs(home).len(), 1);
    terminal.send("u");
    terminal.wait_for("bring them back");
    terminal.send("y");
    terminal.wait_for("2 · newest first");
    assert_eq!(runs(home).len(), 2);
    terminal.send("q");
    assert!(terminal.wait_exit().success());
}
