//! The conversation with a meta-LLM on disk: JSON lines that people read, and that `recorded:` plays again.
//!
//! Owns the file. A line is a message with what it used; it is written before the work goes on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::MetaError;
use crate::llm::{ToolAnswer, ToolMessage};

/// Names that are tried in a folder.
const MOST: u32 = 100_000;

/// See the module.
pub(super) struct Transcript {
    path: PathBuf,
    file: File,
}

impl Transcript {
    /// A new file in a folder: `meta-1.jsonl`, or the next that is free.
    pub(super) fn begin(folder: &Path, spec: &str, system: &str) -> Result<Self, MetaError> {
        let (path, file) = fresh(
            folder,
            "meta",
            |path| OpenOptions::new().append(true).create_new(true).open(path),
            ".jsonl",
        )?;
        let mut transcript = Self { path, file };
        transcript.line(&json!({ "from": "system", "spec": spec, "text": system }))?;
        Ok(transcript)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a message of ours or of the tools.
    pub(super) fn message(&mut self, message: &ToolMessage) -> Result<(), MetaError> {
        self.line(&serde_json::to_value(message).unwrap_or_default())
    }

    /// Adds an answer with what it used.
    pub(super) fn answer(&mut self, answer: &ToolAnswer) -> Result<(), MetaError> {
        let mut value = serde_json::to_value(answer).unwrap_or_default();
        value["from"] = "model".into();
        self.line(&value)
    }

    fn line(&mut self, value: &Value) -> Result<(), MetaError> {
        let line = format!("{value}\n");
        self.file.write_all(line.as_bytes()).map_err(|error| {
            MetaError::Other(format!(
                "the conversation cannot be written to {}: {error}; free some space or choose another workspace",
                self.path.display()
            ))
        })
    }
}

/// Makes the first of `NAME-1`, `NAME-2`, ... that is free in a folder.
///
/// # Errors
/// When nothing can be made there.
pub fn fresh<T>(
    folder: &Path,
    name: &str,
    make: impl Fn(&Path) -> std::io::Result<T>,
    ending: &str,
) -> Result<(PathBuf, T), MetaError> {
    let cannot = |error: std::io::Error| {
        MetaError::Other(format!(
            "nothing can be written in {}: {error}; check its permissions or choose another workspace",
            folder.display()
        ))
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    for n in 1..=MOST {
        let path = folder.join(format!("{name}-{n}{ending}"));
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    Err(MetaError::Other(format!(
        "{} is full of old conversations; remove those that are no longer needed",
        folder.display()
    )))
}
