//! `automem train` and training in a child process, with a tiny model of random numbers: what is printed, what is kept
//! when it is killed, and that the adapter is one that llama.cpp runs.
#![cfg(feature = "train")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "../src/tune/train/native/tiny.rs"]
#[allow(dead_code, unreachable_pub)]
mod tiny;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use automem::jobs::Cancel;
use automem::llm::llama;
use automem::tune::recipe::TrainConfig;
use automem::tune::train::child::ChildTrainer;
use automem::tune::train::folder::read_news;
use automem::tune::train::{TrainBackend as _, TrainError, TrainJob, TrainNews};
use common::{automem, run, run_fails};
use serde_json::{Value, json};

/// Enough updates to be in the middle of for a while.
const RECIPE: &str = "4:8:0.1:1e-2:30:1:1:128:cosine:0.05:false:1:ALL";

/// A tiny model and a set of twelve conversations.
fn prepare(home: &Path) -> (PathBuf, PathBuf) {
    let base = tiny::write(home, "llama", 3);
    let list: Vec<Value> = [
        "axe", "bow", "cup", "dog", "eel", "fox", "gem", "hat", "ink", "jar", "kit", "lid",
    ]
    .iter()
    .map(|word| {
        json!({"conversations": [
            {"role": "system", "content": "repeat"},
            {"role": "user", "content": word},
            {"role": "assistant", "content": word},
        ]})
    })
    .collect();
    let data = home.join("set.json");
    std::fs::write(&data, Value::from(list).to_string()).unwrap();
    (base, data)
}

fn arguments(home: &Path, out: &str, recipe: &str) -> Vec<String> {
    let path = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let pairs = [
        ("--base", path("llama.gguf")),
        ("--data", path("set.json")),
        ("--recipe", recipe.to_owned()),
        ("--out", path(out)),
        ("--threads", "1".to_owned()),
    ];
    let mut arguments = vec!["train".to_owned(), "--json".to_owned()];
    for (name, value) in pairs {
        arguments.extend([name.to_owned(), value]);
    }
    arguments
}

fn news_of(stdout: &[u8]) -> Vec<TrainNews> {
    let text = std::str::from_utf8(stdout).unwrap();
    text.lines().map(|line| read_news(line).unwrap()).collect()
}

fn logits(base: &Path, adapter: Option<&Path>) -> Vec<f32> {
    let tokens: Vec<u32> = (60..90).collect();
    llama::logits(base, adapter, &tokens).unwrap().concat()
}

#[test]
fn the_verb_prints_lines_and_leaves_an_adapter_that_llama_cpp_runs() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (base, _) = prepare(home);
    let arguments = arguments(home, "a.gguf", &RECIPE.replace(":30:", ":2:"));
    let output = automem(home).args(&arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let news = news_of(&output.stdout);
    assert!(
        matches!(
            news[0],
            TrainNews::Planned {
                examples: 11,
                held_out: 1,
                ..
            }
        ),
        "{news:?}"
    );
    let steps = news
        .iter()
        .filter(|news| matches!(news, TrainNews::Step { .. }))
        .count();
    assert_eq!(steps, 22);
    let first: Value =
        serde_json::from_str(std::str::from_utf8(&output.stdout).unwrap().lines().nth(2).unwrap()).unwrap();
    for key in ["step", "loss", "lr", "tokens_per_second"] {
        assert!(first[key].is_number(), "{first}");
    }
    let Some(TrainNews::Done {
        adapter,
        digest,
        peak_rss,
        ..
    }) = news.last()
    else {
        panic!("{news:?}")
    };
    assert_eq!(*adapter, home.join("a.gguf"));
    assert_eq!(automem::llm::adapter::inspect(adapter).unwrap().digest, *digest);
    assert!(*peak_rss > 0 || !cfg!(target_os = "linux"));
    assert_ne!(logits(&base, None), logits(&base, Some(adapter)));
    // The workspace's folder is what the screen reads.
    let folder = home.join("workspace/trainings/a");
    let job: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("job.json")).unwrap()).unwrap();
    assert_eq!(job["config"]["rank"], 4);
    assert_eq!(
        std::fs::read_to_string(folder.join("train.jsonl"))
            .unwrap()
            .lines()
            .count(),
        news.len()
    );
    // Once more: there is nothing left to do but to write the adapter.
    std::fs::remove_file(adapter).unwrap();
    let again = run(
        home,
        &["train", "--job", folder.join("job.json").to_str().unwrap(), "--json"],
    );
    let again = news_of(&again.stdout);
    assert!(
        matches!(again[..], [TrainNews::Planned { done: 22, .. }, TrainNews::Done { .. }]),
        "{again:?}"
    );
    assert_eq!(automem::llm::adapter::inspect(adapter).unwrap().digest, *digest);
}

#[test]
fn a_killed_training_goes_on_to_the_same_adapter() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    prepare(home);
    let whole = automem(home)
        .args(arguments(home, "whole.gguf", RECIPE))
        .output()
        .unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let mut child = automem(home)
        .args(arguments(home, "killed.gguf", RECIPE))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // After the second checkpoint, wherever that is in the next epoch.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let saved = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("\"saved\""))
        .nth(1);
    assert!(saved.is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!home.join("killed.gguf").exists());
    let rest = automem(home)
        .args(arguments(home, "killed.gguf", RECIPE))
        .output()
        .unwrap();
    assert!(rest.status.success(), "{}", String::from_utf8_lossy(&rest.stderr));
    let TrainNews::Planned { done, .. } = news_of(&rest.stdout)[0] else {
        panic!()
    };
    assert!(done >= 22, "{done}");
    let read = |name: &str| std::fs::read(home.join(name)).unwrap();
    assert_eq!(read("killed.gguf"), read("whole.gguf"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_what_was_saved_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    prepare(home);
    // Files of this process end after some kilobytes, as on a disk that is full.
    let program = env!("CARGO_BIN_EXE_automem");
    let quoted: Vec<String> = arguments(home, "full.gguf", RECIPE)
        .iter()
        .map(|argument| format!("'{argument}'"))
        .collect();
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {program} {}", quoted.join(" "));
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(home)
        .env("AUTOMEM_HOME", home.join("workspace"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("checkpoint") && stderr.contains("make room"),
        "{stderr}"
    );
    let last: Value = serde_json::from_str(String::from_utf8_lossy(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!(last["failed"]["kind"], "file", "{last}");
    assert!(!home.join("full.gguf").exists());
    // Nothing half is left, and it can be begun again.
    let left: Vec<String> = std::fs::read_dir(home.join("workspace/trainings/full"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') || name.contains("checkpoint"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn wrong_use_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    prepare(home);
    run_fails(home, &["train"], 2);
    let fails = |change: &dyn Fn(&mut Vec<String>)| {
        let mut arguments = arguments(home, "a.gguf", RECIPE);
        change(&mut arguments);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run_fails(home, &words, 1)
    };
    let text = fails(&|arguments| arguments[3] = "no-such-model".to_owned());
    assert!(
        text.contains("no-such-model") && text.contains("automem model list"),
        "{text}"
    );
    let text = fails(&|arguments| arguments[7] = "8:16".to_owned());
    assert!(text.contains("8:16"), "{text}");
    let text = fails(&|arguments| arguments.extend(["--name".to_owned(), "../evil".to_owned()]));
    assert!(text.contains("cannot be a training's name"), "{text}");
    let text = fails(&|arguments| arguments.extend(["--memory".to_owned(), "1".to_owned()]));
    assert!(text.contains("--memory"), "{text}");
    let text = fails(&|arguments| {
        std::fs::write(home.join("set.json"), "{}").unwrap();
        arguments[5] = home.join("set.json").to_str().unwrap().to_owned();
    });
    assert!(text.contains("set.json") && text.contains("no list"), "{text}");
    let text = run_fails(home, &["train", "--job", "none.json"], 1);
    assert!(text.contains("none.json"), "{text}");
}

fn job(home: &Path, name: &str) -> TrainJob {
    TrainJob {
        name: name.to_owned(),
        base: home.join("llama.gguf"),
        data: home.join("set.json"),
        config: TrainConfig::parse_line(RECIPE).unwrap(),
        out: home.join(format!("{name}.gguf")),
        folder: home.join("trainings").join(name),
        held_out: 0.1,
        threads: Some(1),
        memory: None,
    }
}

#[test]
fn a_child_trains_stops_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    prepare(home);
    let job = job(home, "child");
    let mut trainer = ChildTrainer::running(env!("CARGO_BIN_EXE_automem"));
    let cancel = Cancel::new();
    let result = trainer.train(&job, &cancel, &mut |news| {
        if matches!(news, TrainNews::Step { step: 3, .. }) {
            cancel.cancel();
        }
    });
    assert!(matches!(result, Err(TrainError::Cancelled)), "{result:?}");
    let mut first = None;
    let trained = trainer
        .train(&job, &Cancel::new(), &mut |news| {
            first.get_or_insert(news);
        })
        .unwrap();
    assert!(matches!(first, Some(TrainNews::Planned { done: 3.., .. })), "{first:?}");
    assert_eq!(automem::llm::adapter::inspect(&job.out).unwrap().digest, trained.digest);
    // What goes wrong over there is told here as what it is.
    let small = TrainJob {
        memory: Some(1 << 20),
        folder: home.join("trainings/small"),
        ..job
    };
    let error = trainer.train(&small, &Cancel::new(), &mut |_| {}).unwrap_err();
    assert!(
        matches!(
            error,
            TrainError::Memory {
                available: 1_048_576,
                ..
            }
        ),
        "{error}"
    );
}
