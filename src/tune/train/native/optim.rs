//! AdamW, with moments that can be kept and gone on with.
//!
//! Must not know what is trained.

use candle_core::{DType, Result, Tensor};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;
/// As the reference trains: nothing pulls the matrices towards zero.
const WEIGHT_DECAY: f64 = 0.0;
/// A longer gradient is cut to this length.
const CLIP: f64 = 1.0;

/// Running means of gradients and of their squares, one pair a trained tensor.
#[derive(Debug, Clone)]
pub(super) struct AdamW {
    pub(super) means: Vec<Tensor>,
    pub(super) squares: Vec<Tensor>,
}

impl AdamW {
    pub(super) fn new(tensors: &[&Tensor]) -> Result<Self> {
        let zeros = || {
            tensors
                .iter()
                .map(|tensor| tensor.zeros_like())
                .collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            means: zeros()?,
            squares: zeros()?,
        })
    }

    /// Makes one update; `step` counts from 1.
    pub(super) fn update(
        &mut self,
        tensors: Vec<&mut Tensor>,
        gradients: Vec<Tensor>,
        rate: f64,
        step: u32,
    ) -> Result<()> {
        let power = i32::try_from(step).unwrap_or(i32::MAX);
        let (unbias1, unbias2) = (1.0 - BETA1.powi(power), 1.0 - BETA2.powi(power));
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((tensor, gradient), (mean, square)) in tensors.into_iter().zip(gradients).zip(moments) {
            *mean = ((&*mean * BETA1)? + (&gradient * (1.0 - BETA1))?)?;
            *square = ((&*square * BETA2)? + (gradient.sqr()? * (1.0 - BETA2))?)?;
            let root = ((&*square / unbias2)?.sqrt()? + EPS)?;
            let change = ((&*mean * (rate / unbias1))? / root)?;
            *tensor = ((&*tensor * (1.0 - rate * WEIGHT_DECAY))? - change)?;
        }
        Ok(())
    }
}

/// Cuts a gradient that is too long; gives back how long it was.
pub(super) fn clip(gradients: &mut [Tensor]) -> Result<f64> {
    let mut sum = 0.0;
    for gradient in gradients.iter() {
        sum += gradient.sqr()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
    }
    let length = sum.sqrt();
    if length > CLIP {
        for gradient in gradients {
            *gradient = (&*gradient * (CLIP / length))?;
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    fn tensor(values: &[f64]) -> Tensor {
        Tensor::from_slice(values, values.len(), &Device::Cpu).unwrap()
    }

    #[test]
    fn updates_are_those_of_the_definition() {
        let mut p = tensor(&[1.0, -2.0]);
        let mut adam = AdamW::new(&[&p]).unwrap();
        let (mut m, mut v, mut x) = ([0.0; 2], [0.0; 2], [1.0, -2.0]);
        for step in 1..=5_u32 {
            let g = [0.3 * f64::from(step), -0.1];
            adam.update(vec![&mut p], vec![tensor(&g)], 0.01, step).unwrap();
            for i in 0..2 {
                m[i] = 0.9 * m[i] + 0.1 * g[i];
                v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
                let (mh, vh) = (
                    m[i] / (1.0 - 0.9_f64.powi(step as i32)),
                    v[i] / (1.0 - 0.999_f64.powi(step as i32)),
                );
                x[i] -= 0.01 * mh / (vh.sqrt() + 1e-8);
            }
        }
        let found = p.to_vec1::<f64>().unwrap();
        assert!(
            found.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?} {x:?}"
        );
    }

    #[test]
    fn only_long_gradients_are_cut() {
        let mut short = [tensor(&[0.3]), tensor(&[0.4])];
        assert!((clip(&mut short).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(short[0].to_vec1::<f64>().unwrap(), [0.3]);
        let mut long = [tensor(&[3.0]), tensor(&[4.0])];
        assert!((clip(&mut long).unwrap() - 5.0).abs() < 1e-12);
        assert!((long[1].to_vec1::<f64>().unwrap()[0] - 0.8).abs() < 1e-12);
        assert!(clip(&mut [tensor(&[f64::NAN])]).unwrap().is_nan());
    }
}
