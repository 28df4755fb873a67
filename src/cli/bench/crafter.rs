//! How fast Crafter is: by day with and without text, by night, and at reset.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::Figure;
use crate::env::World;
use crate::env::crafter::{self, Crafter, Engine, Options};

/// First step of the environment at which pictures are noisy, and the first at which they are not.
const NIGHT: std::ops::Range<u64> = 148..273;

/// Measures Crafter.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// About how long each figure is measured
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    seconds: f64,
}

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let enough = Duration::from_secs_f64(args.seconds.clamp(0.01, 600.0));
    Ok(vec![
        Figure::new("day_without_text", day_without_text(enough), "steps/s").at_least(200_000.0),
        Figure::new("day_with_text", day_with_text(enough)?, "steps/s").at_least(50_000.0),
        Figure::new("night_balrog_256", night(enough), "steps/s").at_least(10_000.0),
        Figure::new("reset", reset(enough), "ms").at_most(15.0),
    ])
}

/// The oracle's generator of actions, so that other implementations can be given the same ones.
struct Actions {
    state: u64,
    run: u64,
    direction: u8,
}

impl Actions {
    fn new(seed: u64) -> Self {
        Self {
            state: seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(0xD1B5_4A32_D192_ED03),
            run: 0,
            direction: 0,
        }
    }

    fn draw(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn next(&mut self) -> u8 {
        if self.run > 0 {
            self.run -= 1;
            return self.direction;
        }
        match self.draw() % 100 {
            0..45 => {
                self.direction = 1 + (self.draw() % 4) as u8;
                self.run = self.draw() % 6;
                self.direction
            }
            45..82 => 5,
            82 => 6,
            83..85 => 0,
            85..88 => 7,
            88..91 => 8,
            91 => 9,
            92..94 => 10,
            r => 11 + (r - 94) as u8,
        }
    }
}

/// Steps and the time they took.
#[derive(Default)]
struct Rate {
    steps: u64,
    time: Duration,
}

impl Rate {
    fn per_second(&self) -> f64 {
        self.steps as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// Runs episodes of new seeds until enough time was measured.
fn over_seeds(enough: Duration, mut episode: impl FnMut(u64, &mut Rate)) -> Rate {
    let mut rate = Rate::default();
    let begin = Instant::now();
    // Episodes also pass steps that are not measured.
    let patience = enough * 5;
    for seed in 42.. {
        episode(seed, &mut rate);
        if rate.time >= enough || begin.elapsed() >= patience {
            break;
        }
    }
    rate
}

fn day_without_text(enough: Duration) -> f64 {
    over_seeds(enough, |seed, rate| {
        let mut engine = Engine::new(Options::RAW, seed.into());
        let mut actions = Actions::new(seed);
        let begin = Instant::now();
        while engine.steps() + 1 < NIGHT.start {
            black_box(engine.step(actions.next()));
            rate.steps += 1;
        }
        rate.time += begin.elapsed();
    })
    .per_second()
}

/// Whole frames: texts, picture, digest, as the agent's driver gets them.
fn day_with_text(enough: Duration) -> anyhow::Result<f64> {
    let mut world = Crafter::new();
    let names = world.spec().actions.clone();
    let mut failed = None;
    let rate = over_seeds(enough, |seed, rate| {
        if let Err(error) = world.reset(seed) {
            failed = Some(error);
            return;
        }
        let mut actions = Actions::new(seed);
        let begin = Instant::now();
        for _ in 2..NIGHT.start {
            let action = &names[usize::from(actions.next())];
            match world.step(action) {
                Ok(frame) => {
                    rate.steps += 1;
                    if black_box(frame).terminated {
                        break;
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        rate.time += begin.elapsed();
    });
    failed.map_or(Ok(rate.per_second()), |error| Err(error.into()))
}

fn night(enough: Duration) -> f64 {
    over_seeds(enough, |seed, rate| {
        let mut engine = Engine::new(Options::BALROG, seed.into());
        let mut actions = Actions::new(seed);
        while engine.steps() + 1 < NIGHT.start {
            engine.step(actions.next());
        }
        let begin = Instant::now();
        while engine.steps() + 1 < NIGHT.end {
            black_box(engine.step(actions.next()));
            black_box(crafter::long(engine.map(), engine.player()));
            black_box(crafter::short(&engine.player().items));
            rate.steps += 1;
        }
        rate.time += begin.elapsed();
    })
    .per_second()
}

/// Milliseconds of one reset, the first frame included.
fn reset(enough: Duration) -> f64 {
    let mut world = Crafter::new();
    let rate = over_seeds(enough, |seed, rate| {
        let begin = Instant::now();
        black_box(world.reset(seed).is_ok());
        rate.time += begin.elapsed();
        rate.steps += 1;
    });
    1000.0 / rate.per_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_measured() {
        let figures = measure(&Args { seconds: 0.005 }).unwrap();
        assert_eq!(figures.len(), 4);
        assert!(
            figures
                .iter()
                .all(|figure| figure.value.is_finite() && figure.value > 0.0)
        );
    }

    #[test]
    fn actions_are_the_oracles() {
        let mut actions = Actions::new(42);
        let first: Vec<u8> = (0..6).map(|_| actions.next()).collect();
        assert_eq!(first, FIRST_OF_42);
    }

    /// From the recording `lcg_s42`.
    const FIRST_OF_42: [u8; 6] = [4, 4, 4, 4, 4, 1];
}
