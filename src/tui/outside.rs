//! Looks at the memory directory of the episode that is being played, so that a person's edit shows
//! at once. Nothing is recorded here: the agent finds the edit itself before its next operation.
//!
//! Owns the thread. It tells what the files hold once the directory has been quiet for a moment, so
//! that the agent's own writes are told by its events first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};

use super::data::{Data, Event};
use crate::memory::{Watch, look};

/// How long nothing may change before the files are read.
const QUIET: Duration = Duration::from_millis(250);
/// How long to wait for a directory that is not there yet.
const MISSING: Duration = Duration::from_millis(500);

/// Watches until it is dropped.
#[derive(Debug)]
pub(super) struct Lookout {
    _stop: Sender<()>,
}

impl Lookout {
    /// Starts to watch a directory; `None` where there is no thread for it.
    pub(super) fn start(path: PathBuf, events: Sender<Event>) -> Option<Self> {
        let (stop, stopped) = bounded(0);
        std::thread::Builder::new()
            .name("lookout".into())
            .spawn(move || watch(&path, &events, &stopped))
            .ok()?;
        Some(Self { _stop: stop })
    }
}

fn watch(root: &Path, events: &Sender<Event>, stopped: &Receiver<()>) {
    let hints = loop {
        if let Some(hints) = root.is_dir().then(|| Watch::start(root)).flatten() {
            break hints;
        }
        if stopped.recv_timeout(MISSING) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    };
    loop {
        select! {
            recv(stopped) -> _ => return,
            recv(hints.hints()) -> hint => if hint.is_err() {
                return;
            },
        }
        // A burst of writes is looked at once, at its end.
        let mut quiet_at = Instant::now() + QUIET;
        while let Some(left) = quiet_at.checked_duration_since(Instant::now()) {
            select! {
                recv(stopped) -> _ => return,
                recv(hints.hints()) -> hint => match hint {
                    Ok(()) => quiet_at = Instant::now() + QUIET,
                    Err(_) => return,
                },
                default(left) => {}
            }
        }
        let files = look(root);
        let root = root.to_owned();
        if events.send(Event::Data(Data::OnDisk { root, files })).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Digest;

    #[test]
    fn an_edit_is_told_once_it_is_quiet() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ep_00");
        let (sender, events) = bounded(16);
        let lookout = Lookout::start(root.clone(), sender).unwrap();
        std::fs::create_dir(&root).unwrap();
        // Until the watch stands, an edit may pass unseen: it is made again.
        let told = (0..200).find_map(|n| {
            std::fs::write(root.join("a.txt"), format!("edit {n}")).unwrap();
            match events.recv_timeout(Duration::from_millis(400)) {
                Ok(Event::Data(Data::OnDisk { root, files })) => Some((n, root, files)),
                _ => None,
            }
        });
        let (n, told_root, files) = told.expect("an edit is told");
        assert_eq!(told_root, root);
        assert_eq!(files["a.txt"], Digest::of(format!("edit {n}")));
        drop(lookout);
        while events.recv_timeout(Duration::from_secs(60)).is_ok() {}
        assert!(events.recv().is_err(), "the thread has ended with its owner");
    }
}
