//! What became of a proposal: its way from the decisions to the head, what the check found, the gate seed by seed.

use ratatui::text::{Line, Span};

use super::review;
use crate::llm::Usage;
use crate::review::{GateReport, Outcome, Pair, Score, Standing, State};
use crate::tui::review::OpenReview;
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::text;

/// Problems of a check that are told.
const MOST_PROBLEMS: usize = 50;

/// All lines of the pane.
pub(crate) fn lines(open: &OpenReview, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let standing = open.standing();
    let mut lines = vec![way(standing, theme), Line::default()];
    let mut say = |said: &str, slot: Slot| {
        let said = text::clean(text::head(said, 2_000)).into_owned();
        let rows = text::wrap(&said, columns.max(10));
        lines.extend(
            rows.into_iter()
                .map(|row| Line::styled(said[row].to_owned(), theme.style(slot))),
        );
    };
    say(&next(standing), Slot::Text);
    if !standing.why.is_empty() {
        say(&standing.why, Slot::Warn);
    }
    if !standing.problems.is_empty() {
        say("", Slot::Text);
        for problem in standing.problems.iter().take(MOST_PROBLEMS) {
            say(&format!("✗ {problem}"), Slot::Bad);
        }
        let more = standing.problems.len().saturating_sub(MOST_PROBLEMS);
        if more > 0 {
            say(&format!("and {more} more"), Slot::Dim);
        }
    }
    if let Some(gate) = &standing.gate {
        lines.push(Line::default());
        table(gate, columns, theme, &mut lines);
    }
    lines
}

/// `pending → decided → checked → gating → promoted`, with the place it is at.
fn way(standing: &Standing, theme: &Theme) -> Line<'static> {
    const WAY: [(&str, &[State]); 6] = [
        ("pending", &[State::Pending]),
        ("decided", &[State::Decided]),
        ("checked", &[State::Checked, State::CheckFailed]),
        ("gate", &[State::Gating, State::Gated]),
        ("promoted", &[State::Applying, State::Promoted]),
        ("used", &[State::Used]),
    ];
    // A recipe is trained by, a revision is played and promoted.
    let not_on_it: &[&str] = if is_recipe(standing) {
        &["gate", "promoted"]
    } else {
        &["used"]
    };
    let steps: Vec<_> = WAY.into_iter().filter(|(name, _)| !not_on_it.contains(name)).collect();
    let (sign, word, slot) = review::standing(standing);
    let at = steps.iter().position(|(_, states)| states.contains(&standing.state));
    let mut spans = Vec::new();
    for (index, (name, _)) in steps.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(" → ", theme.style(Slot::Faint)));
        }
        if Some(index) == at {
            spans.push(Span::styled(format!("{sign} {word}"), theme.bold(slot)));
        } else {
            spans.push(Span::styled(name, theme.style(Slot::Faint)));
        }
    }
    if at.is_none() {
        spans.push(Span::styled(format!("   {sign} {word}"), theme.bold(slot)));
    }
    Line::from(spans)
}

fn is_recipe(standing: &Standing) -> bool {
    standing.kind == "recipe"
}

/// What happens next, and with which key.
fn next(standing: &Standing) -> String {
    match standing.state {
        State::Pending => match standing.waiting() {
            0 => "Every hunk has a verdict: A commits them.".to_owned(),
            n => format!("{n} hunks wait for a verdict."),
        },
        State::Decided => "The result is being checked; r checks it again.".to_owned(),
        State::Checked if standing.extent == Some(crate::review::Extent::None) => {
            "Nothing of it was accepted: D discards it, u takes the commitment back.".to_owned()
        }
        State::Checked if is_recipe(standing) => {
            "It can be trained by: `automem tune` goes on with it. Nothing is trained by looking at it.".to_owned()
        }
        State::Checked => {
            "It waits for its gate: the optimization that proposed it plays it on the same seeds as its parent. \
             p promotes it without, with a reason."
                .to_owned()
        }
        State::CheckFailed if is_recipe(standing) => {
            "It cannot be trained by as decided: u takes the commitment back, D discards it.".to_owned()
        }
        State::CheckFailed => "It cannot work as decided: u takes the commitment back, D discards it.".to_owned(),
        State::Gating => "It is being played on the same seeds as its parent.".to_owned(),
        State::Gated => "p promotes it, D discards it, u takes the commitment back.".to_owned(),
        State::Certified => "Its training set is certified; a recipe can name it.".to_owned(),
        State::Used => format!("It was used for {}.", standing.used_by.join(", ")),
        State::Applying => "It is being made the head.".to_owned(),
        State::Promoted => format!("It is the head of {}; u takes that back.", standing.line),
        State::Discarded => "It is not wanted; u takes that back.".to_owned(),
        State::Superseded => "Another has taken its place.".to_owned(),
        State::Stale => "Its parent is not what it was: no verdict is taken.".to_owned(),
    }
}

/// The paired table with means, standard errors, interval and sign test.
fn table(gate: &GateReport, columns: usize, theme: &Theme, lines: &mut Vec<Line<'static>>) {
    let (word, slot) = match gate.outcome {
        Outcome::Better => ("★ better", Slot::Good),
        Outcome::NotBetter => ("▾ not better", Slot::Warn),
        Outcome::CannotWin => ("▾ cannot win any more: the rest was left out", Slot::Warn),
    };
    let reused = if gate.parent_reused {
        " · parent's run reused"
    } else {
        ""
    };
    lines.push(Line::from(vec![
        Span::styled(word, theme.bold(slot)),
        Span::styled(reused, theme.style(Slot::Dim)),
    ]));
    let tokens = columns >= 52;
    let heading = if tokens {
        "  seed   parent     new    diff   tokens      time"
    } else {
        "  seed   parent     new    diff"
    };
    lines.push(Line::styled(heading, theme.style(Slot::Faint)));
    for pair in &gate.pairs {
        lines.push(row(pair, tokens, theme));
    }
    let percent = |value: f64| format!("{:.1}", value * 100.0);
    let dim = theme.style(Slot::Dim);
    let mean = format!(
        "{:>6} {:>8} {:>7} {:>+7.1}",
        "mean",
        percent(gate.parent_mean),
        percent(gate.revision_mean),
        gate.difference * 100.0
    );
    lines.push(Line::styled(mean, theme.bold(Slot::Text)));
    let error = format!(
        "{:>6} {:>8} {:>7}",
        "± s.e.",
        percent(gate.parent_error),
        percent(gate.revision_error)
    );
    lines.push(Line::styled(error, dim));
    let said = format!(
        "95 % of the difference: {:+.1} to {:+.1}",
        gate.interval.0 * 100.0,
        gate.interval.1 * 100.0
    );
    lines.push(Line::styled(said, dim));
    let said = format!(
        "{} better, {} worse, {} equal; sign test p = {:.2}",
        gate.wins, gate.losses, gate.ties, gate.sign_p
    );
    lines.push(Line::styled(said, dim));
    lines.push(Line::styled(
        "in % of the world's progression",
        theme.style(Slot::Faint),
    ));
}

fn row(pair: &Pair, tokens: bool, theme: &Theme) -> Line<'static> {
    let score = |score: Option<Score>| {
        score.map_or_else(|| "–".to_owned(), |score| format!("{:.1}", score.progression * 100.0))
    };
    let difference = match (pair.parent, pair.revision) {
        (Some(parent), Some(revision)) => Some((revision.progression - parent.progression) * 100.0),
        _ => None,
    };
    let (sign, slot) = match difference {
        Some(by) if by > 0.0 => ("▲", Slot::Good),
        Some(by) if by < 0.0 => ("▼", Slot::Bad),
        Some(_) => ("=", Slot::Dim),
        None => (" ", Slot::Dim),
    };
    let by = difference.map_or_else(|| "–".to_owned(), |by| format!("{by:+.1}"));
    let mut spans = vec![
        Span::styled(
            format!(
                "{:>6} {:>8} {:>7} ",
                pair.seed,
                score(pair.parent),
                score(pair.revision)
            ),
            theme.style(Slot::Text),
        ),
        Span::styled(format!("{by:>7} {sign}"), theme.style(slot)),
    ];
    if tokens && let Some(revision) = pair.revision {
        let said = format!(
            "{:>7} {:>9}",
            text::bytes(revision.tokens),
            text::duration(revision.seconds * 1000.0)
        );
        spans.push(Span::styled(said, theme.style(Slot::Dim)));
    }
    Line::from(spans)
}

/// Tokens and dollars in words; empty when nothing was used.
pub(crate) fn usage(usage: &Usage) -> String {
    let mut said = String::new();
    if usage.prompt + usage.completion > 0 {
        said = format!(
            "{} prompt tokens ({} cached) and {} answer tokens",
            text::grouped(usage.prompt),
            text::grouped(usage.cached),
            text::grouped(usage.completion)
        );
    }
    if let Some(dollars) = usage.dollars {
        let and = if said.is_empty() { "" } else { ", " };
        said.push_str(&format!("{and}${dollars:.2}"));
    }
    said
}
