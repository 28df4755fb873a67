//! Crafter's random numbers: the seed of a world and the Mersenne Twister behind it.
//!
//! Owns the stream of words. Must not know what they are drawn for. Every draw takes a fixed,
//! documented number of words, because two implementations agree only if their streams do.

/// Words of the generator's state.
const N: usize = 624;
/// Distance of the second word that goes into a new one.
const M: usize = 397;
const HIGH: u32 = 0x8000_0000;
const LOW: u32 = 0x7fff_ffff;
const MATRIX: u32 = 0x9908_b0df;

/// Where the modulus of Python's integer hash lies.
const HASH_MODULUS: u128 = (1 << 61) - 1;

/// Hash of one Python integer.
fn int_hash(value: i128) -> i64 {
    let rest = (value.unsigned_abs() % HASH_MODULUS) as i64;
    let hash = if value < 0 { -rest } else { rest };
    if hash == -1 { -2 } else { hash }
}

/// CPython's hash of the tuple `(seed, episode)` (the xxHash-like scheme of 3.8 and later).
pub fn tuple_hash(seed: i128, episode: i128) -> i64 {
    const P1: u64 = 11_400_714_785_074_694_791;
    const P2: u64 = 14_029_467_366_897_019_727;
    const P5: u64 = 2_870_177_450_012_600_261;
    let mut acc = P5;
    for part in [seed, episode] {
        acc = acc.wrapping_add((int_hash(part) as u64).wrapping_mul(P2));
        acc = acc.rotate_left(31).wrapping_mul(P1);
    }
    acc = acc.wrapping_add(2 ^ (P5 ^ 3_527_539));
    if acc == u64::MAX {
        return 1_546_275_796;
    }
    acc as i64
}

/// The seed of the generator of one episode.
pub fn world_seed(seed: i128, episode: i128) -> u32 {
    tuple_hash(seed, episode).rem_euclid((1 << 31) - 1) as u32
}

/// MT19937, seeded by one word, with numpy's legacy draws.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u32; N],
    /// Words of the current block that are used up.
    used: usize,
    /// Blocks made so far.
    blocks: u64,
}

impl Rng {
    /// A fresh generator.
    pub fn new(seed: u32) -> Self {
        let mut state = [0; N];
        let mut word = seed;
        state[0] = word;
        for (i, slot) in state.iter_mut().enumerate().skip(1) {
            word = 1_812_433_253_u32
                .wrapping_mul(word ^ (word >> 30))
                .wrapping_add(i as u32);
            *slot = word;
        }
        Self {
            state,
            used: N,
            blocks: 0,
        }
    }

    /// Words consumed since the seed. With the seed it names the generator's whole state.
    pub fn position(&self) -> u64 {
        (self.blocks * N as u64 + self.used as u64).saturating_sub(N as u64)
    }

    /// The next word.
    pub fn word(&mut self) -> u32 {
        if self.used == N {
            self.next_block();
        }
        let word = self.state[self.used];
        self.used += 1;
        temper(word)
    }

    /// The next word, left where it is.
    pub fn peek(&self) -> u32 {
        match self.state.get(self.used) {
            Some(&word) => temper(word),
            None => temper(self.state[M] ^ mix(self.state[0], self.state[1])),
        }
    }

    /// A uniform double in [0, 1): two words.
    pub fn uniform(&mut self) -> f64 {
        let high = f64::from(self.word() >> 5);
        let low = f64::from(self.word() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// A whole number below `n`: no word for `n == 1`, else one word an attempt until the masked
    /// word is in range.
    pub fn below(&mut self, n: u32) -> u32 {
        let largest = n.saturating_sub(1);
        if largest == 0 {
            return 0;
        }
        let mask = u32::MAX >> largest.leading_zeros();
        loop {
            let word = self.word() & mask;
            if word <= largest {
                return word;
            }
        }
    }

    /// Passes over `words` words: only the state is advanced, no word is made.
    pub fn skip(&mut self, words: usize) {
        let left = N - self.used;
        if words <= left {
            self.used += words;
            return;
        }
        let rest = words - left;
        let blocks = rest.div_ceil(N);
        self.next_blocks(blocks);
        self.used = rest - (blocks - 1) * N;
    }

    /// Makes the next 624 words.
    fn next_block(&mut self) {
        self.next_blocks(1);
    }

    /// Makes the next 624 words several times over; a night step needs 317 of these. The loop is
    /// compiled for the widest vectors of the processor it runs on.
    fn next_blocks(&mut self, blocks: usize) {
        let state = &mut self.state;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for _ in 0..blocks {
                    twist(state);
                }
            },
        );
        self.used = 0;
        self.blocks += blocks as u64;
    }
}

/// The state's next 624 words, as plain loops over constant ranges that become vector code.
#[inline(always)]
fn twist(s: &mut [u32; N]) {
    for i in 0..N - M {
        s[i] = s[i + M] ^ mix(s[i], s[i + 1]);
    }
    for i in N - M..N - 1 {
        s[i] = s[i + M - N] ^ mix(s[i], s[i + 1]);
    }
    s[N - 1] = s[M - 1] ^ mix(s[N - 1], s[0]);
}

#[inline(always)]
fn mix(this: u32, next: u32) -> u32 {
    let joined = (this & HIGH) | (next & LOW);
    (joined >> 1) ^ ((next & 1).wrapping_neg() & MATRIX)
}

#[inline]
fn temper(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_like_python() {
        assert_eq!(tuple_hash(42, 1), -5_900_542_410_020_355_268);
        assert_eq!(world_seed(42, 1), 550_904_604);
        assert_eq!(int_hash(-1), -2);
        assert_eq!(int_hash((1 << 61) - 1), 0);
    }

    #[test]
    fn a_skip_equals_as_many_words() {
        for words in [0, 1, 5, 623, 624, 625, 1248, 1249, 98_784] {
            for first in [0, 1, 17, 624] {
                let mut drawn = Rng::new(7);
                let mut skipped = Rng::new(7);
                for _ in 0..first {
                    drawn.word();
                    skipped.word();
                }
                for _ in 0..words {
                    drawn.word();
                }
                skipped.skip(words);
                assert_eq!(drawn.position(), (first + words) as u64);
                assert_eq!(skipped.position(), drawn.position());
                assert_eq!(skipped.peek(), drawn.peek());
                assert_eq!(skipped.word(), drawn.word());
            }
        }
    }
}
