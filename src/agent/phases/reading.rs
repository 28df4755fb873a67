//! What an answer asks for, after the tags have been parsed.

use super::Rules;
use crate::protocol::{self, Item};
use crate::scaffold::OpsOrder;
use crate::types::Phase;

/// An operation the model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpCall {
    /// Its name in capitals.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether it may run.
    pub verdict: Verdict,
}

/// Whether an operation may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Run,
    /// The phase forbids it; what the model is told.
    Refuse(String),
}

/// An answer, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// Operations within the budget, in the order they run.
    pub(super) ops: Vec<OpCall>,
    /// Operations the answer asked for in all.
    pub(super) asked: usize,
    /// It said DONE.
    pub(super) done: bool,
    /// Its actions, in order.
    pub(super) actions: Vec<String>,
    /// What was wrong with its tags, as told to the model.
    pub(super) problems: Vec<String>,
}

/// Problems of one answer that are told to the model; more would only fill its context.
const MAX_PROBLEMS: usize = 5;

pub(super) fn read(text: &str, rules: &Rules) -> Reading {
    let parsed = protocol::parse(text, &rules.vocabulary);
    let mut reading = Reading::default();
    for item in parsed.items {
        match item {
            Item::Op { name, args, .. } => {
                reading.asked += 1;
                if reading.asked <= rules.ops_per_turn as usize {
                    let verdict = verdict(&name, rules);
                    reading.ops.push(OpCall { name, args, verdict });
                }
            }
            Item::Done { .. } => reading.done = true,
            Item::Action { text, .. } => reading.actions.push(text),
        }
    }
    if rules.order == OpsOrder::Grouped {
        // A stable sort: within a kind the order stays as written.
        let place = |op: &OpCall| rules.vocabulary.iter().position(|known| known.name == op.name);
        reading.ops.sort_by_key(place);
    }
    let found = parsed.problems.len();
    reading.problems = parsed
        .problems
        .into_iter()
        .take(MAX_PROBLEMS)
        .map(|problem| problem.message)
        .collect();
    if found > MAX_PROBLEMS {
        reading
            .problems
            .push(format!("{} more tags could not be read.", found - MAX_PROBLEMS));
    }
    reading
}

fn verdict(name: &str, rules: &Rules) -> Verdict {
    if rules.allowed.contains(&name) {
        return Verdict::Run;
    }
    let allowed = rules.allowed.join(", ");
    Verdict::Refuse(match rules.phase {
        Phase::Plan => format!(
            "{name} is not allowed in PLAN, nothing was changed. Here you may use {allowed}, and commit an action; write in the next LOG."
        ),
        Phase::Log => format!("{name} is not allowed in LOG, nothing was done. Here you may use {allowed}."),
    })
}
