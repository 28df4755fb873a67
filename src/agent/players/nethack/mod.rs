//! The scripted player of NetHack and MiniHack: a deterministic program that reads the prompt and speaks the tag
//! protocol. It is no language model.
//!
//! Owns nothing but its rules: equal messages give equal answers. In LOG it reads its notes, works out from them and from
//! the screen what its action did, and writes them anew; in PLAN it reads them and commits an action. It explores the
//! level, opens and kicks doors, searches where it is stuck, fights what stands beside it, eats, prays when about to
//! die, and goes down wherever it can; a small Boxoban it solves. A question of the game it answers at once. Where a
//! scaffold keeps the walked cells itself, it does not write them.

mod boxoban;
mod log;
mod notes;
mod plan;
mod prompt;
mod route;
mod screen;
#[cfg(test)]
mod tests;

use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::types::{Message, ModelRef, Phase};

use super::speech;
use prompt::Prompt;

/// The player.
#[derive(Debug, Default)]
pub struct NetHackPlayer;

impl NetHackPlayer {
    /// A player. All are alike.
    pub fn new() -> Self {
        Self
    }
}

impl ChatModel for NetHackPlayer {
    fn describe(&self) -> ModelRef {
        speech::describe("a program with fixed rules for NetHack and MiniHack; no language model")
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
        speech::chat(answer, request, cancel, sink)
    }
}

/// What the player says to a chat: a function of the messages alone.
fn answer(messages: &[Message]) -> String {
    let prompt = Prompt::read(messages);
    match (prompt.phase, prompt.results.is_some()) {
        (_, false) if prompt.needs_notes() => log::consult(&prompt),
        (Phase::Log, _) => log::record(&prompt),
        (Phase::Plan, _) => plan::commit(&prompt),
    }
}
