//! What a world in a child process costs: its start, and round trips a second with text.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::Figure;
use crate::env::worker::{Limits, WorkerWorld};
use crate::env::{self, World};
use crate::jobs::program::program;

/// Measures this program's workers: Crafter, and NetHack where it is installed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// About how long each speed is measured
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    seconds: f64,
}

/// Starts whose median counts.
const STARTS: usize = 9;
/// Steps of an episode: the first day of Crafter, which plays at night what is no cost of the protocol.
const STEPS: usize = 140;

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let enough = Duration::from_secs_f64(args.seconds.clamp(0.01, 600.0));
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let world = crafter()?;
        starts.push(begin.elapsed().as_secs_f64() * 1e3);
        drop(world);
    }
    starts.sort_by(f64::total_cmp);
    let mut figures = vec![
        Figure::new("worker_start", starts[STARTS / 2], "ms").at_most(50.0),
        Figure::new("crafter_round_trips", round_trips(&mut crafter()?, enough)?, "1/s").at_least(10_000.0),
    ];
    // Where it is not installed there is nothing to measure; `automem doctor` says what is missing.
    let begin = Instant::now();
    if let Ok(mut world) = env::open("nethack") {
        let start = begin.elapsed().as_secs_f64() * 1e3;
        figures.push(Figure::new("nethack_start", start, "ms").at_most(50.0));
        let speed = round_trips(&mut *world, enough)?;
        figures.push(Figure::new("nethack_round_trips", speed, "1/s").at_least(10_000.0));
    }
    Ok(figures)
}

fn crafter() -> anyhow::Result<WorkerWorld> {
    let program = program().context("the worker is this program itself")?;
    Ok(WorkerWorld::open(
        [program.as_os_str(), "worker".as_ref(), "crafter".as_ref()],
        Limits::default(),
    )?)
}

/// Steps a second with whole frames, resets left out.
fn round_trips(world: &mut dyn World, enough: Duration) -> anyhow::Result<f64> {
    // The first few of both worlds are moves and waiting, which cost the game little.
    let actions: Vec<_> = world.spec().actions.iter().take(6).cloned().collect();
    let (mut steps, mut time) = (0_u64, Duration::ZERO);
    for seed in 42.. {
        if time >= enough {
            break;
        }
        world.reset(seed)?;
        let begin = Instant::now();
        for n in 0..STEPS {
            let frame = world.step(&actions[n * 7 % actions.len()])?;
            steps += 1;
            if frame.terminated || frame.truncated {
                break;
            }
            black_box(frame);
        }
        time += begin.elapsed();
    }
    Ok(steps as f64 / time.as_secs_f64().max(1e-9))
}
