//! A transformer's layer: forwards, and back by hand.
//!
//! No graph is recorded: frozen weights never get a gradient, nothing recurses, and whether what a layer saw is kept or
//! computed again is the caller's choice. Must not know losses.

use candle_core::{Result, Tensor};

use super::arch::Arch;
use super::attention::{Heads, Rope, join, split};
use super::lora::{Adapter, Apply, Dropout, Group, Kind, Seen};
use super::ops;
use super::weights::LayerWeights;

/// A layer with everything it needs.
pub(super) struct Layer<'a> {
    pub(super) arch: &'a Arch,
    pub(super) weights: &'a LayerWeights,
    pub(super) adapter: &'a Adapter,
    pub(super) index: usize,
    pub(super) rope: &'a Rope,
    pub(super) dropout: Option<Dropout>,
}

/// What the way back needs.
pub(super) struct Cache {
    /// The layer's input.
    x: Tensor,
    /// The residual stream after attention.
    mid: Tensor,
    heads: Heads,
    /// Queries and keys before their norms, where they have some.
    raw: Option<(Tensor, Tensor)>,
    /// What attention gave, where its matrix is trained.
    attended: Option<Tensor>,
    gate_up: Tensor,
    seen: [Option<Seen>; 4],
}

impl Layer<'_> {
    fn group(&self, kind: Kind) -> Option<&Group> {
        self.adapter.groups.get(self.index)?[kind as usize].as_ref()
    }

    fn apply(&self, kind: Kind) -> Apply<'_> {
        Apply {
            linear: &self.weights.linears[kind as usize],
            group: self.group(kind),
            rank: self.adapter.rank,
            scale: self.adapter.scale,
            dropout: self.dropout.map(|dropout| (dropout, [self.index as u64, kind as u64])),
        }
    }

    /// `[rows, width]` -> the same.
    pub(super) fn forward(&self, x: &Tensor) -> Result<(Tensor, Cache)> {
        let (arch, eps) = (self.arch, self.arch.eps);
        let normed = ops::rms_norm(x, &self.weights.attn_norm, eps)?;
        let (qkv, seen_qkv) = self.apply(Kind::Qkv).forward(&normed)?;
        let (heads, raw) = self.heads(&qkv)?;
        drop(qkv);
        let attended = heads.forward()?;
        let (added, seen_output) = self.apply(Kind::Output).forward(&attended)?;
        let mid = (x + added)?;
        let normed = ops::rms_norm(&mid, &self.weights.ffn_norm, eps)?;
        let (gate_up, seen_gate_up) = self.apply(Kind::GateUp).forward(&normed)?;
        debug_assert_eq!(gate_up.dim(1)?, 2 * arch.inner);
        let (added, seen_down) = self.apply(Kind::Down).forward(&ops::swiglu(&gate_up)?)?;
        let y = (&mid + added)?;
        let cache = Cache {
            x: x.clone(),
            mid,
            heads,
            raw,
            attended: self.group(Kind::Output).map(|_| attended),
            gate_up,
            seen: [seen_qkv, seen_output, seen_gate_up, seen_down],
        };
        Ok((y, cache))
    }

    /// Queries, keys and values as attention takes them, and what norms were given.
    fn heads(&self, qkv: &Tensor) -> Result<(Heads, Option<(Tensor, Tensor)>)> {
        let (arch, hd) = (self.arch, self.arch.head_width);
        let q = split(qkv, 0, arch.heads, hd)?;
        let k = split(qkv, arch.query_width(), arch.kv_heads, hd)?;
        let v = split(qkv, arch.query_width() + arch.kv_width(), arch.kv_heads, hd)?;
        let turned = |q: &Tensor, k: &Tensor, v: Tensor| -> Result<Heads> {
            Ok(Heads {
                q: self.rope.turn(q, false)?,
                k: self.rope.turn(k, false)?,
                v,
            })
        };
        match &self.weights.head_norms {
            Some((q_norm, k_norm)) => {
                let normed_q = ops::rms_norm(&q, q_norm, arch.eps)?;
                let normed_k = ops::rms_norm(&k, k_norm, arch.eps)?;
                Ok((turned(&normed_q, &normed_k, v)?, Some((q, k))))
            }
            None => Ok((turned(&q, &k, v)?, None)),
        }
    }

    /// From the gradient of what the layer gave to that of what it was given, if that is wanted; the trained tensors'
    /// are added to `gradients`.
    pub(super) fn backward(
        &self,
        cache: Cache,
        dy: Tensor,
        wants_dx: bool,
        gradients: &mut [Option<Tensor>],
    ) -> Result<Option<Tensor>> {
        let eps = self.arch.eps;
        // What is worth a gradient depends on what is trained before it.
        let wants_qkv = wants_dx || self.group(Kind::Qkv).is_some();
        let wants_attended = wants_qkv || self.group(Kind::Output).is_some();
        let wants_gate_up = wants_attended || self.group(Kind::GateUp).is_some();
        let [seen_qkv, seen_output, seen_gate_up, seen_down] = &cache.seen;

        let d_inner = self.apply(Kind::Down).backward(
            &mut || ops::swiglu(&cache.gate_up),
            &dy,
            seen_down.as_ref(),
            wants_gate_up,
            gradients,
        )?;
        let Some(d_inner) = d_inner else { return Ok(None) };
        let d_gate_up = ops::swiglu_backward(&cache.gate_up, &d_inner)?;
        drop(d_inner);
        let d_normed = self.apply(Kind::GateUp).backward(
            &mut || ops::rms_norm(&cache.mid, &self.weights.ffn_norm, eps),
            &d_gate_up,
            seen_gate_up.as_ref(),
            wants_attended,
            gradients,
        )?;
        drop(d_gate_up);
        let Some(d_normed) = d_normed else { return Ok(None) };
        let d_mid = (dy + ops::rms_norm_backward(&cache.mid, &self.weights.ffn_norm, &d_normed, eps)?)?;
        drop(d_normed);

        let d_attended = self.apply(Kind::Output).backward(
            &mut || match &cache.attended {
                Some(attended) => Ok(attended.clone()),
                None => cache.heads.forward(),
            },
            &d_mid,
            seen_output.as_ref(),
            wants_qkv,
            gradients,
        )?;
        let Some(d_attended) = d_attended else { return Ok(None) };
        let d_qkv = self.heads_backward(&cache, &d_attended)?;
        let d_normed = self.apply(Kind::Qkv).backward(
            &mut || ops::rms_norm(&cache.x, &self.weights.attn_norm, eps),
            &d_qkv,
            seen_qkv.as_ref(),
            wants_dx,
            gradients,
        )?;
        match d_normed {
            Some(d_normed) => {
                let dx = (d_mid + ops::rms_norm_backward(&cache.x, &self.weights.attn_norm, &d_normed, eps)?)?;
                Ok(Some(dx))
            }
            None => Ok(None),
        }
    }

    fn heads_backward(&self, cache: &Cache, d_attended: &Tensor) -> Result<Tensor> {
        let d = cache.heads.backward(d_attended)?;
        let mut dq = self.rope.turn(&d.q, true)?;
        let mut dk = self.rope.turn(&d.k, true)?;
        if let (Some((q, k)), Some((q_norm, k_norm))) = (&cache.raw, &self.weights.head_norms) {
            dq = ops::rms_norm_backward(q, q_norm, &dq, self.arch.eps)?;
            dk = ops::rms_norm_backward(k, k_norm, &dk, self.arch.eps)?;
        }
        Tensor::cat(&[join(&dq)?, join(&dk)?, join(&d.v)?], 1)
    }
}
