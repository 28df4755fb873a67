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

use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::types::{Message, ModelRef, Phase};

use super::speech;
use prompt::Prompt;

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
        speech::describe("a program with fixed rules for Crafter; no language model")
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
