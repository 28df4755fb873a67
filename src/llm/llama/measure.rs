//! Measures a loaded model through the same engine that answers chats.
//!
//! Owns workloads that compare with llama.cpp's own bench. Must not print.

use crossbeam_channel::unbounded;
use serde::Serialize;

use super::LlamaModel;
use super::engine::Job;
use crate::jobs::Cancel;
use crate::llm::chat::{LlmError, SlotKey};
use crate::types::{EpisodeNo, Phase, Role, Sampling};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// Tokens that are in the cache before the clock starts.
    pub depth: u32,
    /// Prompt tokens to evaluate; 0 to leave that out.
    pub prompt: u32,
    /// Tokens to write; 0 to leave that out.
    pub decode: u32,
}

/// Tokens a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Of the prompt.
    pub prompt_tokens_per_s: Option<f64>,
    /// Of the answer.
    pub decode_tokens_per_s: Option<f64>,
}

impl LlamaModel {
    /// Runs a workload once, from an empty cache.
    ///
    /// # Errors
    /// As a chat.
    pub fn measure(&self, workload: Workload, cancel: &Cancel) -> Result<Measured, LlmError> {
        let vocabulary = u32::try_from(self.weights.n_vocab()).unwrap_or(1).max(1);
        let longest = workload.depth + workload.prompt.max(1);
        // Any tokens do, but not always the same one.
        let tokens: Vec<i32> = (0..longest)
            .map(|index| i32::try_from((index.wrapping_mul(7919) + 104_729) % vocabulary).unwrap_or(0))
            .collect();
        let mut measured = Measured {
            prompt_tokens_per_s: None,
            decode_tokens_per_s: None,
        };
        let depth = workload.depth as usize;
        if workload.prompt > 0 {
            let end = depth + workload.prompt as usize;
            self.forget(cancel)?;
            if depth > 0 {
                self.raw(&tokens[..depth], 1, cancel)?;
            }
            let finished = self.raw(&tokens[..end], 1, cancel)?;
            let evaluated = f64::from(longest_evaluated(end, finished.cached));
            measured.prompt_tokens_per_s = Some(evaluated * 1000.0 / finished.prompt_ms);
        }
        if workload.decode > 0 {
            let end = depth.max(1);
            let finished = self.raw(&tokens[..end], workload.decode + 1, cancel)?;
            measured.decode_tokens_per_s = Some(f64::from(workload.decode) * 1000.0 / finished.decode_ms);
        }
        Ok(measured)
    }

    /// Makes the next prompt begin anew: a prompt with nothing in common takes the slot.
    fn forget(&self, cancel: &Cancel) -> Result<(), LlmError> {
        self.raw(&[0], 1, cancel).map(|_| ())
    }

    fn raw(&self, tokens: &[i32], max_tokens: u32, cancel: &Cancel) -> Result<super::Finished, LlmError> {
        let (reply, replies) = unbounded();
        let job = Job {
            tokens: tokens.to_vec(),
            key: SlotKey {
                episode: EpisodeNo(u32::MAX),
                role: Role::Agent,
                phase: Phase::Plan,
            },
            sampling: Sampling {
                max_tokens,
                ..Sampling::default()
            },
            grammar: None,
            stops: Vec::new(),
            endless: true,
            cancel: cancel.clone(),
            reply,
        };
        self.follow(job, &replies, cancel, &mut |_| {})
    }
}

fn longest_evaluated(end: usize, cached: u32) -> u32 {
    u32::try_from(end).unwrap_or(u32::MAX).saturating_sub(cached)
}
