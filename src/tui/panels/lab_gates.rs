//! Lab: gates, seed by seed, with what they cost.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::lab::{advise, rows};
use crate::review::{GateReport, Outcome, Pair, Score};
use crate::tui::keymap::{Action, Place};
use crate::tui::lab::{GateLine, LabPane};
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::text;

pub(super) fn draw(state: &State, area: Rect, focused: bool, buf: &mut Buffer) -> usize {
    let lines = state.lab.gate_lines();
    if lines.is_empty() {
        let key = state.keymap.shown(Place::Lab, Action::Optimize);
        let said = [
            "No revision was played against its parent yet.".to_owned(),
            format!("{key} begins an optimization here, and so does:"),
            "automem optimize --env crafter --scaffold crafter-v0 --seeds 42..51 --meta rules".to_owned(),
        ];
        advise(state, area, buf, &said);
        return usize::from(area.height);
    }
    let list = Rect {
        height: area.height.saturating_sub(2),
        ..area
    };
    let height = rows(state, LabPane::Gates, list, focused, buf, |index, wide| {
        match lines.get(index) {
            Some(GateLine::Gate(at)) => gate(state, *at, wide),
            Some(GateLine::Seed(_, pair)) => seed(&state.theme, pair, wide),
            None => Line::default(),
        }
    });
    let foot = Rect {
        y: list.bottom(),
        height: area.height - list.height,
        ..area
    };
    draw_foot(state, foot, buf);
    height
}

/// What is known of the selected gate beside its table.
fn draw_foot(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let Some(GateLine::Gate(at) | GateLine::Seed(at, _)) = state.lab.selected_gate() else {
        return;
    };
    let proposal = &state.lab.data.proposals[at];
    let Some(gate) = &proposal.gate else { return };
    let said = format!(
        " {} better, {} worse, {} equal, sign test p {:.2}; {:.1} ± {:.1} → {:.1} ± {:.1} %",
        gate.wins,
        gate.losses,
        gate.ties,
        gate.sign_p,
        gate.parent_mean * 100.0,
        gate.parent_error * 100.0,
        gate.revision_mean * 100.0,
        gate.revision_error * 100.0,
    );
    text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
    let cost = match state.lab.data.row_of(&proposal.id) {
        Some(row) => format!(
            " {} iteration {} attempt {}; revisers used {} tokens{};",
            text::clean(&row.optimization),
            row.iteration,
            row.attempt,
            text::bytes(row.reviser_tokens),
            row.dollars
                .map_or_else(String::new, |dollars| format!(" (${dollars:.2})")),
        ),
        None => String::new(),
    };
    let reused = if gate.parent_reused {
        ", the parent's run is an earlier one"
    } else {
        ""
    };
    let cost = format!("{cost}{}{reused}", played(gate));
    text::put_line(buf, area, 1, &Line::styled(cost, theme.style(Slot::Faint)));
}

/// Tokens and seconds of both sides.
fn played(gate: &GateReport) -> String {
    let sum = |side: fn(&Pair) -> Option<Score>| {
        let scores = gate.pairs.iter().filter_map(side);
        scores.fold((0, 0.0), |(tokens, seconds), score| {
            (tokens + score.tokens, seconds + score.seconds)
        })
    };
    let (parent, revision) = (sum(|pair| pair.parent), sum(|pair| pair.revision));
    format!(
        " tokens {} → {}, seconds {:.0} → {:.0}",
        text::bytes(parent.0),
        text::bytes(revision.0),
        parent.1,
        revision.1
    )
}

fn outcome_style(theme: &Theme, outcome: Outcome) -> Style {
    match outcome {
        Outcome::Better => theme.bold(Slot::Good),
        Outcome::NotBetter | Outcome::CannotWin => theme.style(Slot::Bad),
    }
}

fn gate(state: &State, at: usize, wide: usize) -> Line<'static> {
    let theme = &state.theme;
    let proposal = &state.lab.data.proposals[at];
    let Some(gate) = &proposal.gate else {
        return Line::default();
    };
    let sign = if state.lab.opened.contains(&proposal.id) {
        "▾"
    } else {
        "▸"
    };
    let numbers = format!(
        "{:+.1} [{:+.1}, {:+.1}] %  ",
        gate.difference * 100.0,
        gate.interval.0 * 100.0,
        gate.interval.1 * 100.0
    );
    let verdict = gate.outcome.word();
    let promoted = if proposal.stage == crate::review::State::Promoted {
        " ★"
    } else {
        ""
    };
    let right = text::width(&numbers) + text::width(verdict) + text::width(promoted);
    let room = wide.saturating_sub(right + 1);
    let said = format!(" {sign} {}  {}", proposal.id, text::clean(&proposal.title));
    Line::from(vec![
        Span::styled(text::pad(&said, room), theme.bold(Slot::Text)),
        Span::styled(numbers, theme.bold(Slot::Reward)),
        Span::styled(format!("{verdict}{promoted}"), outcome_style(theme, gate.outcome)),
    ])
}

fn seed(theme: &Theme, pair: &Pair, wide: usize) -> Line<'static> {
    let side = |score: Option<Score>| {
        let said = score.map_or_else(
            || "not played".to_owned(),
            |score| format!("{:5.1} % in {:>5} steps", score.progression * 100.0, score.steps),
        );
        text::pad_left(&said, 22)
    };
    let (sign, style) = match (pair.parent, pair.revision) {
        (Some(parent), Some(revision)) if revision.progression > parent.progression => {
            ("+ better", theme.style(Slot::Good))
        }
        (Some(parent), Some(revision)) if revision.progression < parent.progression => {
            ("- worse", theme.style(Slot::Bad))
        }
        (Some(_), Some(_)) => ("= equal", theme.style(Slot::Dim)),
        _ => ("", theme.style(Slot::Dim)),
    };
    let seed = text::pad(&format!("     seed {}", pair.seed), 16);
    let mut spans = vec![
        Span::styled(seed, theme.style(Slot::Accent)),
        Span::styled(side(pair.parent), theme.style(Slot::Dim)),
        Span::styled("  → ", theme.style(Slot::Faint)),
        Span::styled(side(pair.revision), theme.style(Slot::Text)),
    ];
    if wide >= 74 {
        spans.push(Span::styled(format!("  {sign}"), style));
    }
    Line::from(spans)
}
