//! The scaffold of the run: its files and the open one, or the difference to another scaffold.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::data::{DiffLine, ScaffoldDiff};
use crate::tui::jobs::PENDING;
use crate::tui::layout::{self, Pane};
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::text;

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    let scaffold = &watch.meta.scaffold;
    let name = text::clean(&scaffold.name).into_owned();
    let more = match &watch.scaffold.diff {
        Some(diff) if diff.against.starts_with(PENDING) => format!(" · {name} → {}", text::clean(&diff.against)),
        Some(diff) => format!(" · {name} against {}", text::clean(&diff.against)),
        None => format!(" · {name} {}", text::clean(&scaffold.version)),
    };
    vec![Span::raw("Scaffold"), Span::styled(more, theme.style(Slot::Dim))]
}

pub(crate) fn draw(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    match &watch.scaffold.diff {
        Some(diff) => draw_diff(diff, watch.scaffold.diff_scroll.top, area, buf, theme),
        None => draw_files(watch, area, buf, theme),
    }
}

fn draw_files(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let pane = &watch.scaffold;
    let files = &watch.meta.scaffold.files;
    let rows = pane.rows(files);
    if rows.is_empty() {
        let said = "The run keeps no scaffold files.";
        text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    }
    let (tree, rule, body) = layout::tree_and_text(area, rows.len());
    let focused = watch.focus == Pane::Scaffold;
    for (y, index) in (0..).zip(pane.tree.visible(rows.len(), usize::from(tree.height))) {
        let node = &rows[index];
        let row = Rect {
            y: tree.y + y,
            height: 1,
            ..tree
        };
        let indent = "  ".repeat(node.depth.min(8));
        let name = text::clean(&node.name).into_owned();
        let line = match node.folder {
            Some(open) => {
                let sign = if open { "▾" } else { "▸" };
                Line::styled(format!("{indent}{sign} {name}/"), theme.bold(Slot::Heading))
            }
            None => {
                let opened = pane.path.as_deref() == Some(&node.path);
                let style = if opened {
                    theme.bold(Slot::Text)
                } else {
                    theme.style(Slot::Text)
                };
                Line::styled(format!("{indent}  {name}"), style)
            }
        };
        if let Some(size) = files.get(&node.path).map(String::len) {
            let size = Line::styled(format!("{} ", text::bytes(size as u64)), theme.style(Slot::Dim));
            text::put_right(buf, row, 0, &size);
        }
        let left = Rect {
            width: row.width.saturating_sub(8),
            ..row
        };
        text::put_line(buf, left, 0, &line);
        if index == pane.tree.selected {
            buf.set_style(row, theme.selected(focused && !pane.in_file));
        }
    }
    let Some(path) = &pane.path else {
        return;
    };
    if rule.height > 0 {
        let strong = focused && pane.in_file;
        let style = if strong {
            theme.bold(Slot::BorderFocus)
        } else {
            theme.style(Slot::Border)
        };
        text::put(
            buf,
            rule.x,
            rule.y,
            rule.width,
            &"─".repeat(usize::from(rule.width)),
            style,
        );
        let style = if strong {
            theme.bold(Slot::BorderFocus)
        } else {
            theme.bold(Slot::Title)
        };
        let name = format!(" {} ", text::clean(path));
        text::put(buf, rule.x + 1, rule.y, rule.width.saturating_sub(2), &name, style);
        let rows = pane.open.document.len();
        if rows > usize::from(body.height) {
            let bottom = (pane.open.scroll.top + usize::from(body.height)).min(rows);
            let said = Line::styled(format!(" {}% ", bottom * 100 / rows), theme.style(Slot::Dim));
            let place = Rect {
                width: rule.width.saturating_sub(1),
                ..rule
            };
            text::put_right(buf, place, 0, &said);
        }
    }
    let text_area = Rect {
        x: body.x + 1,
        width: body.width.saturating_sub(1),
        ..body
    };
    pane.open
        .document
        .draw(buf, text_area, pane.open.scroll.top, theme.style(Slot::Text));
}

fn draw_diff(diff: &ScaffoldDiff, top: usize, area: Rect, buf: &mut Buffer, theme: &Theme) {
    if diff.lines.is_empty() {
        let said = format!("No difference to {}.", text::clean(&diff.against));
        text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    }
    for (y, line) in (0..area.height).zip(diff.lines.iter().skip(top)) {
        let row = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        let plain = Style::new();
        let (sign, said, style, ground) = match line {
            DiffLine::File(path) => ("", path, theme.bold(Slot::Heading), plain),
            DiffLine::Gap => {
                text::put_line(buf, row, 0, &Line::styled("  ⋯", theme.style(Slot::Faint)));
                continue;
            }
            DiffLine::Same(said) => ("  ", said, theme.style(Slot::Dim), plain),
            DiffLine::Added(said) => (
                "+ ",
                said,
                theme.style(Slot::Added),
                plain.bg(theme.color(Slot::AddedGround)),
            ),
            DiffLine::Removed(said) => (
                "- ",
                said,
                theme.style(Slot::Removed),
                plain.bg(theme.color(Slot::RemovedGround)),
            ),
        };
        buf.set_style(row, ground);
        let said = text::clean(text::head(said, 2000));
        text::put_line(buf, row, 0, &Line::styled(format!("{sign}{said}"), style));
    }
}
