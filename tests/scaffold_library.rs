//! The scaffold library as a person meets it: versions, migrating memory, export and import, foreign folders.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{run, run_fails, run_json, run_ok, scripted_run};
use serde_json::Value;

fn folder(home: &Path, name: &str) -> PathBuf {
    home.join("workspace/scaffolds").join(name)
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A copy of crafter-v0 whose script is `migrate` with a hook beside it.
fn with_migrate(home: &Path, migrate: &str) {
    if !folder(home, "mine").exists() {
        run_ok(home, &["scaffold", "new", "mine"]);
    }
    let script = format!("def hook(state, event):\n    return state, []\n\n{migrate}");
    std::fs::write(folder(home, "mine").join("hooks.star"), script).unwrap();
}

fn migrated(home: &Path, run_file: &Path, ok: bool) -> Value {
    let output = run(
        home,
        &["scaffold", "migrate", "mine", "--run", word(run_file), "--json"],
    );
    assert_eq!(
        output.status.success(),
        ok,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn fate<'a>(episode: &'a Value, path: &str) -> &'a Value {
    let files = episode["files"].as_array().unwrap();
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("{path}: {episode}"))
}

#[test]
fn migrate_shows_file_by_file_what_would_become_of_the_memory_of_a_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let recorded = scripted_run(home, "run.db", "1..2", 25);
    let before = std::fs::read(&recorded).unwrap();
    run_ok(home, &["scaffold", "new", "mine"]);
    let told = migrated(home, &recorded, true);
    assert_eq!(
        (&told["migrates"], &told["episodes"][0]["lost_lines"]),
        (&false.into(), &0.into())
    );
    assert_eq!(
        told["episodes"][0]["unknown_files"],
        serde_json::json!(["landmarks.txt"])
    );

    with_migrate(
        home,
        "def migrate(files):\n    if 'actions_log.txt' in files:\n        files['log.txt'] = files.pop('actions_log.txt')\n    \
         files.pop('crafting_progress.txt', None)\n    files['goals.txt'] = 'find water\\n'\n    \
         if 'landmarks.txt' in files:\n        files['landmarks.txt'] = 'old: ' + files['landmarks.txt']\n        print('landmarks marked')\n    \
         files.pop('survival_log.txt', None)\n    return files\n",
    );
    let told = migrated(home, &recorded, true);
    assert_eq!(told["episodes"].as_array().unwrap().len(), 2);
    let episode = &told["episodes"][0];
    assert_eq!(fate(episode, "log.txt")["from"], "actions_log.txt");
    assert_eq!(fate(episode, "goals.txt")["what"], "made");
    assert_eq!(fate(episode, "survival_log.txt")["what"], "removed");
    let gone = fate(episode, "crafting_progress.txt");
    assert!(gone["what"] == "removed" && gone["lost"].as_u64() > Some(0), "{gone}");
    let changed = fate(episode, "landmarks.txt");
    assert!(changed["what"] == "changed" && changed["lost"] == 1, "{changed}");
    assert_eq!(episode["notes"], serde_json::json!(["landmarks marked"]));
    let text = run_ok(
        home,
        &[
            "scaffold",
            "migrate",
            "mine",
            "--run",
            word(&recorded),
            "--episode",
            "0",
            "--step",
            "24",
        ],
    );
    for line in [
        "episode 0, step 24",
        "renamed   actions_log.txt -> log.txt",
        "VANISHES  crafting_progress.txt",
        "+ old: ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("episode 1"), "{text}");
    assert_eq!(std::fs::read(&recorded).unwrap(), before, "nothing is written");
    run_ok(home, &["scaffold", "check", "mine"]);
}

#[test]
fn a_migration_that_fails_says_where_and_why() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let recorded = scripted_run(home, "run.db", "1..1", 5);
    for (migrate, told, line) in [
        ("def migrate(files):\n    return files['nothing']\n", "nothing", 5),
        ("def migrate(files):\n    return [files]\n", "returned list", 0),
        ("def migrate(files):\n    pass\n", "returned NoneType", 0),
        (
            "def migrate(files):\n    return {'a.txt': 1}\n",
            "no text for `a.txt`",
            0,
        ),
        (
            "def migrate(files):\n    return {'../a.txt': 'x'}\n",
            "leave the memory directory",
            0,
        ),
        ("def migrate(files):\n    return {'/etc/a': 'x'}\n", "absolute", 0),
        (
            "def migrate(files):\n    return {'a': 'x' * 100000}\n",
            "file_bytes allows",
            0,
        ),
        (
            "def migrate(files):\n    return {str(n): '' for n in range(100)}\n",
            "the budget allows",
            0,
        ),
        (
            "def migrate(files):\n    for i in range(1000000000):\n        pass\n    return files\n",
            "tick",
            5,
        ),
        (
            "def migrate(files):\n    x = 'x' * 1000000\n    return {'a': x * 1000000}\n",
            "",
            0,
        ),
    ] {
        with_migrate(home, migrate);
        let problem = migrated(home, &recorded, false)["episodes"][0]["problem"].clone();
        let message = problem["message"].as_str().unwrap();
        assert!(
            message.to_lowercase().contains(&told.to_lowercase()),
            "{migrate}: {problem}"
        );
        assert_eq!(problem["file"], "hooks.star");
        if line > 0 {
            assert!(
                problem["line"] == line && problem["column"].as_u64() > Some(0),
                "{problem}"
            );
        }
    }
    // Without a run: the check tries it.
    with_migrate(home, "def migrate(files):\n    return files['nothing']\n");
    let output = run(home, &["scaffold", "check", "mine", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!output.status.success() && told["problems"][0]["line"] == 5, "{told}");
    // Nothing to try it on.
    let told = run_fails(home, &["scaffold", "migrate", "mine", "--run", "none.db"], 1);
    assert!(told.contains("none.db"), "{told}");
    let told = run_fails(
        home,
        &[
            "scaffold",
            "migrate",
            "mine",
            "--run",
            word(&recorded),
            "--episode",
            "7",
        ],
        1,
    );
    assert!(told.contains("no episode 7"), "{told}");
}

#[test]
fn a_renamed_memory_file_is_told_by_the_check() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "mine"]);
    for file in [
        "scaffold.toml",
        "prompts/system.md",
        "prompts/log.md",
        "prompts/plan.md",
    ] {
        let path = folder(home, "mine").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("map_notes.txt", "atlas.txt")).unwrap();
    }
    let told = run_json(home, &["scaffold", "check", "mine", "--json"]);
    assert_eq!(told["ok"], true, "{told}");
    let notice = told["notices"][0]["message"].as_str().unwrap();
    assert!(
        notice.contains("`map_notes.txt`") && notice.contains("`atlas.txt`"),
        "{told}"
    );
    let text = run_ok(home, &["scaffold", "check", "mine"]);
    assert!(
        text.contains("to know: ") && text.contains("write migrate(files)"),
        "{text}"
    );
}

#[test]
fn versions_are_listed_and_opened_by_digest() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    run_ok(home, &["scaffold", "new", "mine", "--from", "crafter-v1"]);
    let log = run_json(home, &["scaffold", "log", "mine", "--json"]);
    let rows = log["scaffolds"].as_array().unwrap();
    let mine = rows.iter().find(|row| row["name"] == "mine").unwrap();
    let version = &mine["versions"][0];
    assert!(
        version["head"] == true && version["note"] == "copied from crafter-v1",
        "{mine}"
    );
    let first = version["digest"].as_str().unwrap().to_owned();
    let parent = rows.iter().find(|row| row["name"] == "crafter-v1").unwrap();
    assert_eq!(version["parent_digest"], parent["versions"][0]["digest"]);

    // What is edited away is still there by its digest.
    let method = folder(home, "mine").join("METHOD.md");
    std::fs::write(&method, "Rewritten.\n").unwrap();
    let old = format!("mine@{}", &first[..8]);
    let diff = run_ok(home, &["scaffold", "diff", &old, "mine"]);
    assert!(diff.contains("+ Rewritten.") && diff.contains("- # mine"), "{diff}");
    let told = run_fails(home, &["scaffold", "show", "mine@ffffffffffff"], 1);
    assert!(told.contains("automem scaffold log mine"), "{told}");
    let text = run_ok(home, &["scaffold", "log", "mine"]);
    assert!(
        text.contains(&first[..8]) && text.contains("copied from crafter-v1") && text.contains("never kept"),
        "{text}"
    );
}

#[test]
fn a_scaffold_goes_out_and_comes_back_the_same() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (zip, again) = (home.join("v1.zip"), home.join("deep/again.zip"));
    run_ok(home, &["scaffold", "export", "crafter-v1", "--to", word(&zip)]);
    run_ok(home, &["scaffold", "export", "crafter-v1", "--to", word(&again)]);
    assert_eq!(std::fs::read(&zip).unwrap(), std::fs::read(&again).unwrap());
    let told = run_fails(home, &["scaffold", "export", "crafter-v1", "--to", word(&zip)], 1);
    assert!(told.contains("exists already"), "{told}");
    let told = run_fails(home, &["scaffold", "import", word(&zip)], 1);
    assert!(
        told.contains("`crafter-v1` already") && told.contains("--as NAME"),
        "{told}"
    );

    let report = run_json(home, &["scaffold", "import", word(&zip), "--as", "theirs", "--json"]);
    assert_eq!(
        (&report["ok"], &report["name"]),
        (&true.into(), &"theirs".into()),
        "{report}"
    );
    let diff = run_json(home, &["scaffold", "diff", "crafter-v1", "theirs", "--json"]);
    let changed = diff["files"].as_array().unwrap();
    assert!(changed.len() == 1 && changed[0]["path"] == "scaffold.toml", "{diff}");
    let told = run_fails(home, &["scaffold", "import", word(&zip), "--as", "../x"], 1);
    assert!(told.contains("cannot be a scaffold's name"), "{told}");

    let out = home.join("out");
    run_ok(home, &["scaffold", "export", "theirs", "--to", word(&out)]);
    assert!(out.join("prompts/log.md").is_file());
    let told = run_fails(home, &["scaffold", "export", "theirs", "--to", word(&out)], 1);
    assert!(told.contains("exists already"), "{told}");
    // One with a fault comes in, and is told what is wrong.
    std::fs::write(out.join("prompts/log.md"), "{{ no_such_thing }}\n").unwrap();
    let output = run(home, &["scaffold", "import", word(&out), "--as", "faulty"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("no_such_thing") && text.contains("scaffold check faulty"),
        "{text}"
    );
    assert_eq!(
        std::fs::read_to_string(folder(home, "faulty").join("prompts/log.md")).unwrap(),
        "{{ no_such_thing }}\n"
    );
    let names: Vec<_> = std::fs::read_dir(home.join("workspace/scaffolds")).unwrap().collect();
    assert_eq!(names.len(), 2, "no draft is left: {names:?}");
}

#[test]
fn what_is_no_scaffold_is_not_imported() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("a.zip"), "no zip at all").unwrap();
    let told = run_fails(home, &["scaffold", "import", "a.zip"], 1);
    assert!(
        told.contains("a.zip was not imported") && told.contains("no zip file"),
        "{told}"
    );
    let told = run_fails(home, &["scaffold", "import", "none.zip"], 1);
    assert!(told.contains("none.zip could not be read"), "{told}");
    let large = std::fs::File::create(home.join("large.zip")).unwrap();
    large.set_len(17 << 20).unwrap();
    let told = run_fails(home, &["scaffold", "import", "large.zip"], 1);
    assert!(told.contains("may have"), "{told}");
    assert!(!home.join("workspace/scaffolds").exists());
}

#[test]
fn a_folder_of_python_files_is_read_and_compared_not_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for (name, line) in [("py0", "MAX = 20\n"), ("py1", "MAX = 40\n")] {
        let dir = home.join(name).join("agents");
        std::fs::create_dir_all(dir.join("__pycache__")).unwrap();
        std::fs::write(dir.join("memory_agent.py"), format!("class Agent:\n    pass\n\n{line}")).unwrap();
        std::fs::write(home.join(name).join("config.yaml"), "agent: memory\n").unwrap();
        std::fs::write(dir.join("__pycache__/memory_agent.pyc"), b"\xff\x00").unwrap();
        std::fs::write(home.join(name).join("plot.png"), b"\x89PNG\xff").unwrap();
    }
    let plain = "a folder of Python files; it can be read and compared, not run";
    let text = run_ok(home, &["scaffold", "show", "py0"]);
    assert!(
        text.contains(plain) && text.contains("--- agents/memory_agent.py") && text.contains("plot.png"),
        "{text}"
    );
    assert!(!text.contains("pycache"), "{text}");
    let text = run_ok(home, &["scaffold", "show", "py0", "--file", "config.yaml"]);
    assert_eq!(text, "agent: memory\n");
    let text = run_ok(home, &["scaffold", "diff", "./py0", "./py1"]);
    assert!(
        text.contains(plain) && text.contains("- MAX = 20\n+ MAX = 40\n"),
        "{text}"
    );
    let told = run_json(home, &["scaffold", "show", "py0", "--json"]);
    assert_eq!(told["files"].as_object().unwrap().len(), 2, "{told}");
    let output = run(home, &["scaffold", "check", "py0"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && text.contains(plain), "{text}");
    let told = run_fails(home, &["scaffold", "import", "py0"], 1);
    assert!(told.contains(plain) && told.contains("scaffold show"), "{told}");
    run_ok(home, &["scaffold", "export", "./py0", "--to", "py0.zip"]);
    assert!(home.join("py0.zip").is_file());
    let told = run_fails(
        home,
        &[
            "run",
            "--scaffold",
            "./py0",
            "--model",
            "scripted",
            "--seeds",
            "1",
            "--out",
            "x.db",
        ],
        1,
    );
    assert!(told.contains("scaffold.toml"), "{told}");
}
