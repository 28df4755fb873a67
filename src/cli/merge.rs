//! `automem merge`: several runs of the same kind as one run file.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{interrupt, output};
use crate::agent;
use crate::protocol::sanitize::clean;

/// Arguments of `automem merge`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run files that are over: the shards of `automem run --shard`, in the order their episodes shall have
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The new run file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Merges.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cancel = interrupt::cancel_on_signals()?;
    let merged = agent::merge(&args.runs, &args.out, &cancel, &mut |_, _| {})?;
    if args.json {
        output::print_json(&merged)?;
    } else {
        let steps: u64 = merged.episodes.iter().map(|episode| u64::from(episode.steps)).sum();
        output::print_text(&clean(&format!(
            "{} runs, {} episodes, {steps} steps: {run}\nwatch it: automem replay {run}\n",
            args.runs.len(),
            merged.episodes.len(),
            run = merged.run.display()
        )))?;
    }
    Ok(ExitCode::SUCCESS)
}
