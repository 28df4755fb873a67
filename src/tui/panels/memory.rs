//! The memory as of the cursor's step: its files, and the open one with what the step changed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::memory_diff;
use crate::analysis::Touches;
use crate::tui::data::{FileView, MemoryView};
use crate::tui::layout::{self, Pane};
use crate::tui::memory_diff::Change;
use crate::tui::panes::Outside;
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::paint::{self, GUTTER};
use crate::tui::widgets::tree::Node;
use crate::tui::widgets::{spark, text};
use crate::types::{OpStatus, StepNo, StepRecord};

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = vec![
        Span::raw("Memory"),
        Span::styled(format!(" · step {}", watch.cursor), theme.style(Slot::Dim)),
    ];
    if let Some(memory) = &watch.memory_shown {
        let size = memory.files.values().map(|file| file.text.len() as u64).sum();
        let count = memory.files.len();
        let word = if count == 1 { "file" } else { "files" };
        spans.push(Span::styled(format!(" · {count} {word}"), theme.style(Slot::Dim)));
        spans.push(Span::styled(format!(" {}", text::bytes(size)), theme.style(Slot::Dim)));
    }
    if !watch.memory.outside.is_empty() {
        let said = format!(" ◆ {} changed outside", watch.memory.outside.len());
        spans.push(Span::styled(said, theme.bold(Slot::Human)));
    } else if let Some(heat) = &watch.memory.heat {
        let (counted, steps) = (watch.memory.heat_upto, watch.steps());
        if counted.0 + 256 < steps.0 {
            let share = 100.0 * f64::from(counted.0) / f64::from(steps.0);
            let said = format!(" · counting {share:.0}%");
            spans.push(Span::styled(said, theme.style(Slot::Info)));
        } else {
            let growth = spark::bars(&heat.growth(None, watch.cursor, 10));
            spans.push(Span::styled(format!(" {growth}"), theme.style(Slot::Write)));
        }
    }
    spans
}

pub(crate) fn draw(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let Some(memory) = &watch.memory_shown else {
        let said = if watch.marks.is_empty() {
            "nothing is written yet"
        } else {
            "loading"
        };
        text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    };
    let rows = watch.memory.rows(memory);
    if rows.is_empty() {
        let said = [
            "The agent has no memory file yet.",
            "It makes one with CREATE or APPEND in its LOG phase.",
        ];
        for (row, line) in (0..).zip(said) {
            text::put_line(buf, area, row, &Line::styled(line, theme.style(Slot::Dim)));
        }
        return;
    }
    let (tree, rule, file_area) = layout::tree_and_text(area, rows.len());
    let focused = watch.focus == Pane::Memory;
    let visible = watch.memory.tree.visible(rows.len(), usize::from(tree.height));
    // Columns that the longest name needs: numbers give way to names, up to a point.
    let need = rows
        .iter()
        .map(|node| node.depth.min(8) * 2 + 3 + text::width(&node.name))
        .max()
        .unwrap_or(0)
        .min(usize::from(tree.width) * 45 / 100);
    for (y, index) in (0..).zip(visible) {
        let selected = index == watch.memory.tree.selected;
        let row = Rect {
            y: tree.y + y,
            height: 1,
            ..tree
        };
        node(watch, memory, &rows[index], (row, need), buf, theme);
        if selected {
            buf.set_style(row, theme.selected(focused && !watch.memory.in_file));
        }
    }
    if let Some(against) = watch.memory.against {
        memory_diff::draw(watch, against, rule, file_area, buf, theme);
        return;
    }
    let Some((path, file)) = watch
        .memory
        .open_path(memory)
        .and_then(|path| Some((path, memory.files.get(path)?)))
    else {
        return;
    };
    draw_rule(watch, path, file, rule, buf, theme);
    draw_file(watch, file, file_area, buf, theme);
}

/// One row of the tree: sign, name, lines, bytes, the step that changed it last.
fn node(watch: &Watch, memory: &MemoryView, node: &Node, (row, need): (Rect, usize), buf: &mut Buffer, theme: &Theme) {
    let indent = "  ".repeat(node.depth.min(8));
    let name = text::clean(&node.name).into_owned();
    if node.folder.is_none() && !memory.files.contains_key(&node.path) {
        missing(watch, &node.path, &format!("{indent}% {name}"), row, buf, theme);
        return;
    }
    let Some(file) = memory.files.get(&node.path).filter(|_| node.folder.is_none()) else {
        let sign = if node.folder == Some(true) { "▾" } else { "▸" };
        let line = Line::styled(format!("{indent}{sign} {name}/"), theme.bold(Slot::Heading));
        text::put_line(buf, row, 0, &line);
        return;
    };
    let outside = watch.memory.outside.get(&node.path);
    let touched = match (outside, file.touched) {
        (Some(Outside::Removed), _) => "gone◆".to_owned(),
        (Some(_), _) => "edit◆".to_owned(),
        (None, Some(step)) => format!("@{step}"),
        (None, None) => "start".to_owned(),
    };
    let room = usize::from(row.width).saturating_sub(need);
    let heat = heat_of(watch, &node.path, room.saturating_sub(13));
    let lines = if room >= 36 || (heat.is_empty() && room >= 22) {
        format!("{:>4} ln ", file.lines)
    } else {
        String::new()
    };
    let bytes = if room >= 14 {
        format!("{:>6} ", text::bytes(file.text.len() as u64))
    } else {
        String::new()
    };
    let touched_style = match outside {
        Some(_) => theme.bold(Slot::Human),
        None => touched_style(watch, file, theme),
    };
    let mut numbers = heat
        .into_iter()
        .map(|(said, slot)| Span::styled(said, theme.style(slot)))
        .collect::<Vec<_>>();
    numbers.extend([
        Span::styled(lines, theme.style(Slot::Dim)),
        Span::styled(bytes, theme.style(Slot::Dim)),
        Span::styled(text::pad_left(&touched, 5), touched_style),
        Span::raw(" "),
    ]);
    let numbers = Line::from(numbers);
    let stop = text::put_right(buf, row, 0, &numbers);
    let differs = watch.memory.diff.as_ref().filter(|_| watch.memory.against.is_some());
    let differs = differs.and_then(|diff| diff.files.get(&node.path));
    let (sign, style) = match () {
        () if outside.is_some() => ("◆", theme.bold(Slot::Human)),
        () if watch.memory.against.is_some() => match differs {
            Some(change @ Change::Added) => (change.sign(), theme.bold(Slot::Added)),
            Some(change) => (change.sign(), theme.bold(Slot::Changed)),
            None => (" ", theme.style(Slot::Dim)),
        },
        () if !file.changed.is_empty() || file.removed > 0 => ("▴", theme.bold(Slot::Write)),
        () if was_read(watch.shown.as_deref(), &node.path) => ("○", theme.bold(Slot::Read)),
        () => (" ", theme.style(Slot::Dim)),
    };
    let name_style = if sign == " " {
        theme.style(Slot::Text)
    } else {
        theme.bold(Slot::Text)
    };
    let left = Rect {
        width: stop.saturating_sub(row.x),
        ..row
    };
    let line = Line::from(vec![
        Span::styled(format!("{indent}{sign} "), style),
        Span::styled(name, name_style),
    ]);
    text::put_line(buf, left, 0, &line);
}

/// Writes and reads of a file over the steps up to the cursor, told apart by their letters, in at
/// most so many columns.
fn heat_of(watch: &Watch, path: &str, room: usize) -> Vec<(String, Slot)> {
    let columns = (room.saturating_sub(3) / 2).min(8);
    let Some(heat) = watch.memory.heat.as_ref().filter(|_| columns >= 2) else {
        return Vec::new();
    };
    let touches = heat.spark(Some(path), watch.cursor, columns);
    let most = touches
        .iter()
        .map(|touches| touches.reads.max(touches.writes))
        .max()
        .unwrap_or(0);
    let bars = |count: fn(&Touches) -> u32| {
        let numbers: Vec<u64> = touches.iter().map(|touches| count(touches).into()).collect();
        spark::bars_of(&numbers, most.into())
    };
    vec![
        (format!("w{}", bars(|touches| touches.writes)), Slot::Write),
        (format!("r{} ", bars(|touches| touches.reads)), Slot::Read),
    ]
}

/// A file that the memory does not have: gone since the step that is compared with, or new outside.
fn missing(watch: &Watch, path: &str, name: &str, row: Rect, buf: &mut Buffer, theme: &Theme) {
    let (sign, word, slot) = match watch.memory.outside.get(path) {
        Some(_) => ("◆", "new outside ", Slot::Human),
        None => (Change::Removed.sign(), "gone ", Slot::Removed),
    };
    let stop = text::put_right(buf, row, 0, &Line::styled(word, theme.style(slot)));
    let left = Rect {
        width: stop.saturating_sub(row.x),
        ..row
    };
    let line = Line::styled(name.replacen('%', sign, 1), theme.bold(slot));
    text::put_line(buf, left, 0, &line);
}

fn touched_style(watch: &Watch, file: &FileView, theme: &Theme) -> ratatui::style::Style {
    match file.touched {
        Some(step) if step == watch.cursor => theme.bold(Slot::Write),
        Some(StepNo(step)) if step + 10 > watch.cursor.0 => theme.style(Slot::Write),
        Some(_) => theme.style(Slot::Dim),
        None => theme.style(Slot::Faint),
    }
}

/// Whether the step read the file: an operation without changes that names it.
fn was_read(record: Option<&StepRecord>, path: &str) -> bool {
    record.is_some_and(|record| {
        record.ops().any(|op| {
            op.changes.is_empty()
                && matches!(op.outcome.status, OpStatus::Ok | OpStatus::Empty)
                && op.args.first().is_some_and(|arg| arg == path)
        })
    })
}

fn draw_rule(watch: &Watch, path: &str, file: &FileView, area: Rect, buf: &mut Buffer, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let focused = watch.focus == Pane::Memory && watch.memory.in_file;
    let style = if focused {
        theme.bold(Slot::BorderFocus)
    } else {
        theme.style(Slot::Border)
    };
    text::put(
        buf,
        area.x,
        area.y,
        area.width,
        &"─".repeat(usize::from(area.width)),
        style,
    );
    let mut spans = vec![Span::styled(
        format!(" {} ", text::cut_left(&text::clean(path), usize::from(area.width) / 2)),
        if focused {
            theme.bold(Slot::BorderFocus)
        } else {
            theme.bold(Slot::Title)
        },
    )];
    let added: usize = file.changed.iter().map(ExactSizeIterator::len).sum();
    if added > 0 {
        spans.push(Span::styled(format!("+{added} "), theme.bold(Slot::Added)));
    }
    if file.removed > 0 {
        spans.push(Span::styled(format!("-{} ", file.removed), theme.bold(Slot::Removed)));
    }
    let place = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    };
    text::put_line(buf, place, 0, &Line::from(spans));
    let rows = watch.memory.open.document.len();
    if let Some(heat) = &watch.memory.heat {
        let sum = heat.total(Some(path), watch.cursor);
        let growth = spark::bars(&heat.growth(Some(path), watch.cursor, 8));
        let line = Line::from(vec![
            Span::styled(format!(" {growth} "), theme.style(Slot::Write)),
            Span::styled(
                format!("{} ln · written {}× read {}× ", file.lines, sum.writes, sum.reads),
                theme.style(Slot::Dim),
            ),
        ]);
        let short = Line::styled(format!(" {growth} "), theme.style(Slot::Write));
        let room = usize::from(place.width).saturating_sub(text::width(path) + 10);
        if let Some(line) = [line, short].into_iter().find(|line| line.width() <= room) {
            text::put_right(buf, place, 0, &line);
        }
    } else if rows > 1 {
        let read = if paint::reads(area.width) > 0 {
            " · read ×"
        } else {
            ""
        };
        let line = Line::styled(format!(" {} lines, by step{read} ", file.lines), theme.style(Slot::Dim));
        if usize::from(place.width) > line.width() + text::width(path) + 14 {
            text::put_right(buf, place, 0, &line);
        }
    }
}

fn draw_file(watch: &Watch, file: &FileView, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let open = &watch.memory.open;
    if file.text.is_empty() {
        text::put_line(buf, area, 0, &Line::styled("(empty)", theme.style(Slot::Dim)));
        return;
    }
    let body = Rect {
        x: area.x + GUTTER,
        width: area.width.saturating_sub(GUTTER + paint::reads(area.width)),
        ..area
    };
    let path = watch.memory.open_path_shown();
    let known = watch
        .memory
        .blame
        .as_ref()
        .filter(|blame| blame.episode == watch.episode && Some(&*blame.path) == path);
    let base = theme.style(Slot::Text);
    open.document.draw(buf, body, open.scroll.top, base);
    for y in 0..area.height {
        let row = open.scroll.top + usize::from(y);
        if row >= open.document.len() {
            break;
        }
        let line = open.document.line_at(row);
        let changed = file.changed.iter().any(|range| range.contains(&line));
        let (sign, style) = if changed {
            ("+", theme.bold(Slot::Added))
        } else {
            (" ", theme.style(Slot::Faint))
        };
        let written = known.and_then(|blame| blame.lines.get(line)).filter(|_| !changed);
        let number = match (open.document.line_of_row(row), written) {
            (None, _) => "     ".to_owned(),
            (Some(_), _) if changed => format!("{} ", text::pad_left(&watch.cursor.to_string(), 4)),
            (Some(_), Some(line)) => match line.step {
                Some(step) => format!("{}{}", text::pad_left(&step.to_string(), 4), line.by),
                None => "start".to_owned(),
            },
            (Some(_), None) => "    ·".to_owned(),
        };
        if let Some(count) = written.map(|line| line.reads).filter(|reads| *reads > 0)
            && paint::reads(area.width) > 0
            && open.document.line_of_row(row).is_some()
        {
            let said = format!("{}×", text::bytes(count as u64));
            text::put_right(buf, area, y, &Line::styled(said, theme.style(Slot::Read)));
        }
        if changed {
            let ground = theme.color(Slot::AddedGround);
            buf.set_style(
                Rect {
                    y: area.y + y,
                    height: 1,
                    ..area
                },
                ratatui::style::Style::new().bg(ground),
            );
        }
        let line = Line::from(vec![
            Span::styled(number, theme.style(Slot::Faint)),
            Span::styled(sign, style),
        ]);
        text::put_line(buf, area, y, &line);
        let focused = watch.focus == Pane::Memory && watch.memory.in_file;
        if focused && open.document.line_at(open.scroll.selected) == open.document.line_at(row) {
            let row = Rect {
                y: area.y + y,
                height: 1,
                ..area
            };
            buf.set_style(row, theme.selected(true));
        }
    }
}
