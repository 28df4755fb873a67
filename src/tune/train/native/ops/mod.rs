//! The operations of a transformer's layer and their gradients, one function each.
//!
//! On a CPU they run over slices, in vector code and on all threads ([`cpu`]); elsewhere they are made of candle's own
//! operations ([`plain`]). Both are held against each other by tests. Must not know layers or weights.

mod cpu;
mod plain;
#[cfg(test)]
mod tests;

use candle_core::{Result, Tensor};

/// `x * w / rms(x)` along the last dimension.
pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    if x.device().is_cpu() {
        cpu::rms_norm(&x, weight, eps)
    } else {
        plain::rms_norm(&x, weight, eps)
    }
}

/// The gradient of [`rms_norm`] for `x`.
pub(super) fn rms_norm_backward(x: &Tensor, weight: &Tensor, dy: &Tensor, eps: f64) -> Result<Tensor> {
    let (x, dy) = (x.contiguous()?, dy.contiguous()?);
    if x.device().is_cpu() {
        cpu::rms_norm_backward(&x, weight, &dy, eps)
    } else {
        plain::rms_norm_backward(&x, weight, &dy, eps)
    }
}

/// `silu(gate) * up` of `[rows, gate and up]`.
pub(super) fn swiglu(gate_up: &Tensor) -> Result<Tensor> {
    if gate_up.device().is_cpu() {
        cpu::swiglu(gate_up)
    } else {
        plain::swiglu(gate_up)
    }
}

/// The gradient of [`swiglu`]: `[rows, gate and up]`.
pub(super) fn swiglu_backward(gate_up: &Tensor, dy: &Tensor) -> Result<Tensor> {
    if gate_up.device().is_cpu() {
        cpu::swiglu_backward(gate_up, dy)
    } else {
        plain::swiglu_backward(gate_up, dy)
    }
}

/// Which rows of a block of scores may see which keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Causal {
    /// Position of the block's first query; query `i` sees the keys up to `start + i`.
    pub(super) start: usize,
    /// Queries of the block; the scores' rows repeat them for every head of a group.
    pub(super) queries: usize,
    /// What scores are multiplied by.
    pub(super) scale: f64,
}

/// Softmax of scores `[kv heads, group * queries, keys]` over the keys that may be seen; the others get 0. The scores are
/// overwritten: nobody else may hold them.
pub(super) fn causal_softmax(scores: Tensor, causal: Causal) -> Result<Tensor> {
    if scores.device().is_cpu() {
        cpu::causal_softmax(&scores, causal)?;
        Ok(scores)
    } else {
        plain::causal_softmax(&scores, causal)
    }
}

/// The gradient of [`causal_softmax`] for the scores before they were scaled. `dp` is overwritten.
pub(super) fn causal_softmax_backward(p: &Tensor, dp: Tensor, causal: Causal) -> Result<Tensor> {
    if p.device().is_cpu() {
        cpu::softmax_backward(p, &dp, causal.scale)?;
        Ok(dp)
    } else {
        plain::softmax_backward(p, &dp, causal.scale)
    }
}

/// The sum of losses of rows of logits, and its gradient times `weight`. The logits are overwritten.
pub(super) fn cross_entropy(logits: Tensor, targets: &[u32], weight: f64) -> Result<(f64, Tensor)> {
    if logits.device().is_cpu() {
        let loss = cpu::cross_entropy(&logits, targets, weight)?;
        Ok((loss, logits))
    } else {
        plain::cross_entropy(&logits, targets, weight)
    }
}
