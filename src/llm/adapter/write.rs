//! Writes an adapter as a GGUF file, whole or not at all.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::super::chat::LlmError;
use super::parse::{A, B, Fault, not_finite, shown};
use super::{AdapterFile, Pair};
use crate::types::Digest;

/// Version of the format.
const VERSION: u32 = 3;
/// Tensors begin at multiples of that many bytes, counted from the start of the data.
const ALIGN: usize = 32;
/// Numbers of the types of metadata values.
const U32: u32 = 4;
const F32: u32 = 6;
const TEXT: u32 = 8;
/// Number of the type of tensors.
const F32_TENSOR: u32 = 0;

/// Writes an adapter, in the place of what has this name. It appears whole or not at all.
///
/// # Errors
/// [`LlmError::File`] when it does not fit together, holds numbers that are not finite, or cannot be written.
pub fn write(path: &Path, adapter: &AdapterFile) -> Result<Digest, LlmError> {
    check(adapter).map_err(|fault| fault.of_file(path))?;
    put(path, adapter).map_err(|error| {
        Fault::new(
            format!("it cannot be written: {error}"),
            "check that the folder can be written to and the disk has room",
        )
        .of_file(path)
    })
}

/// Whether it can be read back as what it is.
fn check(adapter: &AdapterFile) -> Result<(), Fault> {
    let fault = |cause: String| {
        Err(Fault::new(
            cause,
            "this should not have come out of a training; report it",
        ))
    };
    if adapter.architecture.is_empty() {
        return fault("the adapter names no architecture".to_owned());
    }
    if !adapter.alpha.is_finite() || adapter.alpha <= 0.0 {
        return fault(format!("the adapter's alpha is {}", adapter.alpha));
    }
    if adapter.pairs.is_empty() {
        return fault("the adapter changes no matrix".to_owned());
    }
    let mut seen = BTreeSet::new();
    for pair in &adapter.pairs {
        let name = shown(&pair.target);
        if pair.target.is_empty() || !seen.insert(&pair.target) {
            return fault(format!("the adapter changes `{name}` twice"));
        }
        let lengths = (pair.rank.checked_mul(pair.inputs), pair.rank.checked_mul(pair.outputs));
        if pair.a.is_empty() || pair.b.is_empty() || lengths != (Some(pair.a.len()), Some(pair.b.len())) {
            return fault(format!(
                "the adapter's numbers for `{name}` are not as many as its extents say"
            ));
        }
        for (side, numbers) in [(A, &pair.a), (B, &pair.b)] {
            if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
                return Err(not_finite(&format!("{}{side}", pair.target), at, numbers[at]));
            }
        }
    }
    Ok(())
}

/// Writes under another name, has the system put it on the device, renames.
fn put(path: &Path, adapter: &AdapterFile) -> io::Result<Digest> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = temporary().tempfile_in(folder)?;
    {
        let mut out = BufWriter::with_capacity(1 << 18, file.as_file_mut());
        out.write_all(&head(adapter))?;
        for numbers in adapter.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
            for number in numbers {
                out.write_all(&number.to_le_bytes())?;
            }
            out.write_all(&[0; ALIGN][..padding(numbers.len() * 4)])?;
        }
        out.flush()?;
    }
    file.as_file().sync_all()?;
    // What stands on the disk, not what should.
    let digest = Digest::of_stream(&mut File::open(file.path())?)?;
    file.persist(path).map_err(|error| error.error)?;
    if let Ok(folder) = File::open(folder) {
        // Not every system lets a folder be flushed; the file itself has been.
        let _ = folder.sync_all();
    }
    Ok(digest)
}

/// Temporary files and folders of this module.
const PREFIX: &str = ".adapter-";

/// A temporary file that others may read once it has its name.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    builder.permissions(permissions(0o644));
    builder
}

/// A temporary folder that others may look into once it has its name.
pub(super) fn temporary_folder(above: &Path) -> io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    builder.permissions(permissions(0o755));
    builder.tempdir_in(above)
}

/// Lets others read a file that a library wrote for its owner only.
pub(super) fn let_read(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, permissions(0o644))?;
    let _ = path;
    Ok(())
}

#[cfg(unix)]
fn permissions(mode: u32) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

fn padding(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN) - bytes
}

/// Everything before the numbers.
fn head(adapter: &AdapterFile) -> Vec<u8> {
    let name = match &adapter.base {
        Some(base) => format!("LoRA of {base}"),
        None => "LoRA".to_owned(),
    };
    let mut entries = Entries::default();
    entries.text("general.architecture", &adapter.architecture);
    entries.text("general.type", "adapter");
    entries.text("general.name", &name);
    if let Some(base) = &adapter.base {
        entries.number("general.base_model.count", U32, 1_u32.to_le_bytes());
        entries.text("general.base_model.0.name", base);
    }
    entries.text("adapter.type", "lora");
    entries.number("adapter.lora.alpha", F32, adapter.alpha.to_le_bytes());

    let mut bytes = b"GGUF".to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((adapter.pairs.len() as u64 * 2).to_le_bytes());
    bytes.extend(entries.count.to_le_bytes());
    bytes.extend(entries.bytes);
    let mut offset = 0;
    for pair in &adapter.pairs {
        let Pair {
            target,
            inputs,
            outputs,
            rank,
            ..
        } = pair;
        for (side, columns, rows) in [(A, inputs, rank), (B, rank, outputs)] {
            text(&mut bytes, &format!("{target}{side}"));
            bytes.extend(2_u32.to_le_bytes());
            bytes.extend((*columns as u64).to_le_bytes());
            bytes.extend((*rows as u64).to_le_bytes());
            bytes.extend(F32_TENSOR.to_le_bytes());
            bytes.extend((offset as u64).to_le_bytes());
            offset += (columns * rows * 4).next_multiple_of(ALIGN);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// Metadata as it is written.
#[derive(Default)]
struct Entries {
    count: u64,
    bytes: Vec<u8>,
}

impl Entries {
    fn key(&mut self, key: &str, kind: u32) {
        self.count += 1;
        text(&mut self.bytes, key);
        self.bytes.extend(kind.to_le_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key, TEXT);
        text(&mut self.bytes, value);
    }

    fn number(&mut self, key: &str, kind: u32, value: [u8; 4]) {
        self.key(key, kind);
        self.bytes.extend(value);
    }
}
