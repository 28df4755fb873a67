//! The table of ggml's tensor types and of llama.cpp's file types.

/// How a tensor type is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorType {
    /// Its name, as llama.cpp writes it.
    pub name: &'static str,
    /// Elements in a block.
    pub block: u64,
    /// Bytes in a block.
    pub bytes: u64,
}

const fn kind(name: &'static str, block: u64, bytes: u64) -> Option<TensorType> {
    Some(TensorType { name, block, bytes })
}

/// The type with this number; `None` for one that is not known here or was removed from the format.
pub fn tensor_type(number: u32) -> Option<TensorType> {
    match number {
        0 => kind("F32", 1, 4),
        1 => kind("F16", 1, 2),
        2 => kind("Q4_0", 32, 18),
        3 => kind("Q4_1", 32, 20),
        6 => kind("Q5_0", 32, 22),
        7 => kind("Q5_1", 32, 24),
        8 => kind("Q8_0", 32, 34),
        9 => kind("Q8_1", 32, 36),
        10 => kind("Q2_K", 256, 84),
        11 => kind("Q3_K", 256, 110),
        12 => kind("Q4_K", 256, 144),
        13 => kind("Q5_K", 256, 176),
        14 => kind("Q6_K", 256, 210),
        15 => kind("Q8_K", 256, 292),
        16 => kind("IQ2_XXS", 256, 66),
        17 => kind("IQ2_XS", 256, 74),
        18 => kind("IQ3_XXS", 256, 98),
        19 => kind("IQ1_S", 256, 50),
        20 => kind("IQ4_NL", 32, 18),
        21 => kind("IQ3_S", 256, 110),
        22 => kind("IQ2_S", 256, 82),
        23 => kind("IQ4_XS", 256, 136),
        24 => kind("I8", 1, 1),
        25 => kind("I16", 1, 2),
        26 => kind("I32", 1, 4),
        27 => kind("I64", 1, 8),
        28 => kind("F64", 1, 8),
        29 => kind("IQ1_M", 256, 56),
        30 => kind("BF16", 1, 2),
        34 => kind("TQ1_0", 256, 54),
        35 => kind("TQ2_0", 256, 66),
        39 => kind("MXFP4", 32, 17),
        40 => kind("NVFP4", 64, 36),
        _ => None,
    }
}

/// The quantisation that `general.file_type` names.
pub fn file_type_name(number: u64) -> Option<&'static str> {
    Some(match number {
        0 => "F32",
        1 => "F16",
        2 => "Q4_0",
        3 => "Q4_1",
        7 => "Q8_0",
        8 => "Q5_0",
        9 => "Q5_1",
        10 => "Q2_K",
        11 => "Q3_K_S",
        12 => "Q3_K_M",
        13 => "Q3_K_L",
        14 => "Q4_K_S",
        15 => "Q4_K_M",
        16 => "Q5_K_S",
        17 => "Q5_K_M",
        18 => "Q6_K",
        19 => "IQ2_XXS",
        20 => "IQ2_XS",
        21 => "Q2_K_S",
        22 => "IQ3_XS",
        23 => "IQ3_XXS",
        24 => "IQ1_S",
        25 => "IQ4_NL",
        26 => "IQ3_S",
        27 => "IQ3_M",
        28 => "IQ2_S",
        29 => "IQ2_M",
        30 => "IQ4_XS",
        31 => "IQ1_M",
        32 => "BF16",
        36 => "TQ1_0",
        37 => "TQ2_0",
        38 => "MXFP4",
        39 => "NVFP4",
        _ => return None,
    })
}
