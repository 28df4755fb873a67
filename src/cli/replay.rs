//! `automem replay`: watches a recorded run, forwards and backwards.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{config, watch};
use crate::config::Workspace;
use crate::tui::{self, Open, Start};
use crate::types::{EpisodeNo, StepNo};

/// Arguments of `automem replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Episode
    #[arg(long, default_value_t = 0)]
    episode: u32,
    /// Step to begin with
    #[arg(long)]
    step: Option<u32>,
    /// Colours: name or path of a theme [default: theme of config.toml, dark]
    #[arg(long)]
    theme: Option<String>,
}

/// Shows it.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // A file that cannot be read is said before the screen is taken.
    crate::store::Reader::open(&args.run)?;
    let workspace = Workspace::find()?;
    let settings = config::for_screen(&workspace, args.theme)?;
    let farewell = tui::run(Start {
        workspace,
        open: Open::Replay {
            path: args.run,
            episode: EpisodeNo(args.episode),
            step: args.step.map(StepNo),
        },
        settings,
    })?;
    watch::say(&farewell)
}
