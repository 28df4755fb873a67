//! `automem bench`: measures parts of the program against what they must reach.
//!
//! Owns the table of benches and how figures are printed. A bench is one file here and one line in
//! [`BENCHES`]; it measures and must not print.

mod agent;
mod crafter;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use serde::Serialize;

/// A bench.
struct Bench {
    name: &'static str,
    run: fn(&Settings) -> anyhow::Result<Vec<Figure>>,
}

/// Every bench.
const BENCHES: &[Bench] = &[
    Bench {
        name: "crafter",
        run: crafter::run,
    },
    Bench {
        name: "agent",
        run: agent::run,
    },
];

/// Arguments of `automem bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to measure
    #[arg(value_parser = PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    bench: String,
    /// About how long each figure is measured
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    seconds: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What holds for every bench.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// About how long each figure is measured, in seconds.
    pub(super) seconds: f64,
}

/// A measured number.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    /// What it must reach; `None` where nothing is asked.
    target: Option<f64>,
    better: Better,
    /// Whether it does.
    met: Option<bool>,
}

/// Which way a figure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Better {
    /// As with speeds.
    Higher,
    /// As with times.
    Lower,
}

impl Figure {
    /// A figure and the target it is held against.
    pub(super) fn new(name: &'static str, value: f64, unit: &'static str, better: Better, target: Option<f64>) -> Self {
        let met = target.map(|target| match better {
            Better::Higher => value >= target,
            Better::Lower => value <= target,
        });
        Self {
            name,
            value,
            unit,
            target,
            better,
            met,
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    bench: String,
    /// Figures of a build for development say little.
    optimized: bool,
    figures: Vec<Figure>,
}

/// Measures and prints.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = Settings {
        seconds: args.seconds.clamp(0.01, 600.0),
    };
    let mut figures = Vec::new();
    for bench in BENCHES.iter().filter(|bench| bench.name == args.bench) {
        figures.extend((bench.run)(&settings)?);
    }
    let report = Report {
        bench: args.bench,
        optimized: !cfg!(debug_assertions),
        figures,
    };
    if args.json {
        super::output::print_json(&report)?;
    } else {
        super::output::print_text(&table(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for figure in &report.figures {
        let target = match (figure.target, figure.better, figure.met) {
            (Some(target), better, met) => format!(
                "{} {target}{}",
                if better == Better::Higher { ">=" } else { "<=" },
                if met == Some(true) { "  met" } else { "  NOT met" }
            ),
            (None, ..) => String::new(),
        };
        let value = if figure.value >= 100.0 {
            format!("{:.0}", figure.value)
        } else {
            format!("{:.3}", figure.value)
        };
        text.push_str(&format!("{:<28}{value:>14} {:<9} {target}\n", figure.name, figure.unit));
    }
    if !report.optimized {
        text.push_str("built for development: measure a release build to compare with the targets\n");
    }
    text
}
