//! The options of a run, shared by `run` and `watch`, and how they become a plan.

use std::path::PathBuf;
use std::str::FromStr;

use crate::agent::{self, RunPlan};
use crate::config::Workspace;
use crate::llm::ModelOptions;
use crate::scaffold::Scaffold;
use crate::types::Sampling;

/// What to play and with whom.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PlanArgs {
    /// The world
    #[arg(long, default_value = "crafter")]
    pub(super) env: String,
    /// A scaffold's name, or the path of its folder
    #[arg(long, default_value = "crafter-v0")]
    pub(super) scaffold: String,
    /// `scripted` (a program, no language model), a model's name, FILE.gguf, `openai:MODEL@http://host:port/v1` (a
    /// model on a server: llama.cpp, vLLM, OpenAI; the key comes from OPENAI_API_KEY), or recorded:FILE
    #[arg(long, default_value = "scripted")]
    pub(super) model: String,
    /// Seeds, one episode each: 42, or 42..45 (four of them), or 1,2,9
    #[arg(long, default_value = "42")]
    pub(super) seeds: Seeds,
    /// Steps an episode may take
    #[arg(long, default_value_t = 300)]
    pub(super) max_steps: u32,
    /// Episodes played at once
    #[arg(long, default_value_t = 1)]
    pub(super) workers: u32,
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
    /// Threads of a local model
    #[arg(long)]
    threads: Option<u32>,
    /// Tokens of a local model's context
    #[arg(long)]
    context: Option<u32>,
}

impl ModelArgs {
    /// The options for the back ends.
    pub(super) fn options(&self, workspace: &Workspace, workers: u32, exact: bool) -> ModelOptions {
        ModelOptions {
            models_dir: workspace.models_dir(),
            threads: self.threads,
            context: self.context,
            // One slot a phase and episode, so that LOG and PLAN keep their prompts apart.
            slots: Some(workers.saturating_mul(2)),
            exact,
            ..ModelOptions::default()
        }
    }
}

impl PlanArgs {
    /// Loads scaffold and model and settles where the run is written.
    ///
    /// # Errors
    /// When one of them does not exist or cannot be used.
    pub(super) fn plan(&self) -> anyhow::Result<RunPlan> {
        let workspace = Workspace::find()?;
        let scaffold = Scaffold::named(&self.scaffold, &workspace)?;
        let options = self.model_options.options(&workspace, self.workers, self.exact);
        let out = match &self.out {
            Some(out) => out.clone(),
            None => fresh_name(&workspace, &self.env, &scaffold.manifest().name),
        };
        // Said before a model is loaded, which may take a while.
        if out.exists() {
            return Err(agent::AgentError::Exists(out).into());
        }
        Ok(RunPlan {
            world: self.env.clone(),
            scaffold,
            model: agent::open_model(&self.model, &self.env, &options)?,
            seeds: self.seeds.0.clone(),
            max_steps: self.max_steps,
            workers: self.workers,
            sampling: Sampling {
                seed: self.sampling_seed,
                ..Sampling::default()
            },
            exact: self.exact,
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

/// Seeds as written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seeds(pub(super) Vec<u64>);

/// Episodes of one run at most.
const MOST_SEEDS: u64 = 10_000;

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Vec::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once("..") {
                Some((first, last)) => (first, last.trim_start_matches('=')),
                None => (part, part),
            };
            let number = |text: &str| {
                text.trim()
                    .parse::<u64>()
                    .map_err(|_| format!("`{text}` is no seed: write 42, or 42..45, or 1,2,9"))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("`{part}` runs backwards: write {last}..{first}"));
            }
            if last - first >= MOST_SEEDS || seeds.len() as u64 + (last - first) >= MOST_SEEDS {
                return Err(format!("more than {MOST_SEEDS} seeds: split them over several runs"));
            }
            seeds.extend(first..=last);
        }
        Ok(Self(seeds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_come_in_three_forms() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!(seeds("42"), Ok(vec![42]));
        assert_eq!(seeds("42..45"), Ok(vec![42, 43, 44, 45]));
        assert_eq!(seeds("1, 2,9"), Ok(vec![1, 2, 9]));
        assert_eq!(seeds("1..2,7"), Ok(vec![1, 2, 7]));
        for wrong in ["", "a", "5..3", "1..", "1,,2", "-1", "0..99999999999"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
