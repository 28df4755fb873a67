//! A question that is answered with yes or no.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::layout;
use crate::tui::overlay::Confirm;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

pub(crate) fn draw(state: &State, confirm: Confirm, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let (question, details) = confirm.text();
    let place = layout::centred(area, 72.min(area.width - 2), 8);
    let inner = view::over(buf, place, "Question", theme);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    text::put_line(buf, inner, 0, &Line::styled(question, theme.bold(Slot::Warn)));
    for (row, detail) in (1..).zip(details) {
        text::put_line(buf, inner, row, &Line::styled(detail, theme.style(Slot::Text)));
    }
    let answers = Line::from(vec![
        Span::styled("y", theme.bold(Slot::Key)),
        Span::styled(" stop it and quit    ", theme.style(Slot::Dim)),
        Span::styled("n", theme.bold(Slot::Key)),
        Span::styled(" stay here", theme.style(Slot::Dim)),
    ]);
    text::put_line(buf, inner, 4, &answers);
}
