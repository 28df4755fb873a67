//! How fast the agent's loop is with the scripted player and recording on, and whether a late step
//! costs more than an early one.

use std::sync::Arc;
use std::time::Instant;

use super::Figure;
use crate::agent::{self, RunPlan};
use crate::config::Workspace;
use crate::env::{self, World, WorldError};
use crate::llm::ModelOptions;
use crate::scaffold::Scaffold;
use crate::types::{Action, Body, Frame, Sampling, WorldSpec};

/// Measures the loop on one long episode.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Steps of the episode
    #[arg(long, default_value_t = 10_300, value_parser = clap::value_parser!(u32).range(2_000..))]
    steps: u32,
}

/// Steps that are averaged: a day and a night of the game twice, so that both count everywhere.
const WINDOW: usize = 600;

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::at(folder.path());
    let handle = agent::start_in(
        RunPlan {
            world: "crafter".to_owned(),
            scaffold: Scaffold::named("crafter-v0", &workspace)?,
            model: agent::open_model("scripted", "crafter", &ModelOptions::default())?,
            specialist: None,
            seeds: vec![42],
            max_steps: args.steps,
            workers: 1,
            sampling: Sampling::default(),
            exact: false,
            out: folder.path().join("bench.db"),
        },
        Arc::new(|| Ok(Box::new(Endless::new(env::open("crafter")?)) as Box<dyn World>)),
    )?;
    let begin = Instant::now();
    let mut ends = vec![begin];
    for event in &handle.events {
        if matches!(event.body, Body::StepFinished { .. }) {
            ends.push(Instant::now());
        }
    }
    handle.wait()?;
    let costs: Vec<f64> = ends.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    let total: f64 = costs.iter().sum();
    let early = trimmed_mean(costs.get(100..100 + WINDOW).unwrap_or_default());
    let late = trimmed_mean(costs.get(costs.len().saturating_sub(WINDOW)..).unwrap_or_default());
    let per_second = costs.len() as f64 / total.max(1e-9);
    Ok(vec![
        Figure::new("scripted_recorded", per_second, "steps/s").at_least(1_000.0),
        Figure::new("step_100", early * 1e3, "ms"),
        Figure::new("step_10000", late * 1e3, "ms"),
        Figure::new("step_10000_to_step_100", late / early.max(1e-9), "ratio").at_most(1.2),
    ])
}

/// The mean without the largest and smallest twentieth: a pause of the machine is no cost of a step.
fn trimmed_mean(costs: &[f64]) -> f64 {
    let mut costs = costs.to_vec();
    costs.sort_by(f64::total_cmp);
    let cut = costs.len() / 20;
    let kept = costs.get(cut..costs.len() - cut).unwrap_or_default();
    kept.iter().sum::<f64>() / (kept.len() as f64).max(1.0)
}

/// Crafter that goes on with the next seed whenever an episode is over.
struct Endless {
    world: Box<dyn World>,
    seed: u64,
}

impl Endless {
    fn new(world: Box<dyn World>) -> Self {
        Self { world, seed: 0 }
    }
}

impl World for Endless {
    fn spec(&self) -> &WorldSpec {
        self.world.spec()
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        self.seed = seed;
        self.world.reset(seed)
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let mut frame = self.world.step(action)?;
        if frame.terminated || frame.truncated {
            self.seed += 1;
            frame = self.world.reset(self.seed)?;
        }
        Ok(frame)
    }
}
