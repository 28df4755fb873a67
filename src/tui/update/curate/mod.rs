//! Actions on the Curate screen: the list, the panes of a selection, and what comes from the edge.
//!
//! Verdicts and what follows them are `gate`'s.

mod gate;

use std::sync::Arc;

use crate::review::{Dossier, Item, ProposalId, State as Standing};
use crate::tui::curate::{Chosen, CurateNews, OpenSelection, SelectForm, Talk};
use crate::tui::data::Effect;
use crate::tui::effects::Ask;
use crate::tui::keymap::{Action, Place, Screen};
use crate::tui::layout::{self, CuratePane};
use crate::tui::overlay::{LineFor, LinePrompt, Overlay};
use crate::tui::panels::curate as panel;
use crate::tui::state::{Job, Mood, State};
use crate::types::StepNo;

pub(super) use gate::{said, sealed};

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    state.redraw = true;
    match state.curate.open.take() {
        None => list(state, action),
        Some(mut open) => {
            let effects = match action {
                Action::Back => match back(&mut open) {
                    true => Vec::new(),
                    // The selection is closed.
                    false => return vec![Effect::Review(Ask::Close)],
                },
                _ => self::open(state, &mut open, action),
            };
            state.curate.open = Some(open);
            effects
        }
    }
}

fn list(state: &mut State, action: Action) -> Vec<Effect> {
    let (len, height) = (state.curate.list.len(), super::page(state));
    let scroll = &mut state.curate.scroll;
    match action {
        Action::Up => scroll.select_by(-1, len, height),
        Action::Down => scroll.select_by(1, len, height),
        Action::PageUp => scroll.select_by(-(height as isize), len, height),
        Action::PageDown => scroll.select_by(height as isize, len, height),
        Action::Top => scroll.select(0, len, height),
        Action::Bottom => scroll.select(len, len, height),
        Action::Open => {
            if let Some(id) = state.curate.selected().map(|standing| standing.id.clone()) {
                return ask_for(state, id);
            }
        }
        Action::NewSelection => return open_form(state),
        Action::StopRun => return vec![Effect::StopSelecting],
        Action::Reload => return vec![Effect::Review(Ask::List)],
        _ => {}
    }
    Vec::new()
}

/// Has a selection opened; it shows once it is here.
pub(super) fn ask_for(state: &mut State, id: ProposalId) -> Vec<Effect> {
    state.curate.opening = Some(id.clone());
    vec![Effect::Review(Ask::Open(id))]
}

/// Back inside a selection: out of a range, then to the items; false when there is nothing to go out of.
fn back(open: &mut OpenSelection) -> bool {
    if open.chosen != Chosen::Current {
        open.chosen = Chosen::Current;
        return true;
    }
    if open.focus != CuratePane::Items {
        open.focus = CuratePane::Items;
        return true;
    }
    false
}

fn open(state: &mut State, open: &mut OpenSelection, action: Action) -> Vec<Effect> {
    let height = usize::from(layout::curate(state.size, open.focus).inner(open.focus).height).max(1);
    let page = height.saturating_sub(1).max(1) as isize;
    match action {
        Action::FocusNext => focus(open, 1),
        Action::FocusPrevious => focus(open, -1),
        Action::HunkBy(by) => {
            let before = open.scroll.selected;
            go_by(state.size, open, by as isize);
            if before == open.scroll.selected {
                let said = if by < 0 { "the first item" } else { "the last item" };
                state.say(Mood::Info, said);
            }
        }
        Action::Up => move_by(state, open, -1, height),
        Action::Down => move_by(state, open, 1, height),
        Action::PageUp => move_by(state, open, -page, height),
        Action::PageDown => move_by(state, open, page, height),
        Action::Top => move_by(state, open, isize::MIN / 2, height),
        Action::Bottom => move_by(state, open, isize::MAX / 2, height),
        Action::Open => return follow(state, open, None),
        Action::ReadAt => {
            let step = open.current().and_then(|(_, item)| item.facts.first_read);
            return follow(state, open, step);
        }
        Action::Filter => {
            let (purpose, text) = (LineFor::Items, open.filter.clone());
            state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
        }
        Action::ClearFilter => {
            let all = (0..).take(open.items.len()).collect();
            open.show("", all);
        }
        other => return gate::act(state, open, other),
    }
    Vec::new()
}

fn focus(open: &mut OpenSelection, by: isize) {
    let count = CuratePane::ALL.len() as isize;
    let at = CuratePane::ALL.iter().position(|pane| *pane == open.focus).unwrap_or(0) as isize;
    open.focus = CuratePane::ALL[(at + by).rem_euclid(count) as usize];
}

/// Goes to another item.
pub(super) fn go_by(size: (u16, u16), open: &mut OpenSelection, rows: isize) {
    let to = open.scroll.selected.saturating_add_signed(rows);
    go(size, open, to);
}

/// Goes to an item by its row.
fn go(size: (u16, u16), open: &mut OpenSelection, row: usize) {
    let height = panel::rows(layout::curate(size, CuratePane::Items).inner(CuratePane::Items));
    open.scroll.select(row, open.shown.len(), height);
}

/// Moves in the pane with the focus.
fn move_by(state: &State, open: &mut OpenSelection, rows: isize, height: usize) {
    match open.focus {
        CuratePane::Items => go_by(state.size, open, rows),
        CuratePane::Talk => open.page.scroll.scroll_by(rows, open.page.document.len(), height),
        CuratePane::Balance => {
            let area = layout::curate(state.size, open.focus).inner(open.focus);
            let len = panel::balance_lines(open, usize::from(area.width), state).len();
            open.side.scroll_by(rows, len, height);
        }
    }
}

/// Goes to the step of the current item, or to another one of its episode.
fn follow(state: &mut State, open: &OpenSelection, step: Option<StepNo>) -> Vec<Effect> {
    let found = open.current().and_then(|(_, item)| {
        let run = open.content()?.runs.get(item.run as usize)?;
        Some((run.path.clone().into(), item.episode, step.unwrap_or(item.step)))
    });
    let Some((path, episode, step)) = found else {
        state.say(Mood::Info, "there is no item to go to");
        return Vec::new();
    };
    state.came_from = Some(Screen::Curate);
    state.opening = true;
    vec![Effect::Open {
        path,
        episode,
        step: Some(step),
    }]
}

/// Items of a selection are here, ahead of it.
pub(super) fn items(state: &mut State, id: ProposalId, items: Arc<Vec<Item>>) {
    state.curate.items = Some((id, items));
}

/// A selection is here, for the first time or again.
pub(super) fn opened(state: &mut State, dossier: Arc<Dossier>) -> Vec<Effect> {
    let id = dossier.standing.id.clone();
    match &mut state.curate.open {
        Some(open) if open.standing().id == id => {
            let before = open.standing().state;
            open.take(dossier);
            let now = open.standing().state;
            if before != now {
                let (mood, said) = changed(now, open);
                state.say(mood, said);
            }
        }
        _ if [&state.curate.opening, &state.review.opening].contains(&&Some(id.clone())) => {
            let Some((_, items)) = state.curate.items.take_if(|(of, _)| *of == id) else {
                return Vec::new();
            };
            // What was asked for where other proposals are shown is shown here.
            if state.review.opening.take_if(|opening| *opening == id).is_some() && state.screen == Screen::Review {
                state.screen = Screen::Curate;
            }
            state.curate.open = Some(Box::new(OpenSelection::new(dossier, items)));
            state.curate.opening = None;
        }
        // It was closed meanwhile.
        _ => {}
    }
    Vec::new()
}

/// What a change of state means for the person.
fn changed(now: Standing, open: &OpenSelection) -> (Mood, String) {
    let id = &open.standing().id;
    match now {
        Standing::Pending => (
            Mood::Info,
            format!("{id} is open again: its decisions are not committed"),
        ),
        Standing::Decided => (
            Mood::Good,
            format!("{id} is decided; what was accepted is being certified"),
        ),
        Standing::Certified => {
            let examples = open.standing().dataset.as_ref().map_or(0, |(_, _, examples)| *examples);
            (Mood::Good, format!("{id} is certified: {examples} examples"))
        }
        Standing::Discarded => (Mood::Info, format!("{id} is discarded; u brings it back")),
        other => (Mood::Info, format!("{id} is {}", other.word())),
    }
}

/// A conversation is here.
pub(super) fn talk(state: &mut State, proposal: &ProposalId, at: u32, talk: Result<Arc<Talk>, String>) {
    if let Some(open) = state
        .curate
        .open
        .as_mut()
        .filter(|open| open.standing().id == *proposal)
    {
        open.take_talk(at, talk);
    }
}

/// Fits the open selection to the screen; gives what has to be read.
pub(super) fn settle(state: &mut State) -> Vec<Effect> {
    if state.screen != Screen::Curate || layout::too_small(state.size) {
        return Vec::new();
    }
    let len = state.curate.list.len();
    let height = super::page(state);
    state.curate.scroll.reveal(len, height);
    let Some(mut open) = state.curate.open.take() else {
        return Vec::new();
    };
    let row = open.scroll.selected;
    go(state.size, &mut open, row);
    panel::settle_talk(&mut open, state.size, &state.theme);
    let wanted = open.wanted();
    state.curate.open = Some(open);
    wanted.into_iter().map(Effect::Talk).collect()
}

/// Opens the dialog as it was left.
fn open_form(state: &mut State) -> Vec<Effect> {
    if let Some(word) = &state.curate.working {
        let said = format!("one at a time: {word}");
        state.say(Mood::Info, said);
        return Vec::new();
    }
    let mut form = state.curate.form.take().unwrap_or_else(SelectForm::new);
    form.know(&state.runs.entries);
    form.fields.at = 0;
    state.overlays.push(Overlay::Select(Box::new(form)));
    // What was played meanwhile is known as soon as it is listed.
    vec![Effect::ListRuns]
}

/// Actions in the dialog.
pub(super) fn form(state: &mut State, form: &mut SelectForm, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::ChoiceBy(by) => form.choose(by),
        Action::Accept => {
            let request = form.request()?;
            state.curate.working = Some("reading runs".to_owned());
            state.curate.selecting = true;
            return Some(vec![Effect::Select(request)]);
        }
        other => form.fields.act(other),
    }
    None
}

/// A job of this screen goes on, or is over.
pub(super) fn news(state: &mut State, news: CurateNews) -> Vec<Effect> {
    match news {
        CurateNews::Does { word, done, total } => {
            state.curate.working = Some(word.clone());
            state.job = Some(Job {
                what: word,
                done,
                total,
            });
            return Vec::new();
        }
        CurateNews::Proposed(id) => {
            state.say(Mood::Good, format!("{id} waits for your decisions"));
            over(state);
            let free = state.curate.open.is_none() && state.screen == Screen::Curate;
            if free && state.overlays.is_empty() {
                return ask_for(state, id);
            }
        }
        CurateNews::Certified { proposal, report } => {
            state.curate.reports.insert(proposal, report);
        }
        CurateNews::Failed(said) => state.say(Mood::Bad, said),
    }
    over(state);
    Vec::new()
}

fn over(state: &mut State) {
    state.curate.working = None;
    state.curate.selecting = false;
    state.job = None;
}

/// What `Y` copies.
pub(super) fn copied(state: &State) -> Option<String> {
    let Some(open) = &state.curate.open else {
        return state.curate.selected().map(|standing| standing.id.to_string());
    };
    let (at, item) = open.current()?;
    match (open.focus, open.talk(at)) {
        (CuratePane::Talk, Some(Ok(talk))) => talk.messages.last().map(|message| message.content.clone()),
        _ => Some(item.id.clone()),
    }
}

/// The key that shows the list of keys of a selection's action.
fn key(state: &State, action: Action) -> String {
    state.keymap.shown(Place::Selection, action)
}
