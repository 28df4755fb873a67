//! `automem show`: one step of a run.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::output;
use crate::protocol::sanitize::clean;
use crate::store::Reader;
use crate::types::{Author, EpisodeNo, MemoryOp, StepNo, StepRecord};

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
        output::print_json(&record.as_json())?;
    } else {
        output::print_text(&clean(&as_text(&record)))?;
    }
    Ok(ExitCode::SUCCESS)
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
    if let Some(patch) = record.state_patch() {
        let _ = writeln!(out, "script state: {patch}");
    }
    for note in record.notes() {
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
