//! Traces: episodes on seeds that no gate uses.

use std::collections::BTreeSet;

use super::driver::Session;
use super::error::SessionError;
use super::news::News;
use super::state::Event;
use crate::gate::{self, Side};

/// Seeds are drawn below this.
const BELOW: u64 = 1 << 31;

/// Seeds for traces, drawn from a seed of their own; none is one of `not`.
pub(super) fn trace_seeds(seed: u64, count: u32, not: &[u64]) -> Vec<u64> {
    let mut taken: BTreeSet<u64> = not.iter().copied().collect();
    let mut state = seed ^ 0x6175_746f_6d65_6d31;
    let mut seeds = Vec::new();
    while seeds.len() < count as usize {
        // SplitMix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = (z ^ (z >> 31)) % BELOW;
        if taken.insert(drawn) {
            seeds.push(drawn);
        }
    }
    seeds
}

impl Session {
    /// Plays the episodes, or looks the given runs up.
    pub(super) fn trace(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let setup = &self.state.setup;
        if !setup.runs.is_empty() {
            let runs = setup.runs.clone();
            return self.note(Event::Traced { runs });
        }
        let model = self.open_player()?;
        let out = self.runs("traces");
        let setup = &self.state.setup;
        let mut plan = self.plan(model, None, out.clone())?;
        plan.seeds = trace_seeds(setup.trace_seed, setup.episodes, &setup.seeds);
        news(News::Tracing {
            run: out.display().to_string(),
            episodes: plan.seeds.len(),
        });
        gate::evaluate(&plan, Side::Traces, &|_| true, &self.cancel, &mut |gate| {
            news(News::Gate { gate });
        })?;
        self.note(Event::Traced { runs: vec![out] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_drawn_apart_from_the_gates() {
        let seeds = trace_seeds(7, 100, &[42, 43]);
        assert_eq!(seeds, trace_seeds(7, 100, &[42, 43]));
        assert_ne!(seeds, trace_seeds(8, 100, &[42, 43]));
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 100);
        // What a gate uses is left out, whatever the draw says.
        let without = trace_seeds(7, 100, &[seeds[3]]);
        assert!(!without.contains(&seeds[3]) && without[..3] == seeds[..3]);
    }
}
