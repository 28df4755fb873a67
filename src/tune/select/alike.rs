//! Answers that are nearly the same, found in time linear in their length and number.
//!
//! An answer is cut into overlapping pieces of a few bytes; a sketch keeps the smallest hash of each of 32 classes of
//! pieces (one-permutation MinHash), so that the share of equal places estimates the share of common pieces.

use std::collections::HashMap;

use crate::types::Digest;

/// Places of a sketch.
const PLACES: usize = 32;
/// Places that are compared at once when similar answers are looked for.
const BAND: usize = 4;
/// Bytes of a piece.
const PIECE: usize = 6;
/// Answers that stand for the others in a bucket.
const MOST_HEADS: usize = 8;
/// Above this, answers count as nearly the same where nothing else is said.
pub const SIMILARITY: f64 = 0.9;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketch {
    /// `u32::MAX` where no piece fell.
    places: [u32; PLACES],
    /// Names the text itself.
    whole: u64,
}

impl Default for Sketch {
    fn default() -> Self {
        Self::of("")
    }
}

impl Sketch {
    /// The sketch of an answer; blanks at its ends do not count.
    pub fn of(text: &str) -> Self {
        let bytes = text.trim().as_bytes();
        let mut places = [u32::MAX; PLACES];
        for piece in bytes.windows(PIECE) {
            let mut padded = [0; 8];
            padded[..PIECE].copy_from_slice(piece);
            let hash = mix(u64::from_le_bytes(padded));
            let place = &mut places[(hash >> 59) as usize];
            *place = (*place).min(hash as u32);
        }
        let digest = Digest::of(bytes).0;
        let mut whole = [0; 8];
        whole.copy_from_slice(&digest[..8]);
        Self {
            places,
            whole: u64::from_le_bytes(whole),
        }
    }

    /// How much of two answers is the same, by estimate, 0 to 1.
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.whole == other.whole {
            return 1.0;
        }
        let pairs = || self.places.iter().zip(&other.places);
        let filled = pairs().filter(|(a, b)| **a != u32::MAX || **b != u32::MAX).count();
        let same = pairs().filter(|(a, b)| a == b && **a != u32::MAX).count();
        match filled {
            0 => 0.0,
            // Equal texts were told apart above.
            filled => (same as f64 / filled as f64).min(0.999),
        }
    }
}

/// A number whose bits all depend on all bits of another (SplitMix64's finish).
fn mix(mut n: u64) -> u64 {
    n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Groups answers whose similarity is above a bound: the number of each one's group, `None` where there is none like
/// it. Groups are numbered from 1 in order of their first member.
pub fn alike<'a>(sketches: impl IntoIterator<Item = &'a Sketch>, above: f64) -> Vec<Option<u32>> {
    let sketches: Vec<&Sketch> = sketches.into_iter().collect();
    if above >= 1.0 {
        return vec![None; sketches.len()];
    }
    // The first member that each one is like; itself where there is none.
    let mut first: Vec<usize> = (0..sketches.len()).collect();
    let mut equal: HashMap<u64, usize> = HashMap::new();
    let mut buckets: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, sketch) in sketches.iter().enumerate() {
        if let Some(&other) = equal.get(&sketch.whole) {
            first[at] = first[other];
            continue;
        }
        equal.insert(sketch.whole, at);
        let keys: Vec<u64> = sketch
            .places
            .chunks(BAND)
            .enumerate()
            .filter(|(_, band)| band.iter().any(|place| *place != u32::MAX))
            .map(|(n, band)| band.iter().fold(n as u64, |key, place| mix(key ^ u64::from(*place))))
            .collect();
        let found = keys
            .iter()
            .filter_map(|key| buckets.get(key))
            .flatten()
            .find(|head| sketches[**head].similarity(sketch) > above);
        match found {
            Some(head) => first[at] = *head,
            None => {
                for key in keys {
                    let heads = buckets.entry(key).or_default();
                    if heads.len() < MOST_HEADS {
                        heads.push(at);
                    }
                }
            }
        }
    }
    let mut members = vec![0_u32; sketches.len()];
    first.iter().for_each(|head| members[*head] += 1);
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let numbered = first.iter().map(|head| {
        (members[*head] > 1).then(|| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX).saturating_add(1);
            *numbers.entry(*head).or_insert(next)
        })
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups(texts: &[&str], above: f64) -> Vec<Option<u32>> {
        let sketches: Vec<Sketch> = texts.iter().map(|text| Sketch::of(text)).collect();
        alike(&sketches, above)
    }

    #[test]
    fn near_and_equal_answers_are_found() {
        let long = "The table stands at 12,7 and the water is two steps west of it; the cow went north, so I will follow \
                    the path along the trees until I see it again, then turn back to the table before it gets dark.";
        let near = long.replace("before it gets dark", "before it gets late");
        let other = "I have three pieces of wood now. <|APPEND|>inventory.txt|wood 3<|END|> <|DONE|>";
        assert_eq!(
            groups(&[long, "<|DONE|>", other, &near, "<|DONE|>\n", "ab"], 0.7),
            [Some(1), Some(2), None, Some(1), Some(2), None]
        );
        assert_eq!(groups(&[long, &near, long], 1.0), [None, None, None]);
        assert_eq!(groups(&["a", "b", "a"], 0.9), [Some(1), None, Some(1)]);
        assert!(groups(&[], 0.9).is_empty());
    }

    proptest! {
        #[test]
        fn the_estimate_is_near_the_share_of_common_pieces(a in "[a-d ]{40,300}", keep in 0_usize..300) {
            let cut = keep.min(a.len());
            let b = format!("{}{}", &a[..cut], "xyzw".repeat((a.len() - cut) / 4));
            let pieces = |text: &str| text.trim().as_bytes().windows(PIECE).map(<[u8]>::to_vec).collect::<std::collections::HashSet<_>>();
            let (x, y) = (pieces(&a), pieces(&b));
            let share = x.intersection(&y).count() as f64 / x.union(&y).count().max(1) as f64;
            let estimate = Sketch::of(&a).similarity(&Sketch::of(&b));
            prop_assert!((share - estimate).abs() < 0.4, "{share} {estimate}");
        }
    }
}
