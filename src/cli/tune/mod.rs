//! `automem tune`: from traces to a memory specialist.

mod postprocess;

use std::process::ExitCode;

use clap::Subcommand;

/// Train a memory specialist from traces
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Clean a list of conversations for training, and count what was dropped
    Postprocess(postprocess::Args),
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Postprocess(args) => postprocess::run(args),
    }
}
