//! LIST: the files there are.

use super::super::describe::lines;
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "LIST",
        aliases: &["LS"],
        args: &[],
        rest: false,
    },
    reads: true,
    writes: false,
    help: "lists all files with their size",
    run,
};

fn run(memory: &mut MemoryDir, _args: &[String]) -> Result<OpResult, Halt> {
    if memory.files().is_empty() {
        return Ok(OpResult::told(OpStatus::Empty, "there are no files yet"));
    }
    let mut text = String::new();
    for (path, content) in memory.files() {
        text.push_str(&format!(
            "{path} ({}, {} bytes)\n",
            lines(memory.lines(path)),
            content.len()
        ));
    }
    Ok(OpResult::told(OpStatus::Ok, text))
}
