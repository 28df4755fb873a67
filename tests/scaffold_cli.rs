//! `automem scaffold` as a person meets it: the real program and a workspace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{run, run_fails, run_json, run_ok};
use serde_json::Value;

fn folder(home: &Path, name: &str) -> PathBuf {
    home.join("workspace/scaffolds").join(name)
}

fn read(home: &Path, name: &str, file: &str) -> String {
    std::fs::read_to_string(folder(home, name).join(file)).unwrap()
}

/// Puts one text in the place of another in a file of a scaffold in the workspace.
fn edit(home: &Path, name: &str, file: &str, from: &str, to: &str) {
    let text = read(home, name, file);
    assert!(text.contains(from), "{file} lacks {from}");
    std::fs::write(folder(home, name).join(file), text.replacen(from, to, 1)).unwrap();
}

fn named<'a>(rows: &'a Value, name: &str) -> Option<&'a Value> {
    rows["scaffolds"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
}

#[test]
fn a_new_scaffold_is_a_copy_with_a_head_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let told = run_ok(home, &["scaffold", "new", "mine", "--from", "crafter-v1"]);
    assert!(told.contains("automem scaffold check mine"), "{told}");
    let row = run_json(home, &["scaffold", "list", "--json"]);
    let row = named(&row, "mine").unwrap();
    assert_eq!(
        (&row["version"], &row["parent"]),
        (&"0.1.0".into(), &"crafter-v1".into())
    );
    assert_eq!((&row["env"], &row["ok"]), (&"crafter".into(), &true.into()));
    // Everything but the head of the manifest and the description is the parent's.
    let diff = run_json(home, &["scaffold", "diff", "crafter-v1", "mine", "--json"]);
    let paths: Vec<&str> = diff["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["scaffold.toml", "METHOD.md"]);
    assert!(read(home, "mine", "METHOD.md").contains("Made from crafter-v1"));
    let text = run_ok(home, &["scaffold", "diff", "crafter-v1", "mine"]);
    assert!(
        text.contains("+ parent = \"crafter-v1\"") && text.contains("- name = \"crafter-v1\""),
        "{text}"
    );
    let same = run_ok(home, &["scaffold", "diff", "mine", "mine"]);
    assert_eq!(same, "the two are the same\n");
}

#[test]
fn names_that_cannot_be_or_are_taken_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for name in ["", ".hidden", "a/b", "..", "a b", "ä"] {
        let told = run_fails(home, &["scaffold", "new", name], 1);
        assert!(told.contains("cannot be a scaffold's name"), "{name}: {told}");
    }
    let told = run_fails(home, &["scaffold", "new", "crafter-v0"], 1);
    assert!(told.contains("there is a scaffold `crafter-v0` already"), "{told}");
    let told = run_fails(home, &["scaffold", "new", "mine", "--from", "nothing"], 1);
    assert!(told.contains("nothing") && told.contains("crafter-v1"), "{told}");
    assert!(!folder(home, "mine").exists());

    run_ok(home, &["scaffold", "new", "mine"]);
    edit(home, "mine", "METHOD.md", "Made from", "Edited, made from");
    let told = run_fails(home, &["scaffold", "new", "mine", "--from", "crafter-v1"], 1);
    assert!(told.contains("`mine` already"), "{told}");
    assert!(
        read(home, "mine", "METHOD.md").contains("Edited"),
        "what was there stays"
    );
    // A folder that is no scaffold is not written over either.
    std::fs::create_dir_all(folder(home, "other")).unwrap();
    std::fs::write(folder(home, "other").join("notes.txt"), "mine").unwrap();
    let told = run_fails(home, &["scaffold", "new", "other"], 1);
    assert!(told.contains("in the way"), "{told}");
    assert_eq!(read(home, "other", "notes.txt"), "mine");
    let left: Vec<_> = std::fs::read_dir(home.join("workspace/scaffolds")).unwrap().collect();
    assert_eq!(left.len(), 2, "no draft is left: {left:?}");
}

#[test]
fn check_finds_what_only_a_rehearsal_shows() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "mine", "--from", "crafter-v1"]);
    for args in [
        &["scaffold", "check", "mine", "--json"][..],
        &["scaffold", "check", "mine", "--no-rehearsal", "--json"],
    ] {
        let told = run_json(home, args);
        assert_eq!(
            (&told["ok"], told["problems"].as_array().unwrap().len()),
            (&true.into(), 0),
            "{told}"
        );
    }
    assert_eq!(run_ok(home, &["scaffold", "check", "mine"]), "mine: nothing is wrong\n");

    // It parses, and fails when it is called.
    let script = "def hook(state, event):\n    if event.step == 3:\n        return state, [vars(stuck = 1 // 0)]\n    return state, []\n";
    std::fs::write(folder(home, "mine").join("hooks.star"), script).unwrap();
    let told = run_json(home, &["scaffold", "check", "mine", "--no-rehearsal", "--json"]);
    assert_eq!(told["ok"], true, "{told}");
    let output = run(home, &["scaffold", "check", "mine", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = &told["problems"][0];
    assert_eq!(
        (&told["ok"], &problem["file"]),
        (&false.into(), &"hooks.star".into()),
        "{told}"
    );
    assert_eq!(problem["line"], 3, "{told}");
    assert!(
        problem["message"].as_str().unwrap().contains("division by zero"),
        "{told}"
    );
}

#[test]
fn a_broken_script_is_named_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "mine", "--from", "crafter-v1"]);
    let script = "def hook(state, event):\n    x = event.step +\n    return state, []\n";
    std::fs::write(folder(home, "mine").join("hooks.star"), script).unwrap();
    let output = run(home, &["scaffold", "check", "mine", "--no-rehearsal", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = &told["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"]),
        (&"hooks.star".into(), &2.into()),
        "{told}"
    );
    let column = problem["column"].as_u64().unwrap();
    assert!(column > 0, "{told}");
    let text = run(home, &["scaffold", "check", "mine"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.starts_with(&format!("hooks.star:2:{column}: ")), "{text}");
}

#[test]
fn log_tells_lineage_and_how_runs_went() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "child", "--from", "crafter-tiny"]);
    run_ok(home, &["scaffold", "new", "grandchild", "--from", "child"]);
    let args = [
        "run",
        "--env",
        "crafter",
        "--scaffold",
        "child",
        "--model",
        "scripted",
        "--seeds",
        "42..43",
        "--max-steps",
        "5",
        "--json",
    ];
    run_ok(home, &args);
    let log = run_json(home, &["scaffold", "log", "grandchild", "--json"]);
    let names: Vec<&str> = log["scaffolds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(names.ends_with(&["crafter-tiny", "child", "grandchild"]), "{names:?}");
    let row = named(&log, "child").unwrap();
    assert_eq!((&row["runs"], &row["episodes"]), (&1.into(), &2.into()), "{row}");
    assert!(
        (0.0..=1.0).contains(&row["mean_progression"].as_f64().unwrap()),
        "{row}"
    );
    assert_eq!(row["method"], "Made from crafter-tiny.");
    let idle = named(&log, "grandchild").unwrap();
    assert_eq!((&idle["runs"], &idle["mean_progression"]), (&0.into(), &Value::Null));
    let text = run_ok(home, &["scaffold", "log"]);
    assert!(text.contains("runs: 1, episodes: 2, mean progression"), "{text}");
    assert!(text.contains("from child") && text.contains("no runs yet"), "{text}");

    // Runs belong to the bytes they were played with: an edited scaffold has none yet.
    edit(home, "child", "METHOD.md", "Made from", "Changed, from");
    let log = run_json(home, &["scaffold", "log", "child", "--json"]);
    assert_eq!(named(&log, "child").unwrap()["runs"], 0);
    let told = run_fails(home, &["scaffold", "log", "nothing"], 1);
    assert!(
        told.contains("there is no scaffold `nothing`") && told.contains("grandchild"),
        "{told}"
    );
}

#[test]
fn show_names_what_a_scaffold_adds() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let shown = run_json(home, &["scaffold", "show", "crafter-v1", "--json"]);
    assert_eq!(shown["own_variables"]["position"], "0,0");
    assert_eq!(shown["own_variables"]["warnings"], serde_json::json!([]));
    let ops = shown["own_operations"].as_array().unwrap();
    let near = ops.iter().find(|op| op["name"] == "NEAR").unwrap();
    assert_eq!(near["phases"], serde_json::json!(["LOG", "PLAN"]));
    assert_eq!((&near["after"], &near["writes"]), (&"SEARCH".into(), &false.into()));
    assert!(near["usage"].as_str().unwrap().contains("NEAR"), "{near}");
    assert!(shown["variables"]["prompts/log.md"]["observation_long"].is_string());

    let text = run_ok(home, &["scaffold", "show", "crafter-v1"]);
    assert!(
        text.contains("Variables of its own") && text.contains("    position           \"0,0\""),
        "{text}"
    );
    assert!(
        text.contains("    UPSERT (LOG)") && text.contains("    NEAR (LOG, PLAN)"),
        "{text}"
    );
    let plain = run_ok(home, &["scaffold", "show", "crafter-v0"]);
    assert!(!plain.contains("of its own"), "v0 adds nothing");

    let file = run_ok(home, &["scaffold", "show", "crafter-v1", "--file", "hooks.star"]);
    assert!(file.contains("def hook(state, event)"));
    let told = run_fails(home, &["scaffold", "show", "crafter-v1", "--file", "no.md"], 1);
    assert!(
        told.contains("there are:") && told.contains("prompts/plan.md"),
        "{told}"
    );
}

#[test]
fn the_example_of_the_documentation_works() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let docs = format!("{}/docs/SCAFFOLDS.md", env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(docs).unwrap();
    let block = |language: &str| {
        let (_, rest) = docs.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    run_ok(home, &["scaffold", "new", "mine"]);
    let manifest = read(home, "mine", "scaffold.toml") + "\n" + &block("toml");
    std::fs::write(folder(home, "mine").join("scaffold.toml"), manifest).unwrap();
    std::fs::write(folder(home, "mine").join("hooks.star"), block("python")).unwrap();
    let plan = read(home, "mine", "prompts/plan.md") + "\n{{ warning }}\n";
    std::fs::write(folder(home, "mine").join("prompts/plan.md"), plan).unwrap();
    assert_eq!(run_ok(home, &["scaffold", "check", "mine"]), "mine: nothing is wrong\n");
    // The rehearsal used the operation: without an answer to it, it finds that.
    edit(home, "mine", "hooks.star", "result(\"noted\")", "results(\"noted\")");
    let output = run(home, &["scaffold", "check", "mine"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = run_ok(home, &["scaffold", "show", "mine"]);
    assert!(
        text.contains("    PIN (LOG)") && text.contains("    warning            \"\""),
        "{text}"
    );
}
