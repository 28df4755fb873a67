//! Boxoban's puzzles: text files of many levels each, in sets.
//!
//! Owns reading them and the choice of one by a seed. The choice: the set's `.txt` files are sorted by
//! name; a SplitMix64 generator started at the seed gives two words; the first picks the file, the second
//! the level in it, each as `(word * count) >> 64`. Must not know NetHack.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Most bytes of a file of levels; the published ones have 110,000.
const MAX_FILE: u64 = 16 << 20;
/// Most cells of a puzzle in each direction: NetHack's map is 79 by 21 with an edge.
const MAX_SIDE: (usize, usize) = (70, 19);

/// One puzzle: `#` wall, space floor, `$` box, `.` goal, `@` player; every row of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Puzzle {
    /// Its rows.
    pub rows: Vec<String>,
}

/// Why there is no puzzle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoxobanError {
    /// The set is not there, or it is empty.
    #[error(
        "the Boxoban levels are missing: {folder} {problem}; `automem setup nethack --boxoban github` fetches them, \
         `--boxoban DIR` takes them from a copy of their repository"
    )]
    Missing {
        /// The set's folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of levels is none.
    #[error(
        "{file} is no file of Boxoban levels: {problem}; install the levels again with `automem setup nethack --boxoban github` (or DIR)"
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Puzzle {
    /// Reads one puzzle from its rows.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn read<'a>(rows: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let rows: Vec<String> = rows.into_iter().map(str::to_owned).collect();
        let width = rows.first().map_or(0, String::len);
        if width == 0 || width > MAX_SIDE.0 || rows.len() > MAX_SIDE.1 {
            return Err(format!(
                "it has {} rows of {width} cells; there may be 1 to {} rows of 1 to {} cells",
                rows.len(),
                MAX_SIDE.1,
                MAX_SIDE.0
            ));
        }
        for (index, row) in rows.iter().enumerate() {
            if let Some(other) = row.chars().find(|c| !matches!(c, '#' | ' ' | '$' | '.' | '@')) {
                return Err(format!("row {} holds {other:?}, which is no cell", index + 1));
            }
            if row.len() != width {
                return Err(format!(
                    "row {} has {} cells and the first {width}",
                    index + 1,
                    row.len()
                ));
            }
        }
        let puzzle = Self { rows };
        let count = |cell| puzzle.cells(cell).count();
        let (players, boxes, goals) = (count('@'), count('$'), count('.'));
        if players != 1 || boxes == 0 || boxes != goals {
            return Err(format!(
                "it has {players} players, {boxes} boxes and {goals} goals; there must be one player and a goal for each box"
            ));
        }
        Ok(puzzle)
    }

    /// Where a cell of this kind is, as (column, row), row by row.
    pub(crate) fn cells(&self, kind: char) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.iter().enumerate().flat_map(move |(row, text)| {
            text.chars()
                .enumerate()
                .filter(move |(_, c)| *c == kind)
                .map(move |(column, _)| (column, row))
        })
    }
}

/// Every puzzle of a file: each begins with a line `; NUMBER`.
///
/// # Errors
/// Which level is wrong and why, in words.
fn read(text: &str) -> Result<Vec<Puzzle>, String> {
    let mut puzzles = Vec::new();
    let mut title: Option<&str> = None;
    let mut rows: Vec<&str> = Vec::new();
    let mut finish = |title: Option<&str>, rows: &mut Vec<&str>| -> Result<(), String> {
        match title {
            Some(title) => {
                let puzzle = Puzzle::read(rows.drain(..)).map_err(|problem| format!("level `{title}`: {problem}"))?;
                puzzles.push(puzzle);
                Ok(())
            }
            None if rows.is_empty() => Ok(()),
            None => Err("it does not begin with a line such as `; 0`".to_owned()),
        }
    };
    for line in text.lines() {
        if line.starts_with(';') {
            finish(title, &mut rows)?;
            title = Some(line);
        } else if !line.is_empty() {
            rows.push(line);
        }
    }
    finish(title, &mut rows)?;
    if puzzles.is_empty() {
        return Err("it holds no level".to_owned());
    }
    Ok(puzzles)
}

/// The next word of a SplitMix64 generator.
fn next_word(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A number below `count` from a word.
fn below(word: u64, count: usize) -> usize {
    ((u128::from(word) * count as u128) >> 64) as usize
}

/// The seed's puzzle of a set (`hard`, `medium/train`) below `root`, and its name, such as `hard/000.txt 12`.
///
/// # Errors
/// When the set is missing or the file damaged.
pub(crate) fn choose(root: &Path, set: &str, seed: u64) -> Result<(Puzzle, String), BoxobanError> {
    let folder = root.join(set);
    let missing = |problem: String| BoxobanError::Missing {
        folder: folder.clone(),
        problem,
    };
    let entries = std::fs::read_dir(&folder).map_err(|error| missing(format!("cannot be read ({error})")))?;
    let mut files: Vec<OsString> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "txt"))
        .collect();
    files.sort();
    let mut state = seed;
    let file_word = next_word(&mut state);
    let level_word = next_word(&mut state);
    let Some(name) = files.get(below(file_word, files.len())) else {
        return Err(missing("holds no file `*.txt`".to_owned()));
    };
    let file = folder.join(name);
    let damaged = |problem: String| BoxobanError::Damaged {
        file: file.clone(),
        problem,
    };
    let bytes = std::fs::metadata(&file)
        .map_err(|error| damaged(error.to_string()))?
        .len();
    if bytes > MAX_FILE {
        return Err(damaged(format!("it has {bytes} bytes; at most {MAX_FILE} are read")));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| damaged(error.to_string()))?;
    let mut puzzles = read(&text).map_err(damaged)?;
    let number = below(level_word, puzzles.len());
    Ok((
        puzzles.swap_remove(number),
        format!("{set}/{} {number}", name.to_string_lossy()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO: &str = "; 0\n#####\n#@$.#\n#####\n\n; 1\n######\n#@ $.#\n######\n";

    fn set(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("hard")).unwrap();
        for (name, text) in files {
            std::fs::write(root.path().join("hard").join(name), text).unwrap();
        }
        root
    }

    #[test]
    fn a_file_gives_all_its_levels_with_or_without_a_last_blank_line() {
        let puzzles = read(TWO).unwrap();
        assert_eq!(puzzles.len(), 2);
        assert_eq!(puzzles[1].cells('$').collect::<Vec<_>>(), [(3, 1)]);
        assert_eq!(read(&format!("{TWO}\n")).unwrap(), puzzles);
        assert_eq!(read(&TWO.replace('\n', "\r\n")).unwrap(), puzzles);
    }

    #[test]
    fn bad_levels_are_named_with_what_is_wrong() {
        for (text, says) in [
            ("", "no level"),
            ("#####\n", "does not begin"),
            ("; 0\n", "0 rows"),
            ("; 0\n#@$.#\n#@$.#\n", "2 players"),
            ("; 0\n#@$$.#\n", "2 boxes and 1 goals"),
            ("; 0\n#@#\n", "0 boxes"),
            ("; 0\n#@$.#\n####\n", "row 2 has 4"),
            ("; 0\n#@$.\u{1b}#\n", "row 1 holds '\\u{1b}'"),
            ("; 7\n#@*.#\n", "level `; 7`: row 1 holds '*'"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
        let wide = format!("; 0\n#@$.{}\n", "#".repeat(80));
        assert!(read(&wide).unwrap_err().contains("84 cells"));
        let high = format!("; 0\n#@$.#\n{}", "#####\n".repeat(30));
        assert!(read(&high).unwrap_err().contains("31 rows"));
    }

    #[test]
    fn the_first_words_of_the_generator_are_the_published_ones() {
        let mut state = 1_234_567;
        assert_eq!(next_word(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(next_word(&mut state), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_seed_names_one_level_whatever_order_the_folder_has() {
        let one = |name: &str| format!("; 0\n#{}@$.#\n", " ".repeat(name.len()));
        let names = ["000.txt", "01.txt", "2.txt"];
        let forth: Vec<(&str, String)> = names.iter().map(|name| (*name, one(name))).collect();
        let forth: Vec<(&str, &str)> = forth.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let back: Vec<(&str, &str)> = forth.iter().rev().copied().collect();
        let (forth, back) = (set(&forth), set(&back));
        std::fs::write(back.path().join("hard/README"), "no level").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let chosen = choose(forth.path(), "hard", seed).unwrap();
            assert_eq!(chosen, choose(back.path(), "hard", seed).unwrap());
            seen.insert(chosen.1);
        }
        let all: Vec<&str> = seen.iter().map(String::as_str).collect();
        assert_eq!(all, ["hard/000.txt 0", "hard/01.txt 0", "hard/2.txt 0"]);
    }

    #[test]
    fn what_is_missing_says_how_it_is_installed() {
        let root = tempfile::tempdir().unwrap();
        for wanted in ["medium/train", "hard"] {
            let error = choose(root.path(), wanted, 1).unwrap_err().to_string();
            assert!(
                error.contains(wanted) && error.contains("automem setup nethack --boxoban"),
                "{error}"
            );
        }
        let empty = set(&[]);
        let error = choose(empty.path(), "hard", 1).unwrap_err().to_string();
        assert!(error.contains("holds no file"), "{error}");
        let broken = set(&[("000.txt", "; 0\nwhat\n")]);
        let error = choose(broken.path(), "hard", 1).unwrap_err().to_string();
        assert!(error.contains("000.txt") && error.contains("level `; 0`"), "{error}");
        std::fs::write(broken.path().join("hard/000.txt"), [0xff, 0xfe]).unwrap();
        assert!(matches!(
            choose(broken.path(), "hard", 1),
            Err(BoxobanError::Damaged { .. })
        ));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(; [0-9]\n|[# $.@]{0,8}\n|\\PC{0,4}\n){0,12}") {
            if let Ok(puzzles) = read(&text) {
                for puzzle in puzzles {
                    prop_assert_eq!(puzzle.cells('@').count(), 1);
                    prop_assert_eq!(puzzle.cells('$').count(), puzzle.cells('.').count());
                }
            }
        }

        #[test]
        fn a_choice_is_within_bounds(word: u64, count in 1usize..5000) {
            prop_assert!(below(word, count) < count);
        }
    }
}
