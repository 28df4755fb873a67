//! `automem resume`: goes on with a run that was interrupted.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::plan::ModelArgs;
use super::run::follow;
use crate::agent;
use crate::config::{Settings, Workspace};
use crate::store::Reader;

/// Arguments of `automem resume`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Another model than the one the run was started with (or the place where it lies now)
    #[arg(long)]
    model: Option<String>,
    /// Another memory specialist than the last one of the run (or the place where it lies now); `none` goes on with one
    /// model
    #[arg(long, value_name = "SPEC")]
    specialist: Option<String>,
    #[command(flatten)]
    model_options: ModelArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Resumes.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reader = Reader::open(&args.run)?;
    if reader.is_finished() {
        return Err(agent::AgentError::Finished(args.run).into());
    }
    let meta = reader.meta().clone();
    drop(reader);
    let workspace = Workspace::find()?;
    let settings = Settings::load(&workspace)?.settings;
    let options = args
        .model_options
        .options(&workspace, &settings, meta.workers, meta.exact);
    let Some(spec) = args.model.or_else(|| agent::spec_of(&meta.model)) else {
        anyhow::bail!(
            "the run was played by `{}` ({}), which is not found by its name; give it with --model",
            meta.model.name,
            meta.model.backend
        );
    };
    let model = agent::open_model(&spec, &meta.world.name, &options).with_context(|| {
        format!("the run's model `{spec}` cannot be opened; where it lies now can be given with --model")
    })?;
    let specialist = agent::open_recorded_specialist(&args.run, &model, args.specialist.as_deref(), &options)?;
    follow(agent::resume(&args.run, model, specialist)?, args.json)
}
