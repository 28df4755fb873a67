//! The folder, and the way through a stand-in for `llamafactory-cli` (a shell script; nothing is trained by it).

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::*;
use crate::llm::adapter::{AdapterFile, Pair};
use crate::tune::dataset::{Example, to_bytes};
use crate::tune::recipe::TrainConfig;
use crate::types::{ChatRole, Message};

/// A base model's file of one layer with a query matrix, as small as the reader takes it.
fn model(path: &Path) {
    let mut bytes = b"GGUF".to_vec();
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    text(&mut bytes, "general.architecture");
    bytes.extend(8_u32.to_le_bytes());
    text(&mut bytes, "qwen2");
    text(&mut bytes, "blk.0.attn_q.weight");
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(8_u64.to_le_bytes());
    bytes.extend(4_u64.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32) + 8 * 4 * 4, 0);
    std::fs::write(path, bytes).unwrap();
}

fn adapter() -> AdapterFile {
    AdapterFile {
        architecture: "qwen2".to_owned(),
        alpha: 4.0,
        base: Some("someone/tiny".to_owned()),
        pairs: vec![Pair {
            target: "blk.0.attn_q.weight".to_owned(),
            inputs: 8,
            outputs: 4,
            rank: 2,
            a: vec![0.5; 16],
            b: vec![0.25; 8],
        }],
    }
}

struct Room {
    dir: tempfile::TempDir,
    job: TrainJob,
}

impl Room {
    fn new(line: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        model(&at("base.gguf"));
        let example = |answer: &str| Example {
            conversations: vec![
                Message::new(ChatRole::System, "You keep notes."),
                Message::new(ChatRole::User, "What happened?"),
                Message::new(ChatRole::Assistant, answer),
            ],
            source: None,
        };
        let set: Vec<Example> = (0..9)
            .map(|n| example(&format!("<|APPEND|>log.md|step {n}<|END|>")))
            .collect();
        std::fs::write(at("set.json"), to_bytes(&set)).unwrap();
        let job = TrainJob {
            name: "one".to_owned(),
            base: at("base.gguf"),
            data: at("set.json"),
            config: TrainConfig::parse_line(line).unwrap(),
            out: at("out.gguf"),
            folder: at("trainings/one"),
            held_out: 0.1,
            threads: None,
            memory: None,
        };
        Self { dir, job }
    }

    fn folder(&self) -> PathBuf {
        self.job.folder.join("llamafactory")
    }

    /// A folder for PATH with a stand-in that does this.
    fn stand_in(&self, does: &str) -> LlamaFactory {
        let bin = self.dir.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let program = bin.join(PROGRAM);
        let text = format!("#!/bin/sh\n# A fake of llamafactory-cli for tests.\nset -eu\n{does}\n");
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = bin.into_os_string();
        path.push(":/usr/bin:/bin");
        backend(path)
    }

    fn train(&self, backend: &mut LlamaFactory, cancel: &Cancel) -> (Result<Trained, TrainError>, Vec<TrainNews>) {
        let mut all = Vec::new();
        let result = backend.train(&self.job, cancel, &mut |news| all.push(news));
        (result, all)
    }
}

fn backend(path: OsString) -> LlamaFactory {
    LlamaFactory {
        hf_model: "someone/tiny".to_owned(),
        template: None,
        path: Some(path),
    }
}

const LINE: &str = "2:4:0.0:5.0e-5:2:1:2:512:cosine:0.05:false:2:q_proj";

#[test]
fn without_the_program_the_folder_is_complete() {
    let room = Room::new(LINE);
    let (result, _) = room.train(&mut backend(OsString::from("/nowhere")), &Cancel::new());
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("not on the PATH") && error.contains("sh run.sh"),
        "{error}"
    );
    assert!(
        error.contains("automem adapter import") && error.contains("out.gguf"),
        "{error}"
    );
    let text = |name: &str| std::fs::read_to_string(room.folder().join(name)).unwrap();
    let train = text("train.yaml");
    for line in [
        "model_name_or_path: \"someone/tiny\"",
        "template: \"qwen\"",
        "finetuning_type: \"lora\"",
        "lora_rank: 2",
        "lora_alpha: 4",
        "lora_dropout: 0.0",
        "lora_target: \"q_proj\"",
        "deepspeed: \"ds_z3_config.json\"",
        "cutoff_len: 512",
        "mask_history: true",
        "per_device_train_batch_size: 1",
        "gradient_accumulation_steps: 2",
        "learning_rate: 5.0e-5",
        "num_train_epochs: 2.0",
        "lr_scheduler_type: \"cosine\"",
        "warmup_ratio: 0.05",
        "save_strategy: \"no\"",
        "val_size: 0.1",
        "seed: 42",
    ] {
        assert!(
            train.lines().any(|there| there == line),
            "{line} is missing in\n{train}"
        );
    }
    let merge = text("merge.yaml");
    assert!(
        merge.contains("adapter_name_or_path: \"adapter\"") && merge.contains("export_dir"),
        "{merge}"
    );
    let script = text("run.sh");
    assert!(
        script.contains("FORCE_TORCHRUN=1") && script.contains("NPROC_PER_NODE:-2"),
        "{script}"
    );
    let json = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap();
    let info = json("dataset_info.json");
    assert_eq!(info["automem"]["formatting"], "sharegpt");
    assert_eq!(info["automem"]["tags"]["system_tag"], "system");
    let set = json(info["automem"]["file_name"].as_str().unwrap());
    assert_eq!(set.as_array().unwrap().len(), 9);
    assert_eq!(set[0]["conversations"][2]["content"], "<|APPEND|>log.md|step 0<|END|>");
    assert!(set[0].get("source").is_none());
    assert_eq!(json("ds_z3_config.json")["zero_optimization"]["stage"], 3);
}

#[test]
fn what_it_trains_comes_back_as_a_gguf_file() {
    let room = Room::new(LINE);
    let prepared = room.dir.path().join("peft");
    let header = Header::open(&room.job.base).unwrap();
    peft::export(&adapter(), Some(&header), None, &prepared).unwrap();
    let does = format!(
        r#"test "$1 $2" = "train train.yaml"
echo "torchrun=$FORCE_TORCHRUN gpus=$NPROC_PER_NODE"
mkdir adapter
echo '{{"current_steps": 1, "total_steps": 2, "loss": 2.5, "lr": 5e-05, "epoch": 1.0}}' >> adapter/trainer_log.jsonl
printf '  50%%|#\r 100%%|##\n' >&2
echo "{{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 2.0}}"
echo '{{"current_steps": 2, "total_steps": 2, "loss": 1.5, "lr": 1e-05, "epoch": 2.0}}' >> adapter/trainer_log.jsonl
cp {0}/* adapter/"#,
        prepared.display()
    );
    let (result, news) = room.train(&mut room.stand_in(&does), &Cancel::new());
    let trained = result.unwrap();
    assert_eq!(adapter::read(&room.job.out).unwrap(), adapter());
    assert_eq!(trained.digest, adapter::inspect(&room.job.out).unwrap().digest);
    assert_eq!(trained.loss, 1.5);
    // Eight are trained on by two devices, two batches an update, twice over.
    assert!(
        matches!(
            &news[0],
            TrainNews::Planned {
                steps: 4,
                examples: 8,
                held_out: 1,
                parameters: 24,
                ..
            }
        ),
        "{:?}",
        news[0]
    );
    let lines: Vec<&str> = news
        .iter()
        .filter_map(|news| match news {
            TrainNews::Line { text } => Some(text.trim()),
            _ => None,
        })
        .collect();
    assert!(
        lines.contains(&"torchrun=1 gpus=2") && lines.contains(&"100%|##"),
        "{lines:?}"
    );
    let steps: Vec<(u32, u32, f64)> = news
        .iter()
        .filter_map(|news| match news {
            TrainNews::Step { step, of, loss, .. } => Some((*step, *of, *loss)),
            _ => None,
        })
        .collect();
    assert_eq!(
        steps.iter().map(|step| (step.0, step.2)).collect::<Vec<_>>(),
        [(1, 2.5), (2, 1.5)]
    );
    assert!(
        matches!(news.last(), Some(TrainNews::Done { steps: 2, .. })),
        "{:?}",
        news.last()
    );
    let log = std::fs::read_to_string(room.folder().join(LOG)).unwrap();
    assert!(log.contains("torchrun=1"), "{log}");
    let told = std::fs::read_to_string(room.job.folder.join(super::super::folder::LOG)).unwrap();
    assert_eq!(told.lines().count(), news.len());
}

#[test]
fn a_failure_quotes_what_it_said_and_writes_no_adapter() {
    let room = Room::new(LINE);
    let (result, _) = room.train(
        &mut room.stand_in("echo 'CUDA out of memory' >&2; exit 3"),
        &Cancel::new(),
    );
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("code 3") && error.contains("CUDA out of memory"),
        "{error}"
    );
    assert!(error.contains("llamafactory.log"), "{error}");
    // It ends well, but leaves no adapter.
    let (result, _) = room.train(&mut room.stand_in("mkdir -p adapter"), &Cancel::new());
    let error = result.unwrap_err().to_string();
    assert!(error.contains("adapter_config.json"), "{error}");
    assert!(!room.job.out.exists());
}

#[test]
fn cancelling_ends_all_its_processes() {
    let room = Room::new(LINE);
    let cancel = Cancel::new();
    let mut backend = room.stand_in("sleep 600 & echo $!; sleep 600");
    let (other, began) = (cancel.clone(), Instant::now());
    let mut child = None;
    let result = backend.train(&room.job, &cancel, &mut |news| {
        if let TrainNews::Line { text } = news {
            child = text.trim().parse::<i32>().ok();
            other.cancel();
        }
    });
    assert!(matches!(result, Err(TrainError::Cancelled)), "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.unwrap()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "its child lives on");
    assert!(room.folder().join("train.yaml").exists() && !room.job.out.exists());
}

#[test]
fn what_it_cannot_train_is_said_before() {
    let missing = OsString::from("/nowhere");
    let error_of =
        |room: &Room, backend: &mut LlamaFactory| room.train(backend, &Cancel::new()).0.unwrap_err().to_string();
    let room = Room::new("2:4.5:0.0:5.0e-5:2:1:2:512:cosine:0.05:false:2:q_proj");
    assert!(error_of(&room, &mut backend(missing.clone())).contains("whole"));
    let mut room = Room::new(LINE);
    let unnamed = LlamaFactory {
        hf_model: " ".to_owned(),
        ..backend(missing.clone())
    };
    assert!(error_of(&room, &mut { unnamed }).contains("--hf-model"));
    room.job.held_out = 0.9;
    assert!(error_of(&room, &mut backend(missing.clone())).contains("0 to 0.5"));
    room.job.held_out = 0.0;
    let set = [Example {
        conversations: vec![
            Message::new(ChatRole::User, "a"),
            Message::new(ChatRole::User, "b"),
            Message::new(ChatRole::Assistant, "<|DONE|>"),
        ],
        source: None,
    }];
    std::fs::write(&room.job.data, to_bytes(&set)).unwrap();
    let error = error_of(&room, &mut backend(missing.clone()));
    assert!(error.contains("do not alternate in example 0"), "{error}");
    std::fs::write(&room.job.data, "[]").unwrap();
    assert!(error_of(&room, &mut backend(missing.clone())).contains("no example"));
    room.job.out = room.job.data.clone();
    assert!(error_of(&room, &mut backend(missing)).contains("is no adapter"));
    assert_eq!(std::fs::read(&room.job.data).unwrap(), b"[]");
}

#[test]
fn the_template_follows_from_the_model() {
    use crate::llm::gguf;
    let of = |architecture: &str, template: &str| {
        let entry = |key: &str, text: &str| (key.to_owned(), gguf::Value::Text(text.to_owned()));
        files::template(&Header {
            version: 3,
            metadata: [
                entry("general.architecture", architecture),
                entry("tokenizer.chat_template", template),
            ]
            .into(),
            tensors: vec![],
            data_start: 0,
        })
    };
    assert_eq!(of("qwen2", "").unwrap(), "qwen");
    assert_eq!(of("llama", "<|start_header_id|>").unwrap(), "llama3");
    assert_eq!(of("llama", "<|im_start|> You are SmolLM").unwrap(), "smollm2");
    assert!(of("llama", "x").unwrap_err().to_string().contains("--template"));
}
