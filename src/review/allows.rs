//! Which entries may follow where a proposal stands.
//!
//! Pure: no files, no clock.

use super::decision::{Entry, Seq, Verdict, What};
use super::error::ReviewError;
use super::part::{Part, PartId, PartKind};
use super::proposal::Proposal;
use super::standing::{Extent, Standing, State};
use crate::scaffold::digest_of;

const CLOSED: &str = "it is closed";

impl Standing {
    /// Whether an entry may follow.
    ///
    /// # Errors
    /// Why not, and what goes instead.
    pub fn allows(&self, what: &What, proposal: &Proposal, entries: &[Entry]) -> Result<(), ReviewError> {
        let not_now = |why: &str| {
            Err(ReviewError::NotNow {
                id: self.id.clone(),
                state: self.state.word().to_owned(),
                why: why.to_owned(),
            })
        };
        let only = |states: &[State], why: &str| {
            if states.contains(&self.state) {
                Ok(())
            } else {
                not_now(why)
            }
        };
        let reopen = "its decisions are committed; take the commitment back first (`u`, or `automem proposals undo`)";
        match what {
            What::Proposed => not_now("it was made already"),
            What::Commented { .. } => Ok(()),
            What::Decided {
                part, digest, verdict, ..
            } => {
                let found = self.part(part)?;
                if found.digest != *digest {
                    return Err(ReviewError::OtherBytes {
                        id: self.id.clone(),
                        part: part.clone(),
                        given: *digest,
                        is: found.digest,
                    });
                }
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                match verdict {
                    Verdict::Edit { .. } if found.kind == PartKind::RemovedFile => {
                        not_now("a part that removes a file is accepted or rejected, it has no text to edit")
                    }
                    _ => Ok(()),
                }
            }
            What::Judged { items, verdict, .. } => {
                let Some(all) = &self.items else {
                    return not_now("it has parts, no items");
                };
                if items.is_empty() || !items.fit(all.count) {
                    return not_now(&format!("it has {} items, not {items}", all.count));
                }
                if matches!(verdict, Verdict::Edit { .. }) {
                    return not_now("what is trained on is what was recorded: an item is accepted or rejected");
                }
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })
            }
            What::Certified { result, .. } => {
                if self.result != Some(*result) {
                    return not_now("other items were accepted than those that were certified");
                }
                only(
                    &[State::Decided, State::Certified],
                    "only committed decisions are certified",
                )
            }
            What::Used { .. } => match self.kind {
                "recipe" => only(
                    &[State::Checked, State::Used],
                    "only a recipe that was decided on and checked is used",
                ),
                _ => only(&[State::Certified, State::Used], "only a certified set is used"),
            },
            What::Split { part } => {
                let found = self.part(part)?;
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                if found.splits() {
                    Ok(())
                } else {
                    not_now("the part is a single line or a whole file and cannot be split; `e` edits it")
                }
            }
            What::Undone { seq } => self.allows_undo(*seq, entries),
            What::Committed { result } => {
                only(&[State::Pending], if self.state.is_open() { reopen } else { CLOSED })?;
                if self.waiting() > 0 {
                    return not_now(&format!("{} parts wait for a decision", self.waiting()));
                }
                // What a selection's commitment gives is held against its items by the desk.
                let Some(revision) = proposal.draft.content.files() else {
                    return match self.items.as_ref().is_some_and(|items| items.accepted > 0) {
                        true => Ok(()),
                        false => not_now("no item is accepted; accept some, or discard it"),
                    };
                };
                if digest_of(&self.files(revision)) != *result {
                    return not_now("the files were put together from other decisions; look at it again");
                }
                Ok(())
            }
            What::Checked { .. } => only(
                &[State::Decided, State::CheckFailed, State::Checked],
                "only committed decisions are checked",
            ),
            What::GateStarted { .. } | What::Applying { .. } if self.kind != "revision" => {
                not_now("only a scaffold revision is gated and promoted")
            }
            What::GateStarted { .. } => {
                if self.extent == Some(Extent::None) {
                    return not_now("nothing of it was accepted: there is nothing to evaluate");
                }
                only(
                    &[State::Checked, State::Gated],
                    "a gate needs a result that passed its check",
                )
            }
            What::Gated { .. } => only(&[State::Gating, State::Used], "no gate is under way"),
            What::GateStopped { .. } => only(&[State::Gating], "no gate is under way"),
            What::Applying { .. } => only(
                &[State::Checked, State::Gated],
                "only a result that passed its check can be applied",
            ),
            What::Promoted { .. } | What::ApplyFailed { .. } => only(&[State::Applying], "it is not being applied"),
            What::Demoting { .. } => only(&[State::Promoted], "it is not promoted"),
            What::Demoted { .. } => only(&[State::Applying], "its promotion is not being taken back"),
            What::Discarded { .. } | What::Superseded { .. } => match self.state {
                State::Gating => not_now("its gate is under way; stop that first"),
                State::Promoted => not_now("it is promoted; undo that first"),
                State::Applying => not_now("it is being applied"),
                State::Discarded | State::Superseded => not_now(CLOSED),
                _ => Ok(()),
            },
        }
    }

    fn part(&self, id: &PartId) -> Result<&Part, ReviewError> {
        let found = self.parts.iter().map(|slot| &slot.part).find(|part| part.id == *id);
        found.ok_or_else(|| ReviewError::NoPart {
            id: self.id.clone(),
            part: id.clone(),
            hint: match self.parts.len() {
                0 => "it changes nothing".to_owned(),
                n => format!(
                    "it has {n}: {}{}",
                    self.parts[..n.min(8)]
                        .iter()
                        .map(|slot| slot.part.id.to_string())
                        .collect::<Vec<_>>()
                        .join(", "),
                    if n > 8 { ", ..." } else { "" }
                ),
            },
        })
    }

    fn allows_undo(&self, seq: Seq, entries: &[Entry]) -> Result<(), ReviewError> {
        let refuse = |why: String| {
            Err(ReviewError::NotNow {
                id: self.id.clone(),
                state: self.state.word().to_owned(),
                why,
            })
        };
        let Some(entry) = entries.iter().find(|entry| entry.seq == seq) else {
            return refuse(format!("it has no entry {}", seq.0));
        };
        if entries.iter().any(|other| other.what == What::Undone { seq }) {
            return refuse(format!("entry {} was taken back already", seq.0));
        }
        match entry.what {
            What::Commented { .. } => Ok(()),
            What::Decided { .. } | What::Judged { .. } | What::Split { .. } if self.state == State::Pending => Ok(()),
            What::Decided { .. } | What::Judged { .. } | What::Split { .. } => {
                refuse("its decisions are committed; take the commitment back first".to_owned())
            }
            What::Committed { .. } => match self.state {
                State::Decided
                | State::Checked
                | State::CheckFailed
                | State::Gated
                | State::Certified
                | State::Stale => Ok(()),
                _ => refuse("that can be done before a gate or after it, and not once it is promoted".to_owned()),
            },
            What::Discarded { .. } | What::Superseded { .. } => Ok(()),
            _ => refuse("the entry tells what the program did; it cannot be taken back".to_owned()),
        }
    }

    /// The entry that undoing takes back next: the last one of a person that still holds.
    pub fn last_undoable(&self, entries: &[Entry]) -> Option<Seq> {
        entries
            .iter()
            .rev()
            .map(|entry| entry.seq)
            .find(|seq| self.allows_undo(*seq, entries).is_ok())
    }
}
