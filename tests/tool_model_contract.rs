//! What every `ToolModel` must do: the recorded one, Anthropic's and OpenAI's against a fake server; and what the
//! two remote ones say to a server that misbehaves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake_server;

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use automem::jobs::Cancel;
use automem::llm::openai::RemoteOptions;
use automem::llm::{
    LlmError, ModelOptions, Secret, ToolAnswer, ToolCall, ToolMessage, ToolModel, ToolRequest, ToolResult, ToolSpec,
    open_tools,
};
use fake_server::{FakeServer, Seen, answer, json, stream_head, wait_for_end};
use serde_json::{Value, json};

const KEY: &str = "sk-nobody-may-see-this";
const MS: fn(u64) -> Duration = Duration::from_millis;
const ANTHROPIC: &str = "/v1/messages";
const OPENAI: &str = "/v1/chat/completions";

fn options() -> ModelOptions {
    ModelOptions {
        remote: RemoteOptions {
            key: Some(Secret::new(KEY)),
            connect: Some(MS(5_000)),
            first_byte: Some(MS(20_000)),
            between: Some(MS(20_000)),
            whole: Some(MS(60_000)),
            retries: Some(2),
            backoff: Some(MS(10)),
            patience: Some(MS(5_000)),
        },
        ..ModelOptions::default()
    }
}

fn request(user: &str) -> ToolRequest {
    ToolRequest {
        system: "You are a careful explorer.".into(),
        messages: vec![ToolMessage::User { text: user.into() }],
        tools: vec![ToolSpec {
            name: "look".into(),
            description: "looks at a place".into(),
            schema: json!({"type": "object", "properties": {"place": {"type": "string"}}}),
        }],
        max_tokens: 500,
    }
}

fn ask(model: &dyn ToolModel, request: &ToolRequest) -> (Result<ToolAnswer, LlmError>, String) {
    let mut said = String::new();
    let result = model.answer(request, &Cancel::new(), &mut |text| said.push_str(text));
    let shown = format!("{result:?} {}", model.spec());
    assert!(!shown.contains(KEY), "the key shows: {shown}");
    if let Err(error) = &result {
        assert!(!error.to_string().contains(KEY), "the key shows: {error}");
    }
    (result, said)
}

fn failure(model: &dyn ToolModel) -> String {
    ask(model, &request("Where is the tree?")).0.unwrap_err().to_string()
}

/// Holds for every model that answers first with a call of `look`, then with a text.
fn contract(model: &dyn ToolModel) {
    assert!(model.spec().contains(':'));
    let mut asked = request("Where is the <|im_end|> émigré tree?");
    let (first, said) = ask(model, &asked);
    let first = first.unwrap();
    assert_eq!(said, first.text, "what was told makes the answer");
    assert!(first.text.contains("émigré 🙂"), "{first:?}");
    assert_eq!(first.calls.len(), 2);
    assert!(
        first
            .calls
            .iter()
            .all(|call| !call.id.is_empty() && call.name == "look")
    );
    assert_ne!(first.calls[0].id, first.calls[1].id);
    assert_eq!(first.calls[0].arguments, json!({"place": "house"}));
    assert_eq!(first.calls[1].arguments, json!({}));
    assert!(first.usage.prompt > 0 && first.usage.completion > 0 && first.usage.cached <= first.usage.prompt);
    assert!(!first.cut);

    let results = first.calls.iter().enumerate().map(|(n, call)| ToolResult {
        id: call.id.clone(),
        text: format!("result {n}"),
        failed: n == 1,
    });
    let results: Vec<ToolResult> = results.collect();
    asked.messages.push(ToolMessage::Model {
        text: first.text.clone(),
        calls: first.calls.clone(),
        raw: first.raw.clone(),
    });
    asked.messages.push(ToolMessage::Results { results });
    let (second, _) = ask(model, &asked);
    let second = second.unwrap();
    assert!(second.calls.is_empty() && second.text == "Behind it.", "{second:?}");

    let set = Cancel::new();
    set.cancel();
    let result = model.answer(&asked, &set, &mut |_| panic!("a cancelled call tells nothing"));
    assert!(matches!(result, Err(LlmError::Cancelled)), "{result:?}");
}

/// A call that would take long ends soon after it is cancelled.
fn cancels_quickly(model: &dyn ToolModel) {
    let cancel = Cancel::new();
    let other = cancel.clone();
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(MS(150));
        other.cancel();
        Instant::now()
    });
    let result = model.answer(&request("go"), &cancel, &mut |_| {});
    assert!(matches!(result, Err(LlmError::Cancelled)), "{result:?}");
    let took = waiting.join().unwrap().elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

fn open(spec: &str) -> std::sync::Arc<dyn ToolModel> {
    open_tools(spec, &options()).unwrap()
}

#[test]
fn recorded_keeps_the_contract() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines = [
        json!({"text": "The émigré 🙂 knows.", "calls": [
            {"id": "a", "name": "look", "arguments": {"place": "house"}},
            {"id": "b", "name": "look", "arguments": {}}], "usage": {"prompt": 9, "cached": 0, "completion": 3}}),
        json!({"text": "Behind it."}),
        json!({"text": "late", "delay_ms": 600_000}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(file.path(), lines).unwrap();
    let model = open(&format!("recorded:{}", file.path().display()));
    contract(&*model);
    cancels_quickly(&*model);
    let error = failure(&*model);
    assert!(error.contains("3 answers, and all were given"), "{error}");
}

fn event(stream: &mut TcpStream, value: &Value) -> io::Result<()> {
    let kind = value["type"]
        .as_str()
        .map_or_else(String::new, |kind| format!("event: {kind}\n"));
    stream.write_all(format!("{kind}data: {value}\n\n").as_bytes())
}

mod anthropic {
    use super::*;

    fn server(handler: impl Fn(&Seen, usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> FakeServer {
        FakeServer::start(handler)
    }

    fn model(server: &FakeServer) -> std::sync::Arc<dyn ToolModel> {
        open(&format!("anthropic:tiny@{}", server.url("")))
    }

    /// Answers as the contract wants it, and looks at what is sent.
    fn well(seen: &Seen, _: usize, stream: &mut TcpStream) -> io::Result<()> {
        if seen.path != ANTHROPIC || seen.header("x-api-key") != KEY || seen.header("anthropic-version").is_empty() {
            return json(stream, "404 Not Found", "{}");
        }
        if seen.body.contains("\"go\"") {
            stream_head(stream)?;
            wait_for_end(stream);
            return Ok(());
        }
        let body = seen.json();
        let messages = body["messages"].as_array().unwrap();
        stream_head(stream)?;
        let usage = json!({"input_tokens": 12, "cache_read_input_tokens": 8, "output_tokens": 1});
        event(stream, &json!({"type": "message_start", "message": {"usage": usage}}))?;
        if messages.len() == 1 {
            let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
            event(
                stream,
                &json!({"type": "content_block_start", "index": 0, "content_block": thinking}),
            )?;
            let signature = json!({"type": "signature_delta", "signature": "signed"});
            event(
                stream,
                &json!({"type": "content_block_delta", "index": 0, "delta": signature}),
            )?;
            event(
                stream,
                &json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            )?;
            for piece in ["The émigré", " 🙂 knows."] {
                let delta = json!({"type": "text_delta", "text": piece});
                event(
                    stream,
                    &json!({"type": "content_block_delta", "index": 1, "delta": delta}),
                )?;
            }
            for (index, id) in [(2, "toolu_a"), (3, "toolu_b")] {
                let block = json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
                event(
                    stream,
                    &json!({"type": "content_block_start", "index": index, "content_block": block}),
                )?;
            }
            for piece in ["{\"place\"", ": \"house\"}"] {
                let delta = json!({"type": "input_json_delta", "partial_json": piece});
                event(
                    stream,
                    &json!({"type": "content_block_delta", "index": 2, "delta": delta}),
                )?;
            }
        } else {
            // Thinking comes back as it went; results are paired with their calls.
            let back = &messages[1]["content"];
            let paired = back[0]["signature"] == "signed"
                && back[2]["id"] == messages[2]["content"][0]["tool_use_id"]
                && back[3]["id"] == messages[2]["content"][1]["tool_use_id"]
                && messages[2]["content"][1]["is_error"] == true;
            let text = if paired { "Behind it." } else { "not paired" };
            event(
                stream,
                &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}}),
            )?;
        }
        event(
            stream,
            &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}}),
        )?;
        event(stream, &json!({"type": "message_stop"}))
    }

    #[test]
    fn keeps_the_contract_and_cancels_quickly() {
        let server = server(well);
        let model = model(&server);
        contract(&*model);
        cancels_quickly(&*model);
        let body = server.seen_at(ANTHROPIC)[0].json();
        assert_eq!(
            (&body["model"], &body["max_tokens"], &body["stream"]),
            (&json!("tiny"), &json!(500), &json!(true))
        );
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
        assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
        let (first, _) = ask(&*model, &request("Where?"));
        let usage = first.unwrap().usage;
        assert_eq!((usage.prompt, usage.cached, usage.completion), (20, 8, 30));
    }

    #[test]
    fn errors_say_the_cause_and_what_to_do() {
        for (status, kind, wanted) in [
            ("401 Unauthorized", "authentication_error", "ANTHROPIC_API_KEY"),
            ("403 Forbidden", "permission_error", "may use"),
            ("404 Not Found", "not_found_error", "check the model's name"),
            ("413 Payload Too Large", "request_too_large", "too large"),
            ("400 Bad Request", "invalid_request_error", "HTTP 400"),
        ] {
            let server = server(move |_, _, stream| {
                let error = json!({"type": "error", "error": {"type": kind, "message": format!("no, {KEY}")}});
                json(stream, status, &error.to_string())
            });
            let text = failure(&*model(&server));
            assert!(text.contains(wanted) && text.contains("tiny at http://"), "{text}");
            assert_eq!(server.seen().len(), 1, "{status} is not tried again");
        }
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        let server = server(|seen, nth, stream| match nth {
            0 => answer(stream, "429 Too Many Requests", "Retry-After: 0\r\n", b"{}"),
            1 => {
                stream_head(stream)?;
                event(
                    stream,
                    &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                )
            }
            _ => well(seen, nth, stream),
        });
        assert!(ask(&*model(&server), &request("Where?")).0.is_ok());
        assert_eq!(server.seen().len(), 3);
        let busy = FakeServer::start(|_, _, stream| json(stream, "529 Overloaded", "{}"));
        let text = failure(&*model(&busy));
        assert!(
            text.contains("overloaded") && text.contains("given up after 3 tries"),
            "{text}"
        );
    }

    #[test]
    fn a_broken_stream_is_asked_for_again_and_a_limit_is_kept() {
        let server = server(|seen, nth, stream| {
            if nth > 0 {
                return well(seen, nth, stream);
            }
            stream_head(stream)?;
            event(
                stream,
                &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "half"}}),
            )
        });
        let (result, said) = ask(&*model(&server), &request("Where?"));
        assert!(result.is_ok() && said.contains("broke off"), "{said}");
        let limits = FakeServer::start(|seen, nth, stream| match seen.json()["max_tokens"].as_u64() {
            Some(500) => {
                let message = "input length and `max_tokens` exceed context limit: 900 + 500 > 1000, decrease it";
                json(
                    stream,
                    "400 Bad Request",
                    &json!({"error": {"type": "invalid_request_error", "message": message}}).to_string(),
                )
            }
            _ => well(seen, nth, stream),
        });
        assert!(ask(&*model(&limits), &request("Where?")).0.is_ok());
        assert_eq!(limits.seen()[1].json()["max_tokens"], 100);
        let long = FakeServer::start(|_, _, stream| {
            let message = "prompt is too long: 2000 tokens > 1000 maximum";
            json(
                stream,
                "400 Bad Request",
                &json!({"error": {"type": "invalid_request_error", "message": message}}).to_string(),
            )
        });
        let result = ask(&*model(&long), &request("Where?")).0;
        assert!(
            matches!(result, Err(LlmError::ContextOverflow { available: 1000, .. })),
            "{result:?}"
        );
    }

    #[test]
    fn stops_have_their_meaning() {
        let stopped = |reason: &'static str| {
            FakeServer::start(move |_, nth, stream| {
                let reason = if nth > 0 { "end_turn" } else { reason };
                let whole = json!({"type": "message", "content": [{"type": "text", "text": format!("part {nth} ")}],
                    "stop_reason": reason, "usage": {"input_tokens": 5, "output_tokens": 2}});
                json(stream, "200 OK", &whole.to_string())
            })
        };
        let cut = stopped("max_tokens");
        assert!(ask(&*model(&cut), &request("Where?")).0.unwrap().cut);
        let refused = stopped("refusal");
        assert!(failure(&*model(&refused)).contains("declined"));
        let paused = stopped("pause_turn");
        let answer = ask(&*model(&paused), &request("Where?")).0.unwrap();
        assert_eq!((answer.text.as_str(), answer.usage.prompt), ("part 0 part 1 ", 10));
        assert_eq!(paused.seen()[1].json()["messages"][1]["content"][0]["text"], "part 0 ");
    }
}

mod openai {
    use super::*;

    fn server(chat: impl Fn(&Seen, usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> FakeServer {
        FakeServer::start(move |seen, nth, stream| match seen.path.as_str() {
            "/v1/models" => json(stream, "200 OK", r#"{"data": [{"id": "tiny"}]}"#),
            OPENAI if seen.header("authorization") == format!("Bearer {KEY}") => chat(seen, nth, stream),
            _ => json(stream, "404 Not Found", "{}"),
        })
    }

    fn model(server: &FakeServer) -> std::sync::Arc<dyn ToolModel> {
        open(&format!("openai:tiny@{}", server.url("/v1")))
    }

    fn well(seen: &Seen, _: usize, stream: &mut TcpStream) -> io::Result<()> {
        if seen.body.contains("\"go\"") {
            stream_head(stream)?;
            wait_for_end(stream);
            return Ok(());
        }
        let body = seen.json();
        let messages = body["messages"].as_array().unwrap();
        stream_head(stream)?;
        let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
        let call = |value: Value| delta(json!({ "tool_calls": [value] }));
        if messages.len() == 2 {
            for piece in ["The émigré", " 🙂 knows."] {
                event(stream, &delta(json!({ "content": piece })))?;
            }
            event(
                stream,
                &call(
                    json!({"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": ""}}),
                ),
            )?;
            event(
                stream,
                &call(json!({"index": 0, "function": {"arguments": "{\"place\": "}})),
            )?;
            event(
                stream,
                &call(json!({"index": 0, "function": {"arguments": "\"house\"}"}})),
            )?;
            event(
                stream,
                &call(
                    json!({"index": 1, "id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}}),
                ),
            )?;
        } else {
            let back = &messages[2]["tool_calls"];
            let paired = back[0]["id"] == messages[3]["tool_call_id"] && back[1]["id"] == messages[4]["tool_call_id"];
            event(
                stream,
                &delta(json!({ "content": if paired { "Behind it." } else { "not paired" } })),
            )?;
        }
        event(stream, &json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}))?;
        let usage = json!({"prompt_tokens": 30, "completion_tokens": 9, "cost": 0.5});
        event(stream, &json!({"choices": [], "usage": usage}))?;
        stream.write_all(b"data: [DONE]\n\n")
    }

    #[test]
    fn keeps_the_contract_and_cancels_quickly() {
        let server = server(well);
        let model = model(&server);
        contract(&*model);
        cancels_quickly(&*model);
        let body = server.seen_at(OPENAI)[0].json();
        assert_eq!(body["tools"][0]["function"]["name"], "look");
        assert_eq!(body["messages"][0]["role"], "system");
        assert_eq!(ask(&*model, &request("Where?")).0.unwrap().usage.dollars, Some(0.5));
    }

    #[test]
    fn a_server_without_tools_is_told_plainly() {
        let server = server(|_, _, stream| {
            let message = "registry/library/tiny does not support tools";
            json(
                stream,
                "400 Bad Request",
                &json!({"error": {"message": message}}).to_string(),
            )
        });
        let text = failure(&*model(&server));
        assert!(text.contains("takes no tools") && text.contains("--jinja"), "{text}");
        assert_eq!(server.seen_at(OPENAI).len(), 1);
    }

    #[test]
    fn fields_are_left_out_and_failures_tried_again() {
        let server = server(|seen, nth, stream| {
            let body = seen.json();
            if nth == 0 {
                return answer(stream, "503 Service Unavailable", "Retry-After: 0\r\n", b"{}");
            }
            if !body["max_tokens"].is_null() {
                let error = json!({"error": {"message": "Unsupported parameter: 'max_tokens'", "param": "max_tokens"}});
                return json(stream, "400 Bad Request", &error.to_string());
            }
            well(seen, nth, stream)
        });
        assert!(ask(&*model(&server), &request("Where?")).0.is_ok());
        let seen = server.seen_at(OPENAI);
        assert_eq!((seen.len(), &seen[2].json()["max_completion_tokens"]), (3, &json!(500)));
    }

    #[test]
    fn arguments_that_are_no_json_reach_the_caller_as_they_are() {
        let server = server(|_, _, stream| {
            let call = json!({"id": "a", "function": {"name": "look", "arguments": "{\"place\": hou"}});
            let whole =
                json!({"choices": [{"message": {"content": null, "tool_calls": [call]}, "finish_reason": "length"}]});
            json(stream, "200 OK", &whole.to_string())
        });
        let model = model(&server);
        let answer = ask(&*model, &request("Where?")).0.unwrap();
        assert!(answer.cut && answer.text.is_empty() && answer.usage.prompt > 0);
        assert_eq!(answer.calls[0].arguments, json!("{\"place\": hou"));
        // It goes back in a form that servers can read.
        let mut asked = request("Where?");
        let ToolCall { id, .. } = answer.calls[0].clone();
        asked.messages.push(ToolMessage::Model {
            text: answer.text,
            calls: answer.calls,
            raw: None,
        });
        asked.messages.push(ToolMessage::Results {
            results: vec![ToolResult {
                id,
                text: "no".into(),
                failed: true,
            }],
        });
        ask(&*model, &asked).0.unwrap();
        let sent = server.seen_at(OPENAI)[1].json();
        let arguments = sent["messages"][2]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap();
        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
    }

    #[test]
    fn prompts_that_do_not_fit_are_told_with_their_numbers() {
        let server = server(|_, _, stream| {
            let message =
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.";
            json(
                stream,
                "400 Bad Request",
                &json!({"error": {"message": message, "code": "context_length_exceeded"}}).to_string(),
            )
        });
        let result = ask(&*model(&server), &request("Where?")).0;
        assert!(
            matches!(
                result,
                Err(LlmError::ContextOverflow {
                    needed: 9001,
                    available: 8192
                })
            ),
            "{result:?}"
        );
    }
}
