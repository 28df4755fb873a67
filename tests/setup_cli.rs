//! `automem setup nethack` as people use it, without a network: what it says when files are wrong, and what `doctor`
//! says of the result. The fetch itself runs in `.ci/run`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::process::Output;

use common::automem;

fn setup(home: &std::path::Path, args: &[&str]) -> Output {
    automem(home)
        .args(["setup", "nethack"])
        .args(args)
        .env("AUTOMEM_NETHACK", home.join("nethack"))
        .env("PATH", "/nonexistent")
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_cannot_be_installed_is_told_with_the_next_step() {
    let home = tempfile::tempdir().unwrap();
    let files = home.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let files = files.to_str().unwrap();
    assert_eq!(setup(home.path(), &["--engine", "nethack"]).status.code(), Some(2));
    let output = setup(home.path(), &["--offline", files]);
    assert_eq!(output.status.code(), Some(1));
    let words = stderr(&output);
    assert!(
        words.contains("pip download --no-deps") && words.contains("balrog-nle==0.9.0"),
        "{words}"
    );
    // Without the folder pip would be asked, and there is no Python on this PATH.
    let output = setup(home.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--offline DIR"), "{}", stderr(&output));
    // A file of the right name that is something else.
    let name = stderr(&setup(home.path(), &["--offline", files]));
    let name = name
        .split_whitespace()
        .find(|word| word.starts_with("balrog_nle-"))
        .unwrap();
    std::fs::write(home.path().join("files").join(name.trim_end_matches(';')), "no wheel").unwrap();
    let output = setup(home.path(), &["--offline", files]);
    assert!(stderr(&output).contains("SHA-256"), "{}", stderr(&output));
    let left = std::fs::read_dir(home.path().join("nethack")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".setup.lock"], "nothing half-made is left");
}

#[test]
fn doctor_names_what_is_missing_of_the_game() {
    let home = tempfile::tempdir().unwrap();
    let doctor = || {
        let output = automem(home.path())
            .args(["doctor", "--json"])
            .env("AUTOMEM_NETHACK", home.path().join("nethack"))
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let games = findings.iter().filter(|finding| finding["area"] == "games");
        games.cloned().collect::<Vec<_>>()
    };
    let found = doctor();
    assert!(found.iter().all(|finding| finding["state"] == "note"), "{found:?}");
    assert_eq!(found[0]["fix"], "automem setup nethack");
    std::fs::create_dir_all(home.path().join("nethack/balrog-nle-0.9.0")).unwrap();
    let found = doctor();
    assert_eq!(found[0]["state"], "broken");
    assert!(
        found[0]["said"].as_str().unwrap().contains("libnethack.so"),
        "{found:?}"
    );
}
