//! `automem optimize list`, `show` and `ledger`.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::evolve::session::{Event, Listed, Log, Session};
use crate::gate::ledger::{Ledger, Row};
use crate::protocol::sanitize::clean;

pub(super) fn list(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let all = Log::open(workspace)?.list()?;
    if as_json {
        print_json(&json!({ "optimizations": all.iter().map(|listed| row(workspace, listed)).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for listed in &all {
        let state = &listed.state;
        text.push_str(&format!(
            "{:<24} iteration {} of {}  {} promoted  {}{}\n",
            listed.name,
            state.iteration,
            state.setup.iterations,
            state.promoted.len(),
            state.word(),
            if Session::is_at_work(workspace, &listed.name) {
                " (at work)"
            } else if state.is_over() {
                ""
            } else {
                " (interrupted: automem optimize --resume)"
            }
        ));
    }
    if all.is_empty() {
        text.push_str("no optimizations yet; `automem optimize --meta rules` begins one\n");
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn row(workspace: &Workspace, listed: &Listed) -> serde_json::Value {
    let state = &listed.state;
    json!({
        "name": listed.name, "begun": listed.begun, "touched": listed.touched, "stage": state.word(),
        "over": state.is_over(), "at_work": Session::is_at_work(workspace, &listed.name),
        "iteration": state.iteration, "attempt": state.attempt, "continuation": state.continuation,
        "promoted": state.promoted, "usage": state.usage, "setup": state.setup,
    })
}

pub(super) fn show(workspace: &Workspace, name: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let log = Log::open(workspace)?;
    let listed = log.one(name)?;
    let events = log.events(name)?;
    if as_json {
        let events: Vec<_> = events
            .iter()
            .map(|(time, event)| json!({ "time": time, "what": event }))
            .collect();
        print_json(&json!({ "optimization": row(workspace, &listed), "log": events }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{name}: {}\n", listed.state.word());
    for (time, event) in &events {
        let what = match event {
            Event::Started { setup } => format!(
                "{} on {} seeds, {} steps, played by {}, revised by {}, kept as {}{}",
                setup.scaffold,
                setup.seeds.len(),
                setup.max_steps,
                setup.model,
                setup.meta,
                setup.line,
                setup
                    .policy
                    .map_or_else(String::new, |policy| format!(", policy {}", policy.word())),
            ),
            Event::Evaluated { parent, mean, run, .. } => {
                format!("{parent} has mean progression {:.1}% ({run})", mean * 100.0)
            }
            Event::Failed { why, .. } => format!("no revision: {why}"),
            Event::Proposed { proposal, title, .. } => format!("{proposal}: {title}"),
            Event::Settled { proposal, outcome, .. } => format!("{proposal}: {}", outcome.trim_end()),
        };
        text.push_str(&format!("{time}  {}\n", what.replace('\n', "\n    ")));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn ledger(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let ledger = Ledger::of(workspace);
    let (rows, faults) = ledger.rows()?;
    if as_json {
        print_json(&json!({ "file": ledger.path(), "rows": rows, "unreadable_lines": faults }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    text.push_str(&ledger_rows(&rows));
    if rows.is_empty() {
        text.push_str("no gate was played yet\n");
    }
    if faults > 0 {
        text.push_str(&format!(
            "{faults} lines of {} cannot be read\n",
            ledger.path().display()
        ));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Gates, a line each.
pub(in crate::cli) fn ledger_rows(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!(
            "{}  {:<10} {} i{} a{}  {} {} -> {} {}  {:.1}% +- {:.1} -> {:.1}% +- {:.1}  p {:.3}  {}\n",
            row.time,
            row.kind.word(),
            row.optimization,
            row.iteration,
            row.attempt,
            row.proposal,
            row.parent,
            row.revision,
            row.revision_digest.short(),
            row.parent_mean * 100.0,
            row.parent_error * 100.0,
            row.revision_mean * 100.0,
            row.revision_error * 100.0,
            row.sign_p,
            row.outcome.word(),
        ));
    }
    text
}
