//! What a paired table says: means, errors, an interval, a sign test. Pure.
//!
//! Means and standard errors as the reference computes them (population standard deviation over the square root of
//! the number of episodes). The interval is the percentile bootstrap of the mean paired difference; the sign test is
//! exact and two-sided.

use crate::review::{GateReport, Outcome, Pair};

/// Samples of the bootstrap.
const RESAMPLES: usize = 10_000;
/// Seed of the bootstrap: equal tables give equal intervals.
const BOOTSTRAP_SEED: u64 = 2607;
/// Means that differ by less are equal: what sums of fractions leave over is no progress.
const NOTHING: f64 = 1e-9;

/// What a table says. `parent_run` and `revision_run` are the files it was read from.
pub fn report(pairs: Vec<Pair>, parent_run: String, revision_run: String, parent_reused: bool) -> GateReport {
    let parent: Vec<f64> = pairs.iter().filter_map(|pair| Some(pair.parent?.progression)).collect();
    let revision: Vec<f64> = pairs
        .iter()
        .filter_map(|pair| Some(pair.revision?.progression))
        .collect();
    let differences: Vec<f64> = pairs
        .iter()
        .filter_map(|pair| Some(pair.revision?.progression - pair.parent?.progression))
        .collect();
    let count = |test: fn(f64) -> bool| -> u32 {
        u32::try_from(differences.iter().filter(|difference| test(**difference)).count()).unwrap_or(u32::MAX)
    };
    let wins = count(|difference| difference > NOTHING);
    let losses = count(|difference| difference < -NOTHING);
    let whole = !pairs.is_empty()
        && pairs
            .iter()
            .all(|pair| pair.parent.is_some() && pair.revision.is_some());
    let difference = mean(&differences);
    GateReport {
        parent_mean: mean(&parent),
        parent_error: standard_error(&parent),
        revision_mean: mean(&revision),
        revision_error: standard_error(&revision),
        difference,
        interval: bootstrap(&differences),
        wins,
        losses,
        ties: count(|_| true) - wins - losses,
        sign_p: sign_test(wins, losses),
        outcome: match (whole, difference > NOTHING) {
            (true, true) => Outcome::Better,
            (true, false) => Outcome::NotBetter,
            (false, _) => Outcome::CannotWin,
        },
        pairs,
        parent_run,
        revision_run,
        parent_reused,
    }
}

/// Whether the revision's mean can still exceed the parent's, if every seed that is not played yet went as well as
/// can be (progression 1).
pub fn can_still_win(pairs: &[Pair]) -> bool {
    let parent: f64 = pairs.iter().filter_map(|pair| Some(pair.parent?.progression)).sum();
    let best: f64 = pairs
        .iter()
        .filter(|pair| pair.parent.is_some())
        .map(|pair| pair.revision.map_or(1.0, |score| score.progression))
        .sum();
    best > parent + NOTHING
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (variance / values.len() as f64).sqrt()
}

/// The 2.5 and 97.5 percentiles of the mean over samples with replacement.
fn bootstrap(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut state = BOOTSTRAP_SEED;
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..values.len())
                .map(|_| values[(next(&mut state) % values.len() as u64) as usize])
                .sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((RESAMPLES - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// How likely a split at least this uneven is when better and worse are equally likely.
fn sign_test(wins: u32, losses: u32) -> f64 {
    let n = wins + losses;
    if n == 0 {
        return 1.0;
    }
    // The logarithm of each term, so that many seeds do not underflow.
    let mut term = -f64::from(n) * std::f64::consts::LN_2;
    let mut tail = term.exp();
    for k in 0..wins.min(losses) {
        term += (f64::from(n - k) / f64::from(k + 1)).ln();
        tail += term.exp();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::review::Score;

    fn score(progression: f64) -> Score {
        Score {
            progression,
            total_reward: 0.0,
            steps: 10,
            tokens: 100,
            seconds: 1.0,
        }
    }

    fn table(rows: &[(f64, Option<f64>)]) -> Vec<Pair> {
        (42..)
            .zip(rows)
            .map(|(seed, (parent, revision))| Pair {
                seed,
                parent: Some(score(*parent)),
                revision: revision.map(score),
            })
            .collect()
    }

    fn told(rows: &[(f64, Option<f64>)]) -> GateReport {
        report(table(rows), "a.db".into(), "b.db".into(), false)
    }

    #[test]
    fn a_table_worked_out_by_hand() {
        let told = told(&[(0.2, Some(0.4)), (0.4, Some(0.4)), (0.6, Some(0.5)), (0.0, Some(0.3))]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(told.parent_mean, 0.3) && near(told.revision_mean, 0.4));
        assert!(near(told.difference, 0.1));
        // Variance of 0.2 0.4 0.6 0.0 is 0.05; its root over the root of four.
        assert!(near(told.parent_error, (0.05_f64 / 4.0).sqrt()));
        assert_eq!((told.wins, told.losses, told.ties), (2, 1, 1));
        // Three that differ, one worse: 2 * (1 + 3) / 8.
        assert!(near(told.sign_p, 1.0));
        assert_eq!(told.outcome, Outcome::Better);
        assert!(told.interval.0 < told.difference && told.difference < told.interval.1);
    }

    #[test]
    fn the_sign_test_is_exact() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(sign_test(0, 0), 1.0));
        assert!(near(sign_test(5, 0), 2.0 / 32.0));
        assert!(near(sign_test(9, 1), 2.0 * 11.0 / 1024.0));
        assert!(near(sign_test(1, 9), sign_test(9, 1)));
        let many = sign_test(1500, 1400);
        assert!(many > 0.05 && many < 0.08, "{many}");
    }

    #[test]
    fn equal_is_not_better_and_a_hole_cannot_win() {
        assert_eq!(told(&[(0.3, Some(0.3))]).outcome, Outcome::NotBetter);
        // Sums in another order differ in their last bits only.
        assert_eq!(
            told(&[(0.1, Some(0.3)), (0.2, Some(0.2)), (0.3, Some(0.1))]).outcome,
            Outcome::NotBetter
        );
        assert_eq!(told(&[(0.9, Some(0.1)), (0.9, None)]).outcome, Outcome::CannotWin);
        assert_eq!(report(vec![], String::new(), String::new(), false).sign_p, 1.0);
    }

    #[test]
    fn it_stops_only_when_nothing_can_help() {
        assert!(can_still_win(&table(&[(0.5, Some(0.1)), (0.5, None)])));
        assert!(!can_still_win(&table(&[(0.5, Some(0.0)), (0.5, None)])));
        assert!(!can_still_win(&table(&[(1.0, None), (1.0, None)])));
        assert!(!can_still_win(&table(&[
            (0.9, Some(0.2)),
            (0.9, Some(0.4)),
            (0.9, None)
        ])));
    }

    proptest! {
        #[test]
        fn what_cannot_win_is_never_better(
            rows in prop::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 1..9), played in 0_usize..9,
        ) {
            let all: Vec<(f64, Option<f64>)> = rows.iter().map(|(a, b)| (*a, Some(*b))).collect();
            let part: Vec<(f64, Option<f64>)> =
                rows.iter().enumerate().map(|(n, (a, b))| (*a, (n < played).then_some(*b))).collect();
            let whole = told(&all);
            if !can_still_win(&table(&part)) {
                prop_assert_ne!(whole.outcome, Outcome::Better);
            }
            prop_assert!(whole.interval.0 <= whole.interval.1);
            prop_assert!((0.0..=1.0).contains(&whole.sign_p));
            prop_assert_eq!(whole.wins + whole.losses + whole.ties, u32::try_from(rows.len()).unwrap());
            prop_assert_eq!(&told(&all), &whole);
        }
    }
}
