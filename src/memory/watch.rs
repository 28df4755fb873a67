//! A hint that the directory may have changed, so that nobody has to look all the time.
//!
//! Only ever says "look again"; what changed is found by [`super::MemoryDir::outside_edits`].
//! Optional: where the system cannot watch, there is simply no hint.

use std::collections::BTreeMap;
use std::path::Path;

use super::path::is_hidden;
use crate::types::Digest;
use crossbeam_channel::{Receiver, bounded};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches a directory until it is dropped.
pub struct Watch {
    _watcher: RecommendedWatcher,
    hints: Receiver<()>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    /// Starts watching; `None` where that is not possible.
    pub fn start(path: &Path) -> Option<Self> {
        let (sender, hints) = bounded(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let matters = event.map_or(true, |event| !event.kind.is_access());
            if matters {
                // A hint that waits already says it all.
                let _ = sender.try_send(());
            }
        })
        .ok()?;
        watcher.watch(path, RecursiveMode::Recursive).ok()?;
        Some(Self {
            _watcher: watcher,
            hints,
        })
    }

    /// Whether something may have changed since the last call.
    pub fn look_again(&self) -> bool {
        self.hints.try_recv().is_ok()
    }

    /// The hints as a channel, to wait for together with others. Holds at most one.
    pub fn hints(&self) -> &Receiver<()> {
        &self.hints
    }
}

/// Files that [`look`] goes through at most.
const MOST_FILES: usize = 10_000;
/// Bytes of a file beyond which [`look`] goes by its length alone.
const MOST_BYTES: u64 = 16 << 20;

/// What the files of a memory directory hold, by path, as digests of their text. Only reads: for
/// those who watch, while the agent's own [`super::MemoryDir`] decides what is an edit. What cannot
/// be read is left out; links are not followed.
pub fn look(root: &Path) -> BTreeMap<String, Digest> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !is_hidden(name)) else {
                continue;
            };
            let path = format!("{prefix}{name}");
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && folders.len() < MOST_FILES {
                folders.push((entry.path(), format!("{path}/")));
            } else if metadata.is_file() && found.len() < MOST_FILES {
                let digest = if metadata.len() > MOST_BYTES {
                    Digest::of(metadata.len().to_le_bytes())
                } else {
                    match std::fs::read(entry.path()) {
                        Ok(bytes) => Digest::of(bytes),
                        Err(_) => continue,
                    }
                };
                found.insert(path, digest);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_sees_files_in_folders_and_nothing_hidden() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("x.txt"), "one").unwrap();
        std::fs::write(root.path().join("a/b/y.txt"), "two").unwrap();
        std::fs::write(root.path().join(".automem-memory"), "hidden").unwrap();
        let found = look(root.path());
        let paths: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(paths, ["a/b/y.txt", "x.txt"]);
        assert_eq!(found["x.txt"], Digest::of("one"));
        assert!(look(&root.path().join("missing")).is_empty());
    }
}
