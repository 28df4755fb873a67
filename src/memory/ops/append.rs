//! APPEND: lines at the end of a file.

use super::super::describe::{lines, quoted};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, malformed, with_line_end};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "APPEND",
        aliases: &[],
        args: &["file", "text"],
        rest: true,
    },
    reads: false,
    writes: true,
    help: "adds the text as a new line at the end of a file",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let text = arg(args, 1);
    if text.trim().is_empty() {
        return Err(malformed(&SPEC));
    }
    let (path, old) = memory.maybe(arg(args, 0))?;
    let mut text = with_line_end(text);
    let (change, how) = match old {
        Some(old) => {
            if !old.is_empty() && !old.ends_with('\n') {
                text.insert(0, '\n');
            }
            (Some(memory.append(path, &text)?), "added to")
        }
        None => (memory.put(path, &text)?, "added to the new file"),
    };
    let told = format!("{how} {} (now {})", quoted(path), lines(memory.lines(path)));
    let mut result = OpResult::told(OpStatus::Ok, told);
    result.changes.extend(change);
    Ok(result)
}
