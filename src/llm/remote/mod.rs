//! What all back ends on servers have in common: addresses, keys, time limits, retries, and reading an answer as it
//! comes.
//!
//! Owns bytes in and out. Must never write a key anywhere, and must not follow a redirect with one: it goes to the
//! server whose address a person gave, as ordinary clients send it. What is sent and what an answer means is the
//! back ends', which name their ways in a [`Dialect`].
//!
//! | file | its one job |
//! |---|---|
//! | `address` | `MODEL@http://host:port/v1` |
//! | `options` | key, time limits, retries |
//! | `line` | bytes in and out, within time limits |
//! | `sse` | events |
//! | `receive` | an answer, as events or at once |
//! | `failure` | why a try failed |
//! | `tries` | when to try again, and when to give up |

mod address;
mod failure;
mod line;
mod options;
mod receive;
mod sse;
mod tries;

use std::time::Duration;

pub use options::RemoteOptions;

pub(super) use address::Address;
pub(super) use failure::{Failure, Field, tidy};
pub(super) use line::{Limits, Line};
pub(super) use options::Settings;
pub(super) use receive::{BadPiece, Gather, is_done, receive};
pub(super) use tries::Tries;

use super::http::NoResult;
use super::{LlmError, Secret};

/// How a family of servers is spoken to.
#[derive(Debug)]
pub(super) struct Dialect {
    /// Its name, as specifications begin.
    pub(super) name: &'static str,
    /// How a model is written, for people.
    pub(super) form: &'static str,
    /// Where a model is looked for when nothing else is said.
    pub(super) usual: &'static str,
    /// The variable that holds the base address of models given without one.
    pub(super) base: &'static str,
    /// Variables that hold the key; the first that is set counts.
    pub(super) keys: &'static [&'static str],
    /// The header of the key, and what stands before it there.
    pub(super) key_header: (&'static str, &'static str),
    /// Further headers.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The address of the one function, which people write into a base address.
    pub(super) function: &'static str,
    /// Base addresses are given without `/v1`.
    pub(super) below_v1: bool,
    /// What a refusal means: status, body, the wait asked for, the key that was sent.
    pub(super) refusal: fn(u16, &str, Option<Duration>, Option<&Secret>) -> Failure,
}

impl Dialect {
    /// The variables of the key, for people.
    pub(super) fn keys(&self) -> String {
        self.keys.join(" or ")
    }

    /// A failure of a back end.
    pub(super) fn failed(&self, message: String, retryable: bool) -> LlmError {
        LlmError::Backend {
            backend: self.name,
            message,
            retryable,
        }
    }

    /// The same when a call gave nothing.
    pub(super) fn no_result(&self, why: NoResult) -> LlmError {
        match why {
            NoResult::Cancelled => LlmError::Cancelled,
            NoResult::Broken => self.failed("the call broke down; please report it".to_owned(), false),
        }
    }
}

/// Which model on which server, for messages.
pub(super) fn name(line: &Line) -> String {
    let address = &line.address;
    tidy(&format!("{} at {}", address.model, address.base), line.key())
}

/// A specification without the address, which may hold what a message must not show.
pub(super) fn name_only(spec: &str) -> &str {
    spec.split("://").next().unwrap_or_default()
}
