//! Models for tests: a few thousand random numbers in the shape of each architecture, as whole GGUF files.

use std::io::Cursor;
use std::path::Path;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::random::Random;
use crate::llm::gguf::Header;

pub(super) const VOCABULARY: usize = 40;
const INNER: usize = 48;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_WIDTH: usize = 8;

/// A whole file. llama has its own head, scaled positions and Llama 3's frequencies; qwen2 biases; qwen3 norms of heads
/// that together are wider than the model. Without a tokeniser, which llama.cpp allows.
pub(super) fn file(architecture: &str, seed: u64) -> Vec<u8> {
    let width = if architecture == "qwen3" { 24 } else { 32 };
    let (q, kv) = (HEADS * HEAD_WIDTH, KV_HEADS * HEAD_WIDTH);
    let mut random = Random::new(seed);
    let mut tensors: Vec<(String, QTensor)> = Vec::new();
    let mut add = |name: String, shape: &[usize], about: f64, spread: f64| {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|_| (about + (random.uniform() * 2.0 - 1.0) * spread) as f32)
            .collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        tensors.push((name, QTensor::quantize(&tensor, GgmlDType::F32).unwrap()));
    };
    add("token_embd.weight".into(), &[VOCABULARY, width], 0.0, 1.0);
    add("output_norm.weight".into(), &[width], 1.0, 0.3);
    if architecture == "llama" {
        add("output.weight".into(), &[VOCABULARY, width], 0.0, 0.5);
        add("rope_freqs.weight".into(), &[HEAD_WIDTH / 2], 4.0, 3.0);
    }
    for layer in 0..LAYERS {
        let mut add = |name: &str, shape: &[usize], about: f64, spread: f64| {
            add(format!("blk.{layer}.{name}"), shape, about, spread);
        };
        add("attn_norm.weight", &[width], 1.0, 0.3);
        add("ffn_norm.weight", &[width], 1.0, 0.3);
        for (name, outputs, inputs) in [
            ("attn_q", q, width),
            ("attn_k", kv, width),
            ("attn_v", kv, width),
            ("attn_output", width, q),
            ("ffn_gate", INNER, width),
            ("ffn_up", INNER, width),
            ("ffn_down", width, INNER),
        ] {
            add(&format!("{name}.weight"), &[outputs, inputs], 0.0, 0.35);
            if architecture == "qwen2" && matches!(name, "attn_q" | "attn_k" | "attn_v") {
                add(&format!("{name}.bias"), &[outputs], 0.0, 0.5);
            }
        }
        if architecture == "qwen3" {
            add("attn_q_norm.weight", &[HEAD_WIDTH], 1.0, 0.3);
            add("attn_k_norm.weight", &[HEAD_WIDTH], 1.0, 0.3);
        }
    }
    let own = |key: &str| format!("{architecture}.{key}");
    let number = |value: usize| Value::U32(value as u32);
    let mut metadata = vec![
        (
            "general.architecture".to_owned(),
            Value::String(architecture.to_owned()),
        ),
        ("general.file_type".to_owned(), Value::U32(0)),
        ("tokenizer.ggml.model".to_owned(), Value::String("no_vocab".to_owned())),
        (own("vocab_size"), number(VOCABULARY)),
        (own("context_length"), number(512)),
        (own("embedding_length"), number(width)),
        (own("block_count"), number(LAYERS)),
        (own("feed_forward_length"), number(INNER)),
        (own("attention.head_count"), number(HEADS)),
        (own("attention.head_count_kv"), number(KV_HEADS)),
        (own("attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
        (own("rope.freq_base"), Value::F32(1000.0)),
    ];
    match architecture {
        "llama" => {
            metadata.push((own("rope.scaling.type"), Value::String("linear".to_owned())));
            metadata.push((own("rope.scaling.factor"), Value::F32(2.0)));
        }
        "qwen3" => {
            metadata.push((own("attention.key_length"), number(HEAD_WIDTH)));
            metadata.push((own("attention.value_length"), number(HEAD_WIDTH)));
        }
        _ => {}
    }
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut bytes = Cursor::new(Vec::new());
    gguf_file::write(&mut bytes, &metadata, &tensors).unwrap();
    bytes.into_inner()
}

pub(super) fn header(architecture: &str) -> Header {
    let bytes = file(architecture, 1);
    Header::read(bytes.as_slice(), bytes.len() as u64).unwrap()
}

/// Writes a file, with what the trainer reads of its head.
pub(super) fn write(folder: &Path, architecture: &str, seed: u64) -> std::path::PathBuf {
    let path = folder.join(format!("{architecture}.gguf"));
    std::fs::write(&path, file(architecture, seed)).unwrap();
    path
}
