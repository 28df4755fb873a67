//! Every rule against an episode that breaks it, and an episode that breaks none.

use crate::analysis::testing::Tale;
use crate::analysis::{Severity, rules};
use crate::types::{ActionBy, Body, OpStatus, Phase, TurnNo};

/// Plays steps that see something new each time.
fn steps(tale: &mut Tale, count: usize, mut each: impl FnMut(&mut Tale, usize)) {
    for n in 0..count {
        tale.sees(&format!("scene {n} with a tree"), "");
        each(tale, n);
        tale.does("Do", 0.0, 0.0);
    }
}

fn has(tale: &Tale, id: &str) -> bool {
    tale.ids().iter().any(|found| found == id)
}

#[test]
fn a_careful_agent_has_no_problems() {
    let mut tale = Tale::new(&[("map.txt", "")]);
    steps(&mut tale, 40, |tale, n| {
        if n % 10 == 0 {
            tale.writes("map.txt", &format!("tree is at {n},1\n"));
        }
        tale.op(Phase::Plan, "SEARCH", &["map.txt", "tree"], OpStatus::Ok, "1: tree\n");
    });
    assert_eq!(tale.ids(), Vec::<String>::new());
    assert!(rules().count() >= 12);
}

#[test]
fn files_that_only_grow() {
    let mut tale = Tale::new(&[("log.txt", ""), ("small.txt", "")]);
    steps(&mut tale, 60, |tale, n| {
        tale.appends("log.txt", &format!("{n} different things were done here in this step"));
        tale.reads("log.txt", u64::from(n > 50));
    });
    let (findings, _) = tale.concluded();
    let finding = findings.iter().find(|f| f.id == "unbounded-append:log.txt").unwrap();
    assert_eq!(finding.severity, Severity::High, "its reads were cut");
    assert_eq!(finding.files, ["log.txt"]);
    assert!(!finding.steps.is_empty() && !finding.advice.is_empty());
    assert!(has(&tale, "reads-cut:log.txt"));
    tale.sees("end", "").writes("log.txt", "pruned\n").does("Do", 0.0, 0.0);
    assert!(!has(&tale, "unbounded-append:log.txt"), "it became smaller");
}

#[test]
fn keys_with_several_values_and_lines_told_again() {
    let mut tale = Tale::new(&[("inventory.txt", "")]);
    steps(&mut tale, 12, |tale, n| {
        tale.appends("inventory.txt", &format!("wood: {}", n / 2))
            .reads("inventory.txt", 0);
    });
    let (findings, _) = tale.concluded();
    let keys = findings
        .iter()
        .find(|f| f.id == "duplicate-keys:inventory.txt")
        .unwrap();
    assert_eq!(keys.steps.len(), 5);
    let again = findings
        .iter()
        .find(|f| f.id == "redundant-writes:inventory.txt")
        .unwrap();
    assert!(again.title.contains("50 %"), "{}", again.title);
    assert!(again.detail.contains("6 duplicate lines"), "{}", again.detail);
}

#[test]
fn lines_that_change_their_form() {
    let mut tale = Tale::new(&[("notes.txt", "")]);
    steps(&mut tale, 16, |tale, n| {
        let line = match n % 2 {
            0 => format!("place {n}: tree"),
            _ => format!("I saw ({n}) a tree"),
        };
        tale.appends("notes.txt", &line).reads("notes.txt", 0);
    });
    assert!(has(&tale, "schema-drift:notes.txt"));
}

#[test]
fn files_never_read_and_files_always_read_whole() {
    let mut tale = Tale::new(&[("diary.txt", ""), ("map.txt", &"a long line of the map\n".repeat(30))]);
    steps(&mut tale, 6, |tale, n| {
        tale.appends("diary.txt", &format!("day {n} was fine"))
            .reads("map.txt", 0);
    });
    assert!(has(&tale, "never-read:diary.txt") && has(&tale, "always-read-whole:map.txt"));
    tale.sees("end", "").turn(Phase::Plan, "rules\nday 3 was fine\n", "go");
    assert!(!has(&tale, "never-read:diary.txt"), "a prompt showed a line of it");
}

#[test]
fn searches_in_vain() {
    let mut tale = Tale::new(&[("notes.txt", "nothing\n")]);
    tale.sees("You see: water", "").does("Do", 0.0, 0.0);
    steps(&mut tale, 12, |tale, _| {
        tale.op(Phase::Plan, "SEARCH", &["notes.txt", "Water here"], OpStatus::Empty, "");
    });
    let ids = tale.ids();
    assert!(ids.contains(&"never-found:notes.txt/water here".to_owned()), "{ids:?}");
    assert!(ids.contains(&"empty-retrievals".to_owned()));
    assert!(ids.contains(&"seen-not-written:water".to_owned()));
    assert!(
        !ids.contains(&"seen-not-written:here".to_owned()),
        "no thing of the world"
    );
}

#[test]
fn what_is_in_sight_was_not_missed() {
    let mut tale = Tale::new(&[("notes.txt", "nothing\n")]);
    for _ in 0..2 {
        tale.sees("You see: water", "")
            .op(Phase::Plan, "SEARCH", &["notes.txt", "water"], OpStatus::Empty, "")
            .does("Do", 0.0, 0.0);
    }
    assert!(!has(&tale, "seen-not-written:water"));
}

#[test]
fn facts_that_were_made_up() {
    let mut tale = Tale::new(&[("notes.txt", "")]);
    steps(&mut tale, 3, |tale, n| {
        tale.appends("notes.txt", &format!("diamond at {n},1"))
            .reads("notes.txt", 0);
    });
    assert!(has(&tale, "unsupported-facts"));
}

#[test]
fn failures_that_were_written_down_and_repeated() {
    let mut tale = Tale::new(&[("notes.txt", "")]);
    for n in 0..8 {
        tale.sees("a wall", "");
        if n == 1 {
            tale.appends("notes.txt", "Push does nothing here");
        }
        tale.does("Push", 0.0, 0.0);
    }
    tale.sees("a wall", "");
    let (findings, faults) = tale.concluded();
    let finding = findings.iter().find(|f| f.id == "repeated-failure").unwrap();
    assert_eq!(finding.files, ["notes.txt"]);
    assert!(finding.detail.contains("7 times"), "{}", finding.detail);
    assert!(findings.iter().any(|f| f.id == "stuck"));
    assert_eq!(faults.len(), 1, "the spell is a fault, too");
}

#[test]
fn going_back_and_forth() {
    let mut tale = Tale::new(&[]);
    for n in 0..20 {
        tale.at(n % 2, 0)
            .sees(&format!("scene {n}"), "")
            .does("Move East", 0.0, 0.0);
    }
    assert!(has(&tale, "oscillation") && !has(&tale, "stuck"));
}

#[test]
fn invalid_actions_and_prompts_that_do_not_fit() {
    let mut tale = Tale::new(&[]);
    steps(&mut tale, 4, |tale, _| {
        tale.push(Body::ContextOverflow {
            phase: Phase::Plan,
            turn: TurnNo(0),
            needed: 9,
            available: 5,
        });
        tale.push(Body::ActionCommitted {
            raw: String::new(),
            validated: "Noop".into(),
            repaired: false,
            by: ActionBy::Fallback,
        });
    });
    assert!(has(&tale, "invalid-actions") && has(&tale, "context-overflow"));
}
