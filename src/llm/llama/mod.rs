//! Local inference through llama.cpp.
//!
//! Owns models that are loaded into this process: one engine thread a model, several answers written at once, prompts
//! kept in the cache. Must not know agents; everything that can be decided without weights is in [`super::decoding`].

mod answer;
mod backend;
mod engine;
mod expect;
mod load;
mod logits;
mod measure;
pub mod optimize;
mod process;
mod prompt;
pub mod quantize;
mod runner;
mod tokens;
mod weights;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};

pub use logits::logits;
pub use measure::{Measured, Workload};
pub use process::{default_threads, prepare_process};
pub use tokens::{ChatTokenizer, ChatTokens};

use self::engine::{Engine, EngineSettings, Finished, Job, Reply, ms};
use self::prompt::Tokenizer;
use self::weights::Weights;
use super::ModelOptions;
use super::chat::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use super::decoding::gbnf;
use super::decoding::template::{ChatTemplate, Rendered, prompt_text};
use super::gguf::Header;
use crate::jobs::Cancel;
use crate::types::ModelRef;

/// An answer may be shortened to this many tokens before a prompt counts as too long.
const LEAST_ANSWER: u32 = 64;
/// How often a waiting caller looks at its cancel flag.
const LOOK: Duration = Duration::from_millis(20);

/// A model in this process, or a second context of one with an adapter.
pub struct LlamaModel {
    // Dropped first: its thread uses the weights.
    engine: Engine,
    tokenizer: Tokenizer,
    template: Arc<ChatTemplate>,
    weights: Arc<Weights>,
    /// Tokens a prompt and its answer may have together.
    context: u32,
    reference: ModelRef,
    base: Arc<Base>,
}

/// What another context over the same weights is made from.
struct Base {
    header: Header,
    settings: EngineSettings,
}

impl std::fmt::Debug for LlamaModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlamaModel")
            .field("reference", &self.reference)
            .finish_non_exhaustive()
    }
}

impl LlamaModel {
    /// Loads a GGUF file.
    ///
    /// # Errors
    /// [`LlmError::File`] when the file is missing, cut off, of another format or of an unknown
    /// architecture; [`LlmError::Backend`] when there is not enough memory.
    pub fn open(path: &Path, options: &ModelOptions) -> Result<Self, LlmError> {
        load::open(path, options)
    }

    /// Sends a job and passes on what it tells until it is over.
    fn follow(
        &self,
        job: Job,
        replies: &Receiver<Reply>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<Finished, LlmError> {
        self.engine.submit(job)?;
        loop {
            // Looked at here too: the engine may be in the middle of a tick.
            if cancel.is_cancelled() {
                return Err(LlmError::Cancelled);
            }
            match replies.recv_timeout(LOOK) {
                Ok(Reply::Waiting) => sink(ChatProgress::Waiting),
                Ok(Reply::Prompt { done, total, cached }) => sink(ChatProgress::Prompt { done, total, cached }),
                Ok(Reply::Text(text)) => sink(ChatProgress::Text(text)),
                Ok(Reply::Done(finished)) => return Ok(finished),
                Ok(Reply::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.engine.gone()),
            }
        }
    }
}

impl ChatModel for LlamaModel {
    fn describe(&self) -> ModelRef {
        self.reference.clone()
    }

    fn context_length(&self) -> Option<u32> {
        Some(self.context)
    }

    fn takes_grammars(&self) -> bool {
        true
    }

    fn with_adapter(&self, adapter: &Path) -> Result<Arc<dyn ChatModel>, LlmError> {
        Ok(Arc::new(load::adapted(self, adapter)?))
    }

    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError> {
        let began = Instant::now();
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        if let Some(grammar) = &request.grammar {
            gbnf::check(grammar).map_err(|error| LlmError::Backend {
                backend: backend::NAME,
                message: error.to_string(),
                retryable: false,
            })?;
        }
        let Rendered { pieces, spans } =
            self.template
                .render_chat(&request.messages)
                .map_err(|error| LlmError::Backend {
                    backend: backend::NAME,
                    message: format!("the model's chat template refuses these messages: {error}"),
                    retryable: false,
                })?;
        // Long before tokenising a text of megabytes becomes slow, it is clear that it cannot fit.
        let least = self.tokenizer.least_tokens(&pieces);
        answer_room(least, self.context, request.sampling.max_tokens)?;
        let tokens = self.tokenizer.tokenize(self.weights.vocab(), &pieces);
        let prompt_tokens = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        let mut sampling = request.sampling;
        sampling.max_tokens = answer_room(prompt_tokens, self.context, sampling.max_tokens)?;

        let (reply, replies) = unbounded();
        let job = Job {
            tokens,
            key: request.slot,
            sampling,
            grammar: request.grammar.clone(),
            stops: request
                .stop
                .iter()
                .chain(&self.tokenizer.extra_stops)
                .cloned()
                .collect(),
            endless: false,
            cancel: cancel.clone(),
            reply,
        };
        let finished = self.follow(job, &replies, cancel, sink)?;
        Ok(ChatAnswer {
            prompt: prompt_text(&pieces),
            spans,
            text: finished.text,
            prompt_tokens,
            cached_tokens: finished.cached,
            completion_tokens: finished.completion,
            prompt_ms: finished.prompt_ms,
            ms: ms(began, Instant::now()),
            stop: finished.stop,
        })
    }
}

/// Tokens the answer may have: as asked, or what is left beside the prompt, but not too few.
fn answer_room(prompt: u32, context: u32, asked: u32) -> Result<u32, LlmError> {
    let asked = asked.max(1);
    let left = context.saturating_sub(prompt);
    if left >= asked.min(LEAST_ANSWER) {
        Ok(asked.min(left))
    } else {
        Err(LlmError::ContextOverflow {
            needed: prompt.saturating_add(asked.min(LEAST_ANSWER)),
            available: context,
        })
    }
}

#[cfg(test)]
mod tests;
