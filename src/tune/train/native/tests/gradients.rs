//! Every trained tensor's gradient against finite differences, in double precision.

use candle_core::{DType, Device, Tensor};

use super::super::lora::{Adapter, Dropout};
use super::super::model::{Model, Pass, Sample};
use super::super::random::Random;
use super::super::tiny;
use super::{adapter, load};
use crate::tune::recipe::Targets;

fn sample(length: usize, target: usize) -> Sample {
    let mut random = Random::new(3);
    Sample {
        tokens: (0..length).map(|_| random.below(tiny::VOCABULARY) as u32).collect(),
        target,
    }
}

const DROPOUT: Dropout = Dropout { share: 0.2, seed: 77 };

fn loss(model: &Model, adapter: &Adapter, sample: &Sample, dropout: Option<Dropout>) -> f64 {
    // A pass whose gradients are not looked at, so that dropout applies.
    let mut unused = vec![None; adapter.count];
    let pass = Pass {
        weight: 1.0,
        dropout,
        checkpointing: true,
        gradients: &mut unused,
    };
    model.run(adapter, sample, Some(pass), &|| false).unwrap()
}

fn gradients(
    model: &Model,
    adapter: &Adapter,
    sample: &Sample,
    checkpointing: bool,
    dropout: Option<Dropout>,
) -> Vec<Tensor> {
    let mut gradients = vec![None; adapter.count];
    let pass = Pass {
        weight: 1.0,
        dropout,
        checkpointing,
        gradients: &mut gradients,
    };
    model.run(adapter, sample, Some(pass), &|| false).unwrap();
    gradients
        .into_iter()
        .map(|gradient| gradient.expect("every tensor gets one"))
        .collect()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// The slope of the loss along a random direction in one tensor, by central differences.
fn slope(
    model: &Model,
    adapter: &Adapter,
    sample: &Sample,
    index: usize,
    direction: &Tensor,
    dropout: Option<Dropout>,
) -> f64 {
    let step = 1e-5;
    let at = |side: f64| {
        let mut moved = adapter.clone();
        let mut tensors = moved.tensors_mut();
        *tensors[index] = (&*tensors[index] + (direction * (side * step)).unwrap()).unwrap();
        loss(model, &moved, sample, dropout)
    };
    (at(1.0) - at(-1.0)) / (2.0 * step)
}

fn check(architecture: &str, targets: &Targets, dropout: Option<Dropout>) {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&tiny::write(folder.path(), architecture, 1), DType::F64);
    let adapter = adapter(&model, targets, 3, 0.2);
    let sample = sample(21, 12);
    let found = gradients(&model, &adapter, &sample, false, dropout);
    assert_eq!(found.len(), adapter.tensors().len());
    let mut random = Random::new(8);
    for (index, gradient) in found.iter().enumerate() {
        let values = values(gradient);
        assert!(
            values.iter().any(|value| value.abs() > 1e-6),
            "{architecture} {index}: zero"
        );
        let direction: Vec<f64> = values.iter().map(|_| random.uniform() * 2.0 - 1.0).collect();
        let expected: f64 = values.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let direction = Tensor::from_vec(direction, gradient.shape(), &Device::Cpu).unwrap();
        let slope = slope(&model, &adapter, &sample, index, &direction, dropout);
        let far = (slope - expected).abs() / slope.abs().max(1e-3);
        assert!(far < 1e-5, "{architecture} tensor {index}: {expected} but {slope}");
    }
}

#[test]
fn llama_has_the_slopes_that_differences_have() {
    check("llama", &Targets::All, None);
}

#[test]
fn qwen2_has_the_slopes_that_differences_have() {
    check("qwen2", &Targets::All, None);
}

#[test]
fn qwen3_has_the_slopes_that_differences_have() {
    check("qwen3", &Targets::All, None);
}

#[test]
fn some_targets_and_dropout_have_them_too() {
    for names in [
        &["q_proj", "v_proj"][..],
        &["down_proj"],
        &["up_proj"],
        &["o_proj"],
        &["k_proj", "gate_proj"],
    ] {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        check("llama", &Targets::Names(names), None);
    }
    check("qwen3", &Targets::All, Some(DROPOUT));
}

#[test]
fn computing_layers_twice_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&tiny::write(folder.path(), "qwen3", 2), DType::F32);
    let adapter = adapter(&model, &Targets::All, 2, 0.2);
    // Longer than a block of attention and than a part of the head.
    let sample = sample(300, 150);
    let once = gradients(&model, &adapter, &sample, false, Some(DROPOUT));
    let twice = gradients(&model, &adapter, &sample, true, Some(DROPOUT));
    for (once, twice) in once.iter().zip(&twice) {
        let bits = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(bits(once), bits(twice));
    }
    let other = Some(Dropout { seed: 78, ..DROPOUT });
    assert_ne!(
        loss(&model, &adapter, &sample, Some(DROPOUT)),
        loss(&model, &adapter, &sample, other)
    );
}

#[test]
fn blocks_of_attention_have_the_slopes_too() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&tiny::write(folder.path(), "llama", 1), DType::F64);
    let adapter = adapter(&model, &Targets::Attn, 2, 0.2);
    let sample = sample(270, 200);
    let found = gradients(&model, &adapter, &sample, false, None);
    let direction = Tensor::ones(found[0].shape(), DType::F64, &Device::Cpu).unwrap();
    let expected: f64 = values(&found[0]).iter().sum();
    let slope = slope(&model, &adapter, &sample, 0, &direction, None);
    assert!((slope - expected).abs() / slope.abs() < 1e-5, "{expected} {slope}");
}

#[test]
fn what_cannot_be_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&tiny::write(folder.path(), "llama", 1), DType::F32);
    let adapter = adapter(&model, &Targets::Attn, 2, 0.0);
    let run = |sample: &Sample, stop: bool| model.run(&adapter, sample, None, &|| stop);
    assert!(run(&sample(8, 0), false).is_err());
    assert!(run(&sample(8, 8), false).is_err());
    let outside = Sample {
        tokens: vec![1, 4000, 2],
        target: 1,
    };
    assert!(run(&outside, false).unwrap_err().to_string().contains("4000"));
    assert!(run(&sample(8, 4), true).unwrap_err().to_string().contains("cancelled"));
    assert!(run(&sample(8, 4), false).unwrap().is_finite());
}
