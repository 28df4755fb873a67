//! The filter of the stream of actions: sets it, goes through what it shows, keeps up with a run
//! that grows.

use crate::tui::data::{Effect, FilterNews};
use crate::tui::filter::Filter;
use crate::tui::overlay::{LineFor, LinePrompt, Overlay};
use crate::tui::state::{Mood, State};
use crate::tui::watch::{Filtering, Watch};

/// Asks for the words, beginning with those that hold, or that were typed and are none.
pub(super) fn ask(state: &mut State) {
    let filtering = state.watch.as_ref().and_then(|watch| watch.filtering.as_ref());
    let holds = filtering.map(|filtering| filtering.filter.to_string());
    let wrong = state.watch.as_mut().and_then(|watch| watch.filter_typed.take());
    let text = wrong.or(holds).unwrap_or_default();
    let purpose = LineFor::Stream;
    state.overlays.push(Overlay::Line(LinePrompt { purpose, text }));
}

/// Takes what was typed; what is no filter waits to be mended.
pub(super) fn accept(state: &mut State, text: String) -> Vec<Effect> {
    match Filter::parse(&text) {
        Ok(filter) => set(state, filter),
        Err(error) => {
            if let Some(watch) = &mut state.watch {
                watch.filter_typed = Some(text);
            }
            state.say(Mood::Bad, format!("{error} (F goes on with it)"));
            Vec::new()
        }
    }
}

/// Filters from now on; an empty filter ends it.
pub(super) fn set(state: &mut State, filter: Filter) -> Vec<Effect> {
    if filter.is_empty() {
        return clear(state);
    }
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    watch.filtering = Some(Filtering {
        filter: filter.clone(),
        progress: Some((0, 0)),
        ..Filtering::default()
    });
    watch.actions.row = 0;
    let path = watch.path.clone();
    vec![Effect::Filter { path, filter }]
}

/// Shows everything again.
pub(super) fn clear(state: &mut State) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    if watch.filtering.take().is_none() {
        return Vec::new();
    }
    watch.actions.row = 0;
    watch.asked = None;
    state.say(Mood::Info, "no filter: all actions show");
    vec![Effect::CancelFilter]
}

/// Goes to the step before or after that has something to show, in the whole run.
pub(super) fn go(state: &mut State, forward: bool) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    let Some(filtering) = &watch.filtering else {
        return Vec::new();
    };
    let Some(found) = filtering.beside(watch.episode, watch.cursor, forward) else {
        let said = match (filtering.progress.is_some(), forward) {
            (true, _) => "the run is still being looked through",
            (false, true) => "nothing after this step matches the filter",
            (false, false) => "nothing before this step matches the filter",
        };
        state.say(Mood::Info, said);
        return Vec::new();
    };
    watch.playing = false;
    watch.follow = false;
    if found.episode == watch.episode {
        watch.go(found.step);
        return Vec::new();
    }
    vec![Effect::Open {
        path: watch.path.clone(),
        episode: found.episode,
        step: Some(found.step),
    }]
}

/// News of a look through the run.
pub(super) fn news(state: &mut State, news: FilterNews) {
    let Some(watch) = &mut state.watch else {
        return;
    };
    let Some(filtering) = &mut watch.filtering else {
        return;
    };
    match news {
        FilterNews::Progress(done, total) => filtering.progress = filtering.progress.map(|_| (done, total)),
        FilterNews::Found { filter, matches, seen } if filter == filtering.filter => {
            filtering.progress = None;
            filtering.matches = matches;
            filtering.seen = seen;
            watch.asked = None;
            if filtering.matches.is_empty() {
                let said = format!("nothing in the run matches `{filter}`; X shows everything again");
                state.say(Mood::Info, said);
            }
        }
        FilterNews::More {
            filter,
            matches,
            episode,
            seen,
        } if filter == filtering.filter => {
            filtering.asked = false;
            filtering.seen.insert(episode, seen);
            for found in matches {
                if let Err(at) = filtering.matches.binary_search(&found) {
                    filtering.matches.insert(at, found);
                }
            }
        }
        // Of a filter that does not hold any more.
        FilterNews::Found { .. } | FilterNews::More { .. } => {}
        FilterNews::Failed(message) => {
            filtering.progress = None;
            filtering.asked = false;
            state.say(Mood::Bad, message);
        }
    }
}

/// Asks about finished steps that were not looked at.
pub(super) fn keep_up(watch: &mut Watch) -> Option<Effect> {
    let (episode, steps) = (watch.episode, watch.steps());
    let filtering = watch.filtering.as_mut()?;
    if filtering.progress.is_some() || filtering.asked {
        return None;
    }
    let seen = filtering.seen.get(&episode).copied().unwrap_or_default();
    if seen >= steps {
        return None;
    }
    filtering.asked = true;
    Some(Effect::Sift {
        episode,
        steps: seen..steps,
        filter: filtering.filter.clone(),
    })
}
