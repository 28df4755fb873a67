//! SEARCH: the lines that hold a text, in one file or in all.

use super::super::describe::{lines, quoted, some_names};
use super::super::{Halt, MemoryDir, OpResult, OpSpec};
use super::{arg, for_matching_lines, malformed};
use crate::protocol::OpSyntax;
use crate::types::OpStatus;

pub(super) const SPEC: OpSpec = OpSpec {
    syntax: OpSyntax {
        name: "SEARCH",
        aliases: &["GREP", "FIND"],
        args: &["file", "text"],
        rest: true,
    },
    reads: true,
    writes: false,
    help: "shows the lines of a file that contain the text; * searches all files",
    run,
};

fn run(memory: &mut MemoryDir, args: &[String]) -> Result<OpResult, Halt> {
    let (file, text) = (arg(args, 0).trim(), arg(args, 1).trim());
    if text.is_empty() {
        return Err(malformed(&SPEC));
    }
    let files: Vec<_> = match file.split_once('*') {
        None if !file.is_empty() => vec![memory.existing(file)?],
        None => all_files(memory, "", ""),
        Some((start, end)) => all_files(memory, start, end),
    };
    if files.is_empty() {
        let names = some_names(memory.files().keys().map(String::as_str));
        return Ok(OpResult::told(OpStatus::Missing, format!("no file to search; {names}")));
    }
    let several = files.len() > 1;
    let mut shown = String::new();
    let mut looked_at = 0;
    for (path, content) in &files {
        let mut headed = !several;
        looked_at += memory.lines(path);
        for_matching_lines(content, text, |n, line| {
            if !headed {
                shown.push_str(&format!("{path}:\n"));
                headed = true;
            }
            shown.push_str(&format!("{n}: {line}\n"));
        });
    }
    if shown.is_empty() {
        let told = format!("no line has {} ({} searched)", quoted(text), lines(looked_at));
        return Ok(OpResult::told(OpStatus::Empty, told));
    }
    Ok(OpResult::told(OpStatus::Ok, shown))
}

fn all_files<'a>(memory: &'a MemoryDir, start: &str, end: &str) -> Vec<(&'a str, std::sync::Arc<str>)> {
    memory
        .files()
        .iter()
        .filter(|(path, _)| path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end))
        .map(|(path, text)| (path.as_str(), std::sync::Arc::clone(text)))
        .collect()
}
