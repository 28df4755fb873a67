//! What is sent: the body of a Messages call.
//!
//! Owns the form of messages and blocks, and where the cached beginning of a prompt ends: after the tools, after the
//! system prompt, and after the last two messages of ours, so that each call reads what the call before it wrote.

use serde_json::{Map, Value, json};

use crate::llm::tools::object_of;
use crate::llm::{ToolAnswer, ToolCall, ToolMessage, ToolRequest};

/// Messages of ours at whose end the cache is marked; the interface takes four marks in all.
const MARKED: usize = 2;

/// The body of a call. `so_far` is the part of the answer that came before the server paused.
pub(super) fn body(model: &str, request: &ToolRequest, so_far: Option<&ToolAnswer>, most: u32) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), most.max(1).into());
    body.insert("stream".into(), true.into());
    if !request.system.trim().is_empty() {
        let mut block = json!({ "type": "text", "text": request.system });
        mark(&mut block);
        body.insert("system".into(), json!([block]));
    }
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }))
        .collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
        body.insert("tools".into(), tools.into());
    }
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    let ours = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in ours.take(MARKED) {
        if let Some(block) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            mark(block);
        }
    }
    if let Some(answer) = so_far {
        messages.push(said(&answer.text, &answer.calls, answer.raw.as_ref()));
    }
    body.insert("messages".into(), messages.into());
    Value::Object(body)
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn message(message: &ToolMessage) -> Value {
    match message {
        ToolMessage::User { text } => json!({ "role": "user", "content": [text_block(text)] }),
        ToolMessage::Model { text, calls, raw } => said(text, calls, raw.as_ref()),
        ToolMessage::Results { results } => {
            let blocks: Vec<Value> = results
                .iter()
                .map(|result| {
                    let mut block = json!({
                        "type": "tool_result",
                        "tool_use_id": result.id,
                        "content": [text_block(&result.text)],
                    });
                    if result.failed {
                        block["is_error"] = true.into();
                    }
                    block
                })
                .collect();
            json!({ "role": "user", "content": blocks })
        }
    }
}

/// A block of text; an empty one is refused.
fn text_block(text: &str) -> Value {
    let text = if text.trim().is_empty() { "(nothing)" } else { text };
    json!({ "type": "text", "text": text })
}

/// An answer as it goes back: its blocks as they came where they are known, thinking and signatures with them.
fn said(text: &str, calls: &[ToolCall], raw: Option<&Value>) -> Value {
    if let Some(blocks) = raw.and_then(Value::as_array).filter(|blocks| !blocks.is_empty()) {
        return json!({ "role": "assistant", "content": blocks });
    }
    let mut blocks = Vec::new();
    if !text.trim().is_empty() || calls.is_empty() {
        blocks.push(text_block(text));
    }
    blocks.extend(calls.iter().map(
        |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": object_of(&call.arguments) }),
    ));
    json!({ "role": "assistant", "content": blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{ToolResult, ToolSpec};

    fn request() -> ToolRequest {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "read".into(),
            arguments: json!("no json"),
        };
        let result = |id: &str, failed| ToolResult {
            id: id.into(),
            text: String::new(),
            failed,
        };
        ToolRequest {
            system: "rules".into(),
            messages: vec![
                ToolMessage::User { text: "go".into() },
                ToolMessage::Model {
                    text: " ".into(),
                    calls: vec![call("a"), call("b")],
                    raw: None,
                },
                ToolMessage::Results {
                    results: vec![result("a", false), result("b", true)],
                },
                ToolMessage::Model {
                    text: "ignored".into(),
                    calls: Vec::new(),
                    raw: Some(json!([{"type": "thinking", "thinking": "hm", "signature": "s"}])),
                },
                ToolMessage::User { text: "on".into() },
            ],
            tools: vec![ToolSpec {
                name: "read".into(),
                description: "reads".into(),
                schema: json!({"type": "object"}),
            }],
            max_tokens: 100,
        }
    }

    #[test]
    fn the_form_is_the_interfaces() {
        let body = body("claude", &request(), None, 100);
        assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude"), &json!(100)));
        let messages = body["messages"].as_array().unwrap();
        let roles: Vec<_> = messages
            .iter()
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        // No empty text, input always an object, one result a call.
        assert_eq!(messages[1]["content"].as_array().unwrap().len(), 2);
        assert!(messages[1]["content"][0]["input"].is_object());
        assert_eq!(messages[2]["content"][0]["tool_use_id"], "a");
        assert_eq!(messages[2]["content"][0]["content"][0]["text"], "(nothing)");
        assert_eq!(messages[2]["content"][1]["is_error"], true);
        assert_eq!(messages[3]["content"][0]["signature"], "s");
    }

    #[test]
    fn at_most_four_places_are_marked_for_the_cache() {
        let body = body("claude", &request(), None, 100);
        assert_eq!(body.to_string().matches("cache_control").count(), 4);
        assert!(body["system"][0]["cache_control"].is_object());
        assert!(body["tools"][0]["cache_control"].is_object());
        assert!(body["messages"][4]["content"][0]["cache_control"].is_object());
        assert!(body["messages"][2]["content"][1]["cache_control"].is_object());
    }

    #[test]
    fn a_paused_answer_goes_back_at_the_end() {
        let answer = ToolAnswer {
            text: "so far".into(),
            calls: Vec::new(),
            raw: Some(json!([{"type": "text", "text": "so far"}])),
            usage: crate::llm::Usage::default(),
            cut: false,
        };
        let body = body("claude", &request(), Some(&answer), 100);
        assert_eq!(body["messages"][5]["content"][0]["text"], "so far");
    }
}
