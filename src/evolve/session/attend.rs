//! What a proposal needs next, by where it stands. Pure.

use super::state::Ending;
use crate::review::{Extent, Standing, State};

/// What is done next for a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Wait for a person.
    Wait,
    /// The policy decides.
    Decide,
    /// Check what the decisions gave.
    Check,
    /// Play the gate, or go on with it.
    Gate,
    /// The gate is over and says it is better.
    Promote,
    /// It is clear what becomes of it.
    Settle(Ending),
}

/// The step for a proposal that stands so.
pub fn step_for(standing: &Standing, has_policy: bool) -> Step {
    match standing.state {
        State::Pending if has_policy => Step::Decide,
        // What is being applied is settled by whoever does that, or by the next who opens the desk.
        State::Pending | State::Applying => Step::Wait,
        State::Decided | State::Checked if standing.extent == Some(Extent::None) => Step::Settle(Ending::Refused),
        State::Decided => Step::Check,
        State::Checked | State::Gating => Step::Gate,
        State::CheckFailed => Step::Settle(Ending::CheckFailed),
        State::Gated if standing.is_better() => Step::Promote,
        State::Gated => Step::Settle(Ending::NotBetter),
        State::Promoted => Step::Settle(Ending::Promoted),
        State::Discarded | State::Superseded => Step::Settle(Ending::Refused),
        State::Stale => Step::Settle(Ending::Stale),
    }
}
