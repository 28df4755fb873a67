//! The last row: a line of text being written, a message, or the keys that help now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap;
use crate::tui::overlay::{LinePrompt, Overlay};
use crate::tui::state::{Mood, State};
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

/// Draws it. Gives the place of the text cursor.
pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) -> Option<(u16, u16)> {
    let theme = &state.theme;
    buf.set_style(area, theme.on(Slot::Text, Slot::Surface));
    if let Some(Overlay::Line(line)) = state.overlays.last() {
        return Some(typed(state, line, area, buf));
    }
    if let Some(message) = &state.message {
        let (sign, slot) = match message.mood {
            Mood::Good => ("✓", Slot::Good),
            Mood::Info => ("·", Slot::Info),
            Mood::Bad => ("✗", Slot::Bad),
        };
        let line = Line::from(vec![
            Span::styled(format!(" {sign} "), theme.bold(slot)),
            Span::styled(text::clean(&message.text).into_owned(), theme.style(slot)),
        ]);
        text::put_line(buf, area, 0, &line);
        return None;
    }
    let searching = search_line(state);
    let end = match &searching {
        Some(line) => text::put_right(buf, area, 0, line),
        None => area.right(),
    };
    let room = usize::from(end.saturating_sub(area.x + 1));
    text::put_line(
        buf,
        Rect {
            width: room as u16,
            ..area
        },
        0,
        &hint_line(state, room),
    );
    None
}

/// Keys and labels, as many as fit; the help is always among them.
pub(crate) fn hint_line(state: &State, room: usize) -> Line<'static> {
    let theme = &state.theme;
    let hints = keymap::hints(&state.places(), state);
    let wide = |(keys, label): &(String, &'static str)| text::width(keys) + text::width(label) + 3;
    // What must stay is counted first; it is shown last.
    let (must, may): (Vec<_>, Vec<_>) = hints.into_iter().partition(|(_, label)| *label == "keys");
    let mut left = room.saturating_sub(1 + must.iter().map(&wide).sum::<usize>());
    let mut shown = Vec::new();
    for hint in may {
        if wide(&hint) > left {
            break;
        }
        left -= wide(&hint);
        shown.push(hint);
    }
    shown.extend(must);
    let mut spans = vec![Span::raw(" ")];
    for (keys, label) in shown {
        spans.push(Span::styled(keys, theme.bold(Slot::Key)));
        spans.push(Span::styled(format!(" {label}  "), theme.style(Slot::Dim)));
    }
    Line::from(spans)
}

fn search_line(state: &State) -> Option<Line<'static>> {
    let search = &state.watch.as_ref()?.search;
    if search.text.is_empty() || state.screen != keymap::Screen::Watch {
        return None;
    }
    let theme = &state.theme;
    let said = match (search.progress, search.at) {
        (Some((_, 0)), _) => "searching".to_owned(),
        (Some((done, all)), _) => format!("searching {:.0}%", 100.0 * done as f64 / all as f64),
        (None, Some(at)) => format!("{} of {}", at + 1, search.hits.len()),
        (None, None) => format!("{} found", search.hits.len()),
    };
    let words = text::clean(text::cut(&search.text, 20).as_ref()).into_owned();
    Some(Line::from(vec![
        Span::styled(format!(" /{words} "), theme.style(Slot::Accent)),
        Span::styled(format!("{said} "), theme.bold(Slot::Text)),
    ]))
}

fn typed(state: &State, line: &LinePrompt, area: Rect, buf: &mut Buffer) -> (u16, u16) {
    let theme = &state.theme;
    let label = format!(" {}: ", line.label());
    let x = text::put(buf, area.x, area.y, area.width, &label, theme.bold(Slot::Accent));
    let room = usize::from(area.right().saturating_sub(x + 1));
    let cleaned = text::clean(&line.text);
    let shown = text::cut_left(&cleaned, room);
    let x = text::put(buf, x, area.y, area.right() - x, &shown, theme.style(Slot::Text));
    (x.min(area.right() - 1), area.y)
}
