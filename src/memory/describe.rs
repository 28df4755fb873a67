//! Short texts that models are told about files.

/// `1 line`, `12 lines`.
pub(super) fn lines(n: usize) -> String {
    if n == 1 {
        "1 line".to_owned()
    } else {
        format!("{n} lines")
    }
}

/// Names of files for a message, a few at most.
pub(super) fn some_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let mut names = names.peekable();
    if names.peek().is_none() {
        return "there are no files yet".to_owned();
    }
    let shown: Vec<_> = names.by_ref().take(SHOWN).collect();
    let more = if names.next().is_some() { ", ..." } else { "" };
    format!("the files are: {}{more}", shown.join(", "))
}

/// A piece of a model's text inside a message: one line and not long.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect();
    let more = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    format!("`{line}{more}`")
}
