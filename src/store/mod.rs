//! The run file: one SQLite file that holds everything that happened in a run.
//!
//! Owns the format on disk: how events are written down ([`codec`]), packed and found again. The
//! event log is the truth; step table and memory stream are projections written in the same
//! transaction. Must not know how a run is played or shown.

mod block;
mod cache;
mod claim;
mod close;
pub mod codec;
mod error;
mod fold;
mod grid;
mod journal;
mod lock;
mod marks;
mod memory;
mod query;
mod reader;
mod scan;
mod schema;
mod search;
mod trash;
mod wire;
mod workspace;
mod writer;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use claim::Claim;
pub use error::StoreError;
pub use journal::{Journal, Listed};
pub use marks::{Marks, STUCK_AFTER, StepMark};
pub use memory::{FileState, MemoryState};
pub use reader::{EpisodeEvents, Reader};
pub use scan::{Kinds, Progress};
pub use search::{Hit, Place};
pub use trash::{Leftover, Trash};
pub(crate) use workspace::open_database;
pub use workspace::{ListedRun, Registry, RunContent};
pub use writer::Writer;
