//! `automem curate`: candidates for training, selecting them, deciding on them, certifying what was accepted.

mod decide;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

/// List what could be trained on in runs, select, and decide. Nothing is trained on without a decision.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show a data selection: its items, what was decided, what is against it
    Show(show::Show),
    /// Accept or reject items of a data selection; commit
    Decide(decide::Decide),
    /// Make the training set of what was accepted: verbatim from the runs, postprocessed, certified
    Certify(show::Certify),
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        None => list::run(args.list),
        Some(Verb::Show(args)) => show::run(args),
        Some(Verb::Decide(args)) => decide::run(args),
        Some(Verb::Certify(args)) => show::certify(args),
    }
}
