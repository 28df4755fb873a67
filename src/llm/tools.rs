//! Chats in which the model calls tools: what a meta-LLM needs, beside [`super::ChatModel`].
//!
//! Owns the words. A back end turns them into its own wire format; nothing here knows which tools there are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LlmError;
use crate::jobs::Cancel;

/// A model that may answer with calls of tools. Calls block; one conversation at a time.
pub trait ToolModel: Send + Sync {
    /// `anthropic:claude-...`, `openai:URL,MODEL`, `recorded:FILE`: how it is asked for again.
    fn spec(&self) -> String;

    /// The next answer of a conversation. `sink` gets the text as it comes.
    ///
    /// # Errors
    /// See [`LlmError`]; what can help is tried again inside.
    fn answer(
        &self,
        request: &ToolRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&str),
    ) -> Result<ToolAnswer, LlmError>;
}

/// A conversation to go on with.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// Rules that hold for all of it.
    pub system: String,
    /// What was said, oldest first; the last is the user's or the tools'.
    pub messages: Vec<ToolMessage>,
    /// Tools that may be called.
    pub tools: Vec<ToolSpec>,
    /// Tokens the answer may have at most.
    pub max_tokens: u32,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_`.
    pub name: String,
    /// What it does and gives, for the model.
    pub description: String,
    /// JSON schema of its arguments; an object.
    pub schema: Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ToolMessage {
    /// From us.
    User {
        /// What is said.
        text: String,
    },
    /// From the model.
    Model {
        /// What it said.
        text: String,
        /// What it called, in order.
        calls: Vec<ToolCall>,
        /// What the back end needs to have back unchanged (thinking blocks, signatures).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// From the tools: one result a call, in the order of the calls.
    Results {
        /// The results.
        results: Vec<ToolResult>,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call, so that its result finds it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; anything but an object is the model's mistake and is told to it.
    pub arguments: Value,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// What the model is told.
    pub text: String,
    /// It did not work.
    pub failed: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// What it said.
    pub text: String,
    /// What it wants called; empty when it is done.
    pub calls: Vec<ToolCall>,
    /// See [`ToolMessage::Model`].
    pub raw: Option<Value>,
    /// What it cost.
    pub usage: Usage,
    /// The answer reached its token limit.
    pub cut: bool,
}

/// What calls of a model cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens.
    pub prompt: u64,
    /// Of those, taken from a cache.
    pub cached: u64,
    /// Answer tokens.
    pub completion: u64,
    /// Cost in US dollars, where the server tells it or a price is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
        self.dollars = match (self.dollars, other.dollars) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// Bytes an answer may have.
pub(super) const LONGEST_ANSWER: usize = 8 << 20;
/// Calls an answer may have.
pub(super) const MOST_CALLS: usize = 256;

/// A call's arguments from the text that came: nothing means none, and what is no JSON stays a text.
pub(super) fn arguments_of(text: &str) -> Value {
    match text.trim() {
        "" => Value::Object(serde_json::Map::new()),
        trimmed => serde_json::from_str(trimmed).unwrap_or_else(|_| text.into()),
    }
}

/// Arguments as they go back: every server wants an object.
pub(super) fn object_of(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => serde_json::json!({ "invalid": other }),
    }
}
