//! The stream of actions as rows: what of a step is one row each, and which of many steps show.
//!
//! Owns the order and meaning of rows. Must not know colours or columns; only rows that are
//! visible are ever built.

use serde_json::Value;

use super::state::Mood;
use super::watch::Watch;
use crate::store::StepMark;
use crate::types::{ActionBy, Body, LiveTurn, MemoryChange, MemoryOp, Phase, StepNo, StepOutcome, StepRecord, Turn};

/// Rows of a live answer that show at most.
pub(crate) const LIVE_ROWS: usize = 8;

/// One row of a step.
#[derive(Debug, Clone)]
pub(crate) enum Row<'a> {
    /// A model call.
    Turn(&'a Turn),
    /// A memory operation.
    Op(&'a MemoryOp),
    /// The committed action and how the world answered.
    Action {
        /// What the model wrote.
        raw: &'a str,
        /// What the world got.
        validated: &'a str,
        /// It was mended on the way.
        repaired: bool,
        /// Who chose it.
        by: ActionBy,
        /// The world's answer.
        outcome: Option<StepOutcome>,
        /// What the step took.
        cost: Cost,
    },
    /// A reward.
    Reward(StepOutcome),
    /// What a person did.
    Person(String),
    /// What changed in the state of the scaffold's script: how many values, and which.
    Script(usize, String),
    /// Anything else that was noted.
    Notice(Mood, String),
    /// A model call under way.
    Live(&'a LiveTurn),
    /// A line of its answer so far.
    LiveText(&'a str),
    /// A step that is not loaded yet.
    Mark(&'a StepMark),
    /// A step of which nothing is known yet.
    Unknown,
    /// What a search found in something that has no row of its own.
    Found(&'a str),
    /// The cursor's step has nothing that the filter lets through.
    Filtered,
}

/// What a step took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Cost {
    /// Prompt tokens of all turns.
    pub(crate) prompt: u64,
    /// Answer tokens of all turns.
    pub(crate) completion: u64,
    /// Milliseconds, once it is over.
    pub(crate) ms: Option<f64>,
}

/// A row with its place.
#[derive(Debug, Clone)]
pub(crate) struct Placed<'a> {
    /// The step.
    pub(crate) step: StepNo,
    /// The phase it belongs to, where it is the first row of that phase.
    pub(crate) phase: Option<Phase>,
    /// The phase it belongs to.
    of: Option<Phase>,
    /// Which of the step's events it shows.
    pub(crate) event: Option<usize>,
    /// The turn it belongs to, as its place among the step's turns.
    pub(crate) turn: Option<usize>,
    /// What it says.
    pub(crate) row: Row<'a>,
}

/// The rows of a step.
pub(crate) fn rows<'a>(record: &'a StepRecord) -> Vec<Placed<'a>> {
    let mut out: Vec<Placed<'a>> = Vec::new();
    let mut turns = 0usize;
    let mut phase: Option<Phase> = None;
    let outcome = record.outcome();
    let mut cost = Cost {
        ms: outcome.map(|outcome| outcome.ms),
        ..Cost::default()
    };
    for turn in record.turns() {
        cost.prompt += u64::from(turn.prompt_tokens);
        cost.completion += u64::from(turn.completion_tokens);
    }
    let at = std::cell::Cell::new(None);
    let mut push = |row: Row<'a>, of: Option<Phase>, turn: Option<usize>| {
        let first = of.filter(|of| phase != Some(*of));
        phase = of.or(phase);
        out.push(Placed {
            step: record.step,
            phase: first,
            of,
            event: at.get(),
            turn,
            row,
        });
    };
    for (index, body) in record.events.iter().enumerate() {
        at.set(Some(index));
        let last = turns.checked_sub(1);
        match body {
            Body::TurnFinished { turn } => {
                turns += 1;
                push(Row::Turn(turn), Some(turn.phase), Some(turns - 1));
            }
            Body::MemoryOp { op } => push(Row::Op(op), Some(op.phase), last),
            Body::ActionCommitted {
                raw,
                validated,
                repaired,
                by,
            } => push(
                Row::Action {
                    raw,
                    validated,
                    repaired: *repaired,
                    by: *by,
                    outcome,
                    cost,
                },
                None,
                last,
            ),
            Body::StepFinished { state_patch, .. } => {
                let changes = state_patch.as_ref().map(script_changes).unwrap_or_default();
                if !changes.is_empty() {
                    let said: Vec<String> = changes
                        .iter()
                        .map(|(name, value)| format!("{name} = {value}"))
                        .collect();
                    push(Row::Script(changes.len(), said.join(" · ")), None, last);
                }
                if let Some(outcome) = outcome.filter(|outcome| outcome.reward != 0.0) {
                    push(Row::Reward(outcome), None, last);
                }
            }
            other => {
                if let Some(said) = person(other) {
                    push(Row::Person(said), None, last);
                } else if let Some((mood, text)) = notice(other) {
                    push(Row::Notice(mood, text), None, last);
                }
            }
        }
    }
    at.set(None);
    if let Some(live) = &record.live {
        push(Row::Live(live), Some(live.phase), None);
        let lines: Vec<&str> = live.text.lines().collect();
        for line in &lines[lines.len().saturating_sub(LIVE_ROWS)..] {
            push(Row::LiveText(line), Some(live.phase), None);
        }
    }
    if out.is_empty() {
        out.push(alone(record.step, Row::Unknown));
    }
    out
}

/// The only row of a step.
fn alone(step: StepNo, row: Row<'_>) -> Placed<'_> {
    Placed {
        step,
        phase: None,
        of: None,
        event: None,
        turn: None,
        row,
    }
}

/// What a step changed in the state of the scaffold's script: names, and what they hold now, the
/// shortest first.
pub(crate) fn script_changes(patch: &Value) -> Vec<(String, String)> {
    let set = patch.get("set").and_then(Value::as_object);
    let set = set
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.to_string()));
    let unset = patch.get("unset").and_then(Value::as_array);
    let unset = unset.into_iter().flatten().filter_map(Value::as_str);
    let mut changes: Vec<_> = set
        .chain(unset.map(|name| (name.to_owned(), "gone".to_owned())))
        .collect();
    // Long ones hide what comes after them.
    changes.sort_by_key(|(_, value)| value.len());
    changes
}

/// What a person did, in words.
fn person(body: &Body) -> Option<String> {
    Some(match body {
        Body::HumanEdited { changes } => {
            let edit = |change: &MemoryChange| match (change.before_digest, change.after_digest) {
                (None, _) => format!("made {}", change.path),
                (_, None) => format!("removed {}", change.path),
                _ => format!("edited {}", change.path),
            };
            let edits: Vec<String> = changes.iter().map(edit).collect();
            format!("a person {}", edits.join(", "))
        }
        Body::HumanSaid { text } => format!("a person says: {text}"),
        Body::HumanActed { action } => format!("a person chose {action}"),
        Body::Controlled { control } => format!("{control} by a person"),
        _ => return None,
    })
}

/// What an event other than turns, operations and actions has to say.
fn notice(body: &Body) -> Option<(Mood, String)> {
    let said = match body {
        Body::EpisodeStarted { seed, inherited } => (
            Mood::Info,
            format!("episode begins: seed {seed}, {} memory files", inherited.len()),
        ),
        Body::ActionRejected { raw, reason } => (Mood::Bad, format!("rejected `{raw}`: {reason}")),
        Body::HookFailed { hook, message } => (Mood::Bad, format!("hook {hook} failed: {message}")),
        Body::BudgetExceeded {
            budget, limit, asked, ..
        } => {
            let name = serde_json::to_value(budget).ok();
            let name = name
                .as_ref()
                .and_then(|name| name.as_str())
                .unwrap_or("budget")
                .replace('_', " ");
            (Mood::Bad, format!("over budget: {name} {asked} of {limit}"))
        }
        Body::ContextOverflow { needed, available, .. } => {
            (Mood::Bad, format!("prompt too long: {needed} tokens, {available} fit"))
        }
        Body::ModelFailed { message, retried, .. } => {
            let again = if *retried { " (tried again)" } else { "" };
            (Mood::Bad, format!("model failed{again}: {message}"))
        }
        Body::WorldFailed { message } => (Mood::Bad, format!("world failed: {message}")),
        Body::Annotated { text } => (Mood::Info, text.clone()),
        Body::AdapterChanged { adapter } => {
            let said = match adapter {
                Some(name) => format!("memory specialist: {name} from here on"),
                None => "memory specialist: none from here on".to_owned(),
            };
            (Mood::Info, said)
        }
        Body::EpisodeAttempt { attempt } => (Mood::Info, format!("attempt {attempt}")),
        Body::EpisodeResumed { step } => (Mood::Info, format!("resumed at step {step}")),
        Body::EpisodeFinished { end } => (Mood::Info, format!("episode over: {}", end.word().replace('_', " "))),
        _ => return None,
    };
    Some(said)
}

/// The rows of a step as far as they are known: the record's, the mark's, or a placeholder. With a
/// filter only those that it lets through, and the place that a search stands at.
pub(crate) fn rows_of(watch: &Watch, step: StepNo) -> Vec<Placed<'_>> {
    let Some(record) = watch.record(step) else {
        let row = watch.mark(step).map_or(Row::Unknown, Row::Mark);
        return vec![alone(step, row)];
    };
    let mut rows = rows(record);
    let hit = watch.search.current();
    let hit = hit.filter(|hit| hit.episode == watch.episode && hit.step == step);
    if let Some(filtering) = &watch.filtering {
        let flags = filtering.filter.flags(record.events.iter());
        // What has no event is under way.
        let shows = |event: usize| flags.get(event) == Some(&true) || hit.is_some_and(|hit| hit.event == event);
        rows.retain(|placed| match placed.event {
            Some(event) => shows(event),
            None => matches!(placed.row, Row::Live(_) | Row::LiveText(_)),
        });
        let mut phase = None;
        for placed in &mut rows {
            placed.phase = placed.of.filter(|of| phase != Some(*of));
            phase = placed.of.or(phase);
        }
    }
    if let Some(hit) = hit
        && !rows.iter().any(|placed| placed.event == Some(hit.event))
    {
        let mut found = alone(step, Row::Found(&hit.what));
        found.event = Some(hit.event);
        rows.insert(0, found);
    }
    if rows.is_empty() {
        rows.push(alone(step, Row::Filtered));
    }
    rows
}

/// The rows that show in a pane of the given height, and which of them is selected. The selected
/// row stands at two fifths of the height, or nearer to an edge where the stream begins or ends.
pub(crate) fn visible(watch: &Watch, height: usize) -> (Vec<Placed<'_>>, usize) {
    let mut below = rows_of(watch, watch.cursor);
    let selected = watch.actions.row.min(below.len().saturating_sub(1));
    let mut above: Vec<Placed<'_>> = below.drain(..selected).rev().collect();
    let mut step = watch.cursor;
    while below.len() < height
        && let Some(after) = watch.beside(step, true)
    {
        step = after;
        below.extend(rows_of(watch, step));
    }
    below.truncate(height);
    let mut step = watch.cursor;
    while above.len() < height
        && let Some(before) = watch.beside(step, false)
    {
        step = before;
        above.extend(rows_of(watch, step).into_iter().rev());
    }
    above.truncate(height);
    let wanted = height * 2 / 5;
    let over = wanted.max(height.saturating_sub(below.len())).min(above.len());
    above.truncate(over);
    above.reverse();
    below.truncate(height - over);
    above.extend(below);
    (above, over)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn a_step_has_a_row_for_everything_that_happened() {
        let record = testing::record(3);
        let rows = rows(&record);
        let kinds: Vec<&str> = rows
            .iter()
            .map(|placed| match placed.row {
                Row::Turn(_) => "turn",
                Row::Op(_) => "op",
                Row::Action { .. } => "action",
                Row::Reward(_) => "reward",
                _ => "other",
            })
            .collect();
        assert_eq!(kinds, ["turn", "op", "turn", "op", "action", "reward"]);
        assert_eq!(rows[0].phase, Some(Phase::Log));
        assert_eq!(rows[1].phase, None);
        assert_eq!(rows[2].phase, Some(Phase::Plan));
        assert_eq!(rows[3].turn, Some(1));
    }

    #[test]
    fn only_visible_rows_are_built_however_long_the_run() {
        let mut watch = testing::watch(4);
        watch.marks = (0..100_000).map(testing::mark).collect();
        for cursor in [0, 7, 50_000, 99_999] {
            watch.go(StepNo(cursor));
            let (rows, selected) = visible(&watch, 40);
            assert_eq!(rows.len(), 40);
            assert_eq!(rows[selected].step, watch.cursor);
        }
    }

    #[test]
    fn the_selected_row_stays_near_the_middle() {
        let mut watch = testing::watch(30);
        watch.go(StepNo(15));
        let (_, selected) = visible(&watch, 20);
        assert_eq!(selected, 8);
        watch.go(StepNo(0));
        assert_eq!(visible(&watch, 20).1, 0);
        watch.go(watch.end());
        let (rows, selected) = visible(&watch, 20);
        assert_eq!((rows.len(), selected), (20, 19));
    }
}
