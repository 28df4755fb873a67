//! Faults of episodes whose cause is known.

use super::{Event, Failure, Fault, Verdict};
use crate::analysis::testing::Tale;
use crate::types::{EndReason, OpStatus, Phase};

/// An agent that drank once, walks away from the water, and dies of thirst. `step` is told what to do in
/// each of the steps after that.
fn thirst(mut step: impl FnMut(&mut Tale, u32)) -> Vec<Fault> {
    let mut tale = Tale::new(&[("notes.txt", "")]);
    tale.sees("You face water at your front.", "- health: 9/9\n- drink: 5/9")
        .does("Do", 0.0, 0.0);
    tale.sees("You face water at your front.", "- health: 9/9\n- drink: 6/9");
    step(&mut tale, 1);
    tale.does("Move East", 0.0, 0.0);
    for n in 2..40 {
        let drink = 6 - n / 6;
        tale.sees(&format!("Sand {n}."), &format!("- health: 9/9\n- drink: {drink}/9"));
        step(&mut tale, n);
        tale.does("Move East", 0.0, 0.0);
    }
    tale.sees("You died.", "- health: 0/9\n- drink: 0/9")
        .ends(EndReason::Terminated);
    tale.concluded().1
}

fn death(faults: &[Fault]) -> &Fault {
    let fault = faults.iter().find(|fault| fault.failure == Failure::Death).unwrap();
    assert_eq!(fault.id, "death:0");
    assert!(fault.chain.is_sorted_by_key(|link| link.place));
    assert!(fault.title.contains("drink 0/9"), "{}", fault.title);
    fault
}

fn when(fault: &Fault, what: Event) -> Vec<u32> {
    let links = fault.chain.iter().filter(|link| link.what == what);
    links.map(|link| link.place.step.0).collect()
}

#[test]
fn a_need_that_was_never_written_down() {
    let faults = thirst(|_, _| {});
    let fault = death(&faults);
    assert_eq!(fault.verdict, Verdict::NotWritten);
    assert_eq!(when(fault, Event::NotWritten), [1]);
    assert_eq!(when(fault, Event::Needed), [18]);
    assert_eq!(when(fault, Event::Failed), [40]);
}

#[test]
fn a_note_that_was_not_read_when_it_was_needed() {
    let faults = thirst(|tale, step| {
        if step == 1 {
            tale.appends("notes.txt", "water at 0,1");
        } else if step == 3 {
            tale.turn(Phase::Plan, "water at 0,1", "east");
        }
    });
    let fault = death(&faults);
    assert_eq!(fault.verdict, Verdict::NotRead);
    assert_eq!(
        (when(fault, Event::Written), when(fault, Event::NotRead)),
        (vec![1], vec![18])
    );
}

#[test]
fn a_note_that_was_read_and_not_used() {
    let faults = thirst(|tale, step| {
        if step == 1 {
            tale.appends("notes.txt", "water at 0,1");
        } else if step == 30 {
            tale.turn(Phase::Plan, "water at 0,1", "east");
        }
    });
    assert_eq!(death(&faults).verdict, Verdict::ReadNotUsed);
    assert_eq!(when(death(&faults), Event::Read), [30]);
}

#[test]
fn what_was_at_hand_is_not_laid_at_memorys_door() {
    let mut tale = Tale::new(&[]);
    tale.sees("You face water at your front.", "- health: 9/9\n- drink: 1/9")
        .does("Do", 0.0, 0.0);
    tale.sees("You face water at your front.", "- health: 2/9\n- drink: 2/9")
        .does("Do", 0.0, 0.0);
    tale.sees("A zombie. You face water at your front.", "- health: 0/9\n- drink: 3/9")
        .ends(EndReason::Terminated);
    let (_, faults) = tale.concluded();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].verdict, Verdict::NotInMemory);
    assert!(faults[0].chain.iter().any(|link| link.text.contains("zombie")));
    // An episode that a limit ends has no death.
    let mut tale = Tale::new(&[]);
    tale.sees("a", "- drink: 1/9")
        .does("Do", 0.0, 0.0)
        .ends(EndReason::StepLimit);
    assert_eq!(tale.concluded().1, []);
}

#[test]
fn a_spell_goes_back_to_what_was_not_written_not_read_or_not_used() {
    let spell = |wrote: bool, shown: bool| {
        let mut tale = Tale::new(&[("notes.txt", "")]);
        tale.sees("a field", "")
            .appends("notes.txt", "all is well")
            .does("Do", 0.0, 0.0);
        for n in 0..10 {
            tale.sees("a wall", "");
            if wrote && n == 1 {
                tale.appends("notes.txt", "Push fails here");
            }
            if shown && n == 5 {
                tale.turn(Phase::Plan, "all is well", "Push");
            }
            tale.does("Push", 0.0, 0.0);
        }
        tale.sees("a wall", "");
        let faults = tale.concluded().1;
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(
            (faults[0].id.as_str(), faults[0].failure),
            ("stuck:0:1", Failure::Stuck)
        );
        faults[0].clone()
    };
    assert_eq!(spell(false, false).verdict, Verdict::NotWritten);
    let fault = spell(true, false);
    assert_eq!(fault.verdict, Verdict::NotRead);
    assert_eq!(when(&fault, Event::Written), [2]);
    assert_eq!(spell(true, true).verdict, Verdict::ReadNotUsed);
}

#[test]
fn a_score_that_stands_still() {
    let mut tale = Tale::new(&[("notes.txt", "")]);
    tale.sees("You see: diamond", "").does("Do", 1.0, 0.5);
    for n in 1..130 {
        tale.sees(&format!("scene {n}"), "");
        if n == 60 {
            tale.op(Phase::Plan, "SEARCH", &["notes.txt", "diamond"], OpStatus::Empty, "");
        }
        tale.does("Do", 0.0, 0.5);
    }
    let (_, faults) = tale.concluded();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(
        (faults[0].id.as_str(), faults[0].verdict),
        ("no-progress:0", Verdict::NotWritten)
    );
    assert_eq!(when(&faults[0], Event::NotWritten), [0]);
    assert_eq!(when(&faults[0], Event::Needed), [0, 60]);
    let mut tale = Tale::new(&[]);
    for n in 0..130 {
        tale.sees(&format!("scene {n}"), "").does("Do", 0.0, 0.0);
    }
    assert_eq!(tale.concluded().1[0].verdict, Verdict::NotInMemory);
}
