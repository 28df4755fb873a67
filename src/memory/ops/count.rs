//! COUNT: how many lines a file has, or how many hold a text.

use super::super::describe::{lines, quoted};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, for_matching_lines};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "COUNT",
        aliases: &[],
        args: &["file", "text?"],
        rest: true,
    },
    reads: true,
    writes: false,
    help: "counts the lines of a file that contain the text (all lines without a text)",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let (path, text) = memory.existing(arg(args, 0))?;
    let wanted = arg(args, 1).trim();
    if wanted.is_empty() {
        let told = format!("{}, {} bytes", lines(memory.lines(path)), text.len());
        return Ok(OpResult::told(OpStatus::Ok, told));
    }
    let mut found = 0;
    for_matching_lines(&text, wanted, |_, _| found += 1);
    let status = if found == 0 { OpStatus::Empty } else { OpStatus::Ok };
    Ok(OpResult::told(
        status,
        format!("{} with {}", lines(found), quoted(wanted)),
    ))
}
