//! A scaffold's `migrate(files) -> files`: memory that an earlier version wrote, in the form of this one.
//!
//! Owns what a migration may give back and what it did to each file. Writes nothing; the script runs in a
//! process of its own under the limits of every call.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::diff::DiffLine;
use super::error::ProblemAt;
use super::hooks::{self, HOOKS, HookError, Migrated, place_in_script};
use super::{Scaffold, diff};
use crate::memory::confine;

type Files = BTreeMap<String, String>;

/// Bytes a text may take more of when it is written as JSON.
const ESCAPED: u64 = 6;

impl Scaffold {
    /// Whether its script can migrate memory.
    pub fn migrates(&self) -> bool {
        self.script().is_some_and(hooks::can_migrate)
    }

    /// The files as this scaffold wants them; as they are where it has no `migrate`.
    ///
    /// # Errors
    /// What its script did wrong, with its place; what it gave back that can be no memory.
    pub fn migrate(&self, files: &Files) -> Result<Migrated, ProblemAt> {
        let Some(script) = self.script().filter(|script| hooks::can_migrate(script)) else {
            return Ok(Migrated {
                files: files.clone(),
                notes: Vec::new(),
            });
        };
        let mut limits = self.manifest().hooks;
        let whole = self.manifest().budgets.directory_bytes.saturating_mul(ESCAPED);
        limits.reply_bytes = limits.reply_bytes.max(whole);
        let migrated = hooks::migrate(script, limits, files).map_err(|error| failed(&error))?;
        match self.unfit(&migrated.files) {
            None => Ok(migrated),
            Some(why) => Err(ProblemAt::of_file(
                HOOKS,
                format!("migrate gave back what can be no memory: {why}"),
                "mend migrate, or raise the budgets in scaffold.toml",
            )),
        }
    }

    /// Why files cannot be this scaffold's memory.
    fn unfit(&self, files: &Files) -> Option<String> {
        let budgets = &self.manifest().budgets;
        for (path, text) in files {
            match confine(path) {
                Ok(plain) if plain == path => {}
                Ok(plain) => return Some(format!("write `{path}` as `{plain}`")),
                Err(why) => return Some(format!("`{path}`: {why}")),
            }
            if text.len() as u64 > budgets.file_bytes {
                let (is, most) = (text.len(), budgets.file_bytes);
                return Some(format!("`{path}` has {is} bytes, file_bytes allows {most}"));
            }
        }
        let bytes: u64 = files.values().map(|text| text.len() as u64).sum();
        if bytes > budgets.directory_bytes {
            let most = budgets.directory_bytes;
            return Some(format!(
                "all files together have {bytes} bytes, directory_bytes allows {most}"
            ));
        }
        let (is, most) = (files.len(), budgets.files);
        (is > most as usize).then(|| format!("there are {is} files, the budget allows {most}"))
    }

    /// Tries the migration on no memory at all and on the memory a fresh episode starts with.
    pub fn rehearse_migration(&self) -> Option<ProblemAt> {
        let fresh: Files = self
            .initial_memory()
            .into_iter()
            .map(|(path, text)| (path, text.to_string()))
            .collect();
        let tried = [
            ("no files", Files::new()),
            ("the files a fresh episode starts with", fresh),
        ];
        tried.into_iter().find_map(|(what, files)| {
            let problem = self.migrate(&files).err()?;
            Some(ProblemAt {
                message: format!("migrate fails with {what}: {}", problem.message),
                ..problem
            })
        })
    }
}

fn failed(error: &HookError) -> ProblemAt {
    let told = error.to_string();
    let (line, column, message) = place_in_script(&told);
    let message = message
        .strip_prefix(HOOKS)
        .map_or(message, |rest| rest.trim_start_matches([':', ' ']));
    ProblemAt {
        line,
        column,
        ..ProblemAt::of_file(
            HOOKS,
            message,
            "migrate takes a dictionary path -> text and returns one",
        )
    }
}

/// What became of a memory file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileMove {
    /// Its path: afterwards, or before where it is gone.
    pub path: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: FileFate,
}

/// What became of a memory file, in a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum FileFate {
    /// Nothing.
    Same,
    /// It is new.
    Made {
        /// Lines it has.
        lines: usize,
    },
    /// The same text has another path.
    Renamed {
        /// The path it had.
        from: String,
    },
    /// Its text is another.
    Changed {
        /// Lines of it that stand in no file afterwards.
        lost: usize,
        /// What changed, with the lines around.
        hunks: Vec<Vec<DiffLine>>,
    },
    /// It is gone.
    Removed {
        /// Lines it had.
        lines: usize,
        /// Lines of it that stand in no file afterwards.
        lost: usize,
    },
}

impl FileFate {
    /// Lines that stand in no file afterwards.
    pub fn lost(&self) -> usize {
        match self {
            Self::Changed { lost, .. } | Self::Removed { lost, .. } => *lost,
            Self::Same | Self::Made { .. } | Self::Renamed { .. } => 0,
        }
    }
}

/// What a migration did, file by file. A blank line counts as no line.
pub fn moves(before: &Files, after: &Files) -> Vec<FileMove> {
    let there: HashSet<&str> = after.values().flat_map(|text| lines(text)).collect();
    let lost = |text: &str| lines(text).filter(|line| !there.contains(line)).count();
    let mut renamed: BTreeMap<&String, &String> = BTreeMap::new();
    for (path, text) in before {
        if after.contains_key(path) || text.trim().is_empty() {
            continue;
        }
        let same =
            |(to, new): &(&String, &String)| *new == text && !before.contains_key(*to) && !renamed.contains_key(*to);
        if let Some((to, _)) = after.iter().find(same) {
            renamed.insert(to, path);
        }
    }
    let gone = |path: &String| renamed.values().any(|from| *from == path);
    let mut found: Vec<FileMove> = Vec::new();
    for (path, text) in after {
        let fate = match (before.get(path), renamed.get(path)) {
            (Some(old), _) if old == text => FileFate::Same,
            (Some(old), _) => FileFate::Changed {
                lost: lost(old),
                hunks: hunks(path, old, text),
            },
            (None, Some(from)) => FileFate::Renamed { from: (*from).clone() },
            (None, None) => FileFate::Made {
                lines: lines(text).count(),
            },
        };
        found.push(FileMove {
            path: path.clone(),
            fate,
        });
    }
    for (path, text) in before {
        if !after.contains_key(path) && !gone(path) {
            let fate = FileFate::Removed {
                lines: lines(text).count(),
                lost: lost(text),
            };
            found.push(FileMove {
                path: path.clone(),
                fate,
            });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty())
}

fn hunks(path: &str, old: &str, new: &str) -> Vec<Vec<DiffLine>> {
    let one = |text: &str| BTreeMap::from([(path.to_owned(), text.to_owned())]);
    diff(&one(old), &one(new))
        .into_iter()
        .flat_map(|file| file.hunks)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn told(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
        let word = |moved: FileMove| match moved.fate {
            FileFate::Same => format!("{} same", moved.path),
            FileFate::Made { lines } => format!("{} made {lines}", moved.path),
            FileFate::Renamed { from } => format!("{} from {from}", moved.path),
            FileFate::Changed { lost, .. } => format!("{} changed -{lost}", moved.path),
            FileFate::Removed { lines, lost } => format!("{} gone {lines} -{lost}", moved.path),
        };
        moves(&files(before), &files(after)).into_iter().map(word).collect()
    }

    #[test]
    fn a_file_is_followed_by_its_text() {
        let before = [
            ("a.txt", "one\ntwo\n"),
            ("b.txt", "three\n"),
            ("c.txt", "four\nfive\n\n"),
            ("e.txt", ""),
        ];
        assert_eq!(
            told(&before, &before),
            ["a.txt same", "b.txt same", "c.txt same", "e.txt same"]
        );
        let after = [("n.txt", "one\ntwo\n"), ("b.txt", "three\nfour\n"), ("m.txt", "new\n")];
        assert_eq!(
            told(&before, &after),
            [
                "b.txt changed -0",
                "c.txt gone 2 -1",
                "e.txt gone 0 -0",
                "m.txt made 1",
                "n.txt from a.txt"
            ]
        );
        // Two equal files do not both become the same one.
        let twins = [("x", "same\n"), ("y", "same\n")];
        assert_eq!(told(&twins, &[("z", "same\n")]), ["y gone 1 -0", "z from x"]);
        assert_eq!(told(&[("x", "a\nb\n")], &[("x", "b\n")]), ["x changed -1"]);
    }
}
