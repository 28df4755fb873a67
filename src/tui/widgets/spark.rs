//! Sparklines: numbers over steps as a few small bars.

/// Bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar a number, as high as its share of the largest; a dot where there is none.
pub(crate) fn bars(numbers: &[u64]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0);
    bars_of(numbers, most)
}

/// The same, measured against another largest number.
pub(crate) fn bars_of(numbers: &[u64], most: u64) -> String {
    let bar = |number: &u64| match (*number).min(most) {
        0 => '·',
        // The smallest number still shows; only the largest is full.
        number => BARS[(number as u128 * 8).div_ceil(u128::from(most)).clamp(1, 8) as usize - 1],
    };
    numbers.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_shares_of_the_largest() {
        assert_eq!(bars(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(bars(&[0, 0]), "··");
        assert_eq!(bars(&[]), "");
        assert_eq!(bars(&[u64::MAX, 1]), "█▁");
        assert_eq!(bars_of(&[4, 9], 8), "▄█");
    }
}
