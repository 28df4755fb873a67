//! Proposals and decisions: nothing is applied without one, every one can be undone.
//!
//! Owns what waits for a person, what was decided on which bytes, and the log of it in the workspace's
//! database, which only grows. Shared by both loops. Must not write revisions, play gates or know screens.

mod allows;
mod check;
mod decision;
mod desk;
mod error;
mod exchange;
mod gate;
mod items;
mod part;
mod person;
mod policy;
mod promote;
mod proposal;
mod selection;
#[cfg(test)]
mod selection_tests;
mod stamp;
mod standing;
#[cfg(test)]
mod tests;

pub use check::check_result;
pub use decision::{Entry, Reason, Seq, Verdict, What};
pub use desk::{Desk, Dossier};
pub use error::ReviewError;
pub use exchange::{read_draft, sample, write_draft};
pub use gate::{GateReport, Outcome, Pair, Score};
pub use items::Judgement;
pub use part::{Part, PartId, PartKind, Taken, assemble, parts_of};
pub use person::person;
pub use policy::Policy;
pub use proposal::{Content, Draft, Evidence, Origin, Proposal, ProposalId, RevisionContent};
pub use selection::{Facts, Item, Places, SelectedRun, SelectionContent, items_digest};
pub use standing::{Comment, Extent, ItemVerdict, Items, PartDecision, PartStanding, Standing, State};
