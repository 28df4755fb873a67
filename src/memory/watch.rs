//! A hint that the directory may have changed, so that nobody has to look all the time.
//!
//! Only ever says "look again"; what changed is found by [`super::MemoryDir::outside_edits`].
//! Optional: where the system cannot watch, there is simply no hint.

use std::path::Path;

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
