//! What the head of an adapter's file says, and everything that can be wrong with it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::Path;

use half::{bf16, f16};

use super::super::chat::LlmError;
use super::super::gguf::{Header, Tensor, Value, tensor_type};
use crate::protocol::sanitize::clean_line;

/// Endings of the two halves' names.
pub(super) const A: &str = ".lora_a";
pub(super) const B: &str = ".lora_b";
/// The key that only adapters with invocation tokens have.
const ALORA: &str = "adapter.alora.invocation_tokens";
/// Characters of a name that are shown at most.
const SHOWN: usize = 80;

const FETCH_AGAIN: &str = "copy or make the adapter again";
const CONVERT: &str =
    "convert it again with a current llama.cpp, or bring PEFT's folder in with `automem adapter import`";

/// Why an adapter cannot be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) cause: String,
    pub(super) hint: String,
}

impl Fault {
    pub(super) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn io(error: &io::Error) -> Self {
        Self::new(
            format!("it cannot be read: {error}"),
            "check the path and its permissions",
        )
    }

    pub(super) fn of_file(self, path: &Path) -> LlmError {
        LlmError::File {
            path: path.display().to_string(),
            cause: self.cause,
            hint: self.hint,
        }
    }
}

/// A name from a file, safe to show and not too long.
pub(super) fn shown(name: &str) -> String {
    let clean = clean_line(name);
    match clean.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean.into_owned(),
    }
}

/// An adapter as its head describes it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) architecture: String,
    pub(super) alpha: f32,
    pub(super) base: Option<String>,
    /// In the order of the file.
    pub(super) pairs: Vec<DescribedPair>,
}

/// Two tensors that belong together.
#[derive(Debug)]
pub(super) struct DescribedPair {
    pub(super) target: String,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) rank: usize,
    pub(super) a: Half,
    pub(super) b: Half,
}

/// Where one tensor's numbers lie.
#[derive(Debug, Clone)]
pub(super) struct Half {
    name: String,
    /// Columns and rows.
    extents: (usize, usize),
    kind: Kind,
    /// First byte in the file.
    pub(super) start: u64,
    /// Bytes it takes.
    pub(super) bytes: u64,
}

/// How the numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    F16,
    Bf16,
}

impl Described {
    /// Reads it off a head.
    pub(super) fn of(header: &Header) -> Result<Self, Fault> {
        check_kind(header)?;
        let architecture = header
            .text("general.architecture")
            .filter(|name| !name.is_empty())
            .ok_or_else(|| Fault::new("it does not name the architecture of its model", CONVERT))?;
        Ok(Self {
            architecture: architecture.to_owned(),
            alpha: alpha(header)?,
            base: header.text("general.base_model.0.name").map(str::to_owned),
            pairs: pairs(header)?,
        })
    }
}

fn check_kind(header: &Header) -> Result<(), Fault> {
    match header.text("general.type") {
        Some("adapter") => {}
        None | Some("model") => {
            return Err(Fault::new(
                "it is a model and no LoRA adapter",
                "give the adapter's file here, and the model where the model goes",
            ));
        }
        Some(other) => {
            return Err(Fault::new(
                format!("it is no LoRA adapter (its general.type is `{}`)", shown(other)),
                "give the file of a LoRA adapter",
            ));
        }
    }
    let kind = header.text("adapter.type").unwrap_or_default();
    if kind == "alora" || header.metadata.contains_key(ALORA) {
        return Err(Fault::new(
            "it is an activated LoRA (aLoRA), which works from certain tokens on only",
            "give a plain LoRA adapter: a specialist answers whole turns",
        ));
    }
    match kind {
        "lora" => Ok(()),
        "" => Err(Fault::new(
            "it does not say what kind of adapter it is (no adapter.type)",
            CONVERT,
        )),
        other => Err(Fault::new(
            format!("it is an adapter of the unknown type `{}`", shown(other)),
            "only LoRA adapters (adapter.type `lora`) can be used",
        )),
    }
}

fn alpha(header: &Header) -> Result<f32, Fault> {
    let alpha = match header.metadata.get("adapter.lora.alpha") {
        Some(Value::Float(alpha)) => *alpha as f32,
        Some(_) => {
            return Err(Fault::new(
                "its adapter.lora.alpha is no floating-point number",
                CONVERT,
            ));
        }
        None => return Err(Fault::new("it has no adapter.lora.alpha", CONVERT)),
    };
    if alpha.is_finite() && alpha > 0.0 {
        Ok(alpha)
    } else {
        Err(Fault::new(
            format!("its adapter.lora.alpha is {alpha}, so it would change nothing or everything"),
            CONVERT,
        ))
    }
}

fn pairs(header: &Header) -> Result<Vec<DescribedPair>, Fault> {
    let mut halves: BTreeMap<&str, [Option<Half>; 2]> = BTreeMap::new();
    let mut order = Vec::new();
    for tensor in &header.tensors {
        let (target, side) = match (tensor.name.strip_suffix(A), tensor.name.strip_suffix(B)) {
            (Some(target), _) if !target.is_empty() => (target, 0),
            (_, Some(target)) if !target.is_empty() => (target, 1),
            _ => {
                return Err(Fault::new(
                    format!("its tensor `{}` belongs to no LoRA pair", shown(&tensor.name)),
                    format!("only tensors that end in `{A}` and `{B}` are used; train without other modules"),
                ));
            }
        };
        let half = Half::of(tensor, header.data_start)?;
        let both = match halves.entry(target) {
            Entry::Vacant(entry) => {
                order.push(target);
                entry.insert([None, None])
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if both[side].replace(half).is_some() {
            return Err(Fault::new(
                format!("it holds the tensor `{}` twice", shown(&tensor.name)),
                FETCH_AGAIN,
            ));
        }
    }
    if order.is_empty() {
        return Err(Fault::new("it holds no tensors", FETCH_AGAIN));
    }
    let pair = |target: &str| {
        let missing = |side: &str| {
            Fault::new(
                format!("`{}{side}` is missing: half of a pair is there", shown(target)),
                FETCH_AGAIN,
            )
        };
        let [a, b] = halves.remove(target).unwrap_or_default();
        let (a, b) = (a.ok_or_else(|| missing(A))?, b.ok_or_else(|| missing(B))?);
        DescribedPair::of(target, a, b)
    };
    order.into_iter().map(pair).collect()
}

impl DescribedPair {
    fn of(target: &str, a: Half, b: Half) -> Result<Self, Fault> {
        let ((inputs, rank), (rank_b, outputs)) = (a.extents, b.extents);
        if rank != rank_b {
            let cause = format!(
                "the halves of `{}` do not agree: {A} has rank {rank}, {B} has rank {rank_b}",
                shown(target)
            );
            return Err(Fault::new(cause, CONVERT));
        }
        Ok(Self {
            target: target.to_owned(),
            inputs,
            outputs,
            rank,
            a,
            b,
        })
    }
}

impl Half {
    fn of(tensor: &Tensor, data_start: u64) -> Result<Self, Fault> {
        let name = shown(&tensor.name);
        // The largest number of extents is what the reader allows; those past the second must be 1.
        let extent = |at: usize| usize::try_from(tensor.dims.get(at).copied().unwrap_or(1)).unwrap_or(0);
        let more = tensor.dims.iter().skip(2).any(|extent| *extent != 1);
        if tensor.dims.len() < 2 || more {
            return Err(Fault::new(
                format!("its tensor `{name}` is no matrix (extents {:?})", tensor.dims),
                "adapters of mixture-of-experts layers cannot be used; train on dense layers only",
            ));
        }
        if extent(0) == 0 || extent(1) == 0 {
            return Err(Fault::new(
                format!("its tensor `{name}` has impossible extents {:?}", tensor.dims),
                FETCH_AGAIN,
            ));
        }
        let kind = match tensor.kind {
            0 => Kind::F32,
            1 => Kind::F16,
            30 => Kind::Bf16,
            other => {
                let kind = tensor_type(other).map_or_else(|| format!("type {other}"), |kind| kind.name.to_owned());
                return Err(Fault::new(
                    format!("its tensor `{name}` is quantised as {kind}"),
                    "adapters are read as F32, F16 or BF16; convert it with `--outtype f32`",
                ));
            }
        };
        Ok(Self {
            name: tensor.name.clone(),
            extents: (extent(0), extent(1)),
            kind,
            start: data_start.saturating_add(tensor.offset),
            bytes: tensor.bytes().unwrap_or(0),
        })
    }

    /// The numbers that these bytes are.
    pub(super) fn numbers(&self, bytes: &[u8]) -> Result<Vec<f32>, Fault> {
        let numbers: Vec<f32> = match self.kind {
            Kind::F32 => {
                let (all, _) = bytes.as_chunks::<4>();
                all.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
            Kind::F16 => {
                let (all, _) = bytes.as_chunks::<2>();
                all.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect()
            }
            Kind::Bf16 => {
                let (all, _) = bytes.as_chunks::<2>();
                all.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect()
            }
        };
        if Some(numbers.len()) != self.extents.0.checked_mul(self.extents.1) {
            return Err(Fault::new(
                format!("it is cut off inside of `{}`", shown(&self.name)),
                FETCH_AGAIN,
            ));
        }
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(at) => Err(not_finite(&self.name, at, numbers[at])),
        }
    }
}

/// A number that cannot be computed with.
pub(super) fn not_finite(name: &str, at: usize, number: f32) -> Fault {
    Fault::new(
        format!("number {at} of `{}` is {number}", shown(name)),
        "the training went wrong: train again with a lower learning rate",
    )
}
