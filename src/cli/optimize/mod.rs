//! `automem optimize`: improves a scaffold in rounds of evaluation, revision, decision and gate.

mod list;
pub(super) mod told;

pub(super) use list::ledger_rows;
pub(super) use told::Teller;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Subcommand, ValueEnum};

use super::plan::ModelArgs;
use super::teller::{ended, policy_is_set};
use super::{interrupt, output};
use crate::agent;
use crate::config::{Settings, Workspace};
use crate::evolve::session::{Log, Session, SessionError, Setup};
use crate::evolve::{Reviser, ReviserError, ReviserOptions, open_reviser};
use crate::jobs::Cancel;
use crate::review::Policy;
use crate::scaffold::{Scaffold, line_of};
use crate::types::Seeds;

/// Improve a scaffold: its episodes are examined, revisions are proposed, decided on, and played against it on the
/// same seeds; what is better becomes the next version. Nothing is applied without a decision.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The world [default: run.env of config.toml, crafter]
    #[arg(long)]
    env: Option<String>,
    /// Name of the scaffold to begin with [default: run.scaffold, crafter-v0]
    #[arg(long)]
    scaffold: Option<String>,
    /// The gate's seeds, an episode each
    #[arg(long, default_value = "42..51")]
    seeds: Seeds,
    /// Iterations: each ends with a promotion, or when its attempts are used up
    #[arg(long, default_value_t = 5, value_name = "N")]
    iterations: u32,
    /// Who writes revisions: rules (a program), anthropic:MODEL, openai:MODEL@URL, command:'COMMAND LINE' or
    /// recorded:FILE
    #[arg(long, default_value = "rules", value_name = "SPEC")]
    meta: String,
    /// Tokens a meta-LLM may use for one revision [default: meta.token_budget]
    #[arg(long, value_name = "N")]
    meta_tokens: Option<u64>,
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
    /// Seed of the model's draws
    #[arg(long, default_value_t = 0, value_name = "N")]
    sampling_seed: u64,
    /// Decide in a person's place: every part alike. It is recorded with each decision
    #[arg(long)]
    policy: Option<PolicyWord>,
    /// Name under which promoted revisions are kept [default: the scaffold's own when it is in the workspace, else
    /// NAME-auto]
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
    /// Go on with an optimization that was interrupted; the newest without a name
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["env", "scaffold", "line"])]
    resume: Option<String>,
    #[command(flatten)]
    model_options: ModelArgs,
    /// Print what happens as JSON lines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyWord {
    /// Accept every part
    Accept,
    /// Reject every part
    Reject,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List optimizations and where they stand
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what happened in an optimization
    Show {
        /// Which
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the ledger: one row a gate
    Ledger {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match &args.verb {
        Some(Verb::List { json }) => return list::list(&workspace, *json),
        Some(Verb::Show { name, json }) => return list::show(&workspace, name, *json),
        Some(Verb::Ledger { json }) => return list::ledger(&workspace, *json),
        None => {}
    }
    let settings = Settings::load(&workspace)?.settings;
    let cancel = interrupt::cancel_on_signals()?;
    let session = match &args.resume {
        Some(name) => resume(name, &args, &workspace, &settings, &cancel),
        None => begin(&args, &workspace, &settings, &cancel),
    };
    match session {
        Ok(session) => follow(session, args.json),
        Err(error) => match error.downcast_ref::<SessionError>() {
            Some(SessionError::Setup { .. }) => {
                output::print_error(&error);
                Ok(ExitCode::from(2))
            }
            _ => Err(error),
        },
    }
}

fn begin(args: &Args, workspace: &Workspace, settings: &Settings, cancel: &Cancel) -> anyhow::Result<Session> {
    let run = &settings.run;
    let scaffold = args.scaffold.clone().unwrap_or_else(|| run.scaffold.clone());
    // By its own name: that is what the line and the log know it by.
    let scaffold = Scaffold::named(&scaffold, workspace)?.manifest().name.clone();
    let setup = Setup {
        env: args.env.clone().unwrap_or_else(|| run.env.clone()),
        line: args.line.clone().unwrap_or_else(|| line_of(&scaffold, workspace)),
        scaffold,
        seeds: args.seeds.0.clone(),
        max_steps: args.max_steps.unwrap_or(run.max_steps),
        workers: args.workers.unwrap_or(run.workers),
        iterations: args.iterations,
        meta: args.meta.clone(),
        meta_tokens: args.meta_tokens.unwrap_or(settings.meta.token_budget),
        model: args.model.clone().unwrap_or_else(|| run.model.clone()),
        specialist: args.specialist.clone().or_else(|| run.specialist.clone()),
        threads: args.model_options.threads.or(run.threads),
        context: args.model_options.context.or(run.context),
        sampling_seed: args.sampling_seed,
        policy: args.policy.map(|policy| match policy {
            PolicyWord::Accept => Policy::Accept,
            PolicyWord::Reject => Policy::Reject,
        }),
    };
    setup.check(workspace)?;
    let reviser = open(&setup, workspace, settings)?;
    let model = models(&setup, workspace, settings)?;
    Ok(Session::begin(workspace, &setup, model, reviser, cancel.clone())?)
}

fn resume(
    name: &str,
    args: &Args,
    workspace: &Workspace,
    settings: &Settings,
    cancel: &Cancel,
) -> anyhow::Result<Session> {
    let log = Log::open(workspace)?;
    let listed = if name.is_empty() {
        let open = log.list()?.into_iter().find(|listed| !listed.state.is_over());
        let Some(open) = open else {
            bail!("no optimization is unfinished; `automem optimize list` shows them all");
        };
        open
    } else {
        log.one(name)?
    };
    let setup = listed.state.setup;
    if args.policy.is_some() {
        return Err(policy_is_set(&listed.name, "an optimization", setup.policy));
    }
    let reviser = open(&setup, workspace, settings)?;
    let model = models(&setup, workspace, settings)?;
    Ok(Session::resume(
        workspace,
        &listed.name,
        model,
        reviser,
        cancel.clone(),
    )?)
}

pub(super) fn open(
    setup: &Setup,
    workspace: &Workspace,
    settings: &Settings,
) -> Result<Box<dyn Reviser>, ReviserError> {
    open_reviser(&setup.meta, &ReviserOptions::of(workspace, settings))
}

pub(super) fn models(setup: &Setup, workspace: &Workspace, settings: &Settings) -> anyhow::Result<agent::Models> {
    let options = ModelArgs {
        threads: setup.threads,
        context: setup.context,
    };
    let options = options.options(workspace, settings, setup.workers, false);
    let specialist = setup.specialist.as_deref();
    Ok(agent::open_models(&setup.model, specialist, &setup.env, &options)?)
}

/// Tells what happens until it is over, interrupted, or fails.
fn follow(mut session: Session, json: bool) -> anyhow::Result<ExitCode> {
    let name = session.name().to_owned();
    let mut teller = told::Teller::new(json);
    let done = session.run(&mut |news| teller.tell(&news));
    teller.end();
    Ok(ended(done, SessionError::is_cancelled, "optimize", &name))
}
