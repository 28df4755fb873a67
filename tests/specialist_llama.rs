//! A specialist that is an adapter on the weights of the base: what it changes, and that the base never notices.
//!
//! Needs the small model: `automem model pull smollm2-135m`, or `AUTOMEM_TEST_MODEL=FILE.gguf`.
#![cfg(feature = "llama")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use automem::agent::{self, RunPlan};
use automem::config::Workspace;
use automem::jobs::Cancel;
use automem::llm::adapter::{self, AdapterFile, Pair};
use automem::llm::gguf::Header;
use automem::llm::{ChatAnswer, ChatModel, ChatRequest, ModelOptions, SlotKey};
use automem::scaffold::Scaffold;
use automem::store::Reader;
use automem::types::{ChatRole, EpisodeNo, Message, Phase, Role, Sampling};
use support::{assert_same, place, plan, play};

fn model() -> Option<PathBuf> {
    let named = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from);
    let pulled = Workspace::find()
        .ok()
        .map(|workspace| workspace.models_dir().join("smollm2-135m.gguf"));
    let found = named.or(pulled).filter(|path| path.is_file());
    if found.is_none() {
        eprintln!("left out: no model; `automem model pull smollm2-135m` fetches it");
    }
    found
}

/// An adapter that changes every query by random numbers of this size.
fn random_adapter(model: &Path, path: &Path, size: f32, seed: u64) {
    let header = Header::open(model).unwrap();
    let mut state = seed;
    let mut draw = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * size
    };
    let pairs = header
        .tensors
        .iter()
        .filter(|tensor| tensor.name.ends_with("attn_q.weight"))
        .map(|tensor| {
            let (inputs, outputs) = (tensor.dims[0] as usize, tensor.dims[1] as usize);
            Pair {
                target: tensor.name.clone(),
                inputs,
                outputs,
                rank: 4,
                a: (0..4 * inputs).map(|_| draw()).collect(),
                b: (0..outputs * 4).map(|_| draw()).collect(),
            }
        })
        .collect();
    let file = AdapterFile {
        architecture: header.text("general.architecture").unwrap().to_owned(),
        alpha: 8.0,
        base: None,
        pairs,
    };
    adapter::write(path, &file).unwrap();
}

fn options(exact: bool) -> ModelOptions {
    ModelOptions {
        context: Some(1024),
        slots: Some(2),
        threads: Some(1),
        exact,
        ..ModelOptions::default()
    }
}

fn request(role: Role, text: &str) -> ChatRequest {
    ChatRequest {
        messages: vec![Message::new(ChatRole::User, text)],
        slot: SlotKey {
            episode: EpisodeNo(0),
            role,
            phase: Phase::Plan,
        },
        sampling: Sampling {
            temperature: 0.8,
            max_tokens: 24,
            seed: 7,
            ..Sampling::default()
        },
        grammar: None,
        stop: Vec::new(),
    }
}

fn ask(model: &dyn ChatModel, role: Role, text: &str) -> ChatAnswer {
    model.chat(&request(role, text), &Cancel::new(), &mut |_| {}).unwrap()
}

const TEXT: &str = "Tell a short story about a fox and a river.";

#[test]
fn the_specialist_differs_and_the_base_is_what_it_was() {
    let Some(path) = model() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("notes-1.gguf"), dir.path().join("notes-2.gguf"));
    random_adapter(&path, &one, 0.4, 1);
    random_adapter(&path, &two, 0.4, 2);
    let spec = path.to_str().unwrap();
    let plain = agent::open_model(spec, "crafter", &options(true)).unwrap();
    let alone = ask(&*plain, Role::Agent, TEXT);
    drop(plain);

    let named = one.to_str().unwrap();
    let (base, specialist) = agent::open_models(spec, Some(named), "crafter", &options(true)).unwrap();
    let specialist = specialist.unwrap();
    let about = specialist.describe();
    let detail = |key: &str| about.details[key].as_str();
    assert_eq!(about.name, "notes-1");
    assert_eq!(
        (detail("base"), detail("adapter_file")),
        (&*base.describe().name, "notes-1.gguf")
    );
    assert_eq!((detail("adapter_rank"), detail("adapter_alpha")), ("4", "8"));
    assert_eq!(
        detail("adapter_digest"),
        adapter::inspect(&one).unwrap().digest.to_string()
    );
    assert_eq!(agent::spec_of(&about).as_deref(), Some("notes-1"));

    let changed = ask(&*specialist, Role::Specialist, TEXT);
    assert_ne!(changed.text, alone.text);
    assert_eq!(changed.prompt, alone.prompt);
    // Beside the specialist at work, and after it, the base says to the letter what it says alone.
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| ask(&*specialist, Role::Specialist, TEXT).text);
        assert_eq!(ask(&*base, Role::Gameplay, TEXT).text, alone.text);
        assert_eq!(busy.join().unwrap(), changed.text);
    });
    drop(specialist);
    assert_eq!(ask(&*base, Role::Gameplay, TEXT).text, alone.text);

    // Another adapter is another specialist: it has nothing of the cache that was computed with the first, and one that is
    // loaded again is what it was.
    let warm = agent::open_model(spec, "crafter", &options(false)).unwrap();
    let open = |adapter: &Path| warm.with_adapter(adapter).unwrap();
    let first = open(&one);
    assert_eq!(ask(&*first, Role::Specialist, TEXT).cached_tokens, 0);
    assert!(ask(&*first, Role::Specialist, TEXT).cached_tokens > 0);
    let second = open(&two);
    let answer = ask(&*second, Role::Specialist, TEXT);
    assert_eq!(answer.cached_tokens, 0, "the cache of another adapter was used");
    drop((first, second));
    assert_eq!(ask(&*open(&two), Role::Specialist, TEXT).text, answer.text);

    // What does not fit is refused before llama.cpp sees it, and leaves the base at work.
    let cut = dir.path().join("cut.gguf");
    let bytes = std::fs::read(&one).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    let refused = warm.with_adapter(&cut).err().unwrap().to_string();
    assert!(refused.contains("cut.gguf") && refused.contains("cut off"), "{refused}");
    let refused = warm.with_adapter(&path).err().unwrap().to_string();
    assert!(refused.contains("adapter"), "{refused}");
    assert!(!ask(&*warm, Role::Gameplay, TEXT).text.is_empty());
}

#[test]
fn a_run_beside_an_idle_specialist_is_bit_equal_to_one_without() {
    let Some(path) = model() else { return };
    let dir = tempfile::tempdir().unwrap();
    let adapter = dir.path().join("notes.gguf");
    random_adapter(&path, &adapter, 0.4, 3);
    let tiny = Scaffold::named("crafter-tiny", &Workspace::at("/nonexistent")).unwrap();
    let mut files = tiny.files().clone();
    let short = files["scaffold.toml"].replace("max_tokens = 48", "max_tokens = 8");
    files.insert(
        "scaffold.toml".into(),
        short.replace("plan_turns = 2", "plan_turns = 1"),
    );
    // Short, so that it is played in seconds.
    let rules = "Play.\nActions: {{ actions[:6] | join(\", \") }}\nAct with <|ACTION|>Do<|END|>\n";
    files.insert("prompts/system.md".into(), rules.into());
    let scaffold = Scaffold::from_files(files).unwrap();
    let played = |out: &Path, model: Arc<dyn ChatModel>, specialist: Option<Arc<dyn ChatModel>>| {
        play(RunPlan {
            scaffold: scaffold.clone(),
            specialist,
            max_steps: 2,
            exact: true,
            ..plan(out, model)
        })
    };
    let (_a, without) = place();
    let (_b, beside) = place();
    let (_c, two) = place();
    let base = agent::open_model(path.to_str().unwrap(), "crafter", &options(true)).unwrap();
    played(&without, Arc::clone(&base), None);
    // With both contexts at work.
    let specialist = base.with_adapter(&adapter).unwrap();
    let stop = Cancel::new();
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut answers = 0;
            while !stop.is_cancelled() {
                ask(&*specialist, Role::Specialist, TEXT);
                answers += 1;
            }
            answers
        });
        played(&beside, Arc::clone(&base), None);
        stop.cancel();
        assert!(busy.join().unwrap() > 0);
    });
    assert_same(&without, &beside, 0);
    // And as two models: each step has both, and repeats to the bit.
    let report = played(&two, Arc::clone(&base), Some(Arc::clone(&specialist)));
    assert_eq!(report.episodes[0].steps, 2);
    let (_d, again) = place();
    played(&again, base, Some(specialist));
    assert_same(&two, &again, 0);
    let meta = Reader::open(&two).unwrap().meta().clone();
    assert_eq!(meta.players(), "smollm2-135m + notes");
    assert!(meta.specialist.unwrap().details.contains_key("adapter_digest"));
}

/// Resident memory of this process, in KiB: pages of files (the mapped weights) and others.
fn resident() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (of("RssFile:"), of("RssAnon:"))
}

/// In a process of its own, so that other tests do not count.
#[test]
#[cfg(target_os = "linux")]
fn a_second_context_has_no_second_copy_of_the_weights() {
    const CHILD: &str = "AUTOMEM_TEST_RESIDENT";
    let Some(path) = model() else { return };
    if std::env::var_os(CHILD).is_none() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_second_context_has_no_second_copy_of_the_weights",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .status()
            .unwrap();
        assert!(child.success());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let adapter = dir.path().join("notes.gguf");
    random_adapter(&path, &adapter, 0.4, 3);
    let weights = std::fs::metadata(&path).unwrap().len() / 1024;
    let base = agent::open_model(path.to_str().unwrap(), "crafter", &options(false)).unwrap();
    ask(&*base, Role::Gameplay, TEXT);
    let one = resident();
    let specialist = base.with_adapter(&adapter).unwrap();
    ask(&*specialist, Role::Specialist, TEXT);
    let two = resident();
    let more = |one: u64, two: u64| two.saturating_sub(one);
    let (file, anonymous) = (more(one.0, two.0), more(one.1, two.1));
    eprintln!(
        "weights {} MiB; one context {} MiB, with the specialist {} MiB: {} MiB more of files, {} MiB more of buffers",
        weights / 1024,
        (one.0 + one.1) / 1024,
        (two.0 + two.1) / 1024,
        file / 1024,
        anonymous / 1024
    );
    assert!(
        file < weights / 4,
        "{file} KiB more of mapped files: the weights are mapped twice"
    );
    // Its cache of 1024 cells takes 22 MiB, its buffers and the adapter the rest; nowhere near the weights again.
    assert!(anonymous < weights, "{anonymous} KiB more of memory");
    // Taken back, it leaves nothing behind that grows.
    drop(specialist);
    for _ in 0..3 {
        drop(base.with_adapter(&adapter).unwrap());
    }
    let end = resident();
    assert!(end.1 <= two.1 + weights / 4, "{} KiB after three exchanges", end.1);
}
