//! Deciding in a person's place, as that person said beforehand.

use serde::{Deserialize, Serialize};

use super::decision::{Reason, Verdict, What};
use super::desk::{Desk, Dossier};
use super::error::ReviewError;
use super::items::Judgement;
use super::selection::Places;

/// Who decides in a person's place. It is recorded with each decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Every part, and every item its author selected, is accepted.
    Accept,
    /// Everything is rejected.
    Reject,
}

impl Policy {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
        }
    }
}

impl Desk {
    /// Decides on all that waits in a proposal and commits. A selection of which nothing is accepted is discarded.
    ///
    /// # Errors
    /// As [`Desk::append`].
    pub fn decide_by(&mut self, policy: Policy, dossier: &Dossier, by: &str) -> Result<(), ReviewError> {
        let id = &dossier.proposal.id;
        let seen = dossier.standing.seq;
        if dossier.standing.items.is_some() {
            return self.decide_items(policy, dossier, by);
        }
        let waiting = dossier.standing.parts.iter().filter(|slot| slot.decision.is_none());
        let decided = waiting.map(|slot| What::Decided {
            part: slot.part.id.clone(),
            digest: slot.part.digest,
            verdict: match policy {
                Policy::Accept => Verdict::Accept,
                Policy::Reject => Verdict::Reject { reason: Reason::Other },
            },
            comment: String::new(),
            policy: Some(policy.word().to_owned()),
        });
        let written = self.append_all(id, seen, by, decided.collect())?;
        let seen = written.last().map_or(seen, |entry| entry.seq);
        self.commit(id, seen, by)?;
        Ok(())
    }

    fn decide_items(&mut self, policy: Policy, dossier: &Dossier, by: &str) -> Result<(), ReviewError> {
        let id = &dossier.proposal.id;
        let mut seen = dossier.standing.seq;
        let items = self.items(dossier)?;
        let waits = |at: usize| {
            let all = dossier.standing.items.as_ref();
            all.is_none_or(|all| all.verdicts.get(at).is_none_or(Option::is_none))
        };
        let places: Places = (0_u32..)
            .zip(&items)
            .filter(|(at, item)| item.selected && waits(*at as usize))
            .map(|(at, _)| at)
            .collect();
        if !places.is_empty() {
            let judgement = Judgement {
                items: places,
                reject: (policy == Policy::Reject).then_some(Reason::Other),
                comment: String::new(),
                filter: "selected".to_owned(),
                policy: Some(policy.word().to_owned()),
            };
            seen = self.judge(id, seen, by, &items, judgement)?.seq;
        }
        let accepted = self.dossier(id)?.standing.items.map_or(0, |all| all.accepted);
        if accepted == 0 {
            let why = format!("nothing of it was accepted (policy {})", policy.word());
            self.append(id, seen, by, What::Discarded { why })?;
            return Ok(());
        }
        self.commit(id, seen, by)?;
        Ok(())
    }
}
