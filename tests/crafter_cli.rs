//! `automem env crafter` and `automem bench crafter` as scripts use them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use serde_json::Value;

fn automem(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_automem")).args(args).output().unwrap()
}

fn recording(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/fixtures/crafter/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    lines(&text)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Plays a recording's actions through the program.
fn retrace(name: &str, dir: &Path) -> (Vec<Value>, Vec<Value>) {
    let theirs = recording(name);
    let actions: String = theirs
        .iter()
        .filter_map(|line| line["a"].as_u64())
        .map(|a| format!("{a}\n"))
        .collect();
    let (file, out) = (dir.join("actions"), dir.join("trace"));
    std::fs::write(&file, actions).unwrap();
    let header = &theirs[0];
    let output = automem(&[
        "env",
        "crafter",
        "--seed",
        &header["seed"].to_string(),
        "--episode",
        &header["episode"].to_string(),
        "--mode",
        header["mode"].as_str().unwrap(),
        "--size",
        &header["size"][0].to_string(),
        "--length",
        &header["length"].to_string(),
        "--actions",
        file.to_str().unwrap(),
        "--trace",
        out.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (lines(&std::fs::read_to_string(out).unwrap()), theirs)
}

#[test]
fn our_traces_equal_the_recordings() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["lcg_s42", "lcg_s42_ep2", "raw64_s7_len120", "lava_s101", "edge_s42"] {
        let (mut ours, theirs) = retrace(name, dir.path());
        // These two say who made the file.
        for key in ["name", "policy"] {
            ours[0][key] = theirs[0][key].clone();
        }
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{name}, line {}", n + 1);
        }
    }
}

#[test]
fn a_trace_goes_to_stdout_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("actions");
    std::fs::write(&file, "1\n2\n").unwrap();
    let output = automem(&[
        "env",
        "crafter",
        "--seed",
        "-3",
        "--actions",
        file.to_str().unwrap(),
        "--trace",
        "-",
    ]);
    assert!(output.status.success());
    assert_eq!(lines(&String::from_utf8(output.stdout).unwrap()).len(), 1 + 3 + 1);
}

#[test]
fn bad_input_is_told_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("actions"), dir.path().join("trace"));
    std::fs::write(&file, "1\n2\n17\n").unwrap();
    let args = |actions: &Path, trace: &Path| {
        let (actions, trace) = (actions.to_str().unwrap(), trace.to_str().unwrap());
        automem(&["env", "crafter", "--seed", "1", "--actions", actions, "--trace", trace])
    };
    let bad_line = args(&file, &out);
    let told = String::from_utf8_lossy(&bad_line.stderr).into_owned();
    assert_eq!(bad_line.status.code(), Some(1));
    assert!(told.starts_with("error:") && told.contains("line 3"), "{told}");
    assert!(bad_line.stdout.is_empty() && !out.exists());

    let missing = args(&dir.path().join("nowhere"), &out);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nowhere"));

    std::fs::write(&file, "1\n").unwrap();
    let unwritable = args(&file, &dir.path().join("no/such/folder"));
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unwritable.stderr).contains("no/such/folder"));

    assert_eq!(automem(&["env", "crafter", "--seed", "x"]).status.code(), Some(2));
    assert_eq!(automem(&["bench", "nothing"]).status.code(), Some(2));
}

#[test]
fn the_bench_prints_one_document() {
    let output = automem(&["bench", "crafter", "--seconds", "0.01", "--json"]);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["bench"], "crafter");
    for figure in report["figures"].as_array().unwrap() {
        assert!(figure["name"].is_string() && figure["unit"].is_string(), "{figure}");
        assert!(
            figure["value"].as_f64().unwrap() > 0.0 && figure["target"].is_number(),
            "{figure}"
        );
    }
}
