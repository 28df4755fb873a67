//! What a model file says about its shape, and whether the trainer can do what it says.
//!
//! Owns the list of architectures, tensors and types that are supported. What is not on it is refused by name: a part
//! that were left out would train the adapter of another model. Must not read weights.

use std::path::Path;

use super::super::TrainError;
use crate::llm::gguf::{Header, Tensor, Value, tensor_type};

/// Architectures, and whether their rotary embedding turns neighbours instead of halves.
const ARCHITECTURES: [(&str, bool); 3] = [("llama", true), ("qwen2", false), ("qwen3", false)];

/// Types of tensors that can be read.
const TYPES: [&str; 14] = [
    "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K",
];

/// Metadata that would change what is computed, unless it is 0 or what stands beside it.
const REFUSED: [(&str, f64); 12] = [
    ("expert_count", 0.0),
    ("attention.scale", 0.0),
    ("attention.clamp_kqv", 0.0),
    ("attention.sliding_window", 0.0),
    ("attention.temperature_length", 0.0),
    ("attn_logit_softcapping", 0.0),
    ("final_logit_softcapping", 0.0),
    ("logit_scale", 1.0),
    ("residual_scale", 1.0),
    ("embedding_scale", 1.0),
    ("rope.scaling.attn_factor", 1.0),
    ("rope.scaling.alpha", 1.0),
];

/// A model's shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arch {
    /// Its name, as the adapter must have it.
    pub(super) name: String,
    /// Layers.
    pub(super) layers: usize,
    /// Width of the residual stream.
    pub(super) width: usize,
    /// Heads of queries.
    pub(super) heads: usize,
    /// Heads of keys and values.
    pub(super) kv_heads: usize,
    /// Width of a head.
    pub(super) head_width: usize,
    /// Width inside the feed-forward part.
    pub(super) inner: usize,
    /// Tokens of the vocabulary.
    pub(super) vocabulary: usize,
    /// What is added under the root of a norm.
    pub(super) eps: f64,
    /// Base of the rotary embedding.
    pub(super) rope_base: f64,
    /// Positions are divided by this.
    pub(super) rope_divisor: f64,
    /// The rotary embedding turns neighbours, not halves.
    pub(super) interleaved: bool,
    /// Tokens the model was trained to see at once.
    pub(super) context: Option<usize>,
}

impl Arch {
    /// Reads and checks a model's head.
    ///
    /// # Errors
    /// What the trainer cannot do, by name, with what it can.
    pub(super) fn read(path: &Path, header: &Header) -> Result<Self, TrainError> {
        read(header).map_err(|(what, hint)| TrainError::Unfit {
            what: format!("{}: {what}", path.display()),
            hint,
        })
    }

    /// Width of all queries.
    pub(super) fn query_width(&self) -> usize {
        self.heads * self.head_width
    }

    /// Width of all keys, or values.
    pub(super) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_width
    }

    /// Name and extents, the slowest-running first, of each tensor: those that must be there and those that may be.
    fn tensors(&self) -> Vec<(String, Vec<usize>, bool)> {
        let (d, q, kv, f) = (self.width, self.query_width(), self.kv_width(), self.inner);
        let mut tensors = vec![
            ("token_embd.weight".to_owned(), vec![self.vocabulary, d], true),
            ("output_norm.weight".to_owned(), vec![d], true),
            ("output.weight".to_owned(), vec![self.vocabulary, d], false),
            ("rope_freqs.weight".to_owned(), vec![self.head_width / 2], false),
        ];
        let head_norms = self.name == "qwen3";
        for layer in 0..self.layers {
            let mut add = |name: &str, extents: &[usize], needed: bool| {
                tensors.push((format!("blk.{layer}.{name}"), extents.to_vec(), needed));
            };
            add("attn_norm.weight", &[d], true);
            add("attn_q.weight", &[q, d], true);
            add("attn_k.weight", &[kv, d], true);
            add("attn_v.weight", &[kv, d], true);
            add("attn_output.weight", &[d, q], true);
            add("attn_q.bias", &[q], false);
            add("attn_k.bias", &[kv], false);
            add("attn_v.bias", &[kv], false);
            add("attn_output.bias", &[d], false);
            add("ffn_norm.weight", &[d], true);
            add("ffn_gate.weight", &[f, d], true);
            add("ffn_up.weight", &[f, d], true);
            add("ffn_down.weight", &[d, f], true);
            if head_norms {
                add("attn_q_norm.weight", &[self.head_width], true);
                add("attn_k_norm.weight", &[self.head_width], true);
            }
        }
        tensors
    }
}

/// What is wrong, and what to do.
type Wrong = (String, String);

fn read(header: &Header) -> Result<Arch, Wrong> {
    let fetch = || "fetch the file again, or convert the model again".to_owned();
    if header.text("general.type") == Some("adapter") {
        return Err((
            "it is a LoRA adapter and no model".to_owned(),
            "give the base model".to_owned(),
        ));
    }
    let known: Vec<&str> = ARCHITECTURES.iter().map(|(name, _)| *name).collect();
    let name = header.text("general.architecture").unwrap_or("none").to_owned();
    let Some((_, interleaved)) = ARCHITECTURES.iter().find(|(known, _)| *known == name) else {
        return Err((
            format!("its architecture `{name}` is none that the native trainer knows"),
            format!(
                "it trains {}; train others at scale (`--backend llamafactory`)",
                known.join(", ")
            ),
        ));
    };
    let key = |key: &str| format!("{name}.{key}");
    let whole = |name: &str| -> Option<usize> {
        let number = usize::try_from(header.number(&key(name))?).ok()?;
        (number < 1 << 24).then_some(number)
    };
    let needed = |name: &str| -> Result<usize, Wrong> {
        whole(name)
            .filter(|number| *number > 0)
            .ok_or_else(|| (format!("it has no usable `{}`", key(name)), fetch()))
    };
    for (refused, neutral) in REFUSED {
        let value = header.metadata.get(&key(refused)).map(number_of);
        if value.is_some_and(|value| value != Some(0.0) && value != Some(neutral)) {
            return Err((
                format!("it uses `{}`, which the native trainer does not know", key(refused)),
                "take a model without it, or train at scale (`--backend llamafactory`)".to_owned(),
            ));
        }
    }
    let (width, heads) = (needed("embedding_length")?, needed("attention.head_count")?);
    let head_width = whole("attention.key_length").unwrap_or(width / heads);
    let float = |name: &str| header.metadata.get(&key(name)).and_then(number_of);
    let arch = Arch {
        layers: needed("block_count")?,
        width,
        heads,
        kv_heads: match header.metadata.get(&key("attention.head_count_kv")) {
            Some(_) => needed("attention.head_count_kv")?,
            None => heads,
        },
        head_width,
        inner: needed("feed_forward_length")?,
        vocabulary: vocabulary(header).ok_or_else(|| ("it has no token embeddings".to_owned(), fetch()))?,
        eps: float("attention.layer_norm_rms_epsilon")
            .filter(|eps| *eps > 0.0 && *eps < 1.0)
            .ok_or_else(|| {
                (
                    format!("it has no usable `{}`", key("attention.layer_norm_rms_epsilon")),
                    fetch(),
                )
            })?,
        rope_base: float("rope.freq_base").filter(|base| *base > 1.0).unwrap_or(10_000.0),
        rope_divisor: rope_divisor(header, &name)?,
        interleaved: *interleaved,
        context: whole("context_length"),
        name: name.clone(),
    };
    let value_width = whole("attention.value_length").unwrap_or(head_width);
    let turned = whole("rope.dimension_count").unwrap_or(head_width);
    if value_width != head_width || turned != head_width || head_width % 2 != 0 || head_width == 0 {
        return Err((
            format!(
                "its heads have {head_width} numbers for keys, {value_width} for values and turn {turned} by position; the native trainer needs one even number for all three"
            ),
            "take another model, or train at scale (`--backend llamafactory`)".to_owned(),
        ));
    }
    if !heads.is_multiple_of(arch.kv_heads) {
        return Err((
            format!("{heads} heads cannot share {} for keys", arch.kv_heads),
            fetch(),
        ));
    }
    // Layers without end would take long to list; each has tensors, so this bounds them by the file.
    if arch.layers > header.tensors.len() {
        return Err((format!("it has fewer tensors than layers ({})", arch.layers), fetch()));
    }
    check_tensors(header, &arch)?;
    Ok(arch)
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Unsigned(number) => Some(*number as f64),
        Value::Signed(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        Value::Text(_) | Value::Array { .. } => None,
    }
}

fn vocabulary(header: &Header) -> Option<usize> {
    let embeddings = header
        .tensors
        .iter()
        .find(|tensor| tensor.name == "token_embd.weight")?;
    usize::try_from(*embeddings.dims.get(1)?).ok()
}

fn rope_divisor(header: &Header, name: &str) -> Result<f64, Wrong> {
    let factor = header
        .metadata
        .get(&format!("{name}.rope.scaling.factor"))
        .or_else(|| header.metadata.get(&format!("{name}.rope.scale_linear")))
        .and_then(number_of)
        .filter(|factor| *factor > 0.0);
    // llama.cpp takes a factor without a kind for a linear one.
    match header.text(&format!("{name}.rope.scaling.type")).unwrap_or("linear") {
        "none" => Ok(1.0),
        "linear" => Ok(factor.unwrap_or(1.0)),
        other => Err((
            format!("its positions are scaled by `{other}`, which the native trainer does not know"),
            "it knows none, linear and Llama 3's frequencies; take another model, or train at scale (`--backend llamafactory`)"
                .to_owned(),
        )),
    }
}

fn check_tensors(header: &Header, arch: &Arch) -> Result<(), Wrong> {
    let listed = arch.tensors();
    for (name, extents, needed) in &listed {
        let found = header.tensors.iter().find(|tensor| tensor.name == *name);
        match found {
            Some(tensor) => check_tensor(tensor, extents)?,
            None if *needed => {
                return Err((
                    format!("it has no tensor `{name}`"),
                    "fetch the file again, or convert the model again".to_owned(),
                ));
            }
            None => {}
        }
    }
    let known: std::collections::BTreeSet<&str> = listed.iter().map(|(name, _, _)| name.as_str()).collect();
    match header
        .tensors
        .iter()
        .find(|tensor| !known.contains(tensor.name.as_str()))
    {
        Some(tensor) => Err((
            format!("its tensor `{}` is none that the native trainer knows", tensor.name),
            "take a model without it, or train at scale (`--backend llamafactory`)".to_owned(),
        )),
        None => Ok(()),
    }
}

fn check_tensor(tensor: &Tensor, extents: &[usize]) -> Result<(), Wrong> {
    let kind = tensor_type(tensor.kind).map_or_else(|| format!("type {}", tensor.kind), |kind| kind.name.to_owned());
    if !TYPES.contains(&kind.as_str()) {
        return Err((
            format!(
                "its tensor `{}` is stored as {kind}, which the native trainer cannot read",
                tensor.name
            ),
            format!(
                "it reads {}; `automem model optimize` writes a model in another one",
                TYPES.join(", ")
            ),
        ));
    }
    let expected: Vec<u64> = extents.iter().rev().map(|extent| *extent as u64).collect();
    if tensor.dims != expected {
        return Err((
            format!(
                "its tensor `{}` has the shape {:?}, but {expected:?} was expected",
                tensor.name, tensor.dims
            ),
            "convert the model again".to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::train::native::tests;

    #[test]
    fn every_architecture_is_read() {
        for name in ["llama", "qwen2", "qwen3"] {
            let header = tests::header(name);
            let arch = Arch::read(Path::new("m.gguf"), &header).unwrap();
            assert_eq!(arch.interleaved, name == "llama");
            assert_eq!((arch.heads, arch.kv_heads, arch.head_width), (4, 2, 8));
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let refused = |change: &dyn Fn(&mut Header)| {
            let mut header = tests::header("llama");
            change(&mut header);
            Arch::read(Path::new("m.gguf"), &header).unwrap_err().to_string()
        };
        let set = |key: &'static str, value: Value| {
            move |header: &mut Header| {
                header.metadata.insert(key.to_owned(), value.clone());
            }
        };
        let text = refused(&set("general.architecture", Value::Text("mamba".into())));
        assert!(
            text.contains("`mamba`") && text.contains("llama, qwen2, qwen3"),
            "{text}"
        );
        let text = refused(&set("llama.expert_count", Value::Unsigned(8)));
        assert!(text.contains("llama.expert_count"), "{text}");
        let text = refused(&set("llama.rope.scaling.type", Value::Text("yarn".into())));
        assert!(text.contains("`yarn`") && text.contains("linear"), "{text}");
        let text = refused(&set("llama.rope.dimension_count", Value::Unsigned(4)));
        assert!(text.contains("turn 4"), "{text}");
        let text = refused(&|header| header.tensors[5].kind = 16);
        assert!(text.contains("IQ2_XXS") && text.contains("Q4_K"), "{text}");
        let text = refused(&|header| header.tensors[5].kind = 99);
        assert!(text.contains("type 99"), "{text}");
        let text = refused(&|header| header.tensors[5].dims[0] += 1);
        assert!(text.contains("has the shape"), "{text}");
        let text = refused(&|header| header.tensors[5].name = "blk.0.ffn_gate_exps.weight".into());
        assert!(text.contains("no tensor") || text.contains("ffn_gate_exps"), "{text}");
        let text = refused(&|header| {
            let mut more = header.tensors[5].clone();
            more.name = "blk.0.attn_sinks.weight".into();
            header.tensors.push(more);
        });
        assert!(text.contains("`blk.0.attn_sinks.weight`"), "{text}");
        let text = refused(&set("general.type", Value::Text("adapter".into())));
        assert!(text.contains("LoRA adapter"), "{text}");
        let text = refused(&set("llama.block_count", Value::Unsigned(1 << 20)));
        assert!(text.contains("fewer tensors"), "{text}");
        let text = refused(&set(
            "llama.attention.head_count_kv",
            Value::Array {
                len: 2,
                items: Vec::new(),
            },
        ));
        assert!(text.contains("head_count_kv"), "{text}");
    }
}
