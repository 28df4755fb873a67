//! What a server is, asked once before the first call: whether it is there, which models it has, how much they read.
//!
//! Owns the forms in which llama.cpp, vLLM and others describe themselves.

use std::time::Duration;

use serde_json::Value;

use super::DIALECT;
use super::request::Kind;
use crate::llm::http;
use crate::llm::remote::{Failure, Limits, Line, name};
use crate::llm::retry::{Retries, chance};

/// Time for each question.
const TIME: Duration = Duration::from_secs(10);
/// Time to wait for a server that is just loading its model.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a list of models.
const LONGEST: usize = 8 << 20;

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct About {
    /// Which it is.
    pub(super) kind: Kind,
    /// Tokens that prompt and answer may have together.
    pub(super) context: Option<u32>,
    /// The model is in the server's list, or the server takes any name.
    pub(super) listed: bool,
}

/// Looks at a server.
///
/// A server without a list of models is none that is wrong: then nothing is known. One that is not there, or does not
/// let us in, is told at once.
pub(super) async fn look(line: &Line) -> Result<About, String> {
    let settings = &line.settings;
    let mut retries = Retries::new(settings.retries, settings.backoff, settings.patience.min(PATIENCE));
    let (kind, models) = loop {
        match models(line).await {
            Ok(found) => break found,
            Err(Failure::Passing { message, wait }) => {
                // Nobody is there: waiting would only keep the news back.
                let absent = message.starts_with("it cannot be reached");
                match retries.wait(wait, chance()).ok().filter(|_| !absent) {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => {
                        let step = match http::is_this_machine(&line.address.base) {
                            true => "start the server",
                            false => "check the network (a proxy is taken from HTTPS_PROXY and NO_PROXY)",
                        };
                        return Err(format!(
                            "{}: {message}; {step}, or give the right address: {}",
                            name(line),
                            DIALECT.form
                        ));
                    }
                }
            }
            Err(Failure::NotFound { .. }) => break (Kind::Other, Value::Null),
            Err(failure) => return Err(format!("{}: {}", name(line), failure.message())),
        }
    };
    let mut about = read(kind, &models, &line.address.model);
    if about.kind == Kind::Llama && about.context.is_none() {
        about.context = props(line).await;
    }
    Ok(about)
}

/// The names of a server's models.
pub(super) async fn list(line: &Line) -> Result<Vec<String>, Failure> {
    let (_, value) = models(line).await?;
    Ok(names(&value))
}

async fn models(line: &Line) -> Result<(Kind, Value), Failure> {
    let limits = Limits::short(TIME.min(line.settings.first_byte));
    let mut incoming = line.get(line.address.function("models"), limits).await?;
    let kind = match incoming.header("server").to_ascii_lowercase().as_str() {
        "llama.cpp" => Kind::Llama,
        _ => Kind::Other,
    };
    let body = incoming.read(LONGEST).await?;
    let value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok((kind, value))
}

/// What llama.cpp's server tells of itself beside the list.
async fn props(line: &Line) -> Option<u32> {
    let limits = Limits::short(TIME.min(line.settings.first_byte));
    let mut incoming = line.get(line.address.beside("props"), limits).await.ok()?;
    let body = incoming.read(LONGEST).await.ok()?;
    let value: Value = serde_json::from_slice(&body).ok()?;
    tokens(&value["default_generation_settings"]["n_ctx"])
}

fn tokens(value: &Value) -> Option<u32> {
    value
        .as_u64()
        .and_then(|tokens| u32::try_from(tokens).ok())
        .filter(|tokens| *tokens > 0)
}

fn entries(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value["data"].as_array().or_else(|| value.as_array());
    list.into_iter().flatten()
}

fn names(value: &Value) -> Vec<String> {
    entries(value)
        .filter_map(|model| model["id"].as_str())
        .map(str::to_owned)
        .collect()
}

fn read(kind: Kind, value: &Value, model: &str) -> About {
    let owner = entries(value)
        .find_map(|model| model["owned_by"].as_str())
        .unwrap_or_default();
    let kind = match owner {
        "llamacpp" => Kind::Llama,
        "vllm" | "sglang" => Kind::Vllm,
        _ => kind,
    };
    let is_it = |entry: &Value| {
        let id = entry["id"].as_str().unwrap_or_default();
        // Ollama's names may be given without their `:latest`.
        id == model || id.strip_suffix(":latest") == Some(model)
    };
    let found = entries(value).find(|entry| is_it(entry));
    // llama.cpp's server has one model and takes any name for it.
    let only = (kind == Kind::Llama).then(|| entries(value).next()).flatten();
    let context = found.or(only).and_then(|entry| {
        tokens(&entry["max_model_len"])
            .or_else(|| tokens(&entry["meta"]["n_ctx"]))
            .or_else(|| tokens(&entry["context_length"]))
    });
    About {
        kind,
        context,
        listed: found.is_some() || kind == Kind::Llama || entries(value).next().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn about(value: &Value, model: &str) -> (Kind, Option<u32>, bool) {
        let about = read(Kind::Other, value, model);
        (about.kind, about.context, about.listed)
    }

    #[test]
    fn servers_describe_themselves() {
        let llama =
            json!({"data": [{"id": "smol", "owned_by": "llamacpp", "meta": {"n_ctx": 1024, "n_ctx_train": 8192}}]});
        assert_eq!(about(&llama, "anything"), (Kind::Llama, Some(1024), true));
        let vllm = json!({"data": [
            {"id": "base", "owned_by": "vllm", "max_model_len": 4096},
            {"id": "lora", "owned_by": "vllm", "max_model_len": null},
        ]});
        assert_eq!(about(&vllm, "base"), (Kind::Vllm, Some(4096), true));
        assert_eq!(about(&vllm, "lora"), (Kind::Vllm, None, true));
        assert_eq!(about(&vllm, "other"), (Kind::Vllm, None, false));
        let ollama = json!({"data": [{"id": "smol:latest", "owned_by": "library"}]});
        assert_eq!(about(&ollama, "smol"), (Kind::Other, None, true));
        assert_eq!(about(&ollama, "smo"), (Kind::Other, None, false));
        for nothing in [json!(null), json!({}), json!({"data": 7}), json!("x")] {
            assert_eq!(about(&nothing, "m"), (Kind::Other, None, true));
        }
    }
}
