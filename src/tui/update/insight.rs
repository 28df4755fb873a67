//! Metrics, findings and faults: opens the panel, has the run measured, goes from step to step.

use crate::analysis::Place;
use crate::tui::data::Effect;
use crate::tui::insight::{InsightNews, InsightPanel, Tab};
use crate::tui::keymap::Action;
use crate::tui::overlay::Overlay;
use crate::tui::panels::insight::{list_rows, number_rows};
use crate::tui::state::{Mood, State};
use crate::tui::watch::Watch;
use crate::types::StepNo;

/// Shows the panel. What is not measured yet, `keep_up` asks for.
pub(super) fn open(state: &mut State) -> Vec<Effect> {
    if let Some(watch) = &mut state.watch {
        watch.insight.failed = None;
        super::push(state, Overlay::Insight(InsightPanel::default()));
    }
    Vec::new()
}

/// The panel was closed: a look that is under way ends.
pub(super) fn closed(state: &mut State) -> Vec<Effect> {
    match &mut state.watch {
        Some(watch) if watch.insight.progress.is_some() => vec![Effect::CancelAnalysis],
        _ => Vec::new(),
    }
}

/// Has the run measured while the panel shows and there is something new, one look at a time.
pub(super) fn keep_up(watch: &mut Watch, shows: bool) -> Option<Effect> {
    let insight = &mut watch.insight;
    if !shows || insight.progress.is_some() || insight.failed.is_some() {
        return None;
    }
    let steps = StepNo(watch.marks.len() as u32);
    let wanted = (watch.episode, steps);
    let known = insight
        .known
        .as_ref()
        .is_some_and(|view| view.episode == watch.episode && view.steps_of(watch.episode) >= u64::from(steps.0));
    if known || insight.asked == Some(wanted) {
        return None;
    }
    insight.asked = Some(wanted);
    insight.progress = Some((0, 0));
    Some(Effect::Analyse {
        path: watch.path.clone(),
        episode: watch.episode,
    })
}

/// News of a look.
pub(super) fn news(state: &mut State, news: InsightNews) {
    let path = match &news {
        InsightNews::Progress(path, ..)
        | InsightNews::Known(path, _)
        | InsightNews::Stopped(path)
        | InsightNews::Failed(path, _) => path,
    };
    let Some(watch) = state.watch.as_deref_mut().filter(|watch| watch.path == *path) else {
        return;
    };
    let insight = &mut watch.insight;
    match news {
        InsightNews::Progress(_, done, total) => {
            // Not after the end of the look that it tells of.
            if insight.progress.is_some() {
                insight.progress = Some((done, total));
            }
        }
        InsightNews::Known(_, view) => {
            insight.progress = None;
            insight.known = Some(view);
        }
        InsightNews::Stopped(_) => {
            insight.progress = None;
            insight.asked = None;
        }
        InsightNews::Failed(_, said) => {
            insight.progress = None;
            insight.asked = None;
            insight.failed = Some(said.clone());
            state.say(Mood::Bad, said);
        }
    }
}

/// A key while the panel is on top.
pub(super) fn act(state: &mut State, panel: &mut InsightPanel, action: Action) -> Vec<Effect> {
    let Some(watch) = state.watch.as_deref_mut() else {
        return Vec::new();
    };
    let count = watch.insight.known.as_ref().map_or(0, |view| view.len());
    let rows = list_rows(state.size, count);
    let selected = panel.list.selected;
    match (action, panel.tab) {
        (Action::Part, Tab::Findings) => panel.tab = Tab::Numbers,
        (Action::Part, Tab::Numbers) => panel.tab = Tab::Findings,
        (Action::Up, Tab::Findings) => panel.list.select_by(-1, count, rows),
        (Action::Down, Tab::Findings) => panel.list.select_by(1, count, rows),
        (Action::PageUp, Tab::Findings) => panel.list.select_by(-(rows as isize), count, rows),
        (Action::PageDown, Tab::Findings) => panel.list.select_by(rows as isize, count, rows),
        (Action::Up | Action::Down | Action::PageUp | Action::PageDown, Tab::Numbers) => {
            let (len, height) = number_rows(state.size);
            let by = match action {
                Action::Up => -1,
                Action::Down => 1,
                Action::PageUp => -(height as isize),
                _ => height as isize,
            };
            panel.numbers.scroll_by(by, len, height);
        }
        (Action::StepBy(by), _) => {
            watch.playing = false;
            watch.follow = false;
            watch.go(StepNo(watch.cursor.0.saturating_add_signed(by)));
        }
        (Action::Open, Tab::Findings) => return to_step(state, panel, 1),
        (Action::HitBy(by), Tab::Findings) => return to_step(state, panel, by),
        _ => {}
    }
    if panel.list.selected != selected {
        panel.at = None;
    }
    Vec::new()
}

/// Goes to the next of the steps that show what is selected; the first time to the first one.
fn to_step(state: &mut State, panel: &mut InsightPanel, by: i32) -> Vec<Effect> {
    let known = state.watch.as_ref().and_then(|watch| watch.insight.known.clone());
    let steps = known.and_then(|view| view.item(panel.list.selected).map(|item| item.steps()));
    let steps = steps.unwrap_or_default();
    if steps.is_empty() {
        state.say(Mood::Info, "no step shows this");
        return Vec::new();
    }
    let count = steps.len() as i64;
    let at = match panel.at {
        Some(at) => (at as i64 + i64::from(by)).rem_euclid(count) as usize,
        None if by < 0 => steps.len() - 1,
        None => 0,
    };
    panel.at = Some(at);
    let place = steps[at];
    state.say(Mood::Info, format!("{} of {count}: step {}", at + 1, shown(place)));
    go(state, place)
}

fn go(state: &mut State, place: Place) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    watch.follow = false;
    watch.playing = false;
    if place.episode == watch.episode {
        watch.go(place.step);
        return Vec::new();
    }
    vec![Effect::Open {
        path: watch.path.clone(),
        episode: place.episode,
        step: Some(place.step),
    }]
}

/// A step as people read it: with its episode where that is not the first.
fn shown(place: Place) -> String {
    match place.episode.0 {
        0 => place.step.to_string(),
        episode => format!("{} of episode {episode}", place.step),
    }
}
