//! A share of a run's seeds, as machines that work side by side take them: `2/8`.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Shards a run is cut into at most.
const MOST_SHARDS: u32 = 10_000;

/// One of several shares of the same seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    number: u32,
    /// Of how many.
    of: u32,
}

impl Shard {
    /// Its seeds: every `of`-th, beginning with the `number`-th.
    pub fn seeds(self, all: &[u64]) -> Vec<u64> {
        let (first, step) = (self.number.saturating_sub(1) as usize, self.of.max(1) as usize);
        all.iter().skip(first).step_by(step).copied().collect()
    }

    /// The path with the shard in the file's name: `traces.db` becomes `traces-2of8.db`, so that every shard may be given the
    /// same path.
    pub fn path(self, path: &Path) -> PathBuf {
        let mut name = OsString::from(path.file_stem().unwrap_or_default());
        name.push(format!("-{}of{}", self.number, self.of));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shard: write 2/8 for the second of eight, from 1/8 to 8/8");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let number: u32 = number.trim().parse().map_err(|_| wrong())?;
        let of: u32 = of.trim().parse().map_err(|_| wrong())?;
        if number == 0 || number > of || of > MOST_SHARDS {
            return Err(wrong());
        }
        Ok(Self { number, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_seeds() {
        let all: Vec<u64> = (40..47).collect();
        let shard = |text: &str| text.parse::<Shard>().unwrap();
        assert_eq!(shard("1/3").seeds(&all), [40, 43, 46]);
        assert_eq!(shard("3/3").seeds(&all), [42, 45]);
        assert_eq!(shard("1/1").seeds(&all), all);
        assert_eq!(shard("9/9").seeds(&all), [0_u64; 0]);
        let mut taken: Vec<u64> = (1..=4).flat_map(|n| shard(&format!("{n}/4")).seeds(&all)).collect();
        taken.sort_unstable();
        assert_eq!(taken, all);
    }

    #[test]
    fn its_name_is_in_the_files() {
        let shard: Shard = " 2 / 8".parse().unwrap();
        assert_eq!(
            shard.path(Path::new("runs/traces.db")),
            Path::new("runs/traces-2of8.db")
        );
        assert_eq!(shard.path(Path::new("traces")), Path::new("traces-2of8"));
        assert_eq!(shard.to_string(), "2/8");
        for wrong in ["", "2", "0/3", "4/3", "a/3", "1/0", "-1/3", "1/99999999"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("2/8"), "{wrong}");
        }
    }
}
