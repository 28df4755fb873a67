//! `automem improve`: both loops by a plan, one stage after the other.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::json;

use super::teller::{Lines, Told, ended};
use super::tune::{RecipeWords, backends, base_of, recipe_of};
use super::{interrupt, optimize, output};
use crate::agent::Models;
use crate::config::{Settings, Workspace};
use crate::evolve::{Reviser, session::Setup as EvolveSetup};
use crate::improve::{self, ImproveError, ImproveNews, Improvement, Listed, Open, Plan, Stage, State};
use crate::protocol::sanitize::clean;
use crate::scaffold::line_of;
use crate::tune::recipe;
use crate::tune::session::{Backends, Setup as TuneSetup};
use crate::types::Seeds;

/// Go through a plan: stages of loop 1 (the scaffold) and loop 2 (the specialist), each from what the one before it
/// reached. Every stage keeps its own log; what was interrupted goes on where it was.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The plan, a TOML file
    #[arg(long, value_name = "FILE", required_unless_present = "resume")]
    plan: Option<PathBuf>,
    /// Go on with an improvement that was interrupted; the newest without a name
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with = "plan")]
    resume: Option<String>,
    /// Print what happens as JSON lines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List improvements and where they stand
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show an improvement's stages and the gates of all of them
    Show {
        /// Which
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match &args.verb {
        Some(Verb::List { json }) => return list(&workspace, *json),
        Some(Verb::Show { name, json }) => return show(&workspace, name, *json),
        None => {}
    }
    let settings = Settings::load(&workspace)?.settings;
    let cancel = interrupt::cancel_on_signals()?;
    let improvement = match (&args.plan, &args.resume) {
        (Some(file), _) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("{} could not be read", file.display()))?;
            match Plan::read(&text) {
                Ok(plan) => Improvement::begin(&workspace, &plan, cancel)?,
                Err(error) => {
                    output::print_error(&anyhow::Error::new(error).context(file.display().to_string()));
                    return Ok(ExitCode::from(2));
                }
            }
        }
        (None, name) => {
            let name = name.clone().unwrap_or_default();
            Improvement::resume(&workspace, &unfinished(&workspace, name)?, cancel)?
        }
    };
    follow(
        improvement,
        &Opener {
            workspace: &workspace,
            settings: &settings,
        },
        args.json,
    )
}

/// The name, or the newest that is not over.
fn unfinished(workspace: &Workspace, name: String) -> anyhow::Result<String> {
    if !name.is_empty() {
        return Ok(name);
    }
    let open = improve::list(workspace)?
        .into_iter()
        .find(|listed| !listed.state.is_over());
    match open {
        Some(listed) => Ok(listed.name),
        None => bail!("no improvement is unfinished; `automem improve list` shows them all"),
    }
}

fn follow(mut improvement: Improvement, from: &Opener<'_>, json: bool) -> anyhow::Result<ExitCode> {
    let name = improvement.name().to_owned();
    let mut teller = Lines::<ImproveNews>::new(json);
    let done = improvement.run(from, &mut |news| teller.tell(&news));
    teller.end();
    Ok(ended(done, ImproveError::is_cancelled, "improve", &name))
}

impl Told for ImproveNews {
    fn is_fleeting(&self) -> bool {
        match self {
            Self::Optimize { news } => news.is_fleeting(),
            Self::Tune { news } => news.is_fleeting(),
            _ => false,
        }
    }

    fn piece(&self) -> Option<&str> {
        match self {
            Self::Optimize { news } => news.piece(),
            _ => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Improving { name, stage } => format!("{name}: {stage}"),
            Self::Optimize { news } => news.line(),
            Self::Tune { news } => news.line(),
            Self::Reached { scaffold, specialist } => format!("reached: {}", reached(scaffold, specialist.as_deref())),
            Self::Done => "all stages are over".to_owned(),
        }
    }
}

fn reached(scaffold: &str, specialist: Option<&str>) -> String {
    format!(
        "scaffold {scaffold}, {}",
        specialist.map_or_else(
            || "no specialist".to_owned(),
            |specialist| format!("specialist {specialist}")
        )
    )
}

/// Makes stages from a plan and the settings.
struct Opener<'a> {
    workspace: &'a Workspace,
    settings: &'a Settings,
}

type Made<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

impl Open for Opener<'_> {
    fn optimization(&self, plan: &Plan, stage: &Stage, state: &State) -> Made<EvolveSetup> {
        let scaffold = state.scaffold.clone();
        let setup = EvolveSetup {
            env: plan.env.clone(),
            line: stage.line.clone().unwrap_or_else(|| line_of(&scaffold, self.workspace)),
            scaffold,
            seeds: plan.seeds.parse::<Seeds>()?.0,
            max_steps: plan.max_steps,
            workers: plan.workers,
            iterations: stage.iterations,
            meta: stage.meta.clone(),
            meta_tokens: self.settings.meta.token_budget,
            model: plan.model.clone(),
            specialist: state.specialist.clone(),
            threads: self.settings.run.threads,
            context: self.settings.run.context,
            sampling_seed: 0,
            policy: plan.policy,
        };
        setup.check(self.workspace)?;
        Ok(setup)
    }

    fn players(&self, setup: &EvolveSetup) -> Made<(Models, Box<dyn Reviser>)> {
        let models = optimize::models(setup, self.workspace, self.settings)?;
        Ok((models, optimize::open(setup, self.workspace, self.settings)?))
    }

    fn tuning(&self, plan: &Plan, stage: &Stage, state: &State) -> Made<TuneSetup> {
        let base = base_of(&plan.model, self.workspace, self.settings)?;
        let words = RecipeWords {
            file: stage.recipe.as_deref().map(std::path::Path::new),
            train: &stage.train,
            selector: None,
            minimum: stage.minimum,
        };
        let recipe = recipe_of(words, &plan.env, &base)?;
        let setup = TuneSetup {
            env: plan.env.clone(),
            line: stage
                .line
                .clone()
                .unwrap_or_else(|| format!("{}-memory", state.scaffold)),
            scaffold: state.scaffold.clone(),
            model: plan.model.clone(),
            base,
            player: stage.player.clone().unwrap_or_else(|| plan.model.clone()),
            runs: Vec::new(),
            episodes: stage.episodes.unwrap_or(100),
            trace_seed: state.done.len() as u64,
            seeds: plan.seeds.parse::<Seeds>()?.0,
            max_steps: plan.max_steps,
            workers: plan.workers,
            iterations: stage.iterations,
            recipe: recipe::write(&recipe),
            meta: stage.meta.clone(),
            meta_tokens: self.settings.meta.token_budget,
            backend: stage.backend.clone().unwrap_or_else(|| "native".to_owned()),
            held_out: 0.1,
            specialist: state.specialist.clone(),
            threads: self.settings.run.threads,
            context: self.settings.run.context,
            sampling_seed: 0,
            policy: plan.policy,
        };
        setup.check(self.workspace)?;
        Ok(setup)
    }

    fn backends(&self, setup: &TuneSetup, stage: &Stage) -> Made<Backends> {
        Ok(backends(setup, stage.hf_model.clone(), self.workspace, self.settings)?)
    }
}

fn list(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let all = improve::list(workspace)?;
    if as_json {
        output::print_json(&json!({ "improvements": all.iter().map(row).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: String = all
        .iter()
        .map(|listed| format!("{:<24} {}\n", listed.name, listed.state.word()))
        .collect();
    if all.is_empty() {
        text.push_str("no improvements yet; `automem improve --plan PLAN.toml` begins one\n");
    }
    output::print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn row(listed: &Listed) -> serde_json::Value {
    let state = &listed.state;
    json!({
        "name": listed.name, "begun": listed.begun, "touched": listed.touched, "stage": state.word(),
        "over": state.is_over(), "scaffold": state.scaffold, "specialist": state.specialist,
        "stages": state.done.iter().map(|(kind, name)| json!({ "kind": kind, "name": name })).collect::<Vec<_>>(),
        "running": state.running, "plan": state.plan,
    })
}

fn show(workspace: &Workspace, name: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let listed = improve::one(workspace, name)?;
    let rows = improve::rows(workspace, &listed.state)?;
    if as_json {
        output::print_json(&json!({ "improvement": row(&listed), "gates": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let state = &listed.state;
    let mut text = format!("{name}: {}\n", state.word());
    for (kind, stage) in &state.done {
        text.push_str(&format!("  {:<9} {stage}\n", kind.word()));
    }
    text.push_str(&format!(
        "reached: {}\n",
        reached(&state.scaffold, state.specialist.as_deref())
    ));
    text.push_str(&optimize::ledger_rows(&rows));
    output::print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}
