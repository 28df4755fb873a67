//! `automem metrics`: what agents did with their steps and their memory, in numbers.

use std::fmt::Write;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;

use super::output;
use crate::analysis::{Analysis, ROWS, RunMetrics, analyse};
use crate::jobs::Cancel;
use crate::protocol::sanitize::clean;
use crate::store::StoreError;

/// Measure runs: unproductive actions, redundant writes, empty retrievals, tokens, and more (docs/METRICS.md
/// defines each). Several runs stand side by side, with their ratio to the first.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run files
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Show every episode by itself, too
    #[arg(long)]
    episodes: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut runs = Vec::new();
    for path in &args.runs {
        runs.push(measured(path)?.metrics);
    }
    if args.json {
        let paper: serde_json::Map<_, _> = ROWS
            .iter()
            .filter(|row| !row.paper.is_empty())
            .map(|row| (row.name.to_owned(), row.paper.into()))
            .collect();
        output::print_json(&json!({ "runs": runs, "paper": paper }))?;
    } else {
        let mut text = String::new();
        let mut columns: Vec<(String, &crate::analysis::Metrics)> = Vec::new();
        for run in &runs {
            columns.push((run.run.clone(), &run.metrics));
            if args.episodes {
                let episodes = run.episodes.iter();
                columns
                    .extend(episodes.map(|one| (format!("episode {} seed {}", one.episode, one.seed), &one.metrics)));
            }
        }
        table(&mut text, &columns);
        runs.iter().for_each(|run| notes(&mut text, run));
        output::print_text(&clean(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a run; a terminal is told how far it is when it takes long.
///
/// # Errors
/// When there is no such run or it is damaged.
pub(super) fn measured(path: &Path) -> Result<Analysis, StoreError> {
    let (began, terminal) = (Instant::now(), std::io::stderr().is_terminal());
    let mut shown = None;
    let analysis = analyse(path, &Cancel::new(), &mut |progress| {
        let due = began.elapsed() > Duration::from_secs(1)
            && shown.is_none_or(|at: Instant| at.elapsed() > Duration::from_millis(200));
        if terminal && due {
            shown = Some(Instant::now());
            eprint!("\r\x1b[Kmeasuring: {} of {} steps", progress.done, progress.total);
            // A line of progress that cannot be written is no loss.
            drop(std::io::stderr().flush());
        }
    });
    if shown.is_some() {
        eprint!("\r\x1b[K");
    }
    analysis
}

/// One line a number, one column a run.
fn table(text: &mut String, columns: &[(String, &crate::analysis::Metrics)]) {
    let several = columns.len() > 1;
    let width = columns
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        .max(if several { 20 } else { 12 });
    let _ = write!(text, "{:<34}", "");
    for (name, _) in columns {
        let _ = write!(text, "{name:>width$}  ");
    }
    text.push_str("in the paper, v0 to evolved\n");
    for row in ROWS {
        let _ = write!(text, "{:<34}", row.label);
        let first = columns.first().and_then(|(_, metrics)| (row.get)(metrics));
        for (at, (_, metrics)) in columns.iter().enumerate() {
            let value = (row.get)(metrics);
            let mut cell = row.unit.show(value);
            if at > 0 {
                match (first, value) {
                    (Some(first), Some(value)) if first != 0.0 => {
                        let _ = write!(cell, " x{:.2}", value / first);
                    }
                    _ => cell.push_str("      "),
                }
            }
            let _ = write!(text, "{cell:>width$}  ");
        }
        let _ = writeln!(text, "{}", row.paper);
    }
    while text.contains(" \n") {
        *text = text.replace(" \n", "\n");
    }
}

/// What else is to be said of a run: its files, and what makes its numbers say little.
fn notes(text: &mut String, run: &RunMetrics) {
    let _ = writeln!(
        text,
        "\n{}: scaffold {}, model {}, {} episode{}",
        run.run,
        run.scaffold,
        run.model,
        run.episodes.len(),
        if run.episodes.len() == 1 { "" } else { "s" }
    );
    if run.metrics.steps == 0 {
        text.push_str("  no step of it is finished yet, so there is nothing to measure\n");
        return;
    }
    for file in &run.metrics.files {
        let _ = writeln!(
            text,
            "  {:<28} {:>8.0} B {:>6.0} lines  {:>7.2} B a step  {:>5} writes, {} redundant  {:>7.2} chars a step  {:>5} reads, {} empty, {} whole",
            file.path,
            file.bytes,
            file.lines,
            file.growth_per_step.unwrap_or(0.0),
            file.writes,
            file.redundant_writes,
            file.chars_written_per_step.unwrap_or(0.0),
            file.retrievals,
            file.empty_retrievals,
            file.whole_reads
        );
    }
}
