//! A summary before something that counts: it is confirmed with a key of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, Place};
use crate::tui::layout;
use crate::tui::overlay::Seal;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

pub(crate) fn draw(state: &State, seal: &Seal, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let wide = 76.min(area.width - 2);
    let columns = usize::from(wide.saturating_sub(4));
    let mut lines = vec![Line::styled(
        text::cut(&text::clean(&seal.question), columns).into_owned(),
        theme.bold(Slot::Warn),
    )];
    for detail in seal.details.iter().filter(|detail| !detail.is_empty()) {
        let detail = text::clean(text::head(detail, 1_000)).into_owned();
        let rows = text::wrap(&detail, columns).into_iter().take(4);
        lines.extend(rows.map(|row| Line::styled(detail[row].to_owned(), theme.style(Slot::Text))));
    }
    lines.push(Line::default());
    let key = |action| state.keymap.shown(Place::Seal, action);
    lines.push(Line::from(vec![
        Span::styled(key(Action::Seal), theme.bold(Slot::Key)),
        Span::styled(format!(" {}    ", seal.means), theme.style(Slot::Text)),
        Span::styled(key(Action::No), theme.bold(Slot::Key)),
        Span::styled(" not yet", theme.style(Slot::Dim)),
    ]));
    let place = layout::centred(area, wide, lines.len() as u16 + 2);
    let inner = view::over(buf, place, "Summary", theme);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    for (row, line) in (0..).zip(&lines) {
        text::put_line(buf, inner, row, line);
    }
}
