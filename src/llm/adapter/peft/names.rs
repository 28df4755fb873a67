//! PEFT's names of matrices and llama.cpp's.

/// What stands before a module's own path.
const PREFIX: &str = "base_model.model.";
/// Before the number of a layer.
const LAYERS: &str = "model.layers.";
/// The head that turns the last layer's output into tokens.
const HEAD: (&str, &str) = ("lm_head", "output.weight");
/// Modules of a layer: PEFT's path, llama.cpp's name.
const MODULES: [(&str, &str); 7] = [
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// Which half of a pair a tensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    /// The ending of its name.
    fn ending(self) -> &'static str {
        match self {
            Self::A => ".lora_A.weight",
            Self::B => ".lora_B.weight",
        }
    }
}

/// The module and half that a tensor's name means: `model.layers.0.self_attn.q_proj`, A.
pub(super) fn module_of(tensor: &str) -> Option<(&str, Side)> {
    let path = tensor.strip_prefix(PREFIX)?;
    [Side::A, Side::B]
        .into_iter()
        .find_map(|side| Some((path.strip_suffix(side.ending())?, side)))
}

/// The tensor's name of a module's half.
pub(super) fn tensor_of(module: &str, side: Side) -> String {
    format!("{PREFIX}{module}{}", side.ending())
}

/// llama.cpp's name of the matrix of a module.
pub(super) fn target_of(module: &str) -> Option<String> {
    if module == HEAD.0 {
        return Some(HEAD.1.to_owned());
    }
    let (layer, path) = module.strip_prefix(LAYERS)?.split_once('.')?;
    let layer: u32 = layer.parse().ok()?;
    let (_, name) = MODULES.iter().find(|(known, _)| *known == path)?;
    Some(format!("blk.{layer}.{name}.weight"))
}

/// The module of llama.cpp's matrix.
pub(super) fn module_for(target: &str) -> Option<String> {
    if target == HEAD.1 {
        return Some(HEAD.0.to_owned());
    }
    let (layer, name) = target.strip_prefix("blk.")?.strip_suffix(".weight")?.split_once('.')?;
    let layer: u32 = layer.parse().ok()?;
    let (path, _) = MODULES.iter().find(|(_, known)| *known == name)?;
    Some(format!("{LAYERS}{layer}.{path}"))
}

/// Where a module stands among those of a layer, by the last part of its path.
pub(super) fn order(short_name: &str) -> usize {
    let known = MODULES.iter().position(|(path, _)| short(path) == short_name);
    known.unwrap_or(MODULES.len())
}

/// The last part of a module's path, by which PEFT's settings name it: `q_proj`.
pub(super) fn short(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or(module)
}
