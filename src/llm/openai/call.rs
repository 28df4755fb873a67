//! One chat call from its first try to its answer.
//!
//! Owns what is done about each failure: wait and try again, leave a field out, ask for a shorter answer, give up.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::DIALECT;
use super::answer::Collector;
use super::probe::{self, About};
use super::request::{self, Refused};
use crate::llm::remote::{Failure, Limits, Line, Tries, name, receive, tidy};
use crate::llm::{ChatAnswer, ChatProgress, ChatRequest, LlmError};

/// Bytes of a token, until a server has told better.
const BYTES_PER_TOKEN: f64 = 3.5;

/// What all calls to a server share.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) line: Line,
    /// What it is.
    pub(super) about: About,
    /// What it refused.
    pub(super) refused: Refused,
    bytes_per_token: Mutex<f64>,
}

/// One call's state.
struct Call<'a> {
    server: &'a Server,
    request: &'a ChatRequest,
    began: Instant,
    /// The answer's tokens, where fewer than asked for fit.
    most: Option<u32>,
    /// What this call was refused: another call may have learnt the same in the meantime.
    dropped: Refused,
}

/// What a try gave.
struct Given {
    collector: Collector,
    first_ms: f64,
}

impl Server {
    pub(super) fn new(line: Line, about: About) -> Self {
        Self {
            line,
            about,
            refused: Refused::default(),
            bytes_per_token: Mutex::new(BYTES_PER_TOKEN),
        }
    }

    /// Which model on which server, for messages.
    pub(super) fn name(&self) -> String {
        name(&self.line)
    }

    /// Answers a chat.
    pub(super) async fn chat(
        &self,
        request: &ChatRequest,
        tell: &mut (dyn FnMut(ChatProgress) + Send),
    ) -> Result<ChatAnswer, LlmError> {
        let mut call = Call {
            server: self,
            request,
            began: Instant::now(),
            most: None,
            dropped: Refused::default(),
        };
        let mut tries = Tries::new(&self.line.settings);
        tell(ChatProgress::Waiting);
        loop {
            let failure = match call.once(tell).await {
                Ok(given) => return Ok(call.answer(given, tell)),
                Err(failure) => failure,
            };
            match failure {
                // Each field is refused once at most, so this ends.
                Failure::Field { field, .. } if !call.dropped.has(field) => {
                    call.dropped.add(field);
                    self.refused.add(field);
                }
                Failure::TooLong {
                    prompt: Some(prompt),
                    window: Some(window),
                    ..
                } if prompt < window && call.most.is_none() => call.most = Some(window - prompt),
                Failure::Passing { message, wait } => {
                    // At its end it has been tried often enough.
                    let again = tries.next(&message, wait).await;
                    again.map_err(|message| self.backend(message, false))?;
                    tell(ChatProgress::Waiting);
                }
                failure => return Err(self.error(failure, call.estimated_prompt()).await),
            }
        }
    }

    /// Tokens that so many bytes are about.
    pub(super) fn estimated_tokens(&self, bytes: usize) -> u32 {
        let ratio = *self.bytes_per_token.lock().unwrap_or_else(PoisonError::into_inner);
        (bytes as f64 / ratio).ceil() as u32
    }

    pub(super) fn backend(&self, message: String, retryable: bool) -> LlmError {
        DIALECT.failed(format!("{}: {message}", self.name()), retryable)
    }

    /// The error of a call that is given up. `estimated` is about what the prompt has in tokens.
    pub(super) async fn error(&self, failure: Failure, estimated: u32) -> LlmError {
        match failure {
            Failure::TooLong {
                prompt,
                window,
                message,
            } => match window.or(self.about.context) {
                Some(available) => LlmError::ContextOverflow {
                    needed: prompt.unwrap_or(estimated),
                    available,
                },
                None => self.backend(message, false),
            },
            Failure::NotFound { message } => {
                let models = probe::list(&self.line).await.ok();
                self.backend(not_found(&self.line, &message, models.as_deref()), false)
            }
            Failure::Cut { message } => self.backend(message, true),
            other => self.backend(other.message().to_owned(), false),
        }
    }
}

/// What to tell when a model or an address is not there.
pub(super) fn not_found(line: &Line, message: &str, models: Option<&[String]>) -> String {
    const SHOWN: usize = 12;
    let hint = match models {
        Some([]) | None => format!(
            "check the model's name and the address; {} should list the models",
            line.address.function("models")
        ),
        Some(models) => {
            let more = if models.len() > SHOWN {
                format!(" and {} more", models.len() - SHOWN)
            } else {
                String::new()
            };
            let shown: Vec<&str> = models.iter().take(SHOWN).map(String::as_str).collect();
            format!("it has {}{more}", tidy(&shown.join(", "), line.key()))
        }
    };
    format!("it does not know this model ({message}); {hint}")
}

impl Call<'_> {
    /// One try.
    async fn once(&self, tell: &mut (dyn FnMut(ChatProgress) + Send)) -> Result<Given, Failure> {
        let server = self.server;
        let line = &server.line;
        let model = &line.address.model;
        let body = request::body(model, self.request, server.about.kind, &server.refused, self.most);
        let began = Instant::now();
        let incoming = line
            .post(
                line.address.function("chat/completions"),
                &body,
                Limits::of(&line.settings),
            )
            .await?;
        let mut collector = Collector::new(&self.request.stop);
        let first_ms = receive(incoming, &mut collector, &DIALECT, line.key(), began, tell).await?;
        match collector.was_filtered() {
            true => Err(Failure::lasting("its filter allowed no answer to this prompt")),
            false => Ok(Given { collector, first_ms }),
        }
    }

    fn estimated_prompt(&self) -> u32 {
        self.server.estimated_tokens(self.bytes())
    }

    fn bytes(&self) -> usize {
        let said = self.request.messages.iter().map(|message| message.content.len());
        said.sum::<usize>().max(1)
    }

    fn answer(&self, given: Given, tell: &mut (dyn FnMut(ChatProgress) + Send)) -> ChatAnswer {
        let Given { collector, first_ms } = given;
        let usage = collector.usage();
        let completion = usage.completion.unwrap_or_else(|| collector.estimated_tokens());
        let (text, stop) = collector.finish(tell);
        if let Some(tokens) = usage.prompt.filter(|tokens| *tokens > 0) {
            // What this server counts a text as is the best estimate for the next that it does not count.
            let ratio = self.bytes() as f64 / f64::from(tokens);
            *self
                .server
                .bytes_per_token
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = ratio.max(0.1);
        }
        let prompt_tokens = usage.prompt.unwrap_or_else(|| self.estimated_prompt());
        let cached_tokens = usage.cached.unwrap_or(0).min(prompt_tokens);
        tell(ChatProgress::Prompt {
            done: prompt_tokens,
            total: prompt_tokens,
            cached: cached_tokens,
        });
        let ms = self.began.elapsed().as_secs_f64() * 1000.0;
        let prompt = request::prompt(&self.request.messages);
        ChatAnswer {
            prompt: prompt.text,
            spans: prompt.spans,
            text,
            prompt_tokens,
            cached_tokens,
            completion_tokens: completion,
            prompt_ms: usage.prompt_ms.unwrap_or(first_ms).min(ms),
            ms,
            stop,
        }
    }
}
