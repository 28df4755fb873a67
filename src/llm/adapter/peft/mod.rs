//! PEFT's form of an adapter: a folder with `adapter_config.json` and `adapter_model.safetensors`.
//!
//! Owns names, the order of rows, and what of PEFT has no equal in a GGUF adapter. Torch, vLLM and LLaMA-Factory read
//! and write this form.

mod config;
mod export;
mod import;
mod names;
mod rows;
#[cfg(test)]
mod tests;

pub use export::{Exported, export};
pub use import::import;

use std::path::Path;

use super::super::chat::LlmError;
use super::super::gguf::Header;
use super::parse::{Fault, shown};

/// The two files of the folder.
const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";

/// Architectures whose names and rows are known here.
const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// How a model's rows of queries and keys stand in a GGUF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// As in PEFT.
    Same,
    /// Within each head, the two halves of the rotation are interleaved.
    Interleaved {
        /// Heads of the queries.
        heads: usize,
        /// Heads of the keys.
        kv_heads: usize,
    },
}

impl Rows {
    /// Those of an architecture; `model` is needed where they are not as in PEFT.
    fn of(architecture: &str, model: Option<&Header>) -> Result<Self, Fault> {
        if !ARCHITECTURES.contains(&architecture) {
            return Err(Fault::new(
                format!(
                    "adapters of the architecture `{}` cannot be converted",
                    shown(architecture)
                ),
                format!(
                    "known are {}; llama.cpp's own converter knows more",
                    ARCHITECTURES.join(", ")
                ),
            ));
        }
        if architecture != "llama" {
            return Ok(Self::Same);
        }
        let model = model.ok_or_else(|| {
            Fault::new(
                "its rows of queries and keys are ordered by heads, whose number is in the base model only",
                "name the model it was trained on: --base MODEL.gguf",
            )
        })?;
        let number = |key: &str| {
            let number = model.number(&format!("{architecture}.{key}"))?;
            usize::try_from(number).ok().filter(|number| *number > 0)
        };
        let heads = number("attention.head_count").ok_or_else(|| {
            Fault::new(
                "the base model does not say how many heads it has",
                "give another GGUF file of that model",
            )
        })?;
        let kv_heads = number("attention.head_count_kv").unwrap_or(heads);
        Ok(Self::Interleaved { heads, kv_heads })
    }

    /// Heads by which the rows of this target are ordered; `None` where they stand as they are.
    fn heads(self, target: &str) -> Option<usize> {
        match self {
            Self::Interleaved { heads, .. } if target.ends_with(".attn_q.weight") => Some(heads),
            Self::Interleaved { kv_heads, .. } if target.ends_with(".attn_k.weight") => Some(kv_heads),
            _ => None,
        }
    }
}

/// Whether adapters of this model can be brought in and sent out.
///
/// # Errors
/// [`LlmError::File`] that names what is not known here.
pub fn check(path: &Path, model: &Header) -> Result<(), LlmError> {
    let architecture = model.text("general.architecture").unwrap_or_default();
    of_path(Rows::of(architecture, Some(model)).map(|_| ()), path)
}

fn of_path<T>(result: Result<T, Fault>, path: &Path) -> Result<T, LlmError> {
    result.map_err(|fault| fault.of_file(path))
}
