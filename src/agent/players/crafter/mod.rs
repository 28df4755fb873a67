//! The scripted player of Crafter: a deterministic program that reads the prompt and speaks the tag
//! protocol. It is no language model.
//!
//! Owns nothing but its rules: equal messages give equal answers. Every step takes four calls. LOG:
//! first it looks up its last notes, then it works out from them and from the new observation what
//! its action did, and appends that. PLAN: first it looks up the map, the places it knows and what
//! it has achieved, then it commits an action. It does what the prompt tells: a file whose text is shown is not
//! asked for; told to write only what is new, it does not log an action that changed nothing it has. Where a scaffold
//! keeps track of places itself, only what is new is written, one line a cell of the map. Where there may be but one short
//! file, it writes one fact a step and looks one up when it needs it. Token counts are estimates (four characters each);
//! there is no cache.

mod atlas;
mod brief;
mod keyed;
mod log;
mod notes;
mod plan;
mod prompt;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::types::{Message, ModelRef, Phase, SpannedText, StopReason};

use prompt::Prompt;

/// Bytes of an answer that are told at once.
const PIECE: usize = 48;

/// The player.
#[derive(Debug, Default)]
pub struct CrafterPlayer;

impl CrafterPlayer {
    /// A player. All are alike.
    pub fn new() -> Self {
        Self
    }
}

impl ChatModel for CrafterPlayer {
    fn describe(&self) -> ModelRef {
        let details = [
            ("kind", "a program with fixed rules for Crafter; no language model"),
            ("tokens", "estimated: four characters each"),
        ];
        ModelRef {
            name: "scripted".into(),
            backend: "scripted".into(),
            is_llm: false,
            details: BTreeMap::from(details.map(|(key, value)| (key.to_owned(), value.to_owned()))),
        }
    }

    fn context_length(&self) -> Option<u32> {
        None
    }

    fn chat(
        &self,
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
        let text = answer(&request.messages);
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
}

/// What the player says to a chat: a function of the messages alone.
fn answer(messages: &[Message]) -> String {
    let prompt = Prompt::read(messages);
    if let Some(file) = prompt.one_file {
        return match prompt.phase {
            Phase::Log => brief::record(&prompt, file),
            Phase::Plan => brief::decide(&prompt, file),
        };
    }
    match (prompt.phase, prompt.results.is_some()) {
        (Phase::Log, false) => log::consult(&prompt),
        (Phase::Log, true) => log::record(&prompt),
        (Phase::Plan, false) => plan::consult(&prompt),
        (Phase::Plan, true) => plan::commit(&prompt),
    }
}

/// The chat as one text. The player has no chat template of its own.
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
