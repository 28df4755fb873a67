//! A meta-LLM's conversation as a story, told by a local server in the format of Anthropic or of OpenAI. The server
//! looks at what it is sent, and refuses to go on when that is wrong.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::io;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::fake_server::{FakeServer, Seen, json};

pub(crate) const KEY: &str = "sk-nobody-may-see-this";

/// An answer: what is said, and what is called.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) text: &'static str,
    pub(crate) calls: Vec<(&'static str, Value)>,
}

pub(crate) fn said(text: &'static str, calls: impl IntoIterator<Item = (&'static str, Value)>) -> Said {
    Said {
        text,
        calls: calls.into_iter().collect(),
    }
}

pub(crate) fn id(answer: usize, call: usize) -> String {
    format!("call_{answer}_{call}")
}

#[derive(Clone, Copy)]
pub(crate) enum Wire {
    Anthropic,
    OpenAi,
}

impl Wire {
    pub(crate) fn spec(self, server: &FakeServer) -> String {
        match self {
            Self::Anthropic => format!("anthropic:meta@{}", server.url("")),
            Self::OpenAi => format!("openai:{},meta", server.url("/v1")),
        }
    }

    /// What is wrong with the request for the answer of this number, if anything.
    pub(crate) fn wrong(self, seen: &Seen, number: usize, story: &[Said]) -> Option<String> {
        let body = seen.json();
        let must = |holds: bool, what: &str| (!holds).then(|| format!("answer {number}: {what}"));
        let messages = body["messages"].as_array()?;
        let before = number.checked_sub(1).map(|at| (at, &story[at].calls));
        match self {
            Self::Anthropic => must(seen.header("x-api-key") == KEY, "the key")
                .or_else(|| must(seen.header("anthropic-version") == "2023-06-01", "the version"))
                .or_else(|| {
                    must(
                        body["system"][0]["text"].as_str()?.contains("mean progression"),
                        "the system prompt",
                    )
                })
                .or_else(|| {
                    must(
                        body["tools"].as_array()?.iter().any(|tool| tool["name"] == "finish"),
                        "the tools",
                    )
                })
                .or_else(|| must(messages.len() == 1 + 2 * number, "the number of messages"))
                .or_else(|| {
                    let (at, calls) = before?;
                    let results = messages.last()?["content"].as_array()?;
                    must(results.len() == calls.len(), "one result a call").or_else(|| {
                        let paired = results
                            .iter()
                            .enumerate()
                            .all(|(n, result)| result["tool_use_id"] == id(at, n));
                        must(paired, "results are paired with their calls")
                    })
                }),
            Self::OpenAi => must(seen.header("authorization") == format!("Bearer {KEY}"), "the key")
                .or_else(|| must(messages[0]["role"] == "system", "the system prompt"))
                .or_else(|| {
                    must(
                        body["tools"]
                            .as_array()?
                            .iter()
                            .any(|tool| tool["function"]["name"] == "finish"),
                        "the tools",
                    )
                })
                .or_else(|| {
                    let (at, calls) = before?;
                    let results = &messages[messages.len() - calls.len()..];
                    let paired = results
                        .iter()
                        .enumerate()
                        .all(|(n, result)| result["role"] == "tool" && result["tool_call_id"] == id(at, n));
                    must(paired, "results are paired with their calls")
                }),
        }
    }

    pub(crate) fn answer(self, said: &Said, number: usize) -> Value {
        match self {
            Self::Anthropic => {
                let mut content = Vec::new();
                if !said.text.is_empty() {
                    content.push(json!({"type": "text", "text": said.text}));
                }
                content.extend(said.calls.iter().enumerate().map(
                    |(n, (name, input))| json!({"type": "tool_use", "id": id(number, n), "name": name, "input": input}),
                ));
                json!({"type": "message", "content": content, "stop_reason": "tool_use",
                       "usage": {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 50}})
            }
            Self::OpenAi => {
                let calls: Vec<Value> = said
                    .calls
                    .iter()
                    .enumerate()
                    .map(|(n, (name, input))| {
                        json!({"id": id(number, n), "type": "function", "function": {"name": name, "arguments": input.to_string()}})
                    })
                    .collect();
                let message = json!({"content": said.text, "tool_calls": calls});
                json!({"choices": [{"message": message, "finish_reason": "tool_calls"}],
                       "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 900}}})
            }
        }
    }
}

/// A server that tells a story, and refuses to go on when it is asked wrongly.
pub(crate) fn teller(wire: Wire, story: Vec<Said>) -> FakeServer {
    FakeServer::start(
        move |seen: &Seen, nth: usize, stream: &mut TcpStream| -> io::Result<()> {
            if seen.path == "/v1/models" {
                return json(stream, "200 OK", r#"{"data": [{"id": "meta"}]}"#);
            }
            match (wire.wrong(seen, nth, &story), story.get(nth)) {
                (Some(wrong), _) => {
                    let error = json!({"error": {"type": "invalid_request_error", "message": wrong}});
                    json(stream, "400 Bad Request", &error.to_string())
                }
                (None, Some(said)) => json(stream, "200 OK", &wire.answer(said, nth).to_string()),
                (None, None) => json(
                    stream,
                    "400 Bad Request",
                    r#"{"error": {"message": "the story is over"}}"#,
                ),
            }
        },
    )
}
