//! The options of a run, shared by `run` and `watch`, and how they become a plan.

use std::path::PathBuf;

use crate::agent::{self, RunPlan};
use crate::config::{RunSettings, Settings, Workspace};
use crate::env::{self as world, Address};
use crate::llm::ModelOptions;
use crate::scaffold::{Scaffold, ScaffoldError};
use crate::types::{Sampling, Seeds, Shard};

/// What to play and with whom.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PlanArgs {
    /// The world: crafter, nethack, minihack, NAME/TASK@ENGINE, or `worker:COMMAND` for a program of your own that
    /// speaks the worker protocol [default: run.env of config.toml, crafter]
    #[arg(long)]
    pub(super) env: Option<String>,
    /// The task inside the world, such as MiniHack-Corridor-R3-v0 [default: the world's first]
    #[arg(long)]
    pub(super) task: Option<String>,
    /// The engine that plays the world, such as nle [default: the world's usual one]
    #[arg(long)]
    pub(super) engine: Option<String>,
    /// A scaffold's name, or the path of its folder [default: run.scaffold, crafter-v0; the world's own -v0 where that does not fit]
    #[arg(long)]
    pub(super) scaffold: Option<String>,
    /// `scripted` (a program, no language model), a model's name, FILE.gguf, `openai:MODEL@http://host:port/v1` (a
    /// model on a server: llama.cpp, vLLM, OpenAI; the key comes from OPENAI_API_KEY), or recorded:FILE
    /// [default: run.model, scripted]
    #[arg(long)]
    pub(super) model: Option<String>,
    /// The memory specialist, which answers LOG and consults memory in PLAN while the model commits the action: a LoRA
    /// adapter of the local model (FILE.gguf, or its name in the workspace), or a whole model as for --model;
    /// `none` for one model [default: run.specialist, none]
    #[arg(long, value_name = "SPEC")]
    pub(super) specialist: Option<String>,
    /// Seeds, one episode each: 42, or 42..45 (four of them), or 1,2,9 [default: run.seeds, 42]
    #[arg(long)]
    pub(super) seeds: Option<Seeds>,
    /// Play a share of the seeds only, for machines that work side by side: 2/8 plays every eighth, beginning with the
    /// second. The run file's name gets the shard too; `automem merge` puts the shards together
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    /// Steps an episode may take [default: run.max_steps, 300]
    #[arg(long)]
    pub(super) max_steps: Option<u32>,
    /// Episodes played at once [default: run.workers, 1]
    #[arg(long)]
    pub(super) workers: Option<u32>,
    /// The run file [default: a new one in the workspace]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Repeat to the bit with local models: one worker, nothing kept in the cache (slow)
    #[arg(long)]
    pub(super) exact: bool,
    /// Seed of the model's draws
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(super) sampling_seed: u64,
    #[command(flatten)]
    pub(super) model_options: ModelArgs,
}

/// How a local model is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ModelArgs {
    /// Threads of a local model [default: run.threads, what the machine has]
    #[arg(long)]
    pub(super) threads: Option<u32>,
    /// Tokens of a local model's context [default: run.context, what the model has]
    #[arg(long)]
    pub(super) context: Option<u32>,
}

impl ModelArgs {
    /// The options for the back ends.
    pub(super) fn options(
        &self,
        workspace: &Workspace,
        settings: &Settings,
        workers: u32,
        exact: bool,
    ) -> ModelOptions {
        ModelOptions {
            threads: self.threads.or(settings.run.threads),
            context: self.context.or(settings.run.context),
            // One slot a phase and episode, so that LOG and PLAN keep their prompts apart.
            slots: Some(workers.saturating_mul(2)),
            exact,
            ..ModelOptions::of(workspace, settings)
        }
    }
}

impl PlanArgs {
    /// The scaffold that was asked for; else the usual one, if it is for this world, or the world's own plain one.
    fn scaffold(&self, env: &str, run: &RunSettings, workspace: &Workspace) -> Result<Scaffold, ScaffoldError> {
        if let Some(name) = &self.scaffold {
            return Scaffold::named(name, workspace);
        }
        let usual = Scaffold::named(&run.scaffold, workspace)?;
        if world::leads_to(env, &usual.manifest().env) {
            return Ok(usual);
        }
        Scaffold::named(&format!("{}-v0", world::name_of(env)), workspace).or(Ok(usual))
    }

    /// Loads scaffold and model and settles where the run is written.
    ///
    /// # Errors
    /// When one of them does not exist or cannot be used.
    pub(super) fn plan(&self, workspace: &Workspace, settings: &Settings) -> anyhow::Result<RunPlan> {
        let run = &settings.run;
        let address = self
            .env
            .as_ref()
            .unwrap_or(&run.env)
            .parse::<Address>()?
            .with(self.task.clone(), self.engine.clone())?;
        // A worker's world is known by its name only when it is open.
        let env = address.name().unwrap_or("worker");
        let workers = self.workers.unwrap_or(run.workers);
        let exact = self.exact || run.exact;
        let seeds = match &self.seeds {
            Some(seeds) => seeds.0.clone(),
            None => run.seeds()?,
        };
        let seeds = match self.shard {
            Some(shard) => shard.seeds(&seeds),
            None => seeds,
        };
        if let (true, Some(shard)) = (seeds.is_empty(), self.shard) {
            anyhow::bail!("shard {shard} has no seed: there are fewer seeds than shards; give fewer shards");
        }
        let scaffold = self.scaffold(env, run, workspace)?;
        let options = self.model_options.options(workspace, settings, workers, exact);
        let out = match &self.out {
            Some(out) => out.clone(),
            None => fresh_name(workspace, env, &scaffold.manifest().name),
        };
        let out = match self.shard {
            Some(shard) => shard.path(&out),
            None => out,
        };
        // Said before a model is loaded, which may take a while.
        if out.exists() {
            return Err(agent::AgentError::Exists(out).into());
        }
        let model = self.model.as_ref().unwrap_or(&run.model);
        let specialist = self.specialist.as_ref().or(run.specialist.as_ref());
        let (model, specialist) = agent::open_models(model, specialist.map(String::as_str), env, &options)?;
        Ok(RunPlan {
            model,
            specialist,
            world: address.to_string(),
            scaffold,
            seeds,
            max_steps: self.max_steps.unwrap_or(run.max_steps),
            workers,
            sampling: Sampling {
                seed: self.sampling_seed,
                ..Sampling::default()
            },
            exact,
            out,
        })
    }
}

/// A name in the workspace that is not taken: `20260107-153012-crafter-v0.db`.
fn fresh_name(workspace: &Workspace, env: &str, scaffold: &str) -> PathBuf {
    let now = jiff::ZonedDateTime::now().strftime("%Y%m%d-%H%M%S");
    let what = if scaffold.starts_with(env) {
        scaffold.to_owned()
    } else {
        format!("{env}-{scaffold}")
    };
    let name = format!("{now}-{what}");
    let folder = workspace.runs_dir();
    (1..)
        .map(|n| match n {
            1 => folder.join(format!("{name}.db")),
            n => folder.join(format!("{name}-{n}.db")),
        })
        .find(|path| !path.exists() && !agent::memory_folder(path).exists())
        .unwrap_or_else(|| folder.join(format!("{name}.db")))
}
