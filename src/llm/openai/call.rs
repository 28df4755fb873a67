//! One chat call from its first try to its answer.
//!
//! Owns what is done about each failure: wait and try again, leave a field out, ask for a shorter answer, give up.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::BACKEND;
use super::answer::{BadPiece, Collector, is_done};
use super::errors::{self, Failure, tidy};
use super::line::{Incoming, Limits, Line};
use super::probe::{self, About};
use super::request::{self, Refused};
use super::sse::{LONGEST_EVENT, SseEvent, SseParser};
use crate::llm::retry::{GiveUp, Retries, chance};
use crate::llm::{ChatAnswer, ChatProgress, ChatRequest, LlmError};

/// Bytes of an answer that comes at once.
const LONGEST_BODY: usize = 16 << 20;
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
        let settings = &self.line.settings;
        let mut retries = Retries::new(settings.retries, settings.backoff, settings.patience);
        let mut tries = 1;
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
                    match retries.wait(wait, chance()) {
                        Ok(wait) => tokio::time::sleep(wait).await,
                        Err(end) => return Err(self.given_up(&message, end, tries, call.began.elapsed())),
                    }
                    tries += 1;
                    tell(ChatProgress::Waiting);
                }
                failure => return Err(self.error(failure, &call).await),
            }
        }
    }

    fn given_up(&self, message: &str, end: GiveUp, tries: u32, spent: Duration) -> LlmError {
        let end = match end {
            GiveUp::Used => format!("given up after {tries} tries in {:.1} s", spent.as_secs_f64()),
            GiveUp::TooLong(wait) => format!("it asks to wait {} s, which is too long", wait.as_secs()),
        };
        // It has been tried often enough.
        self.backend(format!("{message}; {end}"), false)
    }

    fn backend(&self, message: String, retryable: bool) -> LlmError {
        LlmError::Backend {
            backend: BACKEND,
            message: format!("{}: {message}", self.name()),
            retryable,
        }
    }

    async fn error(&self, failure: Failure, call: &Call<'_>) -> LlmError {
        match failure {
            Failure::TooLong {
                prompt,
                window,
                message,
            } => match window.or(self.about.context) {
                Some(available) => LlmError::ContextOverflow {
                    needed: prompt.unwrap_or_else(|| call.estimated_prompt()),
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

/// Which model on which server, for messages.
pub(super) fn name(line: &Line) -> String {
    let address = &line.address;
    tidy(&format!("{} at {}", address.model, address.base), line.key())
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
        let mut given = Given {
            collector: Collector::new(&self.request.stop),
            first_ms: 0.0,
        };
        let read = self.read(incoming, &mut given, began, tell).await;
        match read {
            Ok(()) if given.collector.was_filtered() => {
                Err(Failure::lasting("its filter allowed no answer to this prompt"))
            }
            Ok(()) => Ok(given),
            Err(failure) if given.collector.has_text() => Err(failure.after_text()),
            Err(failure) => Err(failure),
        }
    }

    async fn read(
        &self,
        mut incoming: Incoming,
        given: &mut Given,
        began: Instant,
        tell: &mut (dyn FnMut(ChatProgress) + Send),
    ) -> Result<(), Failure> {
        let kind = incoming.header("content-type").to_ascii_lowercase();
        let mut first = Vec::new();
        if !kind.contains("event-stream") {
            // What it is shows in its first bytes, whatever it is called.
            while first.iter().all(u8::is_ascii_whitespace) {
                match incoming.chunk().await? {
                    Some(bytes) => first.extend(bytes),
                    None => return Err(Failure::passing("its answer was empty")),
                }
            }
        }
        match first.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[') => {
                first.extend(incoming.read(LONGEST_BODY).await?);
                let text = String::from_utf8_lossy(&first);
                let key = self.server.line.key();
                given.first_ms = began.elapsed().as_secs_f64() * 1000.0;
                let taken = given.collector.take(&text, tell);
                taken.map_err(|bad| bad_piece(bad, &text, key))?;
                match given.collector.finished() || given.collector.has_text() {
                    true => Ok(()),
                    false => Err(Failure::lasting(format!(
                        "its answer is none of a chat: `{}`",
                        tidy(&text, key)
                    ))),
                }
            }
            Some(b'<') => Err(Failure::lasting(format!(
                "it answers with a web page; check the address: {}",
                super::address::FORM
            ))),
            _ => self.read_events(incoming, &first, given, began, tell).await,
        }
    }

    async fn read_events(
        &self,
        mut incoming: Incoming,
        first: &[u8],
        given: &mut Given,
        began: Instant,
        tell: &mut (dyn FnMut(ChatProgress) + Send),
    ) -> Result<(), Failure> {
        let mut parser = SseParser::default();
        let too_long = |_| Failure::lasting(format!("one of its events has more than {LONGEST_EVENT} bytes"));
        let mut events = parser.push(first).map_err(too_long)?;
        loop {
            if self.take(&events, given, began, tell)? {
                return Ok(());
            }
            match incoming.chunk().await {
                Ok(Some(bytes)) => events = parser.push(&bytes).map_err(too_long)?,
                Ok(None) => break,
                // Whatever happens after its end is no matter of the answer.
                Err(_) if given.collector.finished() => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
        let last: Vec<SseEvent> = parser.finish().into_iter().collect();
        match self.take(&last, given, began, tell)? || given.collector.finished() {
            true => Ok(()),
            false => Err(Failure::passing("the stream ended before the answer did")),
        }
    }

    /// Takes events; true when the answer is over.
    fn take(
        &self,
        events: &[SseEvent],
        given: &mut Given,
        began: Instant,
        tell: &mut (dyn FnMut(ChatProgress) + Send),
    ) -> Result<bool, Failure> {
        let key = self.server.line.key();
        for event in events {
            if is_done(&event.data) {
                return Ok(true);
            }
            if event.is_error {
                return Err(errors::refusal(500, &event.data, None, key));
            }
            if event.data.trim().is_empty() {
                continue;
            }
            let had_text = given.collector.has_text();
            let taken = given.collector.take(&event.data, tell);
            if !had_text && given.collector.has_text() {
                given.first_ms = began.elapsed().as_secs_f64() * 1000.0;
            }
            taken.map_err(|bad| bad_piece(bad, &event.data, key))?;
            if given.collector.stopped() {
                // The server goes on until the connection is dropped, which happens now.
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn estimated_prompt(&self) -> u32 {
        let ratio = *self
            .server
            .bytes_per_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (self.bytes() as f64 / ratio).ceil() as u32
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
        ChatAnswer {
            prompt: request::prompt(&self.request.messages),
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

fn bad_piece(bad: BadPiece, data: &str, key: Option<&crate::llm::Secret>) -> Failure {
    match bad {
        BadPiece::NoJson => Failure::passing(format!("it sent what is no JSON: `{}`", tidy(data, key))),
        BadPiece::Error(error) => errors::in_stream(&error, key),
        BadPiece::TooLong => Failure::lasting("its answer does not end; lower the limit of tokens"),
    }
}
