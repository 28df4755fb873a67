//! `automem review`: what goes wrong in a run, and which memory decisions its failures go back to.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::metrics::measured;
use super::output;
use crate::analysis::{Analysis, Place};
use crate::protocol::sanitize::clean;

/// Look for known problems in a run, and trace its failures back to memory. `automem show RUN --episode E
/// --step N` shows a step that is named here.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let analysis = measured(&args.run)?;
    if args.json {
        output::print_json(&json!({ "findings": analysis.findings, "faults": analysis.faults }))?;
    } else {
        output::print_text(&clean(&as_text(&analysis)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(analysis: &Analysis) -> String {
    let mut out = String::new();
    let run = &analysis.metrics;
    let _ = writeln!(
        out,
        "{}: {} steps, progression {:.1} %",
        run.run,
        run.metrics.steps,
        run.metrics.progression * 100.0
    );
    if run.metrics.steps == 0 {
        out.push_str("no step of it is finished yet, so there is nothing to look at\n");
        return out;
    }
    for finding in &analysis.findings {
        let _ = write!(
            out,
            "\n[{}] {}\n    {}\n    steps: {}\n    try: {}\n    id: {}\n",
            finding.severity.word(),
            finding.title,
            finding.detail,
            places(&finding.steps),
            finding.advice,
            finding.id
        );
    }
    if analysis.findings.is_empty() {
        out.push_str("\nno rule found anything\n");
    }
    for fault in &analysis.faults {
        let _ = write!(out, "\n[{}] {}\n", fault.verdict.word(), fault.title);
        for link in &fault.chain {
            let _ = writeln!(out, "    {}: {}", place(&link.place), link.text);
        }
        let _ = write!(out, "    try: {}\n    id: {}\n", fault.advice, fault.id);
    }
    out
}

fn place(place: &Place) -> String {
    format!("{}:{}", place.episode, place.step)
}

fn places(steps: &[Place]) -> String {
    let steps: Vec<_> = steps.iter().map(place).collect();
    match steps.is_empty() {
        true => "-".to_owned(),
        false => steps.join(" "),
    }
}
