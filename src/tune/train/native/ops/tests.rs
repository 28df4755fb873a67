//! Kernels over slices against candle's operations.

use candle_core::{DType, Device, Result, Tensor};

use super::cpu::Real;
use super::*;

/// Numbers that look random and are always the same.
fn random(shape: &[usize], seed: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let mut random = super::super::random::Random::new(seed);
    let values: Vec<f64> = (0..count).map(|_| random.uniform() * 6.0 - 3.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn far(a: &Tensor, b: &Tensor) -> f64 {
    let a: Vec<f64> = a
        .flatten_all()
        .unwrap()
        .to_dtype(DType::F64)
        .unwrap()
        .to_vec1()
        .unwrap();
    let b: Vec<f64> = b
        .flatten_all()
        .unwrap()
        .to_dtype(DType::F64)
        .unwrap()
        .to_vec1()
        .unwrap();
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(&b)
        .map(|(a, b)| {
            if a.is_finite() && b.is_finite() {
                (a - b).abs()
            } else {
                f64::INFINITY
            }
        })
        .fold(0.0, f64::max)
}

/// Holds a kernel against what candle's operations say, in both types.
fn same(kernel: impl Fn(&[Tensor]) -> Result<Tensor>, plain: impl Fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) {
    for (dtype, near) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
        let inputs = || -> Vec<Tensor> {
            let typed = inputs
                .iter()
                .map(|input| input.to_dtype(dtype).unwrap().copy().unwrap());
            typed.collect()
        };
        let expected = plain(&inputs()).unwrap();
        let found = kernel(&inputs()).unwrap();
        assert_eq!(found.dims(), expected.dims());
        let far = far(&found, &expected);
        assert!(far < near, "{dtype:?}: {far}");
    }
}

#[test]
fn kernels_are_what_candles_operations_are() {
    // A width that is no multiple of the lanes, and more rows than a thread takes.
    let (rows, width) = (40, 611);
    let (x, dy, weight) = (
        random(&[rows, width], 1),
        random(&[rows, width], 2),
        random(&[width], 3),
    );
    let inputs = [x.clone(), dy.clone(), weight];
    same(
        |t| cpu::rms_norm(&t[0], &t[2], 1e-5),
        |t| plain::rms_norm(&t[0], &t[2], 1e-5),
        &inputs,
    );
    same(
        |t| cpu::rms_norm_backward(&t[0], &t[2], &t[1], 1e-5),
        |t| plain::rms_norm_backward(&t[0], &t[2], &t[1], 1e-5),
        &inputs,
    );
    let both = [random(&[rows, 2 * width], 4), dy];
    same(|t| cpu::swiglu(&t[0]), |t| plain::swiglu(&t[0]), &both);
    same(
        |t| cpu::swiglu_backward(&t[0], &t[1]),
        |t| plain::swiglu_backward(&t[0], &t[1]),
        &both,
    );
    let causal = Causal {
        start: 30,
        queries: 20,
        scale: 0.3,
    };
    let scores = [
        random(&[3, 2 * causal.queries, 50], 5),
        random(&[3, 2 * causal.queries, 50], 6),
    ];
    same(
        |t| causal_softmax(t[0].clone(), causal),
        |t| plain::causal_softmax(&t[0], causal),
        &scores,
    );
    same(
        |t| causal_softmax_backward(&plain::causal_softmax(&t[0], causal)?, t[1].clone(), causal),
        |t| plain::softmax_backward(&plain::causal_softmax(&t[0], causal)?, &t[1], causal.scale),
        &scores,
    );
    let targets: Vec<u32> = (0..rows as u32).map(|row| row * 15 % width as u32).collect();
    same(
        |t| Ok(cross_entropy(t[0].clone(), &targets, 0.25)?.1),
        |t| Ok(plain::cross_entropy(&t[0], &targets, 0.25)?.1),
        std::slice::from_ref(&x),
    );
    let expected = plain::cross_entropy(&x, &targets, 1.0).unwrap().0;
    let found = cross_entropy(x.copy().unwrap(), &targets, 1.0).unwrap().0;
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn what_is_not_a_number_is_not_hidden() {
    for x in [-100.0_f32, -87.3, -20.0, -1.0, -1e-3, 0.0, 0.3, 1.0, 10.0, 87.9] {
        let (found, expected) = (Real::exp(x), f64::from(x.clamp(-87.0, 88.0)).exp());
        assert!((f64::from(found) / expected - 1.0).abs() < 3e-7, "{x}: {found}");
    }
    assert!(Real::exp(f32::NAN).is_nan());
    for bad in [f32::NAN, f32::INFINITY] {
        let row = Tensor::from_vec(vec![0.0, bad, 1.0, 2.0], (1, 4), &Device::Cpu).unwrap();
        let (loss, _) = cross_entropy(row, &[2], 1.0).unwrap();
        assert!(!loss.is_finite(), "{loss}");
    }
}

#[test]
fn targets_outside_of_the_vocabulary_are_refused() {
    let logits = Tensor::zeros((2, 4), DType::F32, &Device::Cpu).unwrap();
    assert!(cross_entropy(logits.clone(), &[0, 4], 1.0).is_err());
    assert!(cross_entropy(logits, &[0], 1.0).is_err());
}
