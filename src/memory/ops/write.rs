//! WRITE: a file's whole text.

use super::super::describe::{lines, quoted};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, malformed, with_line_end};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "WRITE",
        aliases: &[],
        args: &["file", "text"],
        rest: true,
    },
    reads: false,
    writes: true,
    help: "replaces everything in a file by the text",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let text = arg(args, 1);
    if text.trim().is_empty() {
        return Err(malformed(&SPEC));
    }
    let (path, _) = memory.maybe(arg(args, 0))?;
    let name = quoted(path);
    let Some(change) = memory.put(path, &with_line_end(text))? else {
        let told = format!("{name} holds exactly this already");
        return Ok(OpResult::told(OpStatus::Unchanged, told));
    };
    let told = format!("wrote {name} ({})", lines(memory.lines(path)));
    let mut result = OpResult::told(OpStatus::Ok, told);
    result.changes.push(change);
    Ok(result)
}
