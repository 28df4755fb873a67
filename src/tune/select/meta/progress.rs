//! The file that a killed selection goes on from: a line a batch, written before the next one begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::llm::Usage;
use crate::tune::TuneError;
use crate::types::Digest;

/// A verdict of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) id: String,
    pub(super) accept: bool,
    pub(super) reason: String,
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) judged: Vec<Judged>,
    pub(super) usage: Usage,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// What the selection is about; lines of another one do not count.
    selection: Digest,
    /// From 0.
    batch: usize,
    #[serde(flatten)]
    what: Batch,
}

/// See the module.
pub(super) struct Progress {
    path: PathBuf,
    file: File,
    selection: Digest,
    done: BTreeSet<usize>,
    judged: BTreeMap<String, Judged>,
    tokens: u64,
}

impl Progress {
    /// Reads what there is, and what follows is added to it. A line that a kill cut off is left out.
    pub(super) fn open(path: &Path, selection: Digest) -> Result<Self, TuneError> {
        let cannot = |done| {
            move |source| TuneError::File {
                path: path.to_owned(),
                done,
                source,
            }
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(cannot("written"))?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)
            .map_err(cannot("written"))?;
        let text = std::fs::read(path).map_err(cannot("read"))?;
        let text = String::from_utf8_lossy(&text);
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(cannot("written"))?;
        }
        let mut progress = Self {
            path: path.to_owned(),
            file,
            selection,
            done: BTreeSet::new(),
            judged: BTreeMap::new(),
            tokens: 0,
        };
        for line in text.lines() {
            // By way of a value: numbers inside of what is flattened are not read otherwise.
            let value = serde_json::from_str::<serde_json::Value>(line);
            let line = value.and_then(serde_json::from_value::<Line>);
            if let Ok(line) = line
                && line.selection == selection
            {
                progress.take(line.batch, line.what);
            }
        }
        Ok(progress)
    }

    /// Whether a batch is judged.
    pub(super) fn has(&self, batch: usize) -> bool {
        self.done.contains(&batch)
    }

    /// All verdicts by candidate.
    pub(super) fn judged(&self) -> &BTreeMap<String, Judged> {
        &self.judged
    }

    /// Tokens used so far.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Writes a batch down.
    pub(super) fn add(&mut self, batch: usize, what: Batch) -> Result<(), TuneError> {
        let line = Line {
            selection: self.selection,
            batch,
            what,
        };
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|source| TuneError::File {
                path: self.path.clone(),
                done: "written",
                source,
            })?;
        self.take(batch, line.what);
        Ok(())
    }

    fn take(&mut self, batch: usize, what: Batch) {
        self.done.insert(batch);
        self.tokens += what.usage.prompt + what.usage.completion;
        for judged in what.judged {
            self.judged.insert(judged.id.clone(), judged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(id: &str) -> Batch {
        Batch {
            judged: vec![Judged {
                id: id.into(),
                accept: true,
                reason: "good".into(),
            }],
            usage: Usage {
                prompt: 10,
                completion: 2,
                dollars: Some(0.5),
                ..Usage::default()
            },
        }
    }

    #[test]
    fn what_was_written_is_read_and_a_torn_line_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/progress.jsonl");
        let (one, other) = (Digest::of("one"), Digest::of("other"));
        Progress::open(&path, one).unwrap().add(0, batch("a")).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        let half = text.len() / 2;
        text.push_str(&text.clone()[..half]);
        std::fs::write(&path, &text).unwrap();
        let mut progress = Progress::open(&path, one).unwrap();
        assert!(progress.has(0) && !progress.has(1));
        progress.add(1, batch("b")).unwrap();
        let again = Progress::open(&path, one).unwrap();
        assert_eq!((again.judged().len(), again.tokens()), (2, 24));
        assert!(!Progress::open(&path, other).unwrap().has(0));
    }
}
