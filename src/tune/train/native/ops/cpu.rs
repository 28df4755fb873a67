//! Kernels over slices: rows are shared out over the threads, the inner loops become vector code.
//!
//! Sums are taken in an order that does not depend on the number of threads, so that a training that goes on is the
//! training that was not interrupted.

use std::sync::Mutex;

use candle_core::{CpuStorage, Device, InplaceOp1, InplaceOp2, Layout, Result, Storage, Tensor, WithDType, bail};
use rayon::prelude::*;

use super::Causal;

/// Elements a thread takes at once, about.
const TASK: usize = 1 << 14;
/// Partial sums of a row, so that adding up can be vector code.
const LANES: usize = 16;

/// A number that kernels compute with: `f32` for training, `f64` for checking gradients.
pub(super) trait Real: WithDType {
    fn exp(self) -> Self;
    fn root(self) -> Self;
    fn storage(storage: &mut CpuStorage) -> Option<&mut [Self]>;
}

impl Real for f32 {
    /// The exponential, to about 1e-7 of itself, without a branch. What is not a number stays so.
    #[inline(always)]
    fn exp(self) -> Self {
        const ROUND: f32 = 12_582_912.0;
        let x = if self < -87.0 { -87.0 } else { self };
        let x = if x > 88.0 { 88.0 } else { x };
        let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
        // The logarithm of 2 in two parts, so that nothing is lost in the difference.
        let r = x - n * 0.693_359_4;
        let r = r - n * -2.121_944_4e-4;
        let p = 1.987_569_2e-4;
        let p = p * r + 1.398_199_9e-3;
        let p = p * r + 8.333_452e-3;
        let p = p * r + 4.166_579_6e-2;
        let p = p * r + 1.666_666_5e-1;
        let p = p * r + 0.5;
        let p = p * r * r + r + 1.0;
        // `n` is a whole number from -126 to 127; for what is not a number, the result is not one either.
        p * f32::from_bits((((n + ROUND).to_bits() as i32 - ROUND.to_bits() as i32 + 127) as u32) << 23)
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    fn storage(storage: &mut CpuStorage) -> Option<&mut [Self]> {
        match storage {
            CpuStorage::F32(values) => Some(values),
            _ => None,
        }
    }
}

impl Real for f64 {
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    fn storage(storage: &mut CpuStorage) -> Option<&mut [Self]> {
        match storage {
            CpuStorage::F64(values) => Some(values),
            _ => None,
        }
    }
}

/// Runs a generic function for the type that a tensor has.
macro_rules! by_type {
    ($tensor:expr, $function:ident($($argument:expr),*)) => {
        match $tensor.dtype() {
            candle_core::DType::F32 => $function::<f32>($($argument),*),
            candle_core::DType::F64 => $function::<f64>($($argument),*),
            other => bail!("the trainer computes in f32 and f64, not in {other:?}"),
        }
    };
}

/// Shows a contiguous tensor's numbers.
fn with<T: Real, R>(tensor: &Tensor, look: impl FnOnce(&[T]) -> Result<R>) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else {
        bail!("a tensor is not on the CPU");
    };
    let Some((start, end)) = layout.contiguous_offsets() else {
        bail!("a tensor is not contiguous");
    };
    look(&storage.as_slice::<T>()?[start..end])
}

/// Does something with every row, on all threads.
fn each_row<T: Real>(out: &mut [T], width: usize, row: impl Fn(usize, &mut [T]) + Sync) {
    let rows = (TASK / width.max(1)).max(1);
    out.par_chunks_mut(rows * width.max(1))
        .enumerate()
        .for_each(|(task, part)| {
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (index, values) in part.chunks_exact_mut(width).enumerate() {
                        row(task * rows + index, values);
                    }
                },
            );
        });
}

/// The sum of `f` over two rows.
#[inline(always)]
fn sum<T: Real>(x: &[T], y: &[T], f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [T::zero(); LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            lanes[lane] += f(x[lane], y[lane]);
        }
    }
    for (lane, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        lanes[lane] += f(*x, *y);
    }
    let mut whole = T::zero();
    for lane in lanes {
        whole += lane;
    }
    whole
}

/// The greatest number of a row.
#[inline(always)]
fn greatest<T: Real>(x: &[T]) -> T {
    let mut lanes = [x.first().copied().unwrap_or(T::zero()); LANES];
    let (xs, rest) = x.as_chunks::<LANES>();
    for x in xs {
        for lane in 0..LANES {
            lanes[lane] = if x[lane] > lanes[lane] { x[lane] } else { lanes[lane] };
        }
    }
    let first = lanes[0];
    lanes
        .into_iter()
        .chain(rest.iter().copied())
        .fold(first, |most, x| if x > most { x } else { most })
}

fn width_of(tensor: &Tensor) -> Result<usize> {
    tensor.dim(candle_core::D::Minus1)
}

fn tensor_of<T: Real>(values: Vec<T>, like: &Tensor) -> Result<Tensor> {
    Tensor::from_vec(values, like.shape(), &Device::Cpu)
}

pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    by_type!(x, rms_norm_of(x, weight, eps))
}

fn rms_norm_of<T: Real>(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let width = width_of(x)?;
    let out = with::<T, _>(x, |xs| {
        with::<T, _>(weight, |w| {
            let mut out = vec![T::zero(); xs.len()];
            each_row(
                &mut out,
                width,
                #[inline(always)]
                |row, out| {
                    let x = &xs[row * width..][..width];
                    let inverse = inverse_rms(x, eps);
                    for ((out, x), w) in out.iter_mut().zip(x).zip(w) {
                        *out = *x * inverse * *w;
                    }
                },
            );
            Ok(out)
        })
    })?;
    tensor_of(out, x)
}

#[inline(always)]
fn inverse_rms<T: Real>(x: &[T], eps: f64) -> T {
    let mean = sum(x, x, |x, y| x * y) / T::from_f64(x.len() as f64);
    T::one() / (mean + T::from_f64(eps)).root()
}

pub(super) fn rms_norm_backward(x: &Tensor, weight: &Tensor, dy: &Tensor, eps: f64) -> Result<Tensor> {
    by_type!(x, rms_norm_backward_of(x, weight, dy, eps))
}

fn rms_norm_backward_of<T: Real>(x: &Tensor, weight: &Tensor, dy: &Tensor, eps: f64) -> Result<Tensor> {
    let width = width_of(x)?;
    let out = with::<T, _>(x, |xs| {
        with::<T, _>(weight, |w| {
            with::<T, _>(dy, |dys| {
                let mut out = vec![T::zero(); xs.len()];
                each_row(
                    &mut out,
                    width,
                    #[inline(always)]
                    |row, out| {
                        let x = &xs[row * width..][..width];
                        let dy = &dys[row * width..][..width];
                        let inverse = inverse_rms(x, eps);
                        for ((out, dy), w) in out.iter_mut().zip(dy).zip(w) {
                            *out = *dy * *w * inverse;
                        }
                        let along = sum(out, x, |g, x| g * x) * inverse * inverse / T::from_f64(width as f64);
                        for (out, x) in out.iter_mut().zip(x) {
                            *out -= *x * along;
                        }
                    },
                );
                Ok(out)
            })
        })
    })?;
    tensor_of(out, x)
}

pub(super) fn swiglu(gate_up: &Tensor) -> Result<Tensor> {
    by_type!(gate_up, swiglu_of(gate_up))
}

fn swiglu_of<T: Real>(gate_up: &Tensor) -> Result<Tensor> {
    let (rows, both) = gate_up.dims2()?;
    let width = both / 2;
    let out = with::<T, _>(gate_up, |values| {
        let mut out = vec![T::zero(); rows * width];
        each_row(
            &mut out,
            width,
            #[inline(always)]
            |row, out| {
                let (gate, up) = values[row * both..][..both].split_at(width);
                for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                    *out = *gate * sigmoid(*gate) * *up;
                }
            },
        );
        Ok(out)
    })?;
    Tensor::from_vec(out, (rows, width), &Device::Cpu)
}

#[inline(always)]
fn sigmoid<T: Real>(x: T) -> T {
    T::one() / (T::one() + (T::zero() - x).exp())
}

pub(super) fn swiglu_backward(gate_up: &Tensor, dy: &Tensor) -> Result<Tensor> {
    by_type!(gate_up, swiglu_backward_of(gate_up, dy))
}

fn swiglu_backward_of<T: Real>(gate_up: &Tensor, dy: &Tensor) -> Result<Tensor> {
    let (_, both) = gate_up.dims2()?;
    let width = both / 2;
    let out = with::<T, _>(gate_up, |values| {
        with::<T, _>(dy, |dys| {
            let mut out = vec![T::zero(); values.len()];
            each_row(
                &mut out,
                both,
                #[inline(always)]
                |row, out| {
                    let (gate, up) = values[row * both..][..both].split_at(width);
                    let dy = &dys[row * width..][..width];
                    let (d_gate, d_up) = out.split_at_mut(width);
                    for index in 0..width {
                        let (g, d) = (gate[index], dy[index]);
                        let s = sigmoid(g);
                        d_up[index] = d * g * s;
                        d_gate[index] = d * up[index] * s * (T::one() + g * (T::one() - s));
                    }
                },
            );
            Ok(out)
        })
    })?;
    tensor_of(out, gate_up)
}

/// A kernel that overwrites a tensor's rows.
struct Overwrite<F>(F);

impl<F> InplaceOp1 for Overwrite<F>
where
    F: Fn(&mut CpuStorage, &Layout) -> Result<()>,
{
    fn name(&self) -> &'static str {
        "overwrite"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        (self.0)(storage, layout)
    }
}

/// The numbers of a tensor that is overwritten.
fn values<'a, T: Real>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [T]> {
    match (T::storage(storage), layout.contiguous_offsets()) {
        (Some(values), Some((start, end))) => Ok(&mut values[start..end]),
        _ => bail!("a tensor that is overwritten has another type or is not contiguous"),
    }
}

pub(super) fn causal_softmax(scores: &Tensor, causal: Causal) -> Result<()> {
    by_type!(scores, causal_softmax_of(scores, causal))
}

fn causal_softmax_of<T: Real>(scores: &Tensor, causal: Causal) -> Result<()> {
    let keys = width_of(scores)?;
    let scale = T::from_f64(causal.scale);
    scores.inplace_op1(&Overwrite(|storage: &mut CpuStorage, layout: &Layout| {
        each_row(
            values::<T>(storage, layout)?,
            keys,
            #[inline(always)]
            |row, values| {
                let seen = (causal.start + row % causal.queries + 1).min(keys);
                let (seen, hidden) = values.split_at_mut(seen);
                hidden.fill(T::zero());
                let most = greatest(seen);
                for value in seen.iter_mut() {
                    *value = ((*value - most) * scale).exp();
                }
                let inverse = T::one() / sum(seen, seen, |x, _| x);
                for value in seen {
                    *value *= inverse;
                }
            },
        );
        Ok(())
    }))
}

/// A kernel that overwrites a tensor's rows with what another one says.
struct OverwriteBy {
    scale: f64,
}

impl InplaceOp2 for OverwriteBy {
    fn name(&self) -> &'static str {
        "softmax-backward"
    }

    fn cpu_fwd(&self, dp: &mut CpuStorage, dp_layout: &Layout, p: &CpuStorage, p_layout: &Layout) -> Result<()> {
        match p {
            CpuStorage::F32(p) => softmax_backward_of::<f32>(dp, dp_layout, p, p_layout, self.scale),
            CpuStorage::F64(p) => softmax_backward_of::<f64>(dp, dp_layout, p, p_layout, self.scale),
            _ => bail!("the trainer computes in f32 and f64"),
        }
    }
}

pub(super) fn softmax_backward(p: &Tensor, dp: &Tensor, scale: f64) -> Result<()> {
    dp.inplace_op2(p, &OverwriteBy { scale })
}

fn softmax_backward_of<T: Real>(
    dp: &mut CpuStorage,
    dp_layout: &Layout,
    p: &[T],
    p_layout: &Layout,
    scale: f64,
) -> Result<()> {
    let keys = dp_layout.dims().last().copied().unwrap_or(1);
    let Some((start, end)) = p_layout.contiguous_offsets() else {
        bail!("a tensor is not contiguous");
    };
    let p = &p[start..end];
    let scale = T::from_f64(scale);
    each_row(
        values::<T>(dp, dp_layout)?,
        keys,
        #[inline(always)]
        |row, dp| {
            let p = &p[row * keys..][..keys];
            let along = sum(p, dp, |p, dp| p * dp);
            for (dp, p) in dp.iter_mut().zip(p) {
                *dp = *p * (*dp - along) * scale;
            }
        },
    );
    Ok(())
}

pub(super) fn cross_entropy(logits: &Tensor, targets: &[u32], weight: f64) -> Result<f64> {
    by_type!(logits, cross_entropy_of(logits, targets, weight))
}

fn cross_entropy_of<T: Real>(logits: &Tensor, targets: &[u32], weight: f64) -> Result<f64> {
    let (rows, width) = logits.dims2()?;
    if rows != targets.len() || targets.iter().any(|target| *target as usize >= width) {
        bail!("{rows} rows of {width} logits do not fit {} targets", targets.len());
    }
    let losses = Mutex::new(vec![0.0_f64; rows]);
    let scale = T::from_f64(weight);
    logits.inplace_op1(&Overwrite(|storage: &mut CpuStorage, layout: &Layout| {
        each_row(
            values::<T>(storage, layout)?,
            width,
            #[inline(always)]
            |row, values| {
                let target = targets[row] as usize;
                let most = greatest(values);
                let right = values[target] - most;
                for value in values.iter_mut() {
                    *value = (*value - most).exp();
                }
                let all = sum(values, values, |x, _| x);
                let share = scale / all;
                for value in values.iter_mut() {
                    *value *= share;
                }
                values[target] -= scale;
                if let Ok(mut losses) = losses.lock() {
                    losses[row] = all.to_f64().ln() - right.to_f64();
                }
            },
        );
        Ok(())
    }))?;
    Ok(losses.into_inner().unwrap_or_default().iter().sum())
}
