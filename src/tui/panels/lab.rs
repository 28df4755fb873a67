//! Lab: its panes as the layout says, and the line of tabs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{lab_chart, lab_gates, lab_lineage, lab_optimizations, lab_trainings};
use crate::tui::lab::LabPane;
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::trainings::Stage;
use crate::tui::view;
use crate::tui::widgets::{list, text};

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let lab = &state.lab;
    if !lab.loaded {
        text::put_line(
            buf,
            area,
            0,
            &Line::styled(" reading versions, gates and runs", theme.style(Slot::Dim)),
        );
        return;
    }
    let plan = layout::lab(state.size, lab.pane);
    if let Some(tabs) = plan.tabs {
        let all = LabPane::ALL.map(|pane| (pane, pane.title()));
        view::tabs(buf, tabs, &all, lab.pane, "", theme);
    }
    for (pane, area) in &plan.panes {
        let focused = lab.pane == *pane;
        let inner = if plan.tabs.is_some() {
            *area
        } else {
            let mut title = vec![Span::raw(pane.title())];
            title.extend(aside(state, *pane).map(|said| Span::styled(format!(" · {said}"), theme.style(Slot::Dim))));
            view::pane(buf, *area, title, focused, theme)
        };
        let rows = match pane {
            LabPane::Lineage => lab_lineage::draw(state, inner, focused, buf),
            LabPane::Chart => lab_chart::draw(state, inner, focused, buf),
            LabPane::Gates => lab_gates::draw(state, inner, focused, buf),
            LabPane::Optimizations => lab_optimizations::draw(state, inner, focused, buf),
            LabPane::Trainings => lab_trainings::draw(state, inner, focused, buf),
        };
        let mut scroll = lab.scroll(*pane);
        scroll.reveal(lab.len(*pane), rows);
        if plan.tabs.is_none() {
            list::scrollbar(buf, *area, scroll.top, lab.len(*pane), rows, theme.style(Slot::Dim));
        }
    }
}

/// What is said of a pane beside its name.
fn aside(state: &State, pane: LabPane) -> Option<String> {
    let lab = &state.lab;
    match pane {
        LabPane::Lineage => Some(format!("{} versions", lab.data.lineage.nodes.len())),
        LabPane::Chart => Some("mean ± standard error".to_owned()),
        LabPane::Gates => {
            let count = lab.data.gated().count();
            (count > 0).then(|| format!("{count}, parent against revision on the same seeds"))
        }
        LabPane::Optimizations => {
            let open = lab.data.optimizations.iter().filter(|one| !one.over).count();
            (open > 0).then(|| format!("{open} not over"))
        }
        LabPane::Trainings => {
            let running = lab.trainings.iter().filter(|one| one.stage == Stage::Running).count();
            (running > 0).then(|| format!("{running} running"))
        }
    }
}

/// Draws the visible rows of a list, the selected one marked. Gives how many rows there is room for.
pub(super) fn rows(
    state: &State,
    pane: LabPane,
    area: Rect,
    focused: bool,
    buf: &mut Buffer,
    mut line: impl FnMut(usize, usize) -> Line<'static>,
) -> usize {
    let height = usize::from(area.height);
    let len = state.lab.len(pane);
    let mut scroll = state.lab.scroll(pane);
    scroll.reveal(len, height);
    for (row, index) in (0..).zip(scroll.visible(len, height)) {
        text::put_line(buf, area, row, &line(index, usize::from(area.width)));
        if index == scroll.selected {
            let place = Rect {
                y: area.y + row,
                height: 1,
                ..area
            };
            buf.set_style(place, state.theme.selected(focused));
        }
    }
    height
}

/// A progression in per cent with its standard error.
pub(super) fn percent((mean, error): (f64, f64)) -> String {
    format!("{:.1} ± {:.1} %", mean * 100.0, error * 100.0)
}

/// What to do next, where there is nothing: lines of words.
pub(super) fn advise(state: &State, area: Rect, buf: &mut Buffer, said: &[String]) {
    let theme = &state.theme;
    let mut row = 0;
    for said in said {
        for range in text::wrap(said, usize::from(area.width.saturating_sub(2))) {
            let line = Line::styled(format!(" {}", &said[range]), theme.style(Slot::Dim));
            text::put_line(buf, area, row, &line);
            row += 1;
        }
    }
}
