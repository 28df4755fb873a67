//! `automem run`: plays episodes without a screen and prints what came of them.

use std::process::ExitCode;

use super::{interrupt, output, plan::PlanArgs, progress};
use crate::agent::{self, AgentError, RunHandle, RunReport};
use crate::config::{Settings, Workspace};
use crate::types::EndReason;

/// Arguments of `automem run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Plays.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    let settings = Settings::load(&workspace)?.settings;
    let plan = args.plan.plan(&workspace, &settings.run)?;
    match agent::start(plan) {
        Ok(handle) => follow(handle, args.json),
        Err(error @ AgentError::Plan { .. }) => {
            output::print_error(&error.into());
            Ok(ExitCode::from(2))
        }
        Err(error) => Err(error.into()),
    }
}

/// Shows progress until the run is over, then prints its report. 1 when an episode failed.
pub(super) fn follow(handle: RunHandle, json: bool) -> anyhow::Result<ExitCode> {
    interrupt::stop_on_signals(&handle.controls)?;
    if !json {
        progress::show(&handle);
    }
    let report = handle.wait()?;
    if json {
        output::print_json(&report)?;
    } else {
        output::print_text(&table(&report))?;
    }
    let failed = report
        .episodes
        .iter()
        .any(|episode| episode.end == Some(EndReason::Failed));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(report: &RunReport) -> String {
    let mut text = format!(
        "{:>7} {:>6} {:>6} {:>8} {:>12} {:>14} {:>8}  end\n",
        "episode", "seed", "steps", "return", "progression", "prompt tokens", "cached"
    );
    for episode in &report.episodes {
        let cached = episode.cached_tokens as f64 * 100.0 / (episode.prompt_tokens as f64).max(1.0);
        text.push_str(&format!(
            "{:>7} {:>6} {:>6} {:>8.2} {:>11.1}% {:>14} {:>7.0}%  {}\n",
            episode.episode.0,
            episode.seed,
            episode.steps,
            episode.total_reward,
            episode.progression * 100.0,
            episode.prompt_tokens,
            cached,
            episode.end.map_or("open", EndReason::word),
        ));
    }
    text.push_str(&format!(
        "mean progression {:.1}%\n{run}\nwatch it: automem replay {run}\n",
        report.mean_progression * 100.0,
        run = report.run
    ));
    text
}
