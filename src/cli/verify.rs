//! `automem verify`: plays the recorded actions again and compares every observation.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output;
use crate::agent;
use crate::jobs::Cancel;

/// Arguments of `automem verify`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Verifies. 1 when something is not as recorded.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let report = agent::verify(&args.run, &Cancel::new(), &mut |_| {})?;
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print_text(&match &report.first_difference {
            None => format!("{} steps are as recorded\n", report.steps),
            Some(found) => format!(
                "episode {} step {}: `{}` is not as recorded\nrecorded:  {}\nsimulated: {}\n",
                found.episode, found.step, found.field, found.recorded, found.simulated
            ),
        })?;
    }
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
