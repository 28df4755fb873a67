//! What a server's refusal means: whether to wait, to leave a field out, to shorten the answer, or to tell a person.
//!
//! Owns reading error bodies and the words of the messages. Must not try anything again.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::DIALECT;
use super::request::FIELDS;
use crate::llm::Secret;
use crate::llm::remote::{Failure, Field, tidy};

/// What a server said about an error.
#[derive(Debug, Default, Clone, PartialEq)]
struct Said {
    message: String,
    code: String,
    param: String,
    prompt: Option<u32>,
    window: Option<u32>,
}

/// What a refusal means. `sends_key` tells whether a key was sent.
pub(super) fn refusal(status: u16, body: &str, wait: Option<Duration>, key: Option<&Secret>) -> Failure {
    let said = read(body);
    let quoted = tidy(&said.message, key);
    let words = if quoted.is_empty() {
        format!("HTTP {status}")
    } else {
        format!("HTTP {status}: {quoted}")
    };
    match status {
        400 | 413 | 422 | 500 if is_too_long(&said) => TooLongParts::of(&said).into_failure(words),
        400 | 422 => match refused_field(&said, body) {
            Some(field) => Failure::Field { field, message: words },
            None if said.code == "model_not_found" => Failure::NotFound { message: words },
            None => Failure::lasting(words),
        },
        401 => Failure::lasting(match key {
            Some(_) => format!("it refuses the key ({words}); check {}", DIALECT.keys()),
            None => format!(
                "it wants a key ({words}); set {} (it is never recorded)",
                DIALECT.keys()
            ),
        }),
        403 => Failure::lasting(format!(
            "it does not allow this ({words}); check what the key in {} may use",
            DIALECT.keys()
        )),
        404 => Failure::NotFound { message: words },
        429 if said.code == "insufficient_quota" => Failure::lasting(format!(
            "the account has nothing left ({words}); look at its plan and its bills"
        )),
        408 | 409 | 425 | 429 | 500 | 502..=504 | 506..=599 => Failure::Passing { message: words, wait },
        _ => Failure::lasting(words),
    }
}

/// What an error inside a stream, or in place of an answer, means.
pub(super) fn in_stream(error: &Value, key: Option<&Secret>) -> Failure {
    let code = &error["error"]["code"];
    let status = code.as_u64().or_else(|| code.as_str()?.parse().ok());
    let status = status
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    // Servers that give no number stumbled while they answered.
    refusal(status.unwrap_or(500), &error.to_string(), None, key)
}

fn read(body: &str) -> Said {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return Said {
            message: without_markup(body),
            ..Said::default()
        };
    };
    let error = match &value["error"] {
        Value::Null => &value,
        error => error,
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let mut message = [&error["message"], &error["detail"], error]
        .into_iter()
        .map(text)
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    let mut param = text(&error["param"]);
    // FastAPI's list of what is wrong where.
    if let Some(first) = error["detail"].get(0) {
        let place: Vec<String> = first["loc"].as_array().into_iter().flatten().map(text).collect();
        message = format!("{}: {}", place.join("."), text(&first["msg"]));
        param = place.last().cloned().unwrap_or_default();
    }
    let code = [&error["code"], &error["type"]].map(text);
    Said {
        message,
        // The word says more than the number that some put there.
        code: code
            .iter()
            .find(|code| code.parse::<u32>().is_err())
            .cloned()
            .unwrap_or_default(),
        param,
        prompt: number(&error["n_prompt_tokens"]),
        window: number(&error["n_ctx"]),
    }
}

/// What is readable of a web page.
fn without_markup(body: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in body.chars().take(20_000) {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

fn is_too_long(said: &Said) -> bool {
    let message = said.message.to_ascii_lowercase();
    matches!(
        said.code.as_str(),
        "context_length_exceeded" | "exceed_context_size_error"
    ) || [
        "context length",
        "context size",
        "context window",
        "maximum model length",
    ]
    .iter()
    .any(|words| message.contains(words))
}

struct TooLongParts {
    prompt: Option<u32>,
    window: Option<u32>,
}

impl TooLongParts {
    /// The numbers, from fields of their own or out of the sentences of OpenAI, vLLM and llama.cpp.
    fn of(said: &Said) -> Self {
        static WINDOW: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"(?i)(?:context (?:length|size|window)|model length)\D{0,20}?(?:is|of|\() ?(\d+)").ok()
        });
        static PROMPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(
                r"(?i)(\d+) in the messages|(\d+) input tokens|request \((\d+) tokens|resulted in (\d+)|prompt (?:contains|has) (?:at least )?(\d+)",
            )
            .ok()
        });
        let find = |regex: &Option<Regex>| {
            let found = regex.as_ref()?.captures(&said.message)?;
            found.iter().skip(1).flatten().next()?.as_str().parse().ok()
        };
        Self {
            prompt: said.prompt.or_else(|| find(&PROMPT)),
            window: said.window.or_else(|| find(&WINDOW)),
        }
    }

    fn into_failure(self, message: String) -> Failure {
        Failure::TooLong {
            prompt: self.prompt,
            window: self.window,
            message,
        }
    }
}

/// The field a refusal is about, if it is one that can be left out.
fn refused_field(said: &Said, body: &str) -> Option<Field> {
    let named = |text: &str| {
        FIELDS
            .iter()
            .find(|(name, _)| is_word_in(name, text))
            .map(|(_, field)| *field)
    };
    let param = FIELDS
        .iter()
        .find(|(name, _)| said.param == *name || said.param.starts_with(&format!("{name}.")));
    let from_body = || said.message.is_empty().then(|| named(body)).flatten();
    let field = param
        .map(|(_, field)| *field)
        .or_else(|| named(&said.message))
        .or_else(from_body)?;
    let is_limit = matches!(field, Field::MaxTokens | Field::MaxCompletionTokens);
    let about_its_value = ["too large", "at most", "at least"]
        .iter()
        .any(|words| said.message.contains(words));
    // A limit that is only too high must not become none at all.
    (!(is_limit && about_its_value)).then_some(field)
}

/// Whether a name stands in a text as a word of its own: `stream` is not in `stream_options`.
fn is_word_in(name: &str, text: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(name)
        .any(|(at, _)| !part(text[..at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Failure {
        refusal(status, body, None, None)
    }

    #[test]
    fn context_errors_give_their_numbers() {
        let cases = [
            (
                r#"{"error":{"code":400,"message":"request (2031 tokens) exceeds the available context size (1024 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":2031,"n_ctx":1024}}"#,
                (2031, 1024),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","code":"context_length_exceeded","param":"messages"}}"#,
                (9001, 8192),
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).","type":"BadRequestError","param":null,"code":400}"#,
                (568, 6048),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'. Please reduce one or the other.","type":"BadRequestError","param":"input_tokens, max_tokens","code":400}}"#,
                (8, 2048),
            ),
            (
                r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 200 input tokens (4000 > 4096 - 200).","code":400}}"#,
                (200, 4096),
            ),
        ];
        for (body, numbers) in cases {
            match of(400, body) {
                Failure::TooLong { prompt, window, .. } => {
                    assert_eq!((prompt, window), (Some(numbers.0), Some(numbers.1)))
                }
                other => panic!("{body}: {other:?}"),
            }
        }
    }

    #[test]
    fn refused_fields_are_found() {
        let cases = [
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
                Field::MaxTokens,
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: top_k"}}"#,
                Field::TopK,
            ),
            (r#"{"error":"unknown field stream_options"}"#, Field::StreamOptions),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","min_p"],"msg":"Extra inputs are not permitted","input":{"seed":1}}]}"#,
                Field::MinP,
            ),
            (
                r#"{"error":{"message":"Your organization must be verified to stream this model.","param":"stream"}}"#,
                Field::Stream,
            ),
            (
                r#"{"error":{"message":"bad","param":"stream_options.include_usage"}}"#,
                Field::StreamOptions,
            ),
        ];
        for (body, expected) in cases {
            match of(400, body) {
                Failure::Field { field, .. } => assert_eq!(field, expected, "{body}"),
                other => panic!("{body}: {other:?}"),
            }
        }
        let high = r#"{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens.","param":"max_tokens"}}"#;
        assert!(matches!(of(400, high), Failure::Lasting { .. }));
        let grammar = r#"{"error":{"code":400,"message":"Failed to initialize samplers: failed to parse grammar"}}"#;
        assert!(matches!(of(400, grammar), Failure::Lasting { .. }));
        assert!(!is_word_in("stream", "upstream, stream_options, streams") && is_word_in("stream", "'stream'"));
    }

    #[test]
    fn statuses_have_their_meaning() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            let failure = refusal(status, "", Some(Duration::from_secs(3)), None);
            assert!(matches!(failure, Failure::Passing { wait: Some(_), .. }), "{status}");
        }
        for (status, words) in [(401, "OPENAI_API_KEY"), (403, "may use"), (501, "501"), (402, "402")] {
            let Failure::Lasting { message } = of(status, "") else {
                panic!("{status}")
            };
            assert!(message.contains(words), "{message}");
        }
        assert!(matches!(of(404, ""), Failure::NotFound { .. }));
        let quota = r#"{"error":{"message":"You exceeded","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert!(matches!(of(429, quota), Failure::Lasting { .. }));
    }

    #[test]
    fn a_servers_words_are_tidied() {
        let key = Secret::new("sk-secret");
        let body = format!("<html><h1>Oh</h1>\x1b[31m sk-secret {}</html>", "x".repeat(1000));
        let failure = refusal(502, &body, None, Some(&key));
        let message = failure.message();
        assert!(message.starts_with("HTTP 502: Oh ␛[31m *** xxx"), "{message}");
        assert!(message.chars().count() < 330 && message.ends_with('…'));
    }

    #[test]
    fn errors_in_a_stream_have_a_status() {
        let overloaded = serde_json::json!({"error": {"message": "busy", "code": 503}});
        assert!(matches!(in_stream(&overloaded, None), Failure::Passing { .. }));
        let plain = serde_json::json!({"error": "went wrong"});
        assert!(matches!(in_stream(&plain, None), Failure::Passing { message, .. } if message.contains("went wrong")));
        let bad = serde_json::json!({"error": {"message": "no", "code": "400"}});
        assert!(matches!(in_stream(&bad, None), Failure::Lasting { .. }));
    }
}
