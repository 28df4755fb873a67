//! `automem watch`: plays episodes and shows them as they are played.

use std::process::ExitCode;

use super::{output, plan::PlanArgs};
use crate::agent::{self, AgentError};
use crate::config::Workspace;
use crate::tui::{self, Farewell, Open, Start};

/// Arguments of `automem watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Colours: name or path of a theme (dark, light, colorblind, monochrome, or your own)
    #[arg(long)]
    theme: Option<String>,
}

/// Plays and shows.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    use std::io::IsTerminal as _;
    // Said before a run is begun that nobody would see.
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(tui::TuiError::NoTerminal.into());
    }
    let mut plan = args.plan.plan()?;
    let (model, pace) = tui::paced(plan.model);
    plan.model = model;
    let handle = match agent::start(plan) {
        Ok(handle) => handle,
        Err(error @ AgentError::Plan { .. }) => {
            output::print_error(&error.into());
            return Ok(ExitCode::from(2));
        }
        Err(error) => return Err(error.into()),
    };
    let farewell = tui::run(Start {
        workspace: Workspace::find()?,
        open: Open::Live(handle, pace),
        theme: args.theme,
    })?;
    say(&farewell)
}

/// The list of runs, for `automem` without a verb.
pub(super) fn runs() -> anyhow::Result<ExitCode> {
    let farewell = tui::run(Start {
        workspace: Workspace::find()?,
        open: Open::Runs,
        theme: None,
    })?;
    say(&farewell)
}

/// What is left to say when the screen is gone.
pub(super) fn say(farewell: &Farewell) -> anyhow::Result<ExitCode> {
    if let Some(run) = &farewell.run {
        let run = run.display();
        let mut text = format!("{run}\nwatch it again: automem replay {run}\n");
        if farewell.open {
            text.push_str(&format!("go on with it:  automem resume {run}\n"));
        }
        output::print_text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
