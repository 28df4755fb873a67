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
        // The last two are states of what is no scaffold revision.
        State::Promoted | State::Certified | State::Used => Step::Settle(Ending::Promoted),
        State::Discarded | State::Superseded => Step::Settle(Ending::Refused),
        State::Stale => Step::Settle(Ending::Stale),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::llm::Usage;
    use crate::review::{Content, Draft, Outcome, Proposal, RevisionContent};
    use crate::types::Digest;

    fn standing(state: State, extent: Option<Extent>) -> Standing {
        let proposal = Proposal::new(
            "p1".into(),
            String::new(),
            Draft {
                author: String::new(),
                title: String::new(),
                rationale: String::new(),
                evidence: vec![],
                usage: Usage::default(),
                origin: None,
                content: Content::Revision(Box::new(RevisionContent {
                    line: "a".into(),
                    parent: "a".into(),
                    parent_digest: Digest::of("a"),
                    base: BTreeMap::new(),
                    files: BTreeMap::new(),
                })),
            },
        );
        let mut standing = Standing::of(&proposal, &[]);
        standing.state = state;
        standing.extent = extent;
        standing
    }

    #[test]
    fn nothing_is_played_or_applied_without_a_decision() {
        let step = |state, extent| step_for(&standing(state, extent), false);
        assert_eq!(step(State::Pending, None), Step::Wait);
        assert_eq!(step_for(&standing(State::Pending, None), true), Step::Decide);
        assert_eq!(step(State::Decided, Some(Extent::Part)), Step::Check);
        for state in [State::Decided, State::Checked] {
            assert_eq!(step(state, Some(Extent::None)), Step::Settle(Ending::Refused));
        }
        assert_eq!(step(State::Checked, Some(Extent::All)), Step::Gate);
        assert_eq!(step(State::Gating, Some(Extent::All)), Step::Gate);
        assert_eq!(step(State::Gated, Some(Extent::All)), Step::Settle(Ending::NotBetter));
        assert_eq!(step(State::Stale, None), Step::Settle(Ending::Stale));
        assert_eq!(step(State::Discarded, None), Step::Settle(Ending::Refused));
        // A person promoted it against the gate.
        assert_eq!(step(State::Promoted, Some(Extent::All)), Step::Settle(Ending::Promoted));
        let mut better = standing(State::Gated, Some(Extent::All));
        let mut report = crate::gate::report(vec![], String::new(), String::new(), false);
        report.outcome = Outcome::Better;
        better.gate = Some(Box::new(report));
        assert_eq!(step_for(&better, false), Step::Promote);
    }
}
