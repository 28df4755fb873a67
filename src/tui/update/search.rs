//! A search over the run: starts it, and goes from place to place.

use crate::tui::data::{Effect, SearchNews};
use crate::tui::panes::Wanted;
use crate::tui::state::{Mood, State};
use crate::tui::watch::Search;

/// Starts a search; an empty text ends the last one.
pub(super) fn start(state: &mut State, text: String) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    let text = text.trim().to_owned();
    watch.search = Search {
        progress: (!text.is_empty()).then_some((0, 0)),
        text: text.clone(),
        ..Search::default()
    };
    if text.is_empty() {
        vec![Effect::CancelSearch]
    } else {
        vec![Effect::Search {
            path: watch.path.clone(),
            text,
        }]
    }
}

/// Goes to a place that was found. The first time to the nearest one from the cursor on.
pub(super) fn hit(state: &mut State, by: i32) -> Vec<Effect> {
    let Some(watch) = &mut state.watch else {
        return Vec::new();
    };
    let here = (watch.episode, watch.cursor);
    let hits = &watch.search.hits;
    let count = hits.len() as i64;
    if count == 0 {
        return Vec::new();
    }
    let at = match watch.search.at {
        Some(at) => (at as i64 + i64::from(by)).rem_euclid(count) as usize,
        None => hits.partition_point(|hit| (hit.episode, hit.step) < here) % hits.len(),
    };
    watch.search.at = Some(at);
    let place = hits[at].clone();
    watch.follow = false;
    watch.playing = false;
    watch.actions.wanted = Some((place.step, Wanted::Event(place.event)));
    let said = format!("{} of {count}: step {}, {}", at + 1, place.step, place.what);
    let effects = if place.episode == watch.episode {
        watch.go(place.step);
        Vec::new()
    } else {
        vec![Effect::Open {
            path: watch.path.clone(),
            episode: place.episode,
            step: Some(place.step),
        }]
    };
    state.say(Mood::Info, said);
    effects
}

/// News of the search. A prompt and its answer, or what an operation was asked and what it gave,
/// stand in one row and count as one place, so that each step of `n` leads to another row.
pub(super) fn news(state: &mut State, news: SearchNews) -> Vec<Effect> {
    let Some(open) = &mut state.watch else {
        return Vec::new();
    };
    match news {
        SearchNews::Progress(done, total) => open.search.progress = Some((done, total)),
        SearchNews::Found(mut hits) => {
            hits.dedup_by_key(|hit| (hit.episode, hit.step, hit.event));
            open.search.progress = None;
            open.search.hits = hits;
            open.search.at = None;
            if open.search.hits.is_empty() {
                let said = format!("`{}` is nowhere in the run", open.search.text);
                state.say(Mood::Info, said);
                return Vec::new();
            }
            return hit(state, 1);
        }
        SearchNews::Failed(message) => {
            open.search.progress = None;
            state.say(Mood::Bad, message);
        }
    }
    Vec::new()
}
