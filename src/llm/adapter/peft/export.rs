//! From a GGUF adapter to PEFT's folder.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;

use safetensors::{Dtype, View};

use super::super::super::chat::LlmError;
use super::super::super::gguf::Header;
use super::super::parse::{Fault, shown};
use super::super::{AdapterFile, fits};
use super::config::settings;
use super::names::{Side, module_for, order, short, tensor_of};
use super::rows::{Way, reorder};
use super::{CONFIG, Rows, WEIGHTS, of_path};
use crate::types::Digest;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// PEFT's names of the modules, each once.
    pub modules: Vec<String>,
    /// The largest rank.
    pub rank: usize,
    /// Tensors.
    pub tensors: usize,
}

/// Writes an adapter as PEFT does, into a new folder. `model` is the model it belongs to, which is needed where rows
/// are ordered by heads; `base` is the model's name for the settings.
///
/// # Errors
/// [`LlmError::File`] when it cannot be said in PEFT's form, does not fit the model, the folder is there already, or
/// nothing can be written.
pub fn export(
    adapter: &AdapterFile,
    model: Option<&Header>,
    base: Option<&str>,
    folder: &Path,
) -> Result<Exported, LlmError> {
    if let Some(model) = model {
        fits(&adapter.info(Digest::default()), model).map_err(|why| LlmError::File {
            path: folder.display().to_string(),
            cause: "nothing is written: the adapter does not fit the model".to_owned(),
            hint: why,
        })?;
    }
    let tensors = of_path(tensors(adapter, model), folder)?;
    let mut modules: Vec<&str> = Vec::new();
    let mut ranks = BTreeMap::new();
    let rank = adapter.pairs.iter().map(|pair| pair.rank).max().unwrap_or(0);
    for pair in &adapter.pairs {
        let module = of_path(module(&pair.target), folder)?;
        if pair.rank != rank {
            ranks.insert(module.clone(), pair.rank);
        }
    }
    for tensor in &tensors {
        let name = short(&tensor.module);
        if !modules.contains(&name) {
            modules.push(name);
        }
    }
    modules.sort_by_key(|name| order(name));
    let base = base.or(adapter.base.as_deref());
    let settings = settings((rank, adapter.alpha), &modules, &ranks, base);
    let exported = Exported {
        modules: modules.into_iter().map(str::to_owned).collect(),
        rank,
        tensors: tensors.len(),
    };
    let text = serde_json::to_string_pretty(&settings).unwrap_or_default() + "\n";
    let written = put(folder, &text, tensors).map_err(|error| {
        Fault::new(
            format!("it cannot be written: {error}"),
            "choose another folder; check that it can be written to and the disk has room",
        )
    });
    of_path(written, folder)?;
    Ok(exported)
}

fn module(target: &str) -> Result<String, Fault> {
    module_for(target).ok_or_else(|| {
        Fault::new(
            format!(
                "nothing is written: `{}` has no name in PEFT that is known here",
                shown(target)
            ),
            "only attention, feed-forward and head layers are exported",
        )
    })
}

/// A tensor that is written.
struct Tensor<'a> {
    module: String,
    name: String,
    shape: [usize; 2],
    numbers: Cow<'a, [f32]>,
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn data_len(&self) -> usize {
        self.numbers.len() * 4
    }
}

fn tensors<'a>(adapter: &'a AdapterFile, model: Option<&Header>) -> Result<Vec<Tensor<'a>>, Fault> {
    let rows = Rows::of(&adapter.architecture, model)?;
    let mut all = Vec::with_capacity(adapter.pairs.len() * 2);
    for pair in &adapter.pairs {
        let module = module(&pair.target)?;
        let b = match rows.heads(&pair.target) {
            Some(heads) => Cow::Owned(reorder(&pair.b, pair.rank, heads, Way::Out, &pair.target)?),
            None => Cow::Borrowed(pair.b.as_slice()),
        };
        all.push(Tensor {
            name: tensor_of(&module, Side::A),
            module: module.clone(),
            shape: [pair.rank, pair.inputs],
            numbers: Cow::Borrowed(&pair.a),
        });
        all.push(Tensor {
            name: tensor_of(&module, Side::B),
            module,
            shape: [pair.outputs, pair.rank],
            numbers: b,
        });
    }
    Ok(all)
}

/// Writes the folder under another name, then gives it its own.
fn put(folder: &Path, settings: &str, tensors: Vec<Tensor<'_>>) -> io::Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already"));
    }
    let above = match folder.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(above)?;
    let work = super::super::write::temporary_folder(above)?;
    std::fs::write(work.path().join(CONFIG), settings)?;
    let weights = work.path().join(WEIGHTS);
    let named: Vec<(String, Tensor<'_>)> = tensors
        .into_iter()
        .map(|tensor| (tensor.name.clone(), tensor))
        .collect();
    // Transformers asks for it.
    let notes = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize_to_file(named, Some(notes), &weights).map_err(io::Error::other)?;
    super::super::write::let_read(&weights)?;
    for name in [CONFIG, WEIGHTS] {
        File::open(work.path().join(name))?.sync_all()?;
    }
    std::fs::rename(work.path(), folder)?;
    // It has another name now: there is nothing left to remove.
    drop(work.keep());
    if let Ok(above) = File::open(above) {
        let _ = above.sync_all();
    }
    Ok(())
}
