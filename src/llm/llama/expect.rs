//! What a loaded model expects at each place of a text.
//!
//! Owns a context beside the engine's, for one text at a time. Must not print or judge.

use std::num::NonZeroU32;

use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;

use super::engine::failed;
use super::{LlamaModel, backend, runner};
use crate::jobs::Cancel;
use crate::llm::chat::LlmError;
use crate::llm::optimize::Expected;

/// Tokens that are evaluated at once, between looks at the cancel flag.
const CHUNK: usize = 64;

impl LlamaModel {
    /// What it expects after each token of a text.
    ///
    /// # Errors
    /// [`LlmError::Cancelled`], or [`LlmError::Backend`] when it cannot be evaluated.
    pub fn expectations(&self, text: &str, threads: u32, cancel: &Cancel) -> Result<Expected, LlmError> {
        let tokens = self.weights.vocab().tokenize(text.as_bytes(), true, false);
        let cells = u32::try_from(tokens.len().max(1).next_multiple_of(256)).unwrap_or(u32::MAX);
        let chunk = u32::try_from(CHUNK).unwrap_or(u32::MAX);
        let threads = i32::try_from(threads.max(1)).unwrap_or(1);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(cells))
            .with_n_batch(chunk)
            .with_n_ubatch(chunk)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_no_perf(true);
        let weights = &self.weights;
        let turn = weights.turn();
        let mut context = weights.new_context(backend::backend()?, params).map_err(|_| {
            failed(
                format!("a context of {cells} tokens could not be made; free some memory"),
                false,
            )
        })?;
        drop(turn);
        let mut batch = LlamaBatch::new(CHUNK, 1);
        let mut expected = Expected::default();
        for (chunk, part) in tokens.chunks(CHUNK).enumerate() {
            if cancel.is_cancelled() {
                return Err(LlmError::Cancelled);
            }
            batch.clear();
            let first = chunk * CHUNK;
            for (index, token) in part.iter().enumerate() {
                runner::add(&mut batch, token.0, first + index, 0, true);
            }
            let turn = weights.turn();
            context
                .decode(&mut batch)
                .map_err(|error| failed(format!("evaluating the text did not work ({error})"), false))?;
            drop(turn);
            for index in 0..part.len() {
                let logits = context.get_logits_ith(i32::try_from(index).unwrap_or(0));
                expected.push(logits, tokens.get(first + index + 1).map(|token| token.0));
            }
        }
        Ok(expected)
    }
}
