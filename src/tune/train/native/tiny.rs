//! Models for tests: some thousand random numbers in the shape of each architecture, with a tokeniser of bytes, as whole
//! GGUF files. Shared by unit tests and tests of the program, so it names nothing of this crate.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

/// Bytes, one pair, and three control tokens.
pub const VOCABULARY: usize = 260;
const INNER: usize = 48;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_WIDTH: usize = 8;

/// The characters that GPT-2's vocabulary writes bytes with.
fn byte_characters() -> Vec<String> {
    let plain = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut others = 256;
    (0..256)
        .map(|byte| {
            let code = if plain(byte) {
                byte
            } else {
                others += 1;
                others - 1
            };
            char::from_u32(code).unwrap().to_string()
        })
        .collect()
}

fn tokenizer() -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::String(text.to_owned());
    let mut tokens = byte_characters();
    tokens.extend(["th", "<|im_start|>", "<|im_end|>", "<|endoftext|>"].map(str::to_owned));
    let kinds = (0..tokens.len()).map(|index| Value::I32(if index > 256 { 3 } else { 1 }));
    vec![
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("gpt-2")),
        ("tokenizer.ggml.token_type", Value::Array(kinds.collect())),
        (
            "tokenizer.ggml.tokens",
            Value::Array(tokens.into_iter().map(Value::String).collect()),
        ),
        ("tokenizer.ggml.merges", Value::Array(vec![text("t h")])),
        ("tokenizer.ggml.bos_token_id", Value::U32(259)),
        ("tokenizer.ggml.eos_token_id", Value::U32(258)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(false)),
        (
            "tokenizer.chat_template",
            text(
                "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}\
                 {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
            ),
        ),
    ]
}

/// A whole file. llama has its own head, scaled positions and Llama 3's frequencies; qwen2 biases; qwen3 norms of heads
/// that together are wider than the model.
pub fn file(architecture: &str, seed: u64) -> Vec<u8> {
    file_for(architecture, seed, 512)
}

/// The same with room for so many tokens.
pub fn file_for(architecture: &str, seed: u64, context: usize) -> Vec<u8> {
    let width = if architecture == "qwen3" { 24 } else { 32 };
    let (q, kv) = (HEADS * HEAD_WIDTH, KV_HEADS * HEAD_WIDTH);
    let mut state = seed;
    // SplitMix64, from -1 to 1.
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let mut tensors: Vec<(String, QTensor)> = Vec::new();
    let mut add = |name: String, shape: &[usize], about: f64, spread: f64| {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| (about + random() * spread) as f32).collect();
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
        ("general.name".to_owned(), Value::String(format!("tiny {architecture}"))),
        ("general.file_type".to_owned(), Value::U32(0)),
        (own("vocab_size"), number(VOCABULARY)),
        (own("context_length"), number(context)),
        (own("embedding_length"), number(width)),
        (own("block_count"), number(LAYERS)),
        (own("feed_forward_length"), number(INNER)),
        (own("attention.head_count"), number(HEADS)),
        (own("attention.head_count_kv"), number(KV_HEADS)),
        (own("attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
        (own("rope.freq_base"), Value::F32(1000.0)),
    ];
    metadata.extend(tokenizer().into_iter().map(|(key, value)| (key.to_owned(), value)));
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

/// Writes a file into a folder.
pub fn write(folder: &Path, architecture: &str, seed: u64) -> PathBuf {
    let path = folder.join(format!("{architecture}.gguf"));
    std::fs::write(&path, file(architecture, seed)).unwrap();
    path
}
