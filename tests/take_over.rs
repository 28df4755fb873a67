//! A person takes over in a pseudo-terminal: plays, edits memory, speaks; all of it is recorded.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use common::terminal::Terminal;
use common::{run_json, run_ok};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A shell script that edits the file it is given.
fn editor(home: &Path, script: &str) -> PathBuf {
    let path = home.join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A run of the scripted player on the screen, paused, with the panel open.
fn taken(home: &Path, out: &Path, editor: &Path, steps: &str, size: (u16, u16)) -> Terminal {
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
        steps,
        "--out",
        out.to_str().unwrap(),
    ];
    let editor = editor.to_str().unwrap();
    let mut terminal = Terminal::start_as(home, &args, size, &[("EDITOR", editor), ("VISUAL", "")], &[]);
    terminal.wait_for("LIVE");
    terminal.wait_until("a step", |screen| screen.contains(" 2 of "));
    terminal.send("t");
    terminal.wait_for("your move");
    terminal
}

/// The step that waits for a person: `your move: step 12`.
fn my_move(screen: &str) -> Option<u32> {
    let (_, rest) = screen.split_once("your move: step ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Plays one step with a key and waits for the next move.
fn play(terminal: &mut Terminal, keys: &str) -> String {
    let before = my_move(&terminal.wait_for("your move")).unwrap();
    terminal.send(keys);
    terminal.wait_until("the next move", |screen| my_move(screen) == Some(before + 1))
}

#[test]
fn a_person_plays_edits_and_speaks_and_the_record_has_all_of_it() {
    let room = room();
    let home = room.path();
    let out = home.join("run.db");
    let editor = editor(home, "echo 'the lake is south' >> \"$1\"");
    let mut terminal = taken(home, &out, &editor, "40", (160, 48));
    let before = my_move(&terminal.screen()).unwrap();
    // From the list, then walking with an arrow.
    terminal.send("noop");
    terminal.wait_for("› noop");
    let screen = play(&mut terminal, "\r");
    assert!(screen.contains("Noop ◆ yours"), "{screen}");
    terminal.send("\x15\t");
    terminal.wait_for("arrows walk");
    let screen = play(&mut terminal, "\x1b[B");
    assert!(screen.contains("Move South ◆ yours"), "{screen}");
    // A new file, and what the agent is told.
    terminal.send("\x05");
    terminal.wait_for("Edit a memory file");
    terminal.send("from_me.txt");
    terminal.wait_for("new file");
    terminal.send("\r");
    let screen = terminal.wait_for("from_me.txt is edited");
    assert!(
        screen.contains("the lake is south"),
        "the edit shows at once:\n{screen}"
    );
    terminal.send("\x14");
    terminal.wait_for("tell the agent");
    terminal.send("mind the lava\r");
    terminal.wait_for("“mind the lava”");
    // Another size, and a stop as Ctrl-Z does it, with the panel open.
    terminal.resize(80, 24);
    terminal.wait_until("the panel in 80x24", |screen| {
        screen.contains("your move") && screen.lines().all(|line| line.chars().count() <= 80)
    });
    terminal.resize(160, 48);
    terminal.wait_for("Actions · all steps");
    terminal.send("\x1a");
    terminal.wait_until("the shell's screen", |screen| !screen.contains("your move"));
    let status = std::process::Command::new("kill")
        .args(["-CONT", &terminal.pid().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    terminal.wait_for("your move");
    // The game is given back, and the agent plays to the end.
    terminal.send("\x1b");
    terminal.wait_for("lets it go on");
    terminal.send(" ");
    terminal.wait_until("the end", |screen| {
        screen.contains("40 of 40") && screen.contains("replay")
    });
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());

    let report = run_json(home, &["verify", out.to_str().unwrap(), "--json"]);
    assert_eq!(
        (&report["ok"], &report["steps"]),
        (&true.into(), &40.into()),
        "{report}"
    );
    let all = run_ok(home, &["export", out.to_str().unwrap(), "--jsonl", "-"]);
    for event in ["human_acted", "human_edited", "human_said"] {
        assert!(all.contains(event), "no {event}");
    }
    let run = out.to_str().unwrap();
    let blame = run_ok(home, &["blame", run, "--file", "from_me.txt", "--step", "39", "--json"]);
    assert!(blame.contains("human"), "{blame}");
    assert!(all.contains("mind the lava") && all.contains("the lake is south"));
    assert!(all.contains(&format!("\"step\":{before}")), "{before}");
}

#[test]
fn an_editor_that_leaves_no_text_or_fails_loses_nothing() {
    let room = room();
    let home = room.path();
    let out = home.join("run.db");
    let script = "case \"$(cat \"$HOME_OF_TEST/how\")\" in
binary) printf '\\377\\376' > \"$1\" ;;
fail) exit 3 ;;
killed) kill -KILL $$ ;;
esac";
    let script = script.replace("$HOME_OF_TEST", home.to_str().unwrap());
    let editor = editor(home, &script);
    let mut terminal = taken(home, &out, &editor, "400", (120, 40));
    let memory = home.join("run.memory/ep_00");
    let before = std::fs::read_to_string(memory.join("strategy.txt"));
    for (how, said) in [
        ("binary", "no UTF-8"),
        ("fail", "ended with code 3"),
        ("killed", "ended by signal 9"),
    ] {
        std::fs::write(home.join("how"), how).unwrap();
        terminal.send("\x05");
        terminal.wait_for("Edit a memory file");
        terminal.send("strategy.txt");
        terminal.wait_for("› strategy.txt");
        terminal.send("\r");
        terminal.wait_for(said);
        assert_eq!(
            std::fs::read_to_string(memory.join("strategy.txt")).ok(),
            before.as_ref().ok().cloned()
        );
    }
    assert_eq!(
        std::fs::read(memory.join("strategy.txt.not-taken~")).unwrap(),
        b"\xff\xfe"
    );
    // Keys reach the screen again, and leaving is as ever.
    play(&mut terminal, "\r");
    terminal.send("\x1b");
    terminal.wait_for("lets it go on");
    terminal.send("q");
    terminal.wait_for("still running");
    terminal.send("y");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
    assert_eq!(run_json(home, &["verify", out.to_str().unwrap(), "--json"])["ok"], true);
}

#[test]
fn an_episode_that_ends_while_the_panel_is_open_says_so() {
    let room = room();
    let home = room.path();
    let out = home.join("run.db");
    let editor = editor(home, "true");
    let mut terminal = taken(home, &out, &editor, "8", (80, 24));
    while my_move(&terminal.screen()).is_some_and(|step| step < 7) {
        play(&mut terminal, "\r");
    }
    terminal.send("\r");
    terminal.wait_for("the episode is over");
    terminal.send("\r");
    terminal.wait_for("nothing more can be played");
    terminal.send("\x1b");
    terminal.wait_until("no panel", |screen| !screen.contains("Take over ─"));
    terminal.wait_for("replay");
    terminal.send("t");
    terminal.wait_for("this run is over");
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}
