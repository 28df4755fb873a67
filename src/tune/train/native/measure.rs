//! How fast this machine trains: updates over made-up tokens.
//!
//! Owns the workload that figures are given for. Must not print.

use std::path::Path;
use std::time::Instant;

use candle_core::{Result, Tensor};

use super::super::TrainError;
use super::arch::Arch;
use super::lora::{Adapter, Kind};
use super::model::{Model, Pass, Sample};
use super::optim::{AdamW, clip};
use super::random::Random;
use super::run::{arithmetic, device};
use super::weights::Weights;
use crate::llm::gguf::Header;
use crate::tune::recipe::Targets;

/// A loaded model that updates are measured with: query, key, value and output at rank 8.
pub struct Workbench {
    model: Model,
    adapter: Adapter,
    adam: AdamW,
    step: u32,
}

impl std::fmt::Debug for Workbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench")
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl Workbench {
    /// Loads a model for conversations of up to so many tokens.
    ///
    /// # Errors
    /// When it cannot be trained with.
    pub fn open(base: &Path, longest: usize) -> std::result::Result<Self, TrainError> {
        let arch = Arch::read(base, &Header::open(base)?)?;
        let (device, _) = device()?;
        let made = || -> Result<Self> {
            let weights = Weights::load(base, &arch, &device, &|| false)?;
            let modules = Targets::Attn.modules().into_iter().collect();
            let place = (candle_core::DType::F32, &device);
            let adapter = Adapter::new(&arch, &modules, 8, 16.0, 1, place)?;
            Ok(Self {
                adam: AdamW::new(&adapter.tensors())?,
                adapter,
                model: Model::new(arch.clone(), weights, longest)?,
                step: 0,
            })
        };
        made().map_err(arithmetic)
    }

    /// Multiplications and additions that an update of [`update`](Self::update) cannot do without: of the frozen matrices
    /// forwards and back, of causal attention (two products forwards, four back), of the head where it is supervised, of
    /// the adapter.
    pub fn work(&self, length: usize) -> f64 {
        let arch = &self.model.arch;
        let (tokens, supervised) = (length as f64, (length / 4) as f64);
        let frozen: usize = Kind::ALL
            .iter()
            .map(|kind| kind.inputs(arch) * kind.outputs(arch))
            .sum();
        let layer = 4.0 * frozen as f64 * tokens + 6.0 * tokens * tokens * arch.query_width() as f64;
        let head = 4.0 * supervised * (arch.vocabulary * arch.width) as f64;
        layer * arch.layers as f64 + head + 6.0 * tokens * self.adapter.parameters() as f64
    }

    /// What this machine multiplies large matrices at, on the threads that training has: operations a second, the best of
    /// some tries.
    ///
    /// # Errors
    /// What the arithmetic says.
    pub fn peak(&self) -> std::result::Result<f64, TrainError> {
        const SIDE: usize = 1024;
        let made = || -> Result<f64> {
            let a = Tensor::ones((SIDE, SIDE), candle_core::DType::F32, self.model.device())?;
            let mut best = f64::INFINITY;
            for _ in 0..8 {
                let began = Instant::now();
                // One number of it is looked at: a GPU is waited for.
                a.matmul(&a)?.get(0)?.get(0)?.to_scalar::<f32>()?;
                best = best.min(began.elapsed().as_secs_f64());
            }
            Ok(2.0 * (SIDE as f64).powi(3) / best)
        };
        made().map_err(arithmetic)
    }

    /// Makes an update with one conversation, a quarter of which is supervised; gives back the seconds it took.
    ///
    /// # Errors
    /// What the arithmetic says.
    pub fn update(&mut self, length: usize, checkpointing: bool) -> std::result::Result<f64, TrainError> {
        let mut random = Random::of(u64::from(self.step), &[]);
        let length = length.max(4);
        let sample = Sample {
            tokens: (0..=length)
                .map(|_| u32::try_from(random.below(self.model.arch.vocabulary)).unwrap_or(0))
                .collect(),
            target: length + 1 - length / 4,
        };
        let began = Instant::now();
        let mut made = || -> Result<()> {
            let mut gradients: Vec<Option<Tensor>> = vec![None; self.adapter.count];
            let pass = Pass {
                weight: 1.0 / sample.supervised() as f64,
                dropout: None,
                checkpointing,
                gradients: &mut gradients,
            };
            self.model.run(&self.adapter, &sample, Some(pass), &|| false)?;
            let mut gradients: Vec<Tensor> = gradients.into_iter().flatten().collect();
            clip(&mut gradients)?;
            self.step += 1;
            self.adam.update(self.adapter.tensors_mut(), gradients, 1e-4, self.step)
        };
        made().map_err(arithmetic)?;
        Ok(began.elapsed().as_secs_f64())
    }
}
