//! Draws the whole screen from the state: a pure function into a buffer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::keymap::Screen;
use super::layout::{self, LEAST};
use super::overlay::Overlay;
use super::panels;
use super::state::State;
use super::theme::{Slot, Theme};
use super::widgets::text;

/// Draws everything. Gives the place of the text cursor, where something is typed.
pub(crate) fn draw(state: &State, buf: &mut Buffer) -> Option<(u16, u16)> {
    let area = buf.area;
    buf.set_style(area, state.theme.base());
    if layout::too_small((area.width, area.height)) {
        too_small(state, area, buf);
        return None;
    }
    let frame = layout::frame((area.width, area.height));
    panels::header::draw(state, frame.header, buf);
    match state.screen {
        Screen::Runs => panels::runs::draw(state, frame.body, buf),
        Screen::Watch => panels::watch::draw(state, frame.body, buf),
        Screen::Lab => panels::lab::draw(state, frame.body, buf),
        Screen::Review => panels::review::draw(state, frame.body, buf),
        Screen::Curate => panels::curate::draw(state, frame.body, buf),
    }
    for overlay in &state.overlays {
        match overlay {
            Overlay::Help(picker) => panels::picker::draw(state, picker, "Keys of this place", frame.body, buf),
            Overlay::Palette(picker) => panels::picker::draw(state, picker, "Command", frame.body, buf),
            Overlay::Steps(title, picker) => panels::picker::draw(state, picker, title, frame.body, buf),
            Overlay::Inspector(inspector) => panels::inspector::draw(state, inspector, frame.body, buf),
            Overlay::Form(form) => panels::form::draw(state, form, frame.body, buf),
            Overlay::Optimize(form) => panels::form::draw_optimize(state, form, frame.body, buf),
            Overlay::Select(form) => panels::form::draw_select(state, form, frame.body, buf),
            Overlay::Columns(selected) => panels::form::draw_columns(state, *selected, frame.body, buf),
            Overlay::Confirm(confirm) => panels::confirm::draw(state, confirm, frame.body, buf),
            Overlay::Specialists(picker) => panels::picker::draw(state, picker, "Memory specialist", frame.body, buf),
            Overlay::Files(picker) => panels::picker::draw(state, picker, "Edit a memory file", frame.body, buf),
            Overlay::TakeOver(panel) => panels::take_over::draw(state, panel, buf),
            Overlay::Insight(panel) => panels::insight::draw(state, panel, frame.body, buf),
            Overlay::Reasons(picker) => panels::picker::draw(state, picker, "Reject, because it is …", frame.body, buf),
            Overlay::Seal(seal) => panels::seal::draw(state, seal, frame.body, buf),
            Overlay::Line(_) => {}
        }
    }
    panels::hints::draw(state, frame.hints, buf)
}

fn too_small(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let lines = [
        (
            format!("automem needs {}x{} characters;", LEAST.0, LEAST.1),
            theme.bold(Slot::Warn),
        ),
        (
            format!("this terminal has {}x{}.", area.width, area.height),
            theme.style(Slot::Text),
        ),
        ("Make it larger, or q quits.".to_owned(), theme.style(Slot::Dim)),
    ];
    let top = area.y + area.height.saturating_sub(lines.len() as u16) / 2;
    for (row, (line, style)) in (0..).zip(lines) {
        if top + row >= area.bottom() {
            break;
        }
        let x = area.x + (area.width.saturating_sub(text::width(&line) as u16)) / 2;
        text::put(buf, x, top + row, area.right() - x, &line, style);
    }
}

/// A pane's border with its title. Gives its inside.
pub(crate) fn pane(buf: &mut Buffer, area: Rect, title: Vec<Span<'static>>, focused: bool, theme: &Theme) -> Rect {
    let (border, name) = if focused {
        (theme.bold(Slot::BorderFocus), theme.bold(Slot::BorderFocus))
    } else {
        (theme.style(Slot::Border), theme.style(Slot::Title))
    };
    let mut spans = vec![Span::styled(" ", name)];
    let mut left = usize::from(area.width).saturating_sub(6);
    for (index, span) in title.into_iter().enumerate() {
        // What does not fit as a whole is left out, except the name.
        if index > 0 && span.width() > left {
            break;
        }
        left = left.saturating_sub(span.width());
        let style = if index == 0 { name.patch(span.style) } else { span.style };
        spans.push(Span::styled(span.content, style));
    }
    spans.push(Span::styled(" ", name));
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(border)
        .render(area, buf);
    let room = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(4),
        height: area.height.min(1),
        ..area
    };
    let line = Line::from(spans);
    let wide = (line.width() as u16).min(room.width);
    text::put_line(buf, Rect { width: wide, ..room }, 0, &line);
    layout::shrink(area)
}

/// The line of tabs where only one pane shows, and at its right what is said of that one.
pub(crate) fn tabs<P: PartialEq + Copy>(
    buf: &mut Buffer,
    area: Rect,
    all: &[(P, &'static str)],
    focus: P,
    said: &str,
    theme: &Theme,
) {
    let mut spans = vec![Span::raw(" ")];
    for (pane, title) in all {
        let (title, style) = if *pane == focus {
            (format!("[{title}] "), theme.bold(Slot::BorderFocus))
        } else {
            (format!(" {title}  "), theme.style(Slot::Dim))
        };
        spans.push(Span::styled(title, style));
    }
    let tabs = Line::from(spans);
    let room = usize::from(area.width).saturating_sub(tabs.width() + 2);
    if !said.is_empty() && room > 4 {
        let said = Line::styled(format!("{} ", text::cut(said, room)), theme.style(Slot::Dim));
        text::put_right(buf, area, 0, &said);
    }
    text::put_line(buf, area, 0, &tabs);
}

/// Something that lies over the screen: cleared, bordered, titled. Gives its inside.
pub(crate) fn over(buf: &mut Buffer, area: Rect, title: &str, theme: &Theme) -> Rect {
    Clear.render(area, buf);
    buf.set_style(area, theme.on(Slot::Text, Slot::Overlay));
    pane(buf, area, vec![Span::raw(title.to_owned())], true, theme)
}
