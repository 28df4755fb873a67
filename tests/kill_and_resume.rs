//! The real program, killed at some moment and resumed, against one that was left alone.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use automem::store::Reader;
use support::assert_same;

const STEPS: u32 = 120;

/// Answers for both phases; each step takes a few milliseconds, so that a kill meets a run at work.
fn answers(folder: &Path) -> PathBuf {
    let path = folder.join("answers.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for _ in 0..STEPS * 2 {
        writeln!(
            file,
            r#"{{"phase": "LOG", "text": "<|APPEND|>actions_log.txt|went on<|END|><|DONE|>"}}"#
        )
        .unwrap();
        writeln!(
            file,
            r#"{{"phase": "PLAN", "text": "<|ACTION|>Move West<|END|>", "delay_ms": 4}}"#
        )
        .unwrap();
    }
    path
}

fn automem(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_automem"));
    command.env("AUTOMEM_HOME", home).stdin(Stdio::null());
    command
}

fn run(home: &Path, answers: &Path, out: &Path) -> Command {
    let mut command = automem(home);
    command
        .args(["run", "--seeds", "42,43", "--json", "--max-steps"])
        .arg(STEPS.to_string())
        .arg("--model")
        .arg(format!("recorded:{}", answers.display()))
        .arg("--out")
        .arg(out);
    command
}

fn steps(run: &Path) -> u32 {
    let Ok(reader) = Reader::open(run) else { return 0 };
    reader
        .episodes()
        .map_or(0, |all| all.iter().map(|episode| episode.steps).sum())
}

#[test]
fn killed_anywhere_nothing_committed_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let answers = answers(home);
    let whole = home.join("whole.db");
    let output = run(home, &answers, &whole).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["episodes"][1]["steps"], STEPS);

    for (n, least) in [1, 40, 150].into_iter().enumerate() {
        let broken = home.join(format!("broken-{n}.db"));
        let mut child = run(home, &answers, &broken).stdout(Stdio::null()).spawn().unwrap();
        let begin = Instant::now();
        while steps(&broken) < least {
            assert!(begin.elapsed() < Duration::from_secs(30), "no steps");
            std::thread::sleep(Duration::from_millis(2));
        }
        let seen = steps(&broken);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(steps(&broken) >= seen, "a committed step is gone");

        let output = automem(home).arg("resume").arg(&broken).arg("--json").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("give it with --model"), "{text}");
        let model = format!("recorded:{}", answers.display());
        let output = automem(home)
            .arg("resume")
            .arg(&broken)
            .args(["--json", "--model", &model])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for episode in 0..2 {
            assert_same(&whole, &broken, episode);
        }
        let output = automem(home).arg("verify").arg(&broken).arg("--json").output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["ok"], true);
        assert_eq!(report["steps"], steps(&whole));
    }
}

/// As above with the scripted player, whose answers depend on what its memory holds.
#[test]
fn the_scripted_player_is_resumed_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let start = |out: &Path| {
        let mut command = automem(home);
        command.args([
            "run",
            "--seeds",
            "42..43",
            "--workers",
            "2",
            "--max-steps",
            "150",
            "--json",
            "--out",
        ]);
        command.arg(out).stdout(Stdio::null());
        command
    };
    let whole = home.join("whole.db");
    assert!(start(&whole).status().unwrap().success());
    let broken = home.join("broken.db");
    let mut child = start(&broken).spawn().unwrap();
    let begin = Instant::now();
    while steps(&broken) < 30 {
        assert!(begin.elapsed() < Duration::from_secs(30), "no steps");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let open = !Reader::open(&broken).unwrap().is_finished();
    if open {
        let output = automem(home).arg("resume").arg(&broken).arg("--json").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for episode in 0..2 {
        assert_same(&whole, &broken, episode);
    }
}

/// A disk without room, as far as a process can be given one: no file may grow beyond some size.
#[test]
fn a_record_that_cannot_grow_ends_the_run_and_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let answers = answers(home);
    let whole = home.join("whole.db");
    assert!(run(home, &answers, &whole).output().unwrap().status.success());
    let cramped = home.join("cramped.db");
    let model = format!("recorded:{}", answers.display());
    let script = r#"trap '' XFSZ; ulimit -f 400; exec "$0" "$@""#;
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_automem")])
        .args(["run", "--seeds", "42,43", "--json", "--max-steps", &STEPS.to_string(), "--model", &model, "--out"])
        .arg(&cramped)
        .env("AUTOMEM_HOME", home)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("error: ") && text.contains("cramped.db"), "{text}");
    assert!(output.stdout.is_empty());
    assert!(steps(&cramped) > 0);
    let output = automem(home)
        .arg("resume")
        .arg(&cramped)
        .args(["--json", "--model", &model])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for episode in 0..2 {
        assert_same(&whole, &cramped, episode);
    }
}

#[test]
fn one_interrupt_stops_after_the_step_and_closes_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let answers = answers(home);
    let out = home.join("stopped.db");
    let child = run(home, &answers, &out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while steps(&out) < 3 {
        assert!(begin.elapsed() < Duration::from_secs(30), "no steps");
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["episodes"][0]["end"], "stopped");
    assert!(Reader::open(&out).unwrap().is_finished());
    assert!(!home.join("stopped.memory").exists());
}

#[test]
fn wrong_use_is_told_apart_from_failure() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let code = |args: &[&str]| {
        let output = automem(home).args(args).output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(code(&["run", "--seeds", "nine"]).0, Some(2));
    let (status, text) = code(&["run", "--scaffold", "nosuch", "--model", "recorded:/nonexistent"]);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("there is no scaffold `nosuch`") && text.contains("crafter-v0"),
        "{text}"
    );
    let (status, text) = code(&["resume", "/nonexistent.db"]);
    assert_eq!(status, Some(1));
    assert!(text.starts_with("error: "), "{text}");
    let (status, _) = code(&["scaffold", "check", "crafter-tiny", "--json"]);
    assert_eq!(status, Some(0));
    let bad = home.join("bad");
    std::fs::create_dir(&bad).unwrap();
    std::fs::write(bad.join("scaffold.toml"), "nme = \"x\"\n").unwrap();
    let output = automem(home)
        .args(["scaffold", "check", "--json"])
        .arg(&bad)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["problems"][0]["line"], 1);
}
