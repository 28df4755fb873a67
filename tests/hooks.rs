//! A scaffold's script at work: its effects, its limits, and that nothing it does ends an episode.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use automem::agent::{self, RunPlan};
use automem::config::Workspace;
use automem::scaffold::hooks::{HookEffect, HookError, Hooks, Limits};
use automem::scaffold::{Scaffold, check};
use automem::store::Reader;
use automem::types::{ActionBy, Author, Body, EpisodeNo, MemoryFiles, OpStatus, Phase, StepNo, StepRecord};
use serde_json::{Map, Value, json};
use support::{FnModel, last, place, plan, play, step_of};

fn files_of(name: &str) -> BTreeMap<String, String> {
    Scaffold::named(name, &Workspace::at("/nonexistent"))
        .unwrap()
        .files()
        .clone()
}

/// crafter-v0 with more in its manifest, and a script.
fn scaffold(manifest: &str, script: &str) -> Scaffold {
    let mut files = files_of("crafter-v0");
    files.get_mut("scaffold.toml").unwrap().push_str(manifest);
    files.insert("hooks.star".into(), script.into());
    assert_eq!(check(&files), []);
    Scaffold::from_files(files).unwrap()
}

fn with(scaffold: Scaffold, plan: RunPlan) -> RunPlan {
    RunPlan { scaffold, ..plan }
}

fn steps(run: &Path) -> Vec<StepRecord> {
    let reader = Reader::open(run).unwrap();
    reader.steps(EpisodeNo(0), StepNo(0)..StepNo(10_000)).unwrap()
}

fn failures(steps: &[StepRecord]) -> Vec<String> {
    let all = steps.iter().flat_map(|step| &step.events);
    all.filter_map(|body| match body {
        Body::HookFailed { message, .. } => Some(message.clone()),
        _ => None,
    })
    .collect()
}

/// Writes a note in LOG and stays where it is.
fn idle() -> std::sync::Arc<dyn automem::llm::ChatModel> {
    FnModel::of(|request| match request.slot.phase {
        Phase::Log => format!("<|APPEND|>strategy.txt|step {}<|END|><|DONE|>", step_of(request)),
        Phase::Plan => "<|ACTION|>Noop<|END|>".into(),
    })
}

fn hooks(script: &str, limits: Limits) -> Hooks {
    Hooks::new(script, limits, Map::new(), &MemoryFiles::new())
}

fn quick() -> Limits {
    Limits {
        wall_ms: 20_000,
        ..Limits::default()
    }
}

#[test]
fn everything_a_script_can_do_in_a_run() {
    let manifest = r#"
[vars]
greeting = "none"
[ops.custom.MARK]
args = ["x,y", "text"]
patterns = ['-?\d+,-?\d+', '']
after = "APPEND"
help = "marks a cell"
"#;
    let script = r#"
def hook(state, event):
    if event.kind == "log":
        state["steps"] = state.get("steps", 0) + 1
        return state, [vars(greeting = "hello %d" % state["steps"])]
    if event.kind == "log_end":
        return state, [append("actions_log.txt", "%d ops" % len(event.ops)), prune("strategy.txt", 3, "({n} gone)")]
    if event.kind == "action" and event.raw == "Do" and event.rejections == 0:
        return state, [reject("think again")]
    if event.kind == "action" and event.raw == "Dance":
        return state, [repair("Move North")]
    if event.kind == "op":
        return state, [upsert("map_notes.txt", event.args[0] + ":", event.args[0] + ": " + event.args[1]), result("marked")]
    return state, [note("planning")] if event.step == 2 else []
"#;
    let mut files = files_of("crafter-v0");
    files.get_mut("scaffold.toml").unwrap().push_str(manifest);
    files
        .get_mut("prompts/log.md")
        .unwrap()
        .push_str("\nGREETING: {{ greeting }}\n");
    files.insert("hooks.star".into(), script.into());
    assert_eq!(check(&files), []);
    let scaffold = Scaffold::from_files(files).unwrap();
    let model = FnModel::of(|request| match request.slot.phase {
        Phase::Log if step_of(request) == 3 => "<|MARK|>here|tree<|END|><|DONE|>".into(),
        Phase::Log => format!(
            "<|MARK|>1,2|seen at {}<|END|><|APPEND|>strategy.txt|line<|END|><|DONE|>",
            step_of(request)
        ),
        Phase::Plan if step_of(request) == 1 && !last(request).contains("think again") => "<|ACTION|>Do<|END|>".into(),
        Phase::Plan if step_of(request) == 4 => "<|ACTION|>Dance<|END|>".into(),
        Phase::Plan => "<|ACTION|>Noop<|END|>".into(),
    });
    let (_folder, out) = place();
    play(with(
        scaffold,
        RunPlan {
            max_steps: 8,
            ..plan(&out, model)
        },
    ));
    let steps = steps(&out);
    assert_eq!(failures(&steps), Vec::<String>::new());

    let log = steps[2].turns().find(|turn| turn.phase == Phase::Log).unwrap();
    assert!(log.prompt.contains("GREETING: hello 2"), "{}", log.prompt);

    let mark = steps[2].ops().find(|op| op.op == "MARK").unwrap();
    assert_eq!(
        (mark.by, mark.outcome.status, mark.outcome.text.as_str()),
        (Author::Model, OpStatus::Ok, "marked")
    );
    assert_eq!(mark.changes.len(), 1);
    let bad = steps[3].ops().find(|op| op.op == "MARK").unwrap();
    assert_eq!(bad.outcome.status, OpStatus::Malformed);
    assert!(
        bad.outcome.text.contains("<|MARK|>x,y|text<|END|>"),
        "{}",
        bad.outcome.text
    );

    let rejected: Vec<_> = steps[1]
        .events
        .iter()
        .filter_map(|body| match body {
            Body::ActionRejected { raw, reason } => Some((raw.as_str(), reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [("Do", "think again")]);
    assert_eq!(steps[1].action().unwrap().1, "Noop");
    assert_eq!(
        steps[4].action().unwrap(),
        ("Dance", "Move North", true, ActionBy::Model)
    );

    let upkeep: Vec<_> = steps[5]
        .ops()
        .filter(|op| op.by == Author::Scaffold)
        .map(|op| op.op.as_str())
        .collect();
    assert_eq!(upkeep, ["APPEND", "PRUNE"]);
    assert!(steps[2].events.contains(&Body::Annotated {
        text: "planning".into()
    }));

    let memory = Reader::open(&out).unwrap().memory_at(EpisodeNo(0), StepNo(7)).unwrap();
    let text = |path: &str| memory.files[path].text.to_string();
    assert_eq!(text("map_notes.txt"), "1,2: seen at 7\n");
    assert_eq!(text("strategy.txt").lines().count(), 3);
    let patch = steps[3].events.iter().find_map(|body| match body {
        Body::StepFinished { state_patch, .. } => state_patch.clone(),
        _ => None,
    });
    assert_eq!(patch, Some(json!({"set": {"steps": 3}})));
    assert!(agent::verify(&out, &Default::default(), &mut |_| ()).unwrap().ok);
}

#[test]
fn a_script_that_fails_is_recorded_and_left_out_in_the_end() {
    let script = "def hook(state, event):\n    return state, [vars(unknown = 1)] if event.kind == 'plan' else [][1]\n";
    let (_folder, out) = place();
    play(with(
        scaffold("", script),
        RunPlan {
            max_steps: 12,
            ..plan(&out, idle())
        },
    ));
    let steps = steps(&out);
    assert_eq!(steps.iter().filter(|step| step.outcome().is_some()).count(), 12);
    let failures = failures(&steps);
    assert_eq!(failures.len(), 10);
    assert!(failures[0].contains("does not have `unknown`"), "{}", failures[0]);
    assert!(failures[1].contains("hooks.star:2:"), "{}", failures[1]);
    assert!(failures[9].contains("left out for the rest"), "{}", failures[9]);
}

#[test]
fn a_gate_that_never_lets_pass_does_not_stop_the_game() {
    let script = "def hook(state, event):\n    return state, [reject('no')] if event.kind == 'action' else []\n";
    let (_folder, out) = place();
    play(with(
        scaffold("", script),
        RunPlan {
            max_steps: 3,
            ..plan(&out, idle())
        },
    ));
    for step in steps(&out).iter().filter(|step| step.outcome().is_some()) {
        let rejections = step
            .events
            .iter()
            .filter(|body| matches!(body, Body::ActionRejected { .. }))
            .count();
        assert_eq!((rejections, step.action().unwrap().3), (2, ActionBy::Model));
    }
}

#[test]
fn state_goes_on_after_a_resume() {
    let script = "def hook(state, event):\n    if event.kind == 'log':\n        state['n'] = state.get('n', 0) + 1\n        return state, [append('strategy.txt', 'call %d' % state['n'])]\n    return None\n";
    let make = |out: &Path| {
        with(
            scaffold("", script),
            RunPlan {
                max_steps: 30,
                ..plan(out, idle())
            },
        )
    };
    let (_folder, whole) = place();
    play(make(&whole));
    let (_other, cut) = place();
    let handle = agent::start(make(&cut)).unwrap();
    handle.controls.pause();
    while handle.controls.waiting() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    handle.controls.abort();
    handle.wait().unwrap();
    agent::resume(&cut, idle(), None).unwrap().wait().unwrap();
    support::assert_same(&whole, &cut, 0);
}

#[test]
fn a_loop_without_end_is_stopped_by_ticks() {
    let script = "def hook(state, event):\n    for i in range(1000000000):\n        pass\n";
    let mut hooks = hooks(script, quick());
    let error = hooks.call("log", Map::new()).unwrap_err();
    assert!(
        matches!(&error, HookError::Script(told) if told.to_lowercase().contains("tick")),
        "{error}"
    );
    assert!(hooks.process().is_some(), "the process lives on");
}

#[test]
fn a_call_that_hangs_is_killed_and_the_next_begins_anew() {
    // Few steps of the interpreter that take for ever: hardly a tick comes by.
    let script = "def hook(state, event):\n    if event.kind == 'hang':\n        x = 3\n        for _ in range(40):\n            x = x * x\n    state['n'] = state.get('n', 0) + 1\n    return state, []\n";
    let limits = Limits {
        wall_ms: 2500,
        ..Limits::default()
    };
    let mut hooks = hooks(script, limits);
    hooks.call("log", Map::new()).unwrap();
    let begin = Instant::now();
    let error = hooks.call("hang", Map::new()).unwrap_err();
    assert!(matches!(error, HookError::Timeout { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(hooks.process().is_none());
    hooks.call("log", Map::new()).unwrap();
    assert_eq!(hooks.state()["n"], json!(2), "the state outlived the process");
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_that_eats_memory_ends_its_process_only() {
    let script = "def hook(state, event):\n    x = 'x' * 100000000\n    y = [x + str(i) for i in range(100)]\n    return state, [note(str(len(y)))]\n";
    let limits = Limits {
        process_bytes: 256 << 20,
        heap_bytes: 64 << 30,
        wall_ms: 20_000,
        ..Limits::default()
    };
    let mut hooks = hooks(script, limits);
    let error = hooks.call("log", Map::new()).unwrap_err();
    assert!(matches!(&error, HookError::Gone(_) | HookError::Script(_)), "{error}");
}

#[test]
fn a_call_that_babbles_is_cut_short() {
    let script = "def hook(state, event):\n    if event.kind == 'print':\n        for i in range(10000):\n            print('x' * 1000)\n        return None\n    return state, [note('x' * 1000) for _ in range(2000)]\n";
    let mut hooks = hooks(script, quick());
    let printed = hooks.call("print", Map::new()).unwrap();
    assert!(
        printed.len() <= 20
            && printed
                .iter()
                .all(|effect| matches!(effect, HookEffect::Note { text } if text.len() <= 400))
    );
    let error = hooks.call("log", Map::new()).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
    hooks.call("print", Map::new()).unwrap();
}

#[cfg(unix)]
#[test]
fn a_killed_process_is_started_again() {
    let script = "def hook(state, event):\n    state['n'] = state.get('n', 0) + 1\n    return state, []\n";
    let mut hooks = hooks(script, quick());
    hooks.call("log", Map::new()).unwrap();
    let pid = hooks.process().unwrap().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-9", &pid])
            .status()
            .unwrap()
            .success()
    );
    let error = hooks.call("log", Map::new()).unwrap_err();
    assert!(matches!(error, HookError::Gone(_)), "{error}");
    hooks.call("log", Map::new()).unwrap();
    assert_eq!(hooks.state()["n"], json!(2));
}

#[test]
fn the_script_sees_memory_as_it_is() {
    let script = "def hook(state, event):\n    return state, [note(str(memory.read('a.txt')))]\n";
    let mut files = MemoryFiles::new();
    files.insert("a.txt".into(), "one\n".into());
    let mut hooks = Hooks::new(script, quick(), Map::new(), &files);
    let seen = |hooks: &mut Hooks| match hooks.call("log", Map::new()).unwrap().remove(0) {
        HookEffect::Note { text } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(seen(&mut hooks), "one\n");
    for (before, after) in [
        (Some("one\n"), Some("one\ntwo\n")),
        (Some("one\ntwo\n"), Some("two\n")),
        (Some("two\n"), None),
    ] {
        let change = automem::types::MemoryChange::between("a.txt", before, after).unwrap();
        hooks.memory_changed(&change);
        assert_eq!(seen(&mut hooks), after.unwrap_or("None"));
    }
}

#[test]
fn scripts_reach_nothing_outside() {
    for (script, told) in [
        (
            "load('x.star', 'y')\ndef hook(state, event):\n    return None\n",
            "load",
        ),
        ("def hook(state, event):\n    return open('/etc/passwd')\n", "open"),
        ("import os\ndef hook(state, event):\n    return None\n", ""),
    ] {
        let mut files = files_of("crafter-v0");
        files.insert("hooks.star".into(), script.into());
        let problems = check(&files);
        assert!(
            problems
                .iter()
                .any(|p| p.file == "hooks.star" && p.message.contains(told)),
            "{script}: {problems:?}"
        );
    }
}

#[test]
fn events_carry_what_the_documentation_says() {
    let script = r#"
def hook(state, event):
    state[event.kind] = sorted(dir(event))
    return state, []
"#;
    let mut hooks = hooks(script, quick());
    let step: Value = json!({"step": 1, "observation": "o"});
    let Value::Object(step) = step else { unreachable!() };
    hooks.begin_step(step);
    hooks.call("log", Map::new()).unwrap();
    hooks
        .call("action", Map::from_iter([("raw".to_owned(), "Do".into())]))
        .unwrap();
    assert_eq!(hooks.state()["log"], json!(["kind", "observation", "step"]));
    assert_eq!(hooks.state()["action"], json!(["kind", "observation", "raw", "step"]));
}

#[test]
fn what_we_ship_passes_its_rehearsal() {
    for name in Scaffold::shipped() {
        let scaffold = Scaffold::named(&name, &Workspace::at("/nonexistent")).unwrap();
        assert_eq!(agent::rehearse(&scaffold).unwrap(), [], "{name}");
    }
}

#[test]
fn a_rehearsal_finds_what_only_playing_shows() {
    let script = "def hook(state, event):\n    if event.kind == 'log' and event.step == 4:\n        return event.no_such_field\n    return None\n";
    let found = agent::rehearse(&scaffold("", script)).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("no_such_field"), "{found:?}");
}
