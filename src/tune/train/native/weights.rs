//! The frozen weights of a model, dequantised.
//!
//! Owns where tensors come from and how those that are multiplied with the same input become one. Must not compute.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use candle_core::{DType, Device, Result, Tensor};

use super::arch::Arch;
use super::lora::Kind;

/// Matrices that are multiplied with the same input, below each other.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    /// `[outputs of all, inputs]`.
    pub(super) weight: Tensor,
    /// `[outputs of all]`.
    pub(super) bias: Option<Tensor>,
}

/// A layer's weights.
#[derive(Debug, Clone)]
pub(super) struct LayerWeights {
    pub(super) attn_norm: Tensor,
    pub(super) ffn_norm: Tensor,
    /// Norms of each head's queries and keys (qwen3).
    pub(super) head_norms: Option<(Tensor, Tensor)>,
    /// By [`Kind`]: query, key and value; output; gate and up; down.
    pub(super) linears: [Linear; 4],
}

/// A model's weights.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// `[vocabulary, width]`.
    pub(super) embedding: Tensor,
    pub(super) norm: Tensor,
    /// `[vocabulary, width]`; the embedding itself where the head is tied.
    pub(super) head: Tensor,
    pub(super) layers: Vec<LayerWeights>,
    /// What each frequency of the rotary embedding is divided by (Llama 3).
    pub(super) rope_factors: Option<Vec<f64>>,
}

/// Where tensors come from: `None` for one that is not there.
pub(super) type Source<'a> = dyn FnMut(&str) -> Result<Option<Tensor>> + 'a;

impl Weights {
    /// Reads a file whose head was checked.
    ///
    /// # Errors
    /// When it cannot be read or there is no memory on the device.
    pub(super) fn load(path: &Path, arch: &Arch, device: &Device, stop: &dyn Fn() -> bool) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let content = Content::read(&mut file)?;
        Self::from_source(arch, DType::F32, &mut |name| {
            if stop() {
                candle_core::bail!("cancelled");
            }
            if !content.tensor_infos.contains_key(name) {
                return Ok(None);
            }
            // Read into this process first: not every device reads every type.
            let tensor = content.tensor(&mut file, name, &Device::Cpu)?;
            tensor.dequantize(&Device::Cpu)?.to_device(device).map(Some)
        })
    }

    /// Puts weights together from named tensors.
    pub(super) fn from_source(arch: &Arch, dtype: DType, source: &mut Source<'_>) -> Result<Self> {
        let mut maybe = |name: &str| -> Result<Option<Tensor>> {
            let tensor = source(name)?;
            tensor.map(|tensor| tensor.to_dtype(dtype)?.contiguous()).transpose()
        };
        let embedding = needed(&mut maybe, "token_embd.weight")?;
        let norm = needed(&mut maybe, "output_norm.weight")?;
        let head = maybe("output.weight")?.unwrap_or_else(|| embedding.clone());
        let rope_factors = match maybe("rope_freqs.weight")? {
            Some(factors) => Some(
                factors
                    .to_dtype(DType::F64)?
                    .to_device(&Device::Cpu)?
                    .to_vec1::<f64>()?,
            ),
            None => None,
        };
        let mut layers = Vec::with_capacity(arch.layers);
        for layer in 0..arch.layers {
            let mut linears = Vec::with_capacity(4);
            for kind in Kind::ALL {
                linears.push(linear(&mut maybe, layer, kind, arch)?);
            }
            let Ok(linears) = <[Linear; 4]>::try_from(linears) else {
                candle_core::bail!("a layer has four groups of matrices");
            };
            let q_norm = maybe(&format!("blk.{layer}.attn_q_norm.weight"))?;
            let k_norm = maybe(&format!("blk.{layer}.attn_k_norm.weight"))?;
            layers.push(LayerWeights {
                attn_norm: needed(&mut maybe, &format!("blk.{layer}.attn_norm.weight"))?,
                ffn_norm: needed(&mut maybe, &format!("blk.{layer}.ffn_norm.weight"))?,
                head_norms: q_norm.zip(k_norm),
                linears,
            });
        }
        Ok(Self {
            embedding,
            norm,
            head,
            layers,
            rope_factors,
        })
    }
}

fn needed(source: &mut dyn FnMut(&str) -> Result<Option<Tensor>>, name: &str) -> Result<Tensor> {
    match source(name)? {
        Some(tensor) => Ok(tensor),
        None => candle_core::bail!("the model has no tensor `{name}`"),
    }
}

fn linear(
    source: &mut dyn FnMut(&str) -> Result<Option<Tensor>>,
    layer: usize,
    kind: Kind,
    arch: &Arch,
) -> Result<Linear> {
    let (mut weights, mut biases, mut biased) = (Vec::new(), Vec::new(), false);
    for module in kind.modules() {
        let weight = needed(source, &format!("blk.{layer}.{}.weight", module.gguf))?;
        let outputs = weight.dim(0)?;
        let bias = source(&format!("blk.{layer}.{}.bias", module.gguf))?;
        biased |= bias.is_some();
        biases.push(match bias {
            Some(bias) => bias,
            None => Tensor::zeros(outputs, weight.dtype(), weight.device())?,
        });
        weights.push(weight);
    }
    debug_assert_eq!(
        weights.iter().map(|w| w.dim(0).unwrap_or(0)).sum::<usize>(),
        kind.outputs(arch)
    );
    let joined = |parts: Vec<Tensor>| match <[Tensor; 1]>::try_from(parts) {
        Ok([one]) => Ok(one),
        Err(parts) => Tensor::cat(&parts, 0),
    };
    Ok(Linear {
        weight: joined(weights)?,
        bias: if biased { Some(joined(biases)?) } else { None },
    })
}
