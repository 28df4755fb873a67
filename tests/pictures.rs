//! Pictures in terminals that can show them and in those that cannot: fake terminals that answer
//! as real ones would.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::scripted_run;
use common::terminal::Terminal;

/// The end of the question: what every terminal answers.
const LAST: &str = "\u{1b}[c";
const KITTY: &str = "\u{1b}_Gi=31;OK\u{1b}\\\u{1b}_Gi=32;OK\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62;22c";
/// How a kitty's picture begins, and the letter that holds its place.
const SENT: &str = "\u{1b}_Gq=2,i=";
const HOLDS: char = '\u{10eeee}';

fn replay(home: &Path, size: (u16, u16), variables: &[(&str, &str)], answers: &[(&str, &str)]) -> Terminal {
    let run: PathBuf = home.join("run.db");
    if !run.exists() {
        scripted_run(home, "run.db", "42", 20);
    }
    let mut terminal = Terminal::start_as(home, &["replay", run.to_str().unwrap()], size, variables, answers);
    terminal.wait_for("Game");
    terminal
}

fn step_is(terminal: &mut Terminal, step: u32) {
    let said = format!(" {step} of 20");
    terminal.wait_for(&said);
}

fn times(terminal: &Terminal, text: &str) -> usize {
    let raw = String::from_utf8_lossy(terminal.raw());
    raw.matches(text).count()
}

#[test]
fn a_kitty_gets_pictures_after_the_first_frame_and_no_key_is_lost() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("workspace/runs")).unwrap();
    scripted_run(home.path(), "workspace/runs/run.db", "42", 20);
    // Three keys arrive in one piece with the answer: the help opens, and its filter is typed.
    let answer = format!("?z{KITTY}o");
    let mut terminal = Terminal::start_as(home.path(), &[], (160, 48), &[], &[(LAST, &answer)]);
    terminal.wait_for("› zo");
    terminal.send("\u{1b}");
    terminal.wait_until("the list", |screen| {
        !screen.contains("› zo") && screen.contains("crafter-v0")
    });
    terminal.send("\r");
    let asked = terminal.wait_raw("\u{1b}_Gi=31");
    let drawn = terminal.wait_raw("automem");
    assert!(drawn < asked, "the first frame comes first");
    terminal.wait_until("a picture", |screen| screen.contains(HOLDS));
    assert!(times(&terminal, SENT) >= 1);
    assert_eq!(times(&terminal, "o=z"), times(&terminal, SENT) + 1, "it inflates");

    // What lies over it takes it away, and it comes back without being sent again.
    let before = times(&terminal, SENT);
    terminal.send("?");
    terminal.wait_until("the help", |screen| {
        screen.contains("Keys of this place") && !screen.contains(HOLDS)
    });
    terminal.send("\u{1b}");
    terminal.wait_until("the picture again", |screen| screen.contains(HOLDS));
    assert_eq!(times(&terminal, SENT), before);
    // The runs take its place too.
    terminal.send("1");
    terminal.wait_until("the runs", |screen| {
        !screen.contains(HOLDS) && screen.contains("run.db")
    });
    terminal.send("2");
    terminal.wait_until("the picture again", |screen| screen.contains(HOLDS));
    // Another size is another picture.
    terminal.resize(80, 24);
    terminal.wait_until("a smaller one", |screen| {
        screen.contains(HOLDS) && screen.contains("[Game]")
    });
    assert!(times(&terminal, SENT) > before);
    // The key goes on to half-blocks.
    terminal.send("V");
    terminal.wait_until("half-blocks", |screen| !screen.contains(HOLDS) && screen.contains('▀'));
    // Back to the runs, then out.
    terminal.send("qq");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
    assert!(times(&terminal, "a=d,d=I") > 0, "its pictures are deleted");
}

#[test]
fn suspended_and_back_the_picture_is_sent_anew() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = replay(home.path(), (160, 48), &[], &[(LAST, KITTY)]);
    terminal.wait_until("a picture", |screen| screen.contains(HOLDS));
    let before = times(&terminal, SENT);
    terminal.send("\u{1a}");
    terminal.wait_raw("a=d,d=I");
    let pid = terminal.pid().to_string();
    // Stopped or not yet: it must come back either way.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let done = std::process::Command::new("kill")
        .args(["-CONT", &pid])
        .status()
        .unwrap();
    assert!(done.success());
    terminal.wait_until("the picture again", |screen| {
        screen.contains(HOLDS) && screen.contains("Game")
    });
    assert!(times(&terminal, SENT) > before);
    terminal.send("q");
    assert!(terminal.wait_exit().success());
}

#[test]
fn a_terminal_that_does_not_answer_gets_half_blocks_and_its_keys_count_at_once() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = replay(home.path(), (160, 48), &[], &[]);
    terminal.wait_raw(LAST);
    terminal.send("\u{1b}[Cll\u{1b}[D:");
    terminal.wait_for("Command");
    terminal.send("7\r");
    step_is(&mut terminal, 7);
    assert!(terminal.screen().contains('▀'));
    // Long after patience is over keys still come.
    std::thread::sleep(std::time::Duration::from_millis(2300));
    // An answer that comes too late is no keys: a `G` would go to the end.
    terminal.send(KITTY);
    terminal.send("\u{1b}[C");
    step_is(&mut terminal, 8);
    assert_eq!(times(&terminal, SENT), 0);
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn a_sixel_terminal_gets_sixels_and_is_emptied_when_they_go() {
    let home = tempfile::tempdir().unwrap();
    let answer = "\u{1b}[6;20;10t\u{1b}[?62;4;22c";
    let mut terminal = replay(home.path(), (160, 48), &[], &[(LAST, answer)]);
    let at = terminal.wait_raw("\u{1b}P");
    terminal.send("?");
    terminal.wait_for("Keys of this place");
    let raw = terminal.raw()[at..].to_vec();
    let raw = String::from_utf8_lossy(&raw);
    assert!(raw.contains("\u{1b}[2J"), "pixels go with what is emptied");
    assert_eq!(times(&terminal, SENT), 0);
    terminal.send("\u{1b}");
    terminal.send("q");
    assert!(terminal.wait_exit().success());
}

#[test]
fn who_does_not_want_pictures_is_not_asked() {
    let home = tempfile::tempdir().unwrap();
    for variables in [
        &[("AUTOMEM_PICTURES", "off")][..],
        &[("AUTOMEM_PICTURES", "letters")][..],
        &[("NO_COLOR", "1")][..],
        &[("TERM", "dumb"), ("COLORTERM", "")][..],
        &[("TERM", "screen-256color")][..],
    ] {
        let mut terminal = replay(home.path(), (160, 48), variables, &[(LAST, KITTY)]);
        terminal.send("l");
        step_is(&mut terminal, 1);
        terminal.send("q");
        assert!(terminal.wait_exit().success());
        assert_eq!(times(&terminal, "\u{1b}_G"), 0, "{variables:?}");
        assert_eq!(times(&terminal, LAST), 0, "{variables:?}");
    }
}

#[test]
fn a_protocol_that_was_named_is_used_without_asking() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("AUTOMEM_PICTURES", "iterm2")];
    let mut terminal = replay(home.path(), (160, 48), &variables, &[]);
    terminal.wait_raw("\u{1b}]1337;File=inline=1");
    assert_eq!(times(&terminal, LAST), 0);
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    let variables = [("AUTOMEM_PICTURES", "vga")];
    let mut terminal = Terminal::start_as(home.path(), &["replay", "run.db"], (80, 24), &variables, &[]);
    terminal.wait_for("halfblocks");
    assert!(!terminal.wait_exit().success());
}
