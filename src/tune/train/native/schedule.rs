//! How the learning rate goes over the updates. Pure.

use crate::tune::recipe::{Schedule, TrainConfig};

/// The learning rate of an update, counted from 1: it rises in a straight line over the warm-up, which no update spends at
/// zero, and then falls.
pub(super) fn learning_rate(config: &TrainConfig, step: u32, steps: u32) -> f64 {
    let warm = (config.warmup * f64::from(steps)).ceil();
    let before = f64::from(step) - 1.0;
    if before < warm {
        return config.learning_rate * (before + 1.0) / warm;
    }
    let gone = (before - warm) / (f64::from(steps) - warm).max(1.0);
    config.learning_rate
        * match config.schedule {
            Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * gone).cos()),
            Schedule::Linear => 1.0 - gone,
            Schedule::Constant => 1.0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::train::native::tests;

    #[test]
    fn it_rises_and_falls() {
        for schedule in [Schedule::Cosine, Schedule::Linear, Schedule::Constant] {
            let config = TrainConfig {
                learning_rate: 2.0,
                warmup: 0.2,
                schedule,
                ..tests::config()
            };
            let rates: Vec<f64> = (1..=20).map(|step| learning_rate(&config, step, 20)).collect();
            assert_eq!(&rates[..5], &[0.5, 1.0, 1.5, 2.0, 2.0], "{schedule:?}");
            let falls = rates[4..].windows(2).all(|pair| pair[1] < pair[0]);
            let stays = rates[4..].iter().all(|rate| *rate == 2.0);
            assert!(if schedule == Schedule::Constant {
                stays
            } else {
                falls && rates[19] < 0.2
            });
            assert!(rates.iter().all(|rate| *rate > 0.0));
        }
        // One update, without and with a warm-up.
        let mut config = tests::config();
        assert_eq!(learning_rate(&config, 1, 1), config.learning_rate);
        config.warmup = 1.0;
        assert_eq!(learning_rate(&config, 1, 1), config.learning_rate);
    }
}
