//! Loop 1 with a meta-LLM, through the real program: Anthropic's and OpenAI's formats served by a local server lead from
//! the parent's traces to a promoted scaffold, and the key is nowhere to be found afterwards.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod fake_server;
mod meta_teller;

use std::path::{Path, PathBuf};

use automem::config::Workspace;
use automem::scaffold::Scaffold;
use common::{automem, run_json};
use meta_teller::{KEY, Said, Wire, said, teller};
use serde_json::{Value, json};

/// Runs an optimization to its end; gives what was told.
fn optimize(home: &Path, meta: &str, line: &str) -> Vec<Value> {
    let output = automem(home)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("OPENAI_API_KEY", KEY)
        .args([
            "optimize",
            "--env",
            "crafter",
            "--scaffold",
            "shackled",
            "--iterations",
            "1",
            "--json",
        ])
        .args(["--workers", "2", "--seeds", "42..43", "--max-steps", "40"])
        .args(["--meta", meta, "--line", line, "--policy", "accept"])
        .output()
        .unwrap();
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{errors}");
    assert!(!out.contains(KEY) && !errors.contains(KEY), "the key shows");
    out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn one<'a>(news: &'a [Value], word: &str) -> &'a Value {
    news.iter()
        .find(|news| news["news"] == word)
        .unwrap_or_else(|| panic!("nothing of `{word}` in {news:?}"))
}

/// A scaffold that lets its agent do nothing, and the manifest that sets it free.
fn shackled(workspace: &Workspace) -> String {
    let shipped = Scaffold::named("crafter-v0", workspace).unwrap().files().clone();
    let folder = workspace.scaffolds_dir().join("shackled");
    let free = shipped["scaffold.toml"].replace("\"crafter-v0\"", "\"shackled\"");
    for (path, text) in &shipped {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let bound = format!("{free}\n[actions]\nallowed = [\"Noop\"]\n");
    std::fs::write(folder.join("scaffold.toml"), bound).unwrap();
    free.replace("version = \"0.1.0\"", "version = \"0.2.0\"\nparent = \"shackled\"")
}

fn story(manifest: &str) -> Vec<Said> {
    let evidence = json!([{"episode": 0, "step": 20, "note": "the same action again"}]);
    let words = json!({"title": "All actions", "analysis": "It can do nothing.", "method": "It may do all.",
        "evidence": evidence});
    vec![
        said(
            "I look.",
            [
                ("list_episodes", json!({})),
                ("metrics", json!({})),
                ("findings", json!({})),
                ("read_steps", json!({"from": 5, "to": 8})),
            ],
        ),
        said(
            "I write.",
            [
                ("write_file", json!({"path": "scaffold.toml", "content": manifest})),
                ("check", json!({})),
            ],
        ),
        said("Done.", [("finish", words)]),
    ]
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .collect()
}

#[test]
fn both_formats_lead_to_a_promotion() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let workspace = Workspace::at(home.join("workspace"));
    let story = story(&shackled(&workspace));
    for (wire, line) in [(Wire::Anthropic, "by-anthropic"), (Wire::OpenAi, "by-openai")] {
        let server = teller(wire, story.clone());
        let meta = wire.spec(&server);
        let news = optimize(home, &meta, line);
        let id = one(&news, "proposed")["proposal"].as_str().unwrap().to_owned();
        assert_eq!(one(&news, "gated")["report"]["outcome"], "better");
        assert_eq!(news.last().unwrap()["promoted"][0], id.as_str());
        let shown = run_json(home, &["proposals", "show", &id, "--json"]);
        assert_eq!(
            (&shown["state"], &shown["title"]),
            (&json!("promoted"), &json!("All actions"))
        );
        let author = shown["author"].as_str().unwrap();
        assert!(author.starts_with(meta.split(':').next().unwrap()), "{author}");
        assert_eq!(shown["evidence"][0]["step"], 20);
        let head = std::fs::read_to_string(workspace.scaffolds_dir().join(line).join("METHOD.md")).unwrap();
        assert!(head.contains("It may do all."));
    }
    let kept: Vec<PathBuf> = files_below(&workspace.root().join("meta"));
    assert_eq!(kept.len(), 2, "each conversation is kept: {kept:?}");
    for path in files_below(home) {
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!found, "the key is in {}", path.display());
    }
}
