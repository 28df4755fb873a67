//! Tools that look at the scaffold's files, change the draft, and check it.
//!
//! Owns the draft's rules: names stay inside, sizes are bounded. Nothing is written to disk.

use std::fmt::Write;

use super::bench::Bench;
use crate::evolve::candidate::{FILE_BYTES, METHOD, plain_path};
use crate::meta::args::Args;
use crate::meta::{Fault, Told, bounded, page};
use crate::scaffold::{self, MANIFEST};

pub(super) fn list_scaffold_files(bench: &mut Bench<'_>, _: &Args<'_>) -> Told {
    let parent = bench.task.parent.files();
    let mut out = String::new();
    for (path, text) in &bench.files {
        let state = match parent.get(path) {
            None => ", new",
            Some(old) if old != text => ", changed",
            Some(_) => "",
        };
        let _ = writeln!(
            out,
            "{path}: {} lines, {} bytes{state}",
            text.lines().count(),
            text.len()
        );
    }
    for path in parent.keys().filter(|path| !bench.files.contains_key(*path)) {
        let _ = writeln!(out, "{path}: deleted");
    }
    Ok(out)
}

pub(super) fn read_scaffold_file(bench: &mut Bench<'_>, args: &Args<'_>) -> Told {
    let path = plain_path(args.text("path")?)?;
    let (files, which) = match args.text("of")? {
        "" | "draft" => (&bench.files, "the draft"),
        "parent" => (bench.task.parent.files(), "the parent"),
        other => return Err(format!("`of` is `draft` or `parent`, not `{other}`.").into()),
    };
    match files.get(path) {
        Some(text) if text.is_empty() => Ok("(the file is empty)".to_owned()),
        Some(text) => page(text, args),
        None => {
            let there: Vec<&str> = files.keys().map(String::as_str).collect();
            Err(format!("There is no `{path}` in {which}; there are: {}.", there.join(", ")).into())
        }
    }
}

pub(super) fn write_file(bench: &mut Bench<'_>, args: &Args<'_>) -> Told {
    let path = plain_path(args.text("path")?)?;
    let text = args.text("content")?;
    if text.len() > FILE_BYTES {
        return Err(format!(
            "`{path}` has {} bytes; a file may have {FILE_BYTES}. Nothing was written.",
            text.len()
        )
        .into());
    }
    if let Some(bad) = text
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
    {
        return Err(format!(
            "`{path}` holds the control character U+{:04X}; files are plain text. Nothing was written.",
            bad as u32
        )
        .into());
    }
    let text = text.replace("\r\n", "\n");
    let before = bench.files.insert(path.to_owned(), text.clone());
    Ok(match before {
        None => format!("{path} is new: {} lines.", text.lines().count()),
        Some(old) if old == text => format!("{path} is as it was."),
        Some(old) => format!(
            "{path} is replaced: {} lines, {} before.",
            text.lines().count(),
            old.lines().count()
        ),
    })
}

pub(super) fn delete_file(bench: &mut Bench<'_>, args: &Args<'_>) -> Told {
    let path = plain_path(args.text("path")?)?;
    if path == MANIFEST {
        return Err(format!("A scaffold cannot be without {MANIFEST}.").into());
    }
    match bench.files.remove(path) {
        Some(_) => Ok(format!("{path} is deleted.")),
        None => Err(format!("There is no `{path}` in the draft.").into()),
    }
}

pub(super) fn diff(bench: &mut Bench<'_>, _: &Args<'_>) -> Told {
    let mut out = String::new();
    for file in scaffold::diff(bench.task.parent.files(), &bench.files) {
        let what = match (file.added, file.removed) {
            (true, _) => " (new)",
            (_, true) => " (deleted)",
            _ => "",
        };
        let _ = writeln!(out, "--- {}{what}", file.path);
        for line in file.hunks.iter().flatten() {
            let _ = writeln!(out, "{} {}", line.tag.sign(), line.text);
        }
    }
    Ok(match out.is_empty() {
        true => "The draft is the parent.".to_owned(),
        false => out,
    })
}

pub(super) fn check(bench: &mut Bench<'_>, _: &Args<'_>) -> Told {
    match bench.judge()? {
        Ok(()) => Ok("Nothing is wrong: it loads, and a rehearsal of twenty steps went well.".to_owned()),
        Err(refusal) => Err(Fault::Told(bounded(&refusal.words()))),
    }
}

/// Puts what changed and why into the draft.
pub(super) fn set_method(bench: &mut Bench<'_>, method: &str) {
    bench
        .files
        .insert(METHOD.to_owned(), format!("{}\n", method.trim_end()));
}
