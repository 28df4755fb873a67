//! Telling what long work does: lines for people, lines that come and go on a terminal, or JSON lines.

use std::io::{IsTerminal as _, Write as _};
use std::marker::PhantomData;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::output::{print_error, print_text};
use crate::protocol::sanitize::{clean, clean_line};
use crate::review::Policy;

/// Times between two lines on a terminal that come and go.
const PAUSE: Duration = Duration::from_millis(100);
/// Times between two JSON lines of what comes and goes.
const JSON_PAUSE: Duration = Duration::from_secs(1);

/// How work that can be gone on with ended, told to a person. `verb` takes `--resume NAME`.
pub(super) fn ended<E: Into<anyhow::Error>>(
    done: Result<(), E>,
    is_cancelled: impl Fn(&E) -> bool,
    verb: &str,
    name: &str,
) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_cancelled(&error) => {
            eprintln!("{name} is interrupted; go on with: automem {verb} --resume {name}");
            ExitCode::from(130)
        }
        Err(error) => {
            print_error(&error.into());
            eprintln!("what {name} has reached is kept; go on with: automem {verb} --resume {name}");
            ExitCode::FAILURE
        }
    }
}

/// Why a policy cannot be given to work that has begun; `what` is an optimization or a tuning.
pub(super) fn policy_is_set(name: &str, what: &str, policy: Option<Policy>) -> anyhow::Error {
    let begun = policy.map_or_else(
        || "without a policy".to_owned(),
        |policy| format!("with the policy {}", policy.word()),
    );
    anyhow::anyhow!("{name} was begun {begun}; the policy of {what} is set when it begins")
}

/// Something that is told.
pub(super) trait Told: Serialize {
    /// Whether it is told to show that something goes on, and no more.
    fn is_fleeting(&self) -> bool;

    /// In words; empty is not told.
    fn line(&self) -> String;

    /// A piece of a text that comes in pieces.
    fn piece(&self) -> Option<&str> {
        None
    }
}

/// Tells news of one kind.
pub(super) struct Lines<N> {
    json: bool,
    terminal: bool,
    shown: Option<Instant>,
    /// A text that comes in pieces is being written.
    saying: bool,
    of: PhantomData<fn(&N)>,
}

impl<N: Told> Lines<N> {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: std::io::stderr().is_terminal(),
            shown: None,
            saying: false,
            of: PhantomData,
        }
    }

    pub(super) fn tell(&mut self, news: &N) {
        // A reader that went away (`| head`) does not stop the work.
        if self.json {
            if !news.is_fleeting() || self.is_time(JSON_PAUSE) {
                let line = serde_json::to_string(news).unwrap_or_default();
                drop(print_text(&format!("{line}\n")));
            }
            return;
        }
        if let Some(text) = news.piece() {
            self.clear();
            self.saying = true;
            eprint!("{}", clean(text));
            return;
        }
        if std::mem::take(&mut self.saying) {
            eprintln!();
        }
        if news.is_fleeting() {
            if self.terminal && self.is_time(PAUSE) {
                eprint!("\r\x1b[K{}", clean_line(&news.line()));
                // A line of progress that cannot be written is no loss.
                drop(std::io::stderr().flush());
            }
            return;
        }
        let text = news.line();
        if text.is_empty() {
            return;
        }
        self.clear();
        drop(print_text(&format!("{}\n", clean(text.trim_end()))));
    }

    /// Takes away the line that comes and goes.
    pub(super) fn end(&mut self) {
        self.clear();
    }

    fn clear(&self) {
        if self.terminal && !self.json && self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }

    fn is_time(&mut self, pause: Duration) -> bool {
        let due = self.shown.is_none_or(|at| at.elapsed() >= pause);
        if due {
            self.shown = Some(Instant::now());
        }
        due
    }
}
