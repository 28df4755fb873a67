//! The OpenAI back end against a server that misbehaves in every way. The server is a fake of ours; what a real one
//! does is in `llama_server.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake_server;

use std::io::{self, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use automem::jobs::Cancel;
use automem::llm::openai::{OpenAiModel, RemoteOptions};
use automem::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError, Secret, SlotKey};
use automem::types::{ChatRole, EpisodeNo, Message, Phase, Role, Sampling, StopReason};
use fake_server::{FakeServer, Seen, answer, json, stream_head, wait_for_end};
use serde_json::{Value, json};

const KEY: &str = "sk-nobody-may-see-this";
const CHAT: &str = "/v1/chat/completions";
const MS: fn(u64) -> Duration = Duration::from_millis;

fn options() -> RemoteOptions {
    RemoteOptions {
        key: Some(Secret::new(KEY)),
        connect: Some(MS(5_000)),
        first_byte: Some(MS(20_000)),
        between: Some(MS(20_000)),
        whole: Some(MS(60_000)),
        retries: Some(2),
        backoff: Some(MS(10)),
        patience: Some(MS(5_000)),
    }
}

fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![
            Message::new(ChatRole::System, "You are a careful explorer."),
            Message::new(ChatRole::User, "Where is the tree?"),
        ],
        slot: SlotKey {
            episode: EpisodeNo(0),
            role: Role::Agent,
            phase: Phase::Plan,
        },
        sampling: Sampling {
            max_tokens: 24,
            seed: 7,
            ..Sampling::default()
        },
        grammar: None,
        stop: Vec::new(),
    }
}

const MODELS: &str = r#"{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"somebody"}]}"#;

/// A server whose list of models is fine, and whose chat is the test's.
fn server(chat: impl Fn(&Seen, usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(move |seen, nth, stream| match seen.path.as_str() {
        "/v1/models" => json(stream, "200 OK", MODELS),
        CHAT => chat(seen, nth, stream),
        _ => json(stream, "404 Not Found", "{}"),
    })
}

fn open(server: &FakeServer, options: &RemoteOptions) -> OpenAiModel {
    OpenAiModel::open(&format!("tiny@{}", server.url("/v1")), options).unwrap()
}

fn ask(model: &OpenAiModel, request: &ChatRequest) -> (Result<ChatAnswer, LlmError>, Vec<ChatProgress>) {
    let mut progress = Vec::new();
    let result = model.chat(request, &Cancel::new(), &mut |p| progress.push(p));
    let shown = format!("{result:?} {progress:?} {model:?} {:?}", model.describe());
    assert!(!shown.contains(KEY), "the key shows: {shown}");
    if let Ok(answer) = &result {
        assert_eq!(text_of(&progress), answer.text);
    }
    (result, progress)
}

fn text_of(progress: &[ChatProgress]) -> String {
    let text = progress.iter().filter_map(|p| match p {
        ChatProgress::Text(text) => Some(text.as_str()),
        _ => None,
    });
    text.collect()
}

fn message_of(result: Result<ChatAnswer, LlmError>) -> (String, bool) {
    match result {
        Err(LlmError::Backend { message, retryable, .. }) => (message, retryable),
        other => panic!("{other:?}"),
    }
}

fn delta(text: &str) -> String {
    format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
    )
}

fn end() -> String {
    let usage = json!({"prompt_tokens": 21, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}});
    format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": usage})
    )
}

fn whole(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream_head(stream)?;
    stream.write_all(format!("{}{}", delta(text), end()).as_bytes())
}

#[test]
fn an_answer_streams() {
    let server = server(|_, _, stream| {
        stream_head(stream)?;
        stream.write_all(format!("{}{}{}", delta("It is "), delta("there."), end()).as_bytes())
    });
    let model = open(&server, &options());
    let (result, progress) = ask(&model, &request());
    let answer = result.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("It is there.", StopReason::End));
    assert_eq!(
        (answer.prompt_tokens, answer.cached_tokens, answer.completion_tokens),
        (21, 16, 3)
    );
    assert!(answer.ms >= answer.prompt_ms && answer.prompt_ms > 0.0);
    assert!(answer.prompt.contains("<|im_start|>user\nWhere is the tree?<|im_end|>"));
    assert_eq!(progress.first(), Some(&ChatProgress::Waiting));

    let seen = &server.seen_at(CHAT)[0];
    assert_eq!(seen.header("authorization"), format!("Bearer {KEY}"));
    let body = seen.json();
    assert_eq!(
        (&body["model"], &body["stream"], &body["seed"]),
        (&"tiny".into(), &true.into(), &7.into())
    );
    assert_eq!(
        body["messages"][1],
        json!({"role": "user", "content": "Where is the tree?"})
    );
    assert_eq!((&body["max_tokens"], &body["temperature"]), (&24.into(), &0.7.into()));
    assert_eq!(body["top_k"], Value::Null, "OpenAI's own servers refuse it");
}

#[test]
fn bytes_may_come_in_any_portions() {
    let server = server(|_, _, stream| {
        stream_head(stream)?;
        let text = format!(": warming up\r\n\r\n{}{}", delta("é漢🙂 is <|EN"), delta("D|> fine"));
        for byte in format!("{text}{}", end()).replace('\n', "\r\n").as_bytes() {
            stream.write_all(&[*byte])?;
        }
        Ok(())
    });
    let (result, _) = ask(&open(&server, &options()), &request());
    assert_eq!(result.unwrap().text, "é漢🙂 is <|END|> fine");
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let server = server(|_, nth, stream| match nth {
        0 => answer(
            stream,
            "429 Too Many Requests",
            "Retry-After: 1\r\n",
            b"{\"error\":{\"message\":\"slow down\"}}",
        ),
        1 => json(stream, "503 Service Unavailable", "{}"),
        _ => whole(stream, "here"),
    });
    let (result, progress) = ask(&open(&server, &options()), &request());
    assert_eq!(result.unwrap().text, "here");
    let seen = server.seen_at(CHAT);
    assert_eq!(seen.len(), 3);
    assert!(seen[1].at - seen[0].at >= MS(1000), "it waits as asked");
    assert_eq!(progress.iter().filter(|p| **p == ChatProgress::Waiting).count(), 3);
}

#[test]
fn patience_ends() {
    let failing = server(|_, _, stream| {
        json(
            stream,
            "500 Internal Server Error",
            &format!("{{\"error\":\"boom\\u001b[2J {KEY}\"}}"),
        )
    });
    let (message, retryable) = message_of(ask(&open(&failing, &options()), &request()).0);
    assert!(
        message.contains("HTTP 500: boom␛[2J ***") && message.contains("given up after 3 tries"),
        "{message}"
    );
    assert!(!retryable, "it has been tried often enough");
    assert_eq!(failing.seen_at(CHAT).len(), 3);

    let far = server(|_, _, stream| answer(stream, "429 Too Many", "Retry-After: 3600\r\n", b""));
    let began = Instant::now();
    let (message, _) = message_of(ask(&open(&far, &options()), &request()).0);
    assert!(message.contains("asks to wait 3600 s"), "{message}");
    assert_eq!(far.seen_at(CHAT).len(), 1);
    assert!(began.elapsed() < MS(4000));
}

#[test]
fn an_answer_that_breaks_off_is_the_drivers_matter() {
    let cut = server(|_, _, stream| {
        stream_head(stream)?;
        stream.write_all(delta("It is").as_bytes())
    });
    let (result, progress) = ask(&open(&cut, &options()), &request());
    let (message, retryable) = message_of(result);
    assert!(message.contains("broke off") && retryable, "{message}");
    assert_eq!((cut.seen_at(CHAT).len(), text_of(&progress).as_str()), (1, "It is"));

    // Before any text it is as if nothing had been said.
    let early = server(|_, nth, stream| match nth {
        0 => {
            stream_head(stream)?;
            stream.write_all(b"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n")
        }
        // A head that promises more than comes.
        1 => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\": ["),
        _ => whole(stream, "here"),
    });
    assert_eq!(ask(&open(&early, &options()), &request()).0.unwrap().text, "here");
    assert_eq!(early.seen_at(CHAT).len(), 3);
}

#[test]
fn what_is_no_answer_is_named() {
    let garbage = server(|_, _, stream| {
        stream_head(stream)?;
        stream.write_all(b"data: {\"choices\": [{]\n\n")
    });
    let (message, _) = message_of(ask(&open(&garbage, &options()), &request()).0);
    assert!(
        message.contains("no JSON: `{\"choices\": [{]`") && message.contains("3 tries"),
        "{message}"
    );
    assert_eq!(garbage.seen_at(CHAT).len(), 3);

    for (kind, body, words) in [
        ("text/html", "<!doctype html><title>Hi</title>", "web page"),
        ("application/json", "{\"hello\": 1}", "none of a chat"),
    ] {
        let server =
            server(move |_, _, stream| answer(stream, "200 OK", &format!("Content-Type: {kind}\r\n"), body.as_bytes()));
        let (message, retryable) = message_of(ask(&open(&server, &options()), &request()).0);
        assert!(message.contains(words) && !retryable, "{message}");
        assert_eq!(server.seen_at(CHAT).len(), 1);
    }
}

#[test]
fn silence_has_limits() {
    let short = RemoteOptions {
        first_byte: Some(MS(150)),
        between: Some(MS(150)),
        retries: Some(1),
        ..options()
    };
    let silent = server(|_, _, stream| {
        wait_for_end(stream);
        Ok(())
    });
    let began = Instant::now();
    let (message, _) = message_of(ask(&open(&silent, &short), &request()).0);
    assert!(
        message.contains("no answer began within 0.15 s") && message.contains("2 tries"),
        "{message}"
    );
    assert_eq!(silent.seen_at(CHAT).len(), 2);
    assert!((MS(300)..MS(10_000)).contains(&began.elapsed()));

    let stuck = server(|_, _, stream| {
        stream_head(stream)?;
        stream.write_all(delta("It").as_bytes())?;
        wait_for_end(stream);
        Ok(())
    });
    let (message, retryable) = message_of(ask(&open(&stuck, &short), &request()).0);
    assert!(
        message.contains("nothing more came for 0.15 s") && retryable,
        "{message}"
    );

    // Signs of life alone do not go on for ever.
    let dripping = server(|_, _, stream| {
        stream_head(stream)?;
        loop {
            stream.write_all(b": still here\n\n")?;
            std::thread::sleep(MS(10));
        }
    });
    let bounded = RemoteOptions {
        whole: Some(MS(300)),
        retries: Some(0),
        ..options()
    };
    let began = Instant::now();
    let (message, _) = message_of(ask(&open(&dripping, &bounded), &request()).0);
    assert!(message.contains("longer than 0.3 s in all"), "{message}");
    assert!(began.elapsed() < MS(10_000));
}

#[test]
fn cancelling_is_quick_in_every_state_and_drops_the_connection() {
    let (gone, is_gone) = mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let server = server(move |seen, _, stream| {
        let prompt = seen.json()["messages"][1]["content"].clone();
        match prompt.as_str().unwrap() {
            "before the head" => {}
            "in the middle" => {
                stream_head(stream)?;
                stream.write_all(delta("It").as_bytes())?;
            }
            _ => return answer(stream, "503 Busy", "Retry-After: 60\r\n", b""),
        }
        gone.lock().unwrap().send(wait_for_end(stream)).unwrap();
        Ok(())
    });
    let patient = RemoteOptions {
        patience: Some(MS(600_000)),
        ..options()
    };
    let model = open(&server, &patient);
    let mut took = Vec::new();
    for when in ["before the head", "in the middle", "between two tries"] {
        let mut asked = request();
        asked.messages[1].content = when.to_owned();
        let count = server.seen_at(CHAT).len();
        let cancel = Cancel::new();
        took.push(std::thread::scope(|scope| {
            let call = scope.spawn(|| {
                let result = model.chat(&asked, &cancel, &mut |_| {});
                (result, Instant::now())
            });
            while server.seen_at(CHAT).len() == count {
                std::thread::sleep(MS(2));
            }
            // The call waits in the state by now; if it does not yet, the cancel comes even earlier.
            std::thread::sleep(MS(50));
            let set = Instant::now();
            cancel.cancel();
            let (result, ended) = call.join().unwrap();
            assert!(matches!(result, Err(LlmError::Cancelled)), "{result:?}");
            ended.saturating_duration_since(set)
        }));
        if when != "between two tries" {
            assert!(
                is_gone.recv_timeout(MS(20_000)).unwrap(),
                "{when}: the connection is dropped"
            );
        }
    }
    // A machine with other things to do may be late once, but not each time.
    assert!(
        took.iter().min() < Some(&MS(100)) && took.iter().max() < Some(&MS(2000)),
        "{took:?}"
    );
    let set = Cancel::new();
    set.cancel();
    let result = model.chat(&request(), &set, &mut |_| panic!("a cancelled call tells nothing"));
    assert!(matches!(result, Err(LlmError::Cancelled)));
}

#[test]
fn redirects_are_not_followed_with_a_key() {
    let other = FakeServer::start(|_, _, stream| json(stream, "200 OK", "{}"));
    let to = other.url("/v1/chat/completions?token=hidden");
    let server =
        server(move |_, _, stream| answer(stream, "307 Temporary Redirect", &format!("Location: {to}\r\n"), b""));
    let (message, retryable) = message_of(ask(&open(&server, &options()), &request()).0);
    assert!(
        message.contains(&other.url(CHAT)) && !message.contains("hidden") && !retryable,
        "{message}"
    );
    assert!(other.seen().is_empty());
}

#[test]
fn what_does_not_end_is_left() {
    let endless: [(&str, &str, &[u8]); 3] = [
        (
            "text/event-stream",
            "4194304 bytes",
            b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
        (
            "application/json",
            "bytes",
            b"{\"a\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
        (
            "application/json",
            "HTTP 400",
            b"{ no error so long xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
    ];
    for (index, (kind, words, piece)) in endless.into_iter().enumerate() {
        let status = if index == 2 { "400 Bad Request" } else { "200 OK" };
        let server = server(move |_, _, stream| {
            write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n")?;
            let much = piece.repeat(4096);
            loop {
                // Ends when the other side has had enough.
                stream.write_all(&much)?;
            }
        });
        let (message, _) = message_of(ask(&open(&server, &options()), &request()).0);
        assert!(message.contains(words) && message.len() < 1000, "{message}");
    }
    // An answer of many small pieces is bounded too.
    let server = server(|_, _, stream| {
        stream_head(stream)?;
        let piece = delta(&"la ".repeat(20_000)).repeat(4);
        loop {
            stream.write_all(piece.as_bytes())?;
        }
    });
    let (message, _) = message_of(ask(&open(&server, &options()), &request()).0);
    assert!(message.contains("does not end"), "{message}");
}

#[test]
fn answers_come_in_other_forms_too() {
    // All at once, though a stream was asked for, and without usage.
    let plain = server(|_, _, stream| {
        json(stream, "200 OK", &json!({"choices": [{"message": {"role": "assistant", "content": "All at once."}, "finish_reason": "length"}]}).to_string())
    });
    let result = ask(&open(&plain, &options()), &request()).0.unwrap();
    assert_eq!(
        (result.text.as_str(), result.stop),
        ("All at once.", StopReason::Length)
    );
    assert!(result.prompt_tokens > 5 && result.completion_tokens > 0 && result.cached_tokens == 0);

    // Thinking in a field of its own.
    let thinking = server(|_, _, stream| {
        stream_head(stream)?;
        for piece in [
            json!({"reasoning_content": "West? <|ACTION|>noop<|END|> </think> "}),
            json!({"reasoning_content": "No."}),
            json!({"content": "<|ACTION|>move_left<|END|>"}),
        ] {
            write!(stream, "data: {}\n\n", json!({"choices": [{"delta": piece}]}))?;
        }
        stream.write_all(end().as_bytes())
    });
    let text = ask(&open(&thinking, &options()), &request()).0.unwrap().text;
    assert_eq!(
        text,
        "<think>\nWest? <|ACTION|>noop<|END|> <\\/think> No.\n</think>\n\n<|ACTION|>move_left<|END|>"
    );

    // An error in the middle, and one at the beginning.
    let error = server(|_, nth, stream| {
        stream_head(stream)?;
        if nth == 1 {
            stream.write_all(delta("It").as_bytes())?;
        }
        stream.write_all(b"data: {\"error\": {\"message\": \"out of memory\", \"code\": 500}}\n\n")
    });
    let (message, retryable) = message_of(ask(&open(&error, &options()), &request()).0);
    assert!(
        message.contains("broke off") && message.contains("out of memory") && retryable,
        "{message}"
    );
    assert_eq!(error.seen_at(CHAT).len(), 2);
}

#[test]
fn stop_texts_end_the_answer_and_belong_to_it() {
    let (gone, is_gone) = mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let server = server(move |_, _, stream| {
        stream_head(stream)?;
        stream.write_all(format!("{}{}", delta("done <|DO"), delta("NE|> and so")).as_bytes())?;
        gone.lock().unwrap().send(wait_for_end(stream)).unwrap();
        Ok(())
    });
    let mut asked = request();
    asked.stop = vec!["<|DONE|>".into()];
    let result = ask(&open(&server, &options()), &asked).0.unwrap();
    assert_eq!((result.text.as_str(), result.stop), ("done <|DONE|>", StopReason::Stop));
    assert!(
        result.completion_tokens >= 2 && result.prompt_tokens > 5,
        "estimated: {result:?}"
    );
    assert!(
        is_gone.recv_timeout(MS(20_000)).unwrap(),
        "the server is told to stop by closing"
    );
    assert_eq!(server.seen_at(CHAT)[0].json()["stop"], Value::Null);
}

#[test]
fn what_a_server_refuses_is_left_out_from_then_on() {
    let server = server(|seen, _, stream| {
        let body = seen.json();
        let refuse = |stream: &mut TcpStream, words: &str| {
            json(
                stream,
                "400 Bad Request",
                &json!({"error": {"message": words}}).to_string(),
            )
        };
        if body["stream_options"].is_object() {
            return refuse(stream, "unknown field `stream_options`");
        }
        if body["max_tokens"].is_number() {
            return refuse(
                stream,
                "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            );
        }
        if body["temperature"].is_number() {
            return refuse(
                stream,
                "'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
            );
        }
        assert_eq!(body["max_completion_tokens"], 24);
        whole(stream, "fine")
    });
    let model = open(&server, &options());
    assert_eq!(ask(&model, &request()).0.unwrap().text, "fine");
    assert_eq!(server.seen_at(CHAT).len(), 4);
    assert_eq!(ask(&model, &request()).0.unwrap().text, "fine");
    assert_eq!(server.seen_at(CHAT).len(), 5, "it is remembered");
}

#[test]
fn too_long_is_shortened_where_that_helps_and_told_where_not() {
    let overflow = server(|_, _, stream| {
        json(
            stream,
            "400 Bad Request",
            r#"{"error":{"code":400,"message":"request (2031 tokens) exceeds the available context size (1024 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":2031,"n_ctx":1024}}"#,
        )
    });
    let result = ask(&open(&overflow, &options()), &request()).0;
    assert!(
        matches!(
            result,
            Err(LlmError::ContextOverflow {
                needed: 2031,
                available: 1024
            })
        ),
        "{result:?}"
    );
    assert_eq!(overflow.seen_at(CHAT).len(), 1);

    let tight = server(|seen, _, stream| match seen.json()["max_tokens"].as_u64() {
        Some(24) => json(
            stream,
            "400 Bad Request",
            r#"{"object":"error","message":"This model's maximum context length is 40 tokens. However, you requested 54 tokens (30 in the messages, 24 in the completion).","code":400}"#,
        ),
        Some(10) => whole(stream, "short"),
        other => panic!("{other:?}"),
    });
    assert_eq!(ask(&open(&tight, &options()), &request()).0.unwrap().text, "short");
}

#[test]
fn doors_that_stay_closed_are_explained() {
    for (status, words) in [("401 Unauthorized", "OPENAI_API_KEY"), ("403 Forbidden", "may use")] {
        let server = FakeServer::start(move |_, _, stream| {
            json(
                stream,
                status,
                &json!({"error": {"message": format!("bad key {KEY}")}}).to_string(),
            )
        });
        let spec = format!("tiny@{}", server.url("/v1"));
        let error = OpenAiModel::open(&spec, &options()).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains(KEY), "{error}");
        assert_eq!(server.seen().len(), 1, "no call is made");
    }
    // A model that is not in the list, and that the server really does not know.
    let server = server(|_, _, stream| {
        json(
            stream,
            "404 Not Found",
            r#"{"error":{"message":"The model `big` does not exist","code":"model_not_found"}}"#,
        )
    });
    let error = OpenAiModel::open(&format!("big@{}", server.url("/v1")), &options())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("it has tiny") && error.contains("does not exist"),
        "{error}"
    );
    assert!(error.starts_with("openai failed: big at http://"), "{error}");
}

#[test]
fn a_model_that_is_not_listed_may_still_be_there() {
    let server = server(|_, _, stream| whole(stream, "yes"));
    let model = OpenAiModel::open(&format!("alias@{}", server.url("")), &options()).unwrap();
    assert_eq!(server.seen_at(CHAT)[0].json()["model"], "alias");
    assert_eq!(ask(&model, &request()).0.unwrap().text, "yes");
}

#[test]
fn nobody_there_is_told_at_once() {
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let began = Instant::now();
    let error = OpenAiModel::open(&format!("tiny@http://{address}/v1"), &options())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&address.to_string()) && error.contains("start the server"),
        "{error}"
    );
    assert!(error.contains("openai:MODEL@http://host:port/v1"), "{error}");
    assert!(began.elapsed() < MS(4000));
    let error = automem::llm::open("openai:@http://u:pw@h/v1", &Default::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("openai:MODEL@http://host:port/v1") && !error.contains("pw"),
        "{error}"
    );
}

#[test]
fn a_server_that_is_just_starting_is_waited_for() {
    let server = FakeServer::start(|seen, nth, stream| match (seen.path.as_str(), nth) {
        ("/v1/models", 0) => json(
            stream,
            "503 Service Unavailable",
            r#"{"error":{"message":"Loading model","code":503}}"#,
        ),
        ("/v1/models", _) => json(
            stream,
            "200 OK",
            r#"{"data":[{"id":"x","owned_by":"llamacpp","meta":{"n_ctx":2048}}]}"#,
        ),
        _ => whole(stream, "up"),
    });
    let model = open(&server, &options());
    assert_eq!(model.context_length(), Some(2048));
    assert!(model.takes_grammars());
    let mut asked = request();
    asked.grammar = Some("root ::= \"a\"".into());
    assert_eq!(ask(&model, &asked).0.unwrap().text, "up");
    let body = server.seen_at(CHAT)[0].json();
    assert_eq!(
        (&body["grammar"], &body["top_k"], &body["min_p"]),
        (&"root ::= \"a\"".into(), &40.into(), &0.into())
    );
}

#[test]
fn episodes_share_a_server_at_the_same_time() {
    const MANY: usize = 12;
    // Nobody is answered before all have asked.
    let all = Arc::new(Barrier::new(MANY));
    let server = server(move |seen, _, stream| {
        all.wait();
        let prompt = seen.json()["messages"][1]["content"].as_str().unwrap().to_owned();
        whole(stream, &format!("answer to {prompt}"))
    });
    let model = open(&server, &options());
    std::thread::scope(|scope| {
        for index in 0..MANY {
            let model = &model;
            scope.spawn(move || {
                let mut asked = request();
                asked.messages[1].content = format!("question {index}");
                assert_eq!(
                    ask(model, &asked).0.unwrap().text,
                    format!("answer to question {index}")
                );
            });
        }
    });
}

#[test]
fn a_run_is_played_recorded_and_shows_no_key() {
    let server = server(|_, _, stream| whole(stream, "<|ACTION|>noop<|END|>"));
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("remote.db");
    let spec = format!("openai:tiny@{}", server.url("/v1"));
    let automem = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_automem"))
            .args(args)
            .env("AUTOMEM_HOME", home.path())
            .env("OPENAI_API_KEY", KEY)
            .env_remove("AUTOMEM_OPENAI_API_KEY")
            .current_dir(home.path())
            .output()
            .unwrap();
        let said = [output.stdout.as_slice(), &output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(!said.contains(KEY));
        said
    };
    let out = run.to_str().unwrap();
    let file = [
        "--seeds",
        "42..43",
        "--workers",
        "2",
        "--max-steps",
        "3",
        "--out",
        out,
        "--json",
    ];
    automem(&[&["run", "--model", spec.as_str()], &file[..]].concat());
    automem(&["verify", out, "--json"]);
    let seen = server.seen_at(CHAT);
    assert!(seen.len() >= 6 && seen.iter().all(|seen| seen.header("authorization").ends_with(KEY)));
    let bytes = std::fs::read(&run).unwrap();
    assert!(
        !bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()),
        "the key is in the run"
    );
    let reader = automem::store::Reader::open(&run).unwrap();
    assert_eq!(automem::agent::spec_of(&reader.meta().model), Some(spec));
    assert!(reader.meta().model.is_llm);
}

#[test]
fn encrypted_and_plain_servers_are_told_apart() {
    // TLS is spoken (and fails) with a server that does not know it.
    let server = server(|_, _, stream| whole(stream, "never"));
    let spec = format!("tiny@https://{}/v1", server.address);
    let error = OpenAiModel::open(&spec, &options()).unwrap_err().to_string();
    assert!(error.contains("cannot be reached") && !error.contains(KEY), "{error}");
    assert!(server.seen().is_empty(), "nothing readable is sent");
}

#[test]
fn calls_that_learn_the_same_at_once_all_go_on() {
    let both = Arc::new(Barrier::new(2));
    let server = server(move |seen, _, stream| {
        if seen.json()["stream_options"].is_object() {
            // Both have sent it before either is refused.
            both.wait();
            return json(stream, "400 Bad Request", r#"{"error":"unknown field stream_options"}"#);
        }
        whole(stream, "fine")
    });
    let model = open(&server, &options());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(ask(&model, &request()).0.unwrap().text, "fine"));
        }
    });
    assert_eq!(server.seen_at(CHAT).len(), 4);
}
