//! A person decides on a proposal in a pseudo-terminal, hunk by hunk; what the database holds then is compared.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use automem::config::Workspace;
use automem::llm::Usage;
use automem::review::{
    Content, Desk, Dossier, Draft, Evidence, ProposalId, Reason, RevisionContent, State, Verdict, What,
};
use automem::scaffold::{Scaffold, digest_of};
use automem::types::{EpisodeNo, StepNo};
use common::terminal::Terminal;
use common::{run_ok, scripted_run};

const LINE: &str = "crafter-auto";

fn desk(home: &Path) -> Desk {
    Desk::open(&Workspace::at(home.join("workspace"))).unwrap()
}

/// Four hunks in three files of the plain scaffold.
fn propose(home: &Path, evidence: Vec<Evidence>) -> ProposalId {
    let workspace = Workspace::at(home.join("workspace"));
    let base = Scaffold::files_named("crafter-v0", &workspace).unwrap();
    let mut files = base.clone();
    let mut change = |path: &str, from: &str, to: &str| {
        let text = files.get_mut(path).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        *text = text.replacen(from, to, 1);
    };
    change("scaffold.toml", "log_turns = 3", "log_turns = 2");
    change(
        "METHOD.md",
        "# crafter-v0\n",
        "# crafter-auto\n\nFewer turns, one line a place.\n",
    );
    change("prompts/log.md", "PHASE: LOG\n", "PHASE: LOG (write what is new)\n");
    change(
        "prompts/log.md",
        "Skip what you have written before.",
        "Never write a line twice.",
    );
    let draft = Draft {
        author: "rules".into(),
        title: "Write what is new".into(),
        rationale: "Most lines of the map are written twice.\n".into(),
        evidence,
        usage: Usage::default(),
        origin: None,
        content: Content::Revision(Box::new(RevisionContent {
            line: LINE.into(),
            parent: "crafter-v0".into(),
            parent_digest: digest_of(&base),
            base,
            files,
        })),
    };
    desk(home).propose(draft, "rules").unwrap()
}

fn dossier(home: &Path, id: &ProposalId) -> Dossier {
    desk(home).dossier(id).unwrap()
}

/// A shell script that edits the file it is given.
fn editor(home: &Path, script: &str) -> PathBuf {
    let path = home.join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The program with the proposal open.
fn opened(home: &Path, editor: &Path, size: (u16, u16)) -> Terminal {
    let variables = [("EDITOR", editor.to_str().unwrap()), ("VISUAL", ""), ("USER", "ada")];
    let mut terminal = Terminal::start_as(home, &[], size, &variables, &[]);
    terminal.wait_for("●1");
    terminal.send("3");
    terminal.wait_for("waiting for you: 1");
    terminal.send("\r");
    terminal.wait_for("hunk 1 of 4");
    terminal
}

/// The verdicts on all parts, as words.
fn verdicts(dossier: &Dossier) -> Vec<String> {
    let word = |verdict: &Verdict| match verdict {
        Verdict::Reject { reason } => format!("reject {}", reason.word()),
        other => other.word().to_owned(),
    };
    dossier
        .standing
        .parts
        .iter()
        .map(|part| {
            part.decision
                .as_ref()
                .map_or("waits".to_owned(), |decision| word(&decision.verdict))
        })
        .collect()
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
fn hunks_are_accepted_edited_rejected_undone_and_committed() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let id = propose(home, Vec::new());
    let editor = editor(home, "echo 'log_turns = 1' > \"$1\"");
    let mut terminal = opened(home, &editor, (80, 24));
    // The manifest's hunk is edited, the next accepted.
    terminal.send("e");
    terminal.wait_for("1 of 4 decided");
    assert!(terminal.wait_for("edited").contains("log_turns = 1"));
    terminal.send("Jy");
    terminal.wait_for("2 of 4 decided");
    // One is rejected for a reason with words; that is taken back, and it is rejected for another.
    terminal.send("x");
    terminal.wait_for("because it is");
    terminal.send("harm\r");
    terminal.wait_for("what else shall its author know");
    terminal.send("the tag is matched by the script\r");
    terminal.wait_for("3 of 4 decided");
    terminal.send("u");
    terminal.wait_for("2 of 4 decided");
    terminal.send("K");
    terminal.wait_for("hunk 3 of 4 ·");
    terminal.send("x");
    terminal.wait_for("because it is");
    terminal.send("not needed\r");
    terminal.wait_for("what else shall");
    terminal.send("\r");
    terminal.wait_for("3 of 4 decided");
    terminal.send("y");
    terminal.wait_for("A commits");
    // Keys of habit do not commit.
    terminal.send("A");
    terminal.wait_for("Commit the decisions on p1?");
    terminal.send("yA\r");
    assert_eq!(dossier(home, &id).standing.state, State::Pending);
    terminal.send("C");
    terminal.wait_for("CHECKED");

    let now = dossier(home, &id);
    assert_eq!(now.standing.state, State::Checked, "{:?}", now.standing.problems);
    assert_eq!(verdicts(&now), ["edit", "accept", "reject unneeded", "accept"]);
    let rejected = now.entries.iter().find_map(|entry| match &entry.what {
        What::Decided {
            verdict: Verdict::Reject {
                reason: Reason::Harmful,
            },
            comment,
            ..
        } => Some((entry.seq, comment)),
        _ => None,
    });
    let (seq, comment) = rejected.expect("what was taken back stays in the log");
    assert_eq!(comment, "the tag is matched by the script");
    assert!(now.entries.iter().any(|entry| entry.what == What::Undone { seq }));
    assert!(
        now.entries.iter().skip(1).all(|entry| entry.by == "ada"),
        "{:?}",
        now.entries
    );
    let files = now.standing.files(now.revision().unwrap());
    assert!(
        files["scaffold.toml"].contains("log_turns = 1\n"),
        "{}",
        files["scaffold.toml"]
    );
    assert!(
        files["prompts/log.md"].contains("PHASE: LOG\n"),
        "the rejected hunk is not in it"
    );
    assert!(files["prompts/log.md"].contains("Never write a line twice."));
    assert_eq!(now.standing.result, Some(digest_of(&files)));

    // Promoted without a gate, with a reason; and taken back.
    terminal.send("p");
    terminal.wait_for("the gate does not say so");
    terminal.send("to try it\r");
    terminal.wait_for("Promote p1");
    terminal.send("C");
    terminal.wait_for("PROMOTED");
    let head = home.join("workspace/scaffolds").join(LINE);
    assert!(
        std::fs::read_to_string(head.join("scaffold.toml"))
            .unwrap()
            .contains("log_turns = 1")
    );
    terminal.send("u");
    terminal.wait_for("take the promotion back");
    terminal.send("\r");
    terminal.wait_for("Take the promotion of p1 back?");
    terminal.send("C");
    terminal.wait_for("CHECKED");
    assert!(!head.exists());
    quit(terminal);
}

#[test]
fn nothing_decided_is_lost_to_a_kill_and_others_are_seen() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let id = propose(home, Vec::new());
    let editor = editor(home, "exit 3");
    let mut terminal = opened(home, &editor, (160, 48));
    terminal.send("yn");
    terminal.wait_for("2 of 4 decided");
    // An editor that fails decides nothing, and the keyboard comes back.
    terminal.send("e");
    terminal.wait_for("ended with code 3");
    let status = Command::new("kill")
        .args(["-KILL", &terminal.pid().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    drop(terminal);
    assert_eq!(
        verdicts(&dossier(home, &id)),
        ["accept", "reject other", "waits", "waits"]
    );

    let mut terminal = opened(home, &editor, (160, 48));
    terminal.wait_for("2 of 4 decided");
    // Somebody else decides meanwhile: it shows, and the next key is about what is there now.
    let theirs = dossier(home, &id);
    let part = &theirs.standing.parts[3].part;
    let what = What::Decided {
        part: part.id.clone(),
        digest: part.digest,
        verdict: Verdict::Accept,
        comment: "mine".into(),
        policy: None,
    };
    desk(home).append(&id, theirs.standing.seq, "grace", what).unwrap();
    terminal.wait_for("3 of 4 decided");
    terminal.send("KKJJy");
    terminal.wait_for("4 of 4 decided");
    assert_eq!(verdicts(&dossier(home, &id))[2..], ["accept", "accept"]);
    // The parent is another one now: stale, and it says why.
    let folder = home.join("workspace/scaffolds").join(LINE);
    std::fs::create_dir_all(&folder).unwrap();
    for (path, text) in &theirs.revision().unwrap().base {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::write(folder.join("METHOD.md"), "# another\n").unwrap();
    terminal.send("c");
    terminal.wait_for("comment:");
    terminal.send("late\r");
    terminal.wait_for("STALE");
    terminal.send("y");
    terminal.wait_for("no verdict is taken");
    assert_eq!(dossier(home, &id).standing.state, State::Stale);
    quit(terminal);
}

#[test]
fn evidence_leads_into_the_run_and_back() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let run = scripted_run(home, "run.db", "42", 12);
    let evidence = vec![Evidence {
        run: run.to_str().unwrap().to_owned(),
        episode: EpisodeNo(0),
        step: StepNo(7),
        note: "written twice".into(),
    }];
    propose(home, evidence);
    // The same screen without a terminal.
    let shot = run_ok(
        home,
        &[
            "screenshot",
            "--screen",
            "review",
            "--proposal",
            "p1",
            "--size",
            "80x24",
        ],
    );
    assert!(shot.contains("GATE") && shot.contains("+ log_turns = 2"), "{shot}");
    let editor = editor(home, "true");
    let mut terminal = opened(home, &editor, (80, 24));
    terminal.send("\t\t");
    terminal.wait_for("written twice");
    terminal.send("]\r");
    terminal.wait_until("the step", |screen| {
        screen.contains("2 Watch") && screen.contains("step 7")
    });
    terminal.send("\x1b");
    terminal.wait_for("written twice");
    // Another size, and signs without colours.
    terminal.resize(200, 60);
    terminal.wait_until("panes side by side", |screen| {
        screen.contains("─ Hunks") && screen.contains("─ Diff") && screen.contains("─ Gate")
    });
    terminal.resize(80, 24);
    terminal.wait_for("[Why]");
    quit(terminal);
}
