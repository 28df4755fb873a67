//! Draws tokens: temperature, then the k most likely, then the smallest set with probability p, as most servers do.
//!
//! Owns the arithmetic and the random numbers: the same seed and the same logits give the same tokens on every machine.
//! Must not know what a token means; what a grammar forbids comes in as a [`Mask`].

use std::cmp::Ordering;

use crate::types::Sampling;

/// Tokens looked at first; more only when a grammar forbids these or many are to be kept.
const FIRST_BLOCK: usize = 64;
/// Tokens this much less likely than the best (as a power of e) are never drawn: e^-30 is below the
/// resolution of the draw.
const NEGLIGIBLE: f32 = 30.0;

/// Says which tokens may come next.
pub trait Mask {
    /// One answer a token, in order.
    fn allowed(&mut self, tokens: &[u32]) -> Vec<bool>;
}

/// A seeded draw for one answer.
#[derive(Debug, Clone)]
pub struct Draw {
    temperature: f32,
    top_p: f32,
    top_k: usize,
    state: u64,
    scratch: Vec<Candidate>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    logit: f32,
    token: u32,
}

impl Candidate {
    /// Likeliest first; equals by token number, so that the order never depends on the sort.
    fn order(&self, other: &Self) -> Ordering {
        other.logit.total_cmp(&self.logit).then(self.token.cmp(&other.token))
    }
}

impl Draw {
    /// A draw with these settings and seed.
    pub fn new(sampling: &Sampling) -> Self {
        let greedy = sampling.temperature.is_nan() || sampling.temperature <= 0.0;
        Self {
            temperature: if greedy { 0.0 } else { sampling.temperature },
            top_p: sampling.top_p,
            top_k: match sampling.top_k {
                _ if greedy => 1,
                0 => usize::MAX,
                k => k as usize,
            },
            state: sampling.seed,
            scratch: Vec::new(),
        }
    }

    /// Picks the next token; `None` when nothing is allowed or no logit is a number.
    pub fn pick(&mut self, logits: &[f32], mask: Option<&mut dyn Mask>) -> Option<u32> {
        let kept = self.keep(logits, mask);
        let best = *kept.first()?;
        if self.temperature == 0.0 {
            return Some(best.token);
        }
        let temperature = self.temperature;
        let weight = |candidate: &Candidate| f64::from((candidate.logit - best.logit) / temperature).exp();
        let total: f64 = kept.iter().map(weight).sum();
        let wanted = total * f64::from(self.top_p.clamp(0.0, 1.0));
        let mut sum = 0.0;
        let count = kept
            .iter()
            .position(|candidate| {
                sum += weight(candidate);
                sum >= wanted
            })
            .map_or(kept.len(), |at| at + 1);
        let nucleus = &kept[..count];
        let mut left = self.uniform() * nucleus.iter().map(weight).sum::<f64>();
        let chosen = nucleus.iter().find(|candidate| {
            left -= weight(candidate);
            left < 0.0
        });
        chosen.or(nucleus.last()).map(|candidate| candidate.token)
    }

    /// The allowed tokens that are kept, likeliest first.
    fn keep(&mut self, logits: &[f32], mut mask: Option<&mut dyn Mask>) -> Vec<Candidate> {
        let mut kept: Vec<Candidate> = Vec::new();
        let first = best_of(logits, FIRST_BLOCK);
        let mut enough = self.take(&mut kept, &first, mask.as_deref_mut());
        if enough || first.len() < FIRST_BLOCK {
            return kept;
        }
        let mut rest = std::mem::take(&mut self.scratch);
        rest.clear();
        rest.extend(candidates(logits));
        rest.sort_unstable_by(Candidate::order);
        let mut size = FIRST_BLOCK * 8;
        let mut at = FIRST_BLOCK;
        while !enough && at < rest.len() {
            let end = (at + size).min(rest.len());
            enough = self.take(&mut kept, &rest[at..end], mask.as_deref_mut());
            at = end;
            size *= 8;
        }
        self.scratch = rest;
        kept
    }

    /// Takes the allowed ones of a block; says whether there are enough now.
    fn take(&self, kept: &mut Vec<Candidate>, block: &[Candidate], mask: Option<&mut (dyn Mask + '_)>) -> bool {
        let allowed = mask.map(|mask| {
            let tokens: Vec<u32> = block.iter().map(|candidate| candidate.token).collect();
            mask.allowed(&tokens)
        });
        for (index, candidate) in block.iter().enumerate() {
            let too_far = kept.first().is_some_and(|best| {
                best.logit - candidate.logit > NEGLIGIBLE * self.temperature.max(f32::MIN_POSITIVE)
            });
            if kept.len() >= self.top_k || too_far {
                return true;
            }
            if allowed.as_ref().is_none_or(|allowed| allowed.get(index) == Some(&true)) {
                kept.push(*candidate);
            }
        }
        kept.len() >= self.top_k
    }

    /// The next random number in 0..1 (SplitMix64).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // 53 bits are what a double holds exactly.
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn candidates(logits: &[f32]) -> impl Iterator<Item = Candidate> + '_ {
    (0_u32..)
        .zip(logits)
        .filter(|(_, logit)| logit.is_finite())
        .map(|(token, logit)| Candidate { logit: *logit, token })
}

/// The `count` likeliest, in order, in one pass.
fn best_of(logits: &[f32], count: usize) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(count + 1);
    let mut least = f32::NEG_INFINITY;
    for candidate in candidates(logits) {
        if best.len() == count && candidate.logit <= least {
            continue;
        }
        let at = best.partition_point(|other| other.order(&candidate) == Ordering::Less);
        best.insert(at, candidate);
        best.truncate(count);
        if best.len() == count {
            least = best.last().map_or(least, |last| last.logit);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sampling(temperature: f32, top_k: u32, top_p: f32, seed: u64) -> Sampling {
        Sampling {
            temperature,
            top_p,
            top_k,
            max_tokens: 1,
            seed,
        }
    }

    struct Only(Vec<u32>);

    impl Mask for Only {
        fn allowed(&mut self, tokens: &[u32]) -> Vec<bool> {
            tokens.iter().map(|token| self.0.contains(token)).collect()
        }
    }

    #[test]
    fn cold_takes_the_best_and_the_first_of_equals() {
        let mut draw = Draw::new(&sampling(0.0, 40, 0.9, 1));
        assert_eq!(draw.pick(&[0.0, 3.0, 3.0, f32::NAN], None), Some(1));
        assert_eq!(draw.pick(&[f32::NAN, f32::NEG_INFINITY], None), None);
        assert_eq!(draw.pick(&[0.0, 3.0, 1.0], Some(&mut Only(vec![0, 2]))), Some(2));
        assert_eq!(draw.pick(&[0.0, 3.0, 1.0], Some(&mut Only(vec![]))), None);
    }

    #[test]
    fn unlikely_tokens_are_found_when_only_they_are_allowed() {
        let logits: Vec<f32> = (0..5000).map(|token| -(token as f32) / 10.0).collect();
        for temperature in [0.0, 0.8] {
            let mut draw = Draw::new(&sampling(temperature, 40, 0.95, 7));
            assert_eq!(draw.pick(&logits, Some(&mut Only(vec![4999]))), Some(4999));
            assert_eq!(draw.pick(&logits, Some(&mut Only(vec![700]))), Some(700));
        }
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        // Probabilities 1/2, 1/4, 1/4.
        let logits = [2.0_f32.ln(), 0.0, 0.0];
        let mut draw = Draw::new(&sampling(1.0, 0, 1.0, 42));
        let mut counts = [0_u32; 3];
        for _ in 0..20_000 {
            counts[draw.pick(&logits, None).unwrap() as usize] += 1;
        }
        assert!((9_700..10_300).contains(&counts[0]), "{counts:?}");
        assert!((4_750..5_250).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn limits_hold() {
        let logits: Vec<f32> = (0..200).map(|token| (token % 100) as f32 / 50.0).collect();
        let mut two = Draw::new(&sampling(1.0, 2, 1.0, 3));
        let mut nucleus = Draw::new(&sampling(1.0, 0, 0.001, 3));
        for _ in 0..200 {
            assert!([99, 199].contains(&two.pick(&logits, None).unwrap()));
            assert_eq!(nucleus.pick(&logits, None), Some(99));
        }
    }

    proptest! {
        #[test]
        fn the_first_block_is_the_sorted_front(logits in prop::collection::vec(-5_i8..5, 0..300)) {
            let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
            let mut all: Vec<Candidate> = candidates(&logits).collect();
            all.sort_by(Candidate::order);
            all.truncate(FIRST_BLOCK);
            prop_assert_eq!(best_of(&logits, FIRST_BLOCK), all);
        }

        #[test]
        fn the_same_seed_draws_the_same(seed: u64, logits in prop::collection::vec(-9.0_f32..9.0, 1..200)) {
            let draw = |_| {
                let mut draw = Draw::new(&sampling(0.9, 0, 0.9, seed));
                (0..5).map(|_| draw.pick(&logits, None)).collect::<Vec<_>>()
            };
            prop_assert_eq!(draw(0), draw(1));
        }
    }
}
