//! Sees a proposal through: decisions, check, gate, ledger, promotion.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::attend::{Step, step_for};
use super::driver::{HAND, Session};
use super::error::SessionError;
use super::news::News;
use super::outcome::outcome;
use super::state::{Ending, Event};
use crate::gate;
use crate::gate::ledger::{Head, Kind, Ledger, Row};
use crate::review::{Desk, Dossier, GateReport, Policy, ProposalId, ReviewError, State, What};
use crate::scaffold::{Scaffold, digest_of};

/// How long committed decisions lie unchecked before they count as left lying.
const LEFT: Duration = Duration::from_secs(10);
/// How often the desk is looked at while a person is waited for.
const POLL: Duration = Duration::from_secs(1);
/// How often the cancel flag is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(100);

impl Session {
    /// Sees a proposal through until it is clear what becomes of it.
    pub(super) fn attend(&mut self, id: &ProposalId, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let mut told = None;
        let mut left = Instant::now();
        let mut seq = None;
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let dossier = self.desk.dossier(id)?;
            if seq.replace(dossier.standing.seq) != Some(dossier.standing.seq) {
                left = Instant::now();
            }
            let policy = self.state.setup.policy;
            let done = match step_for(&dossier.standing, policy.is_some()) {
                Step::Wait => {
                    if told != Some(dossier.standing.seq) {
                        told = Some(dossier.standing.seq);
                        news(News::Waiting {
                            proposal: id.clone(),
                            parts: dossier.standing.waiting(),
                        });
                    }
                    self.sleep();
                    // A desk that is opened settles what a killed process left half applied.
                    if dossier.standing.state == State::Applying {
                        self.desk = Desk::open(&self.workspace)?;
                    }
                    Ok(())
                }
                Step::Decide => self.decide(&dossier, policy, news),
                // Whoever commits checks as well; only what is left lying is checked here.
                Step::Check if policy.is_none() && left.elapsed() < LEFT => {
                    self.sleep();
                    Ok(())
                }
                Step::Check => Ok(self.desk.check(id, HAND)?),
                Step::Gate => self.gate(&dossier, news),
                Step::Promote => self.promote(&dossier),
                Step::Settle(ending) => return self.settle(&dossier, ending, news),
            };
            match done {
                // Somebody wrote at the same time: it is looked at again.
                Err(SessionError::Review(ReviewError::Meanwhile { .. })) => {}
                other => other?,
            }
        }
    }

    fn sleep(&self) {
        let mut slept = Duration::ZERO;
        while slept < POLL && !self.cancel.is_cancelled() {
            std::thread::sleep(LOOK);
            slept += LOOK;
        }
    }

    fn decide(
        &mut self,
        dossier: &Dossier,
        policy: Option<Policy>,
        news: &mut dyn FnMut(News),
    ) -> Result<(), SessionError> {
        let Some(policy) = policy else { return Ok(()) };
        self.desk.decide_by(policy, dossier, HAND)?;
        let id = &dossier.proposal.id;
        news(News::Decided {
            proposal: id.clone(),
            policy,
        });
        Ok(())
    }

    fn gate(&mut self, dossier: &Dossier, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let id = &dossier.proposal.id;
        let files = dossier.standing.files(dossier.revision()?);
        let result = digest_of(&files);
        let scaffold = Scaffold::from_files(files)?;
        let out = self.runs(&format!("i{}-{id}-{}", self.state.iteration, result.short()));
        if dossier.standing.state != State::Gating {
            let what = What::GateStarted {
                result,
                run: out.display().to_string(),
            };
            self.desk.append(id, dossier.standing.seq, HAND, what)?;
        }
        let played = self.play(scaffold, out, news);
        let seen = self.desk.dossier(id)?.standing.seq;
        let what = match played {
            Ok(report) => {
                news(News::Gated {
                    proposal: id.clone(),
                    report: Box::new(report.clone()),
                });
                What::Gated {
                    report: Box::new(report),
                }
            }
            Err(error) => {
                let why = if error.is_cancelled() {
                    format!("interrupted; `automem optimize --resume {}` goes on", self.name)
                } else {
                    error.to_string()
                };
                self.desk.append(id, seen, HAND, What::GateStopped { why })?;
                return Err(error);
            }
        };
        self.desk.append(id, seen, HAND, what)?;
        Ok(())
    }

    fn play(
        &mut self,
        scaffold: Scaffold,
        out: PathBuf,
        news: &mut dyn FnMut(News),
    ) -> Result<GateReport, SessionError> {
        let parent = self.parent()?;
        let parent_plan = self.plan(self.parent_scaffold(&parent)?, PathBuf::from(&parent.run));
        let plan = self.plan(scaffold, out);
        let mut tell = |gate| news(News::Gate { gate });
        Ok(gate::compare(
            &parent_plan,
            parent.reused,
            &plan,
            &self.cancel,
            &mut tell,
        )?)
    }

    /// The gate's row is written before anything follows from it.
    fn record(&self, dossier: &Dossier) -> Result<(), SessionError> {
        let (Some(report), Some(result)) = (&dossier.standing.gate, dossier.standing.result) else {
            return Ok(());
        };
        let Some(origin) = &dossier.proposal.draft.origin else {
            return Ok(());
        };
        let revision = dossier.revision()?;
        let usage = self.state.usage;
        let head = Head {
            origin,
            kind: Kind::Revision,
            proposal: &dossier.proposal.id,
            parent: (&revision.parent, revision.parent_digest),
            revision: (&revision.line, result),
            cost: (usage.prompt + usage.completion, usage.dollars),
        };
        Ok(Ledger::of(&self.workspace).add(&Row::of(&head, report))?)
    }

    fn promote(&mut self, dossier: &Dossier) -> Result<(), SessionError> {
        self.record(dossier)?;
        let policy = self.state.setup.policy.map(|policy| policy.word().to_owned());
        match self.desk.promote(&dossier.proposal.id, HAND, "", policy) {
            // Its state changed since it was read: it is looked at again.
            Err(ReviewError::NotNow { .. }) => {
                self.sleep();
                Ok(())
            }
            other => Ok(other.map(|_| ())?),
        }
    }

    fn settle(&mut self, dossier: &Dossier, ending: Ending, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        self.record(dossier)?;
        let outcome = outcome(&dossier.standing, ending);
        let proposal = dossier.proposal.id.clone();
        news(News::Settled {
            proposal: proposal.clone(),
            ending,
            outcome: outcome.clone(),
        });
        self.note(Event::Settled {
            proposal,
            ending,
            outcome,
        })
    }
}
