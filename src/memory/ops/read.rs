//! READ: a whole file.

use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::arg;
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "READ",
        aliases: &[],
        args: &["file"],
        rest: false,
    },
    reads: true,
    writes: false,
    help: "shows the whole file",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let (_, text) = memory.existing(arg(args, 0))?;
    if text.is_empty() {
        return Ok(OpResult::told(OpStatus::Empty, "the file is empty"));
    }
    Ok(OpResult::told(OpStatus::Ok, &*text))
}
