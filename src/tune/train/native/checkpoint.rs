//! A training that can be gone on with: its matrices, moments and place, in one file.
//!
//! Owns the file (safetensors, with the place as JSON in its metadata) and that it is always whole: a new one is
//! written beside it, made safe, and takes its name. Must not know how to train.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::super::TrainError;
use super::lora::Adapter;
use super::optim::AdamW;
use crate::tune::recipe::TrainConfig;
use crate::types::Digest;

/// Form of the file; another one is refused.
const VERSION: u32 = 1;
const NAME: &str = "checkpoint.safetensors";
const KEY: &str = "automem";

/// What a training is: one that goes on must be the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) version: u32,
    pub(super) config: TrainConfig,
    /// Digest of the base model's file.
    pub(super) base: Digest,
    /// Digest of the set's file.
    pub(super) data: Digest,
    pub(super) held_out: f64,
    /// `cpu`, `cuda:0`, `metal`: others round differently.
    pub(super) device: String,
}

impl Identity {
    pub(super) fn new(config: &TrainConfig, base: Digest, data: Digest, held_out: f64, device: &str) -> Self {
        Self {
            version: VERSION,
            config: config.clone(),
            base,
            data,
            held_out,
            device: device.to_owned(),
        }
    }

    /// What is different about another one, in words.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.version != other.version, "form of checkpoints"),
            (self.base != other.base, "base model"),
            (self.data != other.data, "training set"),
            (self.config != other.config, "configuration"),
            (self.held_out != other.held_out, "share that is held out"),
            (self.device != other.device, "device"),
        ];
        differences
            .into_iter()
            .find_map(|(differs, what)| differs.then_some(what))
    }
}

/// How far a training is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Updates that are done; order and random numbers follow from it.
    pub(super) step: u32,
    /// Seconds that were worked on it.
    pub(super) seconds: f64,
    /// The loss of each update.
    pub(super) losses: Vec<f64>,
    /// The last held-out loss.
    pub(super) held_out: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    identity: Identity,
    progress: Progress,
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Numbers of a tensor, as they are written: made one tensor at a time.
struct Stored<'a>(&'a Tensor);

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.0.dims()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        // Trained tensors are f32 on every device; a device that fails here has failed before.
        let values = self
            .0
            .to_device(&Device::Cpu)
            .and_then(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
        let values = values.unwrap_or_default();
        Cow::Owned(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    fn data_len(&self) -> usize {
        self.0.elem_count() * size_of::<f32>()
    }
}

/// The tensors by their names in the file.
fn named<'a>(tensors: &[&'a Tensor], adam: &'a AdamW) -> Vec<(String, &'a Tensor)> {
    let one = |prefix: &'static str, index: usize| format!("{prefix}.{index}");
    let matrices = tensors
        .iter()
        .enumerate()
        .map(|(index, tensor)| (one("p", index), *tensor));
    let means = adam
        .means
        .iter()
        .enumerate()
        .map(|(index, tensor)| (one("m", index), tensor));
    let squares = adam
        .squares
        .iter()
        .enumerate()
        .map(|(index, tensor)| (one("v", index), tensor));
    matrices.chain(means).chain(squares).collect()
}

/// Writes a checkpoint; the one before stays until this one is safe.
///
/// # Errors
/// [`TrainError::File`], above all when the disk is full.
pub(super) fn save(
    folder: &Path,
    identity: &Identity,
    progress: &Progress,
    adapter: &Adapter,
    adam: &AdamW,
) -> Result<(), TrainError> {
    let path = path_in(folder);
    let failed = |source: std::io::Error| TrainError::File {
        path: path.clone(),
        done: "written",
        source: std::io::Error::new(
            source.kind(),
            format!(
                "{source}; the checkpoint before it is kept: make room, then start the training again, it goes on there"
            ),
        ),
    };
    let head = Head {
        identity: identity.clone(),
        progress: progress.clone(),
    };
    let head = serde_json::to_string(&head).map_err(|error| failed(std::io::Error::other(error)))?;
    let temporary = tempfile::Builder::new()
        .prefix(".checkpoint-")
        .tempfile_in(folder)
        .map_err(failed)?;
    let tensors = adapter.tensors();
    let views: Vec<(String, Stored<'_>)> = named(&tensors, adam)
        .into_iter()
        .map(|(name, tensor)| (name, Stored(tensor)))
        .collect();
    let metadata = HashMap::from([(KEY.to_owned(), head)]);
    safetensors::serialize_to_file(views, Some(metadata), temporary.path()).map_err(|error| {
        failed(match error {
            safetensors::SafeTensorError::IoError(error) => error,
            other => std::io::Error::other(other),
        })
    })?;
    std::fs::File::open(temporary.path())
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    temporary.persist(&path).map_err(|error| failed(error.error))?;
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Takes up the checkpoint of a folder, if there is one: the matrices and moments are replaced.
///
/// # Errors
/// When it is another training's, or cannot be read.
pub(super) fn load(
    folder: &Path,
    identity: &Identity,
    adapter: &mut Adapter,
    adam: &mut AdamW,
) -> Result<Option<Progress>, TrainError> {
    let path = path_in(folder);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(TrainError::File {
                path,
                done: "read",
                source,
            });
        }
    };
    let damaged = |why: String| TrainError::Unfit {
        what: format!("{}: the checkpoint cannot be used: {why}", path.display()),
        hint: "remove the training's folder, or start under another name".to_owned(),
    };
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
    let head = metadata
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get(KEY))
        .ok_or_else(|| damaged("it does not say what it is of".to_owned()))?;
    let head: Head = serde_json::from_str(head).map_err(|error| damaged(error.to_string()))?;
    if let Some(what) = identity.difference(&head.identity) {
        return Err(TrainError::Unfit {
            what: format!("{} is of a training with another {what}", path.display()),
            hint: "start this one under another name, or go on with that one as it was".to_owned(),
        });
    }
    let stored = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let take = |name: String, like: &Tensor| -> Result<Tensor, TrainError> {
        let view = stored.tensor(&name).map_err(|error| damaged(error.to_string()))?;
        if view.dtype() != Dtype::F32 || view.shape() != like.dims() {
            return Err(damaged(format!("its tensor {name} has another shape")));
        }
        let (numbers, _) = view.data().as_chunks::<4>();
        let values: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Tensor::from_vec(values, like.shape(), &Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(DType::F32)?.to_device(like.device()))
            .map_err(|error| damaged(error.to_string()))
    };
    for (index, tensor) in adapter.tensors_mut().into_iter().enumerate() {
        *tensor = take(format!("p.{index}"), tensor)?;
    }
    for (index, mean) in adam.means.iter_mut().enumerate() {
        *mean = take(format!("m.{index}"), mean)?;
    }
    for (index, square) in adam.squares.iter_mut().enumerate() {
        *square = take(format!("v.{index}"), square)?;
    }
    Ok(Some(head.progress))
}
