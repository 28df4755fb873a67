//! What the trainer computes: against finite differences, and against llama.cpp.

mod gradients;
mod parity;
mod training;

use std::collections::BTreeSet;
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use candle_core::{DType, Device, Tensor};

use super::arch::Arch;
use super::lora::Adapter;
use super::model::Model;
use super::random::Random;
use super::tiny;
use super::weights::Weights;
use crate::llm::gguf::Header;
use crate::tune::recipe::{Schedule, Targets, TrainConfig};

/// A model file, in the wanted precision.
fn load(path: &Path, dtype: DType) -> Model {
    let arch = Arch::read(path, &Header::open(path).unwrap()).unwrap();
    let mut file = std::fs::File::open(path).unwrap();
    let content = Content::read(&mut file).unwrap();
    let weights = Weights::from_source(&arch, dtype, &mut |name| {
        if !content.tensor_infos.contains_key(name) {
            return Ok(None);
        }
        content
            .tensor(&mut file, name, &Device::Cpu)?
            .dequantize(&Device::Cpu)
            .map(Some)
    });
    Model::new(arch, weights.unwrap(), 512).unwrap()
}

/// An adapter that changes something: also its Bs are random.
fn adapter(model: &Model, targets: &Targets, rank: usize, spread: f64) -> Adapter {
    let modules: BTreeSet<String> = targets.modules().into_iter().collect();
    let place = (model.dtype(), model.device());
    let mut adapter = Adapter::new(&model.arch, &modules, rank, 2.0 * rank as f64, 5, place).unwrap();
    let mut random = Random::new(9);
    for tensor in adapter.tensors_mut() {
        let values: Vec<f64> = (0..tensor.elem_count())
            .map(|_| (random.uniform() * 2.0 - 1.0) * spread)
            .collect();
        let noise = Tensor::from_vec(values, tensor.shape(), &Device::Cpu).unwrap();
        *tensor = (&*tensor + noise.to_dtype(tensor.dtype()).unwrap()).unwrap();
    }
    adapter
}

/// The head of a tiny model.
pub(super) fn header(architecture: &str) -> Header {
    let bytes = tiny::file(architecture, 1);
    Header::read(bytes.as_slice(), bytes.len() as u64).unwrap()
}

/// A configuration that trains something in a few updates.
pub(super) fn config() -> TrainConfig {
    TrainConfig {
        rank: 4,
        alpha: 8.0,
        dropout: 0.0,
        learning_rate: 1e-2,
        epochs: 2,
        batch: 1,
        accumulation: 2,
        cutoff: 256,
        schedule: Schedule::Cosine,
        warmup: 0.1,
        save: false,
        gpus: 1,
        targets: Targets::All,
        seed: 7,
    }
}
