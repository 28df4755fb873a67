//! `adapter_config.json`: what an adapter is, and what of it has no equal here.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::super::parse::{Fault, shown};

/// What is used of the settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// Rank, unless a module has its own.
    pub(super) rank: usize,
    pub(super) alpha: f32,
    /// Modules have ranks of their own.
    pub(super) ranks_differ: bool,
    pub(super) base: Option<String>,
}

const PLAIN: &str = "train a plain LoRA instead (LLaMA-Factory's `finetuning_type: lora` alone)";

impl Settings {
    pub(super) fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Fault::new(
                "it is not there",
                "give the folder that PEFT wrote: with adapter_config.json and adapter_model.safetensors",
            ),
            _ => Fault::io(&error),
        })?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| Fault::new(format!("it is no JSON: {error}"), "save the adapter again"))?;
        Self::of(&value)
    }

    pub(super) fn of(value: &Value) -> Result<Self, Fault> {
        refuse(value)?;
        let number = |key: &str| {
            let wrong = |why: &str| Fault::new(format!("its `{key}` {why}"), "save the adapter again");
            let number = value.get(key).ok_or_else(|| wrong("is missing"))?;
            let number = number.as_f64().ok_or_else(|| wrong("is no number"))?;
            if number.is_finite() && number > 0.0 && number < 1e9 {
                Ok(number)
            } else {
                Err(wrong(&format!("is {number}")))
            }
        };
        let rank = number("r")?;
        if rank.fract() != 0.0 {
            return Err(Fault::new(format!("its `r` is {rank}"), "save the adapter again"));
        }
        Ok(Self {
            rank: rank as usize,
            alpha: number("lora_alpha")? as f32,
            ranks_differ: holds(value.get("rank_pattern")),
            base: value["base_model_name_or_path"]
                .as_str()
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
        })
    }
}

/// Whether a setting says anything.
fn holds(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// Refuses what a GGUF adapter cannot say.
fn refuse(value: &Value) -> Result<(), Fault> {
    if !value.is_object() {
        return Err(Fault::new("it holds no settings", "save the adapter again"));
    }
    match value["peft_type"].as_str() {
        Some("LORA") => {}
        Some(other) => {
            return Err(Fault::new(
                format!("it is an adapter of PEFT's type {}, not LORA", shown(other)),
                PLAIN,
            ));
        }
        None => return Err(Fault::new("it names no `peft_type`", "give a folder that PEFT wrote")),
    }
    if let Some(bias) = value["bias"].as_str().filter(|bias| *bias != "none") {
        return Err(Fault::new(
            format!(
                "it trains biases too (`bias` is `{}`), which a GGUF adapter has no place for",
                shown(bias)
            ),
            "train with `bias: none`",
        ));
    }
    if let Some(start) = value["init_lora_weights"].as_str()
        && ["pissa", "olora", "loftq", "corda"]
            .iter()
            .any(|kind| start.starts_with(kind))
    {
        return Err(Fault::new(
            format!(
                "it began from `{}`, which changes the base model's weights as well",
                shown(start)
            ),
            "have PEFT convert it to a plain LoRA when it saves (path_initial_model_for_weight_conversion)",
        ));
    }
    const REFUSED: [(&str, &str); 10] = [
        (
            "use_rslora",
            "it is scaled by alpha over the root of the rank (rsLoRA); llama.cpp scales by alpha over the rank",
        ),
        ("use_dora", "it is a DoRA, which also rescales the base model's weights"),
        ("use_bdlora", "it is a BD-LoRA, whose matrices are cut into blocks"),
        (
            "lora_bias",
            "its pairs have biases, which a GGUF adapter has no place for",
        ),
        (
            "modules_to_save",
            "it holds whole modules beside the pairs (`modules_to_save`)",
        ),
        (
            "alpha_pattern",
            "its modules have alphas of their own (`alpha_pattern`); a GGUF adapter has one",
        ),
        ("fan_in_fan_out", "its matrices are transposed (`fan_in_fan_out`)"),
        (
            "trainable_token_indices",
            "it changes single tokens' embeddings (`trainable_token_indices`)",
        ),
        (
            "target_parameters",
            "it changes parameters that are no linear layers (`target_parameters`)",
        ),
        (
            "alora_invocation_tokens",
            "it is an activated LoRA (aLoRA), which works from certain tokens on only",
        ),
    ];
    match REFUSED.iter().find(|(key, _)| holds(value.get(*key))) {
        None => Ok(()),
        Some((key, why)) => Err(Fault::new(format!("{why}: `{key}` is set"), PLAIN)),
    }
}

/// The settings of an adapter. `ranks` are those that differ from `rank`, by module.
pub(super) fn settings(
    (rank, alpha): (usize, f32),
    modules: &[&str],
    ranks: &BTreeMap<String, usize>,
    base: Option<&str>,
) -> Value {
    // A whole number is written as one: some readers take nothing else.
    let alpha = match alpha as i64 {
        whole if whole as f32 == alpha => json!(whole),
        _ => json!(f64::from(alpha)),
    };
    json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "inference_mode": true,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "target_modules": modules,
        "rank_pattern": ranks,
        "alpha_pattern": {},
        "bias": "none",
        "fan_in_fan_out": false,
        "init_lora_weights": true,
        "modules_to_save": null,
        "use_rslora": false,
        "use_dora": false,
    })
}
