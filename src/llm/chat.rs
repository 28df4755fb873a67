//! The one trait that every back end implements, with what goes in and what comes out.
//!
//! Owns the words of a model call. Must not know any back end.

use std::path::Path;
use std::sync::Arc;

use crate::jobs::Cancel;
use crate::types::{EpisodeNo, Message, ModelRef, Phase, Role, Sampling, Span, StopReason};

/// Something that answers chats. Shared by all episodes of a run; calls block, several may run at
/// once from different threads.
pub trait ChatModel: Send + Sync {
    /// What the model is, for the record.
    fn describe(&self) -> ModelRef;

    /// Tokens a prompt and its answer may have together; `None` where there is no such limit.
    fn context_length(&self) -> Option<u32>;

    /// Whether a request's grammar constrains the answer. Where it does not, none is made and none is recorded.
    fn takes_grammars(&self) -> bool {
        false
    }

    /// The same model with a LoRA adapter: a model of its own over the same weights, which stays as it is.
    ///
    /// # Errors
    /// When the file cannot be used with this model, or the model takes no adapters.
    fn with_adapter(&self, adapter: &Path) -> Result<Arc<dyn ChatModel>, LlmError> {
        let base = self.describe();
        Err(LlmError::File {
            path: adapter.display().to_string(),
            cause: format!(
                "an adapter goes with a local model alone, and `{}` ({}) is none",
                base.name, base.backend
            ),
            hint: "give a GGUF model as the base, or a whole model as the specialist (`openai:MODEL@URL`, another GGUF file)"
                .to_owned(),
        })
    }

    /// Answers one chat. `sink` gets progress as it comes, on the caller's thread.
    ///
    /// # Errors
    /// See [`LlmError`]; a cancelled call is an error too and says so.
    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError>;
}

/// One chat to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The chat so far; the last message is the user's.
    pub messages: Vec<Message>,
    /// Which cache slot the prompt belongs to.
    pub slot: SlotKey,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Constrains the answer, in llama.cpp's GBNF; back ends without grammars ignore it.
    pub grammar: Option<String>,
    /// Texts that end the answer (they are part of it).
    pub stop: Vec<String>,
}

/// Names a KV cache slot: prompts of one key share their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotKey {
    /// Episode.
    pub episode: EpisodeNo,
    /// Which model of the agent.
    pub role: Role,
    /// Phase.
    pub phase: Phase,
}

/// What a call tells while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatProgress {
    /// It waits for the model, which serves others.
    Waiting,
    /// The prompt is being evaluated.
    Prompt {
        /// Tokens evaluated, those from the cache included.
        done: u32,
        /// Tokens in all.
        total: u32,
        /// Tokens taken from the cache.
        cached: u32,
    },
    /// More of the answer; whole characters only.
    Text(String),
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// The exact text the model saw.
    pub prompt: String,
    /// Where the messages stand in it, in order.
    pub spans: Vec<Span>,
    /// The exact text it answered.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Of those, taken from the KV cache.
    pub cached_tokens: u32,
    /// Tokens of the answer.
    pub completion_tokens: u32,
    /// Milliseconds spent on the prompt.
    pub prompt_ms: f64,
    /// Milliseconds of the whole call, waiting included.
    pub ms: f64,
    /// Why it ended.
    pub stop: StopReason,
}

/// Why a model could not answer.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// The prompt does not fit.
    #[error("the prompt has {needed} tokens, but only {available} fit the model's context beside the answer")]
    ContextOverflow {
        /// Tokens needed, room for the answer included.
        needed: u32,
        /// Tokens there are.
        available: u32,
    },
    /// The call was cancelled.
    #[error("the model call was cancelled")]
    Cancelled,
    /// No such model.
    #[error("there is no model `{name}`: {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What to do.
        hint: String,
    },
    /// A model file cannot be used.
    #[error("{path}: {cause}; {hint}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        cause: String,
        /// What to do.
        hint: String,
    },
    /// The back end failed.
    #[error("{backend} failed: {message}")]
    Backend {
        /// Which.
        backend: &'static str,
        /// Cause and next step.
        message: String,
        /// Whether trying again can help.
        retryable: bool,
    },
}
