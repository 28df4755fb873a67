//! Scripted players: programs that answer prompts as a language model would, one a world.
//!
//! They are for demonstrations and tests, and say everywhere that they are no language model. A
//! player owns nothing: it knows only the messages it is given, and whatever it wants to remember it
//! has to write into the memory files through the protocol, like a model. That keeps pause, resume,
//! fork and replay exact.

mod crafter;
mod nethack;
mod speech;

use std::sync::Arc;

pub use crafter::CrafterPlayer;
pub use nethack::NetHackPlayer;

use crate::llm::{ChatModel, LlmError};

/// The scripted player of a world.
///
/// # Errors
/// When the world has none.
pub fn open(world: &str) -> Result<Arc<dyn ChatModel>, LlmError> {
    match world {
        "crafter" => Ok(Arc::new(CrafterPlayer::new())),
        "nethack" | "minihack" => Ok(Arc::new(NetHackPlayer::new())),
        _ => Err(LlmError::Unknown {
            name: "scripted".into(),
            hint: format!(
                "there is a scripted player for crafter, nethack and minihack, not for {world}; name a language model"
            ),
        }),
    }
}
