//! A real language model plays through llama.cpp: the whole path from prompt to world and record.
//!
//! Needs the small model: `automem model pull smollm2-135m`, or `AUTOMEM_TEST_MODEL=FILE.gguf`.
#![cfg(feature = "llama")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::PathBuf;

use common::run_json;

fn model() -> Option<PathBuf> {
    let named = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from);
    let pulled = automem::config::Workspace::find()
        .ok()
        .map(|workspace| workspace.models_dir().join("smollm2-135m.gguf"));
    named.or(pulled).filter(|path| path.is_file())
}

#[test]
fn ten_steps_with_the_prompt_taken_from_the_cache() {
    let Some(model) = model() else {
        eprintln!("left out: no model; `automem model pull smollm2-135m` fetches it");
        return;
    };
    let room = tempfile::tempdir().unwrap();
    let out = room.path().join("run.db");
    let (model, out) = (model.to_str().unwrap(), out.to_str().unwrap());
    let args = [
        "run",
        "--env",
        "crafter",
        "--scaffold",
        "crafter-tiny",
        "--model",
        model,
        "--seeds",
        "42",
        "--max-steps",
        "10",
        "--out",
        out,
        "--json",
    ];
    let report = run_json(room.path(), &args);
    let episode = &report["episodes"][0];
    assert_eq!(episode["steps"], 10, "{report}");
    let (prompt, cached) = (
        episode["prompt_tokens"].as_u64().unwrap(),
        episode["cached_tokens"].as_u64().unwrap(),
    );
    assert!(
        cached * 2 >= prompt,
        "{cached} of {prompt} prompt tokens came from the cache"
    );

    // With the grammar on, actions are the model's own and valid, and operations are well formed.
    let mut by_model = 0;
    for step in 0..10u32 {
        let step = step.to_string();
        let shown = run_json(room.path(), &["show", out, "--episode", "0", "--step", &step, "--json"]);
        by_model += u32::from(shown["action"]["by"] == "model");
        for turn in shown["turns"].as_array().unwrap() {
            assert!(turn["prompt_tokens"].as_u64().unwrap() < 700, "{turn}");
            assert!(turn["prompt"].as_str().unwrap().contains("PHASE:"), "{turn}");
        }
        for op in shown["ops"].as_array().unwrap() {
            assert_ne!(op["outcome"]["status"], "malformed", "{op}");
        }
    }
    assert!(by_model >= 8, "only {by_model} of 10 actions were the model's");
    let verified = run_json(room.path(), &["verify", out, "--json"]);
    assert_eq!(verified["ok"], true, "{verified}");
}
