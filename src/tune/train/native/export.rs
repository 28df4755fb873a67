//! The trained matrices as an adapter's file.

use candle_core::{DType, Device, Result, Tensor};

use super::arch::Arch;
use super::lora::{Adapter, Kind};
use crate::llm::adapter::{AdapterFile, Pair};

/// An adapter in the form that is written; `base` names the model.
pub(super) fn export(arch: &Arch, adapter: &Adapter, base: Option<String>) -> Result<AdapterFile> {
    let numbers = |tensor: &Tensor| -> Result<Vec<f32>> {
        tensor
            .to_device(&Device::Cpu)?
            .to_dtype(DType::F32)?
            .contiguous()?
            .flatten_all()?
            .to_vec1()
    };
    let rank = adapter.rank;
    let mut pairs = Vec::new();
    for (layer, groups) in adapter.groups.iter().enumerate() {
        for (kind, group) in Kind::ALL.into_iter().zip(groups) {
            let Some(group) = group else { continue };
            for (index, part) in group.parts.iter().enumerate() {
                pairs.push(Pair {
                    target: format!("blk.{layer}.{}.weight", part.module.gguf),
                    inputs: kind.inputs(arch),
                    outputs: part.b.dim(0)?,
                    rank,
                    a: numbers(&group.a.narrow(0, index * rank, rank)?)?,
                    b: numbers(&part.b)?,
                });
            }
        }
    }
    Ok(AdapterFile {
        architecture: arch.name.clone(),
        alpha: (adapter.scale * rank as f64) as f32,
        base,
        pairs,
    })
}
