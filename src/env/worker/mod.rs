//! Worlds in a child process: any program that speaks JSON lines on its standard input and output.
//!
//! Owns the protocol (its messages), this side of it ([`WorkerWorld`]), the other side for the worlds of this program
//! ([`serve`]), and the check of any worker against the contract ([`check`]). Must not know any game.
//!
//! # The protocol, version 1
//! One JSON document a line, UTF-8, one reply a request, in the order of the requests; everything else a worker wants
//! to say goes to its standard error. Fields that a side does not know are passed over.
//!
//! | request | reply |
//! |---|---|
//! | `{"do":"hello","protocol":1}` | `{"protocol":1,"world":{...}}` |
//! | `{"do":"reset","seed":7}` | `{"frame":{...}}` |
//! | `{"do":"step","action":"north"}` | `{"frame":{...}}` |
//! | `{"do":"close"}`, or the end of the input | the worker ends |
//!
//! The world has `name`, `actions` (their names) and `instruction_prompt` (the rules, as the model is told them); it may
//! have `engine`, `engine_version`, `task` (`default`), `fallback` (the first action) and `step_limit` (10,000).
//!
//! A frame has `long` (what is seen), `reward`, `terminated` and `truncated`; it may have `short` (status and
//! inventory), `view` (for people: see [`View`](crate::types::View)), `progression` (0 to 1), `info` (an object, never
//! shown to the model) and `digest` (32 hexadecimal digits that name the whole state; else it is made from the digest
//! before, the action and what was shown).
//!
//! A failure is `{"error":{"kind":KIND,"message":TEXT}}`. After `unknown_action` and `not_reset` the worker is asked
//! again as if nothing had happened; after `engine` and `protocol`, after an answer that is late or cannot be read, and
//! after its end, it is started anew at the next reset. Equal seeds and actions must give equal frames, in every
//! process: that is how a run is resumed and verified.

mod check;
mod checked;
mod client;
mod connection;
mod lines;
mod messages;
mod server;
#[cfg(test)]
mod tests;

pub use check::{Check, CheckOptions, CheckReport, Outcome, check};
pub use client::WorkerWorld;
pub use connection::Limits;
pub use messages::{DEFAULT_STEP_LIMIT, FailureKind, PROTOCOL, Reply, Request, Shown};
pub use server::{refuse, serve};

use super::WorldError;

/// Opens a world by its worker's command: words split at blanks, quotes as in a shell.
///
/// # Errors
/// When the command has an open quote, or the worker cannot be used.
pub fn open(command: &str) -> Result<WorkerWorld, WorldError> {
    let words = shlex::split(command)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| WorldError::Address {
            text: command.to_owned(),
            problem: "the command has no words, or a quote that is not closed".to_owned(),
        })?;
    Ok(WorkerWorld::open(words, Limits::default())?.with_command(command))
}
