//! A long text on the screen: wrapped once for a width, only visible rows drawn, with coloured
//! spans and a search mark.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text;

/// A text with styles by byte range, wrapped for one width.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    text: String,
    spans: Vec<(Range<usize>, Style)>,
    rows: Vec<Range<usize>>,
    /// The row in which each line begins.
    starts: Vec<u32>,
    columns: usize,
}

impl Document {
    /// Takes a text (made harmless before) with styled spans, sorted and not overlapping.
    pub(crate) fn new(text: String, spans: Vec<(Range<usize>, Style)>, columns: usize) -> Self {
        let rows = text::wrap(&text, columns);
        Self {
            starts: starts(&text, &rows),
            text,
            spans,
            rows,
            columns,
        }
    }

    /// Wraps anew if the width is another.
    pub(crate) fn fit(&mut self, columns: usize) {
        if columns != self.columns {
            self.rows = text::wrap(&self.text, columns);
            self.starts = starts(&self.text, &self.rows);
            self.columns = columns;
        }
    }

    /// Rows in all.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of the line (from 0) that begins in a row; `None` where a line goes on.
    pub(crate) fn line_of_row(&self, row: usize) -> Option<usize> {
        self.starts.binary_search(&(row as u32)).ok()
    }

    /// The row in which a line begins.
    pub(crate) fn row_of_line(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.rows.len().saturating_sub(1), |row| *row as usize)
    }

    /// The row in which a line ends.
    pub(crate) fn last_row_of_line(&self, line: usize) -> usize {
        let next = self.starts.get(line + 1).map_or(self.rows.len(), |row| *row as usize);
        next.saturating_sub(1)
    }

    /// The first byte of a row.
    pub(crate) fn start_of_row(&self, row: usize) -> usize {
        self.rows.get(row).map_or(self.text.len(), |row| row.start)
    }

    /// The text of a row.
    pub(crate) fn row_text(&self, row: usize) -> &str {
        let range = self.rows.get(row).cloned().unwrap_or_default();
        self.text.get(range).unwrap_or_default()
    }

    /// The row that holds a byte.
    pub(crate) fn row_of(&self, at: usize) -> usize {
        self.rows.partition_point(|row| row.start <= at).saturating_sub(1)
    }

    /// The line (from 0) that a row belongs to.
    pub(crate) fn line_at(&self, row: usize) -> usize {
        self.starts
            .partition_point(|start| *start as usize <= row)
            .saturating_sub(1)
    }

    /// Draws the rows from `top` on.
    pub(crate) fn draw(&self, buf: &mut Buffer, area: Rect, top: usize, base: Style) {
        for (y, row) in (0..area.height).zip(self.rows.iter().skip(top)) {
            self.draw_row(buf, area, y, row, base);
        }
    }

    fn draw_row(&self, buf: &mut Buffer, area: Rect, y: u16, row: &Range<usize>, base: Style) {
        let mut at = row.start;
        let mut x = area.x;
        let first = self.spans.partition_point(|(range, _)| range.end <= row.start);
        let spans = self.spans[first..]
            .iter()
            .take_while(|(range, _)| range.start < row.end);
        for (range, style) in spans {
            let (start, end) = (range.start.max(row.start), range.end.min(row.end));
            x = self.put(buf, area, x, y, at..start, base);
            x = self.put(buf, area, x, y, start..end, base.patch(*style));
            at = end;
        }
        self.put(buf, area, x, y, at..row.end, base);
    }

    fn put(&self, buf: &mut Buffer, area: Rect, x: u16, y: u16, range: Range<usize>, style: Style) -> u16 {
        match self.text.get(range) {
            Some(part) if !part.is_empty() => {
                text::put(buf, x, area.y + y, area.right().saturating_sub(x), part, style)
            }
            _ => x,
        }
    }
}

/// The rows that begin a line.
fn starts(text: &str, rows: &[Range<usize>]) -> Vec<u32> {
    let begins = |row: &Range<usize>| row.start == 0 || text.as_bytes().get(row.start - 1) == Some(&b'\n');
    (0..)
        .zip(rows)
        .filter(|(_, row)| begins(row))
        .map(|(number, _)| number)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    #[test]
    fn spans_run_over_row_ends() {
        let red = Style::new().fg(Color::Red);
        let doc = Document::new("one two three".into(), vec![(4..9, red)], 7);
        assert_eq!(doc.len(), 2);
        let area = Rect::new(0, 0, 7, 2);
        let mut buf = Buffer::empty(area);
        doc.draw(&mut buf, area, 0, Style::new());
        let colours: Vec<(u16, u16)> = area
            .positions()
            .filter(|at| buf[*at].fg == Color::Red)
            .map(|at| (at.x, at.y))
            .collect();
        assert_eq!(colours, [(4, 0), (5, 0), (6, 0), (0, 1)]);
        assert_eq!((doc.row_of(0), doc.row_of(10)), (0, 1));
        let doc = Document::new("one two\nx\n\ny".into(), Vec::new(), 4);
        let lines: Vec<_> = (0..doc.len()).map(|row| doc.line_of_row(row)).collect();
        assert_eq!(lines, [Some(0), None, Some(1), Some(2), Some(3)]);
        assert_eq!((doc.last_row_of_line(0), doc.last_row_of_line(3)), (1, 4));
        assert_eq!((doc.row_of_line(1), doc.line_at(1), doc.line_at(2)), (2, 0, 1));
    }
}
