//! The memory directory with its mirror: every file's text, digest and stamp are held, so that an
//! operation costs as much as the file it touches, and outside edits are found by looking at stamps.
//!
//! The mirror is what the record knows. Operations work on the mirror and write through; a file
//! that was changed behind our back is never overwritten before [`MemoryDir::outside_edits`] has
//! taken the change in.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::describe::{quoted, some_names};
use super::disk::{Disk, Kind, Stamp};
use super::error::MemoryError;
use super::limits::{Quotas, cut_end};
use super::ops::find_op;
use super::path::confine;
use super::{Halt, OpResult};
use crate::types::{Digest, Edit, MemoryChange, MemoryFiles, OpStatus};

/// How many times its quota a directory filled from outside is still taken in.
const OUTSIDE_FACTOR: u64 = 4;

/// An agent's memory directory.
pub struct MemoryDir {
    disk: Disk,
    files: MemoryFiles,
    entries: BTreeMap<String, Entry>,
    bytes: u64,
    quotas: Quotas,
}

/// What is known of a file beside its text.
struct Entry {
    digest: Digest,
    lines: usize,
    stamp: Stamp,
    /// The stamp alone cannot be trusted yet.
    fresh: bool,
    /// False for a file from outside that is larger than a file may be: only its beginning is held.
    whole: bool,
}

impl std::fmt::Debug for MemoryDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryDir")
            .field("path", &self.path())
            .field("files", &self.files.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl MemoryDir {
    /// Makes the directory hold exactly these files. A directory that holds something and was
    /// not made by this function is left alone.
    ///
    /// # Errors
    /// [`MemoryError::NotOurs`], [`MemoryError::BadFile`] for a name that a model could not use, and
    /// what the operating system refuses.
    pub fn create(path: impl AsRef<Path>, initial: &MemoryFiles, quotas: Quotas) -> Result<Self, MemoryError> {
        for path in initial.keys() {
            let why = match confine(path) {
                Ok(plain) if plain == path => continue,
                Ok(plain) => format!("write it as `{plain}`"),
                Err(why) => why.to_owned(),
            };
            let path = path.clone();
            return Err(MemoryError::BadFile { path, why });
        }
        let mut memory = Self::empty(Disk::create(path.as_ref())?, quotas);
        for (path, text) in initial {
            let stamp = memory
                .disk
                .replace(path, text)
                .map_err(|e| memory.fault("writing", path, e))?;
            memory.hold(path, Arc::clone(text), Digest::of(text.as_bytes()), stamp, true);
        }
        Ok(memory)
    }

    /// Opens a directory as it is and takes in all its files.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: impl AsRef<Path>, quotas: Quotas) -> Result<Self, MemoryError> {
        let mut memory = Self::empty(Disk::open(path.as_ref())?, quotas);
        memory.outside_edits()?;
        Ok(memory)
    }

    fn empty(disk: Disk, quotas: Quotas) -> Self {
        Self {
            disk,
            files: MemoryFiles::new(),
            entries: BTreeMap::new(),
            bytes: 0,
            quotas,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.disk.root()
    }

    /// All files as the record knows them.
    pub fn files(&self) -> &MemoryFiles {
        &self.files
    }

    /// The digest of a file's text; `None` when there is no such file.
    pub fn digest(&self, path: &str) -> Option<Digest> {
        self.entries.get(path).map(|entry| entry.digest)
    }

    /// Bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its quotas.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Runs an operation of the table. Refusals, slips of the model and files that the operating
    /// system guards come back as an `OpStatus` with a text for the model, never longer than the
    /// result quota.
    ///
    /// # Errors
    /// Only when memory as such cannot go on: the disk is full, the directory is gone. The mirror
    /// and the directory then are as before the operation.
    pub fn run(&mut self, op: &str, args: &[String]) -> Result<OpResult, MemoryError> {
        let result = match find_op(op) {
            Some(spec) => match (spec.run)(self, args) {
                Ok(result) | Err(Halt::Told(result)) => result,
                Err(Halt::Fault(fault)) => return Err(fault),
            },
            None => OpResult::told(OpStatus::Malformed, format!("there is no operation {}", quoted(op))),
        };
        Ok(self.within_quota(result))
    }

    /// Gives a file this text, whatever it held: what a scaffold's rules and script do. Refusals come
    /// back as those of [`MemoryDir::run`].
    ///
    /// # Errors
    /// As [`MemoryDir::run`].
    pub fn set(&mut self, path: &str, text: &str) -> Result<OpResult, MemoryError> {
        let done = match self.maybe(path) {
            Ok((path, _)) => self.put(path, text),
            Err(halt) => Err(halt),
        };
        Ok(match done {
            Ok(None) => OpResult::told(OpStatus::Unchanged, ""),
            Ok(Some(change)) => OpResult {
                changes: vec![change],
                ..OpResult::told(OpStatus::Ok, "")
            },
            Err(Halt::Told(result)) => result,
            Err(Halt::Fault(fault)) => return Err(fault),
        })
    }

    fn within_quota(&self, mut result: OpResult) -> OpResult {
        if result.outcome.text.len() > self.quotas.result_bytes {
            let text = std::mem::take(&mut result.outcome.text);
            let before = result.outcome.cut;
            result.outcome = cut_end(result.outcome.status, text, self.quotas.result_bytes);
            result.outcome.cut += before;
        }
        result
    }

    /// Looks whether somebody else changed the directory since the last look, takes the changes
    /// in, and returns them. Files are only read when their stamp is new (or so fresh that it
    /// proves nothing).
    ///
    /// # Errors
    /// [`MemoryError::Gone`], or what the operating system refuses.
    pub fn outside_edits(&mut self) -> Result<Vec<MemoryChange>, MemoryError> {
        if self.disk.is_gone() {
            return Err(MemoryError::Gone(self.path().to_owned()));
        }
        let mut found = self
            .disk
            .scan()
            .map_err(|e| MemoryError::io("looking through", self.path(), e))?;
        let most = self.quotas.files.saturating_mul(OUTSIDE_FACTOR as usize);
        if found.len() > most {
            // What is known stays known; of the rest only the first are taken in.
            let mut room = most.saturating_sub(self.entries.len());
            found.retain(|(path, _)| {
                let known = self.entries.contains_key(path);
                let fits = known || room > 0;
                room = room.saturating_sub(usize::from(!known));
                fits
            });
        }
        let mut changes = self.removed_outside(&found);
        for (path, stamp) in found {
            let known = self.entries.get(&path);
            if known.is_some_and(|entry| entry.stamp == stamp && !entry.fresh) {
                continue;
            }
            changes.extend(self.look_again(&path, stamp)?);
        }
        Ok(changes)
    }

    fn removed_outside(&mut self, found: &[(String, Stamp)]) -> Vec<MemoryChange> {
        let there = |path: &str| found.binary_search_by(|(other, _)| other.as_str().cmp(path)).is_ok();
        let gone: Vec<_> = self.entries.keys().filter(|path| !there(path)).cloned().collect();
        gone.into_iter()
            .map(|path| {
                let before_digest = self.forget(&path);
                MemoryChange {
                    path,
                    edit: Edit::Delete,
                    before_digest,
                    after_digest: None,
                }
            })
            .collect()
    }

    /// Reads a file whose stamp says nothing certain and takes it in if it differs.
    fn look_again(&mut self, path: &str, stamp: Stamp) -> Result<Option<MemoryChange>, MemoryError> {
        let old = self.files.get(path).cloned();
        let others = self.bytes - old.as_ref().map_or(0, |text| text.len() as u64);
        let limit = self.quotas.file_bytes;
        if old.is_none() && others + stamp.len.min(limit) > self.quotas.directory_bytes.saturating_mul(OUTSIDE_FACTOR) {
            return Ok(None);
        }
        let fresh = stamp.is_fresh();
        let (bytes, whole, stamp) = match self.disk.read(path, limit) {
            Ok(read) => read,
            // It vanished, or is not for us: the next look tells.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => return Ok(None),
            Err(e) => return Err(self.fault("reading", path, e)),
        };
        let text = as_text(bytes, whole);
        if old.as_deref() == Some(&*text) {
            if let Some(entry) = self.entries.get_mut(path) {
                entry.stamp = stamp;
                entry.whole = whole;
                entry.fresh = fresh;
            }
            return Ok(None);
        }
        let change = MemoryChange::between(path, old.as_deref(), Some(&text));
        let digest = change.as_ref().and_then(|change| change.after_digest);
        self.hold(path, text.into(), digest.unwrap_or_default(), stamp, whole);
        Ok(change)
    }

    /// Applies recorded changes to the directory and the mirror.
    ///
    /// # Errors
    /// When a change does not fit the files, or cannot be written; changes before it stay applied.
    pub fn apply(&mut self, changes: &[MemoryChange]) -> Result<(), MemoryError> {
        for change in changes {
            let mut one: MemoryFiles = self
                .files
                .get_key_value(&change.path)
                .map(|(path, text)| (path.clone(), Arc::clone(text)))
                .into_iter()
                .collect();
            change.apply(&mut one)?;
            if let Err(why) = confine(&change.path) {
                let path = change.path.clone();
                return Err(MemoryError::BadFile {
                    path,
                    why: why.to_owned(),
                });
            }
            match one.remove(&change.path) {
                Some(text) => {
                    let stamp = self
                        .disk
                        .replace(&change.path, &text)
                        .map_err(|e| self.fault("writing", &change.path, e))?;
                    let digest = Digest::of(text.as_bytes());
                    self.hold(&change.path, text, digest, stamp, true);
                }
                None => {
                    self.disk
                        .remove(&change.path)
                        .map_err(|e| self.fault("removing", &change.path, e))?;
                    self.forget(&change.path);
                }
            }
        }
        Ok(())
    }

    fn hold(&mut self, path: &str, text: Arc<str>, digest: Digest, stamp: Stamp, whole: bool) {
        let lines = count_lines(&text);
        self.hold_counted(path, text, digest, stamp, whole, lines);
    }

    fn hold_counted(&mut self, path: &str, text: Arc<str>, digest: Digest, stamp: Stamp, whole: bool, lines: usize) {
        let entry = Entry {
            digest,
            lines,
            fresh: stamp.is_fresh(),
            stamp,
            whole,
        };
        self.bytes += text.len() as u64;
        self.entries.insert(path.to_owned(), entry);
        if let Some(old) = self.files.insert(path.to_owned(), text) {
            self.bytes -= old.len() as u64;
        }
    }

    fn forget(&mut self, path: &str) -> Option<Digest> {
        if let Some(old) = self.files.remove(path) {
            self.bytes -= old.len() as u64;
        }
        self.entries.remove(path).map(|entry| entry.digest)
    }

    #[cfg(test)]
    pub(super) fn fail_next_write(&mut self, kind: io::ErrorKind) {
        self.disk.fail_next_write = Some(kind);
    }

    fn fault(&self, doing: &'static str, path: &str, source: io::Error) -> MemoryError {
        if self.disk.is_gone() {
            return MemoryError::Gone(self.path().to_owned());
        }
        MemoryError::io(doing, self.path().join(path), source)
    }
}

/// What operations may do.
impl MemoryDir {
    /// Lines of a file that is known.
    pub(super) fn lines(&self, path: &str) -> usize {
        self.entries.get(path).map_or(0, |entry| entry.lines)
    }

    /// The plain path and the text of the file that an argument names.
    pub(super) fn existing<'a>(&self, arg: &'a str) -> Result<(&'a str, Arc<str>), Halt> {
        let path = self.named(arg)?;
        if let Some(text) = self.files.get(path) {
            return Ok((path, Arc::clone(text)));
        }
        self.refuse_what_is_no_file(path)?;
        let names = some_names(self.files.keys().map(String::as_str));
        let text = format!("there is no file {}; {names}", quoted(path));
        Err(Halt::told(OpStatus::Missing, text))
    }

    /// The plain path that an argument names, and the text if there is such a file.
    pub(super) fn maybe<'a>(&self, arg: &'a str) -> Result<(&'a str, Option<Arc<str>>), Halt> {
        let path = self.named(arg)?;
        let text = self.files.get(path).cloned();
        if text.is_none() {
            self.refuse_what_is_no_file(path)?;
        }
        Ok((path, text))
    }

    fn named<'a>(&self, arg: &'a str) -> Result<&'a str, Halt> {
        confine(arg).map_err(|why| {
            let empty = arg.trim().is_empty();
            let status = if empty { OpStatus::Malformed } else { OpStatus::Refused };
            let what = if empty {
                String::new()
            } else {
                format!("{}: ", quoted(arg))
            };
            Halt::told(status, format!("{what}{why}"))
        })
    }

    fn refuse_what_is_no_file(&self, path: &str) -> Result<(), Halt> {
        match self.disk.kind(path) {
            Ok(Kind::Nothing) => Ok(()),
            Ok(Kind::File(_)) => Err(self.changed_meanwhile(path)),
            Ok(Kind::Folder) => {
                let text = format!("{} is a folder; name a file", quoted(path));
                Err(Halt::told(OpStatus::Refused, text))
            }
            Ok(Kind::Other) => {
                let text = format!("{} is not a plain file; choose another name", quoted(path));
                Err(Halt::told(OpStatus::Refused, text))
            }
            Err(e) => Err(self.halt("looking at", path, e)),
        }
    }

    fn changed_meanwhile(&self, path: &str) -> Halt {
        let text = format!(
            "{} was changed by someone else just now; try again or use another file",
            quoted(path)
        );
        Halt::told(OpStatus::Failed, text)
    }

    /// Adds text to a file that exists.
    pub(super) fn append(&mut self, path: &str, text: &str) -> Result<MemoryChange, Halt> {
        let (Some(old), Some(entry)) = (self.files.get(path), self.entries.get(path)) else {
            return Err(self.changed_meanwhile(path));
        };
        self.check_room(path, (old.len() + text.len()) as u64, !entry.whole)?;
        let before = entry.digest;
        let stamp = match self.disk.append(path, &entry.stamp, text) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => return Err(self.changed_meanwhile(path)),
            Err(e) => return Err(self.halt_after_append(path, e)),
        };
        let mut new = String::with_capacity(old.len() + text.len());
        new.push_str(old);
        new.push_str(text);
        let lines = entry.lines + count_lines(text) - usize::from(!old.is_empty() && !old.ends_with('\n'));
        let after = Digest::of(new.as_bytes());
        self.hold_counted(path, new.into(), after, stamp, true, lines);
        Ok(MemoryChange {
            path: path.to_owned(),
            edit: Edit::Append { text: text.to_owned() },
            before_digest: Some(before),
            after_digest: Some(after),
        })
    }

    /// Puts a text in a file, new or not; `None` when it held that text already.
    pub(super) fn put(&mut self, path: &str, text: &str) -> Result<Option<MemoryChange>, Halt> {
        let Some(change) = MemoryChange::between(path, self.files.get(path).map(|text| &**text), Some(text)) else {
            return Ok(None);
        };
        self.check_room(path, text.len() as u64, false)?;
        self.check_untouched(path)?;
        let stamp = match self.disk.replace(path, text) {
            Ok(stamp) => stamp,
            Err(e) => return Err(self.halt("writing", path, e)),
        };
        let digest = change.after_digest.unwrap_or_default();
        self.hold(path, text.into(), digest, stamp, true);
        Ok(Some(change))
    }

    /// Removes a file that exists.
    pub(super) fn remove(&mut self, path: &str) -> Result<MemoryChange, Halt> {
        self.check_untouched(path)?;
        if let Err(e) = self.disk.remove(path) {
            return Err(self.halt("removing", path, e));
        }
        Ok(MemoryChange {
            path: path.to_owned(),
            edit: Edit::Delete,
            before_digest: self.forget(path),
            after_digest: None,
        })
    }

    fn check_untouched(&self, path: &str) -> Result<(), Halt> {
        let known = self.entries.get(path).map(|entry| entry.stamp);
        match (known, self.disk.kind(path)) {
            (None, Ok(Kind::Nothing)) => Ok(()),
            (Some(known), Ok(Kind::File(stamp))) if known == stamp => Ok(()),
            (_, Ok(_)) => Err(self.changed_meanwhile(path)),
            (_, Err(e)) => Err(self.halt("looking at", path, e)),
        }
    }

    /// Whether a file may have `len` bytes.
    fn check_room(&self, path: &str, len: u64, oversized: bool) -> Result<(), Halt> {
        let old = self.files.get(path).map(|text| text.len() as u64);
        let limit = self.quotas.file_bytes;
        let name = quoted(path);
        let refusal = if oversized || len > limit {
            format!("{name} would be larger than {limit} bytes; WRITE a shorter text, or use another file")
        } else if self.bytes - old.unwrap_or(0) + len > self.quotas.directory_bytes {
            let limit = self.quotas.directory_bytes;
            format!("memory would be larger than {limit} bytes; DELETE or shorten files first")
        } else if old.is_none() && self.files.len() >= self.quotas.files {
            format!(
                "there are {} files already; DELETE one or use one of them",
                self.files.len()
            )
        } else {
            return Ok(());
        };
        Err(Halt::told(OpStatus::Refused, refusal))
    }

    /// A fault of one file is told to the model; a fault of the whole directory ends the run.
    fn halt(&self, doing: &'static str, path: &str, error: io::Error) -> Halt {
        use io::ErrorKind as K;
        let one_file = matches!(
            error.kind(),
            K::PermissionDenied
                | K::IsADirectory
                | K::NotADirectory
                | K::NotFound
                | K::InvalidFilename
                | K::AlreadyExists
        );
        if one_file && !self.disk.is_gone() {
            let text = format!("{doing} {} failed: {}", quoted(path), error.kind());
            return Halt::told(OpStatus::Failed, text);
        }
        Halt::Fault(self.fault(doing, path, error))
    }

    /// After a failed append the file has its old length again, but a new stamp.
    fn halt_after_append(&mut self, path: &str, error: io::Error) -> Halt {
        if let Ok(Kind::File(stamp)) = self.disk.kind(path)
            && let Some(entry) = self.entries.get_mut(path)
            && entry.stamp.len == stamp.len
        {
            entry.stamp = stamp;
            entry.fresh = true;
        }
        self.halt("adding to", path, error)
    }
}

fn count_lines(text: &str) -> usize {
    let ends = text.as_bytes().iter().filter(|byte| **byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Bytes as text: what is no UTF-8 is shown by signs, and a character cut by the limit is left out.
fn as_text(mut bytes: Vec<u8>, whole: bool) -> String {
    if !whole
        && let Err(e) = std::str::from_utf8(&bytes)
        && e.error_len().is_none()
    {
        bytes.truncate(e.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    }
}
