//! Runs in shards and put together again, and adapters in PEFT's form, through the real binary.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

use automem::llm::adapter::{self, AdapterFile, Pair};
use automem::store::{Reader, Writer};
use automem::types::{EpisodeNo, StepNo};
use common::{run_fails, run_json, run_ok, scripted_run};
use serde_json::{Value, json};

/// Plays a shard of four seeds; every shard is given the same path.
fn shard(home: &Path, shard: &str) -> PathBuf {
    let out = home.join("traces.db");
    let args = [
        "run",
        "--env",
        "crafter",
        "--scaffold",
        "crafter-v0",
        "--model",
        "scripted",
        "--seeds",
        "42..45",
        "--max-steps",
        "40",
        "--shard",
        shard,
        "--json",
        "--out",
    ];
    let report = run_json(home, &[&args[..], &[out.to_str().unwrap()]].concat());
    let run = PathBuf::from(report["run"].as_str().unwrap());
    let name = format!("traces-{}.db", shard.replace('/', "of"));
    assert_eq!(run, home.join(name));
    run
}

/// What happened in the episode of this seed, without numbers of episodes and measured times.
fn story(run: &Path, seed: u64) -> Vec<Value> {
    fn forget(value: &mut Value) {
        if let Value::Object(entries) = value {
            entries.retain(|key, _| !matches!(key.as_str(), "ms" | "prompt_ms" | "at" | "memory_root"));
            entries.values_mut().for_each(forget);
        }
        if let Value::Array(items) = value {
            items.iter_mut().for_each(forget);
        }
    }
    let reader = Reader::open(run).unwrap();
    let episode = reader
        .episodes()
        .unwrap()
        .into_iter()
        .find(|episode| episode.seed == seed)
        .unwrap();
    let mut story: Vec<Value> = reader
        .episode_events(episode.episode)
        .unwrap()
        .map(|event| serde_json::to_value(event.unwrap().body).unwrap())
        .collect();
    story.iter_mut().for_each(forget);
    let last = reader.last_step(episode.episode).unwrap().unwrap();
    for step in [StepNo(0), StepNo(last.0 / 2), last] {
        let memory = reader.memory_at(episode.episode, step).unwrap();
        story.push(json!(format!("{:?}", memory.files)));
    }
    story
}

#[test]
fn shards_put_together_are_one_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let whole = scripted_run(home, "whole.db", "42..45", 40);
    let shards = [shard(home, "1/2"), shard(home, "2/2")];
    let before: Vec<Vec<u8>> = shards.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let [first, second] = shards.each_ref().map(|path| path.to_str().unwrap());
    let merged = home.join("deep/merged.db");
    let out = merged.to_str().unwrap();
    let report = run_json(home, &["merge", first, second, "--out", out, "--json"]);
    let seeds: Vec<u64> = report["episodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [42, 44, 43, 45]);

    // Every episode is what it is in the run that one machine played.
    for seed in 42..=45 {
        let (ours, theirs) = (story(&merged, seed), story(&whole, seed));
        assert_eq!(ours.len(), theirs.len(), "seed {seed}");
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "seed {seed}, event {at}");
        }
    }
    // The new run explains itself, is closed, and the world still answers as recorded.
    let reader = Reader::open(&merged).unwrap();
    assert!(reader.is_finished());
    let (meta, of) = (reader.meta(), |path: &PathBuf| {
        Reader::open(path).unwrap().meta().clone()
    });
    assert_eq!(meta.seeds, seeds);
    let from = &meta.model.details["merged from"];
    assert_eq!(*from, format!("{}, {}", of(&shards[0]).id, of(&shards[1]).id));
    assert_ne!(meta.id, of(&shards[0]).id);
    for number in 0..4 {
        let mut events = reader.episode_events(EpisodeNo(number)).unwrap();
        let root = format!("ep_{number:02}");
        assert!(events.all(|event| *event.unwrap().at.memory_root == *root));
    }
    let verified = run_json(home, &["verify", out, "--json"]);
    assert_eq!((&verified["ok"], &verified["steps"]), (&json!(true), &json!(160)));
    assert!(run_ok(home, &["memory", out, "--episode", "3", "--step", "20"]).contains(".txt"));
    run_ok(home, &["metrics", out]);
    let after: Vec<Vec<u8>> = shards.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(before == after, "a shard was changed");
    assert_eq!(std::fs::read_dir(merged.parent().unwrap()).unwrap().count(), 1);

    // What does not go together is refused by name, and nothing is written.
    let refused = |runs: &[&str], says: &str| {
        let out = home.join("refused.db");
        let error = run_fails(home, &[&["merge"], runs, &["--out", out.to_str().unwrap()]].concat(), 1);
        assert!(error.contains(says), "{error}");
        assert!(!out.exists());
    };
    refused(&[first, first], "are the same run");
    refused(&[first, whole.to_str().unwrap()], "seed 42 is in");
    let longer = scripted_run(home, "longer.db", "60", 41);
    refused(&[first, longer.to_str().unwrap()], "limit of steps is 41, not 40");
    let open = home.join("open.db");
    drop(Writer::create(&open, &of(&shards[1])).unwrap());
    refused(&[first, open.to_str().unwrap()], "is not over");
    refused(&[first, home.join("none.db").to_str().unwrap()], "there is no run");
    let error = run_fails(home, &["merge", first, second, "--out", out], 1);
    assert!(error.contains("exists already"), "{error}");
}

#[test]
fn a_shard_needs_a_seed() {
    let home = tempfile::tempdir().unwrap();
    let error = run_fails(
        home.path(),
        &["run", "--model", "scripted", "--seeds", "42,43", "--shard", "3/4"],
        1,
    );
    assert!(error.contains("shard 3/4 has no seed"), "{error}");
    let error = run_fails(home.path(), &["run", "--shard", "4/3"], 2);
    assert!(error.contains("2/8"), "{error}");
}

/// The head of a model with one layer, and as many bytes as its tensors need.
fn model(path: &Path, architecture: &str) {
    let mut bytes = b"GGUF".to_vec();
    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    text(&mut bytes, "general.architecture");
    bytes.extend(8_u32.to_le_bytes());
    text(&mut bytes, architecture);
    text(&mut bytes, &format!("{architecture}.attention.head_count"));
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend(2_u32.to_le_bytes());
    for (name, offset) in [("blk.0.attn_q.weight", 0_u64), ("blk.0.attn_output.weight", 256)] {
        text(&mut bytes, name);
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend(8_u64.to_le_bytes());
        bytes.extend(8_u64.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(32) + 512, 0);
    std::fs::write(path, bytes).unwrap();
}

fn lora(architecture: &str) -> AdapterFile {
    let pair = |target: &str| Pair {
        target: target.to_owned(),
        inputs: 8,
        outputs: 8,
        rank: 2,
        a: (0..16).map(|n| n as f32).collect(),
        b: (0..16).map(|n| -(n as f32)).collect(),
    };
    AdapterFile {
        architecture: architecture.to_owned(),
        alpha: 4.0,
        base: Some("someone/tiny".to_owned()),
        pairs: vec![pair("blk.0.attn_q.weight"), pair("blk.0.attn_output.weight")],
    }
}

#[test]
fn adapters_are_described_and_go_out_and_come_back() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    model(&home.join("llama.gguf"), "llama");
    model(&home.join("qwen2.gguf"), "qwen2");
    adapter::write(&home.join("a.gguf"), &lora("llama")).unwrap();
    let (file, base) = (at("a.gguf"), at("llama.gguf"));

    let info = run_json(home, &["adapter", "info", &file, "--base", &base, "--json"]);
    assert_eq!(
        (&info["architecture"], &info["rank"], &info["alpha"]),
        (&json!("llama"), &json!(2), &json!(4.0))
    );
    assert_eq!((&info["parameters"], &info["fits"]), (&json!(64), &json!(true)));
    assert_eq!(info["targets"], json!({"attn_q": 1, "attn_output": 1}));
    assert_eq!(info["digest"].as_str().unwrap().len(), 32);
    let text = run_ok(home, &["adapter", "info", &file]);
    assert!(text.contains("attn_q x1") && text.contains("someone/tiny"), "{text}");
    let other = common::run(home, &["adapter", "info", &file, "--base", &at("qwen2.gguf")]);
    assert_eq!(other.status.code(), Some(1));
    let text = String::from_utf8(other.stdout).unwrap();
    assert!(text.contains("does not fit") && text.contains("`qwen2`"), "{text}");

    // Out, back, and the same numbers; the workspace takes what is given no name.
    let error = run_fails(home, &["adapter", "export", &file, "--out", &at("peft")], 1);
    assert!(error.contains("--base MODEL.gguf"), "{error}");
    let out = run_ok(
        home,
        &["adapter", "export", &file, "--out", &at("peft"), "--base", &base],
    );
    assert!(out.contains("4 tensors, rank 2, q_proj o_proj"), "{out}");
    let import = ["adapter", "import", &at("peft"), "--base", &base];
    run_ok(home, &[&import[..], &["--out", &at("back.gguf")]].concat());
    assert_eq!(adapter::read(&home.join("back.gguf")).unwrap(), lora("llama"));
    let report = run_json(home, &[&import[..], &["--json"]].concat());
    let named = PathBuf::from(report["file"].as_str().unwrap());
    assert_eq!(named, home.join("workspace/adapters/peft.gguf"));
    run_ok(home, &["adapter", "info", "peft"]);
    assert!(run_fails(home, &import, 1).contains("exists already"));

    // What cannot be used says why and what to do.
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(home.join("cut.gguf"), &whole[..whole.len() / 2]).unwrap();
    let error = run_fails(home, &["adapter", "info", &at("cut.gguf")], 1);
    assert!(error.contains("cut off") && error.contains("again"), "{error}");
    let error = run_fails(home, &["adapter", "info", &base], 1);
    assert!(error.contains("a model and no LoRA adapter"), "{error}");
    let error = run_fails(home, &["adapter", "import", &at("none"), "--base", &base], 1);
    assert!(error.contains("adapter_config.json"), "{error}");
}

#[test]
fn a_training_at_scale_is_laid_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    model(&home.join("m.gguf"), "qwen2");
    let set = json!([{"conversations": [{"role": "user", "content": "What happened?"},
        {"role": "assistant", "content": "<|APPEND|>log.md|a tree<|END|>"}]}]);
    std::fs::write(home.join("set.json"), set.to_string()).unwrap();
    let args = [
        "train",
        "--backend",
        "llamafactory",
        "--base",
        "m.gguf",
        "--data",
        "set.json",
        "--out",
        "big.gguf",
        "--held-out",
        "0",
        "--recipe",
        "2:4:0.0:5.0e-5:1:1:1:512:cosine:0.05:false:2:ATTN",
    ];
    let train = |more: &[&str]| {
        let output = common::automem(home)
            .args([&args, more].concat())
            .env("PATH", "/nowhere")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let error = train(&[]);
    assert!(error.contains("--hf-model"), "{error}");
    let error = train(&["--hf-model", "someone/tiny"]);
    assert!(
        error.contains("not on the PATH") && error.contains("adapter import"),
        "{error}"
    );
    let folder = home.join("workspace/trainings/big/llamafactory");
    let yaml = std::fs::read_to_string(folder.join("train.yaml")).unwrap();
    assert!(
        yaml.contains("lora_target: \"q_proj,k_proj,v_proj,o_proj\"\n"),
        "{yaml}"
    );
    assert!(folder.join("run.sh").exists() && !home.join("big.gguf").exists());
}

#[test]
fn an_adapter_fits_the_real_model() {
    let Some(base) = std::env::var_os("AUTOMEM_TEST_MODEL") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let header = automem::llm::gguf::Header::open(Path::new(&base)).unwrap();
    let pairs = header
        .tensors
        .iter()
        .filter(|tensor| {
            ["attn_q", "attn_k", "ffn_down"]
                .iter()
                .any(|name| tensor.name.ends_with(&format!("{name}.weight")))
        })
        .map(|tensor| {
            let (inputs, outputs) = (tensor.dims[0] as usize, tensor.dims[1] as usize);
            let numbers = |count: usize| (0..count).map(|n| (n % 97) as f32 / 97.0 - 0.5).collect();
            Pair {
                target: tensor.name.clone(),
                inputs,
                outputs,
                rank: 4,
                a: numbers(4 * inputs),
                b: numbers(4 * outputs),
            }
        })
        .collect();
    let adapter = AdapterFile { pairs, ..lora("llama") };
    let (file, folder) = (home.path().join("a.gguf"), home.path().join("peft"));
    adapter::write(&file, &adapter).unwrap();
    let info = adapter::inspect(&file).unwrap();
    adapter::fits(&info, &header).unwrap();
    assert_eq!(info.tensors.len(), 90);
    let written = adapter::peft::export(&adapter, Some(&header), None, &folder).unwrap();
    assert_eq!(written.modules, ["q_proj", "k_proj", "down_proj"].map(str::to_owned));
    let mut back = adapter::peft::import(&folder, &header).unwrap();
    // The order is the model's.
    back.pairs
        .sort_by_key(|pair| adapter.pairs.iter().position(|other| other.target == pair.target));
    assert_eq!(back, adapter);
}
