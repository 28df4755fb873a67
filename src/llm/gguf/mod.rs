//! Reads the head of a GGUF file: what the model is, and whether the file is whole.
//!
//! Owns the file format (GGUF versions 2 and 3, little endian; the `docs/gguf.md` of ggml). Must not load
//! weights, and must not trust a single number in the file: every count and length is held against
//! the bytes that are there.

mod info;
mod tensor_types;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub use info::ModelInfo;
pub use tensor_types::{TensorType, file_type_name, tensor_type};

use super::chat::LlmError;

/// Longest array that is kept; longer ones (vocabularies) are counted and skipped.
const KEPT_ARRAY: u64 = 64;
/// Longest text that is kept. Chat templates are the longest that matter.
const LONGEST_TEXT: u64 = 16 << 20;
/// Bytes a tensor's description takes at least, so that a count can be checked before it is believed.
const LEAST_TENSOR_BYTES: u64 = 24;
/// Bytes a metadata entry takes at least.
const LEAST_ENTRY_BYTES: u64 = 13;

/// A metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any unsigned integer.
    Unsigned(u64),
    /// Any signed integer.
    Signed(i64),
    /// Any floating-point number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A text; invalid UTF-8 is replaced.
    Text(String),
    /// An array: how many elements it has, and the elements themselves when they are few.
    Array {
        /// Number of elements.
        len: u64,
        /// The elements; empty when there are more than are kept.
        items: Vec<Value>,
    },
}

impl Value {
    /// The number, when it is one that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            Self::Signed(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The text, when it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A tensor's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its extents, the fastest-running first.
    pub dims: Vec<u64>,
    /// Its type's number.
    pub kind: u32,
    /// Where it starts, counted from the start of the data.
    pub offset: u64,
}

impl Tensor {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |product, dim| product.saturating_mul(*dim))
    }

    /// Bytes it takes in the file; `None` for a type this reader does not know.
    pub fn bytes(&self) -> Option<u64> {
        let kind = tensor_type(self.kind)?;
        Some(self.elements().div_ceil(kind.block).saturating_mul(kind.bytes))
    }
}

/// The head of a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Format version, 2 or 3.
    pub version: u32,
    /// Metadata by key.
    pub metadata: BTreeMap<String, Value>,
    /// All tensors.
    pub tensors: Vec<Tensor>,
    /// Where the tensors' data begins in the file.
    pub data_start: u64,
}

/// Why a file is not a usable GGUF file.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// It begins with something else.
    #[error("it is not a GGUF file (it begins with {0:?})")]
    Magic(String),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// A version nobody here can read.
    #[error("its GGUF version is {0}, but only versions 2 and 3 can be read")]
    Version(u32),
    /// Numbers are the wrong way round.
    #[error("it is a big-endian GGUF file, made for another kind of machine")]
    BigEndian,
    /// It ends too early.
    #[error("it is cut off: {have} bytes are there, but {what} needs at least {need}")]
    CutOff {
        /// Bytes in the file.
        have: u64,
        /// Bytes it must have.
        need: u64,
        /// What needs them.
        what: &'static str,
    },
    /// Something in it makes no sense.
    #[error("its header is damaged: {0}")]
    Damaged(String),
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl GgufError {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty | Self::CutOff { .. } => {
                "fetch or copy it again (`automem model pull NAME` does so for known models)"
            }
            Self::Magic(_) => "give the path of a .gguf file; safetensors and PyTorch files must be converted first",
            Self::Version(_) => "convert the model again with a current llama.cpp",
            Self::BigEndian => "convert the model for little-endian machines",
            Self::Damaged(_) => "fetch the file again and compare its checksum",
            Self::Io(_) => "check the path and its permissions",
        }
    }
}

impl Header {
    /// Reads and checks the head of a file.
    ///
    /// # Errors
    /// [`LlmError::File`], with what is wrong and what to do.
    pub fn open(path: &Path) -> Result<Self, LlmError> {
        let wrong = |error: GgufError| LlmError::File {
            path: path.display().to_string(),
            cause: error.to_string(),
            hint: error.hint().to_owned(),
        };
        let file = File::open(path).map_err(|error| wrong(error.into()))?;
        let metadata = file.metadata().map_err(|error| wrong(error.into()))?;
        if metadata.is_dir() {
            return Err(wrong(GgufError::Io(io::Error::other("it is a folder"))));
        }
        Self::read(BufReader::with_capacity(1 << 18, file), metadata.len()).map_err(wrong)
    }

    /// Reads and checks the head from bytes; `len` is the length of the whole file.
    ///
    /// # Errors
    /// See [`GgufError`].
    pub fn read(input: impl Read, len: u64) -> Result<Self, GgufError> {
        let mut reader = Reader { input, at: 0, len };
        reader.magic()?;
        let version = reader.version()?;
        let tensors = reader.u64()?;
        let entries = reader.u64()?;
        reader.believe(entries, LEAST_ENTRY_BYTES, "its metadata")?;
        reader.believe(tensors, LEAST_TENSOR_BYTES, "its list of tensors")?;

        let mut metadata = BTreeMap::new();
        for _ in 0..entries {
            let key = reader.text()?;
            let kind = reader.u32()?;
            let value = reader.value(kind, 0)?;
            metadata.insert(key, value);
        }
        let mut list = Vec::new();
        for _ in 0..tensors {
            list.push(reader.tensor()?);
        }
        let align = metadata.get("general.alignment").and_then(Value::as_u64).unwrap_or(32);
        if align == 0 || !align.is_power_of_two() || align > 1 << 20 {
            return Err(GgufError::Damaged(format!(
                "an alignment of {align} bytes is impossible"
            )));
        }
        let header = Self {
            version,
            metadata,
            tensors: list,
            data_start: reader.at.next_multiple_of(align),
        };
        header.check_length(len)?;
        Ok(header)
    }

    /// Whether the file is as long as its tensors need.
    fn check_length(&self, len: u64) -> Result<(), GgufError> {
        let end = self
            .tensors
            .iter()
            .map(|tensor| tensor.offset.saturating_add(tensor.bytes().unwrap_or(0)))
            .max()
            .unwrap_or(0);
        let need = self.data_start.saturating_add(end);
        if self.tensors.is_empty() || len >= need {
            Ok(())
        } else {
            Err(GgufError::CutOff {
                have: len,
                need,
                what: "its list of tensors",
            })
        }
    }

    /// Bytes of all tensors of known types.
    pub fn data_bytes(&self) -> u64 {
        self.tensors
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.bytes().unwrap_or(0)))
    }

    /// A metadata text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key)?.as_text()
    }

    /// A metadata number that is not negative.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.metadata.get(key)?.as_u64()
    }

    /// Length of a metadata array.
    pub fn array_len(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Array { len, .. } => Some(*len),
            _ => None,
        }
    }
}

/// Reads little-endian values and never past the file's length.
struct Reader<R> {
    input: R,
    at: u64,
    len: u64,
}

impl<R: Read> Reader<R> {
    fn cut_off(&self, more: u64) -> GgufError {
        GgufError::CutOff {
            have: self.len,
            need: self.at.saturating_add(more),
            what: "its header",
        }
    }

    fn magic(&mut self) -> Result<(), GgufError> {
        if self.len == 0 {
            return Err(GgufError::Empty);
        }
        let mut start = [0; 4];
        let size = usize::try_from(self.len.min(4)).unwrap_or(4);
        self.input.read_exact(&mut start[..size])?;
        self.at = 4;
        if b"GGUF".starts_with(&start[..size]) {
            if size < 4 { Err(self.cut_off(20)) } else { Ok(()) }
        } else {
            Err(GgufError::Magic(String::from_utf8_lossy(&start[..size]).into_owned()))
        }
    }

    fn version(&mut self) -> Result<u32, GgufError> {
        match self.u32()? {
            version @ (2 | 3) => Ok(version),
            version if matches!(version.swap_bytes(), 1..=3) => Err(GgufError::BigEndian),
            version => Err(GgufError::Version(version)),
        }
    }

    /// Refuses a count that the rest of the file cannot hold.
    fn believe(&self, count: u64, least_bytes: u64, what: &'static str) -> Result<(), GgufError> {
        let need = self.at.saturating_add(count.saturating_mul(least_bytes));
        if need > self.len {
            return Err(GgufError::CutOff {
                have: self.len,
                need,
                what,
            });
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        if self.at.saturating_add(N as u64) > self.len {
            return Err(self.cut_off(N as u64));
        }
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, GgufError> {
        let size = self.u64()?;
        if self.at.saturating_add(size) > self.len {
            return Err(self.cut_off(size));
        }
        if size > LONGEST_TEXT {
            return Err(GgufError::Damaged(format!("a text of {size} bytes in it")));
        }
        let mut bytes = Vec::new();
        self.input.by_ref().take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size {
            return Err(self.cut_off(size));
        }
        self.at += size;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn value(&mut self, kind: u32, depth: u8) -> Result<Value, GgufError> {
        Ok(match kind {
            0 => Value::Unsigned(u64::from(self.bytes::<1>()?[0])),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => Value::Bool(self.bytes::<1>()?[0] != 0),
            8 => Value::Text(self.text()?),
            9 => self.array(depth)?,
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            other => return Err(GgufError::Damaged(format!("a value of the unknown type {other}"))),
        })
    }

    fn array(&mut self, depth: u8) -> Result<Value, GgufError> {
        if depth > 3 {
            return Err(GgufError::Damaged("arrays nested too deeply".to_owned()));
        }
        let kind = self.u32()?;
        let len = self.u64()?;
        let least = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            8 | 10..=12 => 8,
            _ => 4,
        };
        self.believe(len, least, "an array in its metadata")?;
        let mut items = Vec::new();
        for _ in 0..len {
            let item = self.value(kind, depth + 1)?;
            if len <= KEPT_ARRAY {
                items.push(item);
            }
        }
        Ok(Value::Array { len, items })
    }

    fn tensor(&mut self) -> Result<Tensor, GgufError> {
        let name = self.text()?;
        let count = self.u32()?;
        if count > 8 {
            return Err(GgufError::Damaged(format!(
                "the tensor `{name}` has {count} dimensions"
            )));
        }
        let mut dims = Vec::new();
        for _ in 0..count {
            dims.push(self.u64()?);
        }
        Ok(Tensor {
            name,
            dims,
            kind: self.u32()?,
            offset: self.u64()?,
        })
    }
}

#[cfg(test)]
mod tests;
