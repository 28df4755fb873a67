//! The trainable matrices: what they are called, how they start, what they add, their gradients.
//!
//! Matrices that are multiplied with the same input (query, key and value; gate and up) share one product with their As.
//! Must not know optimisers or files.

use std::collections::BTreeSet;

use candle_core::{DType, Device, Result, Tensor};

use super::arch::Arch;
use super::random::Random;
use super::weights::Linear;

/// A group of matrices with the same input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Qkv,
    Output,
    GateUp,
    Down,
}

/// A matrix by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Module {
    /// PEFT's.
    pub(super) peft: &'static str,
    /// GGUF's, inside of a layer.
    pub(super) gguf: &'static str,
}

const fn module(peft: &'static str, gguf: &'static str) -> Module {
    Module { peft, gguf }
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Qkv, Self::Output, Self::GateUp, Self::Down];

    pub(super) fn modules(self) -> &'static [Module] {
        const QKV: [Module; 3] = [
            module("q_proj", "attn_q"),
            module("k_proj", "attn_k"),
            module("v_proj", "attn_v"),
        ];
        const OUTPUT: [Module; 1] = [module("o_proj", "attn_output")];
        const GATE_UP: [Module; 2] = [module("gate_proj", "ffn_gate"), module("up_proj", "ffn_up")];
        const DOWN: [Module; 1] = [module("down_proj", "ffn_down")];
        match self {
            Self::Qkv => &QKV,
            Self::Output => &OUTPUT,
            Self::GateUp => &GATE_UP,
            Self::Down => &DOWN,
        }
    }

    /// Outputs of each of its matrices.
    pub(super) fn widths(self, arch: &Arch) -> Vec<usize> {
        match self {
            Self::Qkv => vec![arch.query_width(), arch.kv_width(), arch.kv_width()],
            Self::Output | Self::Down => vec![arch.width],
            Self::GateUp => vec![arch.inner; 2],
        }
    }

    /// Outputs of all of its matrices.
    pub(super) fn outputs(self, arch: &Arch) -> usize {
        self.widths(arch).iter().sum()
    }

    /// Inputs of each.
    pub(super) fn inputs(self, arch: &Arch) -> usize {
        match self {
            Self::Qkv | Self::GateUp => arch.width,
            Self::Output => arch.query_width(),
            Self::Down => arch.inner,
        }
    }
}

/// The As and Bs of a group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// `[matrices * rank, inputs]`.
    pub(super) a: Tensor,
    pub(super) parts: Vec<Part>,
    /// Place of `a` among all trainable tensors; the Bs follow.
    pub(super) first: usize,
}

/// One matrix of a group.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Which.
    pub(super) module: Module,
    /// Its first output among the group's.
    pub(super) offset: usize,
    /// `[outputs, rank]`.
    pub(super) b: Tensor,
}

/// A whole adapter.
#[derive(Debug, Clone)]
pub(super) struct Adapter {
    /// By layer and [`Kind`].
    pub(super) groups: Vec<[Option<Group>; 4]>,
    pub(super) rank: usize,
    /// alpha / rank.
    pub(super) scale: f64,
    /// How many tensors are trained.
    pub(super) count: usize,
}

/// How inputs are left out at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dropout {
    /// Share that is left out.
    pub(super) share: f64,
    /// Where the random numbers begin: another one for each conversation of each update.
    pub(super) seed: u64,
}

impl Adapter {
    /// A new one, which changes nothing yet: A as PEFT starts it (Kaiming-uniform with a = sqrt 5, which is uniform in
    /// +-1/sqrt(inputs)), B zero.
    pub(super) fn new(
        arch: &Arch,
        modules: &BTreeSet<String>,
        rank: usize,
        alpha: f64,
        seed: u64,
        place: (DType, &Device),
    ) -> Result<Self> {
        let (dtype, device) = place;
        let mut random = Random::of(seed, &[0x11]);
        let mut count = 0;
        let mut groups = Vec::with_capacity(arch.layers);
        for _ in 0..arch.layers {
            let mut of_layer = [None, None, None, None];
            for (slot, kind) in of_layer.iter_mut().zip(Kind::ALL) {
                let inputs = kind.inputs(arch);
                let bound = 1.0 / (inputs as f64).sqrt();
                let (mut parts, mut a, mut offset) = (Vec::new(), Vec::new(), 0);
                for (module, width) in kind.modules().iter().zip(kind.widths(arch)) {
                    if modules.contains(module.peft) {
                        a.extend((0..rank * inputs).map(|_| ((random.uniform() * 2.0 - 1.0) * bound) as f32));
                        parts.push(Part {
                            module: *module,
                            offset,
                            b: Tensor::zeros((width, rank), dtype, device)?,
                        });
                    }
                    offset += width;
                }
                if !parts.is_empty() {
                    let rows = parts.len() * rank;
                    let a = Tensor::from_vec(a, (rows, inputs), device)?.to_dtype(dtype)?;
                    let first = count;
                    count += 1 + parts.len();
                    *slot = Some(Group { a, parts, first });
                }
            }
            groups.push(of_layer);
        }
        Ok(Self {
            groups,
            rank,
            scale: alpha / rank as f64,
            count,
        })
    }

    /// All trainable tensors, in their order.
    pub(super) fn tensors(&self) -> Vec<&Tensor> {
        self.groups
            .iter()
            .flatten()
            .flatten()
            .flat_map(|group| std::iter::once(&group.a).chain(group.parts.iter().map(|part| &part.b)))
            .collect()
    }

    /// The same, to be replaced.
    pub(super) fn tensors_mut(&mut self) -> Vec<&mut Tensor> {
        self.groups
            .iter_mut()
            .flatten()
            .flatten()
            .flat_map(|group| std::iter::once(&mut group.a).chain(group.parts.iter_mut().map(|part| &mut part.b)))
            .collect()
    }

    /// Trainable numbers.
    pub(super) fn parameters(&self) -> u64 {
        self.tensors().iter().map(|tensor| tensor.elem_count() as u64).sum()
    }

    /// The first layer that has a matrix that is trained; nothing before it needs a gradient.
    pub(super) fn first_layer(&self) -> usize {
        let trained = |groups: &[Option<Group>; 4]| groups.iter().any(Option::is_some);
        self.groups.iter().position(trained).unwrap_or(self.groups.len())
    }
}

/// What has to be known of the way forwards to go back.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The scaled product with the As: `[rows, matrices * rank]`.
    z: Tensor,
}

/// A group of matrices, frozen and trained, applied to `x` `[rows, inputs]`.
pub(super) struct Apply<'a> {
    pub(super) linear: &'a Linear,
    pub(super) group: Option<&'a Group>,
    pub(super) rank: usize,
    pub(super) scale: f64,
    /// With the place (layer and kind), for its own random numbers.
    pub(super) dropout: Option<(Dropout, [u64; 2])>,
}

impl Apply<'_> {
    pub(super) fn forward(&self, x: &Tensor) -> Result<(Tensor, Option<Seen>)> {
        let mut y = x.matmul(&self.linear.weight.t()?)?;
        if let Some(bias) = &self.linear.bias {
            y = y.broadcast_add(bias)?;
        }
        let Some(group) = self.group else { return Ok((y, None)) };
        let z = (self.dropped(x)?.matmul(&group.a.t()?)? * self.scale)?;
        let mut columns = Vec::new();
        let mut at = 0;
        for (index, part) in group.parts.iter().enumerate() {
            // Outputs before this matrix that get nothing.
            self.gap(&mut columns, at, part.offset, &y)?;
            columns.push(self.of_part(&z, index)?.matmul(&part.b.t()?)?);
            at = part.offset + part.b.dim(0)?;
        }
        self.gap(&mut columns, at, y.dim(1)?, &y)?;
        let added = match columns.as_slice() {
            [one] => one.clone(),
            _ => Tensor::cat(&columns, 1)?,
        };
        Ok(((y + added)?, Some(Seen { z })))
    }

    fn gap(&self, columns: &mut Vec<Tensor>, from: usize, to: usize, like: &Tensor) -> Result<()> {
        if to > from {
            columns.push(Tensor::zeros((like.dim(0)?, to - from), like.dtype(), like.device())?);
        }
        Ok(())
    }

    fn of_part(&self, z: &Tensor, index: usize) -> Result<Tensor> {
        z.narrow(1, index * self.rank, self.rank)?.contiguous()
    }

    /// The gradient for `x`, if it is asked for, and those of the group's tensors are added to `gradients`. `x` is only
    /// asked for when something here is trained.
    pub(super) fn backward(
        &self,
        x: &mut dyn FnMut() -> Result<Tensor>,
        dy: &Tensor,
        seen: Option<&Seen>,
        wants_dx: bool,
        gradients: &mut [Option<Tensor>],
    ) -> Result<Option<Tensor>> {
        let dx = if wants_dx {
            Some(dy.matmul(&self.linear.weight)?)
        } else {
            None
        };
        let (Some(group), Some(seen)) = (self.group, seen) else {
            return Ok(dx);
        };
        let mut dz = Vec::with_capacity(group.parts.len());
        for (index, part) in group.parts.iter().enumerate() {
            let dy = dy.narrow(1, part.offset, part.b.dim(0)?)?.contiguous()?;
            let db = dy.t()?.matmul(&self.of_part(&seen.z, index)?)?;
            add(&mut gradients[group.first + 1 + index], db)?;
            dz.push((dy.matmul(&part.b)? * self.scale)?);
        }
        let dz = match dz.as_slice() {
            [one] => one.clone(),
            _ => Tensor::cat(&dz, 1)?,
        };
        let da = dz.t()?.matmul(&self.dropped(&x()?)?)?;
        add(&mut gradients[group.first], da)?;
        match dx {
            Some(dx) => Ok(Some((dx + self.dropped(&dz.matmul(&group.a)?)?)?)),
            None => Ok(None),
        }
    }

    /// The input with some of it left out; the same ones on the way back.
    fn dropped(&self, x: &Tensor) -> Result<Tensor> {
        let Some((dropout, place)) = self.dropout.filter(|(dropout, _)| dropout.share > 0.0) else {
            return Ok(x.clone());
        };
        let mut random = Random::of(dropout.seed, &place);
        let kept = (1.0 / (1.0 - dropout.share)) as f32;
        let mask: Vec<f32> = (0..x.elem_count())
            .map(|_| if random.uniform() < dropout.share { 0.0 } else { kept })
            .collect();
        x * Tensor::from_vec(mask, x.shape(), x.device())?.to_dtype(x.dtype())?
    }
}

fn add(sum: &mut Option<Tensor>, more: Tensor) -> Result<()> {
    *sum = Some(match sum.take() {
        Some(sum) => (sum + more)?,
        None => more,
    });
    Ok(())
}
