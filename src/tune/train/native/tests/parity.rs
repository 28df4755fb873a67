//! The trainer's logits against llama.cpp's.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::{self, Content, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device};

use super::super::export::export;
use super::super::random::Random;
use super::super::tiny;
use super::{adapter, load};
use crate::llm::adapter as files;
use crate::llm::llama;
use crate::tune::recipe::Targets;

struct Agreement {
    /// The least cosine of two rows.
    cosine: f64,
    /// The mean one.
    mean: f64,
    /// Rows with the same best token.
    same: usize,
    rows: usize,
}

/// Compares at every position, with an adapter if there is one.
fn compare(path: &Path, targets: Option<(&Targets, f64)>, tokens: &[u32]) -> Agreement {
    let model = load(path, DType::F32);
    let spread = targets.map_or(0.0, |(_, spread)| spread);
    let adapter = adapter(
        &model,
        targets.map_or(&Targets::Attn, |(targets, _)| targets),
        4,
        spread,
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.gguf");
    let written = targets.map(|_| {
        files::write(&file, &export(&model.arch, &adapter, None).unwrap()).unwrap();
        file.as_path()
    });
    let ours: Vec<Vec<f32>> = model.logits(&adapter, tokens).unwrap().to_vec2().unwrap();
    let theirs = llama::logits(path, written, tokens).unwrap();
    assert_eq!(ours.len(), theirs.len());
    let best = |row: &[f32]| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b]));
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let rows = || ours.iter().zip(&theirs);
    let cosines: Vec<f64> = rows().map(|(a, b)| cosine(a, b)).collect();
    Agreement {
        cosine: cosines.iter().copied().fold(f64::INFINITY, f64::min),
        mean: cosines.iter().sum::<f64>() / cosines.len() as f64,
        same: rows().filter(|(a, b)| best(a) == best(b)).count(),
        rows: ours.len(),
    }
}

#[test]
fn every_architecture_computes_what_llama_cpp_computes() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(4);
    let tokens: Vec<u32> = (0..150).map(|_| random.below(tiny::VOCABULARY) as u32).collect();
    for architecture in ["llama", "qwen2", "qwen3"] {
        let path = tiny::write(folder.path(), architecture, 1);
        for targets in [None, Some((&Targets::All, 0.3))] {
            let Agreement { cosine, same, rows, .. } = compare(&path, targets, &tokens);
            assert!(
                cosine > 0.99999 && same == rows,
                "{architecture} {targets:?}: {cosine} {same}"
            );
        }
    }
}

fn small_model() -> Option<PathBuf> {
    let path = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: AUTOMEM_TEST_MODEL names no model");
    }
    path
}

/// The same model with every tensor in single precision.
fn in_f32(path: &Path, to: &Path) {
    let mut file = std::fs::File::open(path).unwrap();
    let content = Content::read(&mut file).unwrap();
    let mut names: Vec<&String> = content.tensor_infos.keys().collect();
    names.sort();
    let tensors: Vec<QTensor> = names
        .iter()
        .map(|name| {
            let tensor = content.tensor(&mut file, name, &Device::Cpu).unwrap();
            QTensor::quantize(&tensor.dequantize(&Device::Cpu).unwrap(), GgmlDType::F32).unwrap()
        })
        .collect();
    let single = Value::U32(0);
    let metadata: Vec<(&str, &Value)> = content
        .metadata
        .iter()
        .map(|(key, value)| (key.as_str(), if key == "general.file_type" { &single } else { value }))
        .collect();
    let named: Vec<(&str, &QTensor)> = names.iter().map(|name| name.as_str()).zip(&tensors).collect();
    let mut out = BufWriter::new(std::fs::File::create(to).unwrap());
    gguf_file::write(&mut out, &metadata, &named).unwrap();
}

/// A hundred tokens of text.
fn text(path: &Path) -> Vec<u32> {
    let tokens = llama::ChatTokenizer::open(path).unwrap();
    let message = |text: &str| crate::types::Message::new(crate::types::ChatRole::User, text);
    let chat = [message(crate::llm::optimize::TEXT), message("")];
    let mut tokens = tokens.conversation(&chat).unwrap().tokens;
    tokens.truncate(100);
    assert_eq!(tokens.len(), 100);
    tokens
}

#[test]
fn the_small_model_computes_what_llama_cpp_computes() {
    let Some(path) = small_model() else { return };
    let folder = tempfile::tempdir().unwrap();
    let single = folder.path().join("single.gguf");
    in_f32(&path, &single);
    let tokens = text(&path);
    for targets in [None, Some((&Targets::All, 0.02))] {
        let strict = compare(&single, targets, &tokens);
        assert!(
            strict.cosine > 0.9999 && strict.same == strict.rows,
            "{targets:?}: {} {}",
            strict.cosine,
            strict.same
        );
    }
    // llama.cpp quantises activations too.
    let loose = compare(&path, None, &tokens);
    assert!(
        loose.mean > 0.99 && loose.same * 10 > loose.rows * 9,
        "{} {}",
        loose.mean,
        loose.same
    );
}
