//! What a data selection is made of: counts of all, selected and accepted items, what is wrong with the set in words,
//! and what came of it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::review::State as Standing;
use crate::tui::curate::{OpenSelection, Side};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

/// Columns of names and of numbers.
const NAMES: usize = 18;
const NUMBERS: usize = 10;

/// All lines of the pane.
pub(crate) fn lines(open: &OpenSelection, columns: usize, state: &State) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let balance = &open.balance;
    let (dim, plain) = (theme.style(Slot::Dim), theme.style(Slot::Text));
    let mut lines = Vec::new();
    let mut say = |said: &str, style: Style| {
        let said = text::clean(text::head(said, 2_000)).into_owned();
        let rows = text::wrap(&said, columns.max(10));
        lines.extend(rows.into_iter().map(|row| Line::styled(said[row].to_owned(), style)));
    };
    for warning in &balance.warnings {
        let (sign, slot) = match warning.forbids {
            true => ("✗", Slot::Bad),
            false => ("!", Slot::Warn),
        };
        say(&format!("{sign} {}", warning.said), theme.bold(slot));
    }
    came_of_it(open, state, &mut say);
    let row = |name: &str, of: &dyn Fn(&Side) -> String| {
        let mut spans = vec![Span::styled(text::pad(&text::clean(name), NAMES), dim)];
        for (side, style) in [
            (&balance.all, dim),
            (&balance.selected, plain),
            (&balance.accepted, theme.bold(Slot::Text)),
        ] {
            spans.push(Span::styled(text::pad_left(&of(side), NUMBERS), style));
        }
        Line::from(spans)
    };
    let number = |n: u32| text::grouped(u64::from(n));
    let mut heading = text::pad("", NAMES);
    for name in ["all", "selected", "accepted"] {
        heading.push_str(&text::pad_left(name, NUMBERS));
    }
    lines.push(Line::styled(heading, theme.style(Slot::Faint)));
    lines.push(row("items", &|side| number(side.count)));
    lines.push(row("LOG", &|side| number(side.log)));
    lines.push(row("PLAN", &|side| number(side.plan)));
    lines.push(row("episodes", &|side| number(side.episodes)));
    lines.push(row("  largest share", &|side| share(side.most, side.count)));
    for (name, at) in &balance.ops {
        lines.push(row(&format!("first op {name}"), &|side| {
            number(side.ops.get(*at).copied().unwrap_or(0))
        }));
    }
    lines.push(row("near duplicates", &|side| number(side.alike)));
    lines.push(row("on gate seeds", &|side| number(side.gate)));
    lines.push(row("malformed tags", &|side| number(side.malformed)));
    lines.push(Line::default());
    lines.push(Line::styled(
        format!(
            "{} accepted, {} rejected, {} without a verdict ({} of these selected)",
            number(balance.accepted.count),
            number(balance.rejected),
            number(balance.waiting),
            number(balance.selected_waiting)
        ),
        dim,
    ));
    lines.push(Line::styled(
        format!("there should be {} at least", number(balance.minimum)),
        dim,
    ));
    lines
}

fn share(part: u32, all: u32) -> String {
    match all {
        0 => "–".to_owned(),
        _ => format!("{:.0} %", 100.0 * f64::from(part) / f64::from(all)),
    }
}

/// Certified, used, or what is under way.
fn came_of_it(open: &OpenSelection, state: &State, say: &mut impl FnMut(&str, Style)) {
    let theme = &state.theme;
    let standing = open.standing();
    match (&standing.dataset, standing.state) {
        (Some((file, digest, examples)), Standing::Certified | Standing::Used) => {
            say(
                &format!(
                    "✓ certified: {} examples, {}",
                    text::grouped(u64::from(*examples)),
                    digest.short()
                ),
                theme.bold(Slot::Good),
            );
            say(file, theme.style(Slot::Dim));
        }
        (_, Standing::Decided) => match &state.curate.working {
            Some(word) => say(word, theme.bold(Slot::Live)),
            None => say("decided; r certifies what was accepted", theme.bold(Slot::Info)),
        },
        _ => {}
    }
    for line in state.curate.reports.get(&standing.id).into_iter().flatten() {
        say(line, theme.style(Slot::Text));
    }
    if !standing.used_by.is_empty() {
        say(
            &format!("used for {}", standing.used_by.join(", ")),
            theme.style(Slot::Good),
        );
    }
    for comment in standing.comments.iter().filter(|comment| comment.part.is_none()) {
        say(&format!("◆ {}: {}", comment.by, comment.text), theme.style(Slot::Human));
    }
}
