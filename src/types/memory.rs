//! The agent's memory as data: its files, what an operation did to them, and how to apply that.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Digest, Phase, TurnNo};

/// All files of a memory directory by path (`/` between folders), with their full text.
pub type MemoryFiles = BTreeMap<String, Arc<str>>;

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The model asked for it.
    Model,
    /// The scaffold's own upkeep.
    Scaffold,
    /// A person.
    Human,
}

/// One file operation, as asked for and as it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryOp {
    /// Phase it happened in.
    pub phase: Phase,
    /// Turn that asked for it.
    pub turn: TurnNo,
    /// Its name in capitals: `READ`, `APPEND`, ...
    pub op: String,
    /// Arguments in the order of the op's syntax.
    pub args: Vec<String>,
    /// Who asked for it.
    pub by: Author,
    /// How it went.
    pub outcome: OpOutcome,
    /// What it changed; empty for reads and refusals.
    pub changes: Vec<MemoryChange>,
}

/// How an operation went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpOutcome {
    /// In one word.
    pub status: OpStatus,
    /// What the model is told, already cut to its budget.
    pub text: String,
    /// Bytes left out of `text` because of the budget.
    pub cut: u64,
}

/// How an operation went, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpStatus {
    /// It did what was asked.
    Ok,
    /// It ran and found nothing.
    Empty,
    /// It ran and everything was so already.
    Unchanged,
    /// There is no such file.
    Missing,
    /// A rule or a quota forbids it.
    Refused,
    /// Its arguments make no sense.
    Malformed,
    /// The operating system would not.
    Failed,
}

impl OpStatus {
    /// The word that people are shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Empty => "empty",
            Self::Unchanged => "unchanged",
            Self::Missing => "missing",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Failed => "failed",
        }
    }
}

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryChange {
    /// Path inside the memory directory.
    pub path: String,
    /// What changed.
    pub edit: Edit,
    /// Digest of the file before; `None` when there was none.
    pub before_digest: Option<Digest>,
    /// Digest of the file after; `None` when it is gone.
    pub after_digest: Option<Digest>,
}

/// The ways a file changes. Offsets are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Edit {
    /// Text is added at the end.
    Append {
        /// Exactly what is added, line ends included.
        text: String,
    },
    /// A part is replaced by another.
    Splice {
        /// Offset of the part.
        at: u64,
        /// What stood there.
        deleted: String,
        /// What stands there now.
        inserted: String,
    },
    /// The whole text is another.
    Replace {
        /// The new text.
        text: String,
    },
    /// The file is new.
    Create {
        /// Its text.
        text: String,
    },
    /// The file is gone.
    Delete,
}

/// A change that does not fit the files it is applied to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the change of `{path}` does not fit the recorded file: {why}")]
pub struct ApplyError {
    /// The file.
    pub path: String,
    /// What is wrong.
    pub why: &'static str,
}

impl MemoryChange {
    /// Builds the change that turns `before` into `after` (either may be absent); `None` when
    /// they are equal. Picks the smallest honest form: append, splice, replace, create, delete.
    pub fn between(path: &str, before: Option<&str>, after: Option<&str>) -> Option<Self> {
        let edit = match (before, after) {
            (None, None) => return None,
            (None, Some(text)) => Edit::Create { text: text.to_owned() },
            (Some(_), None) => Edit::Delete,
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) => Self::smallest_edit(old, new),
        };
        Some(Self {
            path: path.to_owned(),
            edit,
            before_digest: before.map(Digest::of),
            after_digest: after.map(Digest::of),
        })
    }

    fn smallest_edit(old: &str, new: &str) -> Edit {
        if let Some(text) = new.strip_prefix(old) {
            return Edit::Append { text: text.to_owned() };
        }
        let prefix = common_prefix(old, new);
        let suffix = common_suffix(&old[prefix..], &new[prefix..]);
        let deleted = &old[prefix..old.len() - suffix];
        let inserted = &new[prefix..new.len() - suffix];
        if deleted.len() + inserted.len() >= new.len() {
            Edit::Replace { text: new.to_owned() }
        } else {
            Edit::Splice {
                at: prefix as u64,
                deleted: deleted.to_owned(),
                inserted: inserted.to_owned(),
            }
        }
    }

    /// Applies the change to the files it was recorded on.
    ///
    /// # Errors
    /// When the file is missing or a splice does not find what it replaces; the files are then
    /// as before.
    pub fn apply(&self, files: &mut MemoryFiles) -> Result<(), ApplyError> {
        let wrong = |why| ApplyError {
            path: self.path.clone(),
            why,
        };
        let new: Arc<str> = match &self.edit {
            Edit::Create { text } | Edit::Replace { text } => text.as_str().into(),
            Edit::Delete => {
                files.remove(&self.path).ok_or_else(|| wrong("it is not there"))?;
                return Ok(());
            }
            Edit::Append { text } => {
                let old = files.get(&self.path).ok_or_else(|| wrong("it is not there"))?;
                format!("{old}{text}").into()
            }
            Edit::Splice { at, deleted, inserted } => {
                let old = files.get(&self.path).ok_or_else(|| wrong("it is not there"))?;
                let at = usize::try_from(*at).map_err(|_| wrong("the offset is beyond the end"))?;
                let rest = old.get(at..).ok_or_else(|| wrong("the offset is beyond the end"))?;
                let rest = rest
                    .strip_prefix(deleted.as_str())
                    .ok_or_else(|| wrong("another text stands there"))?;
                format!("{}{inserted}{rest}", &old[..at]).into()
            }
        };
        files.insert(self.path.clone(), new);
        Ok(())
    }

    /// Bytes that were written (inserted, appended, replaced or created).
    pub fn bytes_written(&self) -> usize {
        match &self.edit {
            Edit::Append { text } | Edit::Replace { text } | Edit::Create { text } => text.len(),
            Edit::Splice { inserted, .. } => inserted.len(),
            Edit::Delete => 0,
        }
    }
}

fn common_prefix(a: &str, b: &str) -> usize {
    let mut n = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(n) || !b.is_char_boundary(n) {
        n -= 1;
    }
    n
}

fn common_suffix(a: &str, b: &str) -> usize {
    let mut n = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(a.len() - n) || !b.is_char_boundary(b.len() - n) {
        n -= 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(text: Option<&str>) -> MemoryFiles {
        text.map(|text| ("a.txt".to_owned(), text.into())).into_iter().collect()
    }

    #[test]
    fn picks_the_smallest_edit() {
        let edit = |old, new| MemoryChange::between("a.txt", Some(old), Some(new)).unwrap().edit;
        assert_eq!(edit("a\n", "a\nb\n"), Edit::Append { text: "b\n".into() });
        assert_eq!(
            edit("1 wood\n2 stone\n3 coal\n", "1 wood\n2 iron\n3 coal\n"),
            Edit::Splice {
                at: 9,
                deleted: "stone".into(),
                inserted: "iron".into()
            }
        );
        assert_eq!(edit("abc", "xyz"), Edit::Replace { text: "xyz".into() });
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let change = MemoryChange::between("a.txt", Some("one two three"), Some("one 2 three")).unwrap();
        let mut other = files(Some("something else"));
        assert!(change.apply(&mut other).is_err());
        assert_eq!(other, files(Some("something else")));
        assert!(change.apply(&mut MemoryFiles::new()).is_err());
    }

    proptest! {
        #[test]
        fn between_then_apply_gives_the_other(
            before in proptest::option::of("[a-cé漢\n]{0,12}"),
            after in proptest::option::of("[a-cé漢\n]{0,12}"),
        ) {
            let mut have = files(before.as_deref());
            match MemoryChange::between("a.txt", before.as_deref(), after.as_deref()) {
                None => prop_assert_eq!(before, after),
                Some(change) => {
                    change.apply(&mut have).unwrap();
                    prop_assert_eq!(have, files(after.as_deref()));
                }
            }
        }
    }
}
