//! Actions in Lab, and its news.

use crate::review::ProposalId;
use crate::tui::data::{Effect, LabNews};
use crate::tui::effects::{Ask, LabAsk};
use crate::tui::keymap::{Action, Place, Screen};
use crate::tui::lab::{GateLine, LabPane, LineageRow, Working};
use crate::tui::layout;
use crate::tui::optimize::OptimizeForm;
use crate::tui::overlay::Overlay;
use crate::tui::state::{Mood, State};
use crate::types::EpisodeNo;

pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    state.redraw = true;
    let pane = state.lab.pane;
    let len = state.lab.len(pane);
    let height = usize::from(layout::lab(state.size, pane).inner(pane).height)
        .saturating_sub(4)
        .max(1);
    let scroll = &mut state.lab.scrolls[pane as usize];
    match action {
        Action::Up => scroll.select_by(-1, len, height),
        Action::Down => scroll.select_by(1, len, height),
        Action::PageUp => scroll.select_by(-(height as isize), len, height),
        Action::PageDown => scroll.select_by(height as isize, len, height),
        Action::Top => scroll.select(0, len, height),
        Action::Bottom => scroll.select(len, len, height),
        Action::FocusNext => state.lab.pane = pane.further(1),
        Action::FocusPrevious => state.lab.pane = pane.further(LabPane::ALL.len() - 1),
        Action::Reload => return load(state),
        Action::Unfold => fold(state, true),
        Action::Fold => fold(state, false),
        Action::Open => return open(state, false),
        Action::ParentRun => return open(state, true),
        Action::Optimize => open_form(state),
        Action::StopOptimization => return stop(state),
        Action::ResumeOptimization => return resume(state),
        _ => {}
    }
    Vec::new()
}

/// Has Lab read anew.
pub(super) fn load(state: &mut State) -> Vec<Effect> {
    state.lab.stale = false;
    state.lab.looking = true;
    vec![Effect::Lab(LabAsk::Load)]
}

/// Has Lab brought up to date while it shows, one look at a time.
pub(super) fn settle(state: &mut State, effects: &mut Vec<Effect>) {
    if state.screen == Screen::Lab && state.lab.stale && !state.lab.looking {
        effects.extend(load(state));
    }
}

fn fold(state: &mut State, open: bool) {
    match state.lab.pane {
        LabPane::Lineage => {
            let Some(row) = state.lab.selected_lineage() else {
                return;
            };
            let (LineageRow::Version(at) | LineageRow::Run(at, _)) = row else {
                return;
            };
            let node = &state.lab.data.lineage.nodes[at];
            let key = (node.line.clone(), node.digest);
            if open {
                state.lab.unfolded.insert(key);
            } else {
                state.lab.unfolded.remove(&key);
            }
            select_row(state, LineageRow::Version(at));
        }
        LabPane::Gates => {
            let Some(GateLine::Gate(at) | GateLine::Seed(at, _)) = state.lab.selected_gate() else {
                return;
            };
            let id = state.lab.data.proposals[at].id.clone();
            if open {
                state.lab.opened.insert(id);
            } else {
                state.lab.opened.remove(&id);
            }
            let place = state
                .lab
                .gate_lines()
                .iter()
                .position(|line| *line == GateLine::Gate(at));
            state.lab.scrolls[LabPane::Gates as usize].selected = place.unwrap_or(0);
        }
        LabPane::Chart | LabPane::Optimizations | LabPane::Trainings => {}
    }
}

fn select_row(state: &mut State, row: LineageRow) {
    let place = state.lab.lineage_rows().iter().position(|other| *other == row);
    state.lab.scrolls[LabPane::Lineage as usize].selected = place.unwrap_or(0);
}

/// From a number to what it was counted from: a run in Watch, or a proposal in Review.
fn open(state: &mut State, parent: bool) -> Vec<Effect> {
    let lab = &state.lab;
    match lab.pane {
        LabPane::Lineage => match lab.selected_lineage() {
            Some(LineageRow::Run(at, run)) => {
                let path = lab.data.lineage.nodes[at].runs[run].path.clone();
                open_run(state, path, EpisodeNo(0))
            }
            Some(LineageRow::Version(at)) => match lab.data.lineage.nodes[at].runs.as_slice() {
                [] => {
                    let said = "no run was played with exactly these files";
                    state.say(Mood::Info, said);
                    Vec::new()
                }
                [only] => {
                    let path = only.path.clone();
                    open_run(state, path, EpisodeNo(0))
                }
                _ => {
                    fold(state, true);
                    Vec::new()
                }
            },
            Some(LineageRow::Specialist(at)) => {
                let path = lab.data.specialists[at].run.clone();
                open_run(state, path, EpisodeNo(0))
            }
            Some(LineageRow::Proposal(at, _)) => {
                let id = lab.data.proposals[at].id.clone();
                open_proposal(state, id)
            }
            None => Vec::new(),
        },
        LabPane::Chart => {
            let found = lab
                .charted()
                .get(lab.scroll(LabPane::Chart).selected)
                .and_then(|node| node.runs.last());
            match found.map(|run| run.path.clone()) {
                Some(path) => open_run(state, path, EpisodeNo(0)),
                None => Vec::new(),
            }
        }
        LabPane::Gates => match lab.selected_gate() {
            Some(GateLine::Gate(at)) if !parent => {
                let id = lab.data.proposals[at].id.clone();
                open_proposal(state, id)
            }
            Some(GateLine::Gate(at)) => open_side(state, at, None, true),
            Some(GateLine::Seed(at, pair)) => open_side(state, at, Some(pair.seed), parent),
            None => Vec::new(),
        },
        LabPane::Trainings => {
            state.lab.shows_facts = !state.lab.shows_facts;
            Vec::new()
        }
        LabPane::Optimizations => {
            let Some(one) = lab.selected_optimization() else {
                return Vec::new();
            };
            match (one.proposal.clone(), one.run.clone()) {
                (Some(id), _) => open_proposal(state, id),
                (None, Some(path)) => open_run(state, path, EpisodeNo(0)),
                (None, None) => {
                    state.say(Mood::Info, "nothing was played yet");
                    Vec::new()
                }
            }
        }
    }
}

/// A side of a gate, at the episode of a seed.
fn open_side(state: &mut State, at: usize, seed: Option<u64>, parent: bool) -> Vec<Effect> {
    let data = &state.lab.data;
    let Some(gate) = &data.proposals[at].gate else {
        return Vec::new();
    };
    let run = if parent { &gate.parent_run } else { &gate.revision_run };
    let episode = seed.map_or(EpisodeNo(0), |seed| data.episode(run, seed));
    let path = run.into();
    open_run(state, path, episode)
}

fn open_run(state: &mut State, path: std::path::PathBuf, episode: EpisodeNo) -> Vec<Effect> {
    state.came_from = Some(Screen::Lab);
    state.opening = true;
    vec![Effect::Open {
        path,
        episode,
        step: None,
    }]
}

fn open_proposal(state: &mut State, id: ProposalId) -> Vec<Effect> {
    // Items have a screen of their own.
    if state.curate.list.iter().any(|standing| standing.id == id) {
        let mut effects = super::show(state, Screen::Curate);
        effects.extend(super::curate::ask_for(state, id));
        return effects;
    }
    let mut effects = super::show(state, Screen::Review);
    state.review.opening = Some(id.clone());
    effects.push(Effect::Review(Ask::Open(id)));
    effects
}

/// Opens the dialog as it was left; the selected scaffold is meant.
fn open_form(state: &mut State) {
    if state.lab.working.is_some() {
        let key = state.keymap.shown(Place::Lab, Action::StopOptimization);
        state.say(
            Mood::Info,
            format!("one optimization at a time; {key} stops the one under way"),
        );
        return;
    }
    let selected = state
        .lab
        .selected_node()
        .filter(|node| node.head)
        .map(|node| node.line.clone());
    let mut form = match state.lab.form.take() {
        Some(form) => form,
        None => OptimizeForm::new(None, &state.runs.run, &state.runs.here),
    };
    form.know(&state.runs.here);
    form.fields.at = 0;
    if let Some(scaffold) = selected.filter(|_| state.lab.pane == LabPane::Lineage) {
        form.mean(&scaffold);
    }
    state.overlays.push(Overlay::Optimize(Box::new(form)));
}

/// Actions in the dialog.
pub(super) fn form(state: &mut State, form: &mut OptimizeForm, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::ChoiceBy(by) => form.choose(by),
        Action::Accept => {
            let request = form.request()?;
            state.lab.working = Some(Working {
                word: "starting; a model may take a while to load".to_owned(),
                ..Working::default()
            });
            state.lab.pane = LabPane::Optimizations;
            return Some(vec![Effect::Lab(LabAsk::Start(request))]);
        }
        other => form.fields.act(other),
    }
    None
}

fn stop(state: &mut State) -> Vec<Effect> {
    let Some(working) = &mut state.lab.working else {
        return Vec::new();
    };
    working.stopping = true;
    state.say(Mood::Info, "stopping; what was done is kept, and it can be resumed");
    vec![Effect::Lab(LabAsk::Stop)]
}

fn resume(state: &mut State) -> Vec<Effect> {
    let Some(name) = state.resumable_optimization().map(str::to_owned) else {
        return Vec::new();
    };
    state.lab.working = Some(Working {
        name: Some(name.clone()),
        word: "going on".to_owned(),
        ..Working::default()
    });
    vec![Effect::Lab(LabAsk::Resume(name))]
}

/// News of Lab.
pub(super) fn news(state: &mut State, news: LabNews) -> Vec<Effect> {
    let lab = &mut state.lab;
    match news {
        LabNews::Loaded(data) => lab.take(*data),
        LabNews::Trainings(trainings) => lab.take_trainings(trainings),
        LabNews::Began(name) => {
            lab.stale = true;
            lab.working.get_or_insert_default().name = Some(name);
        }
        LabNews::Does { word, done, total } => {
            let working = lab.working.get_or_insert_default();
            if working.word != word {
                let before = std::mem::replace(&mut working.word, word);
                if !before.is_empty() {
                    working.tell(before);
                }
            }
            working.progress = (total > 0).then_some((done, total));
        }
        LabNews::Told(said) => {
            lab.working.get_or_insert_default().tell(said);
            lab.stale = true;
            state.runs.stale = true;
        }
        LabNews::Ended(outcome) => {
            lab.working = None;
            lab.stale = true;
            state.runs.stale = true;
            match outcome {
                Ok(said) => state.say(Mood::Good, said),
                Err(said) => state.say(Mood::Bad, said),
            }
        }
    }
    Vec::new()
}
