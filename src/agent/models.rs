//! Opening a player by what a person wrote: the scripted players live here, real models in `llm`.

use std::sync::Arc;

use crate::env;
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
        return players::open(&env::name_of(world));
    }
    llm::open(spec, options)
}

/// The models of an agent: the one that plays, and the memory specialist of a two-model agent.
pub type Models = (Arc<dyn ChatModel>, Option<Arc<dyn ChatModel>>);

/// The word for no specialist, where one is set in `config.toml` or was recorded.
pub const NO_SPECIALIST: &str = "none";

/// The specification of a specialist, if it means one.
pub fn wanted(spec: Option<&str>) -> Option<&str> {
    spec.map(str::trim)
        .filter(|spec| !spec.is_empty() && *spec != NO_SPECIALIST)
}

/// Opens the models of an agent; without a specialist's specification there is one.
///
/// # Errors
/// When one of them cannot be used.
pub fn open_models(
    model: &str,
    specialist: Option<&str>,
    world: &str,
    options: &ModelOptions,
) -> Result<Models, LlmError> {
    let base = open_model(model, world, options)?;
    let specialist = wanted(specialist).map(|spec| open_specialist(&base, spec, world, options));
    Ok((base, specialist.transpose()?))
}

/// Opens a memory specialist for a base that is open: an adapter's file or its name in the workspace, which gives a
/// second context over the base's weights, or a whole model as for [`open_model`].
///
/// # Errors
/// When there is no such thing, it does not fit, or the base takes no adapters.
pub fn open_specialist(
    base: &Arc<dyn ChatModel>,
    spec: &str,
    world: &str,
    options: &ModelOptions,
) -> Result<Arc<dyn ChatModel>, LlmError> {
    if spec == "scripted" {
        return players::open(&env::name_of(world));
    }
    llm::open_specialist(base, spec, options)
}

/// What [`open_model`] needs to open a recorded run's model again. A record holds no paths of the
/// machine it was made on (a server's address is what it was played with): `None` when the model can only be named by
/// a person.
pub fn spec_of(model: &ModelRef) -> Option<String> {
    match model.backend.as_str() {
        "scripted" => Some("scripted".to_owned()),
        "llama" => Some(model.name.clone()),
        "openai" => llm::openai::spec_of(model),
        _ => None,
    }
}
