//! TAIL: the last lines of a file.

use super::super::limits::cut_start;
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, malformed};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "TAIL",
        aliases: &[],
        args: &["file", "n?"],
        rest: false,
    },
    reads: true,
    writes: false,
    help: "shows the last n lines of a file (10 without n)",
    run,
};

const DEFAULT: usize = 10;

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let count = match arg(args, 1).split_whitespace().next() {
        None => DEFAULT,
        Some(word) => word.parse().ok().filter(|n| *n > 0).ok_or_else(|| malformed(&SPEC))?,
    };
    let (_, text) = memory.existing(arg(args, 0))?;
    if text.is_empty() {
        return Ok(OpResult::told(OpStatus::Empty, "the file is empty"));
    }
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let start = body.rmatch_indices('\n').nth(count - 1).map_or(0, |(at, _)| at + 1);
    Ok(OpResult {
        outcome: cut_start(OpStatus::Ok, text[start..].to_owned(), memory.quotas().result_bytes),
        changes: Vec::new(),
    })
}
