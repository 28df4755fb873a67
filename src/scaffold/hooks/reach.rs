//! What a running script can reach beside its arguments.

// Only for starlark's derive: it implements that library's marker trait, which is unsafe by name.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use regex::Regex;
use starlark::PrintHandler;
use starlark::any::ProvidesStaticType;

/// Lines a script may print in a call; each becomes a note in the record.
pub(super) const MOST_PRINTED: usize = 20;
/// Characters of a printed line.
const PRINTED_CHARS: usize = 400;

/// Memory, compiled patterns, and what was printed.
#[derive(Debug, Default, ProvidesStaticType)]
pub(super) struct Reach {
    /// Memory, read-only.
    pub(super) files: RefCell<BTreeMap<String, String>>,
    /// Patterns that were compiled before.
    pub(super) patterns: RefCell<HashMap<String, Regex>>,
    printed: RefCell<Vec<String>>,
}

impl PrintHandler for Reach {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let mut printed = self.printed.borrow_mut();
        if printed.len() < MOST_PRINTED {
            printed.push(text.chars().take(PRINTED_CHARS).collect());
        }
        Ok(())
    }
}

impl Reach {
    /// What was printed since the last time.
    pub(super) fn take_printed(&self) -> Vec<String> {
        std::mem::take(&mut *self.printed.borrow_mut())
    }
}
