//! Bad input to the real binary: a clear message with the next step, the right exit code, nothing lost.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;

use common::{run, run_fails, run_json, run_ok, scripted_run};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_file_that_is_no_run_is_named_and_left_alone() {
    let room = room();
    let path = room.path().join("notes.db");
    std::fs::write(&path, "these are notes, not a run\n".repeat(100)).unwrap();
    for verb in [
        &["verify", text(&path), "--json"][..],
        &["show", text(&path), "--step", "0"],
        &["resume", text(&path)],
    ] {
        let stderr = run_fails(room.path(), verb, 1);
        assert!(stderr.contains("notes.db"), "{stderr}");
    }
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("these are notes"));
    let stderr = run_fails(room.path(), &["show", "missing.db", "--step", "0"], 1);
    assert!(stderr.contains("missing.db"), "{stderr}");
    assert!(!room.path().join("missing.db").exists(), "a reader must not make files");
}

#[test]
fn a_damaged_run_says_so() {
    let room = room();
    let path = scripted_run(room.path(), "run.db", "42", 80);
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes.truncate(half);
    std::fs::write(&path, &bytes).unwrap();
    let output = run(room.path(), &["verify", text(&path), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("run.db") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn an_existing_run_is_not_written_over() {
    let room = room();
    let path = scripted_run(room.path(), "run.db", "42", 5);
    let before = std::fs::read(&path).unwrap();
    let stderr = run_fails(
        room.path(),
        &[
            "run",
            "--env",
            "crafter",
            "--model",
            "scripted",
            "--seeds",
            "42",
            "--max-steps",
            "5",
            "--out",
            text(&path),
        ],
        1,
    );
    assert!(stderr.contains("run.db"), "{stderr}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_model_that_is_not_there_says_how_to_get_it() {
    let room = room();
    let args = |model: &'static str| {
        [
            "run",
            "--env",
            "crafter",
            "--model",
            model,
            "--seeds",
            "42",
            "--max-steps",
            "5",
        ]
    };
    let stderr = run_fails(room.path(), &args("smollm2-135m"), 1);
    assert!(stderr.contains("smollm2-135m"), "{stderr}");
    if cfg!(feature = "llama") {
        assert!(stderr.contains("automem model pull"), "{stderr}");
    }
    let stderr = run_fails(room.path(), &args("nowhere.gguf"), 1);
    assert!(stderr.contains("nowhere.gguf"), "{stderr}");
}

#[test]
#[cfg(feature = "llama")]
fn a_half_written_gguf_is_refused_before_it_is_loaded() {
    let room = room();
    let path = room.path().join("half.gguf");
    let mut bytes = b"GGUF".to_vec();
    bytes.extend_from_slice(&3u32.to_le_bytes());
    bytes.extend_from_slice(&200u64.to_le_bytes());
    bytes.extend_from_slice(&10u64.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let stderr = run_fails(
        room.path(),
        &[
            "run",
            "--env",
            "crafter",
            "--model",
            text(&path),
            "--seeds",
            "42",
            "--max-steps",
            "5",
        ],
        1,
    );
    assert!(stderr.contains("half.gguf"), "{stderr}");
}

#[test]
fn a_world_or_scaffold_that_is_not_there_lists_what_is() {
    let room = room();
    let stderr = run_fails(
        room.path(),
        &["run", "--env", "chess", "--model", "scripted", "--seeds", "1"],
        1,
    );
    assert!(stderr.contains("crafter"), "{stderr}");
    let stderr = run_fails(
        room.path(),
        &[
            "run",
            "--env",
            "crafter",
            "--scaffold",
            "crafter-v9",
            "--model",
            "scripted",
            "--seeds",
            "1",
        ],
        1,
    );
    assert!(stderr.contains("crafter-v0"), "{stderr}");
}

#[test]
fn a_template_that_names_an_unknown_variable_is_placed_to_the_column() {
    let room = room();
    let dir = room.path().join("mine");
    copy_dir(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffolds/crafter-v0"),
        &dir,
    );
    let plan = dir.join("prompts/plan.md");
    let mut template = std::fs::read_to_string(&plan).unwrap();
    template.push_str("\nYou have {{ helth }} left.\n");
    let line = template.trim_end().lines().count() as u64;
    std::fs::write(&plan, template).unwrap();
    let output = run(room.path(), &["scaffold", "check", text(&dir), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let problem = &report["problems"][0];
    assert_eq!(problem["file"], "prompts/plan.md", "{report}");
    assert_eq!(problem["line"], line, "{report}");
    assert!(problem["column"].as_u64().unwrap() > 0);
    assert!(problem["message"].as_str().unwrap().contains("helth"), "{report}");
    assert!(!problem["hint"].as_str().unwrap().is_empty());
    let stderr = run_fails(
        room.path(),
        &[
            "run",
            "--env",
            "crafter",
            "--scaffold",
            text(&dir),
            "--model",
            "scripted",
            "--seeds",
            "42",
            "--max-steps",
            "3",
        ],
        1,
    );
    assert!(stderr.contains("helth"), "{stderr}");
}

#[test]
fn the_shipped_scaffolds_pass_their_check() {
    let room = room();
    for name in ["crafter-v0", "crafter-tiny"] {
        let report = run_json(room.path(), &["scaffold", "check", name, "--json"]);
        assert_eq!(report["ok"], true, "{report}");
        assert_eq!(report["problems"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let room = room();
    let stderr = run_fails(
        room.path(),
        &[
            "run",
            "--env",
            "crafter",
            "--model",
            "scripted",
            "--seeds",
            "42",
            "--max-steps",
            "3",
            "--out",
            "/proc/run.db",
        ],
        1,
    );
    assert!(stderr.contains("/proc/run.db"), "{stderr}");
}

#[test]
fn steps_and_episodes_that_are_not_there_say_what_is() {
    let room = room();
    let path = scripted_run(room.path(), "run.db", "42", 5);
    let stderr = run_fails(room.path(), &["show", text(&path), "--episode", "3", "--step", "0"], 1);
    assert!(stderr.contains('3'), "{stderr}");
    let stderr = run_fails(room.path(), &["show", text(&path), "--episode", "0", "--step", "99"], 1);
    assert!(stderr.contains("99"), "{stderr}");
    let stderr = run_fails(
        room.path(),
        &["memory", text(&path), "--step", "3", "--file", "../../etc/passwd"],
        1,
    );
    assert!(stderr.contains("passwd"), "{stderr}");
}

#[test]
fn wrong_use_exits_with_2() {
    let room = room();
    run_fails(room.path(), &["fly"], 2);
    run_fails(room.path(), &["show"], 2);
    run_fails(
        room.path(),
        &["run", "--env", "crafter", "--model", "scripted", "--seeds", "5..1"],
        2,
    );
    run_fails(
        room.path(),
        &["run", "--env", "crafter", "--model", "scripted", "--seeds", "many"],
        2,
    );
}

#[test]
fn without_a_terminal_the_screens_say_what_to_do() {
    let room = room();
    for args in [
        &[][..],
        &["watch", "--env", "crafter", "--model", "scripted", "--seeds", "42"],
    ] {
        let stderr = run_fails(room.path(), args, 1);
        assert!(stderr.contains("terminal"), "{stderr}");
    }
}

#[test]
fn json_is_all_that_stdout_holds() {
    let room = room();
    let path = scripted_run(room.path(), "run.db", "42", 12);
    for args in [
        &["show", text(&path), "--episode", "0", "--step", "3", "--json"][..],
        &["memory", text(&path), "--episode", "0", "--step", "3", "--json"],
        &["verify", text(&path), "--json"],
        &["search", text(&path), "grass", "--json"],
    ] {
        let output = run_ok(room.path(), args);
        for document in serde_json::Deserializer::from_str(&output).into_iter::<serde_json::Value>() {
            document.unwrap();
        }
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
