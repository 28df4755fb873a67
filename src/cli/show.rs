//! `automem show`: one step of a run.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::output;
use crate::protocol::sanitize::clean;
use crate::store::Reader;
use crate::types::{Author, EpisodeNo, MemoryOp, StepNo, StepRecord, Turn};

/// Show one step: what was seen, said, done, and what came of it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Episode, from 0
    #[arg(long, default_value_t = 0)]
    episode: u32,
    /// Step, from 0
    #[arg(long)]
    step: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let record = Reader::open(&args.run)?.step(EpisodeNo(args.episode), StepNo(args.step))?;
    if args.json {
        output::print_json(&as_json(&record))?;
    } else {
        output::print_text(&clean(&as_text(&record)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(record: &StepRecord) -> Value {
    let outcome = record.outcome();
    json!({
        "step": record.step,
        "observation": record.frame().map(|frame| json!({ "long": frame.long, "short": frame.short })),
        "turns": record.turns().map(turn_as_json).collect::<Vec<_>>(),
        "ops": record.ops().map(op_as_json).collect::<Vec<_>>(),
        "action": record.action().map(|(raw, validated, repaired, by)| json!({
            "raw": raw, "validated": validated, "by": by, "repaired": repaired,
        })),
        "reward": outcome.map(|outcome| outcome.reward),
        "terminated": outcome.map(|outcome| outcome.terminated),
        "truncated": outcome.map(|outcome| outcome.truncated),
        "progression": outcome.map(|outcome| outcome.progression),
        "ms": outcome.map(|outcome| outcome.ms),
        "state_patch": state_patch(record),
        "notes": notes(record),
    })
}

fn turn_as_json(turn: &Turn) -> Value {
    json!({
        "phase": turn.phase,
        "turn": turn.turn,
        "role": turn.role,
        "model": turn.model,
        "prompt": turn.prompt,
        "response": turn.response,
        "tool_results": turn.tool_results,
        "prompt_tokens": turn.prompt_tokens,
        "cached_tokens": turn.cached_tokens,
        "completion_tokens": turn.completion_tokens,
        "prompt_ms": turn.prompt_ms,
        "ms": turn.ms,
        "sampling": turn.sampling,
        "grammar": turn.grammar,
        "stop": turn.stop,
    })
}

fn op_as_json(op: &MemoryOp) -> Value {
    json!({
        "phase": op.phase,
        "turn": op.turn,
        "op": op.op,
        "args": op.args,
        "by": op.by,
        "outcome": op.outcome,
        "changes": op.changes,
    })
}

/// What changed in the state of the scaffold's script.
fn state_patch(record: &StepRecord) -> Option<&Value> {
    record.events.iter().find_map(|body| match body {
        crate::types::Body::StepFinished { state_patch, .. } => state_patch.as_ref(),
        _ => None,
    })
}

/// Whatever else happened: failures, budgets, notes, people.
fn notes(record: &StepRecord) -> Vec<Value> {
    use crate::types::Body;
    let plain = |body: &&Body| {
        !matches!(
            body,
            Body::Observed { .. }
                | Body::TurnFinished { .. }
                | Body::MemoryOp { .. }
                | Body::ActionCommitted { .. }
                | Body::StepFinished { .. }
                | Body::EpisodeStarted { .. }
        )
    };
    record
        .events
        .iter()
        .filter(plain)
        .filter_map(|body| serde_json::to_value(body).ok())
        .collect()
}

fn as_text(record: &StepRecord) -> String {
    let mut out = format!("step {}\n", record.step);
    if let Some(frame) = record.frame() {
        let _ = write!(
            out,
            "\nobservation\n{}\n{}\n",
            indent(&frame.long),
            indent(&frame.short)
        );
    }
    for turn in record.turns() {
        let _ = write!(
            out,
            "\n{} turn {} ({}, {}): {} prompt tokens, {} of them cached, {} answered, {:.0} ms\n{}\n",
            turn.phase.word(),
            turn.turn,
            turn.role.word(),
            turn.model,
            turn.prompt_tokens,
            turn.cached_tokens,
            turn.completion_tokens,
            turn.ms,
            indent(&turn.response)
        );
        let by_the_model = |op: &&MemoryOp| op.by != Author::Scaffold && op.phase == turn.phase && op.turn == turn.turn;
        for op in record.ops().filter(by_the_model) {
            let _ = writeln!(out, "    {}", op_line(op));
        }
    }
    for op in record.ops().filter(|op| op.by == Author::Scaffold) {
        let _ = writeln!(out, "\nby the scaffold after {}: {}", op.phase.word(), op_line(op));
    }
    if let Some((raw, validated, _, by)) = record.action() {
        let by = serde_json::to_value(by)
            .ok()
            .and_then(|by| by.as_str().map(str::to_owned))
            .unwrap_or_default();
        let _ = write!(out, "\naction: {validated} (chosen by {by}");
        let _ = if raw == validated {
            writeln!(out, ")")
        } else {
            writeln!(out, ", written as `{raw}`)")
        };
    }
    if let Some(outcome) = record.outcome() {
        let _ = writeln!(
            out,
            "reward {}, progression {:.3}{}{}",
            outcome.reward,
            outcome.progression,
            if outcome.terminated { ", the game is over" } else { "" },
            if outcome.truncated {
                ", cut off by the step limit"
            } else {
                ""
            }
        );
    }
    if let Some(patch) = state_patch(record) {
        let _ = writeln!(out, "script state: {patch}");
    }
    for note in notes(record) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn op_line(op: &MemoryOp) -> String {
    format!("{} {}: {}", op.op, op.args.join(" | "), op.outcome.status.word())
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
