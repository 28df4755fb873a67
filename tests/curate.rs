//! `automem curate` and `automem tune postprocess` as a script meets them: the real program and a workspace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{automem, run_fails, run_json, run_ok, scripted_run};
use serde_json::{Value, json};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run of two episodes on the given seeds.
fn recorded(home: &Path, seeds: &str) -> PathBuf {
    scripted_run(home, "run.db", seeds, 24)
}

fn proposed(home: &Path, run: &Path, more: &[&str]) -> Value {
    let args = [&["curate", text(run), "--propose", "--json"], more].concat();
    run_json(home, &args)
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

#[test]
fn candidates_are_verbatim_and_have_their_evidence() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7,8");
    let document = run_json(home, &["curate", text(&run), "--env", "crafter", "--json"]);
    let candidates = list(&document["candidates"]);
    assert!(candidates.len() > 60, "{}", candidates.len());
    let mut phases = [0, 0];
    for candidate in candidates {
        let said = list(&candidate["conversation"]);
        let roles: Vec<&str> = said.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(
            (roles[0], *roles.last().unwrap()),
            ("system", "assistant"),
            "{candidate}"
        );
        assert!(
            roles[1..].chunks(2).all(|pair| pair == ["user", "assistant"]),
            "{roles:?}"
        );
        let plan = usize::from(candidate["phase"] == "PLAN");
        phases[plan] += 1;
        if plan == 1 {
            // A consultation ends with what was asked, not with the action.
            assert!(!list(&candidate["evidence"]["ops"]).is_empty(), "{candidate}");
        }
        for key in ["id", "run", "episode", "step", "selected", "reason"] {
            assert!(!candidate[key].is_null(), "{key} of {candidate}");
        }
    }
    assert!(phases[0] > 30 && phases[1] > 20, "{phases:?}");
    let read = candidates
        .iter()
        .filter(|one| one["evidence"]["later_reads"].as_u64() > Some(0));
    assert!(read.count() > 3);
    // What the record shows of a step is what the candidate says.
    let one = candidates.iter().find(|one| one["phase"] == "LOG").unwrap();
    let (episode, step) = (one["episode"].to_string(), one["step"].to_string());
    let shown = run_json(
        home,
        &["show", text(&run), "--episode", &episode, "--step", &step, "--json"],
    );
    let turn = list(&shown["turns"])
        .iter()
        .rfind(|turn| turn["phase"] == "LOG")
        .unwrap();
    let said = list(&one["conversation"]);
    assert_eq!(said.last().unwrap()["content"], turn["response"]);
    let prompt = turn["prompt"].as_str().unwrap();
    for message in &said[..said.len() - 1] {
        assert!(prompt.contains(message["content"].as_str().unwrap()));
    }
}

#[test]
fn runs_that_were_recorded_before_have_candidates_too() {
    let home = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-runs");
    for (run, rules) in [
        ("scripted.db", "You are an agent"),
        ("crafter-v1.db", "You are an agent"),
        ("smollm2.db", "You play Crafter"),
    ] {
        let document = run_json(home.path(), &["curate", text(&samples.join(run)), "--json"]);
        let candidates = list(&document["candidates"]);
        assert!(candidates.len() > 10, "{run}");
        for candidate in candidates {
            let system = candidate["conversation"][0]["content"].as_str().unwrap();
            assert!(system.starts_with(rules), "{run}: {system}");
        }
        assert!(document["left_out"]["phases whose record does not show where messages stand"].is_null());
    }
}

#[test]
fn a_selection_is_decided_on_certified_and_held_against_its_runs() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7,8");
    let document = proposed(home, &run, &["--per-episode", "10", "--minimum", "5"]);
    assert_eq!(document["proposal"], "p1");
    let chosen = document["selected"].as_u64().unwrap();
    assert!((2..=20).contains(&chosen), "{chosen}");

    // Nothing is accepted unless somebody says so.
    let nothing = run_fails(home, &["curate", "decide", "p1"], 1);
    assert!(nothing.contains("--accept"), "{nothing}");
    let early = run_fails(home, &["curate", "certify", "p1"], 1);
    assert!(early.contains("only committed decisions"), "{early}");
    let empty = run_fails(home, &["curate", "decide", "p1", "--commit", "--fewer", "a try"], 1);
    assert!(empty.contains("no item is accepted"), "{empty}");

    let stands = run_json(
        home,
        &["curate", "decide", "p1", "--accept", "--filter", "selected", "--json"],
    );
    assert_eq!(
        (stands["accepted"].as_u64(), stands["decided"].as_u64()),
        (Some(chosen), Some(chosen))
    );
    let shown = run_json(
        home,
        &["curate", "show", "p1", "--filter", "accepted phase:LOG", "--json"],
    );
    let first = shown["items"][0]["id"].as_str().unwrap().to_owned();
    let stands = run_json(
        home,
        &[
            "curate",
            "decide",
            "p1",
            "--reject",
            "harmful: no",
            "--item",
            &first,
            "--commit",
            "--json",
        ],
    );
    assert_eq!(
        (stands["state"].as_str(), stands["accepted"].as_u64()),
        (Some("decided"), Some(chosen - 1))
    );

    let certified = run_json(home, &["curate", "certify", "p1", "--json"]);
    let set = PathBuf::from(certified["dataset"].as_str().unwrap());
    assert!(set.starts_with(home.join("workspace/datasets").canonicalize().unwrap()));
    let report = &certified["report"];
    assert_eq!(
        (report["raw"].as_u64(), report["violations"].as_u64()),
        (Some(chosen - 1), Some(0))
    );
    let examples: Value = serde_json::from_slice(&std::fs::read(&set).unwrap()).unwrap();
    assert_eq!(list(&examples).len() as u64, report["output"].as_u64().unwrap());
    assert!(
        list(&examples)
            .iter()
            .all(|example| example["source"]["digest"].is_string())
    );
    let stands = run_json(home, &["curate", "show", "p1", "--json"]);
    assert_eq!(
        (stands["state"].as_str(), &stands["dataset"]["examples"]),
        (Some("certified"), &report["output"])
    );
    // Once more gives the same.
    assert_eq!(run_json(home, &["curate", "certify", "p1", "--json"]), certified);

    // The set is clean already, and it is what the run says.
    let out = home.join("out.json");
    let counts = run_json(
        home,
        &["tune", "postprocess", text(&set), text(&out), "--against", text(&run)],
    );
    assert_eq!(
        (&counts["raw"], &counts["output"]),
        (&report["output"], &report["output"])
    );
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&set).unwrap());
    let mut edited = examples;
    let said = edited[1]["conversations"][1]["content"].as_str().unwrap().to_owned();
    edited[1]["conversations"][1]["content"] = format!("{said}!").into();
    let wrong = home.join("edited.json");
    std::fs::write(&wrong, edited.to_string()).unwrap();
    let refused = run_fails(
        home,
        &["tune", "postprocess", text(&wrong), text(&out), "--against", text(&run)],
        1,
    );
    assert!(
        refused.contains("example 1") && refused.contains("changed"),
        "{refused}"
    );
}

#[test]
fn gate_seeds_and_exchanged_runs_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "42,8");
    let document = proposed(home, &run, &["--minimum", "1"]);
    for candidate in list(&document["candidates"]) {
        let on_gate = candidate["seed"] == 42;
        assert!(!(on_gate && candidate["selected"] == true), "{candidate}");
    }
    let stands = run_json(
        home,
        &[
            "curate",
            "decide",
            "p1",
            "--policy",
            "take what was selected",
            "--commit",
            "--json",
        ],
    );
    assert_eq!(stands["state"], "decided");
    // Another run under the same name is not what was decided on.
    let kept = home.join("kept.db");
    std::fs::rename(&run, &kept).unwrap();
    let other = scripted_run(home, "other.db", "8", 5);
    std::fs::rename(&other, &run).unwrap();
    let exchanged = run_fails(home, &["curate", "certify", "p1"], 1);
    assert!(exchanged.contains("another run"), "{exchanged}");
    std::fs::remove_file(&run).unwrap();
    assert!(run_fails(home, &["curate", "certify", "p1"], 1).contains("run.db"));
    std::fs::rename(&kept, &run).unwrap();
    run_ok(home, &["curate", "certify", "p1"]);

    // A person may accept an item on a gate's seed, but nothing is made of it.
    proposed(home, &run, &["--minimum", "1"]);
    let accept = [
        "curate", "decide", "p2", "--accept", "--filter", "seed:42", "--commit", "--json",
    ];
    let stands = run_json(home, &accept);
    assert!(stands["warnings"].to_string().contains("gate"), "{stands}");
    let refused = run_fails(home, &["curate", "certify", "p2"], 1);
    assert!(refused.contains("seed 42"), "{refused}");
}

#[test]
fn too_few_need_a_reason() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7");
    proposed(home, &run, &[]);
    let accept = ["curate", "decide", "p1", "--accept", "--filter", "selected", "--commit"];
    let few = run_fails(home, &accept, 1);
    assert!(few.contains("300 are wanted") && few.contains("--fewer"), "{few}");
    let text = run_ok(
        home,
        &["curate", "decide", "p1", "--commit", "--fewer", "a small model"],
    );
    assert!(text.contains("p1 decided"), "{text}");
    let log = run_json(home, &["proposals", "log", "p1", "--json"]);
    assert!(log.to_string().contains("a small model"));
}

#[test]
fn rules_come_from_a_file_and_from_the_command_line() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7");
    let rules = home.join("rules.toml");
    std::fs::write(&rules, "phases = [\"LOG\"]\nat_most = 3\n").unwrap();
    let selected = |more: &[&str]| {
        let args = [&["curate", text(&run), "--json"], more].concat();
        let document = run_json(home, &args);
        let all = list(&document["candidates"]).clone();
        all.into_iter()
            .filter(|one| one["selected"] == true)
            .collect::<Vec<_>>()
    };
    let log = selected(&["--rules", text(&rules)]);
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|one| one["phase"] == "LOG"));
    // The scripted player asks the same each time: its consultations count as one.
    let plan = selected(&["--rules", text(&rules), "--phase", "plan", "--at-most", "2"]);
    assert!((1..=2).contains(&plan.len()), "{plan:?}");
    assert!(plan.iter().all(|one| one["phase"] == "PLAN"));
    assert!(
        selected(&["--min-later-reads", "100000", "--phase", "LOG"])
            .iter()
            .all(|one| one["evidence"]["bytes_written"] == 0)
    );
    let table = run_ok(home, &["curate", text(&run)]);
    assert!(
        table.contains("candidates are selected") && table.contains("not selected"),
        "{table}"
    );
}

#[test]
fn bad_input_is_named() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7");
    let none = home.join("none.db");
    let rules = home.join("rules.toml");
    std::fs::write(&rules, "colour = 1\n").unwrap();
    for (args, said) in [
        (vec!["curate", text(&none)], "none.db"),
        (vec!["curate", text(&run), text(&run)], "the same run"),
        (vec!["curate", text(&run), "--env", "nethack"], "is a run of crafter"),
        (vec!["curate", text(&run), "--rules", text(&rules)], "colour"),
        (
            vec!["curate", text(&run), "--top-episodes", "700"],
            "top_episodes_percent",
        ),
        (vec!["curate", text(&run), "--select", "nobody"], "nobody"),
        (vec!["curate", "show", "p9"], "p9"),
        (vec!["curate", "certify", "p9"], "p9"),
    ] {
        let error = run_fails(home, &args, 1);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    run_fails(home, &["curate"], 2);
    run_fails(home, &["curate", text(&run), "--phase", "BOTH"], 2);
    run_fails(home, &["curate", "decide", "p1", "--accept"], 2);
    proposed(home, &run, &[]);
    for (args, said) in [
        (vec!["--accept", "--filter", "colour:red"], "colour:red"),
        (vec!["--accept", "--item", "x"], "no item `x`"),
        (vec!["--accept", "--filter", "step>1000"], "no item of p1"),
        (vec!["--commit", "--filter", "selected"], "--accept"),
    ] {
        let error = run_fails(home, &[&["curate", "decide", "p1"], args.as_slice()].concat(), 1);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn postprocess_counts_and_a_broken_list_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (input, output) = (home.join("in.json"), home.join("out.json"));
    let chat = |answer: &str| {
        json!({"conversations": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": answer},
        ]})
    };
    let set = json!([
        chat("```\n<|APPEND|>a|b<|END|>\n```\n<|DONE|> bye"),
        chat("<|DONE|>"),
        chat("<|ACTION|>Noop<|END|>"),
        chat("<|READ|>a<|END|>\n<|ACTION|>Noop<|END|>"),
        chat("hm"),
        chat("```\n<|READ|>a<|END|>"),
        {"conversations": [{"role": "robot", "content": "x"}]},
        7,
    ]);
    std::fs::write(&input, set.to_string()).unwrap();
    let report = run_json(home, &["tune", "postprocess", text(&input), text(&output)]);
    assert_eq!(
        report,
        json!({
            "raw": 8, "valid": 6, "output": 3, "violations": 0,
            "dropped": {"action_only": 1, "fence": 1, "invalid": 2, "no_memory_op": 1},
        })
    );
    let kept: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
    let answers: Vec<&str> = list(&kept)
        .iter()
        .map(|example| example["conversations"][1]["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        answers,
        ["<|APPEND|>a|b<|END|>\n<|DONE|>", "<|DONE|>", "<|READ|>a<|END|>"]
    );
    std::fs::remove_file(&output).unwrap();
    for broken in ["{", "{}", ""] {
        std::fs::write(&input, broken).unwrap();
        let error = run_fails(home, &["tune", "postprocess", text(&input), text(&output)], 1);
        assert!(error.contains("in.json") && !output.exists(), "{error}");
    }
    // Nobody who listens is no error.
    let run = recorded(home, "7");
    let mut child = automem(home)
        .args(["curate", text(&run), "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_meta_llm_judges_in_batches_and_a_broken_off_selection_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = recorded(home, "7");
    let rules = home.join("rules.toml");
    let only = "phases = [\"LOG\"]\nat_most = 14\nsimilarity = 1.0\nmax_empty = 100\nmax_redundant = 100\n";
    std::fs::write(&rules, only).unwrap();
    let few = ["--rules", text(&rules), "--json"];
    let by_rules = run_json(home, &[&["curate", text(&run)], few.as_slice()].concat());
    let asked: Vec<Value> = list(&by_rules["candidates"])
        .iter()
        .filter(|one| one["selected"] == true)
        .cloned()
        .collect();
    let ids: Vec<&str> = asked.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 14);

    let story = home.join("story.jsonl");
    let meta = format!("recorded:{}", story.display());
    let call = |name: &str, arguments: Value| json!({"id": format!("{name}-{arguments}"), "name": name, "arguments": arguments});
    let judge = |id: &str, accept: bool| {
        call(
            "judge",
            json!({"id": id, "accept": accept, "reason": format!("about {id}")}),
        )
    };
    let tell = |answers: &[Vec<Value>]| {
        let line = |calls: &Vec<Value>| {
            format!(
                "{}\n",
                json!({"calls": calls, "usage": {"prompt": 100, "cached": 0, "completion": 10}})
            )
        };
        std::fs::write(&story, answers.iter().map(line).collect::<String>()).unwrap();
    };
    let mut first: Vec<Value> = ids[..11]
        .iter()
        .enumerate()
        .map(|(n, id)| judge(id, n % 2 == 0))
        .collect();
    first.push(call("show_step", json!({"from": asked[0]["step"], "detail": "short"})));
    first.push(call("later_reads", json!({"id": ids[0]})));
    first.push(call("show_conversation", json!({"id": ids[0]})));
    first.push(judge("nobody", true));
    first.push(call(
        "judge",
        json!({"id": ids[11], "accept": "perhaps", "reason": "hm"}),
    ));
    tell(&[first, vec![call("finish", json!({}))], vec![call("finish", json!({}))]]);
    let args = [&["curate", text(&run), "--select", meta.as_str()], few.as_slice()].concat();
    // The recording ends after the first batch, as if the program had been killed.
    let broken = run_fails(home, &args, 1);
    assert!(
        broken.contains("all were given") && broken.contains("kept in"),
        "{broken}"
    );
    let kept = home.join("workspace/meta");
    let lines = |start: &str, from: &str| -> Vec<Value> {
        let files = std::fs::read_dir(&kept).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<PathBuf> = files
            .filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with(start))
            .collect();
        files.sort();
        let text: String = files
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap())
            .collect();
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|line| from.is_empty() || line["from"] == from).collect()
    };
    assert_eq!(lines("curate-select-", "").len(), 1);
    let results: String = lines("meta-", "results").iter().map(ToString::to_string).collect();
    for said in [
        "is accepted",
        "is rejected",
        "There is no candidate",
        "must be true or false",
        "Not judged yet",
        "--- system",
    ] {
        assert!(results.contains(said), "{said}: {results}");
    }

    // The second batch alone is asked for when it goes on.
    tell(&[
        vec![judge(ids[12], true), judge(ids[13], false)],
        vec![call("finish", json!({}))],
    ]);
    let document = run_json(home, &args);
    let judged = |id: &str| {
        let one = list(&document["candidates"])
            .iter()
            .find(|one| one["id"] == id)
            .unwrap();
        (
            one["selected"].as_bool().unwrap(),
            one["reason"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(judged(ids[0]), (true, format!("about {}", ids[0])));
    assert_eq!(judged(ids[1]), (false, format!("about {}", ids[1])));
    assert_eq!(judged(ids[11]), (false, "not judged".to_owned()));
    assert_eq!((judged(ids[12]).0, judged(ids[13]).0), (true, false));
    assert_eq!(document["selected"], 7);
    // What is judged is not asked again, and what rules left out keeps their reason.
    tell(&[]);
    assert_eq!(run_json(home, &args)["selected"], 7);
    let out = list(&document["candidates"])
        .iter()
        .find(|one| one["phase"] == "PLAN")
        .unwrap();
    assert_eq!(out["reason"], "PLAN is not taken");
    // Another brief is another selection.
    let recipe = home.join("recipe.toml");
    std::fs::write(
        &recipe,
        format!("[data]\nbrief = \"Take what is short.\"\n[data.rules]\n{only}"),
    )
    .unwrap();
    let other = [
        "curate",
        text(&run),
        "--select",
        &meta,
        "--rules",
        text(&recipe),
        "--json",
    ];
    assert!(run_fails(home, &other, 1).contains("all were given"));
    assert!(
        lines("meta-", "system").last().unwrap()["text"]
            .as_str()
            .unwrap()
            .starts_with("Take what is short.")
    );
}
