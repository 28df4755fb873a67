//! The list of proposals: what waits first; what was rejected, stale or promoted stays in sight.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::review::{gate_in_short, standing};
use super::runs::when;
use crate::review::Standing;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::widgets::{list, text};

/// Columns of state, name, hunks, gate, author, time.
const WIDTHS: [usize; 6] = [14, 5, 9, 16, 22, 11];

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let review = &state.review;
    let title = vec![
        Span::raw("Review"),
        Span::styled(
            format!(
                " · {} in all · waiting for you: {}",
                review.list.len(),
                review.waiting()
            ),
            theme.style(Slot::Dim),
        ),
    ];
    let inner = view::pane(buf, area, title, true, theme);
    let widths = widths(usize::from(inner.width));
    let names = ["state", "id", "decided", "gate", "author", "made"];
    let faint = theme.style(Slot::Faint);
    let heading = names.map(|name| (name.to_owned(), faint));
    put(
        buf,
        Rect { height: 1, ..inner },
        &widths,
        heading,
        ("title".to_owned(), faint),
    );
    let rows = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let height = usize::from(rows.height);
    let mut scroll = review.scroll;
    scroll.reveal(review.list.len(), height);
    for (y, index) in (0..).zip(scroll.visible(review.list.len(), height)) {
        let row = Rect {
            y: rows.y + y,
            height: 1,
            ..rows
        };
        draw_row(&review.list[index], &widths, row, buf, theme);
        if index == review.scroll.selected {
            buf.set_style(row, theme.selected(true));
        }
    }
    list::scrollbar(
        buf,
        area,
        scroll.top,
        review.list.len(),
        height,
        theme.style(Slot::BorderFocus),
    );
}

/// The columns that fit: what says least goes first.
fn widths(columns: usize) -> [usize; 6] {
    let mut widths = WIDTHS;
    for least in [4, 5, 2] {
        let used: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
        if used + 28 > columns {
            widths[least] = 0;
        }
    }
    widths
}

fn draw_row(proposal: &Standing, widths: &[usize; 6], area: Rect, buf: &mut Buffer, theme: &Theme) {
    let (sign, word, slot) = standing(proposal);
    let style = if proposal.waits() {
        theme.bold(slot)
    } else {
        theme.style(slot)
    };
    let dim = theme.style(Slot::Dim);
    let decided = format!("{}/{}", proposal.parts.len() - proposal.waiting(), proposal.parts.len());
    let cells = [
        (format!("{sign} {word}"), style),
        (proposal.id.to_string(), theme.style(Slot::Accent)),
        (decided, dim),
        (gate_in_short(proposal), dim),
        (proposal.author.clone(), dim),
        (when(&proposal.created), dim),
    ];
    let title = if proposal.waits() {
        theme.bold(Slot::Text)
    } else {
        theme.style(Slot::Text)
    };
    put(buf, area, widths, cells, (proposal.title.clone(), title));
}

/// The cells, and the title in the room that is left: after the third.
fn put(buf: &mut Buffer, area: Rect, widths: &[usize; 6], cells: [(String, Style); 6], title: (String, Style)) {
    let used: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
    let room = usize::from(area.width).saturating_sub(used + 2);
    let mut line = vec![Span::raw(" ")];
    for (at, ((said, style), width)) in cells.into_iter().zip(widths).enumerate() {
        if at == 3 {
            let said = text::clean(text::head(&title.0, 500)).into_owned();
            line.push(Span::styled(format!("{} ", text::pad(&said, room)), title.1));
        }
        if *width > 0 {
            let said = text::clean(text::head(&said, 200)).into_owned();
            line.push(Span::styled(format!("{} ", text::pad(&said, *width)), style));
        }
    }
    text::put_line(buf, area, 0, &Line::from(line));
}
