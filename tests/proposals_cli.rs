//! `automem proposals` as a script meets it: the real program and a workspace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;

use common::{run_fails, run_json, run_ok};
use serde_json::Value;

/// A proposal of three parts: a budget, a sentence in LOG's prompt, a new file.
fn proposed(home: &Path) -> Value {
    run_ok(home, &["scaffold", "new", "mine"]);
    run_ok(home, &["scaffold", "new", "better", "--from", "mine"]);
    let folder = home.join("workspace/scaffolds/better");
    let manifest = std::fs::read_to_string(folder.join("scaffold.toml")).unwrap();
    std::fs::write(
        folder.join("scaffold.toml"),
        manifest.replace("log_turns = 3", "log_turns = 2"),
    )
    .unwrap();
    let log = std::fs::read_to_string(folder.join("prompts/log.md")).unwrap();
    std::fs::write(
        folder.join("prompts/log.md"),
        log + "Write only what is new.\nWrite it once.\n",
    )
    .unwrap();
    std::fs::copy(
        home.join("workspace/scaffolds/mine/METHOD.md"),
        folder.join("METHOD.md"),
    )
    .unwrap();
    std::fs::write(folder.join("NOTES.md"), "For people.\n").unwrap();
    run_json(
        home,
        &[
            "proposals",
            "new",
            "--from",
            "mine",
            "--to",
            "better",
            "--title",
            "write less",
            "--json",
        ],
    )
}

fn parts(shown: &Value) -> Vec<(String, String)> {
    let parts = shown["parts"].as_array().unwrap().iter();
    let text = |part: &Value, key: &str| part[key].as_str().unwrap().to_owned();
    parts.map(|part| (text(part, "id"), text(part, "digest"))).collect()
}

#[test]
fn parts_are_decided_one_by_one_applied_and_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let shown = proposed(home);
    assert_eq!(
        (&shown["id"], &shown["state"], &shown["line"]),
        (&"p1".into(), &"pending".into(), &"mine".into())
    );
    let all = parts(&shown);
    let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["scaffold.toml#1", "NOTES.md#1", "prompts/log.md#1"]);

    // A digest that is not the part's is refused; then each verdict once.
    let other = run_fails(
        home,
        &[
            "proposals",
            "decide",
            "p1",
            "--part",
            ids[0],
            "--accept",
            "--digest",
            &all[2].1,
        ],
        1,
    );
    assert!(other.contains("proposals show p1"), "{other}");
    let words = "harmful: LOG needs its turns";
    run_ok(
        home,
        &[
            "proposals",
            "decide",
            "p1",
            "--part",
            ids[0],
            "--reject",
            words,
            "--digest",
            &all[0].1,
        ],
    );
    run_ok(home, &["proposals", "decide", "1", "--part", ids[1], "--accept"]);
    run_ok(home, &["proposals", "split", "p1", ids[2]]);
    let early = run_fails(home, &["proposals", "apply", "p1", "--overrule", "now"], 1);
    assert!(early.contains("pending"), "{early}");
    run_ok(
        home,
        &["proposals", "decide", "p1", "--part", "prompts/log.md#1.1", "--accept"],
    );
    let text = home.join("once.txt");
    std::fs::write(&text, "Never write a thing twice.\n").unwrap();
    let shown = run_json(
        home,
        &[
            "proposals",
            "decide",
            "p1",
            "--part",
            "prompts/log.md#1.2",
            "--edit",
            text.to_str().unwrap(),
            "--json",
        ],
    );
    assert_eq!((&shown["state"], &shown["extent"]), (&"checked".into(), &"part".into()));
    assert_eq!(shown["parts"][0]["decision"]["reason"], "harmful");
    assert_eq!(shown["parts"][0]["decision"]["comment"], "LOG needs its turns");

    let no_gate = run_fails(home, &["proposals", "apply", "p1"], 1);
    assert!(
        no_gate.contains("no gate yet") && no_gate.contains("--overrule"),
        "{no_gate}"
    );
    let mine = home.join("workspace/scaffolds/mine");
    let before = std::fs::read_to_string(mine.join("prompts/log.md")).unwrap();
    run_ok(home, &["proposals", "apply", "p1", "--overrule", "only words"]);
    let log = std::fs::read_to_string(mine.join("prompts/log.md")).unwrap();
    assert!(
        log.ends_with("Write only what is new.\nNever write a thing twice.\n"),
        "{log}"
    );
    let manifest = std::fs::read_to_string(mine.join("scaffold.toml")).unwrap();
    assert!(
        manifest.contains("log_turns = 3") && manifest.contains("version = \"0.1.1\""),
        "{manifest}"
    );
    assert!(mine.join("NOTES.md").exists());
    run_ok(home, &["scaffold", "check", "mine", "--no-rehearsal"]);

    run_ok(home, &["proposals", "undo", "--reason", "too wordy"]);
    assert_eq!(std::fs::read_to_string(mine.join("prompts/log.md")).unwrap(), before);
    assert!(!mine.join("NOTES.md").exists());
    let log = run_json(home, &["proposals", "log", "--json"]);
    let kinds: Vec<&str> = log["log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["what"].as_str().unwrap())
        .collect();
    let expected = [
        "proposed",
        "decided",
        "decided",
        "split",
        "decided",
        "decided",
        "committed",
        "checked",
        "applying",
        "promoted",
        "demoting",
        "demoted",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(log["log"][9]["overrule"], "only words");
}

#[test]
fn a_policy_is_written_down_and_what_cannot_work_is_not_applied() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "mine"]);
    run_ok(home, &["scaffold", "new", "broken", "--from", "mine"]);
    let folder = home.join("workspace/scaffolds/broken");
    let plan = std::fs::read_to_string(folder.join("prompts/plan.md")).unwrap();
    std::fs::write(folder.join("prompts/plan.md"), plan + "{{ nothing_of_that_name }}\n").unwrap();
    run_ok(home, &["proposals", "new", "--from", "mine", "--to", "broken"]);
    let shown = run_json(
        home,
        &[
            "proposals",
            "decide",
            "p1",
            "--all",
            "--accept",
            "--policy",
            "accept what comes",
            "--json",
        ],
    );
    assert_eq!(shown["state"], "check-failed");
    assert!(
        shown["problems"][0]["message"]
            .as_str()
            .unwrap()
            .contains("nothing_of_that_name"),
        "{shown}"
    );
    assert_eq!(shown["parts"][0]["decision"]["policy"], "accept what comes");
    let refused = run_fails(home, &["proposals", "apply", "p1", "--overrule", "please"], 1);
    assert!(refused.contains("check-failed"), "{refused}");
    // Taken back and decided otherwise, it is what it was.
    run_ok(home, &["proposals", "undo", "p1"]);
    run_ok(home, &["proposals", "discard", "p1", "it does not load"]);
    let list = run_json(home, &["proposals", "list", "--json"]);
    assert_eq!(list["proposals"][0]["state"], "discarded");
    let gone = run_fails(home, &["proposals", "show", "p2"], 1);
    assert!(gone.contains("there is p1"), "{gone}");
}

#[test]
fn folders_of_python_files_can_be_reviewed_and_not_applied() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for (folder, text) in [("v0", "LIMIT = 25\n"), ("v1", "LIMIT = 30\nKEYED = True\n")] {
        std::fs::create_dir_all(home.join(folder).join("agents")).unwrap();
        std::fs::write(home.join(folder).join("agents/memory_agent.py"), text).unwrap();
    }
    run_ok(home, &["proposals", "new", "--from", "./v0", "--to", "./v1"]);
    let shown = run_json(home, &["proposals", "decide", "p1", "--all", "--accept", "--json"]);
    assert_eq!(shown["state"], "check-failed");
    let told = shown["problems"][0].to_string();
    assert!(told.contains("not run"), "{told}");
    assert!(run_ok(home, &["proposals", "show", "p1"]).contains("+KEYED = True"));
}

#[test]
fn wrong_use_is_told_and_an_empty_desk_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    assert!(run_ok(home, &["proposals", "list"]).contains("automem optimize"));
    assert!(run_ok(home, &["proposals", "log"]).contains("nothing"));
    let none = run_fails(home, &["proposals", "show", "p1"], 1);
    assert!(none.contains("none yet"), "{none}");
    run_fails(home, &["proposals", "decide", "p1", "--part", "a#1"], 2);
    run_fails(home, &["proposals", "decide", "p1", "--accept"], 2);
    let same = run_fails(
        home,
        &["proposals", "new", "--from", "crafter-v0", "--to", "crafter-v0"],
        1,
    );
    assert!(same.contains("changes no file"), "{same}");
    let nothing = run_fails(home, &["proposals", "undo"], 1);
    assert!(nothing.contains("nothing to take back"), "{nothing}");
}

#[test]
fn a_gate_plays_both_on_the_same_seeds_and_is_not_played_twice() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    proposed(home);
    let gate = [
        "proposals",
        "gate",
        "p1",
        "--seeds",
        "42,43",
        "--max-steps",
        "15",
        "--workers",
        "2",
    ];
    let early = run_fails(home, &gate, 1);
    assert!(early.contains("pending"), "{early}");
    run_ok(home, &["proposals", "decide", "p1", "--all", "--accept"]);
    let told = run_ok(home, &gate);
    assert!(told.contains("sign test") && told.contains("gated"), "{told}");
    let shown = run_json(home, &["proposals", "show", "p1", "--json"]);
    let gated = &shown["gate"];
    assert_eq!(gated["pairs"].as_array().unwrap().len(), 2);
    for key in ["parent_run", "revision_run"] {
        assert!(Path::new(gated[key].as_str().unwrap()).is_file(), "{gated}");
    }
    // The scripted player needs no third LOG turn: both play alike, and alike is not better.
    assert_eq!((&gated["outcome"], &gated["ties"]), (&"not_better".into(), &2.into()));
    let refused = run_fails(home, &["proposals", "apply", "p1"], 1);
    assert!(refused.contains("not better"), "{refused}");
    let runs = || std::fs::read_dir(home.join("workspace/runs")).unwrap().count();
    let before = runs();
    run_ok(home, &gate);
    assert_eq!(runs(), before);
    run_ok(home, &["proposals", "apply", "p1", "--overrule", "it is shorter"]);
}
