//! What the tests of the real binary share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

pub mod terminal;

use std::path::Path;
use std::process::{Command, Output};

/// The binary with a workspace of its own, in the given folder.
pub fn automem(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_automem"));
    command
        .current_dir(home)
        .env("AUTOMEM_HOME", home.join("workspace"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .env("COLORTERM", "truecolor");
    command
}

/// Runs the binary to its end.
pub fn run(home: &Path, args: &[&str]) -> Output {
    automem(home).args(args).output().unwrap()
}

/// Runs the binary, expects exit code 0, and returns stdout.
pub fn run_ok(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    assert!(
        output.status.success(),
        "automem {args:?} failed\nstdout: {}\nstderr: {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the binary, expects exit code 0 and one JSON document on stdout.
pub fn run_json(home: &Path, args: &[&str]) -> serde_json::Value {
    let text = run_ok(home, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("automem {args:?} printed no JSON: {error}\n{text}"))
}

/// Runs the binary, expects the given exit code, and returns stderr.
pub fn run_fails(home: &Path, args: &[&str], code: i32) -> String {
    let output = run(home, args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "automem {args:?}: {stderr}");
    assert!(!stderr.trim().is_empty(), "automem {args:?} failed without a word");
    stderr
}

/// Records a short run of the scripted player and returns its path.
pub fn scripted_run(home: &Path, name: &str, seeds: &str, steps: u32) -> std::path::PathBuf {
    let out = home.join(name);
    let steps = steps.to_string();
    run_ok(
        home,
        &[
            "run",
            "--env",
            "crafter",
            "--scaffold",
            "crafter-v0",
            "--model",
            "scripted",
            "--seeds",
            seeds,
            "--max-steps",
            &steps,
            "--out",
            out.to_str().unwrap(),
            "--json",
        ],
    );
    out
}
