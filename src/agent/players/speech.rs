//! What all scripted players share: being asked as a language model is, and how an operation is written.
//!
//! Owns no rules of any game.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatProgress, ChatRequest, LlmError};
use crate::types::{Message, ModelRef, SpannedText, StopReason};

/// Bytes of an answer that are told at once.
const PIECE: usize = 48;

/// What such a player is: `kind` says whose rules it follows, and that it is no language model.
pub(super) fn describe(kind: &str) -> ModelRef {
    let details = [("kind", kind), ("tokens", "estimated: four characters each")];
    ModelRef {
        name: "scripted".into(),
        backend: "scripted".into(),
        is_llm: false,
        details: BTreeMap::from(details.map(|(key, value)| (key.to_owned(), value.to_owned()))),
    }
}

/// Answers a request by `rules`, a function of the messages alone.
///
/// # Errors
/// When the request is cancelled.
pub(super) fn chat(
    rules: fn(&[Message]) -> String,
    request: &ChatRequest,
    cancel: &Cancel,
    sink: &mut dyn FnMut(ChatProgress),
) -> Result<ChatAnswer, LlmError> {
    let begin = Instant::now();
    let SpannedText { text: prompt, spans } = seen_text(&request.messages);
    let prompt_tokens = tokens(&prompt);
    sink(ChatProgress::Prompt {
        done: prompt_tokens,
        total: prompt_tokens,
        cached: 0,
    });
    let prompt_ms = milliseconds(begin);
    let text = rules(&request.messages);
    for piece in pieces(&text) {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        sink(ChatProgress::Text(piece.to_owned()));
    }
    Ok(ChatAnswer {
        prompt,
        spans,
        prompt_tokens,
        cached_tokens: 0,
        completion_tokens: tokens(&text),
        text,
        prompt_ms,
        ms: milliseconds(begin),
        stop: StopReason::End,
    })
}

/// The chat as one text. A player has no chat template of its own.
fn seen_text(messages: &[Message]) -> SpannedText {
    let mut text = SpannedText::default();
    for message in messages {
        text.push("[");
        text.push(message.role.word());
        text.push("]\n");
        text.message(message.role, &message.content);
        text.push("\n\n");
    }
    text
}

fn tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}

/// The text in pieces of whole characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = PIECE.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}
