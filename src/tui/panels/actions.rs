//! The stream of actions: turns, memory operations, actions, rewards, notices, over all steps.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::tui::layout::Pane;
use crate::tui::state::Mood;
use crate::tui::stream::{self, Placed, Row};
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::{Filtering, Watch};
use crate::tui::widgets::text;
use crate::types::{ActionBy, Author, LiveTurn, MemoryOp, OpStatus, Phase, Role, StepNo, Turn};

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw("Actions")];
    let totals = watch.totals;
    if totals.prompt > 0 {
        let said = format!(
            " · all steps {}",
            tokens(totals.prompt, totals.completion).unwrap_or_default()
        );
        spans.push(Span::styled(said, theme.style(Slot::Dim)));
    }
    if totals.ms > 0.0 {
        let all = if totals.prompt > 0 { "" } else { " · all steps" };
        spans.push(Span::styled(
            format!("{all} {}", text::duration(totals.ms)),
            theme.style(Slot::Dim),
        ));
    }
    spans
}

/// Tokens of prompts and answers: `1.2k+83 tok`; nothing where no model was asked.
fn tokens(prompt: u64, completion: u64) -> Option<String> {
    let said = || format!("{}+{} tok", text::bytes(prompt), text::bytes(completion));
    (prompt + completion > 0).then(said)
}

/// The filter, how much it shows, and how to be rid of it.
fn filter_line(watch: &Watch, filtering: &Filtering, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let all = filtering.matches.len();
    let word = if all == 1 { "step" } else { "steps" };
    let said = match (filtering.progress, filtering.position(watch.episode, watch.cursor)) {
        (Some((_, 0)), _) => "looking through the run".to_owned(),
        (Some((done, total)), _) => format!("looking through the run: {:.0}%", 100.0 * done as f64 / total as f64),
        (None, Some(at)) => format!("{at} of {all} {word}"),
        (None, None) => format!("– of {all} {word}"),
    };
    let right = Line::from(vec![
        Span::styled(said, theme.bold(Slot::Text)),
        Span::styled("  X", theme.bold(Slot::Key)),
        Span::styled(" clears ", theme.style(Slot::Dim)),
    ]);
    let stop = text::put_right(buf, area, 0, &right);
    let left = Rect {
        width: stop.saturating_sub(area.x + 1),
        ..area
    };
    let words = text::clean(&filtering.filter.to_string()).into_owned();
    let line = Line::from(vec![
        Span::styled("only ", theme.style(Slot::Dim)),
        Span::styled(words, theme.bold(Slot::Accent)),
    ]);
    text::put_line(buf, left, 0, &line);
}

pub(crate) fn draw(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let mut area = area;
    if let Some(filtering) = &watch.filtering {
        filter_line(watch, filtering, Rect { height: 1, ..area }, buf, theme);
        area.y += area.height.min(1);
        area.height = area.height.saturating_sub(1);
    }
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
            cost,
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
            let cost = cost_of(*cost, columns).map(|said| Span::styled(format!("{said}  "), theme.style(Slot::Dim)));
            (Line::from(left), Line::from_iter(cost.into_iter().chain([right])))
        }
        Row::Reward(outcome) => {
            let (said, slot) = reward(outcome.reward);
            let left = Line::styled(said, theme.bold(slot));
            let right = Line::styled(
                format!("progress {:.0}%", outcome.progression * 100.0),
                theme.style(Slot::Dim),
            );
            (left, right)
        }
        Row::Person(said) => {
            let said = text::clean(text::head(said, 400)).into_owned();
            let style = theme.style(Slot::Human);
            (Line::styled(format!("◆ {said}"), style), Line::default())
        }
        Row::Script(count, said) => {
            let said = text::clean(text::head(said, 400)).into_owned();
            let word = if *count == 1 { "value" } else { "values" };
            (
                Line::from(vec![
                    Span::styled("script ", theme.style(Slot::Warn)),
                    Span::styled(said, theme.style(Slot::Dim)),
                ]),
                Line::styled(format!("{count} {word}"), theme.style(Slot::Faint)),
            )
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
            let right = match mark.reward {
                0.0 => Line::default(),
                amount => {
                    let (said, slot) = reward(f64::from(amount));
                    Line::styled(said, theme.style(slot))
                }
            };
            (left, right)
        }
        Row::Unknown => (Line::styled("·", theme.style(Slot::Faint)), Line::default()),
        Row::Found(what) => {
            let said = text::clean(text::head(what, 400)).into_owned();
            (Line::styled(said, theme.style(Slot::Info)), Line::default())
        }
        Row::Filtered => (
            Line::styled("· nothing here that the filter shows", theme.style(Slot::Dim)),
            Line::default(),
        ),
    }
}

/// A reward with its sign, and a penalty with another sign and its word.
fn reward(amount: f64) -> (String, Slot) {
    if amount > 0.0 {
        (format!("★ {amount:+.1}"), Slot::Reward)
    } else {
        (format!("▾ {amount:+.1} penalty"), Slot::Bad)
    }
}

/// What a step took, as far as it fits beside its action.
fn cost_of(cost: stream::Cost, columns: u16) -> Option<String> {
    let time = cost.ms.map(text::duration);
    let tokens = tokens(cost.prompt, cost.completion).filter(|_| columns >= 44);
    match (tokens, time) {
        (Some(tokens), Some(time)) => Some(format!("{tokens} {time}")),
        (None, Some(time)) => Some(time).filter(|_| columns >= 34),
        (tokens, None) => tokens,
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
