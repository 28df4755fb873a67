//! CREATE: a new file, empty or with a text.

use super::super::describe::{lines, quoted};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, with_line_end};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "CREATE",
        aliases: &[],
        args: &["new_file", "text?"],
        rest: true,
    },
    reads: false,
    writes: true,
    help: "makes a new file, empty or with the text",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let (path, old) = memory.maybe(arg(args, 0))?;
    let name = quoted(path);
    let text = arg(args, 1);
    let text = if text.trim().is_empty() {
        String::new()
    } else {
        with_line_end(text)
    };
    if let Some(old) = old {
        let have = lines(memory.lines(path));
        return Ok(if text.is_empty() || *old == *text {
            OpResult::told(OpStatus::Unchanged, format!("{name} exists already ({have})"))
        } else {
            let told = format!("{name} exists already ({have}); use APPEND to add, or WRITE to replace");
            OpResult::told(OpStatus::Refused, told)
        });
    }
    let change = memory.put(path, &text)?;
    let mut result = OpResult::told(OpStatus::Ok, format!("created {name}"));
    result.changes.extend(change);
    Ok(result)
}
