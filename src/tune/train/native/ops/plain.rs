//! The same operations made of candle's own: what a GPU runs.

use candle_core::{D, Result, Tensor};

use super::Causal;

pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    x.broadcast_mul(&inverse_rms(x, eps)?)?.broadcast_mul(weight)
}

fn inverse_rms(x: &Tensor, eps: f64) -> Result<Tensor> {
    (x.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?.recip()
}

pub(super) fn rms_norm_backward(x: &Tensor, weight: &Tensor, dy: &Tensor, eps: f64) -> Result<Tensor> {
    let inverse = inverse_rms(x, eps)?;
    let normed = x.broadcast_mul(&inverse)?;
    let weighted = dy.broadcast_mul(weight)?;
    let along = (&weighted * &normed)?.mean_keepdim(D::Minus1)?;
    (weighted - normed.broadcast_mul(&along)?)?.broadcast_mul(&inverse)
}

fn halves(gate_up: &Tensor) -> Result<(Tensor, Tensor)> {
    let width = gate_up.dim(1)? / 2;
    Ok((
        gate_up.narrow(1, 0, width)?.contiguous()?,
        gate_up.narrow(1, width, width)?.contiguous()?,
    ))
}

pub(super) fn swiglu(gate_up: &Tensor) -> Result<Tensor> {
    let (gate, up) = halves(gate_up)?;
    gate.silu()? * up
}

pub(super) fn swiglu_backward(gate_up: &Tensor, dy: &Tensor) -> Result<Tensor> {
    let (gate, up) = halves(gate_up)?;
    let s = (gate.neg()?.exp()? + 1.0)?.recip()?;
    let silu = (&gate * &s)?;
    // The derivative of silu: s * (1 + g * (1 - s)) = s + silu * (1 - s).
    let slope = (&s + (&silu * s.affine(-1.0, 1.0)?)?)?;
    let d_gate = ((dy * up)? * slope)?;
    Tensor::cat(&[d_gate, (dy * silu)?], 1)
}

pub(super) fn causal_softmax(scores: &Tensor, causal: Causal) -> Result<Tensor> {
    let (groups, rows, keys) = scores.dims3()?;
    let mask: Vec<f32> = (0..causal.queries)
        .flat_map(|query| (0..keys).map(move |key| (query, key)))
        .map(|(query, key)| {
            if key <= causal.start + query {
                0.0
            } else {
                f32::NEG_INFINITY
            }
        })
        .collect();
    let mask = Tensor::from_vec(mask, (causal.queries, keys), scores.device())?.to_dtype(scores.dtype())?;
    let by_query = (scores * causal.scale)?
        .reshape((groups * rows / causal.queries, causal.queries, keys))?
        .broadcast_add(&mask)?;
    candle_nn::ops::softmax_last_dim(&by_query)?.reshape((groups, rows, keys))
}

pub(super) fn softmax_backward(p: &Tensor, dp: &Tensor, scale: f64) -> Result<Tensor> {
    let along = (p * dp)?.sum_keepdim(D::Minus1)?;
    (p * dp.broadcast_sub(&along)?)? * scale
}

pub(super) fn cross_entropy(logits: &Tensor, targets: &[u32], weight: f64) -> Result<(f64, Tensor)> {
    let rows = targets.len();
    let index = Tensor::from_slice(targets, (rows, 1), logits.device())?;
    let shifted = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?)?;
    let exp = shifted.exp()?;
    let all = exp.sum_keepdim(D::Minus1)?;
    let right = shifted.gather(&index, D::Minus1)?;
    let loss = (all.log()? - right)?
        .to_dtype(candle_core::DType::F64)?
        .sum_all()?
        .to_scalar::<f64>()?;
    let less = Tensor::full(-1.0_f32, (rows, 1), logits.device())?.to_dtype(logits.dtype())?;
    let gradient = exp.broadcast_div(&all)?.scatter_add(&index, &less, 1)?;
    Ok((loss, (gradient * weight)?))
}
