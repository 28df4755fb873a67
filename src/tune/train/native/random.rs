//! Repeatable random numbers: order, start and dropout follow from a seed, on every machine alike.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    #[cfg(test)]
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for each of several purposes or places.
    pub(super) fn of(seed: u64, places: &[u64]) -> Self {
        let mut mixed = Self(seed);
        for place in places {
            mixed = Self(mixed.next() ^ place.wrapping_mul(0xd6e8_feb8_6659_fd93));
        }
        mixed
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1, without 1.
    pub(super) fn uniform(&mut self) -> f64 {
        // 53 bits are what a double holds exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A seed for a sequence that begins elsewhere.
    pub(super) fn seed(&mut self) -> u64 {
        self.next()
    }

    /// Below a number, or 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// Puts things into a random order.
    pub(super) fn shuffle<T>(&mut self, things: &mut [T]) {
        for index in (1..things.len()).rev() {
            things.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_loses_nothing_and_repeats() {
        let shuffled = |seed| {
            let mut things: Vec<u32> = (0..50).collect();
            Random::of(seed, &[1]).shuffle(&mut things);
            things
        };
        let mut sorted = shuffled(3);
        assert_ne!(sorted, shuffled(4));
        assert_eq!(sorted, shuffled(3));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.below(7) < 7 && (0.0..1.0).contains(&random.uniform())));
    }
}
