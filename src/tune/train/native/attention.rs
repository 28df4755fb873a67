//! Causal attention with shared key heads, in blocks of queries.
//!
//! A block looks only at the keys before its end, which saves almost half the work, and its scores are computed again on
//! the way back instead of kept, which saves memory that grows with the square of the length.

use candle_core::{DType, Device, Result, Tensor};

use super::arch::Arch;
use super::ops::{self, Causal};

/// Queries of a block.
const BLOCK: usize = 128;

/// The rotary embedding's sines and cosines.
#[derive(Debug, Clone)]
pub(super) struct Rope {
    /// `[positions, head width / 2]`.
    cos: Tensor,
    sin: Tensor,
    interleaved: bool,
}

impl Rope {
    pub(super) fn new(
        arch: &Arch,
        factors: Option<&[f64]>,
        positions: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let half = arch.head_width / 2;
        let angles: Vec<f64> = (0..positions)
            .flat_map(|position| (0..half).map(move |index| (position, index)))
            .map(|(position, index)| {
                let frequency = arch.rope_base.powf(-2.0 * index as f64 / arch.head_width as f64);
                let factor = factors.and_then(|factors| factors.get(index)).copied().unwrap_or(1.0);
                position as f64 / arch.rope_divisor * frequency / factor
            })
            .collect();
        let angles = Tensor::from_vec(angles, (positions, half), &Device::Cpu)?;
        Ok(Self {
            cos: angles.cos()?.to_dtype(dtype)?.to_device(device)?,
            sin: angles.sin()?.to_dtype(dtype)?.to_device(device)?,
            interleaved: arch.interleaved,
        })
    }

    /// Turns `[heads, rows, head width]` by position, or back.
    pub(super) fn turn(&self, x: &Tensor, back: bool) -> Result<Tensor> {
        let rows = x.dim(1)?;
        let cos = self.cos.narrow(0, 0, rows)?;
        let sin = self.sin.narrow(0, 0, rows)?;
        let sin = if back { sin.neg()? } else { sin };
        let x = x.unsqueeze(0)?;
        let turned = if self.interleaved {
            candle_nn::rotary_emb::rope_i(&x, &cos, &sin)?
        } else {
            candle_nn::rotary_emb::rope(&x, &cos, &sin)?
        };
        turned.squeeze(0)
    }
}

/// Some columns of `[rows, ..]` as `[heads, rows, head width]`.
pub(super) fn split(x: &Tensor, from: usize, heads: usize, head_width: usize) -> Result<Tensor> {
    x.narrow(1, from, heads * head_width)?
        .reshape((x.dim(0)?, heads, head_width))?
        .transpose(0, 1)?
        .contiguous()
}

/// `[heads, rows, head width]` as `[rows, heads * head width]`.
pub(super) fn join(x: &Tensor) -> Result<Tensor> {
    let (heads, rows, head_width) = x.dims3()?;
    x.transpose(0, 1)?.contiguous()?.reshape((rows, heads * head_width))
}

/// A batch of products; what a GPU multiplies must be contiguous.
fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.device().is_cpu() {
        a.matmul(b)
    } else {
        a.contiguous()?.matmul(&b.contiguous()?)
    }
}

/// What attention works on: queries `[heads, rows, head width]`, keys and values `[kv heads, rows, head width]`.
#[derive(Debug, Clone)]
pub(super) struct Heads {
    pub(super) q: Tensor,
    pub(super) k: Tensor,
    pub(super) v: Tensor,
}

/// A block's queries, and the keys it may see.
struct Block {
    start: usize,
    count: usize,
    end: usize,
}

fn blocks(rows: usize) -> impl DoubleEndedIterator<Item = Block> {
    (0..rows.div_ceil(BLOCK)).map(move |index| {
        let start = index * BLOCK;
        let end = (start + BLOCK).min(rows);
        Block {
            start,
            count: end - start,
            end,
        }
    })
}

impl Heads {
    fn causal(&self, block: &Block) -> Result<Causal> {
        Ok(Causal {
            start: block.start,
            queries: block.count,
            scale: 1.0 / (self.q.dim(2)? as f64).sqrt(),
        })
    }

    /// A block of `[heads, rows, head width]` as `[kv heads, heads of a group * queries, head width]`.
    fn grouped(&self, x: &Tensor, block: &Block) -> Result<Tensor> {
        let (heads, _, head_width) = x.dims3()?;
        let kv_heads = self.k.dim(0)?;
        x.narrow(1, block.start, block.count)?.contiguous()?.reshape((
            kv_heads,
            heads / kv_heads * block.count,
            head_width,
        ))
    }

    /// A block's attention weights.
    fn weights(&self, q: &Tensor, block: &Block) -> Result<Tensor> {
        let keys = self.k.narrow(1, 0, block.end)?;
        ops::causal_softmax(product(q, &keys.transpose(1, 2)?)?, self.causal(block)?)
    }

    /// `[rows, heads * head width]`.
    pub(super) fn forward(&self) -> Result<Tensor> {
        let (heads, rows, head_width) = self.q.dims3()?;
        let mut out = Vec::new();
        for block in blocks(rows) {
            let p = self.weights(&self.grouped(&self.q, &block)?, &block)?;
            let o = product(&p, &self.v.narrow(1, 0, block.end)?)?;
            out.push(join(&o.reshape((heads, block.count, head_width))?)?);
        }
        Tensor::cat(&out, 0)
    }

    /// The gradients of queries, keys and values.
    pub(super) fn backward(&self, d_out: &Tensor) -> Result<Self> {
        let (heads, rows, head_width) = self.q.dims3()?;
        let kv_heads = self.k.dim(0)?;
        let d_out = split(d_out, 0, heads, head_width)?;
        let (mut dq, mut dk, mut dv) = (Vec::new(), None, None);
        // From the end: the last block sees all keys.
        for block in blocks(rows).rev() {
            let q = self.grouped(&self.q, &block)?;
            let d_o = self.grouped(&d_out, &block)?;
            let p = self.weights(&q, &block)?;
            let values = self.v.narrow(1, 0, block.end)?;
            let dp = product(&d_o, &values.transpose(1, 2)?)?;
            add_first(&mut dv, product(&p.transpose(1, 2)?, &d_o)?, rows)?;
            let ds = ops::causal_softmax_backward(&p, dp, self.causal(&block)?)?;
            let keys = self.k.narrow(1, 0, block.end)?;
            let group = heads / kv_heads;
            dq.push(product(&ds, &keys)?.reshape((kv_heads * group, block.count, head_width))?);
            add_first(&mut dk, product(&ds.transpose(1, 2)?, &q)?, rows)?;
        }
        dq.reverse();
        match (dk, dv) {
            (Some(k), Some(v)) => Ok(Self {
                q: Tensor::cat(&dq, 1)?,
                k,
                v,
            }),
            _ => candle_core::bail!("attention needs at least one row"),
        }
    }
}

/// Adds to the first rows of a sum.
fn add_first(sum: &mut Option<Tensor>, more: Tensor, rows: usize) -> Result<()> {
    *sum = Some(match sum.take() {
        Some(sum) => {
            let missing = rows - more.dim(1)?;
            (sum + more.pad_with_zeros(1, 0, missing)?)?
        }
        None => more,
    });
    Ok(())
}
