//! Opening a player by what a person wrote: the scripted players live here, real models in `llm`.

use std::sync::Arc;

use crate::llm::{self, ChatModel, LlmError, ModelOptions};
use crate::types::ModelRef;

use super::players;

/// Opens a model: `scripted` is the world's scripted player (a program), everything else is the
/// registry's of `llm`.
///
/// # Errors
/// When there is no such model or it cannot be used.
pub fn open_model(spec: &str, world: &str, options: &ModelOptions) -> Result<Arc<dyn ChatModel>, LlmError> {
    if spec == "scripted" {
        return players::open(world);
    }
    llm::open(spec, options)
}

/// What [`open_model`] needs to open a recorded run's model again.
pub fn spec_of(model: &ModelRef) -> String {
    match (
        model.backend.as_str(),
        model.details.get("path").or_else(|| model.details.get("file")),
    ) {
        ("scripted", _) => "scripted".to_owned(),
        ("recorded", Some(file)) => format!("recorded:{file}"),
        (_, Some(file)) => file.clone(),
        (_, None) => model.name.clone(),
    }
}
