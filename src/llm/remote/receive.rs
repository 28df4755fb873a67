//! Reading an answer: events as they come, or one body, whatever the server calls it.
//!
//! Owns telling the two apart and when an answer is over. What the pieces mean is [`Gather`]'s.

use std::time::Instant;

use serde_json::Value;

use super::Dialect;
use super::failure::{Failure, tidy};
use super::line::Incoming;
use super::sse::{LONGEST_EVENT, SseEvent, SseParser};
use crate::llm::Secret;

/// Bytes of an answer that comes at once.
const LONGEST_BODY: usize = 16 << 20;

/// What is wrong with a piece.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::llm) enum BadPiece {
    /// It is no JSON object.
    NoJson,
    /// It is an error of the server's.
    Error(Value),
    /// The answer has no end.
    TooLong,
}

/// Puts an answer together. `N` is what it tells meanwhile.
pub(in crate::llm) trait Gather<N>: Send {
    /// Takes a piece, or a whole answer, as the text of a JSON object.
    fn take(&mut self, data: &str, tell: &mut dyn FnMut(N)) -> Result<(), BadPiece>;

    /// Whether the server said that the answer is over.
    fn finished(&self) -> bool;

    /// Whether anything was said.
    fn began(&self) -> bool;

    /// Whether what follows is of no interest.
    fn stopped(&self) -> bool {
        false
    }

    /// What an error inside the stream, or in place of an answer, means.
    fn failure(&self, error: &Value, key: Option<&Secret>) -> Failure;
}

/// How an answer is read.
pub(in crate::llm) struct Reading<'a, N, G> {
    gather: &'a mut G,
    dialect: &'static Dialect,
    key: Option<&'a Secret>,
    began: Instant,
    first_ms: f64,
    tell: &'a mut (dyn FnMut(N) + Send),
}

/// Reads an answer to its end; gives the milliseconds until its first words. What breaks off after some came is a
/// failure of its own kind.
pub(in crate::llm) async fn receive<N, G: Gather<N>>(
    incoming: Incoming,
    gather: &mut G,
    dialect: &'static Dialect,
    key: Option<&Secret>,
    began: Instant,
    tell: &mut (dyn FnMut(N) + Send),
) -> Result<f64, Failure> {
    let mut reading = Reading {
        gather,
        dialect,
        key,
        began,
        first_ms: 0.0,
        tell,
    };
    match reading.read(incoming).await {
        Ok(()) => Ok(reading.first_ms),
        Err(failure) if reading.gather.began() => Err(failure.after_text()),
        Err(failure) => Err(failure),
    }
}

/// Whether an event's data is the sign that there are no more.
pub(in crate::llm) fn is_done(data: &str) -> bool {
    data.trim() == "[DONE]"
}

impl<N, G: Gather<N>> Reading<'_, N, G> {
    async fn read(&mut self, mut incoming: Incoming) -> Result<(), Failure> {
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
                self.first_ms = self.began.elapsed().as_secs_f64() * 1000.0;
                self.piece(&text)?;
                match self.gather.finished() || self.gather.began() {
                    true => Ok(()),
                    false => Err(Failure::lasting(format!(
                        "its answer is none of a chat: `{}`",
                        tidy(&text, self.key)
                    ))),
                }
            }
            Some(b'<') => Err(Failure::lasting(format!(
                "it answers with a web page; check the address: {}",
                self.dialect.form
            ))),
            _ => self.read_events(incoming, &first).await,
        }
    }

    async fn read_events(&mut self, mut incoming: Incoming, first: &[u8]) -> Result<(), Failure> {
        let mut parser = SseParser::default();
        let too_long = |_| Failure::lasting(format!("one of its events has more than {LONGEST_EVENT} bytes"));
        let mut events = parser.push(first).map_err(too_long)?;
        loop {
            if self.take(&events)? {
                return Ok(());
            }
            match incoming.chunk().await {
                Ok(Some(bytes)) => events = parser.push(&bytes).map_err(too_long)?,
                Ok(None) => break,
                // Whatever happens after its end is no matter of the answer.
                Err(_) if self.gather.finished() => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
        let last: Vec<SseEvent> = parser.finish().into_iter().collect();
        match self.take(&last)? || self.gather.finished() {
            true => Ok(()),
            false => Err(Failure::passing("the stream ended before the answer did")),
        }
    }

    /// Takes events; true when the answer is over.
    fn take(&mut self, events: &[SseEvent]) -> Result<bool, Failure> {
        for event in events {
            if is_done(&event.data) {
                return Ok(true);
            }
            if event.is_error {
                let error = serde_json::from_str(&event.data).unwrap_or_else(|_| event.data.as_str().into());
                return Err(self.gather.failure(&error, self.key));
            }
            if event.data.trim().is_empty() {
                continue;
            }
            let had_text = self.gather.began();
            let taken = self.piece(&event.data);
            if !had_text && self.gather.began() {
                self.first_ms = self.began.elapsed().as_secs_f64() * 1000.0;
            }
            taken?;
            if self.gather.stopped() {
                // The server goes on until the connection is dropped, which happens now.
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn piece(&mut self, data: &str) -> Result<(), Failure> {
        self.gather.take(data, self.tell).map_err(|bad| match bad {
            BadPiece::NoJson => Failure::passing(format!("it sent what is no JSON: `{}`", tidy(data, self.key))),
            BadPiece::Error(error) => self.gather.failure(&error, self.key),
            BadPiece::TooLong => Failure::lasting("its answer does not end; lower the limit of tokens"),
        })
    }
}
