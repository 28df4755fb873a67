//! A question that is answered with a key.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::Place;
use crate::tui::layout;
use crate::tui::overlay::Confirm;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

pub(crate) fn draw(state: &State, confirm: &Confirm, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let (question, details) = confirm.text();
    let height = details.len() as u16 + 5;
    let place = layout::centred(area, 72.min(area.width - 2), height.max(8));
    let inner = view::over(buf, place, "Question", theme);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    let question = text::clean(&question).into_owned();
    text::put_line(buf, inner, 0, &Line::styled(question, theme.bold(Slot::Warn)));
    let wide = usize::from(inner.width);
    for (row, detail) in (1..).zip(&details) {
        let detail = text::clean(detail);
        let said = if text::width(&detail) > wide {
            text::cut_left(&detail, wide).into_owned()
        } else {
            detail.into_owned()
        };
        text::put_line(buf, inner, row, &Line::styled(said, theme.style(Slot::Text)));
    }
    let mut spans = Vec::new();
    for (action, means) in confirm.answers() {
        let key = state.keymap.shown(Place::Confirm, action);
        spans.push(Span::styled(key, theme.bold(Slot::Key)));
        spans.push(Span::styled(format!(" {means}    "), theme.style(Slot::Dim)));
    }
    let row = (details.len() as u16 + 2).max(4);
    text::put_line(buf, inner, row, &Line::from(spans));
}
