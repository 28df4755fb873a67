//! `automem config` and what config.toml does to the other verbs, with good and bad input.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::terminal::Terminal;
use common::{automem, run, run_fails, run_json, run_ok};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes the workspace's config.toml.
fn configure(home: &Path, text: &str) -> PathBuf {
    let path = home.join("workspace/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

fn option<'a>(shown: &'a serde_json::Value, key: &str) -> &'a serde_json::Value {
    let options = shown["options"].as_array().unwrap();
    options.iter().find(|option| option["key"] == key).unwrap()
}

#[test]
fn show_tells_every_value_and_where_it_comes_from() {
    let room = room();
    let home = room.path();
    let shown = run_json(home, &["config", "show", "--json"]);
    assert_eq!(option(&shown, "theme")["value"], "\"dark\"");
    assert_eq!(option(&shown, "theme")["origin"], "default");
    assert_eq!(option(&shown, "server.idle_s")["value"], "60");
    let path = configure(
        home,
        "theme = \"light\"\n\n[run]\nmax_steps = 9\n\n[keys]\nruns.new-run = [\"F9\"]\n",
    );
    let output = automem(home)
        .args(["config", "show", "--json"])
        .env("AUTOMEM_RUN_WORKERS", "2")
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(option(&shown, "theme")["origin"], format!("{}:1", path.display()));
    assert_eq!(
        option(&shown, "run.max_steps")["origin"],
        format!("{}:4", path.display())
    );
    assert_eq!(option(&shown, "run.workers")["origin"], "AUTOMEM_RUN_WORKERS");
    assert_eq!(shown["keys"][0]["key"], "keys.runs.new-run");
    let text = run_ok(home, &["config", "show"]);
    assert!(text.contains("run.max_steps") && text.contains(":4"), "{text}");
}

#[test]
fn the_sample_can_be_used_as_it_is() {
    let room = room();
    let text = run_ok(room.path(), &["config", "show", "--sample"]);
    assert!(text.contains("# watch.play-pause = [\"Space\"]"), "{text}");
    let path = configure(room.path(), &text);
    run_ok(room.path(), &["config", "check", path.to_str().unwrap()]);
    assert_eq!(run_json(room.path(), &["config", "check", "--json"])["ok"], true);
}

/// After a change: `automem config show --markdown > docs/config.md`.
#[test]
fn the_reference_in_the_docs_is_the_programs_own() {
    let room = room();
    let written = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config.md")).unwrap();
    assert_eq!(run_ok(room.path(), &["config", "show", "--markdown"]), written);
}

#[test]
fn path_names_the_files_and_a_named_one_stands_alone() {
    let room = room();
    let home = room.path();
    configure(home, "theme = \"light\"\n");
    let files = run_json(home, &["config", "path", "--json"]);
    let last = files["files"].as_array().unwrap().last().unwrap().clone();
    assert!(last["path"].as_str().unwrap().ends_with("workspace/config.toml"));
    assert_eq!(last["exists"], true);
    let other = home.join("other.toml");
    std::fs::write(&other, "run.max_steps = 3\n").unwrap();
    let output = automem(home)
        .args(["config", "show", "--json"])
        .env("AUTOMEM_CONFIG", &other)
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(option(&shown, "theme")["origin"], "default");
    assert_eq!(option(&shown, "run.max_steps")["value"], "3");
    let output = automem(home)
        .args(["config", "show"])
        .env("AUTOMEM_CONFIG", home.join("no.toml"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no.toml cannot be read"), "{said}");
}

#[test]
fn check_lists_everything_that_is_wrong_with_its_place() {
    let room = room();
    let home = room.path();
    let bad = home.join("bad.toml");
    std::fs::write(
        &bad,
        "theme = \"drak\"\n[run]\nworkes = 2\nmax_steps = 0\n[keys]\nwatch.zom = [\"x\"]\nwatch.follow = [\"z\"]\n",
    )
    .unwrap();
    // What only the screen knows is told once the rest is right.
    let output = run(home, &["config", "check", bad.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("bad.toml:3:1: unknown option `workes` in [run] (did you mean `workers`?)"),
        "{said}"
    );
    assert!(
        said.contains("bad.toml:4:1: `run.max_steps` = 0 is out of range (1 to 10000000)"),
        "{said}"
    );
    std::fs::write(
        &bad,
        "theme = \"drak\"\n[keys]\nwatch.zom = [\"x\"]\nwatch.follow = [\"z\"]\nwach.zoom = \"x\"\nwatch.diff = [\"Entr\"]\n",
    )
    .unwrap();
    let output = run(home, &["config", "check", bad.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems: Vec<String> = found["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| {
            format!(
                "{}:{}: {} ({})",
                problem["line"], problem["column"], problem["message"], problem["hint"]
            )
        })
        .collect();
    let has = |part: &str| {
        assert!(
            problems.iter().any(|problem| problem.contains(part)),
            "{part}: {problems:#?}"
        )
    };
    has("did you mean `zoom`?");
    has("the key of `watch.zoom` too");
    has("unknown place `wach`");
    has("did you mean `Enter`?");
    has("drak");
    assert!(
        problems.iter().any(|problem| problem.starts_with("3:7:")),
        "{problems:#?}"
    );
    for (text, part) in [
        ("theme = \"dark\n", "bad.toml:1:"),
        ("[run\n", "bad.toml:1:"),
        ("theme = 3\n", "cannot be 3 (write a text)"),
        ("[theme]\n", "cannot be a group"),
        ("colors = 16.5\n", "a number with a fraction"),
        ("run.seeds = \"5..3\"\n", "runs backwards"),
        ("run.seeds = []\n", "cannot be a list"),
        ("\u{1b}[2J = 1\n", "bad.toml:1:"),
    ] {
        std::fs::write(&bad, text).unwrap();
        let output = run(home, &["config", "check", bad.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(said.contains(part), "{text}: {said}");
        assert!(!said.contains('\u{1b}'), "control characters reach the terminal");
    }
}

#[test]
fn a_broken_file_stops_every_verb_that_needs_it_before_a_screen_opens() {
    let room = room();
    let home = room.path();
    configure(home, "[run]\nmax_step = 3\n");
    for args in [
        &["run"][..],
        &["config", "show"],
        &["config", "keys"],
        &["config", "check"],
    ] {
        let output = run(home, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(
            said.contains("config.toml:2:1") && said.contains("did you mean `max_steps`?"),
            "{said}"
        );
    }
    for args in [&[][..], &["watch"]] {
        let mut terminal = Terminal::start(home, args, 100, 30);
        assert!(!terminal.wait_exit().success(), "{args:?}");
        let said = terminal.screen();
        assert!(said.contains("did you mean `max_steps`?"), "{args:?}: {said}");
        assert!(
            !String::from_utf8_lossy(terminal.raw()).contains("\u{1b}[?1049h"),
            "a screen was opened"
        );
    }
    // Verbs that do not need it still work, so that a run can be looked at.
    run_ok(home, &["scaffold", "list"]);
}

#[test]
fn the_file_sets_what_a_run_is_started_with_and_flags_win() {
    let room = room();
    let home = room.path();
    configure(home, "[run]\nmax_steps = 4\nseeds = \"7..8\"\nworkers = 2\n");
    let report = run_json(home, &["run", "--json"]);
    let episodes = report["episodes"].as_array().unwrap();
    let seeds: Vec<u64> = episodes
        .iter()
        .map(|episode| episode["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [7, 8]);
    assert!(episodes.iter().all(|episode| episode["steps"] == 4));
    let report = run_json(home, &["run", "--json", "--seeds", "5", "--max-steps", "2"]);
    assert_eq!(report["episodes"][0]["seed"], 5);
    assert_eq!(report["episodes"][0]["steps"], 2);
    configure(home, "run.scaffold = \"nobody\"\n");
    let said = run_fails(home, &["run"], 1);
    assert!(said.contains("nobody"), "{said}");
}

#[test]
fn keys_lists_every_place_and_shows_changes() {
    let room = room();
    let home = room.path();
    let all = run_json(home, &["config", "keys", "--json"]);
    let find = |all: &serde_json::Value, place: &str, action: &str| {
        let rows = all["keys"].as_array().unwrap().clone();
        rows.into_iter()
            .find(|row| row["place"] == place && row["action"] == action)
            .unwrap()["keys"]
            .clone()
    };
    assert_eq!(find(&all, "watch", "play-pause"), serde_json::json!(["Space"]));
    configure(home, "[keys]\nwatch.play-pause = [\"p\", \"Space\"]\n");
    let all = run_json(home, &["config", "keys", "--json"]);
    assert_eq!(find(&all, "watch", "play-pause"), serde_json::json!(["p", "Space"]));
    let text = run_ok(home, &["config", "keys"]);
    assert!(text.contains("watch.play-pause") && text.contains("p Space"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_changed_key_works_in_the_terminal_and_the_help_shows_it() {
    let room = room();
    let home = room.path();
    configure(
        home,
        "theme = \"light\"\n[keys]\nstart.new-run = [\"F9\"]\nglobal.quit = [\"Q\"]\n",
    );
    let mut terminal = Terminal::start(home, &[], 100, 30);
    let screen = terminal.wait_for("F9 more choices");
    assert!(screen.contains("Q quit"), "{screen}");
    terminal.send("n");
    terminal.send("?");
    let help = terminal.wait_for("Keys of this place");
    assert!(help.contains("F9") && help.contains("Q"), "{help}");
    terminal.send("\x1b");
    terminal.wait_until("no help", |screen| !screen.contains("Keys of this place"));
    terminal.send("\x1b[20~");
    terminal.wait_for("New run");
    terminal.send("\x1b");
    terminal.wait_until("no dialog", |screen| !screen.contains("New run"));
    terminal.send("q");
    terminal.send("Q");
    assert!(terminal.wait_exit().success());
    assert!(terminal.is_restored());
}
