//! The stream of actions: turns, memory operations, actions, rewards, notices, over all steps.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::tui::layout::Pane;
use crate::tui::state::Mood;
use crate::tui::stream::{self, Placed, Row};
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::text;
use crate::types::{ActionBy, Author, LiveTurn, MemoryOp, OpStatus, Phase, Role, StepNo, Turn};

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw("Actions")];
    if let Some(mark) = watch.mark(watch.cursor) {
        let action = text::clean(&mark.action).into_owned();
        spans.push(Span::styled(
            format!(" · {} {action}", watch.cursor),
            theme.style(Slot::Dim),
        ));
    }
    spans
}

pub(crate) fn draw(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let (rows, selected) = stream::visible(watch, usize::from(area.height));
    let digits = watch.end().0.max(99).to_string().len();
    let focused = watch.focus == Pane::Actions;
    let mut last: Option<StepNo> = None;
    for (y, placed) in (0..area.height).zip(&rows) {
        let row = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        let here = placed.step == watch.cursor;
        let first = last != Some(placed.step);
        last = Some(placed.step);
        draw_row(placed, first, here, digits, row, buf, theme);
        if usize::from(y) == selected {
            buf.set_style(row, theme.selected(focused));
        }
    }
}

fn draw_row(placed: &Placed<'_>, first: bool, here: bool, digits: usize, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let bar = if here {
        Span::styled("▌", theme.style(Slot::Accent))
    } else {
        Span::raw(" ")
    };
    let number = if first { placed.step.to_string() } else { String::new() };
    let number_style = if here {
        theme.bold(Slot::Text)
    } else {
        theme.style(Slot::Dim)
    };
    let phase = match placed.phase {
        Some(phase) => Span::styled(text::pad(phase.word(), 5), theme.bold(phase_slot(phase))),
        None => Span::raw("     "),
    };
    let lead = Line::from(vec![
        bar,
        Span::styled(text::pad_left(&number, digits), number_style),
        Span::raw(" "),
        phase,
    ]);
    let used = (lead.width() as u16).min(area.width);
    text::put_line(buf, area, 0, &lead);
    let rest = Rect {
        x: area.x + used,
        width: area.width - used,
        ..area
    };
    let (left, right) = content(&placed.row, rest.width, theme);
    let stop = if right.width() == 0 {
        area.right()
    } else {
        text::put_right(buf, rest, 0, &right)
    };
    let left_area = Rect {
        width: stop.saturating_sub(rest.x + u16::from(right.width() > 0)),
        ..rest
    };
    text::put_line(buf, left_area, 0, &left);
}

fn phase_slot(phase: Phase) -> Slot {
    match phase {
        Phase::Log => Slot::Log,
        Phase::Plan => Slot::Plan,
    }
}

/// What a row says, and what stands at its right end.
fn content(row: &Row<'_>, columns: u16, theme: &Theme) -> (Line<'static>, Line<'static>) {
    match row {
        Row::Turn(turn) => turn_line(turn, columns, theme),
        Row::Op(op) => op_line(op, theme),
        Row::Action {
            raw,
            validated,
            repaired,
            by,
            outcome,
        } => {
            let action = text::clean(text::head(validated, 200)).into_owned();
            let mut left = vec![
                Span::styled("ACTION ", theme.bold(Slot::Action)),
                Span::styled(action, theme.bold(Slot::Text)),
            ];
            if *repaired {
                let raw = text::clean(text::head(raw, 200)).into_owned();
                left.push(Span::styled(format!(" from `{raw}`"), theme.style(Slot::Dim)));
            }
            let right = match (by, outcome) {
                (ActionBy::Fallback, _) => Span::styled("✗ fallback", theme.bold(Slot::Invalid)),
                (ActionBy::Human, _) => Span::styled("◆ by a person", theme.bold(Slot::Human)),
                (ActionBy::Scaffold, _) => Span::styled("by the scaffold", theme.style(Slot::Warn)),
                (ActionBy::Model, Some(_)) => Span::styled("ok", theme.style(Slot::Good)),
                (ActionBy::Model, None) => Span::styled("…", theme.style(Slot::Dim)),
            };
            (Line::from(left), Line::from(right))
        }
        Row::Reward(outcome) => {
            let (sign, slot) = if outcome.reward > 0.0 {
                ("★", Slot::Reward)
            } else {
                ("▾", Slot::Bad)
            };
            let left = Line::styled(format!("{sign} {:+.1}", outcome.reward), theme.bold(slot));
            let right = Line::styled(
                format!("progress {:.0}%", outcome.progression * 100.0),
                theme.style(Slot::Dim),
            );
            (left, right)
        }
        Row::Notice(mood, said) => {
            let (sign, slot) = match mood {
                Mood::Good => ("✓", Slot::Good),
                Mood::Info => ("·", Slot::Info),
                Mood::Bad => ("✗", Slot::Invalid),
            };
            let said = text::clean(text::head(said, 400)).into_owned();
            (
                Line::styled(format!("{sign} {said}"), theme.style(slot)),
                Line::default(),
            )
        }
        Row::Live(live) => live_line(live, columns, theme),
        Row::LiveText(line) => {
            let line = text::clean(text::head(line, 400)).into_owned();
            (
                Line::styled(line, theme.style(Slot::Text).add_modifier(Modifier::ITALIC)),
                Line::default(),
            )
        }
        Row::Mark(mark) => {
            let action = text::clean(&mark.action).into_owned();
            let left = Line::from(vec![
                Span::styled("ACTION ", theme.style(Slot::Dim)),
                Span::styled(action, theme.style(Slot::Dim)),
            ]);
            let right = if mark.reward == 0.0 {
                String::new()
            } else {
                format!("★ {:+.1}", mark.reward)
            };
            (left, Line::styled(right, theme.style(Slot::Reward)))
        }
        Row::Unknown => (Line::styled("·", theme.style(Slot::Faint)), Line::default()),
    }
}

fn turn_line(turn: &Turn, columns: u16, theme: &Theme) -> (Line<'static>, Line<'static>) {
    let role = match turn.role {
        Role::Agent => String::new(),
        role => format!("{} ", role.word()),
    };
    let said = prose(turn);
    let left = Line::from(vec![
        Span::styled(role, theme.style(Slot::Heading)),
        Span::styled(said, theme.style(Slot::Dim).add_modifier(Modifier::ITALIC)),
    ]);
    let mut right = String::new();
    if turn.prompt_tokens > 0 {
        right.push_str(&text::bytes(u64::from(turn.prompt_tokens)));
        if turn.cached_tokens > 0 && columns >= 50 {
            right.push_str(&format!(" ({} cached)", text::bytes(u64::from(turn.cached_tokens))));
        }
        right.push_str(&format!(" → {}", turn.completion_tokens));
        let seconds = (turn.ms - turn.prompt_ms) / 1000.0;
        if seconds > 0.01 && turn.completion_tokens > 0 && columns >= 60 {
            right.push_str(&format!(" · {:.0} tok/s", f64::from(turn.completion_tokens) / seconds));
        }
    }
    (left, Line::styled(right, theme.style(Slot::Faint)))
}

/// The first words outside of tags, as far as a row could show them.
fn prose(turn: &Turn) -> String {
    let words = turn.response.split("<|").next().unwrap_or_default().trim();
    let line = words
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if line.is_empty() {
        return format!("turn {}", turn.turn.0 + 1);
    }
    format!("“{}”", text::clean(text::head(line, 200)))
}

fn op_line(op: &MemoryOp, theme: &Theme) -> (Line<'static>, Line<'static>) {
    let mut left = vec![Span::styled(
        format!("{} ", text::clean(text::head(&op.op, 20))),
        theme.bold(Slot::Tag),
    )];
    for (index, arg) in op.args.iter().enumerate().take(4) {
        let arg = text::clean(text::head(arg, 300)).into_owned();
        let slot = if index == 0 { Slot::Accent } else { Slot::Argument };
        left.push(Span::styled(format!("{arg} "), theme.style(slot)));
    }
    match op.by {
        Author::Model => {}
        Author::Scaffold => left.push(Span::styled("by the scaffold", theme.style(Slot::Warn))),
        Author::Human => left.push(Span::styled("◆ by a person", theme.style(Slot::Human))),
    }
    let (said, style) = outcome(op, theme);
    (Line::from(left), Line::styled(said, style))
}

fn outcome(op: &MemoryOp, theme: &Theme) -> (String, Style) {
    let status = op.outcome.status;
    let style = match status {
        OpStatus::Ok => theme.style(Slot::Good),
        OpStatus::Empty | OpStatus::Unchanged => theme.style(Slot::Dim),
        OpStatus::Missing => theme.style(Slot::Warn),
        OpStatus::Refused | OpStatus::Malformed | OpStatus::Failed => theme.bold(Slot::Invalid),
    };
    let cut = if op.outcome.cut > 0 { " (cut)" } else { "" };
    let said = match status {
        OpStatus::Ok if !op.changes.is_empty() => {
            let written: usize = op.changes.iter().map(crate::types::MemoryChange::bytes_written).sum();
            format!("+{}", text::bytes(written as u64))
        }
        OpStatus::Ok => match (op.op.as_str(), op.outcome.text.lines().count()) {
            ("SEARCH", 1) => "1 hit".to_owned(),
            ("SEARCH", count) => format!("{count} hits"),
            (_, 1) => "1 line".to_owned(),
            (_, count) => format!("{count} lines"),
        },
        other => other.word().to_owned(),
    };
    (format!("{said}{cut}"), style)
}

fn live_line(live: &LiveTurn, columns: u16, theme: &Theme) -> (Line<'static>, Line<'static>) {
    let style = theme.bold(Slot::Live);
    let verb = if columns >= 44 { "evaluating " } else { "" };
    let said = match live.prompt {
        _ if !live.text.is_empty() => "answering".to_owned(),
        Some((done, total, cached)) => {
            let numbers = [done, total, cached].map(|number| text::grouped(number.into()));
            let from = if cached > 0 {
                format!(" ({} cached)", numbers[2])
            } else {
                String::new()
            };
            format!("{verb}prompt {} of {}{from}", numbers[0], numbers[1])
        }
        None => "waiting for the model".to_owned(),
    };
    let right = match live.role {
        Role::Agent => String::new(),
        role => role.word().to_owned(),
    };
    (
        Line::from(vec![
            Span::styled("● ", style),
            Span::styled(said, theme.style(Slot::Info)),
        ]),
        Line::styled(right, theme.style(Slot::Heading)),
    )
}
