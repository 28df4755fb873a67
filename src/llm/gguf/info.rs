//! What a person wants to know about a model file, taken from its head.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Header, file_type_name, tensor_type};

/// A model in words and numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelInfo {
    /// The name its makers gave it.
    pub title: Option<String>,
    /// Architecture, such as `llama`.
    pub architecture: Option<String>,
    /// Number of weights.
    pub parameters: u64,
    /// Quantisation, such as `Q4_1`.
    pub quantisation: String,
    /// Tokens the model was trained to see at once.
    pub context_length: Option<u64>,
    /// Layers.
    pub layers: Option<u64>,
    /// Width of a layer.
    pub embedding_length: Option<u64>,
    /// Tokens in its vocabulary.
    pub vocabulary: Option<u64>,
    /// Tokeniser family, such as `gpt2` or `llama`.
    pub tokenizer: Option<String>,
    /// Whether it brings a chat template.
    pub chat_template: bool,
    /// Bytes of KV cache a token takes, with 16-bit values; `None` when the head does not say.
    pub kv_bytes_per_token: Option<u64>,
    /// Tensors by type.
    pub tensors: BTreeMap<String, usize>,
    /// GGUF version.
    pub gguf_version: u32,
}

impl ModelInfo {
    /// Reads it off a head.
    pub fn of(header: &Header) -> Self {
        let architecture = header.text("general.architecture").map(str::to_owned);
        let own = |key: &str| {
            let architecture = architecture.as_deref()?;
            header.number(&format!("{architecture}.{key}"))
        };
        let mut tensors = BTreeMap::new();
        for tensor in &header.tensors {
            let name =
                tensor_type(tensor.kind).map_or_else(|| format!("type {}", tensor.kind), |kind| kind.name.to_owned());
            *tensors.entry(name).or_insert(0) += 1;
        }
        let quantisation = header
            .number("general.file_type")
            .and_then(file_type_name)
            .map_or_else(|| most_common(&tensors), str::to_owned);
        Self {
            title: header.text("general.name").map(str::to_owned),
            parameters: header
                .tensors
                .iter()
                .fold(0, |sum, tensor| sum.saturating_add(tensor.elements())),
            quantisation,
            context_length: own("context_length"),
            layers: own("block_count"),
            embedding_length: own("embedding_length"),
            vocabulary: header.array_len("tokenizer.ggml.tokens"),
            tokenizer: header.text("tokenizer.ggml.model").map(str::to_owned),
            chat_template: header.text("tokenizer.chat_template").is_some(),
            kv_bytes_per_token: kv_bytes(own),
            tensors,
            gguf_version: header.version,
            architecture,
        }
    }
}

fn most_common(tensors: &BTreeMap<String, usize>) -> String {
    tensors
        .iter()
        .max_by_key(|(_, count)| **count)
        .map_or_else(|| "unknown".to_owned(), |(name, _)| name.clone())
}

/// Bytes of a token's keys and values over all layers, two bytes each.
fn kv_bytes(own: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let layers = own("block_count")?;
    let heads = own("attention.head_count")?;
    let kv_heads = own("attention.head_count_kv").unwrap_or(heads);
    let width = own("embedding_length")?.checked_div(heads)?;
    let key = own("attention.key_length").unwrap_or(width);
    let value = own("attention.value_length").unwrap_or(width);
    key.checked_add(value)?
        .checked_mul(kv_heads)?
        .checked_mul(layers)?
        .checked_mul(2)
}
