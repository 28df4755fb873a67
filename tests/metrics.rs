//! Metrics, findings and faults of whole runs: through the real binary, against an independent computation,
//! and a live episode against its record.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use automem::analysis::{Meter, analyse};
use automem::env;
use automem::jobs::Cancel;
use automem::store::{Reader, StoreError};
use automem::types::{EpisodeNo, StepNo};
use common::{run_fails, run_json, run_ok, scripted_run};
use serde_json::Value;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-runs").join(name)
}

/// Where two documents differ; numbers may differ in their last digits.
fn differences(at: &str, one: &Value, other: &Value, out: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let missing = Value::from("(missing)");
                let (one, other) = (a.get(key).unwrap_or(&missing), b.get(key).unwrap_or(&missing));
                differences(&format!("{at}.{key}"), one, other, out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (one, other)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}[{n}]"), one, other, out);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-9 * a.abs().max(1.0) {
                out.push(format!("{at}: {a} here, {b} in the check"));
            }
        }
        _ if one == other => {}
        _ => out.push(format!("{at}: {one} here, {other} in the check")),
    }
}

/// The numbers as `tests/metrics_check.py` computes them; `None` without Python, which continuous integration
/// must have.
fn checked(home: &Path, run: &Path) -> Option<Value> {
    let exported = run_ok(home, &["export", run.to_str().unwrap(), "--jsonl", "-"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/metrics_check.py");
    let child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "python3 cannot be started: {error}");
            eprintln!("NOT CHECKED against tests/metrics_check.py: python3 cannot be started: {error}");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(exported.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "tests/metrics_check.py failed");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_numbers_are_those_of_an_independent_computation() {
    let home = tempfile::tempdir().unwrap();
    let two_episodes = scripted_run(home.path(), "two.db", "42..43", 25);
    for run in [
        sample("scripted.db"),
        sample("crafter-v1.db"),
        sample("smollm2.db"),
        two_episodes,
    ] {
        let Some(check) = checked(home.path(), &run) else {
            return;
        };
        let ours = run_json(home.path(), &["metrics", run.to_str().unwrap(), "--json"]);
        let ours = &ours["runs"][0];
        let mut wrong = Vec::new();
        differences("metrics", &ours["metrics"], &check["metrics"], &mut wrong);
        differences("episodes", &ours["episodes"], &check["episodes"], &mut wrong);
        assert_eq!(wrong, Vec::<String>::new(), "{}", run.display());
    }
}

#[test]
fn a_live_episode_has_the_numbers_of_its_record() {
    let path = sample("crafter-v1.db");
    let analysis = analyse(&path, &Cancel::new(), &mut |_| {}).unwrap();
    let reader = Reader::open(&path).unwrap();
    let mut meter = Meter::new(env::things("crafter"));
    let mut at_100 = None;
    for step in reader.steps(EpisodeNo(0), StepNo(0)..StepNo(1000)).unwrap() {
        for body in &step.events {
            meter.take(step.step, body).unwrap();
        }
        if step.step == StepNo(99) {
            at_100 = Some(meter.metrics().steps);
        }
    }
    assert_eq!(at_100, Some(100));
    assert_eq!(meter.metrics(), analysis.metrics.metrics);
    assert_eq!(analysis.metrics.episodes.len(), 1);
    assert_eq!(analysis.metrics.episodes[0].metrics, analysis.metrics.metrics);
}

#[test]
fn runs_stand_side_by_side_and_one_is_reviewed() {
    let home = tempfile::tempdir().unwrap();
    let (scripted, tracked) = (sample("scripted.db"), sample("crafter-v1.db"));
    let (scripted, tracked) = (scripted.to_str().unwrap(), tracked.to_str().unwrap());
    let table = run_ok(home.path(), &["metrics", scripted, tracked, "--episodes"]);
    let line = table
        .lines()
        .find(|line| line.starts_with("redundant writes "))
        .unwrap();
    assert!(
        line.contains("18.7 %") && line.contains("x0.00") && line.contains("-68..-83 %"),
        "{line}"
    );
    assert!(table.contains("episode 0 seed 51"));
    let review = run_json(home.path(), &["review", scripted, "--json"]);
    let findings = review["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|f| f["id"] == "unbounded-append:actions_log.txt")
        .unwrap();
    for key in ["id", "severity", "title", "steps", "files", "try"] {
        assert!(!found[key].is_null(), "{key} is missing");
    }
    assert_eq!(found["severity"], "high");
    assert_eq!(found["files"][0], "actions_log.txt");
    assert_eq!(found["steps"][0]["episode"], 0);
    assert!(
        review["faults"]
            .as_array()
            .unwrap()
            .iter()
            .any(|fault| fault["id"] == "death:0")
    );
    let text = run_ok(home.path(), &["review", scripted]);
    assert!(
        text.contains("[high] actions_log.txt only grows") && text.contains("try:"),
        "{text}"
    );
}

#[test]
fn bad_input_is_refused_in_words() {
    let home = tempfile::tempdir().unwrap();
    for verb in ["metrics", "review"] {
        let error = run_fails(home.path(), &[verb, "nowhere.db"], 1);
        assert!(error.contains("there is no run at nowhere.db"), "{error}");
        std::fs::write(home.path().join("text.db"), "this is no run").unwrap();
        let error = run_fails(home.path(), &[verb, "text.db"], 1);
        assert!(error.contains("text.db is not an AutoMem run"), "{error}");
        run_fails(home.path(), &[verb], 2);
    }
    // A run that was cut off in the middle: what is gone is said to be damaged, never guessed.
    let bytes = std::fs::read(sample("scripted.db")).unwrap();
    std::fs::write(home.path().join("half.db"), &bytes[..bytes.len() / 2]).unwrap();
    let error = run_fails(home.path(), &["metrics", "half.db"], 1);
    assert!(error.contains("half.db"), "{error}");
}

#[test]
fn a_cancelled_analysis_says_so() {
    let cancel = Cancel::new();
    cancel.cancel();
    let error = analyse(&sample("scripted.db"), &cancel, &mut |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Cancelled), "{error}");
    let from_inside = Cancel::new();
    let error = analyse(&sample("scripted.db"), &from_inside, &mut |_| from_inside.cancel()).unwrap_err();
    assert!(matches!(error, StoreError::Cancelled), "{error}");
}
