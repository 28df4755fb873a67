//! How fast this machine trains: updates over made-up tokens.
//!
//! Owns the workload that figures are given for. Must not print.

use std::path::Path;
use std::time::Instant;

use candle_core::{Result, Tensor};

use super::super::TrainError;
use super::arch::Arch;
use super::lora::Adapter;
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
