//! A person curates training data in a pseudo-terminal: opens a selection, filters, decides on one and on many, takes
//! it back, commits, has it certified; what the database and the training set hold then is compared.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use automem::config::Workspace;
use automem::jobs::Cancel;
use automem::review::{Desk, Dossier, Item, ProposalId, State, What};
use automem::tune::select::rules::{Rules, select};
use automem::tune::{dataset, harvest, propose};
use automem::types::Phase;
use common::scripted_run;
use common::terminal::Terminal;

fn desk(home: &Path) -> Desk {
    Desk::open(&Workspace::at(home.join("workspace"))).unwrap()
}

fn dossier(home: &Path, id: &ProposalId) -> Dossier {
    desk(home).dossier(id).unwrap()
}

/// A selection from the run; its second episode is on a seed of the gate.
fn propose(home: &Path, run: PathBuf, minimum: u32) -> (ProposalId, Vec<Item>) {
    let harvest = harvest::harvest(&[run], &Cancel::new(), &mut |_| {}).unwrap();
    let rules = Rules::default();
    let gate_seeds = [102];
    let choices = select(&harvest, &rules, &gate_seeds);
    let (draft, items) = propose::selection(&harvest, &choices, "", &gate_seeds, minimum, "rules");
    let id = desk(home).propose_with(draft, &items, "rules").unwrap();
    (id, items)
}

/// The program with the selection open.
fn opened(home: &Path, size: (u16, u16)) -> Terminal {
    let mut terminal = Terminal::start_as(home, &[], size, &[("USER", "ada")], &[]);
    terminal.wait_for("4 Curate ●1");
    terminal.send("4");
    terminal.wait_for("waiting for you: 1");
    terminal.send("\r");
    terminal.wait_for("TARGET");
    terminal
}

fn quit(mut terminal: Terminal) {
    terminal.send("q");
    terminal.wait_for("waiting for you");
    terminal.send("q");
    terminal.wait_until("the runs", |screen| {
        screen.contains("Start with") || screen.contains("Runs ·")
    });
    terminal.send("q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn items_are_filtered_decided_in_bulk_undone_committed_and_certified() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let run = scripted_run(home, "traces.db", "101,102", 30);
    let (id, items) = propose(home, run, 5);
    let leaks = items.iter().filter(|item| item.seed == 102).count();
    let log = items.iter().filter(|item| item.phase == Phase::Log).count();
    assert!(leaks > 2 && log > 10, "{leaks} {log} of {}", items.len());
    let mut terminal = opened(home, (80, 24));
    terminal.send("/");
    terminal.wait_for("show only");
    terminal.send("phase:LOG\r");
    terminal.wait_for(&format!("{log} of {}", items.len()));
    terminal.send("*y");
    terminal.wait_for(&format!("Accept {log} items?"));
    // Keys of habit confirm nothing.
    terminal.send("yA\r");
    terminal.wait_for(&format!("Accept {log} items?"));
    assert_eq!(dossier(home, &id).standing.items.unwrap().accepted, 0);
    terminal.send("C");
    terminal.wait_for(&format!("{log} accepted"));
    // Taken back as a whole, and once more.
    terminal.send("u");
    terminal.wait_for("0 of 5 accepted");
    terminal.send("*y");
    terminal.wait_for("Accept");
    terminal.send("C");
    terminal.wait_for(&format!("{log} accepted"));
    // What the gate is played on is not committed; it is rejected at once.
    terminal.send("A");
    terminal.wait_for("GATE SEED");
    terminal.send("/\x15");
    terminal.send("seed:102\r");
    terminal.wait_for(&format!("{leaks} of {}", items.len()));
    terminal.send("*x");
    terminal.wait_for("because it is");
    terminal.send("harm\r");
    terminal.wait_for("what else shall its author know");
    terminal.send("it is evaluated on\r");
    terminal.wait_for(&format!("Reject {leaks} items?"));
    terminal.send("C");
    terminal.wait_for(&format!("{leaks} rejected"));
    // One by one.
    terminal.send("X");
    terminal.wait_for(&format!("{}", items.len()));
    terminal.send("gn");
    terminal.wait_for(&format!("{} rejected", leaks + 1));
    terminal.send("A");
    terminal.wait_for("Commit the decisions on p1?");
    terminal.send("yA\r");
    assert_eq!(dossier(home, &id).standing.state, State::Pending);
    terminal.send("C");
    terminal.wait_for("CERTIFIED");

    let now = dossier(home, &id);
    let (file, _, examples) = now.standing.dataset.clone().expect("a training set");
    let accepted = now.standing.items.as_ref().unwrap().accepted;
    let set = dataset::read(Path::new(&file)).unwrap();
    assert_eq!(set.len(), examples as usize);
    assert!(examples > 0 && examples <= accepted, "{examples} of {accepted}");
    assert!(set.iter().all(|example| example.source.as_ref().unwrap().seed == 101));
    let judged: Vec<_> = now
        .entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Judged {
                items, filter, comment, ..
            } => Some((items.len(), filter.as_str(), comment.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        judged,
        [
            (log, "phase:LOG", ""),
            (log, "phase:LOG", ""),
            (leaks, "seed:102", "it is evaluated on"),
            (1, "", "")
        ]
    );
    assert_eq!(
        now.entries
            .iter()
            .filter(|entry| matches!(entry.what, What::Undone { .. }))
            .count(),
        1
    );
    let hands = now
        .entries
        .iter()
        .skip(1)
        .filter(|entry| matches!(entry.what, What::Judged { .. } | What::Committed { .. }));
    assert!(hands.into_iter().all(|entry| entry.by == "ada"));
    // No verdict is taken any more; the set's counts stand in the balance.
    terminal.send("y");
    terminal.wait_for("takes the commitment back");
    terminal.resize(160, 48);
    terminal.wait_for("0 violations");
    quit(terminal);
}

#[test]
fn nothing_decided_is_lost_to_a_kill_and_an_item_leads_into_its_run() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let run = scripted_run(home, "traces.db", "101", 12);
    let (id, items) = propose(home, run, 300);
    let mut terminal = opened(home, (160, 48));
    terminal.send("gy");
    terminal.wait_for("1 of 300 accepted");
    terminal.send("n");
    terminal.wait_for("1 rejected");
    let status = Command::new("kill")
        .args(["-KILL", &terminal.pid().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    drop(terminal);
    let standing = dossier(home, &id).standing;
    let counts = standing.items.as_ref().map(|items| (items.accepted, items.rejected));
    assert_eq!(counts, Some((1, 1)));

    let mut terminal = opened(home, (160, 48));
    terminal.wait_for("1 of 300 accepted · 1 rejected");
    let step = items[0].step;
    terminal.send("g\r");
    terminal.wait_until("the step", |screen| {
        screen.contains("2 Watch") && screen.contains(&format!("step {step}"))
    });
    terminal.send("\x1b");
    terminal.wait_for("TARGET");
    quit(terminal);
}

#[test]
fn a_selection_is_made_from_runs_in_the_dialog() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    std::fs::create_dir_all(home.join("workspace/runs")).unwrap();
    scripted_run(home, "workspace/runs/traces.db", "101", 12);
    let mut terminal = Terminal::start_as(home, &[], (80, 24), &[("USER", "ada")], &[]);
    terminal.wait_for("Runs ·");
    terminal.send("4");
    terminal.wait_for("No training data waits");
    terminal.send("n");
    terminal.wait_for("New selection");
    terminal.wait_for("reads 1 run");
    terminal.send("\r");
    terminal.wait_for("TARGET");
    assert!(terminal.screen().contains("GATE"));
    let standing = dossier(home, &"p1".into()).standing;
    assert!(standing.items.unwrap().count > 10);
    quit(terminal);
}
