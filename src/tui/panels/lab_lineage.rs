//! Lab: scaffolds and their versions as a tree, with runs and with proposals that became nothing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::lab::{percent, rows};
use crate::review::Outcome;
use crate::scaffold::{Node, Source};
use crate::tui::lab::{LabPane, LineageRow, Specialist, Suggested};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

/// Rows below the tree that say more of the selected one.
const DETAILS: u16 = 4;
/// Columns of numbers at the right.
const NUMBERS: usize = 24;

pub(super) fn draw(state: &State, area: Rect, focused: bool, buf: &mut Buffer) -> usize {
    let details = if area.height >= 12 { DETAILS } else { 0 };
    let tree = Rect {
        height: area.height - details,
        ..area
    };
    let below = Rect {
        y: tree.bottom(),
        height: details,
        ..area
    };
    let all = state.lab.lineage_rows();
    let height = rows(state, LabPane::Lineage, tree, focused, buf, |index, wide| {
        all.get(index).map_or_else(Line::default, |row| line(state, *row, wide))
    });
    draw_details(state, below, buf);
    height
}

fn line(state: &State, row: LineageRow, wide: usize) -> Line<'static> {
    let data = &state.lab.data;
    match row {
        LineageRow::Version(at) => version(state, &data.lineage.nodes[at], wide),
        LineageRow::Specialist(at) => specialist(state, &data.specialists[at], wide),
        LineageRow::Proposal(at, depth) => proposal(state, &data.proposals[at], depth, wide),
        LineageRow::Run(at, run) => {
            let node = &data.lineage.nodes[at];
            let theme = &state.theme;
            let run = &node.runs[run];
            let name = text::clean(&run.id).into_owned();
            let said = format!("{}  run {name}", branch(node.depth + 1));
            let room = wide.saturating_sub(NUMBERS);
            let mean = run.progression.iter().sum::<f64>() / run.progression.len().max(1) as f64;
            let count = run.progression.len();
            let numbers = if count == 0 {
                "no episode is over".to_owned()
            } else {
                format!("{:.1} %  n {count}", mean * 100.0)
            };
            Line::from(vec![
                Span::styled(text::pad(&said, room), theme.style(Slot::Dim)),
                Span::styled(text::pad_left(&numbers, NUMBERS), theme.style(Slot::Dim)),
            ])
        }
    }
}

/// Blanks and an elbow.
fn branch(depth: usize) -> String {
    match depth.min(8) {
        0 => " ".to_owned(),
        n => format!(" {}└ ", "  ".repeat(n - 1)),
    }
}

/// Name, digest, version; then mean and episodes.
fn version(state: &State, node: &Node, wide: usize) -> Line<'static> {
    let theme = &state.theme;
    let mark = if node.head { "*" } else { " " };
    let name = text::clean(&node.line).into_owned();
    let mut spans = vec![
        Span::styled(branch(node.depth), theme.style(Slot::Faint)),
        Span::styled(mark, theme.bold(Slot::Accent)),
        Span::styled(
            name,
            if node.head {
                theme.bold(Slot::Text)
            } else {
                theme.style(Slot::Text)
            },
        ),
        Span::styled(format!("  {}", node.digest.short()), theme.style(Slot::Accent)),
        Span::styled(format!(" {}", text::clean(&node.version)), theme.style(Slot::Dim)),
    ];
    if let Some(proposal) = state.lab.data.made_by(node) {
        spans.push(Span::styled(
            format!("  {} ({})", proposal.standing(), proposal.id),
            standing_style(state, proposal),
        ));
    }
    let numbers = match node.mean() {
        Some(mean) => format!("{}  n {}", percent(mean), node.progression().len()),
        None => "not played".to_owned(),
    };
    beside(spans, &numbers, theme.bold(Slot::Reward), wide)
}

fn proposal(state: &State, proposal: &Suggested, depth: usize, wide: usize) -> Line<'static> {
    let theme = &state.theme;
    let spans = vec![
        Span::styled(branch(depth), theme.style(Slot::Faint)),
        Span::styled(format!("{} ", proposal.id), theme.style(Slot::Accent)),
        Span::styled(proposal.standing(), standing_style(state, proposal)),
        Span::styled(format!("  {}", text::clean(&proposal.title)), theme.style(Slot::Dim)),
    ];
    let numbers = proposal.gate.as_ref().map_or_else(String::new, |gate| {
        format!(
            "{}  n {}",
            percent((gate.revision_mean, gate.revision_error)),
            gate.pairs.len()
        )
    });
    beside(spans, &numbers, theme.style(Slot::Dim), wide)
}

/// A memory specialist: its adapter, and how its gate went.
fn specialist(state: &State, one: &Specialist, wide: usize) -> Line<'static> {
    let theme = &state.theme;
    let (said, slot) = match one.outcome {
        Outcome::Better => ("★ better", Slot::Good),
        Outcome::NotBetter | Outcome::CannotWin => ("✗ not better", Slot::Bad),
    };
    let spans = vec![
        Span::styled(" ◆ specialist ", theme.style(Slot::Human)),
        Span::styled(text::clean(&one.name).into_owned(), theme.bold(Slot::Text)),
        Span::styled(format!("  {}", one.digest.short()), theme.style(Slot::Accent)),
        Span::styled(format!("  {said}"), theme.style(slot)),
        Span::styled(format!(" ({})", one.proposal), theme.style(Slot::Dim)),
    ];
    let numbers = format!("{}  n {}", percent(one.mean), one.seeds);
    beside(spans, &numbers, theme.bold(Slot::Reward), wide)
}

fn standing_style(state: &State, proposal: &Suggested) -> ratatui::style::Style {
    let said = proposal.standing();
    match said.chars().next() {
        Some('★') => state.theme.bold(Slot::Good),
        Some('✗') => state.theme.style(Slot::Bad),
        Some('●') => state.theme.bold(Slot::Warn),
        _ => state.theme.style(Slot::Dim),
    }
}

/// What is at the left, cut; the numbers at the right edge.
fn beside(spans: Vec<Span<'static>>, numbers: &str, style: ratatui::style::Style, wide: usize) -> Line<'static> {
    let room = wide.saturating_sub(NUMBERS);
    let mut left = room;
    let mut out = Vec::new();
    for span in spans {
        let said = text::cut(&span.content, left).into_owned();
        left -= text::width(&said).min(left);
        out.push(Span::styled(said, span.style));
    }
    out.push(Span::raw(" ".repeat(left)));
    out.push(Span::styled(text::pad_left(numbers, NUMBERS), style));
    Line::from(out)
}

/// What else is known of the selected row.
fn draw_details(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let lab = &state.lab;
    let mut lines: Vec<(String, Slot)> = Vec::new();
    match lab.selected_lineage() {
        Some(LineageRow::Proposal(at, _)) => {
            let proposal = &lab.data.proposals[at];
            lines.push((
                format!("{} by {}: {}", proposal.id, proposal.author, proposal.title),
                Slot::Text,
            ));
            if !proposal.why.is_empty() {
                lines.push((proposal.why.clone(), Slot::Dim));
            }
        }
        Some(LineageRow::Specialist(at)) => {
            let one = &lab.data.specialists[at];
            let (tuning, iteration) = &one.tuning;
            let (against, mean) = &one.against;
            lines.push((format!("{} of {tuning}, iteration {iteration}", one.name), Slot::Text));
            lines.push((format!("played against {against}, {:.1} %", mean * 100.0), Slot::Dim));
        }
        Some(LineageRow::Version(at) | LineageRow::Run(at, _)) => {
            let node = &lab.data.lineage.nodes[at];
            lines.push((origin(node), Slot::Text));
            if !node.note.is_empty() {
                lines.push((node.note.clone(), Slot::Dim));
            }
            if !node.method.is_empty() {
                lines.push((node.method.lines().collect::<Vec<_>>().join(" "), Slot::Dim));
            }
        }
        None => {}
    }
    for fault in &lab.data.faults {
        lines.push((format!("not read: {fault}"), Slot::Warn));
    }
    let rule = "─".repeat(usize::from(area.width));
    text::put_line(buf, area, 0, &Line::styled(rule, theme.style(Slot::Border)));
    let mut row = 1;
    for (said, slot) in lines {
        let said = text::clean(&said).into_owned();
        for range in text::wrap(&said, usize::from(area.width.saturating_sub(2))) {
            if row >= area.height {
                return;
            }
            text::put_line(
                buf,
                area,
                row,
                &Line::styled(format!(" {}", &said[range]), theme.style(slot)),
            );
            row += 1;
        }
    }
}

fn origin(node: &Node) -> String {
    let place = match (&node.source, node.head) {
        (Some(Source::Shipped), _) => "comes with the program".to_owned(),
        (Some(Source::Workspace(_)), _) => "what the name stands for now".to_owned(),
        (None, _) if node.kept.is_some() => "kept, not the head".to_owned(),
        (None, _) => "known from its runs only".to_owned(),
    };
    let from = match (&node.parent_name, node.parent) {
        (_, Some(digest)) => format!(", made from {}", digest.short()),
        (Some(name), None) => format!(", made from {name}"),
        (None, None) => String::new(),
    };
    let runs = match node.runs.len() {
        0 => String::new(),
        1 => "; 1 run".to_owned(),
        n => format!("; {n} runs"),
    };
    format!("{} {}: {place}{from}{runs}", node.line, node.digest.short())
}
