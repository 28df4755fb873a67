//! How verbs print: one JSON document on stdout, errors with their causes on stderr.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

/// Prints one JSON document and a line end.
///
/// # Errors
/// When stdout is closed or full.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print_text(&text)
}

/// Prints text as it is.
///
/// # Errors
/// When stdout is full. A reader that went away (`| head`) is no error: the rest is not printed.
pub(super) fn print_text(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("the output could not be written"),
    }
}

/// Prints an error with its chain of causes on stderr.
pub(super) fn print_error(error: &anyhow::Error) {
    eprintln!("error: {error}");
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        if !last.contains(&text) {
            eprintln!("  because: {text}");
        }
        last = text;
    }
}
