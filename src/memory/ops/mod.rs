//! The table of memory operations, one file each.

mod append;
mod count;
mod create;
mod delete;
mod list;
mod read;
mod search;
mod tail;
mod write;

use super::{Halt, OpSpec};
use crate::types::OpStatus;

/// All operations, reads first.
pub fn ops() -> &'static [OpSpec] {
    const OPS: &[OpSpec] = &[
        search::SPEC,
        read::SPEC,
        tail::SPEC,
        count::SPEC,
        list::SPEC,
        append::SPEC,
        write::SPEC,
        create::SPEC,
        delete::SPEC,
    ];
    OPS
}

/// The operation of this name or alias, in any case.
pub fn find_op(name: &str) -> Option<&'static OpSpec> {
    ops().iter().find(|op| op.syntax.answers_to(name))
}

/// The argument at `i`, or empty.
fn arg(args: &[String], i: usize) -> &str {
    args.get(i).map_or("", String::as_str)
}

/// What a model is told whose arguments make no sense.
fn malformed(spec: &OpSpec) -> Halt {
    Halt::told(OpStatus::Malformed, format!("write {}", spec.syntax.usage()))
}

/// The text as stored: with a line end.
fn with_line_end(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
