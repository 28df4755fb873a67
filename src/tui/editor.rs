//! A person's editor on a memory file: which one, how it is run, what came of it.
//!
//! Owns the keyboard's rest while the editor has the terminal, and the look at the file afterwards.
//! Must not record anything: the agent finds the edit by itself before its next operation.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::Sender;

use super::data::{Data, EditRequest, Event};
use super::take_over::{EditOutcome, Edited};
use super::terminal;

/// How long the thread that reads keys may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(2);
/// Copies of one file that are kept beside at most.
const MOST_KEPT: u32 = 1000;

/// The reading of keys, which rests while somebody else has the terminal.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyboard(Arc<(Mutex<Reading>, Condvar)>);

#[derive(Debug, Default)]
struct Reading {
    /// It shall rest.
    rest: bool,
    /// It rests.
    rests: bool,
}

impl Keyboard {
    /// The thread that reads keys passes here before it reads.
    pub(super) fn pass(&self) {
        let mut reading = self.lock();
        if !reading.rest {
            return;
        }
        reading.rests = true;
        self.0.1.notify_all();
        while reading.rest {
            reading = self.0.1.wait(reading).unwrap_or_else(PoisonError::into_inner);
        }
        reading.rests = false;
    }

    /// Brings it to rest; false when it does not come to rest in time.
    fn rest(&self) -> bool {
        let mut reading = self.lock();
        reading.rest = true;
        // A read under way ends with this: it is told that the size may be new.
        terminal::stir();
        let asked = self.0.1.wait_timeout_while(reading, PATIENCE, |reading| !reading.rests);
        let (mut reading, _) = asked.unwrap_or_else(PoisonError::into_inner);
        reading.rest = reading.rests;
        reading.rests
    }

    /// It reads again.
    fn go_on(&self) {
        self.lock().rest = false;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        // A panic elsewhere leaves plain values behind: they are still good.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where editors are started from, and the one under way.
pub(super) struct Desk {
    keyboard: Keyboard,
    events: Sender<Event>,
    /// Process id of the editor; 0 before it is known. `None` while the terminal is ours.
    away: Option<Arc<Mutex<Option<u32>>>>,
}

impl Desk {
    pub(super) fn new(keyboard: Keyboard, events: Sender<Event>) -> Self {
        Self {
            keyboard,
            events,
            away: None,
        }
    }

    /// Whether an editor has the terminal.
    pub(super) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Gives the terminal to an editor. What comes of it is told as an event; until then nothing may
    /// be drawn.
    ///
    /// # Errors
    /// Cause and next step: there is no editor, or the keyboard could not be given away.
    pub(super) fn edit(&mut self, request: EditRequest) -> Result<(), String> {
        let get = |name: &str| std::env::var(name).ok();
        let editor = choose(get, is_on_path)?;
        let before = look_before(&request)?;
        if self.is_away() || !self.keyboard.rest() {
            return Err("the keyboard could not be given to the editor; try again".to_owned());
        }
        terminal::leave();
        let pid = Arc::new(Mutex::new(None));
        self.away = Some(Arc::clone(&pid));
        let events = self.events.clone();
        let began = std::thread::Builder::new().name("editor".into()).spawn(move || {
            let target = request.root.join(&request.path);
            let made = make_folders(&request);
            let ended = made.and_then(|()| run(&editor, &target, &pid));
            let edited = judge(request, before.as_deref(), ended);
            // A screen that is gone needs no answer.
            let _ = events.send(Event::Data(Data::Edited(Box::new(edited))));
        });
        if let Err(error) = began {
            let back = self.back().err().map_or_else(String::new, |error| format!("; {error}"));
            return Err(format!("no thread could be started: {error}{back}"));
        }
        Ok(())
    }

    /// Takes the terminal back.
    pub(super) fn back(&mut self) -> io::Result<()> {
        self.away = None;
        let taken = terminal::enter();
        // What was typed into the editor's end is not for the screen.
        terminal::forget_input();
        self.keyboard.go_on();
        taken
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let pid = self
            .away
            .as_ref()
            .and_then(|pid| *pid.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(pid) = pid {
            terminal::end(pid);
        }
    }
}

/// The editor to use, as a shell would run it.
fn choose(get: impl Fn(&str) -> Option<String>, there: impl Fn(&str) -> bool) -> Result<String, String> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(get)
        .find(|value| !value.trim().is_empty());
    match named {
        Some(editor) => Ok(editor),
        None if there("vi") => Ok("vi".to_owned()),
        None => Err("no editor: set VISUAL or EDITOR, for example `EDITOR=nano automem`".to_owned()),
    }
}

fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// What the file holds before; `None` when there is none. Nothing but plain files inside of plain
/// folders is opened.
fn look_before(request: &EditRequest) -> Result<Option<Vec<u8>>, String> {
    let mut place = request.root.clone();
    let parts: Vec<&str> = request.path.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        place.push(part);
        let last = at + 1 == parts.len();
        match std::fs::symlink_metadata(&place) {
            Ok(found) if last && found.is_file() => {}
            Ok(found) if !last && found.is_dir() => {}
            Ok(_) => {
                return Err(format!(
                    "{} is no plain file or folder: choose another name",
                    place.display()
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read: {error}", place.display())),
        }
    }
    std::fs::read(&place)
        .map(Some)
        .map_err(|error| format!("{} cannot be read: {error}", place.display()))
}

fn make_folders(request: &EditRequest) -> Result<(), String> {
    match request.root.join(&request.path).parent() {
        Some(folder) => std::fs::create_dir_all(folder)
            .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display())),
        None => Ok(()),
    }
}

/// Runs the editor to its end; an error says how it ended, if not well.
fn run(editor: &str, target: &Path, pid: &Mutex<Option<u32>>) -> Result<(), String> {
    // As people write it: with options, and with what a shell makes of it.
    let child = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(editor)
        .arg(target)
        .spawn()
        .map_err(|error| format!("the editor `{editor}` could not be started: {error}"))?;
    *pid.lock().unwrap_or_else(PoisonError::into_inner) = Some(child.id());
    let ended = terminal::wait(child);
    *pid.lock().unwrap_or_else(PoisonError::into_inner) = None;
    match ended {
        Ok(terminal::Ended::Well) => Ok(()),
        Ok(terminal::Ended::Code(127)) => Err(format!("the editor `{editor}` was not found; set VISUAL or EDITOR")),
        Ok(terminal::Ended::Code(code)) => Err(format!("the editor ended with code {code}")),
        Ok(terminal::Ended::Signal(signal)) => Err(format!("the editor was ended by signal {signal}")),
        Err(error) => Err(format!("nobody knows how the editor ended: {error}")),
    }
}

/// What came of it: looks at the file, and puts aside what can be no memory.
fn judge(request: EditRequest, before: Option<&[u8]>, ended: Result<(), String>) -> Edited {
    let target = request.root.join(&request.path);
    let outcome = match std::fs::symlink_metadata(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tidy(&request);
            match before {
                None => EditOutcome::Unchanged,
                Some(_) => EditOutcome::Removed,
            }
        }
        Err(error) => EditOutcome::Failed(format!("{} cannot be read: {error}", target.display())),
        Ok(found) if !found.is_file() => refuse(
            &request,
            before,
            "the editor left no plain file at its place".to_owned(),
        ),
        Ok(found) if found.len() > request.most => {
            let why = format!(
                "{} bytes are more than the {} that it may have",
                found.len(),
                request.most
            );
            refuse(&request, before, why)
        }
        Ok(_) => match std::fs::read(&target) {
            Err(error) => EditOutcome::Failed(format!("{} cannot be read: {error}", target.display())),
            Ok(after) if Some(&*after) == before => EditOutcome::Unchanged,
            Ok(after) => match String::from_utf8(after) {
                Ok(text) => EditOutcome::Saved(text.into()),
                Err(_) => refuse(&request, before, "it is no UTF-8 text".to_owned()),
            },
        },
    };
    Edited {
        request,
        outcome,
        trouble: ended.err(),
    }
}

/// Folders that were made for a file that was never written.
fn tidy(request: &EditRequest) {
    let target = request.root.join(&request.path);
    for folder in target.ancestors().skip(1).take_while(|folder| *folder != request.root) {
        // One that is not empty stays.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Puts what was written beside, under a name that no memory file has, and the file back as it was.
fn refuse(request: &EditRequest, before: Option<&[u8]>, why: String) -> EditOutcome {
    let target = request.root.join(&request.path);
    let name = request.path.replace('/', "_");
    let free = |n: u32| -> PathBuf {
        let number = if n == 0 { String::new() } else { format!(".{n}") };
        request.root.join(format!("{name}.not-taken{number}~"))
    };
    let kept = (0..MOST_KEPT)
        .map(free)
        .find(|path| std::fs::symlink_metadata(path).is_err());
    let Some(kept) = kept else {
        return EditOutcome::Failed(format!("{why}; too many copies lie beside it already: remove some"));
    };
    let moved = std::fs::rename(&target, &kept);
    let restored = moved.and_then(|()| match before {
        Some(text) => std::fs::write(&target, text),
        None => {
            tidy(request);
            Ok(())
        }
    });
    match restored {
        Ok(()) => EditOutcome::Refused { why, kept },
        Err(error) => EditOutcome::Failed(format!("{why}; and the file could not be put back as it was: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::data::LiveId;
    use crate::tui::effects::EditOf;
    use crate::types::EpisodeNo;

    fn request(root: &Path, path: &str) -> EditRequest {
        EditRequest {
            of: EditOf::Memory(LiveId(0), EpisodeNo(0)),
            root: root.to_owned(),
            path: path.to_owned(),
            most: 64,
        }
    }

    #[test]
    fn the_editor_is_the_one_a_person_named() {
        let get = |visual: &'static str, editor: &'static str| {
            move |name: &str| Some(if name == "VISUAL" { visual } else { editor }.to_owned())
        };
        assert_eq!(choose(get("code --wait", "vim"), |_| true).unwrap(), "code --wait");
        assert_eq!(choose(get(" ", "vim"), |_| true).unwrap(), "vim");
        assert_eq!(choose(|_| None, |name| name == "vi").unwrap(), "vi");
        let said = choose(|_| None, |_| false).unwrap_err();
        assert!(said.contains("VISUAL") && said.contains("EDITOR"), "{said}");
    }

    #[test]
    fn an_edit_is_seen_and_what_can_be_no_memory_is_kept_beside() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path();
        let file = root.join("a.txt");
        let after = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            judge(request(root, "a.txt"), Some(b"one\n"), Ok(())).outcome
        };
        assert_eq!(after(b"one\n"), EditOutcome::Unchanged);
        assert_eq!(after(b"two\n"), EditOutcome::Saved("two\n".into()));
        for (n, bad) in [&b"\xff\xfe"[..], &[b'x'; 65][..]].into_iter().enumerate() {
            let EditOutcome::Refused { kept, .. } = after(bad) else {
                panic!("{n} was taken");
            };
            assert_eq!(std::fs::read(&kept).unwrap(), bad);
            assert_eq!(std::fs::read(&file).unwrap(), b"one\n");
        }
        assert_eq!(crate::memory::look(root).len(), 1, "what is kept is no memory");
        std::fs::remove_file(&file).unwrap();
        let gone = judge(request(root, "a.txt"), Some(b"one\n"), Err("killed".into()));
        assert_eq!(
            (gone.outcome, gone.trouble),
            (EditOutcome::Removed, Some("killed".into()))
        );
    }

    #[test]
    fn a_new_file_that_was_never_written_leaves_nothing_behind() {
        let room = tempfile::tempdir().unwrap();
        let request = request(room.path(), "x/y/new.txt");
        assert_eq!(look_before(&request).unwrap(), None);
        make_folders(&request).unwrap();
        assert!(room.path().join("x/y").is_dir());
        assert_eq!(judge(request, None, Ok(())).outcome, EditOutcome::Unchanged);
        assert!(!room.path().join("x").exists());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_directory_is_edited() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().join("ep_00");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(room.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("b.txt")).unwrap();
        assert!(look_before(&request(&root, "out/x.txt")).is_err());
        assert!(look_before(&request(&root, "b.txt")).is_err());
    }

    #[test]
    fn the_keyboard_rests_and_goes_on() {
        let keyboard = Keyboard::default();
        let (sender, passed) = crossbeam_channel::unbounded();
        let reader = std::thread::spawn({
            let keyboard = keyboard.clone();
            move || {
                keyboard.pass();
                sender.send(1).unwrap();
                while sender.send(2).is_ok() {
                    keyboard.pass();
                    std::thread::yield_now();
                }
            }
        });
        assert_eq!(passed.recv().unwrap(), 1);
        assert!(keyboard.rest());
        while passed.try_recv().is_ok() {}
        assert!(passed.recv_timeout(Duration::from_millis(50)).is_err());
        keyboard.go_on();
        assert_eq!(passed.recv().unwrap(), 2);
        drop(passed);
        reader.join().unwrap();
    }
}
