//! `automem proposals gate`: plays what came out of the decisions against its parent on the same seeds.

use std::process::ExitCode;

use anyhow::bail;

use super::print;
use crate::agent::{self, RunPlan};
use crate::cli::interrupt;
use crate::cli::optimize::Teller;
use crate::cli::plan::ModelArgs;
use crate::config::Settings;
use crate::evolve::session::News;
use crate::gate::{self, GateError};
use crate::review::{Desk, State, What};
use crate::scaffold::{Scaffold, digest_of};
use crate::types::{Digest, Sampling, Seeds};

/// Play a proposal's result and its parent on the same seeds. Goes on where it was interrupted.
#[derive(Debug, clap::Args)]
pub(super) struct Gate {
    /// The proposal
    id: String,
    /// Seeds, an episode each
    #[arg(long, default_value = "42..51")]
    seeds: Seeds,
    /// Who plays; as for `automem run` [default: run.model, scripted]
    #[arg(long)]
    model: Option<String>,
    /// The memory specialist; as for `automem run` [default: run.specialist, none]
    #[arg(long, value_name = "SPEC")]
    specialist: Option<String>,
    /// Steps an episode may take [default: run.max_steps, 300]
    #[arg(long)]
    max_steps: Option<u32>,
    /// Episodes played at once [default: run.workers, 1]
    #[arg(long)]
    workers: Option<u32>,
    #[command(flatten)]
    model_options: ModelArgs,
    /// Print what happens as JSON lines, then the proposal
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(desk: &mut Desk, by: &str, args: Gate) -> anyhow::Result<ExitCode> {
    let id = super::id_of(&args.id);
    let dossier = desk.dossier(&id)?;
    let standing = &dossier.standing;
    if !matches!(standing.state, State::Checked | State::Gated | State::Gating) {
        bail!(
            "{id} is {}; only a result that passed its check is played",
            standing.state.word()
        );
    }
    let workspace = desk.workspace().clone();
    let settings = Settings::load(&workspace)?.settings;
    let files = standing.files(dossier.revision()?);
    let result = digest_of(&files);
    let revision = Scaffold::from_files(files)?;
    let parent = Scaffold::from_files(dossier.revision()?.base.clone())?;
    let plan = |scaffold: Scaffold, name: String, models: agent::Models| RunPlan {
        world: scaffold.manifest().env.clone(),
        out: workspace.runs_dir().join(format!("{name}.db")),
        scaffold,
        model: models.0,
        specialist: models.1,
        seeds: args.seeds.0.clone(),
        max_steps: args.max_steps.unwrap_or(settings.run.max_steps),
        workers: args.workers.unwrap_or(settings.run.workers),
        sampling: Sampling::default(),
        exact: false,
    };
    let workers = args.workers.unwrap_or(settings.run.workers);
    let options = args.model_options.options(&workspace, &settings, workers, false);
    let spec = args.model.as_ref().unwrap_or(&settings.run.model);
    let specialist = args.specialist.as_ref().or(settings.run.specialist.as_ref());
    let specialist = agent::wanted(specialist.map(String::as_str));
    let models = agent::open_models(spec, specialist, &revision.manifest().env, &options)?;
    // The same seeds, steps and model go on with the same files; others begin others.
    let players = match specialist {
        None => spec.clone(),
        Some(specialist) => format!("{spec} {specialist}"),
    };
    let kind = Digest::of(format!("{:?} {:?} {players}", args.seeds.0, args.max_steps)).short();
    let parent_name = format!("gate-{kind}-{}", parent.digest().short());
    let (before, reused) = gate::reusing(plan(parent, parent_name, models.clone()), &workspace)?;
    let after = plan(revision, format!("gate-{kind}-{id}-{}", result.short()), models);
    let mut seen = standing.seq;
    if standing.state != State::Gating {
        let run = after.out.display().to_string();
        seen = desk.append(&id, seen, by, What::GateStarted { result, run })?.seq;
    }
    let cancel = interrupt::cancel_on_signals()?;
    let mut teller = Teller::new(args.json);
    let played = gate::compare(&before, reused, &after, &cancel, &mut |gate| {
        teller.tell(&News::Gate { gate });
    });
    teller.end();
    match played {
        Ok(report) => desk.append(
            &id,
            seen,
            by,
            What::Gated {
                report: Box::new(report),
            },
        )?,
        Err(error) => {
            let why = error.to_string();
            desk.append(&id, seen, by, What::GateStopped { why })?;
            if matches!(error, GateError::Cancelled) {
                eprintln!("interrupted; the same command goes on");
                return Ok(ExitCode::from(130));
            }
            return Err(error.into());
        }
    };
    print::dossier(&desk.dossier(&id)?, args.json)?;
    Ok(ExitCode::SUCCESS)
}
