//! What is sent: the body of a chat call, for the kind of server that is there and without what it refused.
//!
//! Owns the names of the fields. Must not send anything.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Map, Value, json};

use super::thinking;
use crate::llm::ChatRequest;
use crate::llm::decoding::template::{ChatTemplate, SpecialTexts, prompt_text};
use crate::llm::remote::Field;
use crate::types::{ChatRole, Message, SpannedText};

/// What answers at the other end, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// llama.cpp's server: grammars, `top_k`, progress of the prompt, timings.
    Llama,
    /// vLLM or SGLang: `top_k`, usage with every piece.
    Vllm,
    /// Something else: only what OpenAI's own interface has.
    Other,
}

impl Kind {
    /// Its name, for the record.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Llama => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::Other => "OpenAI-compatible",
        }
    }
}

/// The fields by name. Names that contain others stand before them.
pub(super) const FIELDS: [(&str, Field); 11] = [
    ("stream_options", Field::StreamOptions),
    ("max_tokens", Field::MaxTokens),
    ("max_completion_tokens", Field::MaxCompletionTokens),
    ("temperature", Field::Temperature),
    ("top_p", Field::TopP),
    ("top_k", Field::TopK),
    ("min_p", Field::MinP),
    ("seed", Field::Seed),
    ("return_progress", Field::ReturnProgress),
    ("timings_per_token", Field::TimingsPerToken),
    ("stream", Field::Stream),
];

/// Fields that the server refused, shared by all calls.
#[derive(Debug, Default)]
pub(super) struct Refused(AtomicU32);

impl Refused {
    pub(super) fn add(&self, field: Field) {
        self.0.fetch_or(field as u32, Ordering::Relaxed);
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.0.load(Ordering::Relaxed) & field as u32 != 0
    }
}

/// The body of a call. `most` replaces the request's own limit of tokens where that does not fit.
pub(super) fn body(model: &str, request: &ChatRequest, kind: Kind, refused: &Refused, most: Option<u32>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    let messages: Vec<Value> = sent_messages(&request.messages)
        .iter()
        .map(|message| json!({ "role": message.role.word(), "content": message.content }))
        .collect();
    body.insert("messages".into(), messages.into());
    let sampling = &request.sampling;
    let streams = limits(
        &mut body,
        kind,
        refused,
        most.unwrap_or(sampling.max_tokens).min(sampling.max_tokens),
    );
    let mut set = |field: Field, value: Value| set(&mut body, refused, field, value);
    set(Field::Temperature, number(sampling.temperature));
    set(Field::TopP, number(sampling.top_p));
    set(Field::Seed, sampling.seed.into());
    if kind != Kind::Other {
        // Both read a number below 1 as "keep all"; vLLM refuses 0 in some versions.
        let top_k = if sampling.top_k == 0 {
            -1
        } else {
            i64::from(sampling.top_k)
        };
        set(Field::TopK, top_k.into());
    }
    if kind == Kind::Llama {
        // The server's own default would cut tokens that the recorded settings keep.
        set(Field::MinP, 0.into());
        if streams {
            set(Field::ReturnProgress, true.into());
            set(Field::TimingsPerToken, true.into());
        }
        if let Some(grammar) = &request.grammar {
            body.insert("grammar".into(), grammar.as_str().into());
        }
    }
    Value::Object(body)
}

/// Sets a field unless the server refused it.
fn set(body: &mut Map<String, Value>, refused: &Refused, field: Field, value: Value) {
    let name = FIELDS.iter().find(|(_, known)| *known == field).map(|(name, _)| *name);
    if let Some(name) = name.filter(|_| !refused.has(field)) {
        body.insert(name.to_owned(), value);
    }
}

/// How the answer comes and how long it may be; true when it comes in pieces.
pub(super) fn limits(body: &mut Map<String, Value>, kind: Kind, refused: &Refused, most: u32) -> bool {
    let streams = !refused.has(Field::Stream);
    set(body, refused, Field::Stream, true.into());
    if streams {
        let usage = match kind {
            // An answer that is left at a stop text has no last piece.
            Kind::Vllm => json!({ "include_usage": true, "continuous_usage_stats": true }),
            Kind::Llama | Kind::Other => json!({ "include_usage": true }),
        };
        set(body, refused, Field::StreamOptions, usage);
    }
    let field = match refused.has(Field::MaxTokens) {
        true => Field::MaxCompletionTokens,
        false => Field::MaxTokens,
    };
    set(body, refused, field, most.max(1).into());
    streams
}

/// The shortest decimal of a 32-bit number, so that 0.7 is sent as 0.7.
fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// The messages as they go out: an answer's thinking stays with us, as servers expect it.
fn sent_messages(messages: &[Message]) -> Vec<Message> {
    messages
        .iter()
        .map(|message| match message.role {
            ChatRole::Assistant => Message::new(message.role, thinking::without(&message.content)),
            ChatRole::System | ChatRole::User => message.clone(),
        })
        .collect()
}

/// The messages as text, for the record. What a remote server makes of them with the model's template it does not
/// tell, so they are written as ChatML: `<|im_start|>ROLE`, the content as it was sent, `<|im_end|>`.
pub(super) fn prompt(messages: &[Message]) -> SpannedText {
    let messages = sent_messages(messages);
    let template = ChatTemplate::new(None, SpecialTexts::default(), &jiff::ZonedDateTime::default());
    match template.render_chat(&messages) {
        Ok(rendered) => SpannedText {
            text: prompt_text(&rendered.pieces),
            spans: rendered.spans,
        },
        // ChatML takes any messages; if it did not, their contents are what matters.
        Err(_) => messages.iter().fold(SpannedText::default(), |mut text, message| {
            text.message(message.role, &message.content);
            text.push("\n");
            text
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::SlotKey;
    use crate::types::{EpisodeNo, Phase, Role, Sampling};

    fn request() -> ChatRequest {
        ChatRequest {
            messages: vec![
                Message::new(ChatRole::System, "rules"),
                Message::new(ChatRole::User, "go"),
                Message::new(ChatRole::Assistant, "<think>\nwest?\n</think>\n\n<|READ|>a<|END|>"),
                Message::new(ChatRole::User, "on"),
            ],
            slot: SlotKey {
                episode: EpisodeNo(0),
                role: Role::Agent,
                phase: Phase::Plan,
            },
            sampling: Sampling {
                seed: 7,
                ..Sampling::default()
            },
            grammar: Some("root ::= \"a\"".into()),
            stop: vec!["<|DONE|>".into()],
        }
    }

    fn keys(body: &Value) -> Vec<&str> {
        body.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn every_kind_gets_what_it_knows() {
        let none = Refused::default();
        let plain = [
            "model",
            "messages",
            "stream",
            "stream_options",
            "max_tokens",
            "temperature",
            "top_p",
            "seed",
        ];
        assert_eq!(keys(&body("m", &request(), Kind::Other, &none, None)), plain);
        let vllm = body("m", &request(), Kind::Vllm, &none, None);
        assert_eq!(keys(&vllm), [&plain[..], &["top_k"]].concat());
        assert_eq!(vllm["stream_options"]["continuous_usage_stats"], true);
        let llama = body("m", &request(), Kind::Llama, &none, None);
        let more = ["top_k", "min_p", "return_progress", "timings_per_token", "grammar"];
        assert_eq!(keys(&llama), [&plain[..], &more].concat());
        assert_eq!(llama["temperature"].to_string(), "0.7");
        assert_eq!(llama["messages"][2]["content"], "<|READ|>a<|END|>");
    }

    #[test]
    fn what_was_refused_is_left_out() {
        let refused = Refused::default();
        for field in [Field::StreamOptions, Field::MaxTokens, Field::Temperature] {
            refused.add(field);
        }
        let body_now = body("m", &request(), Kind::Other, &refused, Some(9));
        assert_eq!(
            keys(&body_now),
            ["model", "messages", "stream", "max_completion_tokens", "top_p", "seed"]
        );
        assert_eq!(body_now["max_completion_tokens"], 9);
        refused.add(Field::Stream);
        refused.add(Field::MaxCompletionTokens);
        let body_now = body("m", &request(), Kind::Llama, &refused, None);
        assert_eq!(
            keys(&body_now),
            ["model", "messages", "top_p", "seed", "top_k", "min_p", "grammar"]
        );
    }

    #[test]
    fn the_prompt_is_what_was_sent() {
        let SpannedText { text, spans } = prompt(&request().messages);
        let said = |span: &crate::types::Span| &text[span.start as usize..span.end as usize];
        assert_eq!(
            spans.iter().map(said).collect::<Vec<_>>(),
            ["rules", "go", "<|READ|>a<|END|>", "on"]
        );
        assert!(text.starts_with("<|im_start|>system\nrules<|im_end|>\n"), "{text}");
        assert!(text.contains("assistant\n<|READ|>a<|END|><|im_end|>") && !text.contains("west?"));
    }
}
