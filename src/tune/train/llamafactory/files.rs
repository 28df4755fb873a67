//! The folder that LLaMA-Factory trains by.
//!
//! Paths in it are relative, so that it can be copied to the machine that trains.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::super::dataset::Example;
use super::super::{TrainError, TrainJob};
use super::put;
use super::yaml::Yaml;
use crate::llm::gguf::Header;
use crate::tune::recipe::TrainConfig;
use crate::types::ChatRole;

/// Starts the training.
pub(super) const SCRIPT: &str = "run.sh";
/// Where the adapter comes to lie, in PEFT's form.
pub(super) const ADAPTER: &str = "adapter";
/// The set's name and its file.
const DATASET: &str = "automem";
const DATA: &str = "automem.json";
const INFO: &str = "dataset_info.json";
const TRAIN: &str = "train.yaml";
const MERGE: &str = "merge.yaml";
const ZERO3: &str = "ds_z3_config.json";

/// What was laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Laid {
    pub(super) folder: PathBuf,
    /// Where the adapter will be.
    pub(super) adapter: PathBuf,
    /// Conversations to train on, and kept back.
    pub(super) examples: u32,
    pub(super) held_out: u32,
    /// Updates in all.
    pub(super) steps: u32,
}

fn unfit(what: impl Into<String>, hint: impl Into<String>) -> TrainError {
    TrainError::Unfit {
        what: what.into(),
        hint: hint.into(),
    }
}

/// Writes all files of the folder, each whole.
pub(super) fn lay_out(
    folder: &Path,
    job: &TrainJob,
    model: &str,
    template: &str,
    examples: &[Example],
) -> Result<Laid, TrainError> {
    let config = &job.config;
    if config.alpha.fract() != 0.0 {
        return Err(unfit(
            format!("alpha is {}, but LLaMA-Factory takes whole numbers only", config.alpha),
            "give a whole alpha, such as twice the rank",
        ));
    }
    if !(0.0..=0.5).contains(&job.held_out) {
        let what = format!("{} of the conversations cannot be held out", job.held_out);
        return Err(unfit(what, "give a share from 0 to 0.5"));
    }
    check_turns(examples)?;
    // A folder on this machine is named in full, since the program runs elsewhere.
    let model = std::fs::canonicalize(model).map_or_else(|_| model.to_owned(), |path| path.display().to_string());

    let only: Vec<_> = examples
        .iter()
        .map(|one| json!({ "conversations": one.conversations }))
        .collect();
    put(&folder.join(DATA), &json_of(&json!(only)))?;
    put(&folder.join(INFO), &json_of(&info()))?;
    put(&folder.join(ZERO3), &json_of(&zero3()))?;
    put(&folder.join(TRAIN), &train(job, &model, template))?;
    put(&folder.join(MERGE), &merge(&model, template))?;
    put(&folder.join(SCRIPT), script(config.gpus).as_bytes())?;

    let count = u32::try_from(examples.len()).unwrap_or(u32::MAX);
    let held_out = (f64::from(count) * job.held_out).ceil() as u32;
    let trained = count.saturating_sub(held_out);
    // Each device takes its share, the last one may be short; so may the last group of an epoch.
    let batches = trained.div_ceil(config.batch.saturating_mul(config.gpus).max(1));
    let an_epoch = batches.div_ceil(config.accumulation.max(1)).max(1);
    Ok(Laid {
        folder: folder.to_owned(),
        adapter: folder.join(ADAPTER),
        examples: trained,
        held_out,
        steps: an_epoch.saturating_mul(config.epochs),
    })
}

fn json_of(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// LLaMA-Factory leaves out, with a warning only, what does not alternate.
fn check_turns(examples: &[Example]) -> Result<(), TrainError> {
    for (at, example) in examples.iter().enumerate() {
        let messages = &example.conversations;
        let first = usize::from(messages.first().is_some_and(|message| message.role == ChatRole::System));
        let mut expected = [ChatRole::User, ChatRole::Assistant].into_iter().cycle();
        let alternate = messages[first..]
            .iter()
            .all(|message| Some(message.role) == expected.next());
        if !alternate || (messages.len() - first) % 2 != 0 || messages.len() == first {
            return Err(unfit(
                format!("user and assistant do not alternate in example {at}, which LLaMA-Factory would leave out"),
                "reject that candidate, or train with the native back end",
            ));
        }
    }
    Ok(())
}

fn info() -> serde_json::Value {
    json!({
        DATASET: {
            "file_name": DATA,
            "formatting": "sharegpt",
            "columns": { "messages": "conversations" },
            "tags": {
                "role_tag": "role",
                "content_tag": "content",
                "user_tag": "user",
                "assistant_tag": "assistant",
                "system_tag": "system",
            },
        },
    })
}

/// Stage 3 of ZeRO: weights, gradients and moments spread over all devices.
fn zero3() -> serde_json::Value {
    json!({
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "zero_allow_untested_optimizer": true,
        "bf16": { "enabled": "auto" },
        "fp16": { "enabled": "auto" },
        "zero_optimization": {
            "stage": 3,
            "overlap_comm": true,
            "contiguous_gradients": true,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            "stage3_gather_16bit_weights_on_model_save": true,
        },
    })
}

fn train(job: &TrainJob, model: &str, template: &str) -> Vec<u8> {
    let config = &job.config;
    let mut yaml = Yaml::default();
    yaml.heading("model");
    yaml.set("model_name_or_path", model);
    yaml.heading("method");
    yaml.set("stage", "sft");
    yaml.set("do_train", true);
    yaml.set("finetuning_type", "lora");
    yaml.set("lora_rank", config.rank);
    yaml.set("lora_alpha", config.alpha as u64);
    yaml.set("lora_dropout", config.dropout);
    yaml.set("lora_target", config.targets.modules().join(",").as_str());
    if config.gpus > 1 {
        yaml.set("deepspeed", ZERO3);
    }
    yaml.heading("dataset: only the last assistant message of a conversation is trained on");
    yaml.set("dataset", DATASET);
    yaml.set("dataset_dir", ".");
    yaml.set("template", template);
    yaml.set("cutoff_len", config.cutoff);
    yaml.set("mask_history", true);
    yaml.set("overwrite_cache", true);
    yaml.heading("training");
    yaml.set("output_dir", ADAPTER);
    yaml.set("per_device_train_batch_size", config.batch);
    yaml.set("gradient_accumulation_steps", config.accumulation);
    yaml.set("learning_rate", config.learning_rate);
    yaml.set("num_train_epochs", f64::from(config.epochs));
    yaml.set("lr_scheduler_type", config.schedule.word());
    yaml.set("warmup_ratio", config.warmup);
    yaml.set("bf16", true);
    yaml.set("seed", config.seed);
    yaml.set("ddp_timeout", 180_000_000_u64);
    yaml.heading("output");
    yaml.set("logging_steps", 1_u32);
    yaml.set("save_strategy", if config.save { "epoch" } else { "no" });
    yaml.set("save_only_model", false);
    yaml.set("report_to", "none");
    if job.held_out > 0.0 {
        yaml.heading("held out");
        yaml.set("val_size", job.held_out);
        yaml.set("per_device_eval_batch_size", 1_u32);
        yaml.set("eval_strategy", "epoch");
    }
    yaml.into_bytes()
}

fn merge(model: &str, template: &str) -> Vec<u8> {
    let mut yaml = Yaml::default();
    yaml.heading("writes base and adapter as one model: llamafactory-cli export merge.yaml");
    yaml.set("model_name_or_path", model);
    yaml.set("adapter_name_or_path", ADAPTER);
    yaml.set("template", template);
    yaml.set("finetuning_type", "lora");
    yaml.heading("export");
    yaml.set("export_dir", "merged");
    yaml.set("export_size", 5_u32);
    yaml.set("export_device", "cpu");
    yaml.set("export_legacy_format", false);
    yaml.into_bytes()
}

/// Several nodes: the same script on each, with NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT set.
fn script(gpus: u32) -> String {
    format!(
        "#!/bin/sh\n\
         # Trains the adapter with LLaMA-Factory; on several nodes set NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT.\n\
         set -eu\n\
         cd \"$(dirname \"$0\")\"\n\
         export FORCE_TORCHRUN=1 NPROC_PER_NODE=\"${{NPROC_PER_NODE:-{gpus}}}\"\n\
         exec llamafactory-cli train {TRAIN}\n"
    )
}

/// LLaMA-Factory's name of the template that a model's file brings.
pub(super) fn template(header: &Header) -> Result<String, TrainError> {
    let architecture = header.text("general.architecture").unwrap_or_default();
    let brings = |sign: &str| {
        header
            .text("tokenizer.chat_template")
            .is_some_and(|text| text.contains(sign))
    };
    let name = match architecture {
        "qwen2" => "qwen",
        "qwen3" => "qwen3",
        "llama" if brings("<|start_header_id|>") => "llama3",
        "llama" if brings("SmolLM") => "smollm2",
        "llama" if brings("<|im_start|>") => "chatml",
        "llama" if brings("[INST]") => "mistral",
        _ => {
            return Err(unfit(
                "which of LLaMA-Factory's chat templates the model needs is not clear from its file",
                "name it: --template llama3 (LLaMA-Factory's README lists them)",
            ));
        }
    };
    Ok(name.to_owned())
}

/// Numbers that are trained.
pub(super) fn parameters(header: &Header, config: &TrainConfig) -> u64 {
    let modules = config.targets.modules();
    let wanted = |name: &str| {
        let short = match name.rsplit('.').nth(1) {
            Some("attn_q") => "q_proj",
            Some("attn_k") => "k_proj",
            Some("attn_v") => "v_proj",
            Some("attn_output") => "o_proj",
            Some("ffn_gate") => "gate_proj",
            Some("ffn_up") => "up_proj",
            Some("ffn_down") => "down_proj",
            _ => return false,
        };
        name.ends_with(".weight") && modules.iter().any(|module| module == short)
    };
    let of = |dims: &[u64]| {
        dims.iter()
            .take(2)
            .fold(0_u64, |sum, extent| sum.saturating_add(*extent))
    };
    header
        .tensors
        .iter()
        .filter(|tensor| wanted(&tensor.name))
        .map(|tensor| of(&tensor.dims).saturating_mul(config.rank.into()))
        .fold(0, u64::saturating_add)
}
