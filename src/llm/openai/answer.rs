//! What comes back, piece by piece or at once, put together to an answer.
//!
//! Owns the shape of answers and the counting of tokens. Must not read from the network.

use serde_json::Value;

use super::errors;
use super::thinking::Thinking;
use crate::llm::decoding::stream::TextStream;
use crate::llm::remote::{BadPiece, Failure, Gather, is_done};
use crate::llm::{ChatProgress, Secret};
use crate::types::StopReason;

/// Bytes an answer may have, thinking included.
const LONGEST_ANSWER: usize = 8 << 20;

/// Tokens as the server counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) prompt: Option<u32>,
    pub(super) cached: Option<u32>,
    pub(super) completion: Option<u32>,
    pub(super) prompt_ms: Option<f64>,
    /// As OpenRouter tells it.
    pub(super) dollars: Option<f64>,
}

impl Usage {
    /// Takes in what a piece says of it.
    pub(super) fn count(&mut self, value: &Value) {
        let timings = &value["timings"];
        if let Some(new) = number(&timings["prompt_n"]) {
            let cached = number(&timings["cache_n"]).unwrap_or(0);
            self.prompt = Some(new.saturating_add(cached));
            self.cached = Some(cached);
            self.completion = number(&timings["predicted_n"]).or(self.completion);
            self.prompt_ms = timings["prompt_ms"].as_f64().filter(|ms| ms.is_finite() && *ms >= 0.0);
        }
        let usage = &value["usage"];
        if usage.is_object() {
            let cached = number(&usage["prompt_tokens_details"]["cached_tokens"])
                .or_else(|| number(&usage["prompt_cache_hit_tokens"]));
            self.prompt = number(&usage["prompt_tokens"]).or(self.prompt);
            self.cached = cached.or(self.cached);
            self.completion = number(&usage["completion_tokens"]).or(self.completion);
            let cost = usage["cost"].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
            self.dollars = cost.or(self.dollars);
        }
    }
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// An answer as it grows.
#[derive(Debug)]
pub(super) struct Collector {
    thinking: Thinking,
    content: TextStream,
    /// Thinking that came after the answer had begun.
    late: String,
    finish: Option<String>,
    usage: Usage,
    pieces: u32,
    bytes: usize,
}

impl Collector {
    /// An answer that ends with any of the stop texts.
    pub(super) fn new(stop: &[String]) -> Self {
        Self {
            thinking: Thinking::default(),
            content: TextStream::new(stop.iter().cloned()),
            late: String::new(),
            finish: None,
            usage: Usage::default(),
            pieces: 0,
            bytes: 0,
        }
    }

    fn take_value(&mut self, value: &Value, tell: &mut dyn FnMut(ChatProgress)) -> Result<(), BadPiece> {
        self.count(value, tell);
        let choice = &value["choices"][0];
        let said = if choice["delta"].is_object() {
            &choice["delta"]
        } else {
            &choice["message"]
        };
        self.say(said, tell)?;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn count(&mut self, value: &Value, tell: &mut dyn FnMut(ChatProgress)) {
        let progress = &value["prompt_progress"];
        if let (Some(done), Some(total)) = (number(&progress["processed"]), number(&progress["total"])) {
            let cached = number(&progress["cache"]).unwrap_or(0);
            tell(ChatProgress::Prompt { done, total, cached });
        }
        self.usage.count(value);
    }

    fn say(&mut self, said: &Value, tell: &mut dyn FnMut(ChatProgress)) -> Result<(), BadPiece> {
        let mut told = String::new();
        let thought = text_of(&said["reasoning_content"]).or_else(|| text_of(&said["reasoning"]));
        if let Some(thought) = thought {
            self.pieces += 1;
            self.bytes += thought.len();
            if self.content.text().is_empty() && !self.thinking.is_closed() {
                told.push_str(self.thinking.push(&thought));
            } else {
                self.late.push_str(&thought);
            }
        }
        // A refusal is what the model said.
        if let Some(content) = text_of(&said["content"]).or_else(|| text_of(&said["refusal"])) {
            self.pieces += 1;
            self.bytes += content.len();
            told.push_str(self.thinking.close());
            told.push_str(self.content.push(content.as_bytes()));
        }
        if !told.is_empty() {
            tell(ChatProgress::Text(told));
        }
        if self.bytes > LONGEST_ANSWER {
            return Err(BadPiece::TooLong);
        }
        Ok(())
    }

    /// Whether nothing was answered because a filter forbade it.
    pub(super) fn was_filtered(&self) -> bool {
        self.finish.as_deref() == Some("content_filter") && self.bytes == 0
    }

    /// Tokens as far as the server counted them.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Tokens of the answer as an estimate: a piece is mostly one, and none is much longer than this.
    pub(super) fn estimated_tokens(&self) -> u32 {
        const LONG_TOKEN: usize = 8;
        let least = u32::try_from(self.bytes.div_ceil(LONG_TOKEN)).unwrap_or(u32::MAX);
        self.pieces.max(least)
    }

    /// Ends it: the whole text and why it ended. Thinking that was cut off stays without an end, which is told to the
    /// model like any other such slip.
    pub(super) fn finish(mut self, tell: &mut dyn FnMut(ChatProgress)) -> (String, StopReason) {
        let stop = match self.finish.as_deref() {
            _ if self.content.stopped() => StopReason::Stop,
            Some("length") => StopReason::Length,
            _ => StopReason::End,
        };
        let mut told = String::new();
        if self.thinking.is_open() && stop == StopReason::Length {
            told.push_str(self.thinking.leave_open());
        } else {
            told.push_str(self.thinking.close());
        }
        let mut text = self.thinking.text().to_owned();
        text.push_str(self.content.text());
        if !self.late.is_empty() && stop != StopReason::Stop {
            let mut late = Thinking::default();
            late.push(&self.late);
            late.close();
            let late = format!("\n\n{}", late.text().trim_end());
            text.push_str(&late);
            told.push_str(&late);
        }
        if !told.is_empty() {
            tell(ChatProgress::Text(told));
        }
        (text, stop)
    }
}

impl Gather<ChatProgress> for Collector {
    fn take(&mut self, data: &str, tell: &mut dyn FnMut(ChatProgress)) -> Result<(), BadPiece> {
        objects(data, &mut |value| self.take_value(value, tell))
    }

    fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn began(&self) -> bool {
        self.bytes > 0
    }

    fn stopped(&self) -> bool {
        self.content.stopped()
    }

    fn failure(&self, error: &Value, key: Option<&Secret>) -> Failure {
        errors::in_stream(error, key)
    }
}

/// Shows every JSON object of a piece.
pub(super) fn objects(data: &str, take: &mut dyn FnMut(&Value) -> Result<(), BadPiece>) -> Result<(), BadPiece> {
    let mut one = |value: &Value| {
        if !value.is_object() {
            return Err(BadPiece::NoJson);
        }
        if value.get("error").is_some_and(|error| !error.is_null()) || value["object"] == "error" {
            return Err(BadPiece::Error(value.clone()));
        }
        take(value)
    };
    if let Ok(value) = serde_json::from_str::<Value>(data) {
        return one(&value);
    }
    // Servers that leave out the empty lines between events.
    if !data.contains('\n') {
        return Err(BadPiece::NoJson);
    }
    for line in data.lines().filter(|line| !is_done(line)) {
        let value = serde_json::from_str(line).map_err(|_| BadPiece::NoJson)?;
        one(&value)?;
    }
    Ok(())
}

/// A text, also where it comes as a list of parts; `None` when it is empty.
pub(super) fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn collect(pieces: &[Value], stop: &[&str]) -> (String, StopReason, Usage) {
        let stop: Vec<String> = stop.iter().map(|stop| (*stop).to_owned()).collect();
        let mut collector = Collector::new(&stop);
        let mut told = String::new();
        let mut tell = |progress| {
            if let ChatProgress::Text(text) = progress {
                told.push_str(&text);
            }
        };
        for piece in pieces {
            collector.take(&piece.to_string(), &mut tell).unwrap();
        }
        let usage = collector.usage();
        let (text, reason) = collector.finish(&mut tell);
        assert_eq!(told, text, "what was told makes the answer");
        (text, reason, usage)
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn end(reason: &str) -> Value {
        json!({"choices": [{"delta": {}, "finish_reason": reason}]})
    }

    #[test]
    fn pieces_make_an_answer() {
        let pieces = [
            delta(json!({"role": "assistant", "content": null})),
            delta(json!({"content": "Hel"})),
            delta(json!({"content": [{"type": "text", "text": "lo"}]})),
            end("length"),
            json!({"choices": [], "usage": {"prompt_tokens": 34, "completion_tokens": 2,
                   "prompt_tokens_details": {"cached_tokens": 20}}}),
        ];
        let (text, stop, usage) = collect(&pieces, &[]);
        assert_eq!((text.as_str(), stop), ("Hello", StopReason::Length));
        assert_eq!(
            (usage.prompt, usage.cached, usage.completion),
            (Some(34), Some(20), Some(2))
        );
    }

    #[test]
    fn a_whole_answer_is_one_too() {
        let whole = json!({"choices": [{"message": {"content": "Hi", "reasoning": "hm"}, "finish_reason": "stop"}],
            "timings": {"cache_n": 33, "prompt_n": 1, "prompt_ms": 61.5, "predicted_n": 4}});
        let (text, stop, usage) = collect(&[whole], &[]);
        assert_eq!((text.as_str(), stop), ("<think>\nhm\n</think>\n\nHi", StopReason::End));
        let expected = Usage {
            prompt: Some(34),
            cached: Some(33),
            completion: Some(4),
            prompt_ms: Some(61.5),
            dollars: None,
        };
        assert_eq!(usage, expected);
    }

    #[test]
    fn stop_texts_are_part_of_the_answer_but_not_of_the_thinking() {
        let pieces = [
            delta(json!({"reasoning_content": "then <|DONE|>", "reasoning": "the same again"})),
            delta(json!({"content": "<|APPEND|>a|b<|END|><|DO"})),
            delta(json!({"content": "NE|> and more"})),
            delta(json!({"reasoning_content": "too late"})),
        ];
        let (text, stop, _) = collect(&pieces, &["<|DONE|>"]);
        assert_eq!(text, "<think>\nthen <|DONE|>\n</think>\n\n<|APPEND|>a|b<|END|><|DONE|>");
        assert_eq!(stop, StopReason::Stop);
    }

    #[test]
    fn thinking_alone_late_and_cut_off() {
        let thought = |text: &str| delta(json!({ "reasoning_content": text }));
        let (text, ..) = collect(&[thought("hm"), end("stop")], &[]);
        assert_eq!(text, "<think>\nhm\n</think>\n\n");
        let (text, stop, _) = collect(&[thought("and so on <"), end("length")], &[]);
        assert_eq!((text.as_str(), stop), ("<think>\nand so on <", StopReason::Length));
        let (text, ..) = collect(&[delta(json!({"content": "a"})), thought("b"), end("stop")], &[]);
        assert_eq!(text, "a\n\n<think>\nb\n</think>");
    }

    #[test]
    fn bad_pieces_are_told_apart() {
        let mut collector = Collector::new(&[]);
        let mut take = |data: &str| collector.take(data, &mut |_| {});
        for bad in ["", "7", "{", "[]", "{}\n{"] {
            assert_eq!(take(bad), Err(BadPiece::NoJson), "{bad}");
        }
        let error = json!({"error": {"message": "no"}});
        assert_eq!(take(&error.to_string()), Err(BadPiece::Error(error)));
        for fine in [
            "{}",
            "{\"choices\": []}",
            "{\"choices\": 7, \"usage\": 1}",
            "{}\n{}\n[DONE]",
            "{\"error\": null}",
        ] {
            assert_eq!(take(fine), Ok(()), "{fine}");
        }
        let huge = delta(json!({"content": "x".repeat(5 << 20)})).to_string();
        assert_eq!(take(&huge), Ok(()));
        assert_eq!(take(&huge), Err(BadPiece::TooLong));
    }
}
