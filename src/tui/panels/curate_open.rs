//! An open data selection: the banner, the list of items, the conversation of the current one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{curate_balance, review};
use crate::review::{Item, Reason};
use crate::tui::curate::{Chosen, OpenSelection};
use crate::tui::keymap::{Action, Place};
use crate::tui::layout::{self, CuratePane};
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::widgets::document::Document;
use crate::tui::widgets::{list, text};
use crate::types::Phase;

/// Columns from which an item's row says why it was selected.
const WIDE: u16 = 62;

/// Rows of items in their pane: the first one is the heading.
pub(crate) fn rows(inner: Rect) -> usize {
    usize::from(inner.height.saturating_sub(1)).max(1)
}

pub(crate) fn draw(state: &State, open: &OpenSelection, buf: &mut Buffer) {
    let theme = &state.theme;
    let plan = layout::curate(state.size, open.focus);
    banner(state, open, plan.banner, buf);
    if let Some(area) = plan.tabs {
        let all = CuratePane::ALL.map(|pane| (pane, pane.title()));
        let said = more(open, open.focus).unwrap_or_default();
        view::tabs(buf, area, &all, open.focus, &said, theme);
    }
    for (pane, area) in &plan.panes {
        let inner = if plan.tabs.is_none() {
            let mut title = vec![Span::raw(pane.title())];
            title.extend(more(open, *pane).map(|said| Span::styled(format!(" · {said}"), theme.style(Slot::Dim))));
            view::pane(buf, *area, title, open.focus == *pane, theme)
        } else {
            *area
        };
        match pane {
            CuratePane::Items => items(state, open, inner, *area, buf),
            CuratePane::Talk => {
                if plan.panes.len() > 1 && plan.tabs.is_some() {
                    rule(open, *area, buf, theme);
                }
                open.page
                    .document
                    .draw(buf, inner, open.page.scroll.top, theme.style(Slot::Text));
                if plan.tabs.is_none() {
                    let (len, height) = (open.page.document.len(), usize::from(inner.height));
                    list::scrollbar(buf, *area, open.page.scroll.top, len, height, theme.style(Slot::Border));
                }
            }
            CuratePane::Balance => {
                let lines = curate_balance::lines(open, usize::from(inner.width), state);
                let top = open.side.top.min(lines.len().saturating_sub(usize::from(inner.height)));
                for (row, line) in (0..inner.height).zip(lines.iter().skip(top)) {
                    text::put_line(buf, inner, row, line);
                }
                if plan.tabs.is_none() {
                    list::scrollbar(
                        buf,
                        *area,
                        top,
                        lines.len(),
                        usize::from(inner.height),
                        theme.style(Slot::Border),
                    );
                }
            }
        }
    }
}

/// The row between items and conversation on a narrow screen.
fn rule(open: &OpenSelection, talk: Rect, buf: &mut Buffer, theme: &Theme) {
    let row = Rect {
        y: talk.y.saturating_sub(1),
        height: 1,
        ..talk
    };
    let said = more(open, CuratePane::Talk).unwrap_or_default();
    let line = format!("── {said} {}", "─".repeat(usize::from(talk.width)));
    text::put_line(buf, row, 0, &Line::styled(line, theme.style(Slot::Border)));
}

/// What a pane's title says besides its name.
fn more(open: &OpenSelection, pane: CuratePane) -> Option<String> {
    let number = |n: usize| text::grouped(n as u64);
    Some(match pane {
        CuratePane::Items if open.filter.is_empty() => number(open.items.len()),
        CuratePane::Items => format!(
            "{} of {} · {}",
            number(open.shown.len()),
            number(open.items.len()),
            text::clean(text::head(&open.filter, 100))
        ),
        CuratePane::Talk => {
            let (at, item) = open.current()?;
            format!(
                "item {} of {} · episode {} step {} {} · seed {}",
                number(at + 1),
                number(open.items.len()),
                item.episode.0 + 1,
                item.step,
                item.phase.word(),
                item.seed
            )
        }
        CuratePane::Balance => match open.balance.warnings.len() {
            0 => return None,
            1 => "1 warning".to_owned(),
            n => format!("{n} warnings"),
        },
    })
}

/// Whether this is a gate, and how it stands: in words and in colour.
fn banner(state: &State, open: &OpenSelection, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let standing = open.standing();
    let balance = &open.balance;
    let (_, word, slot) = review::standing(standing);
    let name = if open.is_gate() {
        " GATE ".to_owned()
    } else {
        format!(" {} ", word.to_uppercase())
    };
    buf.set_style(area, theme.on(Slot::Text, Slot::Surface));
    let number = |n: u32| text::grouped(u64::from(n));
    let mut right = Vec::new();
    if open.chosen != Chosen::Current {
        let said = format!("{} selected · ", text::grouped(open.count_chosen() as u64));
        right.push(Span::styled(said, theme.bold(Slot::Human)));
    }
    if open.is_gate() {
        let (sign, slot) = match balance.is_below() {
            true => (format!(" of {}", number(balance.minimum)), Slot::Warn),
            false => (String::new(), Slot::Good),
        };
        right.push(Span::styled(
            format!("{}{sign} accepted", number(balance.accepted.count)),
            theme.bold(slot),
        ));
        right.push(Span::styled(
            format!(
                " · {} rejected · {} wait ",
                number(balance.rejected),
                number(balance.waiting)
            ),
            theme.style(Slot::Dim),
        ));
    } else if let Some((_, _, examples)) = &standing.dataset {
        right.push(Span::styled(
            format!("{} examples ", number(*examples)),
            theme.bold(Slot::Good),
        ));
    } else {
        right.push(Span::styled(
            format!(
                "{} accepted · {} rejected ",
                number(balance.accepted.count),
                number(balance.rejected)
            ),
            theme.style(Slot::Dim),
        ));
    }
    if balance.warnings.iter().any(|warning| warning.forbids) {
        right.push(Span::styled("✗ gate seed in the set ", theme.bold(Slot::Bad)));
    }
    let stop = text::put_right(buf, area, 0, &Line::from(right));
    let left = Rect {
        width: stop.saturating_sub(area.x + 1),
        ..area
    };
    let title = text::clean(text::head(&standing.title, 500)).into_owned();
    let line = Line::from(vec![
        Span::styled(name, theme.bold(slot).add_modifier(Modifier::REVERSED)),
        Span::styled(format!(" {} ", standing.id), theme.bold(Slot::Accent)),
        Span::styled(title, theme.bold(Slot::Text)),
    ]);
    text::put_line(buf, left, 0, &line);
}

fn items(state: &State, open: &OpenSelection, area: Rect, border: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let names = "    verdict    ep  step phase ops";
    let heading = if area.width >= WIDE {
        format!("{names}{}why", " ".repeat(14))
    } else {
        names.to_owned()
    };
    text::put_line(buf, area, 0, &Line::styled(heading, theme.style(Slot::Faint)));
    let body = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    let (len, height) = (open.shown.len(), usize::from(body.height));
    if len == 0 {
        let key = state.keymap.shown(Place::Selection, Action::ClearFilter);
        let said = format!("  nothing fits the filter; {key} shows all items");
        text::put_line(buf, body, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    }
    let mut scroll = open.scroll;
    scroll.reveal(len, height);
    for (y, row) in (0..).zip(scroll.visible(len, height)) {
        let at = open.shown[row] as usize;
        let Some(one) = open.items.get(at) else { continue };
        let place = Rect {
            y: body.y + y,
            height: 1,
            ..body
        };
        text::put_line(
            buf,
            place,
            0,
            &item(open, at, one, open.is_chosen(row), area.width, theme),
        );
        if row == open.scroll.selected {
            buf.set_style(place, theme.selected(open.focus == CuratePane::Items));
        }
    }
    if border != area {
        list::scrollbar(buf, border, scroll.top, len, height, theme.style(Slot::BorderFocus));
    }
}

/// What was decided on an item: sign, words, colour.
fn verdict(open: &OpenSelection, at: usize) -> (&'static str, &'static str, Slot) {
    match open.verdict(at).map(|verdict| verdict.accepted) {
        None => ("·", "waits", Slot::Warn),
        Some(true) => ("✓", "accepted", Slot::Good),
        Some(false) => match open.because(at).and_then(|(reason, _)| reason) {
            None | Some(Reason::Other) => ("✗", "rejected", Slot::Bad),
            Some(reason) => ("✗", reason.word(), Slot::Bad),
        },
    }
}

fn item(open: &OpenSelection, at: usize, item: &Item, chosen: bool, columns: u16, theme: &Theme) -> Line<'static> {
    let (sign, said, slot) = verdict(open, at);
    let phase = match item.phase {
        Phase::Log => Slot::Log,
        Phase::Plan => Slot::Plan,
    };
    let ops = match item.ops.as_slice() {
        [] => "DONE".to_owned(),
        ops => text::clean(text::head(&ops.join(" "), 200)).into_owned(),
    };
    let ops = text::pad(&ops, 16);
    let mut spans = vec![
        Span::styled(if chosen { "▐" } else { " " }, theme.bold(Slot::Human)),
        Span::styled(if item.selected { "+" } else { " " }, theme.style(Slot::Accent)),
        Span::styled(format!("{sign} {} ", text::pad(said, 10)), theme.style(slot)),
        Span::styled(
            format!("{:>3} {:>5} ", item.episode.0 + 1, item.step.0),
            theme.style(Slot::Dim),
        ),
        Span::styled(format!("{:<5} ", item.phase.word()), theme.style(phase)),
        Span::styled(ops, theme.style(Slot::Text)),
    ];
    if columns >= WIDE {
        let mut said = String::new();
        if item.alike.is_some() {
            said.push_str("≈ ");
        }
        said.push_str(text::head(&item.reason, 200));
        spans.push(Span::styled(format!(" {}", text::clean(&said)), theme.style(Slot::Dim)));
    }
    Line::from(spans)
}

/// Writes the conversation of the current item down for its width. It begins with what is trained on.
pub(crate) fn settle_talk(open: &mut OpenSelection, size: (u16, u16), theme: &Theme) {
    let area = layout::curate(size, open.focus).inner(CuratePane::Talk);
    if area.area() == 0 {
        return;
    }
    let Some((at, item)) = open.current() else {
        open.page = Default::default();
        return;
    };
    let key = Some((at, area.width, theme.key().to_owned()));
    let height = usize::from(area.height);
    if open.page.key != key {
        let columns = usize::from(area.width);
        let other = open.page.key.as_ref().is_none_or(|(before, ..)| *before != at);
        let (mut said, mut spans, target) = match open.talk(at) {
            Some(Ok(talk)) => talk.written(item, theme),
            Some(Err(why)) => {
                let why = crate::tui::inspector::text_of(&format!("✗ {why}"));
                let spans = vec![(0..why.len(), theme.bold(Slot::Bad))];
                (why, spans, 0)
            }
            None => {
                let said = "reading the conversation".to_owned();
                let spans = vec![(0..said.len(), theme.style(Slot::Dim))];
                (said, spans, 0)
            }
        };
        opinions(open, at, theme, &mut said, &mut spans);
        let here = open.talk(at).is_some();
        open.page.document = Document::new(said, spans, columns);
        open.page.target = target;
        // What is read keeps its place; what has just come begins with its target.
        open.page.key = here.then_some(key).flatten();
        if other {
            let row = open.page.document.row_of_line(target);
            open.page.scroll.top = row.saturating_sub(usize::from(height > 12));
        }
    }
    let most = open.page.document.len().saturating_sub(height);
    open.page.scroll.top = open.page.scroll.top.min(most);
}

/// What was said about the item: with its verdict, and in comments.
fn opinions(
    open: &OpenSelection,
    at: usize,
    theme: &Theme,
    said: &mut String,
    spans: &mut Vec<(std::ops::Range<usize>, ratatui::style::Style)>,
) {
    let Some(item) = open.items.get(at) else { return };
    let mut lines = Vec::new();
    if let Some((reason, comment)) = open.because(at).filter(|(_, comment)| !comment.is_empty()) {
        let word = reason.map_or("accepted", Reason::word);
        lines.push(format!("◆ {word}: {comment}"));
    }
    let about = |part: &crate::review::PartId| *part.0 == *item.id;
    let comments = open.standing().comments.iter();
    for comment in comments.filter(|comment| comment.part.as_ref().is_some_and(about)) {
        lines.push(format!("◆ {}: {}", comment.by, comment.text));
    }
    for line in lines {
        if !said.ends_with('\n') {
            said.push('\n');
        }
        let line = text::clean(text::head(&line, 2_000)).into_owned();
        let start = said.len();
        said.push_str(&line);
        spans.push((start..said.len(), theme.style(Slot::Human)));
    }
}
