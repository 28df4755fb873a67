//! Proposals and decisions: nothing is applied without one, every one can be undone.
//!
//! Owns what waits for a person, what was decided on which bytes, and the log of it in the workspace's
//! database, which only grows. Shared by both loops. Must not write revisions, play gates or know screens.

mod decision;
mod gate;
mod part;
mod proposal;

pub use decision::{Entry, Reason, Seq, Verdict, What};
pub use gate::{GateReport, Outcome, Pair, Score};
pub use part::{Part, PartId, PartKind, Taken, assemble, parts_of};
pub use proposal::{Content, Draft, Evidence, Origin, Proposal, ProposalId, RevisionContent};
