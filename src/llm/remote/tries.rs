//! The tries of one call: waits between them, and the words when there is no further one.
//!
//! Owns the sleeping. When to wait and how long is `llm::retry`'s.

use std::time::{Duration, Instant};

use super::options::Settings;
use crate::llm::retry::{GiveUp, Retries, chance};

/// What is left of a call's tries.
#[derive(Debug)]
pub(in crate::llm) struct Tries {
    retries: Retries,
    began: Instant,
    tries: u32,
}

impl Tries {
    /// Those of a call that begins now.
    pub(in crate::llm) fn new(settings: &Settings) -> Self {
        Self {
            retries: Retries::new(settings.retries, settings.backoff, settings.patience),
            began: Instant::now(),
            tries: 1,
        }
    }

    /// Waits for the next try.
    ///
    /// # Errors
    /// The message with what was done, when there is none.
    pub(in crate::llm) async fn next(&mut self, message: &str, wait: Option<Duration>) -> Result<(), String> {
        match self.retries.wait(wait, chance()) {
            Ok(wait) => {
                tokio::time::sleep(wait).await;
                self.tries += 1;
                Ok(())
            }
            Err(GiveUp::Used) => Err(format!(
                "{message}; given up after {} tries in {:.1} s",
                self.tries,
                self.began.elapsed().as_secs_f64()
            )),
            Err(GiveUp::TooLong(wait)) => Err(format!(
                "{message}; it asks to wait {} s, which is too long",
                wait.as_secs()
            )),
        }
    }
}
