//! The command line: one file a verb, one table of verbs.
//!
//! Owns arguments, what is printed and exit codes. Must not do the work: it calls the house.

mod adapter;
mod bar;
mod bench;
mod blame;
mod completions;
mod config;
mod curate;
mod doctor;
mod env;
mod export;
mod improve;
mod interrupt;
mod man;
mod memory;
mod merge;
mod metrics;
mod model;
mod optimize;
mod output;
mod plan;
mod progress;
mod proposals;
mod replay;
mod resume;
mod review;
mod run;
mod scaffold;
mod screenshot;
mod search;
mod setup;
mod show;
mod teller;
mod train;
mod tune;
mod verify;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Defines the verbs: one line each, from which the parser and the dispatch follow.
macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident => $module:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($(#[$doc])* $verb($module::Args),)*
        }

        fn dispatch(verb: Verb) -> anyhow::Result<ExitCode> {
            match verb {
                $(Verb::$verb(args) => $module::run(args),)*
            }
        }
    };
}

verbs! {
    /// Play episodes without a screen
    Run => run,
    /// Play episodes and watch them
    Watch => watch,
    /// Open a recorded run on the Watch screen
    Replay => replay,
    /// Go on with a run that was interrupted
    Resume => resume,
    /// Put the shards of a run into one run file
    Merge => merge,
    /// Play a run's actions again and compare every observation
    Verify => verify,
    /// What happened in a step: observation, turns, operations, action, reward
    Show => show,
    /// The memory directory as it was at a step
    Memory => memory,
    /// Which step wrote each line of a memory file, and who read it since
    Blame => blame,
    /// Find a text in everything a run recorded
    Search => search,
    /// What an agent did with its steps and its memory, in numbers; several runs side by side
    Metrics => metrics,
    /// What goes wrong in a run, and which memory decisions its failures go back to
    Review => review,
    /// Write a run's events as JSON lines
    Export => export,
    /// Draw a screen to a file or to stdout
    Screenshot => screenshot,
    /// Begin, check, show, list and compare scaffolds
    Scaffold => scaffold,
    /// What waits for a decision: show, decide, apply, undo, and the log of it
    Proposals => proposals,
    /// Improve a scaffold: revisions that a person decides on, gated on fixed seeds
    Optimize => optimize,
    /// What could be trained on: list, select, decide, certify
    Curate => curate,
    /// Train a memory specialist: what a person accepts of the agent's own decisions, gated on fixed seeds
    Tune => tune,
    /// Go through a plan of optimizations and tunings, each from what the one before it reached
    Improve => improve,
    /// Train a LoRA adapter on a set of conversations
    Train => train,
    /// Fetch, list, describe, measure and requantise models
    Model => model,
    /// Describe LoRA adapters, bring them in from PEFT's form and send them out
    Adapter => adapter,
    /// Show, check and explain the settings and keys
    Config => config,
    /// Install games that are not part of this program: NetHack and MiniHack
    Setup => setup,
    /// Run a world by itself, or check a worker of your own
    Env => env,
    /// Serve a world to another program: JSON lines on stdin and stdout
    Worker => worker,
    /// Measure the program on this machine
    Bench => bench,
    /// What this terminal, machine and workspace offer; what is wrong, and how to mend it
    Doctor => doctor,
    /// Print completions for a shell
    Completions => completions,
    /// Print the manual, or write all its pages into a folder
    Man => man,
}

/// Watch an LLM agent play long games while it manages its own memory files.
#[derive(Debug, Parser)]
#[command(name = "automem", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The whole command line as data.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Parses the arguments and runs the verb. Exit codes: 0 done, 1 failed, 2 wrong use.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.verb {
        Some(verb) => dispatch(verb),
        None => watch::runs(),
    };
    result.unwrap_or_else(|error| {
        output::print_error(&error);
        ExitCode::FAILURE
    })
}
