//! Tools that look at runs: episodes, steps, prompts, memory, search.
//!
//! Owns how a step is told to a meta-LLM. Must not change anything.

use std::fmt::Write;

use super::args::Args;
use super::error::Fault;
use super::runs::{RESULT_BYTES, Run, Runs, cut};
use crate::types::{ActionBy, Author, EpisodeNo, MemoryOp, Phase, StepNo, StepRecord, TurnNo};

/// Steps that are listed with their rewards.
const REWARDS: usize = 40;
/// Steps of one look, in full and in short.
const FULL_STEPS: u32 = 20;
const SHORT_STEPS: u32 = 200;
/// Bytes of one answer and of one result of an operation inside a step.
const ANSWER_BYTES: usize = 2_000;
const OP_BYTES: usize = 600;
/// Bytes of a page of a prompt or a file.
const PAGE_BYTES: usize = 16_000;
/// Hits of a search.
const HITS: usize = 80;

type Told = Result<String, Fault>;

pub(super) fn list_runs(runs: &mut Runs<'_>, _: &Args<'_>) -> Told {
    let mut out = String::new();
    for (n, run) in runs.all.iter().enumerate() {
        let meta = run.reader.meta();
        let _ = writeln!(
            out,
            "run {n}: world {} ({}), scaffold {} {}, model {}, {} episodes, up to {} steps each",
            meta.world.name,
            meta.world.task,
            meta.scaffold.name,
            meta.scaffold.version,
            meta.model.name,
            run.reader.episodes()?.len(),
            meta.max_steps
        );
        let _ = writeln!(out, "  actions: {}", actions(run));
    }
    Ok(out)
}

fn actions(run: &Run) -> String {
    let actions = &run.reader.meta().world.actions;
    actions
        .iter()
        .map(|action| action.0.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn list_episodes(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let mut out = String::new();
    for episode in run.reader.episodes()? {
        let _ = writeln!(
            out,
            "episode {}: seed {}, {} steps, progression {:.4}, return {:.2}, ended: {}; tokens: {} prompt ({} cached), {} answer",
            episode.episode,
            episode.seed,
            episode.steps,
            episode.progression,
            episode.total_reward,
            episode.end.map_or("not yet", |end| end.word()),
            episode.prompt_tokens,
            episode.cached_tokens,
            episode.completion_tokens
        );
        let marks = run.reader.timeline(episode.episode, StepNo(0))?;
        let rewarded: Vec<_> = marks.iter().filter(|mark| mark.reward != 0.0).collect();
        for mark in rewarded.iter().take(REWARDS) {
            let _ = writeln!(
                out,
                "  step {}: reward {:+.2} after {}",
                mark.step, mark.reward, mark.action
            );
        }
        if rewarded.len() > REWARDS {
            let _ = writeln!(out, "  and {} more steps with a reward", rewarded.len() - REWARDS);
        }
    }
    Ok(out)
}

/// Shows steps; see the table of tools.
///
/// # Errors
/// See [`Fault`].
pub fn read_steps(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let episode = EpisodeNo(args.number("episode")?.unwrap_or(0));
    let from = args.number("from")?.unwrap_or(0);
    let short = match args.text("detail")? {
        "" | "full" => false,
        "short" => true,
        other => return Err(format!("`detail` is `full` or `short`, not `{other}`.").into()),
    };
    let most = if short { SHORT_STEPS } else { FULL_STEPS };
    let to = args.number("to")?.unwrap_or(from);
    if to < from {
        return Err(format!("`to` ({to}) is before `from` ({from}).").into());
    }
    // The first one is asked for by itself, so that a step which is not there is told.
    run.reader.step(episode, StepNo(from))?;
    let end = to.min(from.saturating_add(most - 1));
    let mut out = String::new();
    let mut shown = from;
    for record in run.reader.steps(episode, StepNo(from)..StepNo(end).next())? {
        let text = match short {
            true => in_short(&record),
            false => in_full(&record),
        };
        if !out.is_empty() && out.len() + text.len() > RESULT_BYTES - 200 {
            break;
        }
        out.push_str(&text);
        shown = record.step.0;
    }
    if shown < to {
        let _ = writeln!(
            out,
            "[steps {} to {to} are not shown: ask for them from {}]",
            shown + 1,
            shown + 1
        );
    }
    Ok(out)
}

fn in_short(record: &StepRecord) -> String {
    let mut out = format!("{}:", record.step);
    if let Some((_, action, _, by)) = record.action() {
        let _ = write!(
            out,
            " {action}{}",
            if by == ActionBy::Model {
                ""
            } else {
                " (not the model's choice)"
            }
        );
    }
    if let Some(outcome) = record.outcome() {
        let _ = write!(
            out,
            " | reward {:.2}, progression {:.4}",
            outcome.reward, outcome.progression
        );
        if outcome.terminated {
            out.push_str(", THE END");
        }
    }
    if let Some(frame) = record.frame() {
        let status: Vec<&str> = frame.short.split_whitespace().collect();
        let _ = write!(out, " | {}", cut(&status.join(" "), 200, ""));
    }
    for op in record.ops() {
        let _ = write!(out, " | {}", cut(&op_line(op).replace('\n', " "), 120, ""));
    }
    out.push('\n');
    out
}

fn in_full(record: &StepRecord) -> String {
    let mut out = format!("## step {}\n", record.step);
    if let Some(frame) = record.frame() {
        let _ = writeln!(
            out,
            "observation:\n{}\n{}",
            frame.long.trim_end(),
            frame.short.trim_end()
        );
    }
    for turn in record.turns() {
        let _ = writeln!(
            out,
            "{} turn {} ({} prompt tokens, {} cached, {} answered):\n{}",
            turn.phase.word(),
            turn.turn,
            turn.prompt_tokens,
            turn.cached_tokens,
            turn.completion_tokens,
            cut(turn.response.trim(), ANSWER_BYTES, "see read_prompt")
        );
        let own = |op: &&MemoryOp| op.by == Author::Model && op.phase == turn.phase && op.turn == turn.turn;
        for op in record.ops().filter(own) {
            let _ = writeln!(out, "  -> {}", op_line(op));
            if !op.outcome.text.trim().is_empty() {
                let _ = writeln!(
                    out,
                    "     {}",
                    cut(op.outcome.text.trim(), OP_BYTES, "").replace('\n', "\n     ")
                );
            }
        }
    }
    for op in record.ops().filter(|op| op.by != Author::Model) {
        let by = if op.by == Author::Human {
            "a person"
        } else {
            "the scaffold"
        };
        let _ = writeln!(out, "by {by} after {}: {}", op.phase.word(), op_line(op));
    }
    if let Some((raw, action, repaired, by)) = record.action() {
        let how = match by {
            ActionBy::Model if repaired => "mended",
            ActionBy::Model => "the model's",
            ActionBy::Fallback => "the fallback: there was no valid action",
            ActionBy::Scaffold => "the scaffold's",
            ActionBy::Human => "a person's",
        };
        let _ = writeln!(out, "action: {action} ({how}; written `{}`)", cut(raw.trim(), 120, ""));
    }
    if let Some(outcome) = record.outcome() {
        let _ = writeln!(
            out,
            "reward {:.2}, progression {:.4}{}",
            outcome.reward,
            outcome.progression,
            match (outcome.terminated, outcome.truncated) {
                (true, _) => ", the game is over",
                (_, true) => ", cut off by the step limit",
                _ => "",
            }
        );
    }
    for note in record.notes() {
        let _ = writeln!(out, "note: {}", cut(&note.to_string(), OP_BYTES, ""));
    }
    out.push('\n');
    out
}

fn op_line(op: &MemoryOp) -> String {
    let args: Vec<String> = op.args.iter().map(|arg| cut(arg, OP_BYTES, "")).collect();
    format!("{} {}: {}", op.op, args.join(" | "), op.outcome.status.word())
}

pub(super) fn read_prompt(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let episode = EpisodeNo(args.number("episode")?.unwrap_or(0));
    let record = run.reader.step(episode, StepNo(args.number("step")?.unwrap_or(0)))?;
    let phase = match args.text("phase")?.to_ascii_uppercase().as_str() {
        "" | "PLAN" => Phase::Plan,
        "LOG" => Phase::Log,
        other => return Err(format!("`phase` is LOG or PLAN, not `{other}`.").into()),
    };
    let number = TurnNo(args.number("turn")?.unwrap_or(0));
    let Some(turn) = record.turns().find(|turn| turn.phase == phase && turn.turn == number) else {
        let there: Vec<String> = record
            .turns()
            .map(|turn| format!("{} turn {}", turn.phase.word(), turn.turn))
            .collect();
        return Err(format!(
            "Step {} has no {} turn {number}; it has {}.",
            record.step,
            phase.word(),
            if there.is_empty() {
                "none".to_owned()
            } else {
                there.join(", ")
            }
        )
        .into());
    };
    let text = format!(
        "PROMPT\n{}\n\nANSWER\n{}\n\nRESULTS\n{}\n",
        turn.prompt, turn.response, turn.tool_results
    );
    page(&text, args)
}

pub(super) fn memory_files(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let episode = EpisodeNo(args.number("episode")?.unwrap_or(0));
    let step = step_or_last(run, episode, args)?;
    let state = run.reader.memory_at(episode, step)?;
    let mut out = format!("memory at step {step}, after its LOG:\n");
    for (path, file) in &state.files {
        let touched = match file.touched {
            Some(step) => format!("changed last in step {step}"),
            None => "as the episode found it".to_owned(),
        };
        let (lines, bytes) = (file.text.lines().count(), file.text.len());
        let _ = writeln!(out, "- {path}: {lines} lines, {bytes} bytes, {touched}");
    }
    Ok(out)
}

pub(super) fn read_memory_file(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let episode = EpisodeNo(args.number("episode")?.unwrap_or(0));
    let step = step_or_last(run, episode, args)?;
    let state = run.reader.memory_at(episode, step)?;
    let path = args.text("path")?;
    let Some(file) = state.files.get(path) else {
        let there: Vec<&str> = state.files.keys().map(String::as_str).collect();
        return Err(format!(
            "At step {step} there is no file `{path}`; there are: {}.",
            there.join(", ")
        )
        .into());
    };
    match file.text.is_empty() {
        true => Ok("(the file is empty)".to_owned()),
        false => page(&file.text, args),
    }
}

/// The step that is asked for, else the episode's last.
fn step_or_last(run: &Run, episode: EpisodeNo, args: &Args<'_>) -> Result<StepNo, Fault> {
    match args.number("step")? {
        Some(step) => Ok(StepNo(step)),
        None => Ok(run.reader.last_step(episode)?.unwrap_or_default()),
    }
}

/// A part of a long text, by pages from 0.
///
/// # Errors
/// When there is no such page.
pub fn page(text: &str, args: &Args<'_>) -> Told {
    let page = args.number("page")?.unwrap_or(0) as usize;
    let pages = text.len().div_ceil(PAGE_BYTES).max(1);
    if page >= pages {
        return Err(format!("There is no page {page}; the last one is {}.", pages - 1).into());
    }
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let part = &text[boundary(page * PAGE_BYTES)..boundary((page + 1) * PAGE_BYTES)];
    Ok(match pages {
        1 => part.to_owned(),
        _ => format!("{part}\n[page {page} of 0 to {}]", pages - 1),
    })
}

pub(super) fn search(runs: &mut Runs<'_>, args: &Args<'_>) -> Told {
    let run = runs.run(args.number("run")?)?;
    let text = args.text("text")?;
    if text.trim().is_empty() {
        return Err("The text to search for is empty.".to_owned().into());
    }
    let hits = run.reader.search(text, runs.cancel, &mut |_| {})?;
    let mut out = format!("{} places\n", hits.len());
    for hit in hits.iter().take(HITS) {
        let _ = writeln!(
            out,
            "episode {} step {} {}: {}",
            hit.episode, hit.step, hit.place, hit.excerpt
        );
    }
    if hits.len() > HITS {
        let _ = writeln!(
            out,
            "[the first {HITS} are shown; search for something rarer, or use sql]"
        );
    }
    Ok(out)
}
