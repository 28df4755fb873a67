//! A model with tools that plays back given answers, in order. For tests, and to look at a meta-LLM's work again.
//!
//! Owns the file's form: JSON lines, each an answer `{"text": "...", "calls": [{"id", "name", "arguments"}], "usage":
//! {...}, "cut": false, "delay_ms": 0}`, in which all may be left out. The conversations that a meta-LLM leaves are
//! such files: their lines `{"from": "user"|"results", ...}` are passed over. Must not make anything up: when the
//! answers run out, that is an error.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::recorded::read;
use super::{LlmError, ToolAnswer, ToolCall, ToolModel, ToolRequest, Usage};
use crate::jobs::Cancel;

const BACKEND: &str = "recorded";
/// Characters that are streamed at once.
const PIECE: usize = 16;

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ToolCall>,
    #[serde(default)]
    raw: Option<Value>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    delay_ms: u64,
}

/// The back end. See the module's documentation.
#[derive(Debug)]
pub struct RecordedTools {
    file: String,
    given: usize,
    left: Mutex<VecDeque<Entry>>,
}

impl RecordedTools {
    /// Reads a file of answers.
    ///
    /// # Errors
    /// [`LlmError::File`] when it cannot be read or a line is not an answer.
    pub fn open(path: &Path) -> Result<Self, LlmError> {
        let hint =
            "write one answer a line, such as {\"calls\": [{\"id\": \"1\", \"name\": \"check\", \"arguments\": {}}]}";
        let entries = read(path, hint, parse)?;
        Ok(Self {
            file: path.display().to_string(),
            given: entries.len(),
            left: Mutex::new(entries),
        })
    }
}

fn parse(text: &str) -> Result<VecDeque<Entry>, String> {
    let mut entries = VecDeque::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |error: serde_json::Error| format!("line {} is no answer: {error}", at + 1);
        // Read as a value first: numbers inside are then taken as they stand.
        let value: Value = serde_json::from_str(line).map_err(wrong)?;
        match value["from"].as_str() {
            None | Some("model") => entries.push_back(serde_json::from_value(value).map_err(wrong)?),
            Some(_) => {}
        }
    }
    Ok(entries)
}

impl ToolModel for RecordedTools {
    fn spec(&self) -> String {
        format!("{BACKEND}:{}", self.file)
    }

    fn answer(&self, _: &ToolRequest, cancel: &Cancel, sink: &mut dyn FnMut(&str)) -> Result<ToolAnswer, LlmError> {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        let next = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let entry = next.ok_or_else(|| LlmError::Backend {
            backend: BACKEND,
            message: format!(
                "{} has {} answers, and all were given; record more, or let a model answer",
                self.file, self.given
            ),
            retryable: false,
        })?;
        let until = Instant::now() + Duration::from_millis(entry.delay_ms);
        while Instant::now() < until {
            if cancel.is_cancelled() {
                return Err(LlmError::Cancelled);
            }
            std::thread::sleep(Duration::from_millis(5).min(until.saturating_duration_since(Instant::now())));
        }
        let mut rest = entry.text.as_str();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            sink(piece);
            rest = after;
        }
        Ok(ToolAnswer {
            text: entry.text,
            calls: entry.calls,
            raw: entry.raw,
            usage: entry.usage,
            cut: entry.cut,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_conversations_are_read() {
        let text = "{\"from\": \"user\", \"text\": \"brief\"}\n\n\
            {\"from\": \"model\", \"text\": \"a\", \"calls\": [{\"id\": \"1\", \"name\": \"n\", \"arguments\": {\"x\": 1.5}}], \
            \"usage\": {\"prompt\": 3, \"cached\": 0, \"completion\": 2, \"dollars\": 0.25}}\n\
            {\"from\": \"results\", \"results\": []}\n{\"text\": \"b\", \"cut\": true}\n";
        let entries = parse(text).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].usage.prompt, entries[0].usage.dollars), (3, Some(0.25)));
        assert_eq!(entries[0].calls[0].arguments["x"], serde_json::json!(1.5));
        assert!(entries[1].cut);
        let error = parse("{}\n{\"calls\": 7}").unwrap_err();
        assert!(error.starts_with("line 2"), "{error}");
    }
}
