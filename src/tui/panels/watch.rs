//! The watch screen: its panes as the layout says, the line of tabs, the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{actions, game, memory, scaffold, timeline};
use crate::tui::layout::{self, Pane};
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::watch::Watch;
use crate::tui::widgets::{found, text};

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let Some(watch) = state.watch.as_deref() else {
        let said = if state.opening {
            "opening…"
        } else {
            "No run is open. 1 shows the runs."
        };
        let place = layout::centred(area, text::width(said) as u16, 1);
        text::put_line(buf, place, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    };
    let plan = layout::watch(state.size, watch);
    if let Some(tabs) = plan.tabs {
        draw_tabs(watch, tabs, buf, theme);
    }
    for (pane, area) in &plan.panes {
        let title = match pane {
            Pane::Game => game::title(watch, theme),
            Pane::Memory => memory::title(watch, theme),
            Pane::Actions => actions::title(watch, theme),
            Pane::Scaffold | Pane::Timeline => scaffold::title(watch, theme),
        };
        let inner = if plan.bordered {
            view::pane(buf, *area, title, watch.focus == *pane, theme)
        } else {
            *area
        };
        match pane {
            Pane::Game => game::draw(state, watch, inner, buf),
            Pane::Memory => memory::draw(watch, inner, buf, theme),
            Pane::Actions => actions::draw(watch, inner, buf, theme),
            Pane::Scaffold | Pane::Timeline => scaffold::draw(watch, inner, buf, theme),
        }
        if let Some(search) = state.searched().filter(|_| *pane != Pane::Scaffold) {
            found::mark(buf, inner, search, theme.matched());
        }
    }
    timeline::draw(state, watch, plan.timeline, buf);
}

fn draw_tabs(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let mut spans = vec![Span::raw(" ")];
    for pane in &Pane::ALL[..4] {
        let shows = *pane == watch.pane;
        let style = match (shows, watch.focus == *pane) {
            (true, true) => theme.bold(Slot::BorderFocus),
            (true, false) => theme.bold(Slot::Title),
            _ => theme.style(Slot::Dim),
        };
        let title = if shows {
            format!("[{}] ", pane.title())
        } else {
            format!(" {}  ", pane.title())
        };
        spans.push(Span::styled(title, style));
    }
    let title = match watch.pane {
        Pane::Game => game::title(watch, theme),
        Pane::Memory => memory::title(watch, theme),
        Pane::Actions => actions::title(watch, theme),
        Pane::Scaffold | Pane::Timeline => scaffold::title(watch, theme),
    };
    let mut more: Vec<Span<'static>> = title.into_iter().skip(1).collect();
    if let Some(first) = more.first_mut() {
        first.content = first.content.trim_start_matches([' ', '·']).to_owned().into();
    }
    more.push(Span::raw(" "));
    let stop = text::put_right(buf, area, 0, &Line::from(more));
    let left = Rect {
        width: stop.saturating_sub(area.x),
        ..area
    };
    text::put_line(buf, left, 0, &Line::from(spans));
}
