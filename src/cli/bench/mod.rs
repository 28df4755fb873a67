//! `automem bench`: measures parts of the program against what they must reach.
//!
//! Owns how figures are printed. A bench is one file here and one line in [`Bench`].

mod llama;

use std::process::ExitCode;

use serde::Serialize;

/// Arguments of `automem bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// Local inference against llama.cpp's own bench
    Llama(llama::Args),
}

/// Runs a bench.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.bench {
        Bench::Llama(args) => llama::run(&args),
    }
}

/// A measured number.
#[derive(Debug, Clone, Serialize)]
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    /// What it must reach at least; `None` where nothing is asked.
    target: Option<f64>,
}

/// Prints figures.
fn print(bench: &str, figures: &[Figure], json: bool) -> anyhow::Result<()> {
    if json {
        return super::output::print_json(&serde_json::json!({"bench": bench, "figures": figures}));
    }
    let mut text = String::new();
    for figure in figures {
        let target = figure.target.map_or_else(String::new, |target| {
            let met = if figure.value >= target { "met" } else { "NOT met" };
            format!("   target {target}: {met}")
        });
        text.push_str(&format!(
            "{:<36} {:>12.2} {:<9}{target}\n",
            figure.name, figure.value, figure.unit
        ));
    }
    super::output::print_text(&text)
}
