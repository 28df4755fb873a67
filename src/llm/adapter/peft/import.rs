//! From PEFT's folder to a GGUF adapter.

use std::collections::BTreeMap;
use std::path::Path;

use half::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::super::super::chat::LlmError;
use super::super::super::gguf::Header;
use super::super::parse::{Fault, not_finite, shown};
use super::super::{AdapterFile, Pair, fits};
use super::config::Settings;
use super::names::{Side, module_of, target_of, tensor_of};
use super::rows::{Way, reorder};
use super::{CONFIG, Rows, WEIGHTS, of_path};
use crate::types::Digest;

const SAVE_AGAIN: &str = "save the adapter again";

/// Reads the adapter that PEFT wrote into a folder, for the model of this head.
///
/// # Errors
/// [`LlmError::File`] that names the file, what in it cannot be used here, and what to do; also when the adapter does
/// not fit the model.
pub fn import(folder: &Path, model: &Header) -> Result<AdapterFile, LlmError> {
    let settings_path = folder.join(CONFIG);
    let settings = of_path(Settings::read(&settings_path), &settings_path)?;
    let architecture = model.text("general.architecture").unwrap_or_default();
    let rows = of_path(Rows::of(architecture, Some(model)), folder)?;
    let path = folder.join(WEIGHTS);
    let bytes = of_path(read(&path, folder), &path)?;
    let pairs = of_path(pairs(&bytes, &settings, rows, model), &path)?;
    let adapter = AdapterFile {
        architecture: architecture.to_owned(),
        alpha: settings.alpha,
        base: settings.base,
        pairs,
    };
    fits(&adapter.info(Digest::default()), model).map_err(|why| LlmError::File {
        path: folder.display().to_string(),
        cause: "it does not fit the model".to_owned(),
        hint: why,
    })?;
    Ok(adapter)
}

fn read(path: &Path, folder: &Path) -> Result<Vec<u8>, Fault> {
    std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if folder.join("adapter_model.bin").exists() => Fault::new(
            "it is not there, but adapter_model.bin is, which can hold programs and is not read",
            "save the adapter again with safe_serialization=True",
        ),
        std::io::ErrorKind::NotFound => Fault::new(
            "it is not there",
            "give the folder that PEFT wrote: with adapter_config.json and adapter_model.safetensors",
        ),
        _ => Fault::io(&error),
    })
}

/// The two halves of a module.
#[derive(Default)]
struct Halves<'a> {
    a: Option<TensorView<'a>>,
    b: Option<TensorView<'a>>,
}

fn pairs(bytes: &[u8], settings: &Settings, rows: Rows, model: &Header) -> Result<Vec<Pair>, Fault> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        Fault::new(
            format!("it is no whole safetensors file: {}", shown(&error.to_string())),
            SAVE_AGAIN,
        )
    })?;
    let mut modules: BTreeMap<String, Halves<'_>> = BTreeMap::new();
    for (name, tensor) in file.tensors() {
        let (module, side) = module_of(&name).ok_or_else(|| unknown(&name))?;
        let halves = modules.entry(module.to_owned()).or_default();
        match side {
            Side::A => halves.a = Some(tensor),
            Side::B => halves.b = Some(tensor),
        }
    }
    if modules.is_empty() {
        return Err(Fault::new("it holds no tensors", SAVE_AGAIN));
    }
    let mut pairs = modules
        .into_iter()
        .map(|(module, halves)| pair(&module, halves, settings, rows))
        .collect::<Result<Vec<_>, _>>()?;
    // In the order of the model's own tensors.
    let order: BTreeMap<&str, usize> = model
        .tensors
        .iter()
        .enumerate()
        .map(|(at, tensor)| (tensor.name.as_str(), at))
        .collect();
    pairs.sort_by_key(|pair| order.get(pair.target.as_str()).copied());
    Ok(pairs)
}

fn unknown(name: &str) -> Fault {
    let tensor = shown(name);
    let (what, hint) = if name.contains("lora_embedding") {
        (
            "changes the embeddings, which is not supported",
            "train without embed_tokens among the targets",
        )
    } else if name.contains("lora_magnitude_vector") {
        (
            "belongs to a DoRA, which also rescales the base model's weights",
            "train with use_dora off",
        )
    } else if name.contains("modules_to_save") || name.ends_with(".bias") {
        (
            "is no half of a LoRA pair, and a GGUF adapter has no place for it",
            "train without biases and other modules",
        )
    } else {
        (
            "is no half of a LoRA pair of a language model",
            "train a plain LoRA of linear layers",
        )
    };
    Fault::new(format!("its tensor `{tensor}` {what}"), hint)
}

fn pair(module: &str, halves: Halves<'_>, settings: &Settings, rows: Rows) -> Result<Pair, Fault> {
    let target = target_of(module).ok_or_else(|| {
        Fault::new(
            format!("it changes `{}`, which is no layer that is known here", shown(module)),
            "train on q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj or down_proj",
        )
    })?;
    let missing = |side: Side| {
        Fault::new(
            format!(
                "`{}` is missing: half of a pair is there",
                shown(&tensor_of(module, side))
            ),
            SAVE_AGAIN,
        )
    };
    let a = halves.a.ok_or_else(|| missing(Side::A))?;
    let b = halves.b.ok_or_else(|| missing(Side::B))?;
    let ([rank, inputs], [outputs, rank_b]) = (extents(&a, module)?, extents(&b, module)?);
    let as_said = settings.ranks_differ || rank == settings.rank;
    if rank != rank_b || !as_said {
        return Err(Fault::new(
            format!(
                "the pair of `{}` has ranks {rank} and {rank_b}, where {CONFIG} says {}",
                shown(module),
                settings.rank
            ),
            "the two files do not belong together; save the adapter again",
        ));
    }
    let numbers = |tensor: &TensorView<'_>, side: Side| numbers(tensor, &tensor_of(module, side));
    let (a, mut b) = (numbers(&a, Side::A)?, numbers(&b, Side::B)?);
    if let Some(heads) = rows.heads(&target) {
        b = reorder(&b, rank, heads, Way::In, &target)?;
    }
    Ok(Pair {
        target,
        inputs,
        outputs,
        rank,
        a,
        b,
    })
}

fn extents(tensor: &TensorView<'_>, module: &str) -> Result<[usize; 2], Fault> {
    match *tensor.shape() {
        [rows, columns] if rows > 0 && columns > 0 => Ok([rows, columns]),
        _ => Err(Fault::new(
            format!(
                "a tensor of `{}` is no matrix (extents {:?})",
                shown(module),
                tensor.shape()
            ),
            "train on linear layers only",
        )),
    }
}

fn numbers(tensor: &TensorView<'_>, name: &str) -> Result<Vec<f32>, Fault> {
    let bytes = tensor.data();
    let numbers: Vec<f32> = match tensor.dtype() {
        Dtype::F32 => {
            let (all, _) = bytes.as_chunks::<4>();
            all.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
        Dtype::F16 => {
            let (all, _) = bytes.as_chunks::<2>();
            all.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect()
        }
        Dtype::BF16 => {
            let (all, _) = bytes.as_chunks::<2>();
            all.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect()
        }
        other => {
            return Err(Fault::new(
                format!("its tensor `{}` is of the type {other:?}", shown(name)),
                "F32, F16 and BF16 are read; save the adapter in one of them",
            ));
        }
    };
    match numbers.iter().position(|number| !number.is_finite()) {
        None => Ok(numbers),
        Some(at) => Err(not_finite(name, at, numbers[at])),
    }
}
