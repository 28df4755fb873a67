//! `automem doctor`, `completions`, `man` and the forms of `screenshot`, as scripts and people use
//! them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use automem::store::Reader;
use common::terminal::Terminal;
use common::{automem, run_fails, run_json, run_ok, scripted_run};

#[test]
fn doctor_finds_what_is_broken_and_says_how_to_mend_it() {
    let home = tempfile::tempdir().unwrap();
    let fine = automem(home.path())
        .args(["doctor", "--json"])
        .env("LANG", "C.UTF-8")
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&fine.stdout).unwrap();
    assert!(fine.status.success(), "{report}");
    assert_eq!(report["ok"], true);
    let areas: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["area"].as_str().unwrap())
        .collect();
    for area in ["terminal", "models", "back end", "games", "folders", "runs"] {
        assert!(areas.contains(&area), "{report}");
    }
    assert!(!home.path().join("workspace").exists(), "looking makes nothing");

    // A model that is cut short, a theme with a wrong key: exit code 1, each with its fix.
    let workspace = home.path().join("workspace");
    std::fs::create_dir_all(workspace.join("models")).unwrap();
    std::fs::write(workspace.join("models/cut.gguf"), b"GGUF").unwrap();
    std::fs::create_dir_all(workspace.join("themes")).unwrap();
    std::fs::write(workspace.join("themes/mine.toml"), "inherts = \"dark\"\n").unwrap();
    let output = automem(home.path()).args(["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("BROKEN  cut") && text.contains("model pull"), "{text}");
    assert!(
        text.contains("mine.toml:1:1") && text.contains("did you mean `inherits`?"),
        "{text}"
    );
    assert!(text.contains("2 broken"), "{text}");
}

#[test]
fn doctor_names_runs_that_can_be_resumed() {
    let home = tempfile::tempdir().unwrap();
    let runs = home.path().join("workspace/runs");
    std::fs::create_dir_all(&runs).unwrap();
    scripted_run(home.path(), "workspace/runs/whole.db", "42", 5);
    std::fs::write(runs.join("broken.db"), b"not a run").unwrap();
    // One that is killed at work.
    let open = runs.join("open.db");
    let mut child = automem(home.path())
        .args([
            "run",
            "--model",
            "scripted",
            "--seeds",
            "42,43,44,45",
            "--max-steps",
            "2000",
            "--json",
            "--out",
        ])
        .arg(&open)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while !Reader::open(&open).is_ok_and(|reader| reader.episodes().is_ok_and(|all| !all.is_empty())) {
        assert!(began.elapsed().as_secs() < 60, "no step is recorded");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let report = run_json(home.path(), &["doctor", "--json"]);
    let found = |name: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["name"] == name).cloned()
    };
    assert_eq!(found("whole.db"), None, "{report}");
    assert_eq!(found("broken.db").unwrap()["state"], "warn", "{report}");
    let open = found("open.db").unwrap();
    assert_eq!(open["state"], "note", "{report}");
    assert!(open["fix"].as_str().unwrap().starts_with("automem resume "), "{report}");
}

#[test]
fn doctor_in_a_terminal_asks_for_pictures_and_leaves_it_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let answer = "\u{1b}_Gi=31;OK\u{1b}\\\u{1b}[6;20;10t\u{1b}[?62c";
    let variables = [("LANG", "C.UTF-8")];
    let mut terminal = Terminal::start_as(home.path(), &["doctor"], (120, 50), &variables, &[("\u{1b}[c", answer)]);
    let screen = terminal.wait_for("by the kitty protocol");
    assert!(screen.contains("true colour") && screen.contains("120x50"), "{screen}");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}

#[test]
fn every_shell_gets_completions_and_every_verb_a_page() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = run_ok(home.path(), &["completions", shell]);
        for verb in ["replay", "doctor", "screenshot"] {
            assert!(text.contains(verb), "{shell}: no {verb}");
        }
    }
    let error = run_fails(home.path(), &["completions", "tcsh"], 2);
    assert!(error.contains("fish"), "{error}");
    let page = run_ok(home.path(), &["man"]);
    assert!(page.starts_with(".ie") || page.contains(".TH automem"), "{page}");
    run_ok(home.path(), &["man", "pages"]);
    for name in ["automem", "automem-run", "automem-scaffold-check", "automem-doctor"] {
        let page = std::fs::read_to_string(home.path().join(format!("pages/{name}.1"))).unwrap();
        assert!(
            page.contains(&format!(".TH {name}")),
            "{name}: {}",
            &page[..200.min(page.len())]
        );
    }
}

#[test]
fn a_screenshot_follows_the_name_of_its_file_and_the_colours_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let run = scripted_run(home.path(), "run.db", "42", 10);
    let run = run.to_str().unwrap();
    let shot = |args: &[&str]| {
        run_ok(
            home.path(),
            &[&["screenshot", run, "--step", "3", "--size", "80x24"], args].concat(),
        )
    };
    for (name, begin) in [("a.svg", "<svg"), ("a.ansi", "\u{1b}[0"), ("a.txt", " automem")] {
        shot(&["--out", name]);
        let text = std::fs::read_to_string(home.path().join(name)).unwrap();
        assert!(text.starts_with(begin), "{name}: {}", &text[..20]);
    }
    assert!(shot(&["--format", "ansi"]).contains("38;2;"));
    let many = shot(&["--format", "ansi", "--colors", "256"]);
    assert!(many.contains("38;5;") && !many.contains("38;2;"));
    let none = shot(&["--format", "ansi", "--colors", "none"]);
    assert!(!none.contains("38;") && !none.contains("48;"));
    assert!(shot(&["--pictures", "letters"]).contains('@'));
    std::fs::write(
        home.path().join("mine.toml"),
        "inherits = \"light\"\n[colors]\nbackground = \"#fafafe\"\n",
    )
    .unwrap();
    assert!(shot(&["--format", "svg", "--theme", "mine.toml"]).contains("#fafafe"));
    let error = run_fails(home.path(), &["screenshot", run, "--theme", "lihgt"], 1);
    assert!(error.contains("did you mean `light`?"), "{error}");
}
