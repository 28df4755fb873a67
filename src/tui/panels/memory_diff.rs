//! The difference of the memory between two steps, in place of the open file.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::layout::Pane;
use crate::tui::memory_diff::{Against, DiffWish};
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::text;

pub(crate) fn draw(watch: &Watch, against: Against, rule: Rect, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let focused = watch.focus == Pane::Memory && watch.memory.in_file;
    let slot = if focused { Slot::BorderFocus } else { Slot::Border };
    let line = "─".repeat(usize::from(rule.width));
    if rule.height > 0 {
        text::put(buf, rule.x, rule.y, rule.width, &line, theme.style(slot));
    }
    let shown = watch.memory.diff.as_ref();
    let wish = shown.map_or_else(|| DiffWish::new(watch.episode, watch.cursor, against), |diff| diff.wish);
    let what = match against {
        Against::Previous | Against::Start => "",
        Against::Marked(_) => "marked ",
    };
    let mut spans = vec![Span::styled(
        format!(" {what}{} ", wish.words()),
        theme.bold(if focused { Slot::BorderFocus } else { Slot::Title }),
    )];
    if let Some(diff) = shown {
        spans.push(Span::styled(format!("+{} ", diff.counts.0), theme.bold(Slot::Added)));
        spans.push(Span::styled(format!("-{} ", diff.counts.1), theme.bold(Slot::Removed)));
        let word = if diff.files.len() == 1 { "file" } else { "files" };
        spans.push(Span::styled(
            format!("in {} {word} ", diff.files.len()),
            theme.style(Slot::Dim),
        ));
    }
    let place = Rect {
        x: rule.x + 1,
        width: rule.width.saturating_sub(2),
        ..rule
    };
    text::put_line(buf, place, 0, &Line::from(spans));
    if shown.is_none() {
        text::put_line(buf, area, 0, &Line::styled("comparing", theme.style(Slot::Dim)));
        return;
    }
    let shown = &watch.memory.diff_text;
    shown
        .document
        .draw(buf, area, shown.scroll.top, theme.style(Slot::Text));
}
