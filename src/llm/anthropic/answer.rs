//! What comes back, as events or at once: blocks of text, thinking and calls, put together.
//!
//! Owns the form of answers. Must not read from the network.

use serde_json::{Value, json};

use super::errors;
use crate::llm::remote::{BadPiece, Failure, Gather};
use crate::llm::tools::{LONGEST_ANSWER, MOST_CALLS, arguments_of, object_of};
use crate::llm::{Secret, ToolAnswer, ToolCall, Usage};

/// How an answer ended, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It is whole, or cut at its limit.
    Over,
    /// The server broke a long turn off and wants to be asked to go on.
    Paused,
    /// The model declined.
    Refused,
}

/// An answer as it grows.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Blocks in the order of their index, with what their deltas added.
    blocks: Vec<Value>,
    /// Arguments of calls as text, by block.
    partial: Vec<String>,
    input: u64,
    read: u64,
    written: u64,
    output: u64,
    stop: Option<String>,
    over: bool,
    bytes: usize,
}

impl Gather<String> for Gathered {
    fn take(&mut self, data: &str, tell: &mut dyn FnMut(String)) -> Result<(), BadPiece> {
        let value: Value = serde_json::from_str(data).map_err(|_| BadPiece::NoJson)?;
        if !value.is_object() {
            return Err(BadPiece::NoJson);
        }
        match value["type"].as_str().unwrap_or_default() {
            "message" => self.whole(&value, tell),
            "message_start" => self.count(&value["message"]["usage"]),
            "content_block_start" => {
                let at = self.at(&value)?;
                self.blocks[at] = value["content_block"].clone();
                let begin = value["content_block"]["text"].as_str().unwrap_or_default();
                self.say(begin, tell);
                self.bytes += value["content_block"].to_string().len();
            }
            "content_block_delta" => self.delta(&value, tell)?,
            "message_delta" => {
                self.count(&value["usage"]);
                if let Some(stop) = value["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
            }
            "message_stop" => self.over = true,
            "error" => return Err(BadPiece::Error(value)),
            _ if value.get("error").is_some_and(|error| !error.is_null()) => return Err(BadPiece::Error(value)),
            // `ping`, `content_block_stop`, and what is yet to come.
            _ => {}
        }
        match self.bytes > LONGEST_ANSWER {
            true => Err(BadPiece::TooLong),
            false => Ok(()),
        }
    }

    fn finished(&self) -> bool {
        self.over
    }

    fn began(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// What a gateway still sends after the end is of no interest.
    fn stopped(&self) -> bool {
        self.over
    }

    fn failure(&self, error: &Value, key: Option<&Secret>) -> Failure {
        errors::in_stream(error, key)
    }
}

impl Gathered {
    /// Takes an answer that came at once.
    fn whole(&mut self, value: &Value, tell: &mut dyn FnMut(String)) {
        self.count(&value["usage"]);
        self.stop = value["stop_reason"].as_str().map(str::to_owned);
        self.over = true;
        for block in value["content"].as_array().into_iter().flatten() {
            self.say(block["text"].as_str().unwrap_or_default(), tell);
            self.bytes += block.to_string().len();
            self.blocks.push(block.clone());
            self.partial.push(String::new());
        }
    }

    fn say(&mut self, text: &str, tell: &mut dyn FnMut(String)) {
        if !text.is_empty() {
            tell(text.to_owned());
        }
    }

    /// Counts are of the whole message so far, each time.
    fn count(&mut self, usage: &Value) {
        let set = |field: &mut u64, name: &str| {
            if let Some(tokens) = usage[name].as_u64() {
                *field = tokens;
            }
        };
        set(&mut self.input, "input_tokens");
        set(&mut self.read, "cache_read_input_tokens");
        set(&mut self.written, "cache_creation_input_tokens");
        set(&mut self.output, "output_tokens");
    }

    /// The block that an event is about.
    fn at(&mut self, value: &Value) -> Result<usize, BadPiece> {
        let at = value["index"].as_u64().unwrap_or(0);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        if at > 4 * MOST_CALLS {
            return Err(BadPiece::TooLong);
        }
        while self.blocks.len() <= at {
            self.blocks.push(json!({ "type": "text", "text": "" }));
            self.partial.push(String::new());
        }
        Ok(at)
    }

    fn delta(&mut self, value: &Value, tell: &mut dyn FnMut(String)) -> Result<(), BadPiece> {
        let at = self.at(value)?;
        let delta = &value["delta"];
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match text("type") {
            "text_delta" => {
                self.add(at, "text", text("text"));
                self.say(text("text"), tell);
            }
            "thinking_delta" => self.add(at, "thinking", text("thinking")),
            "signature_delta" => self.add(at, "signature", text("signature")),
            "input_json_delta" => {
                self.bytes += text("partial_json").len();
                self.partial[at].push_str(text("partial_json"));
            }
            // Citations and the like belong to tools that are not asked for.
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, at: usize, field: &str, more: &str) {
        self.bytes += more.len();
        match &mut self.blocks[at][field] {
            Value::String(text) => text.push_str(more),
            other => *other = more.into(),
        }
    }

    /// How it ended.
    pub(super) fn end(&self) -> End {
        match self.stop.as_deref() {
            Some("refusal") => End::Refused,
            Some("pause_turn") => End::Paused,
            _ => End::Over,
        }
    }

    /// The answer, behind what came of it before a pause.
    pub(super) fn finish(self, before: Option<ToolAnswer>) -> ToolAnswer {
        let cut = matches!(
            self.stop.as_deref(),
            Some("max_tokens" | "model_context_window_exceeded")
        );
        let mut answer = before.unwrap_or(ToolAnswer {
            text: String::new(),
            calls: Vec::new(),
            raw: None,
            usage: Usage::default(),
            cut: false,
        });
        answer.cut = cut;
        answer.usage += Usage {
            prompt: self.input + self.read + self.written,
            cached: self.read,
            completion: self.output,
            dollars: None,
        };
        let mut raw = match answer.raw.take() {
            Some(Value::Array(blocks)) => blocks,
            _ => Vec::new(),
        };
        for (mut block, partial) in self.blocks.into_iter().zip(self.partial) {
            match block["type"].as_str().unwrap_or_default() {
                "text" => answer.text.push_str(block["text"].as_str().unwrap_or_default()),
                "tool_use" => {
                    let arguments = match partial.is_empty() {
                        true => block["input"].clone(),
                        false => arguments_of(&partial),
                    };
                    block["input"] = object_of(&arguments);
                    answer.calls.push(ToolCall {
                        id: block["id"].as_str().unwrap_or_default().to_owned(),
                        name: block["name"].as_str().unwrap_or_default().to_owned(),
                        arguments,
                    });
                }
                _ => {}
            }
            // An empty text is sent by the server and refused by it.
            if !(block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())) {
                raw.push(block);
            }
        }
        answer.raw = (!raw.is_empty()).then_some(Value::Array(raw));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(events: &[Value]) -> (Gathered, String) {
        let mut gathered = Gathered::default();
        let mut told = String::new();
        for event in events {
            gathered
                .take(&event.to_string(), &mut |text| told.push_str(&text))
                .unwrap();
        }
        (gathered, told)
    }

    fn start(index: u64, block: Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn delta(index: u64, delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn stop(reason: &str) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 40}})
    }

    #[test]
    fn events_make_an_answer() {
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20,
                           "output_tokens": 1});
        let (gathered, told) = gather(&[
            json!({"type": "message_start", "message": {"usage": usage}}),
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, json!({"type": "signature_delta", "signature": "sig"})),
            json!({"type": "ping"}),
            start(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "I look"})),
            delta(1, json!({"type": "text_delta", "text": " first."})),
            start(2, json!({"type": "tool_use", "id": "t1", "name": "read", "input": {}})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"step\""})),
            delta(2, json!({"type": "input_json_delta", "partial_json": ": 3}"})),
            start(3, json!({"type": "tool_use", "id": "t2", "name": "list", "input": {}})),
            json!({"type": "content_block_stop", "index": 3}),
            stop("tool_use"),
            json!({"type": "message_stop"}),
        ]);
        assert!(gathered.finished() && gathered.began());
        assert_eq!(gathered.end(), End::Over);
        let answer = gathered.finish(None);
        assert_eq!(
            (answer.text.as_str(), told.as_str()),
            ("I look first.", "I look first.")
        );
        assert_eq!(answer.calls[0].arguments, json!({"step": 3}));
        assert_eq!(
            (answer.calls[1].id.as_str(), &answer.calls[1].arguments),
            ("t2", &json!({}))
        );
        let usage = answer.usage;
        assert_eq!((usage.prompt, usage.cached, usage.completion), (100, 70, 40));
        let raw = answer.raw.unwrap();
        assert_eq!(
            raw[0],
            json!({"type": "thinking", "thinking": "hm", "signature": "sig"})
        );
        assert_eq!(raw[2]["input"], json!({"step": 3}));
    }

    #[test]
    fn an_answer_at_once_is_one_too() {
        let whole = json!({"type": "message", "content": [{"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}}],
            "stop_reason": "max_tokens", "usage": {"input_tokens": 3, "output_tokens": 2}});
        let (gathered, told) = gather(&[whole]);
        let answer = gathered.finish(None);
        assert_eq!((answer.text.as_str(), told.as_str(), answer.cut), ("Hi", "Hi", true));
        assert_eq!(answer.calls[0].arguments, json!({"a": 1}));
    }

    #[test]
    fn a_paused_turn_is_gone_on_with() {
        let part = |text: &str, reason: &str| {
            gather(&[
                start(0, json!({"type": "text", "text": ""})),
                delta(0, json!({"type": "text_delta", "text": text})),
                stop(reason),
            ])
            .0
        };
        let first = part("one ", "pause_turn");
        assert_eq!(first.end(), End::Paused);
        let answer = part("two", "end_turn").finish(Some(first.finish(None)));
        assert_eq!((answer.text.as_str(), answer.usage.completion), ("one two", 80));
        assert_eq!(answer.raw.unwrap().as_array().unwrap().len(), 2);
        assert_eq!(part("no", "refusal").end(), End::Refused);
    }

    #[test]
    fn what_is_cut_in_a_call_is_told_as_it_is() {
        let (gathered, _) = gather(&[
            start(0, json!({"type": "text", "text": ""})),
            start(
                1,
                json!({"type": "tool_use", "id": "t", "name": "write_file", "input": {}}),
            ),
            delta(
                1,
                json!({"type": "input_json_delta", "partial_json": "{\"path\": \"pro"}),
            ),
            stop("max_tokens"),
        ]);
        let answer = gathered.finish(None);
        assert!(answer.cut);
        assert_eq!(answer.calls[0].arguments, json!("{\"path\": \"pro"));
        // The empty text is left out, the input is an object.
        assert_eq!(
            answer.raw.unwrap(),
            json!([{"type": "tool_use", "id": "t", "name": "write_file",
            "input": {"invalid": "{\"path\": \"pro"}}])
        );
    }

    #[test]
    fn nonsense_is_told_apart() {
        let mut gathered = Gathered::default();
        let mut take = |data: &str| gathered.take(data, &mut |_| {});
        for bad in ["", "7", "[]", "{"] {
            assert_eq!(take(bad), Err(BadPiece::NoJson), "{bad}");
        }
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(take(&error.to_string()), Err(BadPiece::Error(error)));
        assert_eq!(
            take("{\"type\": \"content_block_start\", \"index\": 4000000000}"),
            Err(BadPiece::TooLong)
        );
        assert_eq!(take("{\"type\": \"something_new\"}"), Ok(()));
    }
}
