//! The pipes to a worker: one request out, one line back, in time and within bounds.
//!
//! Owns the child process, the thread that reads its errors, and what is said when it does not keep to
//! the protocol. Must not know what an episode is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::checked::quoted;
use super::lines::{Line, Lines, NoLine, lines};
use super::messages::{Reply, Request};
use crate::jobs::process;
use crate::protocol::sanitize::clean;

/// Bytes of a worker's errors that are kept: the last ones.
const LAST_WORDS: usize = 8 << 10;
/// Time for a worker to end after its output did, and for its last words to arrive.
const DYING: Duration = Duration::from_millis(500);
/// Time for a worker to end after it was told to close.
const CLOSING: Duration = Duration::from_millis(300);
/// How often an ending process is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// How long a worker may take, and how much it may say at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its greeting.
    pub hello: Duration,
    /// For a new episode.
    pub reset: Duration,
    /// For an action.
    pub step: Duration,
    /// To end after it was told to, where it is checked; a world that is dropped waits less and ends it.
    pub close: Duration,
    /// Bytes of a line.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(20),
            reset: Duration::from_secs(60),
            step: Duration::from_secs(30),
            close: Duration::from_secs(2),
            line_bytes: 4 << 20,
        }
    }
}

/// How a worker broke the protocol; it is of no use afterwards.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("`{command}` could not be started: {error}; is it installed, and can this user run it?")]
    Start { command: String, error: io::Error },
    #[error("it did not answer within {} ms and was ended; is it stuck, or slower than the limit?{words}", .limit.as_millis())]
    Silent { limit: Duration, words: Words },
    #[error("it ended without an answer ({how}); a reset starts it anew{words}")]
    Ended { how: String, words: Words },
    #[error(
        "it said something that nobody asked for: `{line}`; a worker writes one line a request, and everything else to stderr{words}"
    )]
    Unasked { line: String, words: Words },
    #[error("its answer cannot be read: {problem}; it said: `{line}`{words}")]
    Unreadable {
        problem: String,
        line: String,
        words: Words,
    },
    #[error("it wrote a line of more than {limit} bytes: `{line}`{words}")]
    TooLong { limit: usize, line: String, words: Words },
}

/// The end of what a worker wrote to stderr, for an error's message.
#[derive(Debug)]
pub(super) struct Words(String);

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.trim() {
            "" => Ok(()),
            said => write!(f, "\nIts last words:\n{said}"),
        }
    }
}

/// Pipes to a worker, and the process where it is one. Dropping it ends the process.
pub(super) struct Connection {
    /// `None` once closed.
    input: Option<Box<dyn Write + Send>>,
    lines: Box<dyn Lines>,
    errors: Option<Errors>,
    child: Option<Child>,
    line_bytes: usize,
}

struct Errors {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when there is no more.
    end: Receiver<()>,
}

impl Connection {
    /// Starts a worker as a process group of its own.
    pub(super) fn start(command: &[OsString], line_bytes: usize) -> Result<Self, Fault> {
        let fault = |error| Fault::Start {
            command: shown(command),
            error,
        };
        let Some((program, args)) = command.split_first() else {
            return Err(fault(io::Error::new(
                io::ErrorKind::InvalidInput,
                "there is no command",
            )));
        };
        let mut start = Command::new(program);
        start.args(args);
        // A world has no use for the keys of models.
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            if shown.ends_with("_API_KEY") || shown == "HF_TOKEN" {
                start.env_remove(&name);
            }
        }
        let mut child = process::start(start).map_err(fault)?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            process::end(&mut child, Duration::ZERO);
            return Err(fault(io::Error::other("it has no pipes")));
        };
        let lines = match lines(output, line_bytes) {
            Ok(lines) => lines,
            Err(error) => {
                process::end(&mut child, Duration::ZERO);
                return Err(fault(error));
            }
        };
        // From here on, dropping it ends the child.
        let mut this = Self {
            input: Some(Box::new(input)),
            lines,
            errors: None,
            child: Some(child),
            line_bytes,
        };
        this.errors = Some(keep_last_words(errors).map_err(fault)?);
        Ok(this)
    }

    /// Pipes to a worker that is no process.
    #[cfg(test)]
    pub(super) fn over(
        input: impl Write + Send + 'static,
        output: std::io::PipeReader,
        line_bytes: usize,
    ) -> Result<Self, Fault> {
        let lines = lines(output, line_bytes).map_err(|error| Fault::Start {
            command: "a thread".to_owned(),
            error,
        })?;
        Ok(Self {
            input: Some(Box::new(input)),
            lines,
            errors: None,
            child: None,
            line_bytes,
        })
    }

    /// One request, one reply.
    pub(super) fn ask(&mut self, request: &Request, limit: Duration) -> Result<Reply, Fault> {
        let line = serde_json::to_vec(request).map_err(|error| Fault::Unreadable {
            problem: error.to_string(),
            line: String::new(),
            words: Words(String::new()),
        })?;
        let line = self.ask_line(line, limit)?;
        Reply::read(&line).map_err(|problem| self.unreadable(problem, &line))
    }

    /// The same with any line, whose end is added.
    pub(super) fn ask_line(&mut self, mut line: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault> {
        self.nothing_unasked()?;
        line.push(b'\n');
        let deadline = Instant::now() + limit;
        let Some(input) = &mut self.input else {
            return Err(self.ended());
        };
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            return Err(self.ended());
        }
        match self.lines.next(deadline) {
            Ok(line) => self.whole(line),
            Err(NoLine::Closed) => Err(self.ended()),
            Err(NoLine::Late) => Err(Fault::Silent {
                limit,
                words: self.last_words(),
            }),
        }
    }

    /// Refuses what came without a request.
    pub(super) fn nothing_unasked(&mut self) -> Result<(), Fault> {
        match self.lines.next(Instant::now()) {
            Err(NoLine::Late) => Ok(()),
            Err(NoLine::Closed) => Err(self.ended()),
            Ok(line) => {
                let line = self.whole(line)?;
                Err(Fault::Unasked {
                    line: quoted(&line),
                    words: self.last_words(),
                })
            }
        }
    }

    pub(super) fn unreadable(&mut self, problem: String, line: &[u8]) -> Fault {
        Fault::Unreadable {
            problem: clean(&problem).into_owned(),
            line: quoted(line),
            words: self.last_words(),
        }
    }

    fn whole(&mut self, line: Line) -> Result<Vec<u8>, Fault> {
        match line {
            Line::Whole(line) => Ok(line),
            Line::TooLong(line) => Err(Fault::TooLong {
                limit: self.line_bytes,
                line: quoted(&line),
                words: self.last_words(),
            }),
        }
    }

    /// How it ended; where it did not, it is made to.
    fn ended(&mut self) -> Fault {
        self.input = None;
        let how = match &mut self.child {
            None => "its output is closed".to_owned(),
            Some(child) => match wait_for(child, DYING) {
                Some(status) => status.to_string(),
                None => "it closed its output and was ended".to_owned(),
            },
        };
        Fault::Ended {
            how,
            words: self.last_words(),
        }
    }

    /// Ends the process with all it started; says what it wrote to stderr at last.
    fn last_words(&mut self) -> Words {
        self.input = None;
        if let Some(mut child) = self.child.take() {
            process::end(&mut child, Duration::ZERO);
        }
        let Some(errors) = self.errors.take() else {
            return Words(String::new());
        };
        // Nothing is ever sent: it returns when the pipe is closed.
        let _ = errors.end.recv_timeout(DYING);
        let mut kept = errors.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(kept.make_contiguous());
        Words(clean(&said.replace("\r\n", "\n")).into_owned())
    }

    /// The child's process id.
    #[cfg(test)]
    pub(super) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Tells it to close and waits; whether it ended by itself within the time.
    pub(super) fn close(&mut self, limit: Duration) -> bool {
        if let Some(input) = &mut self.input {
            let line = serde_json::to_vec(&Request::Close).unwrap_or_default();
            let _ = input
                .write_all(&line)
                .and_then(|()| input.write_all(b"\n"))
                .and_then(|()| input.flush());
        }
        self.hang_up(limit)
    }

    /// Closes its input and waits; whether it ended by itself within the time.
    pub(super) fn hang_up(&mut self, limit: Duration) -> bool {
        self.input = None;
        let until = Instant::now() + limit;
        // Its output ends with it; what it still says is of no interest.
        let closed = loop {
            match self.lines.next(until) {
                Ok(_) if Instant::now() < until => {}
                Ok(_) => break false,
                Err(error) => break error == NoLine::Closed,
            }
        };
        match &mut self.child {
            None => closed,
            Some(child) => {
                let status = wait_for(child, until.saturating_duration_since(Instant::now()).max(LOOK * 5));
                status.is_some()
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.child.is_some() && self.input.is_some() {
            self.close(CLOSING);
        }
        if let Some(child) = &mut self.child {
            process::end(child, Duration::ZERO);
        }
    }
}

/// A command for people.
pub(super) fn shown(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    quoted(words.join(" ").as_bytes())
}

fn wait_for(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
            _ => return None,
        }
    }
}

fn keep_last_words(mut from: impl Read + Send + 'static) -> io::Result<Errors> {
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    let (open, end) = bounded(0);
    let keep = Arc::clone(&kept);
    std::thread::Builder::new()
        .name("worker-errors".into())
        .spawn(move || {
            let _open: Sender<()> = open;
            let mut buffer = [0; 4096];
            while let Ok(count) = from.read(&mut buffer) {
                if count == 0 {
                    return;
                }
                let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..count]);
                let over = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..over);
            }
        })?;
    Ok(Errors { kept, end })
}
