//! Lab: optimizations, what each does or waits for, and the news of the one this process works on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::lab::{advise, rows};
use crate::tui::keymap::{Action, Place};
use crate::tui::lab::{LabPane, Optimized, Working};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

pub(super) fn draw(state: &State, area: Rect, focused: bool, buf: &mut Buffer) -> usize {
    let theme = &state.theme;
    let lab = &state.lab;
    if lab.data.optimizations.is_empty() && lab.working.is_none() {
        let key = state.keymap.shown(Place::Lab, Action::Optimize);
        let said = [
            "No optimization yet: it evaluates a scaffold on fixed seeds, asks for a revision, waits for your \
             decisions in Review, and plays what you accepted against the parent."
                .to_owned(),
            format!("{key} begins one here, and so does:"),
            "automem optimize --env crafter --scaffold crafter-v0 --seeds 42..51 --meta rules".to_owned(),
        ];
        advise(state, area, buf, &said);
        return usize::from(area.height);
    }
    let news = lab
        .working
        .as_ref()
        .map_or(0, |working| working.told.len() + 1)
        .min(usize::from(area.height) / 2);
    let below = (news.max(3) as u16).min(area.height / 2);
    let list = Rect {
        height: area.height - below,
        ..area
    };
    let height = rows(state, LabPane::Optimizations, list, focused, buf, |index, wide| {
        let found = lab.data.optimizations.get(index);
        found.map_or_else(Line::default, |one| optimization(state, one, wide))
    });
    let place = Rect {
        y: list.bottom(),
        height: below,
        ..area
    };
    match &lab.working {
        Some(working) => draw_news(state, working, place, buf),
        None => draw_details(state, place, buf),
    }
    let _ = theme;
    height
}

/// Whether this process works on it.
fn here<'a>(state: &'a State, one: &Optimized) -> Option<&'a Working> {
    let working = state.lab.working.as_ref()?;
    (working.name.as_deref() == Some(one.name.as_str())).then_some(working)
}

fn optimization(state: &State, one: &Optimized, wide: usize) -> Line<'static> {
    let theme = &state.theme;
    let waits = one
        .proposal
        .as_ref()
        .and_then(|id| state.lab.data.proposal(id))
        .filter(|proposal| proposal.waits);
    let (mark, said, style) = match (here(state, one), waits) {
        (Some(working), _) => ("▶", working.word.clone(), theme.bold(Slot::Live)),
        (None, Some(proposal)) if !one.over => ("●", format!("{} waits for you", proposal.id), theme.bold(Slot::Warn)),
        (None, _) if one.over => (" ", one.word.clone(), theme.style(Slot::Dim)),
        (None, _) => ("…", format!("{}, interrupted", one.word), theme.style(Slot::Warn)),
    };
    let place = format!("{}/{} try {}", one.iteration.0, one.iteration.1, one.attempt);
    let name = text::pad(&text::clean(&one.name), 20);
    let stars = "★".repeat(one.promoted.min(5));
    let tokens = if one.tokens == 0 {
        String::new()
    } else {
        format!(" {}", text::bytes(one.tokens))
    };
    let cost = one.dollars.map_or(tokens, |dollars| format!(" ${dollars:.2}"));
    let right = format!("{stars}{cost} ");
    let room = wide.saturating_sub(3 + 20 + 12 + text::width(&right));
    Line::from(vec![
        Span::styled(format!(" {mark} "), style),
        Span::styled(name, theme.bold(Slot::Text)),
        Span::styled(text::pad(&place, 12), theme.style(Slot::Dim)),
        Span::styled(text::pad(&text::clean(&said), room), style),
        Span::styled(right, theme.style(Slot::Reward)),
    ])
}

fn draw_details(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let Some(one) = state.lab.selected_optimization() else {
        return;
    };
    let touched = one.touched.get(..16).unwrap_or(&one.touched).replace('T', " ");
    let lines = [
        format!(
            "{} → {} on {} seeds, played by {}",
            one.scaffold, one.line, one.seeds, one.model
        ),
        format!(
            "revisions by {}; {} promoted; last touched {touched}",
            one.meta, one.promoted
        ),
    ];
    let rule = "─".repeat(usize::from(area.width));
    text::put_line(buf, area, 0, &Line::styled(rule, theme.style(Slot::Border)));
    for (row, said) in (1..area.height).zip(lines) {
        let said = format!(" {}", text::clean(&said));
        text::put_line(buf, area, row, &Line::styled(said, theme.style(Slot::Dim)));
    }
}

/// What the work under way tells, the newest last.
fn draw_news(state: &State, working: &Working, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let rule = "─".repeat(usize::from(area.width));
    text::put_line(buf, area, 0, &Line::styled(rule, theme.style(Slot::Border)));
    let room = usize::from(area.height.saturating_sub(1));
    let share = match working.progress {
        Some((done, all)) if all > 0 => format!("  {done} of {all}"),
        _ => String::new(),
    };
    let stopping = if working.stopping { ", stopping" } else { "" };
    let now = format!(" {}{share}{stopping}", text::clean(&working.word));
    let older = working.told.iter().rev().take(room.saturating_sub(1)).rev();
    let mut lines: Vec<Line<'static>> = older
        .map(|said| Line::styled(format!(" {}", text::clean(said)), theme.style(Slot::Dim)))
        .collect();
    lines.push(Line::styled(now, theme.bold(Slot::Live)));
    for (row, line) in (1..area.height).zip(lines) {
        text::put_line(buf, area, row, &line);
    }
}
