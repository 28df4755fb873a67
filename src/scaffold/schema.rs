//! What a revision does to the memory files its parent has.

use std::collections::BTreeMap;

use super::error::ProblemAt;
use super::manifest::FileSpec;
use super::{MANIFEST, Scaffold};

/// Memory files of the parent that the revision does not have any more while nothing moves their text. These are
/// no faults, but whoever approves should know them: memory written so far keeps such files, and nobody tells
/// the model of them.
pub fn compare_files(parent: &Scaffold, revision: &Scaffold) -> Vec<ProblemAt> {
    if revision.migrates() {
        return Vec::new();
    }
    let (old, new) = (&parent.manifest().files, &revision.manifest().files);
    let from = &parent.manifest().name;
    old.iter()
        .filter(|(path, _)| !new.contains_key(*path))
        .map(|(path, spec)| {
            let message = match successor(spec, old, new) {
                Some(to) => format!("the memory file `{path}` of {from} is called `{to}` here"),
                None => format!("the memory file `{path}` of {from} is gone here"),
            };
            let hint = "memory that has it keeps it, and the model is not told of it: write migrate(files) in \
                        hooks.star, or keep the file";
            ProblemAt::of_file(MANIFEST, message, hint)
        })
        .collect()
}

/// The file that is new and otherwise the same.
fn successor<'a>(
    spec: &FileSpec,
    old: &BTreeMap<String, FileSpec>,
    new: &'a BTreeMap<String, FileSpec>,
) -> Option<&'a String> {
    let fresh = new.iter().filter(|(path, _)| !old.contains_key(*path));
    fresh
        .into_iter()
        .find(|(_, other)| *other == spec || (other.about == spec.about && !spec.about.is_empty()))
        .map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Workspace;

    fn changed(edit: impl Fn(String) -> String, script: Option<&str>) -> Scaffold {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Scaffold::files_named("crafter-v0", &Workspace::at(dir.path())).unwrap();
        let manifest = files.remove(MANIFEST).unwrap();
        files.insert(MANIFEST.to_owned(), edit(manifest));
        if let Some(script) = script {
            files.insert(super::super::hooks::HOOKS.to_owned(), script.to_owned());
        }
        Scaffold::from_files(files).unwrap()
    }

    #[test]
    fn a_file_that_is_renamed_or_gone_is_told_unless_the_script_moves_it() {
        let parent = changed(|text| text, None);
        let (path, _) = parent.manifest().files.iter().next().unwrap();
        let renamed = |text: String| text.replace(path.as_str(), "elsewhere.txt");
        assert_eq!(compare_files(&parent, &parent), []);
        let told = compare_files(&parent, &changed(renamed, None));
        assert_eq!(told.len(), 1);
        assert!(
            told[0].message.contains(path) && told[0].message.contains("`elsewhere.txt`"),
            "{told:?}"
        );
        let script = "def hook(state, event):\n    return state, []\n\ndef migrate(files):\n    return files\n";
        assert_eq!(compare_files(&parent, &changed(renamed, Some(script))), []);
        let other = changed(|text| text + "\n[files.\"more.txt\"]\nabout = \"more\"\n", None);
        let told = compare_files(&other, &parent);
        assert!(
            told[0].message.contains("`more.txt`") && told[0].message.contains("is gone"),
            "{told:?}"
        );
    }
}
