//! Writes a model in other quantisations and measures each against the original.
//!
//! Owns the order of that work and the files until one is kept. Must not choose or print.

use std::path::{Path, PathBuf};

use super::measure::{Measured, Workload};
use super::quantize::{free_name, put, work_folder, write};
use super::{LlamaModel, default_threads};
use crate::jobs::Cancel;
use crate::llm::ModelOptions;
use crate::llm::chat::LlmError;
use crate::llm::optimize::{Alike, Candidate, Expected, Speed, TEXT};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Times that the original and a candidate are measured in turn. The best of each counts: what else the machine does can
    /// only make a model slower.
    pub pairs: usize,
    /// Seconds that a prompt, and then an answer, should take with the original.
    pub seconds: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { pairs: 4, seconds: 3.0 }
    }
}

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// The candidate is being written; so many bytes are there.
    Writing(String, u64),
    /// The candidate is being measured for the nth time of so many.
    Measuring(String, usize, usize),
    /// What the candidate expects is being compared.
    Comparing(String),
}

/// Candidates and their files, which go when this is dropped, but for those that were kept.
#[derive(Debug)]
pub struct Tried {
    work: tempfile::TempDir,
    folder: PathBuf,
    /// What was measured.
    pub candidates: Vec<Candidate>,
}

impl Tried {
    /// Gives a candidate a name beside the other models.
    ///
    /// # Errors
    /// [`LlmError::File`] when the name is taken or the disk fails.
    pub fn keep(&self, candidate: &Candidate, name: &str) -> Result<PathBuf, LlmError> {
        let made = made(self.work.path(), &candidate.quantisation);
        let target = free_name(&made, &self.folder, name)?;
        put(&made, &target)?;
        Ok(target)
    }
}

fn made(work: &Path, kind: &str) -> PathBuf {
    work.join(format!("{kind}.gguf"))
}

/// Tries the quantisations in `kinds`, with their files in a hidden folder in `folder`.
///
/// # Errors
/// [`LlmError::Cancelled`]; else what writing or loading says. Nothing is left then.
pub fn optimize(
    from: &Path,
    kinds: &[String],
    folder: &Path,
    effort: Effort,
    cancel: &Cancel,
    tell: &mut dyn FnMut(Doing),
) -> Result<Tried, LlmError> {
    let threads = default_threads();
    let options = ModelOptions {
        context: Some(1024),
        slots: Some(1),
        ..ModelOptions::default()
    };
    let work = work_folder(folder)?;
    let original = LlamaModel::open(from, &options)?;
    // The first evaluation reads the file in; the second tells how much can be measured in the time there is.
    original.measure(WARM_UP, cancel)?;
    let workload = workload(original.measure(WARM_UP, cancel)?, effort.seconds);
    let expected = original.expectations(TEXT, threads, cancel)?;
    let mut candidates = Vec::new();
    for kind in kinds {
        let file = made(work.path(), kind);
        write(from, kind, &file, threads, cancel, &mut |bytes| {
            tell(Doing::Writing(kind.clone(), bytes))
        })?;
        let model = LlamaModel::open(&file, &options)?;
        model.measure(WARM_UP, cancel)?;
        let mut measured: [Vec<Measured>; 2] = [Vec::new(), Vec::new()];
        for pair in 0..effort.pairs.max(1) {
            tell(Doing::Measuring(kind.clone(), pair + 1, effort.pairs.max(1)));
            // Who goes first changes, so that a machine that grows busier hits both.
            for which in [pair % 2, 1 - pair % 2] {
                let model = if which == 0 { &original } else { &model };
                measured[which].push(model.measure(workload, cancel)?);
            }
        }
        tell(Doing::Comparing(kind.clone()));
        let alike = alike(&file, &expected, &model.expectations(TEXT, threads, cancel)?)?;
        candidates.push(Candidate {
            quantisation: kind.clone(),
            bytes: std::fs::metadata(&file).map_or(0, |metadata| metadata.len()),
            speed: best(&measured[1]),
            original: best(&measured[0]),
            alike,
        });
    }
    Ok(Tried {
        work,
        folder: folder.to_owned(),
        candidates,
    })
}

const WARM_UP: Workload = Workload {
    depth: 0,
    prompt: 64,
    decode: 8,
};

/// As much as takes these seconds at this speed.
fn workload(warm: Measured, seconds: f64) -> Workload {
    let fitting = |speed: Option<f64>, least: u32, most: u32| {
        let tokens = speed.unwrap_or(0.0) * seconds;
        // Between the two bounds it is a small whole number.
        tokens.clamp(f64::from(least), f64::from(most)) as u32
    };
    Workload {
        depth: 0,
        prompt: fitting(warm.prompt_tokens_per_s, 64, 512),
        decode: fitting(warm.decode_tokens_per_s, 8, 64),
    }
}

fn best(measured: &[Measured]) -> Speed {
    let of = |value: fn(&Measured) -> Option<f64>| measured.iter().filter_map(value).fold(0.0, f64::max);
    Speed {
        prompt_tokens_per_s: of(|measured| measured.prompt_tokens_per_s),
        decode_tokens_per_s: of(|measured| measured.decode_tokens_per_s),
    }
}

fn alike(file: &Path, original: &Expected, candidate: &Expected) -> Result<Alike, LlmError> {
    Alike::of(original, candidate).ok_or_else(|| LlmError::File {
        path: file.display().to_string(),
        cause: "it reads the text in other tokens than the original".to_owned(),
        hint: "this should not happen; leave this quantisation out with --to".to_owned(),
    })
}
