//! Actions on the Review screen: the list, the panes of a proposal, and what comes from the edge.
//!
//! Verdicts and what follows them are `gate`'s.

mod gate;

use std::sync::Arc;

use crate::review::{Dossier, State as Standing};
use crate::tui::data::Effect;
use crate::tui::effects::Ask;
use crate::tui::keymap::{Action, Screen};
use crate::tui::layout::{self, ReviewPane};
use crate::tui::overlay::Overlay;
use crate::tui::panels::review_open;
use crate::tui::review::{OpenReview, Selection};
use crate::tui::state::{Mood, State};

pub(super) use gate::{because, discarding, edited, reasons, said, sealed};

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    state.redraw = true;
    match state.review.open.take() {
        None => list(state, action),
        Some(mut open) => {
            let effects = match action {
                Action::Back => match back(&mut open) {
                    true => Vec::new(),
                    // The proposal is closed.
                    false => return vec![Effect::Review(Ask::Close)],
                },
                _ => self::open(state, &mut open, action),
            };
            state.review.open = Some(open);
            effects
        }
    }
}

fn list(state: &mut State, action: Action) -> Vec<Effect> {
    let (len, height) = (state.review.list.len(), super::page(state));
    let scroll = &mut state.review.scroll;
    match action {
        Action::Up => scroll.select_by(-1, len, height),
        Action::Down => scroll.select_by(1, len, height),
        Action::PageUp => scroll.select_by(-(height as isize), len, height),
        Action::PageDown => scroll.select_by(height as isize, len, height),
        Action::Top => scroll.select(0, len, height),
        Action::Bottom => scroll.select(len, len, height),
        Action::Open => {
            if let Some(id) = state.review.selected().map(|standing| standing.id.clone()) {
                state.review.opening = Some(id.clone());
                return vec![Effect::Review(Ask::Open(id))];
            }
        }
        Action::Reload => return vec![Effect::Review(Ask::List)],
        Action::Sample => return vec![Effect::Review(Ask::Sample)],
        _ => {}
    }
    Vec::new()
}

/// Back inside a proposal: out of a selection, then to the diff; false when there is nothing to go out of.
fn back(open: &mut OpenReview) -> bool {
    if open.selection != Selection::Current {
        open.selection = Selection::Current;
        return true;
    }
    if open.focus != ReviewPane::Diff && open.is_gate() {
        open.focus = ReviewPane::Diff;
        return true;
    }
    false
}

fn open(state: &mut State, open: &mut OpenReview, action: Action) -> Vec<Effect> {
    let plan = layout::review(state.size, open.focus);
    let height = usize::from(plan.inner(open.focus).height).max(1);
    let diff = usize::from(plan.inner(ReviewPane::Diff).height).max(1);
    match action {
        Action::FocusNext => focus(open, 1),
        Action::FocusPrevious => focus(open, -1),
        Action::HunkBy(by) => hunk(state, open, by, diff),
        Action::Beside => {
            let area = plan.inner(ReviewPane::Diff);
            let is = open.is_beside(if area.width > 0 { area.width } else { state.size.0 });
            open.beside = Some(!is);
        }
        Action::FoldAll => {
            let current = open.current().map(|(at, _)| at);
            open.diff.unfold_all();
            if let Some(part) = current {
                open.go(part, diff);
            }
        }
        Action::Open => return enter(state, open, diff),
        Action::EventBy(by) => evidence(open, by > 0, height),
        Action::Up => move_by(state, open, -1, height),
        Action::Down => move_by(state, open, 1, height),
        Action::PageUp => move_by(state, open, -(height.saturating_sub(1).max(1) as isize), height),
        Action::PageDown => move_by(state, open, height.saturating_sub(1).max(1) as isize, height),
        Action::Top => move_by(state, open, isize::MIN / 2, height),
        Action::Bottom => move_by(state, open, isize::MAX / 2, height),
        other => return gate::act(state, open, other, diff),
    }
    Vec::new()
}

fn focus(open: &mut OpenReview, by: isize) {
    let count = ReviewPane::ALL.len() as isize;
    let at = ReviewPane::ALL.iter().position(|pane| *pane == open.focus).unwrap_or(0) as isize;
    open.focus = ReviewPane::ALL[(at + by).rem_euclid(count) as usize];
}

fn hunk(state: &mut State, open: &mut OpenReview, by: i32, height: usize) {
    let Some((at, _)) = open.current() else {
        return;
    };
    match at.checked_add_signed(by as isize).filter(|to| *to < open.parts().len()) {
        Some(to) => open.go(to, height),
        None => {
            let said = if by < 0 { "the first hunk" } else { "the last hunk" };
            state.say(Mood::Info, said);
        }
    }
}

/// A page of the diff: what shows moves by as much as the cursor.
fn page(open: &mut OpenReview, rows: isize, height: usize) {
    let len = open.diff.len();
    open.scroll.scroll_by(rows, len, height);
    let (top, wanted) = (open.scroll.top, open.scroll.selected.saturating_add_signed(rows));
    let last = (top + height).min(len).saturating_sub(1);
    let margin = if height > 8 { 2 } else { 0 };
    let least = if top == 0 { 0 } else { (top + margin).min(last) };
    let most = if last + 1 >= len {
        last
    } else {
        last.saturating_sub(margin).max(least)
    };
    open.scroll.selected = wanted.clamp(least, most);
}

/// Moves in the pane with the focus.
fn move_by(state: &State, open: &mut OpenReview, rows: isize, height: usize) {
    match open.focus {
        ReviewPane::Diff if rows.abs() > 1 => page(open, rows, height),
        ReviewPane::Diff => open.scroll.select_by(rows, open.diff.len(), height),
        ReviewPane::Hunks => {
            let at = open.current().map_or(0, |(at, _)| at);
            let to = at.saturating_add_signed(rows).min(open.parts().len().saturating_sub(1));
            let diff = layout::review(state.size, open.focus).inner(ReviewPane::Diff).height;
            open.go(to, usize::from(diff).max(1));
        }
        ReviewPane::Why => open.why.scroll.select_by(rows, open.why.document.len(), height),
        ReviewPane::Gate => {
            let area = layout::review(state.size, open.focus).inner(ReviewPane::Gate);
            let len = crate::tui::panels::review_gate::lines(open, usize::from(area.width), &state.theme).len();
            open.gate.scroll_by(rows, len, height);
        }
    }
}

/// Opens what the cursor is on.
fn enter(state: &mut State, open: &mut OpenReview, diff: usize) -> Vec<Effect> {
    match open.focus {
        ReviewPane::Diff => {
            let row = open.diff.row_at(open.scroll.selected);
            if !open.diff.unfold(row) {
                state.say(Mood::Info, "no fold is under the cursor; z shows all lines");
            }
        }
        ReviewPane::Hunks => {
            let at = open.current().map_or(0, |(at, _)| at);
            open.focus = ReviewPane::Diff;
            open.go(at, diff);
        }
        ReviewPane::Why => return follow(state, open),
        ReviewPane::Gate => {}
    }
    Vec::new()
}

/// Goes to the step that the line under the cursor names.
fn follow(state: &mut State, open: &OpenReview) -> Vec<Effect> {
    let line = open.why.document.line_at(open.why.scroll.selected);
    let link = open.links.iter().find(|(at, _)| *at == line);
    let evidence = link.and_then(|(_, at)| open.dossier.proposal.draft.evidence.get(*at));
    let Some(evidence) = evidence else {
        state.say(Mood::Info, "this line leads nowhere; ] goes to the next that does");
        return Vec::new();
    };
    state.came_from = Some(Screen::Review);
    state.opening = true;
    vec![Effect::Open {
        path: evidence.run.clone().into(),
        episode: evidence.episode,
        step: Some(evidence.step),
    }]
}

/// The next or the last line before the cursor that leads to a step.
fn evidence(open: &mut OpenReview, on: bool, height: usize) {
    let line = open.why.document.line_at(open.why.scroll.selected);
    let mut lines = open.links.iter().map(|(at, _)| *at);
    let to = if on {
        lines.find(|at| *at > line)
    } else {
        lines.rfind(|at| *at < line)
    };
    if let Some(to) = to {
        let row = open.why.document.row_of_line(to);
        open.why.scroll.select(row, open.why.document.len(), height);
    }
}

/// A proposal is here, for the first time or again.
pub(super) fn opened(state: &mut State, dossier: Arc<Dossier>) -> Vec<Effect> {
    let id = dossier.standing.id.clone();
    match &mut state.review.open {
        Some(open) if open.standing().id == id => {
            let before = open.standing().state;
            open.take(dossier);
            let now = open.standing().state;
            if before != now {
                let said = changed(now, open);
                if now != Standing::Pending && before == Standing::Pending {
                    open.focus = ReviewPane::Gate;
                }
                if let Some((mood, said)) = said {
                    state.say(mood, said);
                }
            }
        }
        _ if state.review.opening.as_ref() == Some(&id) => {
            state.review.open = Some(Box::new(OpenReview::new(dossier)));
        }
        // It was closed meanwhile.
        _ => return Vec::new(),
    }
    state.review.opening = None;
    Vec::new()
}

/// What a change of state means for the person.
fn changed(now: Standing, open: &OpenReview) -> Option<(Mood, String)> {
    let id = &open.standing().id;
    Some(match now {
        Standing::Pending => (
            Mood::Info,
            format!("{id} is open again: its decisions are not committed"),
        ),
        Standing::Decided => (Mood::Good, format!("{id} is decided; the result is being checked")),
        Standing::Checked if open.standing().kind == "recipe" => {
            (Mood::Good, format!("{id} passed its check: it can be trained by"))
        }
        Standing::Checked => (Mood::Good, format!("{id} passed its check and waits for its gate")),
        Standing::CheckFailed => (
            Mood::Bad,
            format!(
                "{id} cannot work as decided: {} problems; u takes the commitment back",
                open.standing().problems.len()
            ),
        ),
        Standing::Gating => (Mood::Info, format!("{id} is being played on its gate's seeds")),
        Standing::Gated => (Mood::Info, format!("the gate of {id} is over")),
        Standing::Certified => (Mood::Good, format!("the training set of {id} is certified")),
        Standing::Used => (Mood::Good, format!("{id} is used")),
        Standing::Promoted => (Mood::Good, format!("{id} is the head of {} now", open.standing().line)),
        Standing::Discarded => (Mood::Info, format!("{id} is discarded; u brings it back")),
        Standing::Superseded => (Mood::Info, format!("another has taken the place of {id}")),
        Standing::Stale => (Mood::Bad, format!("{id} is stale: {}", open.standing().why)),
        Standing::Applying => return None,
    })
}

/// Fits the open proposal to the screen; gives what has to be found out.
pub(super) fn settle(state: &mut State) -> Vec<Effect> {
    if state.screen != Screen::Review || layout::too_small(state.size) {
        return Vec::new();
    }
    let len = state.review.list.len();
    let height = super::page(state);
    state.review.scroll.reveal(len, height);
    let Some(mut open) = state.review.open.take() else {
        return Vec::new();
    };
    open.fit(state.size);
    review_open::settle_why(&mut open, state.size, &state.theme);
    let area = layout::review(state.size, open.focus).inner(ReviewPane::Diff);
    let wanted = open.wanted_colours(usize::from(area.height));
    state.review.open = Some(open);
    wanted.into_iter().map(Effect::Colour).collect()
}

/// A frame was drawn: what is on it was seen.
pub(crate) fn saw(state: &mut State) {
    // A question in the middle of the screen hides what is behind it; a line at its foot does not.
    let hidden = state
        .overlays
        .iter()
        .any(|overlay| !matches!(overlay, Overlay::Line(_)));
    if state.screen != Screen::Review || hidden || layout::too_small(state.size) {
        return;
    }
    let size = state.size;
    if let Some(open) = &mut state.review.open
        && open.saw(size)
    {
        state.redraw = true;
    }
}

/// What `Y` copies.
pub(super) fn copied(state: &State) -> Option<String> {
    let Some(open) = &state.review.open else {
        return state.review.selected().map(|standing| standing.id.to_string());
    };
    match open.focus {
        ReviewPane::Why => Some(open.dossier.proposal.draft.rationale.clone()),
        _ => {
            let (at, _) = open.current()?;
            Some(open.diff.pieces.get(at)?.added.concat())
        }
    }
}
