//! Why something of a review does not go.

use std::path::PathBuf;

use super::decision::Seq;
use super::part::PartId;
use super::proposal::ProposalId;
use crate::scaffold::{ScaffoldError, VersionError};
use crate::store::StoreError;
use crate::types::Digest;

/// Why something of a review does not go. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The workspace's database does not do what it should.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be read.
    #[error("{path}: {what} cannot be read: {why}")]
    Record {
        /// The database.
        path: PathBuf,
        /// Which record.
        what: String,
        /// Why, and what to do.
        why: String,
    },
    /// It cannot be proposed.
    #[error("this cannot be proposed: {0}")]
    Unfit(String),
    /// There is no such proposal.
    #[error("there is no proposal `{id}`; {there}")]
    NoProposal {
        /// What was asked for.
        id: ProposalId,
        /// What there is.
        there: String,
    },
    /// Somebody else was faster.
    #[error(
        "{by} wrote to {id} in the meantime ({what}); look at it again (`automem proposals show {id}`), then decide"
    )]
    Meanwhile {
        /// The proposal.
        id: ProposalId,
        /// Who.
        by: String,
        /// What.
        what: String,
        /// Where the log is now.
        now: Seq,
    },
    /// The proposal's state does not allow it.
    #[error("{id} is {state}: {why}")]
    NotNow {
        /// The proposal.
        id: ProposalId,
        /// Its state in words.
        state: String,
        /// Why it does not go, and what does.
        why: String,
    },
    /// It is a proposal of another kind.
    #[error("{id} is a {is}, not a {wanted}; `automem proposals list` shows what is what")]
    OtherKind {
        /// The proposal.
        id: ProposalId,
        /// What it is.
        is: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// There is no such part.
    #[error("{id} has no part `{part}`; {hint}")]
    NoPart {
        /// The proposal.
        id: ProposalId,
        /// What was asked for.
        part: PartId,
        /// What there is.
        hint: String,
    },
    /// What was shown is not what there is.
    #[error("the decision is about {given}, but {part} is {is} now; `automem proposals show {id}` shows it as it is")]
    OtherBytes {
        /// The proposal.
        id: ProposalId,
        /// The part.
        part: PartId,
        /// Digest that was decided on.
        given: Digest,
        /// Digest there is.
        is: Digest,
    },
    /// The head cannot be exchanged.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A scaffold cannot be read.
    #[error(transparent)]
    Scaffold(#[from] ScaffoldError),
    /// The result could not be tried.
    #[error(transparent)]
    Agent(#[from] crate::agent::AgentError),
}
