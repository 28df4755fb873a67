//! Lists with a filter: the keys of a place, the command palette.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::layout;
use crate::tui::overlay::Picker;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::{list, text};

pub(crate) fn draw(state: &State, picker: &Picker, title: &str, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let entries = picker.matches();
    let most = area.height.saturating_sub(2);
    let place = layout::centred(
        area,
        84.min(area.width - 4),
        (entries.len() as u16 + 4).clamp(8, most.max(8)),
    );
    let inner = view::over(buf, place, title, theme);
    let filter = if picker.filter.is_empty() {
        Line::from(vec![
            Span::styled("› ", theme.bold(Slot::Accent)),
            Span::styled(picker.advice(), theme.style(Slot::Faint)),
        ])
    } else {
        Line::from(vec![
            Span::styled("› ", theme.bold(Slot::Accent)),
            Span::styled(text::clean(&picker.filter).into_owned(), theme.bold(Slot::Text)),
            Span::styled("▏", theme.style(Slot::Accent)),
        ])
    };
    text::put_line(buf, inner, 0, &filter);
    let rows = Rect {
        y: inner.y + 2,
        height: inner.height.saturating_sub(2),
        ..inner
    };
    if entries.is_empty() {
        let said = Line::styled("nothing fits; Backspace erases", theme.style(Slot::Dim));
        text::put_line(buf, rows, 0, &said);
        return;
    }
    let height = usize::from(rows.height);
    let mut scroll = picker.scroll;
    scroll.reveal(entries.len(), height);
    let mut place_before = None;
    for (y, index) in (0..).zip(scroll.visible(entries.len(), height)) {
        let entry = &entries[index];
        let row = Rect {
            y: rows.y + y,
            height: 1,
            ..rows
        };
        let group = if place_before == Some(entry.place) {
            ""
        } else {
            entry.place
        };
        place_before = Some(entry.place);
        let line = Line::from(vec![
            Span::styled(text::pad_left(&entry.keys, 15), theme.bold(Slot::Key)),
            Span::raw("  "),
            Span::styled(entry.help.clone(), theme.style(Slot::Text)),
        ]);
        let tag = Line::styled(group.to_owned(), theme.style(Slot::Faint));
        let stop = text::put_right(buf, row, 0, &tag);
        text::put_line(
            buf,
            Rect {
                width: stop.saturating_sub(row.x + 1),
                ..row
            },
            0,
            &line,
        );
        if index == scroll.selected {
            buf.set_style(row, theme.selected(true));
        }
    }
    list::scrollbar(
        buf,
        place,
        scroll.top,
        entries.len(),
        height,
        theme.style(Slot::BorderFocus),
    );
}
