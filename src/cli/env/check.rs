//! `automem env check`: a worker against the contract.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::output;
use crate::env::worker::{self, CheckOptions, CheckReport, Limits, Outcome};

/// Arguments of `automem env check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Steps of the episode that is played in two processes
    #[arg(long, default_value_t = 200)]
    steps: usize,
    /// Its seed
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Seconds the worker may take to greet, to reset, and for a step
    #[arg(long, default_value_t = 20.0, value_name = "SECONDS")]
    patience: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// The worker's command, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Checks; 1 when a check failed.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let patience = Duration::from_secs_f64(args.patience.clamp(0.05, 3600.0));
    let options = CheckOptions {
        limits: Limits {
            hello: patience,
            reset: patience,
            step: patience,
            ..Limits::default()
        },
        steps: args.steps,
        seed: args.seed,
    };
    let report = worker::check(args.command, options);
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print_text(&table(&report))?;
    }
    Ok(if report.passed() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn table(report: &CheckReport) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let sign = match check.outcome {
            Outcome::Passed => "ok    ",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "-     ",
        };
        text.push_str(&format!("{sign}  {}\n", check.name));
        for line in check.told.lines() {
            text.push_str(&format!("          {line}\n"));
        }
    }
    let failed = report.checks.iter().filter(|check| check.outcome == Outcome::Failed);
    text.push_str(&match failed.count() {
        0 => "the worker keeps to the contract\n".to_owned(),
        1 => "1 check failed\n".to_owned(),
        count => format!("{count} checks failed\n"),
    });
    text
}
