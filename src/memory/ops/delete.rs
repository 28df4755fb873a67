//! DELETE: a file goes.

use super::super::describe::{lines, quoted};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::arg;
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "DELETE",
        aliases: &["REMOVE"],
        args: &["file"],
        rest: false,
    },
    reads: false,
    writes: true,
    help: "removes a file",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let (path, _) = memory.existing(arg(args, 0))?;
    let had = lines(memory.lines(path));
    let change = memory.remove(path)?;
    let mut result = OpResult::told(OpStatus::Ok, format!("deleted {} ({had})", quoted(path)));
    result.changes.push(change);
    Ok(result)
}
