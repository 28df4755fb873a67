//! `automem watch`: plays episodes and shows them as they are played.

use std::process::ExitCode;

use super::{config, output, plan::PlanArgs};
use crate::agent::{self, AgentError};
use crate::config::Workspace;
use crate::tui::{self, Farewell, Open, Start};

/// Arguments of `automem watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Colours: name or path of a theme [default: theme of config.toml, dark]
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
    let workspace = Workspace::find()?;
    let settings = config::for_screen(&workspace, args.theme)?;
    let mut plan = args.plan.plan(&workspace, &settings.run)?;
    let (model, pace) = tui::paced(plan.model, settings.scripted.step_ms);
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
        workspace,
        open: Open::Live(handle, pace),
        settings,
    })?;
    say(&farewell)
}

/// The list of runs, for `automem` without a verb.
pub(super) fn runs() -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    let settings = config::for_screen(&workspace, None)?;
    let farewell = tui::run(Start {
        workspace,
        open: Open::Runs,
        settings,
    })?;
    say(&farewell)
}

/// What is left to say when the screen is gone.
pub(super) fn say(farewell: &Farewell) -> anyhow::Result<ExitCode> {
    for (run, open) in &farewell.runs {
        let run = run.display();
        let mut text = format!("{run}\nwatch it again: automem replay {run}\n");
        if *open {
            text.push_str(&format!("go on with it:  automem resume {run}\n"));
        }
        output::print_text(&text)?;
    }
    match &farewell.problem {
        Some(problem) => anyhow::bail!("{problem}"),
        None => Ok(ExitCode::SUCCESS),
    }
}
