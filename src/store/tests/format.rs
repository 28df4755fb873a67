//! The stored form is pinned: a field that is renamed in the types must not be renamed in the file.

use super::super::codec::{self, Text, Who};
use super::*;

const GOLDEN: &str = "tests/fixtures/store/events.jsonl";
const GOLDEN_META: &str = "tests/fixtures/store/meta.json";

fn usual() -> Who {
    Who::of(&at(0, 0))
}

/// One event of each kind, with every variant of what is in them.
fn every_kind() -> Vec<Body> {
    let changes = |text: &str| {
        let long = format!("1 wood\n2 {text}\n3 coal\n4 iron\n");
        [
            MemoryChange::between("a.txt", None, Some("new\n")),
            MemoryChange::between("a.txt", Some("new\n"), Some("new\nmore\n")),
            MemoryChange::between("b.txt", Some(&long), Some(&long.replace(text, "stone"))),
            MemoryChange::between("c.txt", Some("abc"), Some("xyz")),
            MemoryChange::between("d.txt", Some("gone"), None),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
    };
    let statuses = [
        OpStatus::Ok,
        OpStatus::Empty,
        OpStatus::Unchanged,
        OpStatus::Missing,
        OpStatus::Refused,
        OpStatus::Malformed,
        OpStatus::Failed,
    ];
    let mut bodies = vec![
        Body::RunStarted { meta: Box::new(meta()) },
        Body::EpisodeStarted {
            seed: u64::MAX,
            inherited: MemoryFiles::from([("goals.txt".to_owned(), Arc::from("wood\n"))]),
        },
        Body::Observed {
            frame: Arc::new(frame("tree 1 step to your west")),
        },
        Body::Observed {
            frame: Arc::new(Frame {
                view: View::Text,
                terminated: true,
                truncated: true,
                ..frame("nothing")
            }),
        },
    ];
    for (stop, role) in [
        (StopReason::End, Role::Agent),
        (StopReason::Length, Role::Specialist),
        (StopReason::Stop, Role::Gameplay),
        (StopReason::Cancelled, Role::Agent),
    ] {
        bodies.push(Body::TurnFinished {
            turn: Box::new(Turn {
                stop,
                role,
                ..turn(Phase::Log, "system \"rules\"\n", "<|DONE|>")
            }),
        });
    }
    for (status, by) in statuses
        .into_iter()
        .zip([Author::Model, Author::Scaffold, Author::Human].into_iter().cycle())
    {
        let mut op = op(
            3,
            if status == OpStatus::Ok {
                changes("sand")
            } else {
                Vec::new()
            },
        );
        op.outcome.status = status;
        op.outcome.cut = u64::from(status == OpStatus::Refused) * 99;
        op.by = by;
        bodies.push(Body::MemoryOp { op: Box::new(op) });
    }
    for by in [ActionBy::Model, ActionBy::Fallback, ActionBy::Scaffold, ActionBy::Human] {
        bodies.push(Body::ActionCommitted {
            raw: "move west".into(),
            validated: "Move West".into(),
            repaired: true,
            by,
        });
    }
    bodies.extend([
        Body::ActionRejected {
            raw: "Fly".into(),
            reason: "no such action".into(),
        },
        finished(1.0),
        Body::StepFinished {
            reward: -0.1,
            terminated: true,
            truncated: true,
            progression: 3.0 / 22.0,
            state_patch: Some(serde_json::json!({ "visited": [1, 2] })),
            ms: 20.25,
        },
        Body::HookFailed {
            hook: "before_plan".into(),
            message: "3:7: no such name".into(),
        },
        Body::ContextOverflow {
            phase: Phase::Log,
            turn: TurnNo(1),
            needed: 9000,
            available: 8192,
        },
        Body::ModelFailed {
            phase: Phase::Plan,
            turn: TurnNo(1),
            message: "it is gone".into(),
            retried: true,
        },
        Body::WorldFailed {
            message: "it broke".into(),
        },
        Body::Annotated {
            text: "look here".into(),
        },
        Body::HumanEdited {
            changes: changes("lava"),
        },
        Body::HumanActed { action: "Noop".into() },
        Body::HumanSaid {
            text: "look behind you".into(),
        },
        Body::Controlled {
            control: "paused".into(),
        },
        Body::AdapterChanged {
            adapter: Some("memory-1".into()),
        },
        Body::AdapterChanged { adapter: None },
        Body::EpisodeAttempt { attempt: 2 },
        Body::EpisodeResumed { step: StepNo(7) },
        Body::RunFinished,
    ]);
    for budget in [
        BudgetKind::Turns,
        BudgetKind::Ops,
        BudgetKind::ResultBytes,
        BudgetKind::FileBytes,
        BudgetKind::DirectoryBytes,
        BudgetKind::PromptTokens,
    ] {
        bodies.push(Body::BudgetExceeded {
            phase: Phase::Plan,
            turn: TurnNo(2),
            budget,
            limit: 4,
            asked: 5,
        });
    }
    for end in [
        EndReason::Terminated,
        EndReason::Truncated,
        EndReason::StepLimit,
        EndReason::Stopped,
        EndReason::Failed,
    ] {
        bodies.push(Body::EpisodeFinished { end });
    }
    bodies
}

#[test]
fn where_messages_stand_comes_back_and_records_without_it_are_read() {
    let spans = [
        (ChatRole::System, 3, 9),
        (ChatRole::User, 12, 12),
        (ChatRole::Assistant, 20, 31),
    ];
    let spans: Vec<Span> = spans
        .into_iter()
        .map(|(role, start, end)| Span { role, start, end })
        .collect();
    for spans in [spans, Vec::new()] {
        let turn = Turn {
            spans,
            ..turn(Phase::Log, "0123456789012345678901234567890", "<|DONE|>")
        };
        let body = Body::TurnFinished { turn: Box::new(turn) };
        let mut text = Text::default();
        let event = Event {
            at: at(0, 0),
            body: body.clone(),
        };
        codec::encode(&event, &usual(), &mut text).unwrap();
        let back = codec::decode_line(&text.lines, &[], EpisodeNo(0), StepNo(0), &usual(), &meta()).unwrap();
        assert_eq!(back.body, body);
        let senseless = String::from_utf8(text.lines).unwrap().replace("[2,8,11]", "[7,8,11]");
        let back = codec::decode_line(senseless.as_bytes(), &[], EpisodeNo(0), StepNo(0), &usual(), &meta()).unwrap();
        let Body::TurnFinished { turn } = back.body else {
            panic!()
        };
        assert!(turn.spans.is_empty() && turn.messages().is_none());
    }
}

/// With `UPDATE_GOLDEN=1` the file is written anew: only together with a new format number.
fn compare(path: &str, now: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let pinned = std::fs::read_to_string(&path).unwrap();
    for (now, pinned) in now.lines().zip(pinned.lines()) {
        assert_eq!(
            now, pinned,
            "the stored form changed: old runs would not be read any more"
        );
    }
    assert_eq!(now.lines().count(), pinned.lines().count());
}

#[test]
fn events_are_stored_as_they_always_were() {
    let mut text = Text::default();
    for (step, body) in every_kind().into_iter().enumerate() {
        codec::encode(&event(0, step as u32, body), &usual(), &mut text).unwrap();
    }
    // One whose agent is another.
    let mut stranger = event(0, 99, Body::Annotated { text: "me too".into() });
    stranger.at.agent = "second".into();
    codec::encode(&stranger, &usual(), &mut text).unwrap();
    compare(GOLDEN, std::str::from_utf8(&text.lines).unwrap());
}

#[test]
fn the_pinned_events_are_still_read() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    let pinned = std::fs::read(path).unwrap();
    let View::Tiles(tiles) = frame("").view else {
        unreachable!("the fixture has tiles")
    };
    let lines = pinned.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (line, body) in lines.zip(every_kind()) {
        let read = codec::decode_line(
            line,
            std::slice::from_ref(&tiles.cells),
            EpisodeNo(0),
            StepNo(0),
            &usual(),
            &meta(),
        );
        assert_eq!(read.unwrap().body, body);
    }
}

#[test]
fn the_description_of_a_run_is_stored_as_it_always_was() {
    compare(GOLDEN_META, &serde_json::to_string_pretty(&meta()).unwrap());
}

#[test]
fn a_record_of_a_newer_program_is_named_so() {
    for line in [
        r#"{"v":2,"e":{"t":"note","d":{"text":"x"}}}"#,
        r#"{"v":9,"e":{"t":"dream","d":{}}}"#,
    ] {
        let read = codec::decode_line(line.as_bytes(), &[], EpisodeNo(0), StepNo(0), &usual(), &meta());
        let error = read.unwrap_err().to_string();
        assert!(
            error.contains("has format") && error.contains("up to format 1"),
            "{error}"
        );
    }
}

#[test]
fn numbers_that_json_does_not_know_are_refused() {
    let mut text = Text::default();
    let error = codec::encode(&event(0, 0, finished(f64::NAN)), &usual(), &mut text).unwrap_err();
    assert!(error.to_string().contains("reward"), "{error}");
    assert!(text.lines.is_empty());
}

#[test]
fn runs_from_before_there_were_two_models_are_read_and_those_with_two_come_back() {
    let old: RunMeta = serde_json::from_str(&std::fs::read_to_string(GOLDEN_META).unwrap()).unwrap();
    assert_eq!((old.specialist.clone(), old.players()), (None, "scripted".to_owned()));
    let text = serde_json::to_string(&old).unwrap();
    assert!(!text.contains("specialist"), "one model is written as it always was");
    let two = RunMeta {
        specialist: Some(ModelRef {
            name: "notes-1".into(),
            backend: "llama".into(),
            is_llm: true,
            details: std::collections::BTreeMap::from([("adapter_digest".into(), "00".into())]),
        }),
        ..old
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.db");
    drop(Writer::create(&path, &two).unwrap());
    let read = Reader::open(&path).unwrap().meta().clone();
    assert_eq!(read, two);
    assert_eq!(read.players(), "scripted + notes-1");
}
