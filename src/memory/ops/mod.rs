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

/// Calls `found` with number (from 1) and text of every line that holds `wanted`, whatever the case.
fn for_matching_lines<'a>(text: &'a str, wanted: &str, mut found: impl FnMut(usize, &'a str)) {
    let wanted = wanted.to_lowercase();
    if !text.is_ascii() {
        let lower = text.to_lowercase();
        for (n, (line, lower)) in text.lines().zip(lower.lines()).enumerate() {
            if lower.contains(&wanted) {
                found(n + 1, line);
            }
        }
        return;
    }
    // ASCII keeps its offsets in lower case, so that one search runs over the whole text.
    let lower = text.to_ascii_lowercase();
    let (mut at, mut number, mut counted) = (0, 1, 0);
    while let Some(hit) = lower.get(at..).and_then(|rest| rest.find(&wanted)).map(|i| at + i) {
        let start = lower[at..hit].rfind('\n').map_or(at, |i| at + i + 1);
        let end = lower[hit..].find('\n').map_or(lower.len(), |i| hit + i);
        if hit + wanted.len() <= end {
            number += lower.as_bytes()[counted..start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            counted = start;
            let line = &text[start..end];
            found(number, line.strip_suffix('\r').unwrap_or(line));
        }
        at = end + 1;
    }
}

/// The text as stored: with a line end.
fn with_line_end(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn matching_lines_are_those_that_hold_the_text(text in "([abAB\n]|\r\n|É|é){0,30}", wanted in "[abAB]|é|ab|a\n") {
            let mut found = Vec::new();
            for_matching_lines(&text, &wanted, |n, line| found.push((n, line)));
            let lower = wanted.to_lowercase();
            let plain: Vec<_> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.to_lowercase().contains(&lower))
                .map(|(n, line)| (n + 1, line))
                .collect();
            prop_assert_eq!(found, plain);
        }
    }
}
