//! What a scaffold's script costs, and what crafter-v1 has its agent write beside crafter-v0.

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Figure;
use crate::agent::{self, RunPlan};
use crate::config::Workspace;
use crate::env;
use crate::llm::ModelOptions;
use crate::scaffold::Scaffold;
use crate::scaffold::hooks::Hooks;
use crate::store::Reader;
use crate::types::{EpisodeNo, Sampling, StepNo};

/// Measures hooks and the two scaffolds with the scripted player.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Exchanges with the script
    #[arg(long, default_value_t = 4_000)]
    exchanges: u32,
    /// Steps of an episode
    #[arg(long, default_value_t = 300)]
    steps: u32,
    /// Episodes a scaffold, with seeds from 42
    #[arg(long, default_value_t = 4)]
    episodes: u64,
}

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let mut times = exchanges(args.exchanges)?;
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times
            .get((times.len() as f64 * share) as usize)
            .copied()
            .unwrap_or_default()
    };
    let old = played("crafter-v0", args, folder.path())?;
    let new = played("crafter-v1", args, folder.path())?;
    Ok(vec![
        Figure::new("hook_exchange_median", at(0.5), "ms").at_most(0.3),
        Figure::new("hook_exchange_p95", at(0.95), "ms"),
        Figure::new("v0_written", old.written, "chars/step"),
        Figure::new("v1_written", new.written, "chars/step"),
        Figure::new("v1_to_v0_written", new.written / old.written.max(1e-9), "ratio").at_most(1.0 / 3.0),
        Figure::new("v0_progression", old.progression, "mean"),
        Figure::new("v1_progression", new.progression, "mean").at_least(old.progression),
    ])
}

/// Milliseconds of exchanges with crafter-v1's script, over the kinds of events of a step.
fn exchanges(count: u32) -> anyhow::Result<Vec<f64>> {
    let scaffold = Scaffold::named("crafter-v1", &Workspace::at("/nonexistent"))?;
    let limits = scaffold.manifest().hooks;
    let memory = scaffold.initial_memory();
    let mut hooks = Hooks::new(scaffold.script().unwrap_or_default(), limits, Map::new(), &memory);
    let mut world = env::open("crafter")?;
    let mut frame = world.reset(42)?;
    let actions = world.spec().actions.clone();
    let mut previous = Value::Null;
    let mut times = Vec::new();
    for step in 0..count / 3 {
        let keys = json!({
            "step": step, "max_steps": count, "world": "crafter", "task": "default",
            "observation": frame.long, "status": frame.short, "unchanged": 0, "previous": previous,
        });
        let action = &actions[step as usize * 7 % actions.len()];
        if let Value::Object(keys) = keys {
            hooks.begin_step(keys);
        }
        let events = [
            ("log", json!({})),
            ("log_end", json!({"ops": []})),
            ("action", json!({"raw": action.0, "action": action.0, "rejections": 0})),
        ];
        for (kind, event) in events {
            let Value::Object(event) = event else { continue };
            let begin = Instant::now();
            hooks.call(kind, event)?;
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        previous = json!({"raw": action.0, "action": action.0, "invalid": false, "reward": frame.reward});
        frame = world.step(action)?;
        if frame.terminated {
            frame = world.reset(u64::from(step))?;
        }
    }
    Ok(times)
}

struct Played {
    /// Characters written into memory a step, by whomever.
    written: f64,
    progression: f64,
}

fn played(name: &str, args: &Args, folder: &Path) -> anyhow::Result<Played> {
    let out = folder.join(format!("{name}.db"));
    let report = agent::start(RunPlan {
        world: "crafter".to_owned(),
        scaffold: Scaffold::named(name, &Workspace::at(folder))?,
        model: agent::open_model("scripted", "crafter", &ModelOptions::default())?,
        specialist: None,
        seeds: (42..42 + args.episodes).collect(),
        max_steps: args.steps,
        workers: 1,
        sampling: Sampling::default(),
        exact: false,
        out: out.clone(),
    })?
    .wait()?;
    let reader = Reader::open(&out)?;
    let (mut written, mut steps) = (0, 0);
    for episode in &report.episodes {
        steps += episode.steps;
        for step in reader.steps(EpisodeNo(episode.episode.0), StepNo(0)..StepNo(args.steps + 1))? {
            written += step
                .ops()
                .flat_map(|op| &op.changes)
                .map(crate::types::MemoryChange::bytes_written)
                .sum::<usize>();
        }
    }
    Ok(Played {
        written: written as f64 / f64::from(steps.max(1)),
        progression: report.mean_progression,
    })
}
