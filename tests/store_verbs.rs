//! The verbs that read a run file, through the real binary.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{run, run_fails, run_json, run_ok, scripted_run};

fn keys(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_run_is_shown_searched_and_exported() {
    let dir = tempfile::tempdir().unwrap();
    let path = scripted_run(dir.path(), "run.db", "42..43", 40);
    let run_file = path.to_str().unwrap();

    let shown = run_json(
        dir.path(),
        &["show", run_file, "--episode", "1", "--step", "12", "--json"],
    );
    assert_eq!(shown["step"], 12);
    for key in [
        "observation",
        "turns",
        "ops",
        "action",
        "reward",
        "terminated",
        "truncated",
        "progression",
    ] {
        assert!(keys(&shown).contains(&key), "{key} is missing");
    }
    let turn = &shown["turns"][0];
    for key in [
        "phase",
        "role",
        "prompt",
        "response",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "ms",
    ] {
        assert!(keys(turn).contains(&key), "{key} is missing");
    }
    assert_eq!(turn["phase"], "LOG");
    for key in ["phase", "turn", "op", "args", "by", "outcome"] {
        assert!(keys(&shown["ops"][0]).contains(&key), "{key} is missing");
    }
    for key in ["raw", "validated", "by"] {
        assert!(keys(&shown["action"]).contains(&key), "{key} is missing");
    }
    let plain = run_ok(dir.path(), &["show", run_file, "--step", "12"]);
    assert!(plain.contains("observation") && plain.contains("action:"), "{plain}");

    let memory = run_json(
        dir.path(),
        &["memory", run_file, "--episode", "0", "--step", "30", "--json"],
    );
    assert_eq!(memory["step"], 30);
    let file = &memory["files"][0];
    assert_eq!(keys(file), ["path", "bytes", "lines", "last_step", "text"]);
    assert_eq!(file["bytes"], file["text"].as_str().unwrap().len());
    let name = file["path"].as_str().unwrap();
    let one = run_json(
        dir.path(),
        &["memory", run_file, "--step", "30", "--file", name, "--json"],
    );
    assert_eq!(one["files"], serde_json::json!([file]));
    let error = run_fails(
        dir.path(),
        &["memory", run_file, "--step", "30", "--file", "nope.txt"],
        1,
    );
    assert!(error.contains("nope.txt") && error.contains(name), "{error}");

    let action = shown["action"]["validated"].as_str().unwrap().to_uppercase();
    let found = run_json(dir.path(), &["search", run_file, &action, "--json"]);
    let hits = found["hits"].as_array().unwrap();
    let here = |hit: &&serde_json::Value| hit["episode"] == 1 && hit["step"] == 12 && hit["place"] == "action";
    assert_eq!(hits.iter().filter(here).count(), 1);

    let out = dir.path().join("events.jsonl");
    run_ok(dir.path(), &["export", run_file, "--jsonl", out.to_str().unwrap()]);
    let exported = std::fs::read_to_string(&out).unwrap();
    assert_eq!(exported, run_ok(dir.path(), &["export", run_file, "--jsonl", "-"]));
    let lines: Vec<serde_json::Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.first().unwrap()["body"]["event"], "run_started");
    assert_eq!(lines.last().unwrap()["body"]["event"], "run_finished");
    let steps = lines
        .iter()
        .filter(|line| line["body"]["event"] == "step_finished")
        .count();
    assert_eq!(steps, 80);
    assert!(
        !run(dir.path(), &["export", run_file, "--jsonl", "/nowhere/at/all.jsonl"])
            .status
            .success()
    );
}
