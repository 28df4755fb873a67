//! The agent: LOG and PLAN, step after step, and everything around them.
//!
//! Owns the loop (AutoMem, section 4 of the design): the pure [`phases`], the driver that gives
//! them a world, a memory directory, a model and a record, the [`Controls`] a person holds, and
//! starting, resuming and verifying runs. Must not know about screens.

mod calls;
mod controls;
mod episode;
mod error;
mod handoff;
mod hooks;
mod merge;
mod models;
pub mod phases;
pub mod players;
mod prompts;
mod recorder;
mod rehearse;
mod replay;
mod resume;
mod run;
mod shared;
mod turns;
mod verify;
mod worker;

pub use controls::{ControlState, Controls};
pub use error::AgentError;
pub use merge::{MERGED_FROM, Merged, MergedEpisode, merge};
pub use models::{Models, NO_SPECIALIST, open_model, open_models, open_specialist, spec_of, wanted};
pub use rehearse::{REHEARSAL_STEPS, rehearse, rehearse_in};
pub use resume::{open_recorded_specialist, resume};
pub use run::{OpenWorld, RunHandle, RunPlan, RunReport, memory_folder, start, start_in};
pub use verify::{Difference, VerifyProgress, VerifyReport, verify, verify_in};
