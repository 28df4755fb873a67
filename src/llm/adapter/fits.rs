//! Whether an adapter belongs to a model.

use std::collections::HashMap;

use super::super::gguf::Header;
use super::parse::shown;
use super::{AdapterInfo, AdapterTensor};

/// Whether an adapter can be used with the model of this head: the same architecture, and every matrix that it changes
/// is there with the same extents.
///
/// # Errors
/// Why not, with what to do, as one line for people.
pub fn fits(adapter: &AdapterInfo, model: &Header) -> Result<(), String> {
    const OTHER: &str = "give the model that the adapter was trained on";
    if model.text("general.type") == Some("adapter") {
        return Err("the model is a LoRA adapter itself; give the base model".to_owned());
    }
    let architecture = model.text("general.architecture").unwrap_or_default();
    if architecture != adapter.architecture {
        return Err(format!(
            "the adapter is for the architecture `{}`, the model's is `{}`; {OTHER}",
            shown(&adapter.architecture),
            shown(architecture)
        ));
    }
    let extents: HashMap<&str, &[u64]> = model
        .tensors
        .iter()
        .map(|tensor| (tensor.name.as_str(), tensor.dims.as_slice()))
        .collect();
    let mut wrong = adapter
        .tensors
        .iter()
        .filter_map(|tensor| problem(tensor, extents.get(tensor.target.as_str()).copied()));
    let Some(first) = wrong.next() else { return Ok(()) };
    let more = match wrong.count() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    Err(format!("{first}{more}; {OTHER}"))
}

fn problem(tensor: &AdapterTensor, model: Option<&[u64]>) -> Option<String> {
    let name = shown(&tensor.target);
    if tensor.target == "token_embd.weight" {
        return Some(format!(
            "the adapter changes the embeddings (`{name}`), which is not supported"
        ));
    }
    let Some(model) = model else {
        let tied = if tensor.target == "output.weight" {
            ": its head is its embeddings, which an adapter cannot change by themselves"
        } else {
            ""
        };
        return Some(format!(
            "the adapter changes `{name}`, which the model does not have{tied}"
        ));
    };
    let same = |at: usize, extent: usize| model.get(at).is_some_and(|there| *there == extent as u64);
    if same(0, tensor.inputs) && same(1, tensor.outputs) && model.iter().skip(2).all(|extent| *extent == 1) {
        return None;
    }
    let extents: Vec<String> = model.iter().map(u64::to_string).collect();
    Some(format!(
        "`{name}` has {} inputs and {} outputs in the adapter, but is {} in the model",
        tensor.inputs,
        tensor.outputs,
        extents.join(" x ")
    ))
}
