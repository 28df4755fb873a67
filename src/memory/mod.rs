//! The agent's memory: a real directory that people can open, and the operations a model has on it.
//!
//! Owns confinement to the directory, quotas, the mirror of all files with their digests, and the
//! one table of operations ([`ops`]). Must not know who asks, why, or in which phase.
//!
//! To add an operation, add its file under `ops/` and its line in the table there.

mod describe;
mod dir;
mod disk;
mod error;
mod limits;
mod ops;
mod path;
#[cfg(test)]
mod tests;
mod watch;

use crate::protocol::OpSyntax;
use crate::types::{MemoryChange, OpOutcome, OpStatus};

pub use dir::MemoryDir;
pub(crate) use disk::MARKER;
pub use error::MemoryError;
pub use limits::Quotas;
pub use ops::{find_op, ops};
pub use path::confine;
pub use watch::{Watch, look};

/// What an operation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpResult {
    /// How it went and what the model is told.
    pub outcome: OpOutcome,
    /// What it changed, in order; empty for reads and refusals.
    pub changes: Vec<MemoryChange>,
}

impl OpResult {
    /// A result that changed nothing.
    pub fn told(status: OpStatus, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            outcome: OpOutcome { status, text, cut: 0 },
            changes: Vec::new(),
        }
    }
}

/// Why an operation stops early.
#[derive(Debug)]
pub enum Halt {
    /// It cannot do what was asked; the model is told.
    Told(OpResult),
    /// Memory as such cannot go on.
    Fault(MemoryError),
}

impl Halt {
    fn told(status: OpStatus, text: impl Into<String>) -> Self {
        Self::Told(OpResult::told(status, text))
    }
}

/// One memory operation: a line of the table that drives parsing, the help in the prompt, and
/// running it.
#[derive(Debug, Clone, Copy)]
pub struct OpSpec {
    /// How it is written.
    pub syntax: OpSyntax,
    /// It shows what files hold.
    pub reads: bool,
    /// It may change files.
    pub writes: bool,
    /// One line for the prompt: what it does.
    pub help: &'static str,
    /// Runs it. Arguments are as the model wrote them: anything may come.
    pub run: fn(&mut MemoryDir, &[String]) -> Result<OpResult, Halt>,
}

impl OpSpec {
    /// The line a prompt shows: how it is written and what it does.
    pub fn prompt_line(&self) -> String {
        format!("{}  {}", self.syntax.usage(), self.help)
    }
}
