//! `automem tune list` and `show`.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::tune::session::{Event, Listed, Log, Session};

pub(super) fn list(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let all = Log::open(workspace)?.list()?;
    if as_json {
        let rows: Vec<_> = all.iter().map(|listed| row(workspace, listed)).collect();
        print_json(&json!({ "tunings": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for listed in &all {
        let state = &listed.state;
        let better = state.rounds.iter().filter(|round| round.is_better()).count();
        text.push_str(&format!(
            "{:<24} iteration {} of {}  {better} better  {}{}\n",
            listed.name,
            state.iteration,
            state.setup.iterations,
            state.word(),
            match Session::is_at_work(workspace, &listed.name) {
                true => " (at work)",
                false if state.is_over() => "",
                false => " (interrupted: automem tune --resume)",
            }
        ));
    }
    if all.is_empty() {
        text.push_str("no tunings yet; `automem tune --model MODEL` begins one\n");
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn row(workspace: &Workspace, listed: &Listed) -> serde_json::Value {
    let state = &listed.state;
    json!({
        "name": listed.name, "begun": listed.begun, "touched": listed.touched, "stage": state.word(),
        "over": state.is_over(), "at_work": Session::is_at_work(workspace, &listed.name),
        "iteration": state.iteration, "best": state.best, "setup": state.setup,
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
        print_json(&json!({ "tuning": row(workspace, &listed), "log": events }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{name}: {}\n", listed.state.word());
    for (time, event) in &events {
        text.push_str(&format!("{time}  {}\n", line(event)));
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn line(event: &Event) -> String {
    match event {
        Event::Started { setup } => format!(
            "a specialist {} for {} on {}, gate of {} seeds, {} steps, trained by {}{}",
            setup.line,
            setup.scaffold,
            setup.model,
            setup.seeds.len(),
            setup.max_steps,
            setup.backend,
            setup
                .policy
                .map_or_else(String::new, |policy| format!(", policy {}", policy.word())),
        ),
        Event::Traced { runs } => {
            let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
            format!("traces: {}", runs.join(", "))
        }
        Event::Proposed { recipe } => format!("recipe {recipe}"),
        Event::NoRecipe { why } => format!("no further recipe: {why}"),
        Event::Approved { reuse, configs, .. } => format!(
            "the recipe is approved: {}; {}",
            reuse
                .as_ref()
                .map_or_else(|| "new data".to_owned(), |of| format!("the data of {of} again")),
            configs.join(", ")
        ),
        Event::Selected { selection } => format!("selection {selection}"),
        Event::Certified { data } => format!(
            "{} examples of {} are certified: {}",
            data.examples,
            data.selection,
            data.file.display()
        ),
        Event::Trained { adapter } => format!(
            "trained {} (loss {:.4}{})",
            adapter.file.display(),
            adapter.loss,
            adapter
                .held_out
                .map_or_else(String::new, |loss| format!(", held out {loss:.4}"))
        ),
        Event::Judged { verdict } => format!(
            "{}: {:.1}% against {:.1}% ({})",
            verdict.outcome.word(),
            verdict.mean * 100.0,
            verdict.parent_mean * 100.0,
            verdict.run
        ),
        Event::Ended { why } => format!("the iteration ends: {why}"),
    }
}
