//! What the memory work of each phase came to: what it wrote and who read that later, what was in vain.
//!
//! A pure fold over an episode's events, on top of [`Blame`] (who read which line) and the shelf of the metrics (what
//! was said before).

use std::collections::HashMap;
use std::sync::Arc;

use super::metrics::{Came, Shelf, came_of};
use super::provenance::Blame;
use crate::types::{ApplyError, Author, Body, MemoryFiles, MemoryOp, Phase, Role, StepNo};

/// The memory work of a phase of a step. Operations of a gameplay model do not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseWork {
    /// Names of the operations in the order written, those that failed too.
    pub ops: Vec<Arc<str>>,
    /// Bytes of what was written, as it was asked for.
    pub bytes_written: u64,
    /// Later steps that were shown a line of it by an operation.
    pub later_reads: u32,
    /// The first of them.
    pub first_read: Option<StepNo>,
    /// Writes that said what stood there already.
    pub redundant_writes: u32,
    /// Searches and reads that found nothing.
    pub empty_retrievals: u32,
    /// Operations that were refused or failed.
    pub failed_ops: u32,
    last_read: Option<StepNo>,
}

/// See the module. Feed it the events of an episode in order; frames, actions and outcomes may be left out.
#[derive(Debug, Default)]
pub struct Work {
    blame: Blame,
    shelf: Shelf,
    initial: MemoryFiles,
    phases: HashMap<(StepNo, Phase), PhaseWork>,
    /// Each name once.
    names: Vec<Arc<str>>,
    /// Whose turn the operations that come belong to.
    role: Option<Role>,
}

impl Work {
    /// An episode that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// When a change does not fit the files so far, because events are missing or damaged.
    pub fn take(&mut self, step: StepNo, body: &Body) -> Result<(), ApplyError> {
        match body {
            Body::EpisodeStarted { inherited, .. } => {
                self.initial = inherited.clone();
                self.start_over();
            }
            Body::EpisodeAttempt { .. } => self.start_over(),
            Body::TurnFinished { turn } => self.role = Some(turn.role),
            Body::MemoryOp { op } => {
                self.blame.take(step, body)?;
                self.read_again(step);
                return self.op(step, op);
            }
            Body::HumanEdited { changes } => {
                for change in changes {
                    self.shelf.apply(change, step.0, false)?;
                }
            }
            _ => return Ok(()),
        }
        self.blame.take(step, body)
    }

    /// What a phase of a step came to as far as is known; `None` when it did nothing.
    pub fn phase(&self, step: StepNo, phase: Phase) -> Option<&PhaseWork> {
        self.phases.get(&(step, phase))
    }

    fn start_over(&mut self) {
        self.shelf = Shelf::new(&self.initial, &[]);
        self.phases.clear();
        self.role = None;
    }

    /// Counts the step for every phase of an earlier step whose lines were shown.
    fn read_again(&mut self, step: StepNo) {
        let mut before = None;
        for origin in self.blame.shown() {
            let Some(phase) = origin
                .phase
                .filter(|_| origin.by == Author::Model && origin.step < step)
            else {
                continue;
            };
            // Lines of one origin stand together more often than not.
            if before.replace((origin.step, phase)) == Some((origin.step, phase)) {
                continue;
            }
            let Some(work) = self.phases.get_mut(&(origin.step, phase)) else {
                continue;
            };
            if work.last_read != Some(step) {
                work.last_read = Some(step);
                work.later_reads += 1;
                work.first_read.get_or_insert(step);
            }
        }
    }

    fn op(&mut self, step: StepNo, op: &MemoryOp) -> Result<(), ApplyError> {
        let own = op.by == Author::Model;
        let told = op
            .changes
            .iter()
            .map(|change| self.shelf.apply(change, step.0, own))
            .collect::<Result<Vec<_>, _>>()?;
        if !own || self.role == Some(Role::Gameplay) {
            return Ok(());
        }
        let name = match self.names.iter().find(|name| ***name == *op.op) {
            Some(name) => Arc::clone(name),
            None => {
                let name: Arc<str> = op.op.as_str().into();
                self.names.push(Arc::clone(&name));
                name
            }
        };
        let work = self.phases.entry((step, op.phase)).or_default();
        work.ops.push(name);
        match came_of(op, &told) {
            Came::Failed => work.failed_ops += 1,
            Came::Wrote { redundant } => {
                work.redundant_writes += u32::from(redundant);
                let text: usize = op.args.iter().skip(1).map(String::len).sum();
                work.bytes_written += text as u64;
            }
            Came::Retrieved { empty } => work.empty_retrievals += u32::from(empty),
            Came::Else => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{MemoryChange, OpOutcome, OpStatus, TurnNo};

    fn op(phase: Phase, name: &str, args: &[&str], status: OpStatus, text: &str, change: Option<MemoryChange>) -> Body {
        Body::MemoryOp {
            op: Box::new(MemoryOp {
                phase,
                turn: TurnNo(0),
                op: name.into(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                by: Author::Model,
                outcome: OpOutcome {
                    status,
                    text: text.into(),
                    cut: 0,
                },
                changes: change.into_iter().collect(),
            }),
        }
    }

    #[test]
    fn later_reads_count_steps_and_what_is_in_vain_is_counted() {
        let mut work = Work::new();
        let mut take = |step: u32, body: &Body| work.take(StepNo(step), body).unwrap();
        take(
            0,
            &Body::EpisodeStarted {
                seed: 1,
                inherited: MemoryFiles::from([("a.txt".to_owned(), "old\n".into())]),
            },
        );
        let write = |before: &str, after: &str, said: &str| {
            let change = MemoryChange::between("a.txt", Some(before), Some(after));
            op(Phase::Log, "APPEND", &["a.txt", said], OpStatus::Ok, "", change)
        };
        let read = |text: &str| op(Phase::Plan, "READ", &["a.txt"], OpStatus::Ok, text, None);
        take(3, &write("old\n", "old\nnew\nmore\n", "new\nmore"));
        take(3, &read("old\nnew\nmore"));
        take(4, &write("old\nnew\nmore\n", "old\nnew\nmore\nNEW\n", "NEW"));
        take(5, &read("old\nnew\nmore\nNEW"));
        take(5, &read("old\nnew\nmore\nNEW"));
        take(
            9,
            &op(
                Phase::Plan,
                "SEARCH",
                &["a.txt", "e"],
                OpStatus::Ok,
                "2: new\n3: more",
                None,
            ),
        );
        take(
            9,
            &op(Phase::Plan, "SEARCH", &["a.txt", "z"], OpStatus::Empty, "", None),
        );
        take(9, &op(Phase::Plan, "READ", &["b.txt"], OpStatus::Refused, "", None));
        let of = |step, phase| work.phase(StepNo(step), phase).unwrap();
        let log = of(3, Phase::Log);
        // The same step's PLAN is not later; a step counts once.
        assert_eq!((log.later_reads, log.first_read), (2, Some(StepNo(5))));
        assert_eq!((log.bytes_written, log.redundant_writes, log.ops.len()), (8, 0, 1));
        let again = of(4, Phase::Log);
        assert_eq!((again.later_reads, again.redundant_writes), (1, 1));
        let plan = of(9, Phase::Plan);
        assert_eq!((plan.empty_retrievals, plan.failed_ops, plan.ops.len()), (1, 1, 3));
        assert!(work.phase(StepNo(0), Phase::Plan).is_none());
    }
}
