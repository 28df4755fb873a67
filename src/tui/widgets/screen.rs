//! Draws a terminal's screen, or the part of it around the cursor where there is less room.
//!
//! Owns which part shows and what its colours become under a theme. Must not know what the screen says.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::sprites::centred;
use super::text;
use super::tiles::Rgb;
use crate::tui::theme::{Depth, Theme};
use crate::types::GridView;

/// What the 16 colours look like, before they are made fit for the terminal.
const COLOURS: [Rgb; 16] = [
    (95, 95, 125),
    (205, 70, 70),
    (75, 175, 75),
    (180, 125, 60),
    (95, 120, 235),
    (190, 85, 190),
    (65, 175, 185),
    (190, 190, 190),
    (125, 125, 125),
    (255, 145, 60),
    (115, 230, 115),
    (240, 220, 95),
    (130, 165, 255),
    (240, 135, 240),
    (125, 230, 230),
    (250, 250, 250),
];

/// Rows of the screens that old terminals had: a message above, a status of two lines below.
const CLASSIC: usize = 24;

/// The part of a screen that shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its first column and row.
    column: usize,
    row: usize,
    /// Columns.
    pub(crate) width: u16,
    /// Rows.
    pub(crate) height: u16,
}

/// Whether all of a screen has room.
pub(crate) fn fits(view: &GridView, room: Rect) -> bool {
    view.width <= room.width && view.rows.len() <= usize::from(room.height)
}

/// A classic screen's first row: its message.
pub(crate) fn message(view: &GridView) -> Option<&str> {
    let first = view.rows.first().filter(|_| view.rows.len() == CLASSIC)?;
    let told = first.trim_end();
    (!told.is_empty()).then_some(told)
}

/// The part around the cursor, moved by so many cells. It follows the cursor by leaps, so that it stands still while the
/// cursor moves a little.
pub(crate) fn part(view: &GridView, room: Rect, pan: (i32, i32)) -> Part {
    let rows = if fits(view, room) || view.rows.len() != CLASSIC {
        0..view.rows.len()
    } else {
        1..CLASSIC - 2
    };
    let (cursor_column, cursor_row) = view.cursor.unwrap_or((view.width / 2, view.rows.len() as u16 / 2));
    let place = |cursor: i32, shown: i32, all: i32, pan: i32| {
        let leap = (shown / 4).max(1);
        let middle = cursor / leap * leap + leap / 2;
        (centred(middle, shown, all) + pan).clamp(0, (all - shown).max(0))
    };
    let all = (i32::from(view.width), rows.len() as i32);
    let shown = (all.0.min(i32::from(room.width)), all.1.min(i32::from(room.height)));
    let cursor_row = (i32::from(cursor_row) - rows.start as i32).max(0);
    Part {
        column: place(i32::from(cursor_column), shown.0, all.0, pan.0) as usize,
        row: rows.start + place(cursor_row, shown.1, all.1, pan.1) as usize,
        width: shown.0 as u16,
        height: shown.1 as u16,
    }
}

impl Part {
    /// Its first column and row.
    pub(crate) fn start(self) -> (i32, i32) {
        (self.column as i32, self.row as i32)
    }
}

/// Draws the part at the north-west corner of the area.
pub(crate) fn draw(buf: &mut Buffer, area: Rect, view: &GridView, part: Part, theme: &Theme) {
    let area = Rect {
        width: part.width,
        height: part.height,
        ..area
    }
    .intersection(buf.area);
    let inks = COLOURS.map(|color| theme.base().fg(theme.ink(color)));
    let ink = |colour: char| -> Style {
        let number = colour.to_digit(16).filter(|_| theme.depth() > Depth::Mono);
        number.map_or(theme.base(), |number| inks[number as usize])
    };
    for row in 0..area.height {
        let y = part.row + usize::from(row);
        let (Some(letters), Some(colours)) = (view.rows.get(y), view.colours.get(y)) else {
            continue;
        };
        let cells = letters.chars().zip(colours.chars()).skip(part.column);
        for (column, (letter, colour)) in (0..area.width).zip(cells) {
            let here = (part.column + usize::from(column), y);
            let under = view
                .cursor
                .is_some_and(|(x, y)| (usize::from(x), usize::from(y)) == here);
            let mut style = ink(colour);
            if under {
                style = style.add_modifier(Modifier::REVERSED);
            }
            // What takes two columns, or none, would move all that follows.
            let narrow = letter.is_ascii() || text::width(letter.encode_utf8(&mut [0; 4])) == 1;
            let cell = &mut buf[(area.x + column, area.y + row)];
            cell.set_char(if narrow { letter } else { '?' }).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    fn room(width: u16, height: u16) -> Rect {
        Rect::new(0, 0, width, height)
    }

    #[test]
    fn the_cursor_is_always_in_the_part() {
        let mut view = testing::screen(0);
        for column in 0..80 {
            for row in 1..22 {
                view.cursor = Some((column, row));
                for room in [room(80, 24), room(40, 12), room(21, 7), room(3, 3), room(1, 1)] {
                    let part = part(&view, room, (0, 0));
                    let (x, y) = (usize::from(column), usize::from(row));
                    assert!(
                        (part.column..part.column + usize::from(part.width)).contains(&x),
                        "{column} {part:?}"
                    );
                    assert!(
                        (part.row..part.row + usize::from(part.height)).contains(&y),
                        "{row} {part:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_part_stays_on_the_screen_however_far_it_is_moved() {
        let view = testing::screen(0);
        for pan in [(1000, 1000), (-1000, -1000)] {
            let part = part(&view, room(30, 10), pan);
            assert!(
                part.column + 30 <= 80 && part.row + 10 <= 22 && part.row >= 1,
                "{part:?}"
            );
        }
    }

    #[test]
    fn letters_keep_their_places_and_the_cursor_is_marked() {
        let view = testing::screen(0);
        let mut buf = Buffer::empty(room(80, 24));
        let all = part(&view, buf.area, (0, 0));
        draw(&mut buf, room(80, 24), &view, all, &testing::theme());
        let (x, y) = view.cursor.unwrap();
        assert_eq!(buf[(x, y)].symbol(), "@");
        assert!(buf[(x, y)].modifier.contains(Modifier::REVERSED));
        assert_eq!(message(&view), Some("You see here a scroll labeled KIRJE."));
    }
}
