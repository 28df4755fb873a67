//! The memory stream: every change of the agent's files on its own, with keyframes between.
//!
//! A projection of the events. Owns how changes are packed and folded into files. Must not open
//! files.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::wire::{Bytes, put_str, put_u64};
use crate::types::{Edit, MemoryChange, MemoryFiles, StepNo};

/// The agent's memory as it stood in a step, after LOG and PLAN and before the world moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryState {
    /// Which step.
    pub step: StepNo,
    /// Its files by path.
    pub files: BTreeMap<String, FileState>,
}

/// One file of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// Its full text.
    pub text: Arc<str>,
    /// The step that changed it last; `None` when it is as the episode found it.
    pub touched: Option<StepNo>,
}

impl MemoryState {
    /// The state before the first step.
    pub fn initial(files: &MemoryFiles) -> Self {
        let untouched = |(path, text): (&String, &Arc<str>)| {
            let state = FileState {
                text: Arc::clone(text),
                touched: None,
            };
            (path.clone(), state)
        };
        Self {
            step: StepNo(0),
            files: files.iter().map(untouched).collect(),
        }
    }

    /// Only the texts.
    pub fn texts(&self) -> MemoryFiles {
        let text = |(path, file): (&String, &FileState)| (path.clone(), Arc::clone(&file.text));
        self.files.iter().map(text).collect()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> usize {
        self.files.values().map(|file| file.text.len()).sum()
    }
}

/// Files while changes are applied to them; an append costs what it appends.
#[derive(Debug, Clone, Default)]
pub(super) struct Workbench {
    files: BTreeMap<String, (Draft, Option<StepNo>)>,
}

#[derive(Debug, Clone)]
enum Draft {
    Shared(Arc<str>),
    Own(String),
}

impl Draft {
    fn own(&mut self) -> &mut String {
        if let Self::Shared(text) = self {
            *self = Self::Own(text.to_string());
        }
        match self {
            Self::Own(text) => text,
            Self::Shared(_) => unreachable!("made one's own above"),
        }
    }
}

impl Workbench {
    pub(super) fn from_state(state: &MemoryState) -> Self {
        let draft =
            |(path, file): (&String, &FileState)| (path.clone(), (Draft::Shared(Arc::clone(&file.text)), file.touched));
        Self {
            files: state.files.iter().map(draft).collect(),
        }
    }

    pub(super) fn into_state(self, step: StepNo) -> MemoryState {
        let finish = |(path, (draft, touched))| {
            let text = match draft {
                Draft::Shared(text) => text,
                Draft::Own(text) => text.into(),
            };
            (path, FileState { text, touched })
        };
        MemoryState {
            step,
            files: self.files.into_iter().map(finish).collect(),
        }
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> usize {
        let length = |(draft, _): &(Draft, _)| match draft {
            Draft::Shared(text) => text.len(),
            Draft::Own(text) => text.len(),
        };
        self.files.values().map(length).sum()
    }

    fn apply(&mut self, step: StepNo, path: &str, edit: &PackedEdit<'_>) -> Option<()> {
        match edit {
            PackedEdit::Whole(text) => {
                let draft = Draft::Shared(Arc::from(*text));
                self.files.insert(path.to_owned(), (draft, Some(step)));
            }
            PackedEdit::Delete => {
                self.files.remove(path)?;
            }
            PackedEdit::Append(text) => {
                let (draft, touched) = self.files.get_mut(path)?;
                draft.own().push_str(text);
                *touched = Some(step);
            }
            PackedEdit::Splice { at, deleted, inserted } => {
                let (draft, touched) = self.files.get_mut(path)?;
                let end = at.checked_add(*deleted)?;
                let text = draft.own();
                text.get(*at..end)?;
                text.replace_range(*at..end, inserted);
                *touched = Some(step);
            }
        }
        Some(())
    }
}

/// An edit as the stream keeps it: what is deleted only by its length.
enum PackedEdit<'a> {
    Append(&'a str),
    Splice {
        at: usize,
        deleted: usize,
        inserted: &'a str,
    },
    Whole(&'a str),
    Delete,
}

/// Adds a change to a stream.
pub(super) fn put_change(out: &mut Vec<u8>, step: StepNo, change: &MemoryChange) {
    put_u64(out, u64::from(step.0));
    put_str(out, &change.path);
    match &change.edit {
        Edit::Append { text } => {
            out.push(0);
            put_str(out, text);
        }
        Edit::Splice { at, deleted, inserted } => {
            out.push(1);
            put_u64(out, *at);
            put_u64(out, deleted.len() as u64);
            put_str(out, inserted);
        }
        Edit::Replace { text } | Edit::Create { text } => {
            out.push(2);
            put_str(out, text);
        }
        Edit::Delete => out.push(3),
    }
}

/// Applies the changes of a stream that happened in steps up to `upto`; gives `None` when the
/// stream is damaged or does not fit the files.
pub(super) fn replay(stream: &[u8], upto: StepNo, files: &mut Workbench) -> Option<()> {
    let mut bytes = Bytes(stream);
    while !bytes.is_empty() {
        let step = StepNo(bytes.u32()?);
        let path = bytes.str()?;
        let edit = match bytes.u8()? {
            0 => PackedEdit::Append(bytes.str()?),
            1 => PackedEdit::Splice {
                at: bytes.len()?,
                deleted: bytes.len()?,
                inserted: bytes.str()?,
            },
            2 => PackedEdit::Whole(bytes.str()?),
            3 => PackedEdit::Delete,
            _ => return None,
        };
        if step <= upto {
            files.apply(step, path, &edit)?;
        }
    }
    Some(())
}

/// A whole state as bytes.
pub(super) fn pack_state(state: &MemoryState) -> Vec<u8> {
    let mut out = Vec::with_capacity(state.bytes() + 64);
    put_u64(&mut out, state.files.len() as u64);
    for (path, file) in &state.files {
        put_str(&mut out, path);
        put_u64(&mut out, file.touched.map_or(0, |step| u64::from(step.0) + 1));
        put_str(&mut out, &file.text);
    }
    out
}

/// Undoes [`pack_state`]; `None` when the bytes are damaged.
pub(super) fn unpack_state(bytes: &[u8], step: StepNo) -> Option<MemoryState> {
    let mut bytes = Bytes(bytes);
    let mut state = MemoryState {
        step,
        files: BTreeMap::new(),
    };
    for _ in 0..bytes.len()? {
        let path = bytes.str()?.to_owned();
        let touched = match bytes.u64()? {
            0 => None,
            n => Some(StepNo(u32::try_from(n - 1).ok()?)),
        };
        let text = bytes.str()?.into();
        state.files.insert(path, FileState { text, touched });
    }
    bytes.is_empty().then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = Vec<BTreeMap<String, String>>> {
        let files = proptest::collection::btree_map("[ab]", "[a-cé\n]{0,12}", 0..3);
        proptest::collection::vec(files, 1..12)
    }

    proptest! {
        #[test]
        fn replayed_changes_give_the_files_of_every_step(steps in texts()) {
            let mut stream = Vec::new();
            let mut files = MemoryFiles::new();
            let mut expected = Vec::new();
            for (step, wanted) in steps.iter().enumerate() {
                let step = StepNo(step as u32);
                let paths: Vec<String> = files.keys().chain(wanted.keys()).cloned().collect();
                for path in paths {
                    let before = files.get(&path).cloned();
                    let after = wanted.get(&path).map(String::as_str);
                    if let Some(change) = MemoryChange::between(&path, before.as_deref(), after) {
                        change.apply(&mut files).unwrap();
                        put_change(&mut stream, step, &change);
                    }
                }
                expected.push(files.clone());
            }
            for (step, wanted) in expected.iter().enumerate() {
                let mut bench = Workbench::default();
                replay(&stream, StepNo(step as u32), &mut bench).unwrap();
                let state = bench.into_state(StepNo(step as u32));
                prop_assert_eq!(&state.texts(), wanted);
                prop_assert_eq!(unpack_state(&pack_state(&state), state.step), Some(state));
            }
        }

        #[test]
        fn garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = replay(&bytes, StepNo(9), &mut Workbench::default());
            let _ = unpack_state(&bytes, StepNo(0));
        }
    }
}
