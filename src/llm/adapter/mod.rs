//! LoRA adapters as GGUF files: what they are, whether they fit a model, reading and writing them.
//!
//! Owns the file's form (as llama.cpp reads it) and every reason why one cannot be used: llama.cpp itself only says
//! "null result". Must not load a model or compute with an adapter, and must not trust a number in the file.
//!
//! A file has the keys `general.type` = `adapter`, `general.architecture`, `adapter.type` = `lora`,
//! `adapter.lora.alpha`, and for every matrix it changes two tensors: `TARGET.lora_a` of `rank` rows with as many
//! columns as the target has inputs, and `TARGET.lora_b` with a row for each of its outputs and `rank` columns. The
//! target's output changes by `alpha / rank * b a x`.

mod fits;
mod parse;
pub mod peft;
mod write;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Serialize;

pub use fits::fits;
pub use write::write;

use self::parse::{Described, Fault, Half};
use super::chat::LlmError;
use super::gguf::Header;
use crate::types::Digest;

/// What an adapter is, without its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdapterInfo {
    /// Architecture of the model it belongs to, such as `llama`.
    pub architecture: String,
    /// Its rank; the largest where they differ.
    pub rank: usize,
    /// Its output is scaled by alpha / rank.
    pub alpha: f32,
    /// The matrices it changes, in the order of the file.
    pub tensors: Vec<AdapterTensor>,
    /// Name of the model it was trained on, where the file says.
    pub base: Option<String>,
    /// Digest of the file.
    pub digest: Digest,
}

impl AdapterInfo {
    /// Numbers that were trained.
    pub fn parameters(&self) -> u64 {
        self.tensors
            .iter()
            .map(|tensor| tensor.rank as u64 * (tensor.inputs as u64 + tensor.outputs as u64))
            .sum()
    }
}

/// A matrix that an adapter changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdapterTensor {
    /// The model's tensor, such as `blk.0.attn_q.weight`.
    pub target: String,
    /// Rank of the change.
    pub rank: usize,
    /// Columns of the target.
    pub inputs: usize,
    /// Rows of the target.
    pub outputs: usize,
}

/// An adapter with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterFile {
    /// Architecture of the model it belongs to.
    pub architecture: String,
    /// Its output is scaled by alpha / rank.
    pub alpha: f32,
    /// Name of the model it was trained on.
    pub base: Option<String>,
    /// The matrices it changes.
    pub pairs: Vec<Pair>,
}

impl AdapterFile {
    /// What it is, without its numbers; the digest is that of its file.
    pub fn info(&self, digest: Digest) -> AdapterInfo {
        AdapterInfo {
            architecture: self.architecture.clone(),
            rank: self.pairs.iter().map(|pair| pair.rank).max().unwrap_or(0),
            alpha: self.alpha,
            base: self.base.clone(),
            tensors: self
                .pairs
                .iter()
                .map(|pair| AdapterTensor {
                    target: pair.target.clone(),
                    rank: pair.rank,
                    inputs: pair.inputs,
                    outputs: pair.outputs,
                })
                .collect(),
            digest,
        }
    }
}

/// The change of one matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The model's tensor, such as `blk.0.attn_q.weight`.
    pub target: String,
    /// Columns of the target.
    pub inputs: usize,
    /// Rows of the target.
    pub outputs: usize,
    /// Rank of the change.
    pub rank: usize,
    /// `[rank, inputs]`, row by row.
    pub a: Vec<f32>,
    /// `[outputs, rank]`, row by row.
    pub b: Vec<f32>,
}

/// Reads what an adapter is, and takes the file's digest.
///
/// # Errors
/// [`LlmError::File`] with what is wrong and what to do: it is no adapter, cut off, of an unknown kind, half of a pair
/// is missing, or its shapes do not agree.
pub fn inspect(path: &Path) -> Result<AdapterInfo, LlmError> {
    let header = Header::open(path)?;
    let described = Described::of(&header).map_err(|fault| fault.of_file(path))?;
    let digest = File::open(path)
        .and_then(|mut file| Digest::of_stream(&mut file))
        .map_err(|error| Fault::io(&error).of_file(path))?;
    Ok(AdapterInfo {
        architecture: described.architecture,
        rank: described.pairs.iter().map(|pair| pair.rank).max().unwrap_or(0),
        alpha: described.alpha,
        base: described.base,
        tensors: described
            .pairs
            .into_iter()
            .map(|pair| AdapterTensor {
                target: pair.target,
                rank: pair.rank,
                inputs: pair.inputs,
                outputs: pair.outputs,
            })
            .collect(),
        digest,
    })
}

/// Reads an adapter whole.
///
/// # Errors
/// As [`inspect`]; also when one of its numbers is not finite.
pub fn read(path: &Path) -> Result<AdapterFile, LlmError> {
    let header = Header::open(path)?;
    File::open(path)
        .map_err(|error| Fault::io(&error))
        .and_then(|file| read_from(file, &header))
        .map_err(|fault| fault.of_file(path))
}

fn read_from(mut file: impl Read + Seek, header: &Header) -> Result<AdapterFile, Fault> {
    let described = Described::of(header)?;
    let mut numbers = |half: &Half| -> Result<Vec<f32>, Fault> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(half.start))
            .and_then(|_| file.by_ref().take(half.bytes).read_to_end(&mut bytes))
            .map_err(|error| Fault::io(&error))?;
        half.numbers(&bytes)
    };
    let mut pairs = Vec::with_capacity(described.pairs.len());
    for pair in described.pairs {
        pairs.push(Pair {
            a: numbers(&pair.a)?,
            b: numbers(&pair.b)?,
            target: pair.target,
            inputs: pair.inputs,
            outputs: pair.outputs,
            rank: pair.rank,
        });
    }
    Ok(AdapterFile {
        architecture: described.architecture,
        alpha: described.alpha,
        base: described.base,
        pairs,
    })
}

#[cfg(test)]
mod tests;
