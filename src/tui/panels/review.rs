//! The Review screen: the list of proposals, or the open one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{review_list, review_open};
use crate::review::{Outcome, Standing, State as Standings};
use crate::tui::keymap::{Action, Place};
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    match &state.review.open {
        Some(open) => review_open::draw(state, open, area, buf),
        None if state.review.list.is_empty() => empty(state, area, buf),
        None => review_list::draw(state, area, buf),
    }
}

/// How a proposal stands: a sign and a word, and what they mean.
pub(super) fn standing(standing: &Standing) -> (&'static str, String, Slot) {
    let word = standing.state.word().to_owned();
    match standing.state {
        Standings::Pending => ("●", word, Slot::Warn),
        Standings::Decided => ("…", word, Slot::Info),
        Standings::Checked => ("✓", word, Slot::Info),
        Standings::CheckFailed => ("✗", word, Slot::Bad),
        Standings::Gating => ("▶", word, Slot::Live),
        Standings::Gated if standing.is_better() => ("★", word, Slot::Good),
        Standings::Gated => ("▾", word, Slot::Warn),
        Standings::Applying => ("…", word, Slot::Info),
        Standings::Certified => ("✓", word, Slot::Info),
        Standings::Promoted | Standings::Used => ("✓", word, Slot::Good),
        Standings::Discarded | Standings::Superseded => ("-", word, Slot::Dim),
        Standings::Stale => ("⊘", word, Slot::Bad),
    }
}

/// What a gate said, in few characters: `+2.3 % better`.
pub(super) fn gate_in_short(standing: &Standing) -> String {
    match &standing.gate {
        None => String::new(),
        Some(gate) => {
            let word = match gate.outcome {
                Outcome::Better => "better",
                Outcome::NotBetter => "not better",
                Outcome::CannotWin => "cannot win",
            };
            format!("{:+.1} {word}", gate.difference * 100.0)
        }
    }
}

fn empty(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    if !state.review.loaded {
        let said = Line::styled(" looking for proposals", theme.style(Slot::Dim));
        text::put_line(buf, area, 0, &said);
        return;
    }
    let lines = [
        Line::styled("Nothing waits for a decision.", theme.bold(Slot::Title)),
        Line::default(),
        Line::styled(
            "A revision of a scaffold is proposed by an optimization; without any model:",
            theme.style(Slot::Dim),
        ),
        Line::styled(
            "  automem optimize --env crafter --scaffold crafter-v0 --meta rules",
            theme.style(Slot::Text),
        ),
        Line::default(),
        Line::styled(
            "It appears here by itself, hunk by hunk, with the steps that show why.",
            theme.style(Slot::Dim),
        ),
        Line::from(vec![
            Span::styled(state.keymap.shown(Place::Review, Action::Sample), theme.bold(Slot::Key)),
            Span::styled(" opens a sample, to try it. ", theme.style(Slot::Dim)),
        ]),
        Line::styled(
            "Nothing is applied before you commit your decisions.",
            theme.style(Slot::Dim),
        ),
    ];
    let place = layout::centred(area, 78.min(area.width - 2), lines.len() as u16);
    for (row, line) in (0..).zip(&lines) {
        text::put_line(buf, place, row, line);
    }
}
