//! Loop 2 through the real program: real traces, a training, a gate; waiting, refusing, going on. The model is a file of
//! some thousand random numbers, so that nothing here waits for arithmetic; `.ci/run` goes the same way with a real one.
#![cfg(all(unix, feature = "train"))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "../src/tune/train/native/tiny.rs"]
#[allow(dead_code, unreachable_pub)]
mod tiny;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use automem::config::Workspace;
use automem::gate::ledger::{Kind, Ledger};
use automem::review::{Desk, State};
use automem::tune::session::{Event, Log};
use common::{automem, run_fails, run_json, run_ok};
use serde_json::Value;

/// A small training that a test can wait for.
const LINE: &str = "4:8:0.0:2.0e-3:1:1:4:4096:cosine:0.05:false:1:ATTN";

/// Writes the model.
fn model(home: &Path) -> String {
    let path = home.join("random.gguf");
    std::fs::write(&path, tiny::file_for("qwen2", 7, 8192)).unwrap();
    path.display().to_string()
}

fn workspace(home: &Path) -> Workspace {
    Workspace::at(home.join("workspace"))
}

/// What every tuning here has in common: few short episodes of the scripted player.
fn args<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![
        "tune",
        "--env",
        "crafter",
        "--scaffold",
        "crafter-tiny",
        "--model",
        model,
        "--player",
        "scripted",
        "--episodes",
        "2",
        "--seeds",
        "42",
        "--line",
        "mem",
        "--threads",
        "2",
        "--train",
        LINE,
    ];
    args.extend(more);
    args
}

/// JSON lines of a tuning that ran to its end.
fn told(home: &Path, args: &[&str]) -> Vec<Value> {
    let text = run_ok(home, args);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn find<'a>(news: &'a [Value], word: &str) -> &'a Value {
    let found = news.iter().find(|line| line["news"] == word);
    found.unwrap_or_else(|| panic!("nothing told `{word}`: {news:#?}"))
}

#[test]
fn from_traces_to_a_specialist_that_is_played_on_the_gates_seeds() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let model = model(home);
    let news = told(
        home,
        &args(
            &model,
            &[
                "--max-steps",
                "3",
                "--iterations",
                "1",
                "--minimum",
                "2",
                "--held-out",
                "0",
                "--policy",
                "accept",
                "--json",
            ],
        ),
    );
    assert_eq!(find(&news, "tracing")["episodes"], 2);
    let certified = find(&news, "certified");
    assert!(certified["examples"].as_u64().unwrap() >= 2, "{certified}");
    assert_eq!(find(&news, "training")["config"], LINE);
    let judged = find(&news, "judged");
    let adapter = PathBuf::from(judged["adapter"].as_str().unwrap());
    assert!(adapter.is_file());
    find(&news, "over");

    // What was decided by the policy carries its name; what was made is written down with it.
    let desk = Desk::open(&workspace(home)).unwrap();
    let standings = desk.list().unwrap();
    let of = |kind: &str| standings.iter().find(|standing| standing.kind == kind).unwrap().clone();
    for standing in [of("recipe"), of("selection")] {
        assert_eq!(standing.state, State::Used, "{standing:?}");
        assert_eq!(standing.used_by, [adapter.display().to_string()]);
        let log = run_ok(home, &["proposals", "log", &standing.id.0]);
        assert!(log.contains("accept"), "{log}");
    }
    assert!(of("recipe").gate.is_some());

    // One row in the ledger, of a specialist.
    let (rows, faults) = Ledger::of(&workspace(home)).rows().unwrap();
    assert_eq!((rows.len(), faults, rows[0].kind), (1, 0, Kind::Specialist));
    assert_eq!(rows[0].revision, adapter.file_stem().unwrap().to_str().unwrap());
    assert_eq!(rows[0].seeds, [42]);
    // The gate's run was played by two models, and can be opened and verified.
    let run = rows[0].revision_run.clone();
    run_ok(home, &["verify", &run, "--json"]);
    let reader = automem::store::Reader::open(&run).unwrap();
    assert!(reader.meta().specialist.is_some());
    drop(reader);

    // It is over: going on has nothing to do, and the list says so.
    let list = run_json(home, &["tune", "list", "--json"]);
    assert_eq!(list["tunings"][0]["over"], true, "{list}");
    assert!(run_fails(home, &["tune", "--resume"], 1).contains("automem tune list"));
    let shown = run_ok(home, &["tune", "show", "mem-1"]);
    assert!(shown.contains("examples of p2 are certified"), "{shown}");

    // The adapter is one that other verbs take.
    let file = adapter.display().to_string();
    let info = run_ok(home, &["adapter", "info", &file, "--base", &model]);
    assert!(info.contains("qwen2"), "{info}");
}

/// A tuning in the background.
fn spawn(home: &Path, args: &[&str], out: &Path) -> std::process::Child {
    automem(home)
        .args(args)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn until(out: &Path, word: &str, kind: &str) -> Value {
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(out).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(found) = lines
            .into_iter()
            .find(|line| line["news"] == word && line["kind"] == kind)
        {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "no `{word}` came: {text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_waits_for_a_person_is_killed_and_goes_on() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let model = model(home);
    let first = home.join("first.jsonl");
    let begin = args(&model, &["--max-steps", "12", "--iterations", "1", "--json"]);
    let mut child = spawn(home, &begin, &first);
    let waiting = until(&first, "waiting", "recipe");
    let recipe = waiting["proposal"].as_str().unwrap().to_owned();
    // Nobody else works on it meanwhile.
    assert!(run_fails(home, &["tune", "--resume", "mem-1"], 1).contains("another automem process"));
    child.kill().unwrap();
    child.wait().unwrap();
    let events = Log::open(&workspace(home)).unwrap().events("mem-1").unwrap();
    assert!(matches!(events.last(), Some((_, Event::Proposed { .. }))), "{events:?}");

    // The recipe is a proposal like any other: shown, accepted, checked.
    let shown = run_ok(home, &["proposals", "show", &recipe]);
    assert!(
        shown.contains("recipe.toml") && shown.contains("learning_rate"),
        "{shown}"
    );
    run_ok(home, &["proposals", "decide", &recipe, "--all", "--accept"]);

    let second = home.join("second.jsonl");
    let mut child = spawn(home, &["tune", "--resume", "--json"], &second);
    let waiting = until(&second, "waiting", "selection");
    let selection = waiting["proposal"].as_str().unwrap().to_owned();
    // What is not wanted is not trained on: everything is rejected, and the proposal is closed.
    run_ok(home, &["proposals", "discard", &selection, "these are no good"]);
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&second).unwrap();
    assert!(
        text.contains("these are no good") && text.contains("\"news\":\"over\""),
        "{text}"
    );
    assert!(!workspace(home).adapters_dir().exists());
    // Traces were played once; a second process went on with them.
    assert!(!text.contains("\"news\":\"tracing\""), "{text}");
}

#[test]
fn a_set_that_is_too_small_is_not_trained_on_and_a_plan_goes_on() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let model = model(home);
    let plan = home.join("PLAN.toml");
    let text = format!(
        "name = \"both\"\nmodel = {model:?}\nscaffold = \"crafter-tiny\"\nseeds = \"42\"\nmax_steps = 3\npolicy = \
         \"accept\"\n\n[[stage]]\nkind = \"tune\"\nplayer = \"scripted\"\nepisodes = 1\niterations = 1\nminimum = \
         5000\ntrain = [{LINE:?}]\n\n[[stage]]\nkind = \"optimize\"\niterations = 1\n"
    );
    std::fs::write(&plan, text).unwrap();
    let told = run_ok(home, &["improve", "--plan", plan.to_str().unwrap(), "--json"]);
    assert!(told.contains("5000 are needed"), "{told}");
    assert!(told.contains("\"improve\":\"done\""), "{told}");
    let list = run_json(home, &["improve", "list", "--json"]);
    assert_eq!(list["improvements"][0]["over"], true, "{list}");
    let shown = run_json(home, &["improve", "show", "both-1", "--json"]);
    let kinds: Vec<&str> = shown["improvement"]["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| stage["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["tune", "optimize"]);
    assert_eq!(shown["improvement"]["specialist"], Value::Null);
    assert!(run_fails(home, &["improve", "--resume"], 1).contains("automem improve list"));
}

#[test]
fn what_makes_no_sense_is_told_before_anything_is_played() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let model = model(home);
    let fails = |more: &[&str], code: i32| {
        let mut args = vec![
            "tune",
            "--model",
            &model,
            "--scaffold",
            "crafter-tiny",
            "--player",
            "scripted",
        ];
        args.extend(more);
        run_fails(home, &args, code)
    };
    let error = run_fails(home, &["tune", "--model", "scripted", "--scaffold", "crafter-tiny"], 2);
    assert!(
        error.contains("GGUF") && error.contains("automem model list"),
        "{error}"
    );
    assert!(fails(&["--episodes", "0"], 2).contains("--episodes of 1 or more"));
    assert!(fails(&["--held-out", "0.9"], 2).contains("between 0 and 0.5"));
    assert!(fails(&["--line", "../evil"], 2).contains("../evil"));
    assert!(fails(&["--train", "1:2:3"], 1).contains("1:2:3"));
    assert!(fails(&["--selector", "nobody"], 2).contains("nobody"));
    // Traces on the gate's seeds would be learnt by heart.
    let run = common::scripted_run(home, "gate.db", "42", 5);
    let error = fails(&["--runs", run.to_str().unwrap(), "--policy", "accept"], 2);
    assert!(error.contains("seed 42") && error.contains("--seeds"), "{error}");
    let plan = home.join("bad.toml");
    std::fs::write(&plan, "model = \"x\"\n[[stage]]\nkind = \"dream\"\n").unwrap();
    let error = run_fails(home, &["improve", "--plan", plan.to_str().unwrap()], 2);
    assert!(error.contains("bad.toml") && error.contains("dream"), "{error}");
}
