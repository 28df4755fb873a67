//! Colours inside plain files: headings, comments, template tags, keys of TOML.

use std::ops::Range;

use ratatui::style::{Modifier, Style};

use crate::tui::theme::{Slot, Theme};

/// Columns before a memory file's text: the step that wrote the line and the mark of a change.
pub(crate) const GUTTER: u16 = 7;

/// Columns after a memory file's text for how often a line was read, in a pane of this width.
pub(crate) fn reads(columns: u16) -> u16 {
    if columns >= 44 { 5 } else { 0 }
}

/// Styles of a text by what its file is, sorted and without overlap.
pub(crate) fn spans(path: &str, text: &str, theme: &Theme) -> Vec<(Range<usize>, Style)> {
    let mut spans = Vec::new();
    let mut start = 0;
    let toml = path.ends_with(".toml");
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches('\n').len();
        let body = &text[start..end];
        if toml {
            toml_line(body, start, theme, &mut spans);
        } else if body.starts_with('#') {
            spans.push((start..end, theme.bold(Slot::Heading)));
        } else {
            let tags = tags(body).into_iter();
            spans.extend(tags.map(|(range, slot)| (start + range.start..start + range.end, theme.style(slot))));
        }
        start += line.len();
    }
    spans
}

fn toml_line(line: &str, start: usize, theme: &Theme, spans: &mut Vec<(Range<usize>, Style)>) {
    let end = start + line.len();
    let trimmed = line.trim_start();
    if trimmed.starts_with('#') {
        spans.push((start..end, theme.style(Slot::Faint).add_modifier(Modifier::ITALIC)));
    } else if trimmed.starts_with('[') {
        spans.push((start..end, theme.bold(Slot::Heading)));
    } else if let Some(equals) = line.find('=') {
        spans.push((start..start + equals, theme.style(Slot::Accent)));
        let value = &line[equals + 1..];
        if value.trim_start().starts_with('"') {
            spans.push((start + equals + 1..end, theme.style(Slot::Quote)));
        }
    } else if trimmed.starts_with('"') {
        spans.push((start..end, theme.style(Slot::Quote)));
    }
}

/// `{{ … }}`, `{% … %}` and the tags of the protocol in a line, sorted, apart.
pub(crate) fn tags(line: &str) -> Vec<(Range<usize>, Slot)> {
    const PAIRS: [(&str, &str, Slot); 4] = [
        ("{{", "}}", Slot::Accent),
        ("{%", "%}", Slot::Heading),
        ("{#", "#}", Slot::Faint),
        ("<|", "|>", Slot::Tag),
    ];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((open, pair)) = PAIRS
        .iter()
        .filter_map(|pair| Some((at + line[at..].find(pair.0)?, pair)))
        .min_by_key(|(open, _)| *open)
    {
        let Some(close) = line[open + 2..].find(pair.1).map(|close| open + 2 + close + 2) else {
            break;
        };
        found.push((open..close, pair.2));
        at = close;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn spans_are_sorted_and_apart() {
        let theme = testing::theme();
        let text = "# Plan\nGo {{ x }} then <|DONE|> {% if y %}\n{{ open\n";
        let found = spans("prompts/plan.md", text, &theme);
        let parts: Vec<_> = found.iter().map(|(range, _)| &text[range.clone()]).collect();
        assert_eq!(parts, ["# Plan", "{{ x }}", "<|DONE|>", "{% if y %}"]);
        let text = "# c\n[a]\nk = \"v\"\nn = 3\n";
        let found = spans("scaffold.toml", text, &theme);
        let parts: Vec<_> = found.iter().map(|(range, _)| &text[range.clone()]).collect();
        assert_eq!(parts, ["# c", "[a]", "k ", " \"v\"", "n "]);
    }
}
