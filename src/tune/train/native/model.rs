//! A whole model with an adapter: the loss of a conversation, and its gradient.
//!
//! Owns the order of layers, the head (only where it is supervised, a few rows at once) and what is kept for the way
//! back. Must not know optimisers.

use candle_core::{Device, Result, Tensor, bail};

use super::arch::Arch;
use super::attention::Rope;
use super::layer::{Cache, Layer};
use super::lora::{Adapter, Dropout};
use super::ops;
use super::weights::Weights;

/// Rows of logits that are computed at once.
pub(super) const HEAD_ROWS: usize = 64;

/// A conversation as tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    /// All of them, the answer's end included.
    pub(super) tokens: Vec<u32>,
    /// Where the answer begins; it goes to the end.
    pub(super) target: usize,
}

impl Sample {
    /// Tokens that are trained on.
    pub(super) fn supervised(&self) -> usize {
        self.tokens.len() - self.target
    }
}

/// How a conversation is run.
pub(super) struct Pass<'a> {
    /// What the losses' sum is multiplied by in the gradient: 1 / supervised tokens of the update.
    pub(super) weight: f64,
    pub(super) dropout: Option<Dropout>,
    /// Layers keep only their input and are computed again on the way back.
    pub(super) checkpointing: bool,
    /// One for each trained tensor, added to.
    pub(super) gradients: &'a mut [Option<Tensor>],
}

/// A model that computes.
pub(super) struct Model {
    pub(super) arch: Arch,
    weights: Weights,
    rope: Rope,
}

/// What the way back finds of a layer.
enum Kept {
    Input(Tensor),
    All(Box<Cache>),
}

impl Model {
    /// `positions`: tokens of the longest conversation.
    pub(super) fn new(arch: Arch, weights: Weights, positions: usize) -> Result<Self> {
        let factors = weights.rope_factors.as_deref();
        let rope = Rope::new(
            &arch,
            factors,
            positions.max(1),
            weights.embedding.dtype(),
            weights.embedding.device(),
        )?;
        Ok(Self { arch, weights, rope })
    }

    pub(super) fn device(&self) -> &Device {
        self.weights.embedding.device()
    }

    #[cfg(test)]
    pub(super) fn dtype(&self) -> candle_core::DType {
        self.weights.embedding.dtype()
    }

    fn layer<'a>(&'a self, adapter: &'a Adapter, index: usize, dropout: Option<Dropout>) -> Result<Layer<'a>> {
        let Some(weights) = self.weights.layers.get(index) else {
            bail!("the model has no layer {index}");
        };
        Ok(Layer {
            arch: &self.arch,
            weights,
            adapter,
            index,
            rope: &self.rope,
            dropout,
        })
    }

    fn embed(&self, tokens: &[u32]) -> Result<Tensor> {
        if let Some(token) = tokens.iter().find(|token| **token as usize >= self.arch.vocabulary) {
            bail!(
                "token {token} is not in the model's vocabulary of {}",
                self.arch.vocabulary
            );
        }
        let tokens = Tensor::from_slice(tokens, tokens.len(), self.device())?;
        self.weights.embedding.index_select(&tokens, 0)
    }

    /// The sum of the losses of a conversation's supervised tokens; with a pass, gradients too. `stop` is asked before
    /// each layer.
    ///
    /// # Errors
    /// What the arithmetic says, and when it was stopped.
    pub(super) fn run(
        &self,
        adapter: &Adapter,
        sample: &Sample,
        pass: Option<Pass<'_>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<f64> {
        let go_on = || -> Result<()> {
            if stop() {
                bail!("cancelled");
            }
            Ok(())
        };
        if sample.target == 0 || sample.target >= sample.tokens.len() {
            bail!("a conversation needs a prompt and an answer");
        }
        let dropout = pass.as_ref().and_then(|pass| pass.dropout);
        let first = adapter.first_layer();
        let inputs = &sample.tokens[..sample.tokens.len() - 1];
        let mut x = self.embed(inputs)?;
        let mut kept = Vec::new();
        for index in 0..self.arch.layers {
            go_on()?;
            let (y, cache) = self.layer(adapter, index, dropout)?.forward(&x)?;
            match &pass {
                Some(pass) if index >= first => kept.push(if pass.checkpointing {
                    Kept::Input(x)
                } else {
                    Kept::All(Box::new(cache))
                }),
                _ => {}
            }
            x = y;
        }
        let weight = pass.as_ref().map_or(1.0, |pass| pass.weight);
        let (loss, mut dx) = self.head(&x, sample, weight, pass.is_some())?;
        drop(x);
        let Some(pass) = pass else { return Ok(loss) };
        for index in (first..self.arch.layers).rev() {
            go_on()?;
            let (Some(dy), Some(kept)) = (dx.take(), kept.pop()) else {
                bail!("a layer has no gradient");
            };
            let layer = self.layer(adapter, index, dropout)?;
            let cache = match kept {
                Kept::All(cache) => *cache,
                Kept::Input(x) => layer.forward(&x)?.1,
            };
            dx = layer.backward(cache, dy, index > first, pass.gradients)?;
        }
        Ok(loss)
    }

    /// The loss, and the gradient of the last layer's output.
    fn head(&self, x: &Tensor, sample: &Sample, weight: f64, wants_dx: bool) -> Result<(f64, Option<Tensor>)> {
        let from = sample.target - 1;
        let rows = x.narrow(0, from, sample.supervised())?.contiguous()?;
        let normed = ops::rms_norm(&rows, &self.weights.norm, self.arch.eps)?;
        let (mut loss, mut gradients) = (0.0, Vec::new());
        for (index, targets) in sample.tokens[sample.target..].chunks(HEAD_ROWS).enumerate() {
            let part = normed.narrow(0, index * HEAD_ROWS, targets.len())?;
            let logits = part.matmul(&self.weights.head.t()?)?;
            let (more, d_logits) = ops::cross_entropy(logits, targets, weight)?;
            loss += more;
            if wants_dx {
                gradients.push(d_logits.matmul(&self.weights.head)?);
            }
        }
        if !wants_dx {
            return Ok((loss, None));
        }
        let d_normed = Tensor::cat(&gradients, 0)?;
        let d_rows = ops::rms_norm_backward(&rows, &self.weights.norm, &d_normed, self.arch.eps)?;
        Ok((loss, Some(d_rows.pad_with_zeros(0, from, 0)?)))
    }

    /// All logits of all positions, `[tokens, vocabulary]`: for comparing with llama.cpp.
    #[cfg(test)]
    pub(super) fn logits(&self, adapter: &Adapter, tokens: &[u32]) -> Result<Tensor> {
        let mut x = self.embed(tokens)?;
        for index in 0..self.arch.layers {
            x = self.layer(adapter, index, None)?.forward(&x)?.0;
        }
        ops::rms_norm(&x, &self.weights.norm, self.arch.eps)?.matmul(&self.weights.head.t()?)
    }
}
