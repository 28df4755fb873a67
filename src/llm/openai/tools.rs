//! Chats with tools: what is sent, and what comes back in fragments.
//!
//! Owns OpenAI's form of tools, calls and results. What a tool does is the caller's.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::{Usage, objects, text_of};
use super::call::Server;
use super::errors;
use super::request::{self, Refused};
use super::{BACKEND, DIALECT, OpenAiModel, no_result};
use crate::jobs::Cancel;
use crate::llm::remote::{BadPiece, Failure, Gather, Limits, Tries, receive};
use crate::llm::tools::{LONGEST_ANSWER, MOST_CALLS, arguments_of, object_of};
use crate::llm::{self, LlmError, Secret, ToolAnswer, ToolCall, ToolMessage, ToolModel, ToolRequest};

impl ToolModel for OpenAiModel {
    fn spec(&self) -> String {
        let address = &self.server.line.address;
        format!("{BACKEND}:{}@{}", address.model, address.base)
    }

    fn answer(
        &self,
        request: &ToolRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&str),
    ) -> Result<ToolAnswer, LlmError> {
        let server = Arc::clone(&self.server);
        let request = request.clone();
        let result = self
            .runtime
            .run(cancel, &mut |text: String| sink(&text), |teller| async move {
                server.answer(&request, &mut |text| teller.tell(text)).await
            });
        result.map_err(no_result)?
    }
}

impl Server {
    async fn answer(
        &self,
        request: &ToolRequest,
        tell: &mut (dyn FnMut(String) + Send),
    ) -> Result<ToolAnswer, LlmError> {
        let mut tries = Tries::new(&self.line.settings);
        let dropped = Refused::default();
        let mut most = None;
        loop {
            let body = self.body_of(request, most);
            let estimate = self.estimated_tokens(body.to_string().len());
            let failure = match self.once(&body, tell).await {
                Ok(mut gathered) => {
                    gathered.usage.prompt = gathered.usage.prompt.or(Some(estimate));
                    return Ok(gathered.finish());
                }
                Err(failure) => failure,
            };
            match failure {
                failure if lacks_tools(failure.message()) => {
                    let message = format!(
                        "it takes no tools ({}), which a meta-LLM needs; name a model that has them, or start the \
                         server with them (vLLM: --enable-auto-tool-choice --tool-call-parser NAME; llama.cpp: --jinja)",
                        failure.message()
                    );
                    return Err(self.backend(message, false));
                }
                Failure::Field { field, .. } if !dropped.has(field) => {
                    dropped.add(field);
                    self.refused.add(field);
                }
                Failure::TooLong {
                    prompt: Some(prompt),
                    window: Some(window),
                    ..
                } if prompt < window && most.is_none() => most = Some(window - prompt),
                Failure::Passing { message, wait } => {
                    let again = tries.next(&message, wait).await;
                    again.map_err(|message| self.backend(message, false))?;
                }
                // What came is lost; the conversation before it is not.
                Failure::Cut { message } => {
                    let again = tries.next(&message, None).await;
                    again.map_err(|message| self.backend(message, true))?;
                    tell(format!("\n[{message}; asked again]\n"));
                }
                failure => return Err(self.error(failure, estimate).await),
            }
        }
    }

    async fn once(&self, body: &Value, tell: &mut (dyn FnMut(String) + Send)) -> Result<Gathered, Failure> {
        let line = &self.line;
        let began = std::time::Instant::now();
        let address = line.address.function("chat/completions");
        let incoming = line.post(address, body, Limits::of(&line.settings)).await?;
        let mut gathered = Gathered::default();
        receive(incoming, &mut gathered, &DIALECT, line.key(), began, tell).await?;
        match gathered.finish.as_deref() {
            Some("content_filter") => Err(Failure::lasting(
                "its filter stopped the answer; change what the brief or the traces hold, or use another model",
            )),
            _ => Ok(gathered),
        }
    }

    fn body_of(&self, request: &ToolRequest, most: Option<u32>) -> Value {
        let address = &self.line.address;
        let mut body = Map::new();
        body.insert("model".into(), address.model.as_str().into());
        body.insert("messages".into(), messages(request).into());
        if !request.tools.is_empty() {
            let tools: Vec<Value> = request
                .tools
                .iter()
                .map(|tool| {
                    let function =
                        json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
                    json!({ "type": "function", "function": function })
                })
                .collect();
            body.insert("tools".into(), tools.into());
        }
        let most = most.unwrap_or(request.max_tokens).min(request.max_tokens);
        request::limits(&mut body, self.about.kind, &self.refused, most);
        if address
            .base
            .host_str()
            .is_some_and(|host| host.ends_with("openrouter.ai"))
        {
            // Only this one knows the field; it then tells what a call cost.
            body.insert("usage".into(), json!({ "include": true }));
        }
        Value::Object(body)
    }
}

fn messages(request: &ToolRequest) -> Vec<Value> {
    let mut out = vec![json!({ "role": "system", "content": request.system })];
    for message in &request.messages {
        match message {
            ToolMessage::User { text } => out.push(json!({ "role": "user", "content": text })),
            ToolMessage::Model { text, calls, raw } => out.push(said(text, calls, raw.as_ref())),
            ToolMessage::Results { results } => out.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.text })),
            ),
        }
    }
    out
}

/// An answer as it goes back.
fn said(text: &str, calls: &[ToolCall], raw: Option<&Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    // A message with nothing in it is refused by some.
    let content = match (text.is_empty(), calls.is_empty()) {
        (true, false) => Value::Null,
        (true, true) => "(nothing)".into(),
        _ => text.into(),
    };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        let calls: Vec<Value> = calls
            .iter()
            .map(|call| {
                let arguments = object_of(&call.arguments).to_string();
                let function = json!({ "name": call.name, "arguments": arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            })
            .collect();
        message.insert("tool_calls".into(), calls.into());
    }
    for (name, value) in raw.and_then(Value::as_object).into_iter().flatten() {
        if THOUGHTS.contains(&name.as_str()) {
            message.insert(name.clone(), value.clone());
        }
    }
    Value::Object(message)
}

/// Fields of thinking, which a server that sends them wants to have back while tools are used.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// Whether a refusal says that there are no tools here.
fn lacks_tools(message: &str) -> bool {
    const SAID: [&str; 8] = [
        "not support tool",
        "support tool use",
        "support tools",
        "tool choice requires",
        "tools param requires",
        "not support function",
        "tools is not supported",
        "tool calling is not supported",
    ];
    let message = message.to_ascii_lowercase();
    SAID.iter().any(|said| message.contains(said))
}

/// A call as it grows.
#[derive(Debug, Default)]
struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// An answer as it grows.
#[derive(Debug, Default)]
struct Gathered {
    text: String,
    calls: Vec<Fragment>,
    thoughts: Map<String, Value>,
    finish: Option<String>,
    usage: Usage,
    bytes: usize,
}

impl Gather<String> for Gathered {
    fn take(&mut self, data: &str, tell: &mut dyn FnMut(String)) -> Result<(), BadPiece> {
        objects(data, &mut |value| {
            self.usage.count(value);
            let choice = &value["choices"][0];
            let said = match choice["delta"].is_object() {
                true => &choice["delta"],
                false => &choice["message"],
            };
            if let Some(text) = text_of(&said["content"]).or_else(|| text_of(&said["refusal"])) {
                self.bytes += text.len();
                self.text.push_str(&text);
                tell(text);
            }
            for name in THOUGHTS {
                self.think(name, &said[name]);
            }
            for call in said["tool_calls"].as_array().into_iter().flatten() {
                self.call(call);
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish = Some(reason.to_owned());
            }
            match self.bytes > LONGEST_ANSWER || self.calls.len() > MOST_CALLS {
                true => Err(BadPiece::TooLong),
                false => Ok(()),
            }
        })
    }

    fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn began(&self) -> bool {
        self.bytes > 0 || !self.calls.is_empty()
    }

    fn failure(&self, error: &Value, key: Option<&Secret>) -> Failure {
        errors::in_stream(error, key)
    }
}

impl Gathered {
    fn think(&mut self, name: &str, more: &Value) {
        match (self.thoughts.get_mut(name), more) {
            (_, Value::Null) => return,
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            (_, more) => {
                self.thoughts.insert(name.to_owned(), more.clone());
            }
        }
        self.bytes += more.as_str().map_or(64, str::len);
    }

    /// Takes a fragment of a call. Servers name it by its index; some send it whole and name it by its id alone.
    fn call(&mut self, value: &Value) {
        let (index, id) = (value["index"].as_u64(), value["id"].as_str().unwrap_or_default());
        let at = match index {
            Some(index) => self.calls.iter().position(|call| call.index == Some(index)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|call| call.id == id),
        };
        // A second call under the same index, as some servers send it.
        let at = at.filter(|at| {
            let known = &self.calls[*at].id;
            id.is_empty() || known.is_empty() || known == id
        });
        let at = at.unwrap_or_else(|| {
            self.calls.push(Fragment::default());
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.index = call.index.or(index);
        if !id.is_empty() {
            call.id = id.to_owned();
        }
        let function = &value["function"];
        if let Some(name) = function["name"].as_str() {
            // Whole, or in pieces; never repeated.
            if call.name != name {
                call.name.push_str(name);
            }
        }
        match &function["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            Value::Null => {}
            whole => call.arguments = whole.to_string(),
        }
        self.bytes += call.arguments.len().min(value.to_string().len());
    }

    fn finish(self) -> ToolAnswer {
        let completion = self.usage.completion.unwrap_or((self.bytes / 4) as u32);
        let calls = self.calls.into_iter().enumerate().map(|(at, call)| ToolCall {
            id: match call.id.is_empty() {
                true => format!("call_{at}"),
                false => call.id,
            },
            name: call.name,
            arguments: arguments_of(&call.arguments),
        });
        let prompt = u64::from(self.usage.prompt.unwrap_or(0));
        ToolAnswer {
            text: self.text,
            calls: calls.collect(),
            raw: (!self.thoughts.is_empty()).then_some(Value::Object(self.thoughts)),
            usage: llm::Usage {
                prompt,
                cached: u64::from(self.usage.cached.unwrap_or(0)).min(prompt),
                completion: completion.into(),
                dollars: self.usage.dollars,
            },
            cut: self.finish.as_deref() == Some("length"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ToolResult;

    fn gather(pieces: &[Value]) -> ToolAnswer {
        let mut gathered = Gathered::default();
        let mut told = String::new();
        for piece in pieces {
            gathered
                .take(&piece.to_string(), &mut |text| told.push_str(&text))
                .unwrap();
        }
        let answer = gathered.finish();
        assert_eq!(told, answer.text);
        answer
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"delta": delta}]})
    }

    fn calls(list: Value) -> Value {
        delta(json!({ "tool_calls": list }))
    }

    #[test]
    fn fragments_make_calls() {
        let answer = gather(&[
            delta(json!({"content": "Let me", "reasoning_content": "hm"})),
            calls(json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}])),
            calls(json!([{"index": 0, "function": {"arguments": "{\"step\""}}])),
            calls(
                json!([{"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}},
                         {"index": 0, "function": {"arguments": ": 7}"}}]),
            ),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}],
                   "usage": {"prompt_tokens": 50, "completion_tokens": 9, "cost": 0.25,
                             "prompt_tokens_details": {"cached_tokens": 40}}}),
        ]);
        assert_eq!(answer.text, "Let me");
        let calls: Vec<_> = answer
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str()))
            .collect();
        assert_eq!(calls, [("a", "read"), ("b", "list")]);
        assert_eq!(answer.calls[0].arguments, json!({"step": 7}));
        assert_eq!(answer.raw, Some(json!({"reasoning_content": "hm"})));
        assert_eq!(
            (answer.usage.prompt, answer.usage.cached, answer.usage.completion),
            (50, 40, 9)
        );
        assert_eq!((answer.usage.dollars, answer.cut), (Some(0.25), false));
    }

    #[test]
    fn servers_that_send_calls_in_their_own_way_are_understood() {
        // Whole and without an index; arguments as an object; without an id; two under one index.
        let answer = gather(&[calls(json!([
            {"id": "x", "function": {"name": "one", "arguments": {"a": 1}}},
            {"id": "y", "function": {"name": "two", "arguments": "{\"b\": 2}"}},
        ]))]);
        assert_eq!(answer.calls[0].arguments, json!({"a": 1}));
        assert_eq!(answer.calls[1].arguments, json!({"b": 2}));
        let answer = gather(&[calls(json!([{"index": 0, "function": {"name": "one"}}]))]);
        assert_eq!(
            (answer.calls[0].id.as_str(), &answer.calls[0].arguments),
            ("call_0", &json!({}))
        );
        let answer = gather(&[
            calls(json!([{"index": 0, "id": "x", "function": {"name": "one", "arguments": "{}"}}])),
            calls(json!([{"index": 0, "id": "y", "function": {"name": "two", "arguments": "{}"}}])),
        ]);
        assert_eq!(answer.calls.len(), 2);
    }

    #[test]
    fn what_is_no_json_stays_as_it_is_and_goes_back_as_an_object() {
        let answer = gather(&[
            calls(json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"step\": "}}])),
            json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
        ]);
        assert!(answer.cut);
        assert_eq!(answer.calls[0].arguments, json!("{\"step\": "));
        let back = said("", &answer.calls, None);
        let arguments = back["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
        assert_eq!(back["content"], Value::Null);
    }

    #[test]
    fn results_follow_their_calls() {
        let call = ToolCall {
            id: "a".into(),
            name: "read".into(),
            arguments: json!({"n": 1}),
        };
        let request = ToolRequest {
            system: "rules".into(),
            messages: vec![
                ToolMessage::User { text: "go".into() },
                ToolMessage::Model {
                    text: "hm".into(),
                    calls: vec![call],
                    raw: Some(json!({"reasoning_details": [1], "other": 2})),
                },
                ToolMessage::Results {
                    results: vec![ToolResult {
                        id: "a".into(),
                        text: "there".into(),
                        failed: false,
                    }],
                },
            ],
            tools: Vec::new(),
            max_tokens: 10,
        };
        let sent = messages(&request);
        assert_eq!(sent.len(), 4);
        assert_eq!(
            (&sent[2]["reasoning_details"], &sent[2]["other"]),
            (&json!([1]), &Value::Null)
        );
        assert_eq!(
            sent[3],
            json!({"role": "tool", "tool_call_id": "a", "content": "there"})
        );
    }

    #[test]
    fn servers_without_tools_are_known_by_their_words() {
        for said in [
            "HTTP 400: registry.ollama.ai/library/tiny does not support tools",
            "HTTP 400: \"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "HTTP 500: tools param requires --jinja flag",
            "HTTP 404: No endpoints found that support tool use.",
        ] {
            assert!(lacks_tools(said), "{said}");
        }
        assert!(!lacks_tools("HTTP 400: tool_call_id `a` has no call"));
    }
}
