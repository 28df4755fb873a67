//! Boxoban's levels: where they come from, and that they are levels.
//!
//! Owns the form of a level file. Must not choose levels.

use std::path::{Path, PathBuf};

use super::SetupError;
use super::error::io_error;
use crate::jobs::Cancel;

/// The folder of the levels, below the data directory.
pub const FOLDER: &str = "boxoban";
/// The sets that are played, each a folder of text files.
pub(super) const SETS: [&str; 2] = ["medium/train", "hard"];
/// The archive of the repository.
pub(super) const ADDRESS: &str = "https://github.com/google-deepmind/boxoban-levels/archive/refs/heads/master.zip";

/// Rows and columns of a level.
const SIDE: usize = 10;
/// The largest file of levels; the repository's have 125 kB.
const MOST_BYTES: u64 = 4 << 20;
/// Files a set may have; the repository's have 450 at most.
const MOST_FILES: usize = 10_000;

/// Where the levels come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boxoban {
    /// A copy of the repository.
    Folder(PathBuf),
    /// The repository, over HTTPS.
    Github,
}

/// Where a member of the repository's archive goes.
pub(super) fn place(member: &str) -> Option<(String, bool)> {
    let (_, path) = member.split_once('/')?;
    let level = SETS.iter().any(|set| {
        let name = path.strip_prefix(set).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| name.ends_with(".txt"))
    });
    (level || path == "LICENSE").then(|| (path.to_owned(), false))
}

/// Copies the levels out of a folder; gives the paths of what was copied.
pub(super) fn copy(
    from: &Path,
    into: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<String>, SetupError> {
    let mut files = names(from)?;
    if from.join("LICENSE").is_file() {
        files.push("LICENSE".to_owned());
    }
    let mut done = 0;
    for file in &files {
        if cancel.is_cancelled() {
            return Err(SetupError::Cancelled);
        }
        let (source, target) = (from.join(file), into.join(file));
        let folder = target.parent().unwrap_or(into);
        std::fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
        let bytes = read(&source)?;
        std::fs::write(&target, &bytes).map_err(io_error("writing", &target))?;
        done += bytes.len() as u64;
        progress(done);
    }
    Ok(files)
}

/// Checks every level of a folder; gives how many there are.
pub(super) fn check(folder: &Path, cancel: &Cancel) -> Result<u64, SetupError> {
    let mut levels = 0;
    for file in names(folder)? {
        if cancel.is_cancelled() {
            return Err(SetupError::Cancelled);
        }
        let path = folder.join(file);
        let wrong = |message: String| SetupError::Levels {
            path: path.display().to_string(),
            message,
        };
        let text = String::from_utf8(read(&path)?).map_err(|_| wrong("it is no text".to_owned()))?;
        levels += levels_in(&text).map_err(|(line, problem)| wrong(format!("line {line}: {problem}")))?;
    }
    Ok(levels)
}

/// The files of levels in a folder, in order.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, SetupError> {
    let mut found = Vec::new();
    for set in SETS {
        let place = folder.join(set);
        let wrong = |message: String| SetupError::Levels {
            path: place.display().to_string(),
            message,
        };
        let before = found.len();
        let entries = std::fs::read_dir(&place).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        for entry in entries {
            let entry = entry.map_err(io_error("reading", &place))?;
            if let Some(name) = entry.file_name().to_str()
                && name.ends_with(".txt")
            {
                found.push(format!("{set}/{name}"));
            }
            if found.len() - before > MOST_FILES {
                return Err(wrong(format!("it holds more than {MOST_FILES} files")));
            }
        }
        if found.len() == before {
            return Err(wrong("no file of levels (NAME.txt) is in it".to_owned()));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, SetupError> {
    let size = std::fs::metadata(path).map_err(io_error("reading", path))?.len();
    if size > MOST_BYTES {
        return Err(SetupError::Levels {
            path: path.display().to_string(),
            message: format!("it has {size} bytes; a file of levels has {MOST_BYTES} at most"),
        });
    }
    std::fs::read(path).map_err(io_error("reading", path))
}

/// How many levels a file holds: blocks of a line `; N` and ten lines of ten characters. What is wrong comes with its
/// line.
fn levels_in(text: &str) -> Result<u64, (usize, String)> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim_end_matches('\r')));
    let mut levels = 0;
    while let Some((at, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let number = line.strip_prefix(';').map(str::trim);
        if !number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err((at, format!("`; NUMBER` is expected before a level, not {line:?}")));
        }
        let mut count = [0; 3];
        for row in 0..SIDE {
            let (at, line) = lines
                .next()
                .ok_or((at, format!("the level ends after {row} rows of {SIDE}")))?;
            if line.len() != SIDE || !line.bytes().all(|byte| b"# .$@".contains(&byte)) {
                return Err((at, format!("{SIDE} characters of `# .$@` are expected, not {line:?}")));
            }
            for (count, thing) in count.iter_mut().zip(*b"@$.") {
                *count += line.bytes().filter(|byte| *byte == thing).count();
            }
        }
        let [players, boxes, goals] = count;
        if players != 1 || boxes == 0 || boxes != goals {
            let problem =
                format!("one player and as many boxes as goals are expected, not {players}, {boxes}, {goals}");
            return Err((at, problem));
        }
        levels += 1;
    }
    if levels == 0 {
        return Err((1, "it holds no level".to_owned()));
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(number: u32) -> String {
        let middle = "#        #\n".repeat(6);
        format!("; {number}\n##########\n# @ $ .  #\n{middle}#        #\n##########\n")
    }

    #[test]
    fn levels_are_counted_and_faults_have_their_line() {
        assert_eq!(levels_in(&format!("{}\n{}", level(0), level(1))), Ok(2));
        assert_eq!(levels_in(&level(7).replace('\n', "\r\n")), Ok(1));
        let good = level(0);
        for (text, line, words) in [
            (String::new(), 1, "no level"),
            (good.replace("; 0", "; zero"), 1, "; NUMBER"),
            (good.replace("; 0\n", ""), 1, "; NUMBER"),
            (good.replace("# @ $ .  #", "# @ $ .  ##"), 3, "10 characters"),
            (good.replace("# @ $ .  #", "# @ $ .\u{1b} #"), 3, "\\u{1b}"),
            (good.replace('@', " "), 1, "not 0, 1, 1"),
            (good.replace('$', " "), 1, "not 1, 0, 1"),
            (good.lines().take(8).collect::<Vec<_>>().join("\n"), 1, "after 7 rows"),
        ] {
            let (at, problem) = levels_in(&text).unwrap_err();
            assert!(at == line && problem.contains(words), "{line} {words}: {at} {problem}");
        }
    }

    #[test]
    fn the_repositorys_members_have_their_places() {
        let to = |member: &str| place(member).map(|(to, _)| to);
        assert_eq!(
            to("boxoban-levels-master/hard/004.txt").as_deref(),
            Some("hard/004.txt")
        );
        assert_eq!(to("x/medium/train/000.txt").as_deref(), Some("medium/train/000.txt"));
        assert_eq!(to("x/LICENSE").as_deref(), Some("LICENSE"));
        for stays in [
            "x/unfiltered/train/000.txt",
            "x/medium/valid/000.txt",
            "x/README.md",
            "hard",
            "x/hardy/0.txt",
        ] {
            assert_eq!(to(stays), None, "{stays}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[;#@$. \n0-9a]{0,300}") {
            let _ = levels_in(&text);
        }
    }
}
