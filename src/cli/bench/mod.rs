//! `automem bench`: measures parts of the program against what they must reach.
//!
//! Owns the table of benches and how figures are printed. A bench is one file here and one line in
//! the table; it measures and must not print.

mod agent;
mod analysis;
mod crafter;
mod curate;
mod env;
mod llama;
mod scaffold;
mod specialist;
mod store;
mod train;
mod tui;

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::output;

/// Defines the benches: one line each, from which the parser and the dispatch follow.
macro_rules! benches {
    ($($(#[$doc:meta])* $bench:ident => $module:ident,)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Bench {
            $($(#[$doc])* $bench($module::Args),)*
        }

        fn measure(bench: &Bench) -> anyhow::Result<(&'static str, Vec<Figure>)> {
            match bench {
                $(Bench::$bench(args) => Ok((stringify!($module), $module::measure(args)?)),)*
            }
        }
    };
}

benches! {
    /// The agent's loop with the scripted player and recording on; a late step against an early one
    Agent => agent,
    /// Metrics, findings and faults of a run
    Analysis => analysis,
    /// Crafter: steps a second by day and by night, with and without text; reset
    Crafter => crafter,
    /// Candidates for training: listing and selecting those of many episodes
    Curate => curate,
    /// Worlds in a child process: start, and round trips a second with text
    Env => env,
    /// Local inference: prompt and decode speed, beside llama.cpp's own bench when that is there
    Llama => llama,
    /// A scaffold's script, and what crafter-v1 has its agent write beside crafter-v0
    Scaffold => scaffold,
    /// How often base and specialist write well-formed memory operations on recorded prompts
    Specialist => specialist,
    /// The run file: size, opening, any step, any file, memory needed
    Store => store,
    /// Training a LoRA adapter: tokens a second and memory
    Train => train,
    /// The screen: a frame, the first frame, no drawing when nothing changed
    Tui => tui,
}

/// Arguments of `automem bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    bench: Bench,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

/// A measured number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Figure {
    name: String,
    value: f64,
    unit: String,
    /// What it must reach; `None` where nothing is asked.
    target: Option<f64>,
    /// Which way it is good, where something is asked.
    better: Option<Better>,
    /// Whether it reaches it.
    met: Option<bool>,
}

/// Which way a figure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Better {
    /// As with speeds.
    Higher,
    /// As with times.
    Lower,
}

impl Figure {
    /// A figure that nothing is asked of.
    fn new(name: impl Into<String>, value: f64, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.into(),
            target: None,
            better: None,
            met: None,
        }
    }

    /// The same, which must not be lower.
    fn at_least(self, target: f64) -> Self {
        Self {
            target: Some(target),
            better: Some(Better::Higher),
            met: Some(self.value >= target),
            ..self
        }
    }

    /// The same, which must not be higher.
    fn at_most(self, target: f64) -> Self {
        Self {
            target: Some(target),
            better: Some(Better::Lower),
            met: Some(self.value <= target),
            ..self
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    bench: &'static str,
    /// Figures of a build for development say little.
    optimized: bool,
    figures: Vec<Figure>,
}

/// Measures and prints.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Bench::Store(args) = &args.bench
        && let Some(run) = args.probed()
    {
        return store::probe(run);
    }
    let (bench, figures) = measure(&args.bench)?;
    let report = Report {
        bench,
        optimized: !cfg!(debug_assertions),
        figures,
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print_text(&table(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for figure in &report.figures {
        let target = match (figure.better, figure.target, figure.met) {
            (Some(better), Some(target), met) => format!(
                "{} {target}{}",
                if better == Better::Higher { ">=" } else { "<=" },
                if met == Some(true) { "  met" } else { "  NOT met" }
            ),
            _ => String::new(),
        };
        let value = if figure.value >= 100.0 {
            format!("{:.0}", figure.value)
        } else {
            format!("{:.3}", figure.value)
        };
        text.push_str(&format!("{:<44}{value:>12} {:<9} {target}\n", figure.name, figure.unit));
    }
    if !report.optimized {
        text.push_str("built for development: measure a release build to compare with the targets\n");
    }
    text
}
