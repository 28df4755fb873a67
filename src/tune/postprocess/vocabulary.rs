//! The operations that a conversation may hold: the memory's own, and those that a scaffold added.
//!
//! A conversation does not say what its scaffold added, so a whole tag in capitals whose name nobody knows
//! (`<|UPSERT|>...<|END|>`) is taken for one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::memory;
use crate::protocol::{OpSyntax, ProblemKind, parse};
use crate::types::{ChatRole, Message};

/// Names that are taken for operations in the life of the program; a hostile set can have any number.
const MOST: usize = 256;

/// All operations of a conversation's answers.
pub fn vocabulary(messages: &[Message]) -> Vec<OpSyntax> {
    let mut known: Vec<OpSyntax> = memory::ops().iter().map(|op| op.syntax).collect();
    for message in messages.iter().filter(|message| message.role == ChatRole::Assistant) {
        // Most answers hold known operations only.
        for problem in parse(&message.content, &known).problems {
            if problem.kind != ProblemKind::UnknownTag {
                continue;
            }
            let tag = message.content.get(problem.span.clone()).unwrap_or_default();
            let name: String = tag.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let whole =
                tag.starts_with("<|") && tag.ends_with("|>") && name.bytes().all(|byte| !byte.is_ascii_lowercase());
            if whole && known.iter().all(|op| !op.answers_to(&name)) {
                known.extend(added(name));
            }
        }
    }
    known
}

/// An operation of a name that lives as long as the program.
fn added(name: String) -> Option<OpSyntax> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = match names.get(name.as_str()) {
        Some(name) => name,
        None if names.len() < MOST => {
            let name: &'static str = Box::leak(name.into_boxed_str());
            names.insert(name);
            name
        }
        None => return None,
    };
    Some(OpSyntax {
        name,
        aliases: &[],
        args: &["text"],
        rest: true,
    })
}
