//! `automem bench`: measures what was promised, on this machine.
//!
//! One file a bench. Every bench prints figures with their targets; none judges.

mod store;

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::output;

/// Measures a part of the program.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// The run file: size, opening, any step, any file, memory needed
    Store(store::Args),
}

/// Runs a bench.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.bench {
        Bench::Store(args) => store::run(args),
    }
}

/// One measured number.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Figure {
    name: String,
    value: f64,
    unit: String,
    /// What was promised, in words; empty when nothing was.
    target: String,
}

fn figure(name: &str, value: f64, unit: &str, target: &str) -> Figure {
    Figure {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        target: target.to_owned(),
    }
}

/// Prints the figures of a bench.
fn print(bench: &str, figures: &[Figure], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::print_json(&serde_json::json!({ "bench": bench, "figures": figures }))?;
    } else {
        let mut text = String::new();
        for figure in figures {
            text.push_str(&format!(
                "{:<38} {:>12.3} {:<8} {}\n",
                figure.name, figure.value, figure.unit, figure.target
            ));
        }
        output::print_text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
