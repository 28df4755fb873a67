//! A turn: one model call inside a phase, with everything needed to repeat and to judge it.

use serde::{Deserialize, Serialize};

use super::TurnNo;

/// The two phases of a step (AutoMem, the agent's loop).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Record what just happened.
    #[serde(rename = "LOG")]
    Log,
    /// Consult memory, commit one action.
    #[serde(rename = "PLAN")]
    Plan,
}

impl Phase {
    /// `LOG` or `PLAN`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Log => "LOG",
            Self::Plan => "PLAN",
        }
    }
}

/// Which of the agent's models answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The one model of a single-model agent.
    Agent,
    /// The memory specialist of a two-model agent.
    Specialist,
    /// The gameplay model of a two-model agent.
    Gameplay,
}

impl Role {
    /// The word people are shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Specialist => "specialist",
            Self::Gameplay => "gameplay",
        }
    }
}

/// Who speaks in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// Rules that hold for the whole chat.
    System,
    /// The scaffold's prompts.
    User,
    /// The model's answers.
    Assistant,
}

impl ChatRole {
    /// `system`, `user` or `assistant`.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: ChatRole,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of the given speaker.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
        }
    }
}

/// Where a message of a chat stands in the prompt that was made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Who speaks.
    pub role: ChatRole,
    /// Byte at which the content begins.
    pub start: u32,
    /// Byte after its end.
    pub end: u32,
}

/// A chat written as one text, and where each message stands in it; for back ends without a template of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpannedText {
    /// The text.
    pub text: String,
    /// One a message, in order.
    pub spans: Vec<Span>,
}

impl SpannedText {
    /// Adds what is no message.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a message's content. Texts beyond four gigabytes have no spans: no prompt is that long.
    pub fn message(&mut self, role: ChatRole, content: &str) {
        let start = u32::try_from(self.text.len());
        self.text.push_str(content);
        if let (Ok(start), Ok(end)) = (start, u32::try_from(self.text.len())) {
            self.spans.push(Span { role, start, end });
        }
    }
}

/// How tokens are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// 0 takes the most likely token each time.
    pub temperature: f32,
    /// Share of probability that is kept; 1 keeps all.
    pub top_p: f32,
    /// Number of most likely tokens that are kept; 0 keeps all.
    pub top_k: u32,
    /// Tokens an answer may have at most.
    pub max_tokens: u32,
    /// Seed of the draw.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.7,
            top_p: 0.95,
            top_k: 40,
            max_tokens: 512,
            seed: 0,
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model ended its turn.
    End,
    /// The answer reached its token limit.
    Length,
    /// A stop text came up.
    Stop,
    /// Somebody cancelled it.
    Cancelled,
}

/// One finished model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Phase it belongs to.
    pub phase: Phase,
    /// Its place in the phase.
    pub turn: TurnNo,
    /// Which model of the agent answered.
    pub role: Role,
    /// The model's name.
    pub model: String,
    /// The exact text the model saw, chat template applied.
    pub prompt: String,
    /// Where the messages stand in it, in order; empty in records of programs that did not write them down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// The exact text it answered.
    pub response: String,
    /// What the memory operations of this turn gave back to the model; empty when there were none.
    pub tool_results: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the prompt that were taken from the KV cache.
    pub cached_tokens: u32,
    /// Tokens of the answer.
    pub completion_tokens: u32,
    /// Milliseconds spent on the prompt.
    pub prompt_ms: f64,
    /// Milliseconds of the whole call.
    pub ms: f64,
    /// How tokens were drawn.
    pub sampling: Sampling,
    /// A grammar constrained the answer.
    pub grammar: bool,
    /// Why the answer ended.
    pub stop: StopReason,
}

impl Turn {
    /// The messages the model saw, verbatim; `None` where the record does not say where they stand.
    pub fn messages(&self) -> Option<Vec<Message>> {
        if self.spans.is_empty() {
            return None;
        }
        let mut from = 0;
        let message = |span: &Span| {
            let ordered = span.start >= std::mem::replace(&mut from, span.end);
            let content = self.prompt.get(span.start as usize..span.end as usize)?;
            ordered.then(|| Message::new(span.role, content))
        };
        self.spans.iter().map(message).collect()
    }
}
