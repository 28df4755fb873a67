//! Metrics, findings and faults, over the right part of the watch screen; the timeline stays in sight.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::analysis::{Metrics, Place, ROWS, Severity};
use crate::tui::insight::{InsightPanel, InsightView, Item, Tab};
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::watch::Watch;
use crate::tui::widgets::{list, text};

/// Columns of the panel at most.
const WIDE: u16 = 96;
/// Columns of a label of the numbers.
const LABEL: usize = 33;
/// Columns of a number.
const NUMBER: usize = 12;
/// Rows of the list at most, where it has to share.
const LIST: usize = 10;

/// Where the panel stands.
fn place(size: (u16, u16)) -> Rect {
    let body = layout::frame(size).body;
    let timeline = if size.1 >= 30 { 2 } else { 1 };
    let width = body.width.min(WIDE);
    Rect {
        x: body.right() - width,
        width,
        height: body.height.saturating_sub(timeline),
        ..body
    }
}

/// Rows of the list of findings and faults.
pub(crate) fn list_rows(size: (u16, u16), count: usize) -> usize {
    let inner = usize::from(layout::shrink(place(size)).height);
    count.clamp(1, LIST.min(inner / 2))
}

/// How many rows the numbers have, and how many of them show.
pub(crate) fn number_rows(size: (u16, u16)) -> (usize, usize) {
    let inner = usize::from(layout::shrink(place(size)).height);
    (ROWS.len(), inner.saturating_sub(2))
}

/// Draws it.
pub(crate) fn draw(state: &State, panel: &InsightPanel, _: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let Some(watch) = state.watch.as_deref() else { return };
    let area = place(state.size);
    let inner = view::over(buf, area, &title(watch, panel), theme);
    let Some(known) = watch.insight.known.as_deref() else {
        let said = match (&watch.insight.failed, watch.insight.progress) {
            (Some(failed), _) => text::clean(failed).into_owned(),
            (None, Some((done, total))) if total > 0 => format!("measuring the run: {done} of {total} steps"),
            _ => "measuring the run…".to_owned(),
        };
        paragraph(buf, inner, 0, &said, theme.style(Slot::Dim));
        return;
    };
    match panel.tab {
        Tab::Findings => findings(known, panel, area, inner, state, buf),
        Tab::Numbers => numbers(watch, known, panel, area, inner, state, buf),
    }
}

fn title(watch: &Watch, panel: &InsightPanel) -> String {
    let count = watch.insight.known.as_ref().map_or(0, |view| view.len());
    let tabs = match panel.tab {
        Tab::Findings => format!("[Findings {count}] Numbers"),
        Tab::Numbers => format!("Findings {count} [Numbers]"),
    };
    match watch.insight.progress {
        Some((done, total)) if total > 0 => format!("{tabs} · measuring {} %", done * 100 / total),
        Some(_) if watch.insight.known.is_none() => format!("{tabs} · measuring"),
        _ => tabs,
    }
}

fn findings(known: &InsightView, panel: &InsightPanel, area: Rect, inner: Rect, state: &State, buf: &mut Buffer) {
    let theme = &state.theme;
    let count = known.len();
    if count == 0 {
        paragraph(
            buf,
            inner,
            0,
            "no rule found anything, and nothing failed",
            theme.style(Slot::Good),
        );
        return;
    }
    let rows = list_rows(state.size, count);
    let mut scroll = panel.list;
    scroll.reveal(count, rows);
    for (row, at) in (0..).zip(scroll.visible(count, rows)) {
        let Some(item) = known.item(at) else { continue };
        let (word, slot, title) = heading(item);
        let line = Line::from(vec![
            Span::styled(text::pad(word, 18), theme.bold(slot)),
            Span::styled(text::clean(title).into_owned(), theme.style(Slot::Text)),
        ]);
        text::put_line(buf, inner, row, &line);
        if at == scroll.selected {
            let row = Rect {
                y: inner.y + row,
                height: 1,
                ..inner
            };
            buf.set_style(row, theme.selected(true));
        }
    }
    list::scrollbar(buf, area, scroll.top, count, rows, theme.style(Slot::BorderFocus));
    if let Some(item) = known.item(scroll.selected) {
        let rows = rows as u16 + 1;
        let below = Rect {
            y: inner.y + rows,
            height: inner.height.saturating_sub(rows),
            ..inner
        };
        details(item, panel, below, theme, buf);
    }
}

/// How much it matters, in a word and a colour, and what it is.
fn heading<'a>(item: Item<'a>) -> (&'static str, Slot, &'a str) {
    match item {
        Item::Finding(finding) => {
            let slot = match finding.severity {
                Severity::High => Slot::Bad,
                Severity::Medium => Slot::Warn,
                Severity::Low => Slot::Dim,
            };
            (finding.severity.word(), slot, &finding.title)
        }
        Item::Fault(fault) => (fault.verdict.word(), Slot::Accent, &fault.title),
    }
}

fn details(item: Item<'_>, panel: &InsightPanel, area: Rect, theme: &Theme, buf: &mut Buffer) {
    let (_, slot, title) = heading(item);
    let mut row = paragraph(buf, area, 0, &text::clean(title), theme.bold(slot));
    let (detail, advice) = match item {
        Item::Finding(finding) => (finding.detail.as_str(), finding.advice.as_str()),
        Item::Fault(fault) => ("", fault.advice.as_str()),
    };
    row = paragraph(buf, area, row, &text::clean(detail), theme.style(Slot::Text));
    let steps = item.steps();
    let here = panel.at.and_then(|at| steps.get(at));
    match item {
        Item::Finding(_) => {
            let mut spans = vec![Span::styled("steps ", theme.style(Slot::Dim))];
            spans.extend(steps.iter().enumerate().map(|(at, step)| {
                let style = match panel.at == Some(at) {
                    true => theme.bold(Slot::Accent),
                    false => theme.style(Slot::Text),
                };
                Span::styled(format!("{} ", number(*step)), style)
            }));
            if row < area.height && !steps.is_empty() {
                text::put_line(buf, area, row, &Line::from(spans));
                row += 1;
            }
        }
        Item::Fault(fault) => {
            for link in &fault.chain {
                let style = match here == Some(&link.place) {
                    true => theme.bold(Slot::Accent),
                    false => theme.style(Slot::Text),
                };
                let said = format!("{} {}", text::pad_left(&number(link.place), 6), text::clean(&link.text));
                row = paragraph(buf, area, row, &said, style);
            }
        }
    }
    paragraph(
        buf,
        area,
        row,
        &format!("try: {}", text::clean(advice)),
        theme.style(Slot::Info),
    );
}

/// A step, with its episode where that is not the first.
fn number(place: Place) -> String {
    match place.episode.0 {
        0 => place.step.to_string(),
        episode => format!("{episode}:{}", place.step),
    }
}

fn numbers(
    watch: &Watch,
    known: &InsightView,
    panel: &InsightPanel,
    area: Rect,
    inner: Rect,
    state: &State,
    buf: &mut Buffer,
) {
    let theme = &state.theme;
    let here = known.course.at(watch.cursor).filter(|_| known.episode == watch.episode);
    let head = Line::from(vec![
        Span::styled(text::pad("", LABEL), theme.style(Slot::Dim)),
        Span::styled(
            text::pad_left(
                &here.map_or("-".to_owned(), |(step, _)| format!("to step {step}")),
                NUMBER,
            ),
            theme.bold(Slot::Title),
        ),
        Span::styled(text::pad_left("whole run", NUMBER), theme.bold(Slot::Title)),
        Span::styled("  paper: v0 to evolved", theme.style(Slot::Dim)),
    ]);
    text::put_line(buf, inner, 0, &head);
    let (count, rows) = number_rows(state.size);
    let rows_area = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let run = &known.analysis.metrics.metrics;
    for (row, at) in (0..).zip(panel.numbers.visible(count, rows)) {
        let Some(number) = ROWS.get(at) else { continue };
        let show = |metrics: Option<&Metrics>| number.unit.show(metrics.and_then(number.get));
        let line = Line::from(vec![
            Span::styled(text::pad(number.label, LABEL), theme.style(Slot::Text)),
            Span::styled(
                text::pad_left(&show(here.map(|(_, m)| m)), NUMBER),
                theme.bold(Slot::Text),
            ),
            Span::styled(text::pad_left(&show(Some(run)), NUMBER), theme.style(Slot::Text)),
            Span::styled(format!("  {}", number.paper), theme.style(Slot::Dim)),
        ]);
        text::put_line(buf, rows_area, row, &line);
    }
    list::scrollbar(
        buf,
        area,
        panel.numbers.top,
        count,
        rows,
        theme.style(Slot::BorderFocus),
    );
}

/// Writes a text over as many rows as it needs; gives the row after it.
fn paragraph(buf: &mut Buffer, area: Rect, mut row: u16, said: &str, style: Style) -> u16 {
    if said.is_empty() {
        return row;
    }
    for range in text::wrap(said, usize::from(area.width)) {
        if row >= area.height {
            break;
        }
        text::put(buf, area.x, area.y + row, area.width, &said[range], style);
        row += 1;
    }
    row
}
