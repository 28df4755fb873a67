//! Seeds as people write them: `42`, `42..45`, `1,2,9`.

use std::str::FromStr;

/// Seeds of a run, one episode each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// Episodes of one run at most.
const MOST_SEEDS: u64 = 10_000;

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Vec::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once("..") {
                Some((first, last)) => (first, last.trim_start_matches('=')),
                None => (part, part),
            };
            let number = |text: &str| {
                text.trim()
                    .parse::<u64>()
                    .map_err(|_| format!("`{text}` is no seed: write 42, or 42..45, or 1,2,9"))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("`{part}` runs backwards: write {last}..{first}"));
            }
            if last - first >= MOST_SEEDS || seeds.len() as u64 + (last - first) >= MOST_SEEDS {
                return Err(format!("more than {MOST_SEEDS} seeds: split them over several runs"));
            }
            seeds.extend(first..=last);
        }
        Ok(Self(seeds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_come_in_three_forms() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!(seeds("42"), Ok(vec![42]));
        assert_eq!(seeds("42..45"), Ok(vec![42, 43, 44, 45]));
        assert_eq!(seeds("1, 2,9"), Ok(vec![1, 2, 9]));
        assert_eq!(seeds("1..2,7"), Ok(vec![1, 2, 7]));
        for wrong in ["", "a", "5..3", "1..", "1,,2", "-1", "0..99999999999"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
