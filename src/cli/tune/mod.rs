//! `automem tune`: trains a memory specialist in rounds of selection, decision, training and gate.

mod list;
mod postprocess;
mod told;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueEnum};

use super::plan::ModelArgs;
use super::teller::{ended, policy_is_set};
use super::{interrupt, output};
use crate::config::{Settings, Workspace};
use crate::evolve::ReviserOptions;
use crate::jobs::Cancel;
use crate::llm::gguf::{Header, ModelInfo};
use crate::llm::{self, ModelOptions};
use crate::review::Policy;
use crate::tune::author::{Author, MetaAuthor, RulesAuthor};
use crate::tune::recipe::{self, Recipe, TrainConfig};
use crate::tune::select::Selector;
use crate::tune::session::{Backends, Log, Session, SessionError, Setup};
use crate::tune::train::{TrainBackend, child::ChildTrainer, llamafactory::LlamaFactory};
use crate::types::Seeds;

/// Train a memory specialist: the agent's own good memory decisions are selected, decided on, trained on, and what
/// comes out is played against what was there on the gate's seeds. Nothing is trained on without a decision.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The world [default: run.env of config.toml, crafter]
    #[arg(long)]
    env: Option<String>,
    /// Name of the scaffold [default: run.scaffold, crafter-v0]
    #[arg(long)]
    scaffold: Option<String>,
    /// The gameplay model and base of the adapter: a GGUF file or the name of one [default: run.model]
    #[arg(long)]
    model: Option<String>,
    /// Who plays the traces: `scripted`, or any model that --model should learn from [default: --model]
    #[arg(long)]
    player: Option<String>,
    /// Take traces from these runs; no episodes are played then
    #[arg(long, value_name = "FILE", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Episodes to play for traces, on random seeds that the gate does not use
    #[arg(long, default_value_t = 100, value_name = "N")]
    episodes: u32,
    /// Seed that those seeds are drawn with
    #[arg(long, default_value_t = 0, value_name = "N")]
    trace_seed: u64,
    /// The gate's seeds, an episode each
    #[arg(long, default_value = "42..51")]
    seeds: Seeds,
    /// Iterations: each is a recipe and ends with its gates
    #[arg(long, default_value_t = 5, value_name = "N")]
    iterations: u32,
    /// The first recipe, a TOML file [default: what is recommended for the world and the model's size]
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Its training configurations instead, in the form
    /// RANK:ALPHA:DROPOUT:LR:EPOCHS:BATCH:GRAD_ACCUM:CUTOFF:LR_SCHED:WARMUP:SAVE:NUM_GPUS:TARGET; two at most
    #[arg(long, value_name = "LINE", num_args = 1..=2)]
    train: Vec<String>,
    /// Its selector instead: rules, or a meta-LLM (anthropic:MODEL, openai:MODEL@URL, recorded:FILE)
    #[arg(long, value_name = "SPEC")]
    selector: Option<String>,
    /// Examples a set must have at least, instead of the recipe's
    #[arg(long, value_name = "N")]
    minimum: Option<u32>,
    /// Who writes the recipes that follow
    #[arg(long, default_value = "rules", value_name = "SPEC")]
    meta: String,
    /// Tokens a meta-LLM may use for one recipe [default: meta.token_budget]
    #[arg(long, value_name = "N")]
    meta_tokens: Option<u64>,
    /// Who trains
    #[arg(long, default_value = "native")]
    backend: Backend,
    /// The base model for LLaMA-Factory: a Hugging Face name or folder
    #[arg(long, value_name = "MODEL")]
    hf_model: Option<String>,
    /// Share of the examples that is kept back to measure on
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    held_out: f64,
    /// The specialist that is to be beaten at first [default: none, the bare model]
    #[arg(long, value_name = "ADAPTER")]
    specialist: Option<String>,
    /// Name of the specialist [default: SCAFFOLD-memory]
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
    /// Steps an episode may take [default: run.max_steps, 300]
    #[arg(long)]
    max_steps: Option<u32>,
    /// Episodes played at once [default: run.workers, 1]
    #[arg(long)]
    workers: Option<u32>,
    /// Seed of the model's draws
    #[arg(long, default_value_t = 0, value_name = "N")]
    sampling_seed: u64,
    /// Decide in a person's place: every recipe, and every item that was selected. It is recorded with each decision
    #[arg(long)]
    policy: Option<PolicyWord>,
    /// Go on with a tuning that was interrupted; the newest without a name
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["env", "scaffold", "line", "model", "runs", "recipe"])]
    resume: Option<String>,
    #[command(flatten)]
    model_options: ModelArgs,
    /// Print what happens as JSON lines
    #[arg(long)]
    json: bool,
}

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// This program, from the GGUF file itself
    Native,
    /// LLaMA-Factory, from the model's original files
    Llamafactory,
}

/// Who decides in a person's place.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PolicyWord {
    /// Accept everything that was selected or suggested
    Accept,
    /// Reject everything
    Reject,
}

impl From<PolicyWord> for Policy {
    fn from(word: PolicyWord) -> Self {
        match word {
            PolicyWord::Accept => Self::Accept,
            PolicyWord::Reject => Self::Reject,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Clean a list of conversations for training, and count what was dropped
    Postprocess(postprocess::Args),
    /// List tunings and where they stand
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what happened in a tuning
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
    let args = match args.verb {
        Some(Verb::Postprocess(args)) => return postprocess::run(args),
        _ => args,
    };
    let workspace = Workspace::find()?;
    match &args.verb {
        Some(Verb::List { json }) => return list::list(&workspace, *json),
        Some(Verb::Show { name, json }) => return list::show(&workspace, name, *json),
        Some(Verb::Postprocess(_)) | None => {}
    }
    let settings = Settings::load(&workspace)?.settings;
    let cancel = interrupt::cancel_on_signals()?;
    let session = match &args.resume {
        Some(name) => resume(name, &args, &workspace, &settings, &cancel),
        None => setup(&args, &workspace, &settings).and_then(|setup| {
            let backends = backends(&setup, args.hf_model.clone(), &workspace, &settings)?;
            Ok(Session::begin(&workspace, &setup, backends, cancel)?)
        }),
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

/// What the options ask for.
fn setup(args: &Args, workspace: &Workspace, settings: &Settings) -> anyhow::Result<Setup> {
    let run = &settings.run;
    let env = args.env.clone().unwrap_or_else(|| run.env.clone());
    let scaffold = args.scaffold.clone().unwrap_or_else(|| run.scaffold.clone());
    let model = args.model.clone().unwrap_or_else(|| run.model.clone());
    let base = base_of(&model, workspace, settings)?;
    let words = RecipeWords {
        file: args.recipe.as_deref(),
        train: &args.train,
        selector: args.selector.as_deref(),
        minimum: args.minimum,
    };
    let recipe = recipe_of(words, &env, &base)?;
    let setup = Setup {
        line: args.line.clone().unwrap_or_else(|| format!("{scaffold}-memory")),
        player: args.player.clone().unwrap_or_else(|| model.clone()),
        env,
        scaffold,
        model,
        base,
        runs: args.runs.clone(),
        episodes: args.episodes,
        trace_seed: args.trace_seed,
        seeds: args.seeds.0.clone(),
        max_steps: args.max_steps.unwrap_or(run.max_steps),
        workers: args.workers.unwrap_or(run.workers),
        iterations: args.iterations,
        recipe: recipe::write(&recipe),
        meta: args.meta.clone(),
        meta_tokens: args.meta_tokens.unwrap_or(settings.meta.token_budget),
        backend: match args.backend {
            Backend::Native => "native".to_owned(),
            Backend::Llamafactory => "llamafactory".to_owned(),
        },
        held_out: args.held_out,
        specialist: args.specialist.clone(),
        threads: args.model_options.threads.or(run.threads),
        context: args.model_options.context.or(run.context),
        sampling_seed: args.sampling_seed,
        policy: args.policy.map(Into::into),
    };
    setup.check(workspace)?;
    Ok(setup)
}

/// A recipe as it is asked for in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecipeWords<'a> {
    /// Its file; `None` takes what is recommended.
    pub(super) file: Option<&'a Path>,
    /// Training configurations instead of its own.
    pub(super) train: &'a [String],
    /// A selector instead of its own.
    pub(super) selector: Option<&'a str>,
    /// A minimum instead of its own.
    pub(super) minimum: Option<u32>,
}

/// The recipe for a world and a base model.
pub(super) fn recipe_of(words: RecipeWords<'_>, env: &str, base: &Path) -> anyhow::Result<Recipe> {
    let mut recipe = match words.file {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("{} could not be read", file.display()))?;
            recipe::read(&text).with_context(|| file.display().to_string())?
        }
        None => {
            let info = ModelInfo::of(&Header::open(base)?);
            recipe::prior(&crate::env::name_of(env), info.parameters)
        }
    };
    if !words.train.is_empty() {
        let lines = words.train.iter().map(|line| TrainConfig::parse_line(line));
        recipe.train = lines.collect::<Result<_, _>>()?;
    }
    if let Some(selector) = words.selector {
        recipe.data.selector = selector.to_owned();
    }
    if let Some(minimum) = words.minimum {
        recipe.data.min_target_examples = minimum;
    }
    Ok(recipe)
}

/// The file of the base model that adapters are trained on.
pub(super) fn base_of(model: &str, workspace: &Workspace, settings: &Settings) -> anyhow::Result<PathBuf> {
    let options = ModelOptions::of(workspace, settings);
    llm::model_file(model, &options).ok_or_else(|| {
        let error = SessionError::Setup {
            what: format!("an adapter is trained on a GGUF file, and `{model}` is none"),
            hint: "give --model FILE.gguf or a model's name (`automem model list`)".to_owned(),
        };
        error.into()
    })
}

/// Who does the work.
pub(super) fn backends(
    setup: &Setup,
    hf_model: Option<String>,
    workspace: &Workspace,
    settings: &Settings,
) -> anyhow::Result<Backends> {
    let args = ModelArgs {
        threads: setup.threads,
        context: setup.context,
    };
    let trainer: Box<dyn TrainBackend> = match setup.backend.as_str() {
        "llamafactory" => Box::new(LlamaFactory {
            hf_model: hf_model.unwrap_or_default(),
            ..LlamaFactory::default()
        }),
        _ => Box::new(ChildTrainer::new()?),
    };
    let author: Box<dyn Author> = match setup.meta.as_str() {
        "rules" => Box::new(RulesAuthor),
        spec => {
            let options = ReviserOptions::of(workspace, settings);
            let model = llm::open_tools(spec, &options.models)?;
            Box::new(MetaAuthor::new(model, options.max_tokens, options.prices))
        }
    };
    Ok(Backends {
        // Two models share the workers' slots.
        models: args.options(workspace, settings, setup.workers.saturating_mul(2), false),
        trainer,
        selector: Selector::of(workspace, settings, setup.seeds.clone()),
        author,
    })
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
            bail!("no tuning is unfinished; `automem tune list` shows them all");
        };
        open
    } else {
        log.one(name)?
    };
    let setup = listed.state.setup;
    if args.policy.is_some() {
        return Err(policy_is_set(&listed.name, "a tuning", setup.policy));
    }
    let backends = backends(&setup, args.hf_model.clone(), workspace, settings)?;
    Ok(Session::resume(workspace, &listed.name, backends, cancel.clone())?)
}

/// Tells what happens until it is over, interrupted, or fails.
fn follow(mut session: Session, json: bool) -> anyhow::Result<ExitCode> {
    let name = session.name().to_owned();
    let mut teller = told::Teller::new(json);
    let done = session.run(&mut |news| teller.tell(&news));
    teller.end();
    Ok(ended(done, SessionError::is_cancelled, "tune", &name))
}
