//! What goes over the pipe between the program and the child that runs a script: one JSON document a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::limits::Limits;
use crate::types::{Edit, MemoryChange};

/// The first line the child gets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Begin {
    /// The script's text.
    pub(super) source: String,
    /// What a call may use up.
    pub(super) limits: Limits,
    /// The state to go on with.
    pub(super) state: Map<String, Value>,
    /// All memory files.
    pub(super) files: BTreeMap<String, String>,
    /// The files are to be migrated; nothing else is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) migrate: bool,
}

/// A call: something happened.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// What changed in memory since the last call, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<FileChange>,
    /// What the script calls `event`. Keys that hold for the whole step come once and are kept.
    pub(super) event: Map<String, Value>,
    /// Forget the keys that were kept: a new step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) fresh: bool,
    /// Keys to keep for the calls that follow.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) keep: Map<String, Value>,
}

/// A change of the child's mirror of memory. Untagged numbers stay out of serde's buffers this way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FileChange {
    Append(String, String),
    Splice {
        path: String,
        at: usize,
        deleted: usize,
        inserted: String,
    },
    Put(String, String),
    Remove(String),
}

impl From<&MemoryChange> for FileChange {
    fn from(change: &MemoryChange) -> Self {
        let path = change.path.clone();
        match &change.edit {
            Edit::Append { text } => Self::Append(path, text.clone()),
            Edit::Splice { at, deleted, inserted } => Self::Splice {
                path,
                at: usize::try_from(*at).unwrap_or(usize::MAX),
                deleted: deleted.len(),
                inserted: inserted.clone(),
            },
            Edit::Replace { text } | Edit::Create { text } => Self::Put(path, text.clone()),
            Edit::Delete => Self::Remove(path),
        }
    }
}

impl FileChange {
    /// Follows the change; one that does not fit leaves the files as they are.
    pub(super) fn apply(self, files: &mut BTreeMap<String, String>) {
        match self {
            Self::Append(path, text) => files.entry(path).or_default().push_str(&text),
            Self::Splice {
                path,
                at,
                deleted,
                inserted,
            } => {
                if let Some(file) = files.get_mut(&path)
                    && let Some(end) = at.checked_add(deleted)
                    && file.get(at..end).is_some()
                {
                    file.replace_range(at..end, &inserted);
                }
            }
            Self::Put(path, text) => {
                files.insert(path, text);
            }
            Self::Remove(path) => {
                files.remove(&path);
            }
        }
    }
}

/// What the child answers, to [`Begin`] with an empty [`Done`] or with the migrated files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done(Done),
    Migrated(Migrated),
    Failed(String),
}

/// Memory files in the form of another version of the scaffold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// All files.
    pub files: BTreeMap<String, String>,
    /// What the script printed.
    pub notes: Vec<String>,
}

/// A call that went well.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Done {
    /// What is new in the state.
    #[serde(default, skip_serializing_if = "StatePatch::is_empty")]
    pub(super) patch: StatePatch,
    /// What the script wants done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) effects: Vec<HookEffect>,
}

/// What changed in a script's state: keys of its outermost level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatePatch {
    /// Keys with their new value.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Keys that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

impl StatePatch {
    /// Nothing changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }

    /// From one state to another.
    pub fn between(old: &Map<String, Value>, new: &Map<String, Value>) -> Self {
        Self {
            set: new
                .iter()
                .filter(|(key, value)| old.get(*key) != Some(*value))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            unset: old.keys().filter(|key| !new.contains_key(*key)).cloned().collect(),
        }
    }

    /// Brings a state up to date.
    pub fn apply(&self, state: &mut Map<String, Value>) {
        for key in &self.unset {
            state.remove(key);
        }
        for (key, value) in &self.set {
            state.insert(key.clone(), value.clone());
        }
    }
}

/// Something a script wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HookEffect {
    /// Values for the templates' own variables, until the step is over.
    Vars(Map<String, Value>),
    /// The first prompt of this phase is made from another template.
    Template {
        /// Its file in `prompts/`.
        file: String,
    },
    /// What a custom operation came to.
    Result {
        /// What the model is told.
        text: String,
        /// How it went.
        status: ResultWord,
    },
    /// The action is not taken; the model is told why and goes on.
    Reject {
        /// What it is told.
        message: String,
    },
    /// Another action is taken in its place.
    Repair {
        /// Which.
        action: String,
    },
    /// A line at the end of a memory file.
    Append {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// A memory file's whole text.
    Write {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// Lines of a memory file that begin with the prefix go, and the line comes in their place.
    Upsert {
        /// The file.
        file: String,
        /// How the lines begin.
        prefix: String,
        /// The new line, at the end; empty only removes.
        line: String,
    },
    /// Only the newest lines of a memory file stay.
    Prune {
        /// The file.
        file: String,
        /// How many.
        keep: u32,
        /// A line in the place of what went; `{n}` is how many lines.
        notice: String,
    },
    /// A memory file goes.
    Delete {
        /// The file.
        file: String,
    },
    /// A note in the record.
    Note {
        /// What it says.
        text: String,
    },
}

/// How a custom operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultWord {
    /// It did what was asked.
    Ok,
    /// It found nothing.
    Empty,
    /// It changed nothing.
    Unchanged,
    /// What it needs is not there.
    Missing,
    /// It does not want to.
    Refused,
    /// Its arguments make no sense.
    Malformed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state() -> impl Strategy<Value = Map<String, Value>> {
        proptest::collection::btree_map("[a-d]", 0..3_u8, 0..4).prop_map(|map| {
            map.into_iter()
                .map(|(key, value)| (key, if value == 0 { Value::Null } else { value.into() }))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn a_patch_leads_from_one_state_to_the_other(old in state(), new in state()) {
            let patch = StatePatch::between(&old, &new);
            let mut have = old.clone();
            patch.apply(&mut have);
            prop_assert_eq!(patch.is_empty(), old == new);
            prop_assert_eq!(have, new);
        }

        #[test]
        fn the_mirror_follows_memory(before in "[aé\n]{0,9}", after in "[aé\n]{0,9}") {
            let mut files = BTreeMap::from([("f".to_owned(), before.clone())]);
            if let Some(change) = MemoryChange::between("f", Some(&before), Some(&after)) {
                FileChange::from(&change).apply(&mut files);
            }
            prop_assert_eq!(&files["f"], &after);
        }
    }
}
