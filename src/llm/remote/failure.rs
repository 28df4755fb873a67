//! Why a call of a model server failed, and how a server's words get into a message.
//!
//! Owns the kinds of failure. What a server's refusal means is each back end's to say.

use std::time::Duration;

use crate::llm::Secret;
use crate::protocol::sanitize;

/// Characters of a server's own words that a message quotes.
const QUOTED: usize = 300;

/// Why a try failed.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::llm) enum Failure {
    /// It may pass by itself.
    Passing {
        message: String,
        /// How long the server asks to wait.
        wait: Option<Duration>,
    },
    /// The server does not take a field that the call can do without.
    Field { field: Field, message: String },
    /// Prompt and answer do not fit the context.
    TooLong {
        prompt: Option<u32>,
        window: Option<u32>,
        message: String,
    },
    /// There is no such model, or no such address.
    NotFound { message: String },
    /// It broke off after text had come.
    Cut { message: String },
    /// It stays as it is.
    Lasting { message: String },
}

impl Failure {
    pub(in crate::llm) fn passing(message: impl Into<String>) -> Self {
        Self::Passing {
            message: message.into(),
            wait: None,
        }
    }

    pub(in crate::llm) fn lasting(message: impl Into<String>) -> Self {
        Self::Lasting {
            message: message.into(),
        }
    }

    /// The same after text has come: what it would have been tried again for is now a broken answer.
    pub(in crate::llm) fn after_text(self) -> Self {
        match self {
            Self::Passing { message, .. } => Self::Cut {
                message: format!("the answer broke off: {message}"),
            },
            other => other,
        }
    }

    pub(in crate::llm) fn message(&self) -> &str {
        match self {
            Self::Passing { message, .. }
            | Self::Field { message, .. }
            | Self::TooLong { message, .. }
            | Self::NotFound { message }
            | Self::Cut { message }
            | Self::Lasting { message } => message,
        }
    }
}

/// A field that a server may refuse and that a call can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::llm) enum Field {
    StreamOptions = 1,
    MaxTokens = 1 << 1,
    MaxCompletionTokens = 1 << 2,
    Temperature = 1 << 3,
    TopP = 1 << 4,
    TopK = 1 << 5,
    MinP = 1 << 6,
    Seed = 1 << 7,
    ReturnProgress = 1 << 8,
    TimingsPerToken = 1 << 9,
    Stream = 1 << 10,
}

/// Text from a server, fit for a message: one short line without control characters and without the key.
pub(in crate::llm) fn tidy(text: &str, key: Option<&Secret>) -> String {
    let hidden = match key.map(Secret::reveal).filter(|key| !key.is_empty()) {
        Some(key) => text.replace(key, "***"),
        None => text.to_owned(),
    };
    let words = hidden.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = sanitize::clean_line(&words);
    let short: String = line.chars().take(QUOTED).collect();
    if short.len() < line.len() {
        format!("{short}…")
    } else {
        short
    }
}
