//! Background work as such: how it is cancelled and how it tells of its progress.
//!
//! Owns the cancel flag, the stages of bringing something here, running other programs (pip among them), where this one
//! lies, HTTP as such, checksums, and what memory there is for the work. Must not know what the work is about.

pub mod checksum;
pub mod http;
pub mod memory;
pub mod pip;
pub mod process;
pub mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is being done with something that is brought here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It comes over the network.
    Fetching,
    /// A checksum is taken, or what it holds is read.
    Checking,
    /// What is needed is taken out of it.
    Unpacking,
    /// A file is copied.
    Copying,
}

impl Stage {
    /// A word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fetching => "fetching",
            Self::Checking => "checking",
            Self::Unpacking => "unpacking",
            Self::Copying => "copying",
        }
    }
}

/// A flag that long work looks at between its chunks. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop at its next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// The bare flag, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
