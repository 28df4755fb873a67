//! Draws the rows of a difference that are on the screen.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::document::Document;
use super::super::text;
use super::{Diff, Row, Side, fair};
use crate::protocol::sanitize;
use crate::review::PartKind;
use crate::tui::theme::{Slot, Theme};

/// What became of a part, as far as its lines look different for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It stands as suggested.
    Plain,
    /// It will not come.
    Faded,
    /// A person wrote it.
    Own,
}

/// Colours of a line: by file, side and index.
pub(crate) type Colours<'a> = &'a dyn Fn(usize, Side, usize) -> Option<&'a [(Range<usize>, Slot)]>;

/// How it is drawn, by whoever knows more about the parts.
pub(crate) struct Look<'a> {
    /// Colours.
    pub(crate) theme: &'a Theme,
    /// The line over a part.
    pub(crate) head: &'a dyn Fn(usize) -> Line<'static>,
    /// What became of a part.
    pub(crate) tone: &'a dyn Fn(usize) -> Tone,
    /// Colours of a line.
    pub(crate) colours: Colours<'a>,
    /// The part that keys are about.
    pub(crate) current: Option<usize>,
    /// The screen row that is selected, and whether keys go there.
    pub(crate) cursor: Option<(usize, bool)>,
}

impl Diff {
    /// Draws the screen rows from `top` on.
    pub(crate) fn draw(&self, buf: &mut Buffer, area: Rect, top: usize, look: &Look<'_>) {
        if self.rows.is_empty() {
            return;
        }
        let mut row = self.row_at(top);
        let mut skip = top.saturating_sub(self.starts[row] as usize);
        let mut y = area.y;
        while y < area.bottom() && row < self.rows.len() {
            let height = (self.starts[row + 1] - self.starts[row]) as usize - skip;
            let place = Rect {
                y,
                height: (height as u16).min(area.bottom() - y),
                ..area
            };
            self.draw_row(buf, place, self.rows[row], skip, look);
            y += place.height;
            row += 1;
            skip = 0;
        }
        let cursor = look
            .cursor
            .filter(|(at, _)| *at >= top && *at - top < usize::from(area.height));
        if let Some((at, focused)) = cursor {
            let line = Rect {
                y: area.y + (at - top) as u16,
                height: 1,
                ..area
            };
            buf.set_style(line, look.theme.selected(focused));
        }
    }

    fn draw_row(&self, buf: &mut Buffer, area: Rect, row: Row, skip: usize, look: &Look<'_>) {
        let theme = look.theme;
        let part = match row {
            Row::Part(part) | Row::Line { part, .. } => Some(part),
            _ => None,
        };
        if part.is_some() && part == look.current {
            for y in area.top()..area.bottom() {
                text::put(buf, area.x, y, 1, "▌", theme.style(Slot::Accent));
            }
        }
        let inner = Rect {
            x: area.x + 1,
            width: area.width.saturating_sub(1),
            ..area
        };
        match row {
            Row::File(file) => text::put_line(buf, area, 0, &self.file_line(file, theme)),
            Row::Part(part) => text::put_line(buf, inner, 0, &(look.head)(part)),
            Row::Fold { count, .. } => {
                let said = format!("⋯ {count} lines are the same (Enter shows them)");
                let indent = self.digits.saturating_sub(1);
                let line = Line::styled(format!("{}{said}", " ".repeat(indent)), theme.style(Slot::Faint));
                text::put_line(buf, inner, 0, &line);
            }
            Row::Same { .. } | Row::Line { .. } if self.shape.beside => self.draw_beside(buf, inner, row, skip, look),
            Row::Same { new, .. } => {
                self.number(buf, inner, 0, Some(new + 1), skip, theme, self.digits + 1);
                self.draw_side(buf, inner, (row, Side::Old), (skip, self.digits + 1), look);
            }
            Row::Line { old: Some(_), .. } => {
                self.draw_side(buf, inner, (row, Side::Old), (skip, self.digits + 1), look);
            }
            Row::Line { .. } => {
                let right = Rect {
                    x: inner.x + self.digits as u16 + 1,
                    width: inner.width.saturating_sub(self.digits as u16 + 1),
                    ..inner
                };
                self.draw_side(buf, right, (row, Side::New), (skip, 0), look);
            }
        }
    }

    fn file_line(&self, file: usize, theme: &Theme) -> Line<'static> {
        let file = &self.files[file];
        let what = match self.pieces.get(file.pieces.start).map(|piece| piece.part.kind) {
            Some(PartKind::NewFile) => " · new file",
            Some(PartKind::RemovedFile) => " · the file is removed",
            _ => "",
        };
        Line::from(vec![
            Span::styled(text::clean(&file.path).into_owned(), theme.bold(Slot::Heading)),
            Span::styled(what, theme.style(Slot::Warn)),
        ])
    }

    fn draw_beside(&self, buf: &mut Buffer, area: Rect, row: Row, skip: usize, look: &Look<'_>) {
        let half = (self.text_columns() + self.digits + 3) as u16;
        let left = Rect {
            width: half.min(area.width),
            ..area
        };
        let x = left.right();
        for y in area.top()..area.bottom() {
            text::put(buf, x, y, 1, "│", look.theme.style(Slot::Faint));
        }
        let right = Rect {
            x: (x + 1).min(area.right()),
            width: area.right().saturating_sub(x + 1).min(half),
            ..area
        };
        self.draw_side(buf, left, (row, Side::Old), (skip, 0), look);
        self.draw_side(buf, right, (row, Side::New), (skip, 0), look);
    }

    /// A number, a sign, the text. `gap` is the room between number and sign.
    fn draw_side(
        &self,
        buf: &mut Buffer,
        area: Rect,
        (row, side): (Row, Side),
        (skip, gap): (usize, usize),
        look: &Look<'_>,
    ) {
        let Some(shown) = self.shown(row, side) else {
            return;
        };
        let theme = look.theme;
        let (sign, slot, ground, tone) = match (row, side) {
            (Row::Line { part, .. }, Side::Old) => ("-", Slot::Removed, Slot::RemovedGround, (look.tone)(part)),
            (Row::Line { part, .. }, Side::New) => ("+", Slot::Added, Slot::AddedGround, (look.tone)(part)),
            _ => (" ", Slot::Text, Slot::Background, Tone::Plain),
        };
        let own = tone == Tone::Own && side == Side::New;
        let faded = tone == Tone::Faded;
        self.number(buf, area, 0, shown.number, skip, theme, 0);
        let shift = (self.digits + 1 + gap) as u16;
        let place = Rect {
            x: area.x + shift.min(area.width),
            width: area.width.saturating_sub(shift),
            ..area
        };
        if sign != " " && !faded {
            buf.set_style(place, Style::new().bg(theme.color(ground)));
        }
        let sign_style = match (faded, own) {
            (true, _) => theme.style(Slot::Faint),
            (_, true) => theme.bold(Slot::Human),
            _ => theme.bold(slot),
        };
        for y in place.top()..place.bottom() {
            text::put(buf, place.x, y, 1, sign, sign_style);
        }
        let base = match (row, faded) {
            (Row::Same { .. }, _) => theme.style(Slot::Dim),
            // The line that would go stays; the one that would come does not come.
            (_, true) if side == Side::New => theme.style(Slot::Faint).add_modifier(Modifier::CROSSED_OUT),
            (_, true) => theme.style(Slot::Dim),
            _ => theme.style(Slot::Text),
        };
        let colours = match shown.source {
            Some((file, side, line)) if !faded => (look.colours)(file, side, line).unwrap_or_default(),
            _ => &[],
        };
        let word = theme.bold(slot).add_modifier(Modifier::UNDERLINED);
        let columns = self.text_columns();
        let inside = Rect {
            x: (place.x + 2).min(place.right()),
            width: place.width.saturating_sub(2).min(columns as u16),
            ..place
        };
        let words = if faded { &[] } else { shown.words };
        let document = painted(shown.text, words, colours, word, theme, columns);
        document.draw(buf, inside, skip, base);
        if !shown.text.ends_with('\n') && !shown.text.is_empty() && matches!(row, Row::Line { .. }) {
            no_line_end(buf, inside, theme);
        }
    }

    fn number(
        &self,
        buf: &mut Buffer,
        area: Rect,
        y: u16,
        number: Option<usize>,
        skip: usize,
        theme: &Theme,
        shift: usize,
    ) {
        // Where a line goes on it has no number.
        let said = match number {
            Some(number) if skip == 0 => text::pad_left(&number.to_string(), self.digits),
            _ => return,
        };
        let x = area.x + shift as u16;
        text::put(
            buf,
            x,
            area.y + y,
            area.right().saturating_sub(x),
            &said,
            theme.style(Slot::Faint),
        );
    }
}

/// The last line of a text may have no end: else nobody sees that this is the change.
fn no_line_end(buf: &mut Buffer, area: Rect, theme: &Theme) {
    let said = Line::styled(" (no line end)", theme.style(Slot::Faint));
    let last = area.height.saturating_sub(1);
    let y = area.y + last;
    let free = (area.left()..area.right())
        .rev()
        .take_while(|x| buf.cell((*x, y)).is_some_and(|cell| cell.symbol() == " "))
        .count();
    if free > said.width() {
        text::put_right(buf, area, last, &said);
    }
}

/// The line wrapped for its columns, with colours, and the changed words over them.
fn painted(
    line: &str,
    words: &[Range<usize>],
    colours: &[(Range<usize>, Slot)],
    word: Style,
    theme: &Theme,
    columns: usize,
) -> Document {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let inside = |range: &Range<usize>| range.start.min(line.len())..range.end.min(line.len());
    let mut cuts: Vec<usize> = vec![0, line.len()];
    cuts.extend(colours.iter().flat_map(|(range, _)| [range.start, range.end]));
    cuts.extend(words.iter().flat_map(|range| [range.start, range.end]));
    cuts.retain(|cut| *cut <= line.len() && line.is_char_boundary(*cut));
    cuts.sort_unstable();
    cuts.dedup();
    let (said, places) = mapped(line, &cuts);
    let mut spans = Vec::new();
    let (mut colour, mut changed) = (0, 0);
    for (piece, place) in cuts.windows(2).zip(places.windows(2)) {
        while colours
            .get(colour)
            .is_some_and(|(range, _)| inside(range).end <= piece[0])
        {
            colour += 1;
        }
        while words.get(changed).is_some_and(|range| inside(range).end <= piece[0]) {
            changed += 1;
        }
        let is_word = words.get(changed).is_some_and(|range| range.start <= piece[0]);
        let slot = colours.get(colour).filter(|(range, _)| range.start <= piece[0]);
        let style = match (is_word, slot) {
            (true, _) => word,
            (false, Some((_, slot))) => theme.style(*slot),
            (false, None) => continue,
        };
        spans.push((place[0]..place[1], style));
    }
    Document::new(said, spans, columns)
}

/// The line made harmless, and where these places of it are then.
fn mapped(line: &str, cuts: &[usize]) -> (String, Vec<usize>) {
    let fair = fair(line);
    if fair == line {
        return (fair.into_owned(), cuts.to_vec());
    }
    // Every dangerous character became one other; tabs became blanks.
    let cleaned = sanitize::clean(line);
    let mut places = Vec::with_capacity(cuts.len());
    let (mut out, mut cut) = (0, 0);
    for ((at, _), clean) in line.char_indices().zip(cleaned.chars()) {
        while cuts.get(cut).is_some_and(|place| *place <= at) {
            places.push(out);
            cut += 1;
        }
        out += if clean == '\t' { 4 } else { clean.len_utf8() };
    }
    places.resize(cuts.len(), fair.len());
    (fair.into_owned(), places)
}
