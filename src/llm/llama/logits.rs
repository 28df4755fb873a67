//! All logits of a text, with a base model alone or with an adapter.
//!
//! Owns a model of its own for one call: what a trainer computes is held against it. Everything is in single precision
//! where llama.cpp lets it be. Must not judge.

use std::num::NonZeroU32;
use std::path::Path;

use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::params::LlamaModelParams;

use super::engine::failed;
use super::load::load_weights;
use super::{backend, default_threads, runner};
use crate::llm::adapter;
use crate::llm::chat::LlmError;
use crate::llm::gguf::Header;

/// The logits after each token, one row a token.
///
/// # Errors
/// [`LlmError::File`] when the model or the adapter cannot be used; [`LlmError::Backend`] when there is no memory.
pub fn logits(model: &Path, adapter: Option<&Path>, tokens: &[u32]) -> Result<Vec<Vec<f32>>, LlmError> {
    let unusable = |path: &Path, cause: String| LlmError::File {
        path: path.display().to_string(),
        cause,
        hint: "check the file".to_owned(),
    };
    let header = Header::open(model)?;
    if let Some(path) = adapter {
        let info = adapter::inspect(path)?;
        adapter::fits(&info, &header).map_err(|why| unusable(path, why))?;
    }
    let params = LlamaModelParams::default().with_n_gpu_layers(0);
    let mut weights = load_weights(model, &params).map_err(|cause| unusable(model, cause))?;
    let mut lora = match adapter {
        Some(path) => {
            let loaded = weights.lora_adapter_init(path);
            Some(loaded.map_err(|error| unusable(path, format!("llama.cpp cannot load it ({error})")))?)
        }
        None => None,
    };
    let count = u32::try_from(tokens.len().max(1)).unwrap_or(u32::MAX);
    let threads = i32::try_from(default_threads()).unwrap_or(1);
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(count.next_multiple_of(256)))
        .with_n_batch(count)
        .with_n_ubatch(count)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_type_k(KvCacheType::F32)
        .with_type_v(KvCacheType::F32)
        .with_flash_attention_policy(llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED)
        .with_no_perf(true);
    let mut context = weights
        .new_context(backend::backend()?, params)
        .map_err(|_| failed(format!("a context of {count} tokens could not be made"), false))?;
    if let Some(lora) = &mut lora {
        context
            .lora_adapter_set(lora, 1.0)
            .map_err(|error| failed(format!("the adapter could not be set ({error})"), false))?;
    }
    let mut batch = LlamaBatch::new(tokens.len().max(1), 1);
    for (place, token) in tokens.iter().enumerate() {
        runner::add(&mut batch, i32::try_from(*token).unwrap_or(0), place, 0, true);
    }
    context
        .decode(&mut batch)
        .map_err(|error| failed(format!("evaluating the text did not work ({error})"), false))?;
    let row = |place: usize| context.get_logits_ith(i32::try_from(place).unwrap_or(0)).to_vec();
    Ok((0..tokens.len()).map(row).collect())
}
