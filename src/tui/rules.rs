//! What the screen knows of a run's own scaffold, read once when the run is opened.

use crate::protocol::OpSyntax;
use crate::scaffold::Scaffold;
use crate::types::RunMeta;

/// What a run's scaffold allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Its operations, with those it adds.
    pub(crate) vocabulary: Vec<OpSyntax>,
    /// Bytes that a memory file may have.
    pub(crate) file_bytes: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            vocabulary: crate::memory::ops().iter().map(|op| op.syntax).collect(),
            file_bytes: crate::memory::Quotas::default().file_bytes,
        }
    }
}

impl Rules {
    /// From the files that the record keeps. A scaffold that this version cannot read any more is
    /// shown with the memory's own operations.
    pub(crate) fn of(meta: &RunMeta) -> Self {
        let Ok(scaffold) = Scaffold::from_files(meta.scaffold.files.clone()) else {
            return Self::default();
        };
        Self {
            vocabulary: scaffold.vocabulary().into_iter().map(|op| op.syntax).collect(),
            file_bytes: scaffold.manifest().budgets.file_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Workspace;
    use crate::tui::testing;

    #[test]
    fn operations_that_a_scaffold_adds_are_known() {
        let room = tempfile::tempdir().unwrap();
        let mut meta = testing::meta();
        assert_eq!(Rules::of(&meta), Rules::default(), "the fixture is no whole scaffold");
        meta.scaffold.files = Scaffold::files_named("crafter-v1", &Workspace::at(room.path())).unwrap();
        let rules = Rules::of(&meta);
        assert!(rules.vocabulary.iter().any(|op| op.name == "UPSERT"), "{rules:?}");
        assert!(rules.vocabulary.len() > Rules::default().vocabulary.len());
    }
}
