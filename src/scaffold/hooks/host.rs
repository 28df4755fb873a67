//! The parent's end: starts the child, asks it, kills it when it does not answer.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use serde_json::{Map, Value};

use super::HOOKS;
use super::child::CHILD_ARGUMENT;
use super::limits::Limits;
use super::wire::{Begin, FileChange, HookEffect, Migrated, Reply, Request, StatePatch};
use crate::jobs::program::program;
use crate::types::{MemoryChange, MemoryFiles};

/// Why a call of a script came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The script failed; it can be called again.
    #[error("{0}")]
    Script(String),
    /// It did not answer in time and was killed.
    #[error("no answer within {ms} ms, the script was killed; make it do less, or raise hooks.wall_ms")]
    Timeout {
        /// The limit.
        ms: u64,
    },
    /// The child process is gone.
    #[error("the script's process ended ({0}): it met a limit of memory or processor time, or was killed")]
    Gone(String),
    /// What came back was none of ours.
    #[error("the script's process answered something that cannot be read: {0}")]
    Garbled(String),
    /// The child process could not be started.
    #[error("the script's process could not be started: {0}")]
    Start(io::Error),
}

/// The script of one episode. Dropping it ends its process.
#[derive(Debug)]
pub struct Hooks {
    source: String,
    limits: Limits,
    running: Option<Running>,
    /// The script's state as of its last good call.
    state: Map<String, Value>,
    /// What changed in it since [`Hooks::take_patch`].
    patch: StatePatch,
    /// Memory as the next child must know it.
    files: BTreeMap<String, String>,
    /// What the running child has not been told of.
    untold: Vec<FileChange>,
    /// Keys that hold for the whole step.
    kept: Map<String, Value>,
    /// Of those, what the running child has not been told.
    news: Map<String, Value>,
    fresh: bool,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    replies: Receiver<io::Result<Vec<u8>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has no state of its own worth a farewell, and it may be in an endless loop.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Hooks {
    /// A script with its state and the files it may read. The process starts with the first call.
    pub fn new(source: &str, limits: Limits, state: Map<String, Value>, files: &MemoryFiles) -> Self {
        Self {
            source: source.to_owned(),
            limits,
            running: None,
            state,
            patch: StatePatch::default(),
            files: files
                .iter()
                .map(|(path, text)| (path.clone(), text.to_string()))
                .collect(),
            untold: Vec::new(),
            kept: Map::new(),
            news: Map::new(),
            fresh: false,
        }
    }

    /// Starts the process and has the script loaded, if that is not done yet.
    ///
    /// # Errors
    /// When the script does not load.
    pub fn start(&mut self) -> Result<(), HookError> {
        if self.running.is_some() {
            return Ok(());
        }
        let mut running = Running::spawn(self.limits.reply_bytes).map_err(HookError::Start)?;
        let begin = Begin {
            source: self.source.clone(),
            limits: self.limits,
            state: self.state.clone(),
            files: self.files.clone(),
            migrate: false,
        };
        match running.ask(&begin, self.limits)? {
            Reply::Done(_) => {}
            Reply::Failed(told) => return Err(HookError::Script(told)),
            Reply::Migrated(_) => return Err(unasked()),
        }
        self.untold.clear();
        self.fresh = true;
        self.news = self.kept.clone();
        self.running = Some(running);
        Ok(())
    }

    /// Follows a change of memory.
    pub fn memory_changed(&mut self, change: &MemoryChange) {
        FileChange::from(change).apply(&mut self.files);
        if self.running.is_some() {
            self.untold.push(change.into());
        }
    }

    /// Begins a step: `keys` are part of every event until the next one.
    pub fn begin_step(&mut self, keys: Map<String, Value>) {
        self.fresh = true;
        self.news = keys.clone();
        self.kept = keys;
    }

    /// Tells the script that something happened, and gives what it wants done. After an error the
    /// script may be called again; a process that is gone is started anew with the last good state.
    ///
    /// # Errors
    /// Whatever went wrong; the script's state is then what it was.
    pub fn call(&mut self, kind: &str, mut event: Map<String, Value>) -> Result<Vec<HookEffect>, HookError> {
        self.start()?;
        event.insert("kind".to_owned(), kind.into());
        let request = Request {
            files: std::mem::take(&mut self.untold),
            event,
            fresh: std::mem::take(&mut self.fresh),
            keep: std::mem::take(&mut self.news),
        };
        let Some(running) = &mut self.running else {
            return Err(HookError::Gone("it is not there".to_owned()));
        };
        match running.ask(&request, self.limits) {
            Ok(Reply::Done(done)) => {
                done.patch.apply(&mut self.state);
                for key in &done.patch.unset {
                    self.patch.set.remove(key);
                    if !self.patch.unset.contains(key) {
                        self.patch.unset.push(key.clone());
                    }
                }
                self.patch.unset.retain(|key| !done.patch.set.contains_key(key));
                self.patch.set.extend(done.patch.set);
                Ok(done.effects)
            }
            Ok(Reply::Failed(told)) => Err(HookError::Script(told)),
            Ok(Reply::Migrated(_)) => Err(unasked()),
            Err(error) => {
                self.running = None;
                Err(error)
            }
        }
    }

    /// What changed in the script's state since the last time, for the record.
    pub fn take_patch(&mut self) -> Option<StatePatch> {
        let patch = std::mem::take(&mut self.patch);
        (!patch.is_empty()).then_some(patch)
    }

    /// The script's state.
    pub fn state(&self) -> &Map<String, Value> {
        &self.state
    }

    /// The child's process id, while there is one.
    pub fn process(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }
}

fn unasked() -> HookError {
    HookError::Garbled("what nobody asked for".to_owned())
}

/// Has a script bring memory files into the form of its version, in a process of its own that ends with it.
///
/// # Errors
/// Whatever went wrong.
pub fn migrate(source: &str, limits: Limits, files: &BTreeMap<String, String>) -> Result<Migrated, HookError> {
    let mut running = Running::spawn(limits.reply_bytes).map_err(HookError::Start)?;
    let begin = Begin {
        source: source.to_owned(),
        limits,
        state: Map::new(),
        files: files.clone(),
        migrate: true,
    };
    match running.ask(&begin, limits)? {
        Reply::Migrated(migrated) => Ok(migrated),
        Reply::Failed(told) => Err(HookError::Script(told)),
        Reply::Done(_) => Err(unasked()),
    }
}

/// Line, column and the rest of an error of a script; zeros where it names no place.
pub fn place_in_script(message: &str) -> (u32, u32, &str) {
    let found = message.strip_prefix(HOOKS).and_then(|rest| {
        let (line, rest) = rest.strip_prefix(':')?.split_once(':')?;
        let (column, rest) = rest.split_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?, rest.trim_start()))
    });
    found.unwrap_or((0, 0, message))
}

impl Running {
    fn spawn(reply_bytes: u64) -> io::Result<Self> {
        let mut child = Command::new(program()?)
            .arg(CHILD_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env_clear()
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (sender, replies) = bounded(1);
        std::thread::Builder::new().name("hooks".into()).spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                // A line end more than a reply may have: what is longer is none.
                let read = output.by_ref().take(reply_bytes + 1).read_until(b'\n', &mut line);
                let end = !matches!(read, Ok(n) if n > 0);
                if sender.send(read.map(|_| line)).is_err() || end {
                    return;
                }
            }
        })?;
        Ok(Self { child, input, replies })
    }

    fn ask(&mut self, message: &impl serde::Serialize, limits: Limits) -> Result<Reply, HookError> {
        let mut bytes = serde_json::to_vec(message).map_err(|error| HookError::Garbled(error.to_string()))?;
        bytes.push(b'\n');
        let deadline = Instant::now() + limits.wall();
        if self.input.write_all(&bytes).and_then(|()| self.input.flush()).is_err() {
            return Err(self.gone());
        }
        match self.replies.recv_deadline(deadline) {
            Ok(Ok(line)) if line.ends_with(b"\n") => {
                serde_json::from_slice(&line).map_err(|error| HookError::Garbled(error.to_string()))
            }
            Ok(Ok(line)) if line.len() as u64 > limits.reply_bytes => {
                Err(HookError::Garbled(format!("more than {} bytes", limits.reply_bytes)))
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
            Err(RecvTimeoutError::Timeout) => Err(HookError::Timeout { ms: limits.wall_ms }),
        }
    }

    /// How the child ended.
    fn gone(&mut self) -> HookError {
        HookError::Gone(match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        })
    }
}
