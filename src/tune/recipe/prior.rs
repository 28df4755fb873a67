//! Recipes to begin with.

use super::super::select::rules::Rules;
use super::config::{SEED, Schedule, Targets, TrainConfig};
use super::{DataPart, DataSource, Recipe, VERSION};

/// What a world asks for, as the reference recommends it for a model of 32 billion numbers.
struct World {
    rank: u32,
    epochs: u32,
    accumulation: u32,
    targets: Targets,
    examples: u32,
}

impl World {
    fn named(env: &str) -> Self {
        let (rank, epochs, accumulation, targets, examples) = match env {
            "minihack" => (128, 3, 4, Targets::All, 300),
            "nethack" => (256, 1, 8, Targets::All, 800),
            _ => (256, 4, 8, Targets::Attn, 600),
        };
        Self {
            rank,
            epochs,
            accumulation,
            targets,
            examples,
        }
    }
}

/// Numbers of a model from which on the reference's configuration is taken as it is.
const LARGE: u64 = 8_000_000_000;
/// Examples for smaller models, whose traces are shorter.
const FEWER: u32 = 300;

/// The recipe to begin with, in a world and for a base model of that many numbers. Above 8 billion it is the
/// reference's; below, the rank and the conversations are shorter, the learning rate is higher, and one device does.
pub fn prior(env: &str, base_parameters: u64) -> Recipe {
    let World {
        rank,
        epochs,
        accumulation,
        targets,
        examples,
    } = World::named(env);
    let (rank, learning_rate, batch, accumulation, cutoff, gpus) = match base_parameters {
        0..400_000_000 => (8, 2.0e-3, 1, 8, 2048, 1),
        400_000_000..1_000_000_000 => (16, 1.0e-3, 1, 8, 4096, 1),
        1_000_000_000..LARGE => (64, 2.0e-4, 1, 16, 8192, 1),
        LARGE.. => (rank, 5.0e-5, 2, accumulation, 16_384, 2),
    };
    Recipe {
        version: VERSION,
        env: env.to_owned(),
        data: DataPart {
            source: DataSource::Regenerate,
            min_target_examples: if base_parameters < LARGE { FEWER } else { examples },
            selector: super::selector(),
            brief: String::new(),
            rules: Rules::default(),
        },
        train: vec![TrainConfig {
            rank,
            alpha: f64::from(rank) * 2.0,
            dropout: 0.0,
            learning_rate,
            epochs,
            batch,
            accumulation,
            cutoff,
            schedule: Schedule::Cosine,
            warmup: 0.05,
            save: false,
            gpus,
            targets,
            seed: SEED,
        }],
    }
}
