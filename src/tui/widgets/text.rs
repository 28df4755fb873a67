//! Text made fit for the screen: harmless, measured in columns, cut and wrapped.
//!
//! Owns widths. Everything that comes from a model, a file or a trace passes [`clean`] before it
//! is drawn. Must not know what the text is about.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Text on one line that cannot hurt the terminal: control characters made visible, tabs as blanks.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let plain = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if plain(text) {
        return Cow::Borrowed(text);
    }
    match crate::protocol::sanitize::clean(text) {
        Cow::Borrowed(text) if !text.contains(['\t', '\n', '\r']) => Cow::Borrowed(text),
        text => Cow::Owned(text.replace('\t', "    ").replace('\r', "").replace('\n', "⏎")),
    }
}

/// The first part of a text, for lines that are cut anyway: never looks at more than `bytes` of it.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Columns the text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The text in at most `columns`, with `…` where something is left out.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(head(text, columns * 16 + 64)) <= columns && text.len() <= columns * 16 + 64 {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let end = fitting(text, columns - 1);
    Cow::Owned(format!("{}…", &text[..end]))
}

/// The text cut from the left, with `…` in front: for paths, whose end says more.
pub(crate) fn cut_left(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 1;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += width(grapheme);
        if used > columns {
            break;
        }
        start = at;
    }
    Cow::Owned(format!("…{}", &text[start..]))
}

/// The text cut or filled with blanks to exactly `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns).into_owned();
    text.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(&text))));
    text
}

/// The text at the right end of `columns`.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(&text))))
}

/// Bytes of the longest beginning that fits into `columns`.
fn fitting(text: &str, columns: usize) -> usize {
    let probe = head(text, columns + 1);
    // What follows the cut must be ASCII too, for it could be a mark on the last character.
    if probe.is_ascii() && (probe.len() > columns || probe.len() == text.len()) {
        return probe.len().min(columns);
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += width(grapheme);
        if used > columns {
            return at;
        }
    }
    text.len()
}

/// Splits a text into rows of at most `columns`: at line ends, then at blanks, then anywhere.
/// Gives byte ranges, so that a long text is not copied.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        wrap_line(text, start..end, columns, &mut rows);
        start += line.len();
    }
    if text.is_empty() || text.ends_with('\n') {
        rows.push(text.len()..text.len());
    }
    rows
}

fn wrap_line(text: &str, line: Range<usize>, columns: usize, rows: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    loop {
        let rest = &text[start..line.end];
        let mut fits = fitting(rest, columns);
        if fits == rest.len() {
            rows.push(start..line.end);
            return;
        }
        if fits == 0 {
            // one grapheme wider than the pane
            fits = rest.graphemes(true).next().map_or(rest.len(), str::len);
            if fits == rest.len() {
                rows.push(start..line.end);
                return;
            }
        }
        let broken = match rest[..fits].rfind(' ') {
            Some(blank) if rest.as_bytes().get(fits) != Some(&b' ') && blank > 0 => blank + 1,
            _ => fits,
        };
        rows.push(start..start + broken);
        start += broken;
        if rest.as_bytes().get(broken) == Some(&b' ') {
            start += 1;
        }
        if start >= line.end {
            return;
        }
    }
}

/// Writes text at a place, at most `columns` wide. Gives the column after it.
pub(crate) fn put(buf: &mut Buffer, x: u16, y: u16, columns: u16, text: &str, style: Style) -> u16 {
    if !buf.area.contains((x, y).into()) {
        return x;
    }
    if text.is_ascii() {
        return put_ascii(buf, x, y, columns, text, style);
    }
    buf.set_stringn(x, y, text, usize::from(columns), style).0
}

/// The same for the text that most rows are made of: one byte a cell, no graphemes to look for.
fn put_ascii(buf: &mut Buffer, x: u16, y: u16, columns: u16, text: &str, style: Style) -> u16 {
    let end = x.saturating_add(columns).min(buf.area.right());
    let mut x = x;
    for byte in text.bytes().filter(|byte| !byte.is_ascii_control()) {
        if x >= end {
            break;
        }
        buf[(x, y)].set_char(char::from(byte)).set_style(style);
        x += 1;
    }
    x
}

/// Writes a line into a row; what does not fit is cut with `…`.
pub(crate) fn put_line(buf: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row >= area.height {
        return;
    }
    let (mut x, y) = (area.x, area.y + row);
    let end = area.right();
    for (index, span) in line.spans.iter().enumerate() {
        let room = usize::from(end - x);
        if room == 0 {
            break;
        }
        let style = line.style.patch(span.style);
        let more = line.spans[index + 1..].iter().any(|span| !span.content.is_empty());
        let text = if more && width(&span.content) >= room && room > 0 {
            Cow::Owned(format!("{}…", &span.content[..fitting(&span.content, room - 1)]))
        } else {
            cut(&span.content, room)
        };
        x = put(buf, x, y, end - x, &text, style);
    }
}

/// Writes text that ends at the right edge of a row. Gives the column it begins at.
pub(crate) fn put_right(buf: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) -> u16 {
    let wide = (line.width() as u16).min(area.width);
    let place = Rect {
        x: area.right() - wide,
        width: wide,
        ..area
    };
    put_line(buf, place, row, line);
    place.x
}

/// Bytes in few characters: `812`, `2.1k`, `3.4M`.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1000 => n.to_string(),
        1000..1_000_000 => format!("{:.1}k", n as f64 / 1000.0),
        1_000_000..1_000_000_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{:.1}G", n as f64 / 1e9),
    }
}

/// A number with commas: `1,240`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with what it counts: `1 item`, `1,240 items`.
pub(crate) fn counted(n: u64, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(n))
}

/// Milliseconds as people say them: `0.4 ms`, `340 ms`, `1.2 s`.
pub(crate) fn duration(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 1000.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.1} s", ms / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_columns_not_bytes() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("漢字かな", 5), "漢字…");
        assert_eq!(cut("漢字かな", 4), "漢…");
        assert_eq!(cut_left("runs/2026/a.db", 6), "…/a.db");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad_left("7", 3), "  7");
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn wraps_at_blanks_and_never_loses_text() {
        let rows = |text: &str, columns| -> Vec<String> {
            wrap(text, columns)
                .into_iter()
                .map(|range| text[range].to_owned())
                .collect()
        };
        assert_eq!(rows("one two three", 7), ["one two", "three"]);
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("a\n\nb\n", 9), ["a", "", "b", ""]);
        assert_eq!(rows("漢字漢字", 3), ["漢", "字", "漢", "字"]);
        assert_eq!(rows("漢", 1), ["漢"]);
        assert_eq!(rows("", 4), [""]);
    }

    #[test]
    fn ascii_is_written_as_the_library_writes_it() {
        use ratatui::style::Color;
        let area = Rect::new(2, 1, 9, 1);
        let style = Style::new().fg(Color::Red);
        for said in ["", "plain", "much too long for it", "a\u{1b}[2Jb"] {
            let (mut ours, mut theirs) = (Buffer::empty(area), Buffer::empty(area));
            let end = put(&mut ours, 3, 1, 20, said, style);
            let (wanted, _) = theirs.set_stringn(3, 1, said, 20, style);
            assert_eq!((end, &ours), (wanted, &theirs), "{said:?}");
        }
    }

    #[test]
    fn hostile_text_is_harmless() {
        let text = clean("a\u{1b}[31mred\u{7}\r\nb\tc");
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let long = "x".repeat(10_000_000);
        assert_eq!(width(&cut(&long, 20)), 20);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(812), "812");
        assert_eq!(bytes(2140), "2.1k");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(40), "40");
        assert_eq!(duration(1234.0), "1.2 s");
    }
}
