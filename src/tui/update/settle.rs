//! Before a frame is drawn: follows the live end, prepares texts, asks for what is missing.
//!
//! Many events may come between two frames; what follows from them is done once, here.

use super::watch::wanted_map;
use super::{curate, filter, insight, lab, memory, review};
use crate::tui::data::Effect;
use crate::tui::inspector;
use crate::tui::keymap::Screen;
use crate::tui::layout::{self, Pane};
use crate::tui::overlay::Overlay;
use crate::tui::panels;
use crate::tui::panes::Wanted;
use crate::tui::state::State;
use crate::tui::stream;
use crate::tui::theme::Theme;
use crate::tui::watch::Watch;
use crate::tui::widgets::document::Document;
use crate::tui::widgets::list::Scroll;
use crate::tui::widgets::paint;
use crate::types::Body;
use std::path::PathBuf;
use std::sync::Arc;

/// Brings the state in order; gives what has to be loaded.
pub(crate) fn settle(state: &mut State) -> Vec<Effect> {
    let mut effects = Vec::new();
    follow(state, &mut effects);
    list(state, &mut effects);
    lab::settle(state, &mut effects);
    effects.extend(review::settle(state));
    effects.extend(curate::settle(state));
    effects.extend(memory::lookout(state));
    memory::take_outside(state);
    let (memory_area, scaffold_area) = (state.inner(Pane::Memory), state.inner(Pane::Scaffold));
    let insight_shows = state
        .overlays
        .iter()
        .any(|overlay| matches!(overlay, Overlay::Insight(_)));
    if let Some(watch) = state.watch.as_deref_mut() {
        effects.extend(load(watch));
        show(watch);
        effects.extend(filter::keep_up(watch));
        effects.extend(insight::keep_up(watch, insight_shows));
        select_row(watch);
        open_memory(watch, &state.theme, memory_area);
        effects.extend(blame(watch, memory_area));
        if memory_area.height > 0 {
            let rows = watch
                .memory_shown
                .as_ref()
                .map_or(0, |memory| watch.memory.rows(memory).len());
            let text = layout::tree_and_text(memory_area, rows).2;
            effects.extend(memory::settle(watch, &state.theme, text));
        }
        open_scaffold(watch, &state.theme, scaffold_area);
    }
    if let Some(wanted) = panels::game::wanted(state)
        && state.pictures.ask(&wanted)
    {
        effects.push(Effect::Picture(wanted));
    }
    if let Some(Overlay::Inspector(inspector)) = state.overlays.last_mut() {
        inspector.fit(state.size);
    }
    effects
}

/// Has the list of runs brought up to date while it shows, one look at a time.
fn list(state: &mut State, effects: &mut Vec<Effect>) {
    if state.screen != Screen::Runs || !state.runs.loaded {
        return;
    }
    if !state.runs.looked_for_leftovers {
        state.runs.looked_for_leftovers = true;
        effects.push(Effect::LookForLeftovers);
    }
    if state.runs.stale && !state.runs.looking {
        state.runs.stale = false;
        state.runs.looking = true;
        effects.push(Effect::ListRuns);
    }
}

/// Takes the step under way from the live run and keeps the cursor at its end.
fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(watch) = state.watch.as_deref_mut() else {
        return;
    };
    if let Some(live) = state.live.as_mut().filter(|live| live.path == watch.path) {
        if live.stale && !watch.looking {
            live.stale = false;
            watch.looking = true;
            effects.push(Effect::LoadTimeline {
                episode: watch.episode,
                from: watch.steps(),
            });
        }
        let running = live.running();
        let steps = watch.steps();
        let episode = live.episodes.get_mut(&watch.episode);
        let ended = episode.as_ref().is_some_and(|episode| episode.ended);
        match episode.filter(|episode| !episode.ended && episode.record.step >= steps) {
            Some(episode) if episode.record.step == steps => {
                if let Some(memory) = episode.memory() {
                    watch.memories.put(steps, memory, watch.cursor);
                }
                watch.under_way = Some(Arc::new(episode.record.clone()));
            }
            // The record is a few commits behind the feed: what shows is the last committed step.
            _ => watch.under_way = None,
        }
        // Never from under a list or a question that a person has before them.
        if ended
            && watch.follow
            && !state.opening
            && state.screen == Screen::Watch
            && state.overlays.is_empty()
            && let Some(next) = running
        {
            state.opening = true;
            effects.push(Effect::Open {
                path: watch.path.clone(),
                episode: next,
                step: None,
            });
        }
    } else {
        watch.under_way = None;
    }
    if watch.follow {
        let end = watch.end();
        let moved = watch.cursor != end;
        watch.cursor = end;
        let last = stream::rows_of(watch, end).len() - 1;
        if moved || last != watch.actions.row {
            watch.actions.row = last;
        }
        watch.follow = !watch.finished;
    }
    watch.cursor = watch.cursor.min(watch.end());
}

fn load(watch: &mut Watch) -> Vec<Effect> {
    let mut effects = Vec::new();
    if let Some(request) = watch.need() {
        watch.asked = Some((request.episode, request.step));
        effects.push(Effect::Load(request));
    }
    if let Some((episode, step)) = wanted_map(watch)
        && watch.game.map_asked != Some((episode, step))
    {
        watch.game.map_asked = Some((episode, step));
        effects.push(Effect::LoadMap { episode, step });
    }
    effects
}

/// What is drawn is the cursor's step, or the last one drawn until that is loaded.
fn show(watch: &mut Watch) {
    if let Some(record) = watch.record(watch.cursor) {
        watch.shown = Some(Arc::clone(record));
    }
    if let Some(memory) = watch.memories.get(watch.cursor) {
        watch.memory_shown = Some(Arc::clone(memory));
    }
}

/// Selects the row that the cursor went after, once its step is here.
fn select_row(watch: &mut Watch) {
    let Some((step, wanted)) = watch.actions.wanted.clone() else {
        return;
    };
    if step != watch.cursor {
        watch.actions.wanted = None;
        return;
    }
    let Some(record) = watch.record(step).cloned() else {
        return;
    };
    let event = match &wanted {
        Wanted::Event(event) => Some(*event),
        Wanted::Write(path) => record.events.iter().position(|body| match body {
            Body::MemoryOp { op } => op.changes.iter().any(|change| change.path == *path),
            Body::HumanEdited { changes } => changes.iter().any(|change| change.path == *path),
            _ => false,
        }),
    };
    let rows = stream::rows_of(watch, step);
    let row = rows
        .iter()
        .position(|placed| placed.event.is_some() && placed.event == event);
    watch.actions.row = row.unwrap_or(0);
    watch.actions.wanted = None;
}

fn open_memory(watch: &mut Watch, theme: &Theme, inner: ratatui::layout::Rect) {
    let Some(memory) = watch.memory_shown.clone() else {
        return;
    };
    let rows = watch.memory.rows(&memory);
    let (tree, _, text_area) = layout::tree_and_text(inner, rows.len());
    let pane = &mut watch.memory;
    let path = pane.open_path(&memory).map(str::to_owned);
    if (pane.chosen.is_none() || pane.in_file)
        && let Some(row) = rows.iter().position(|node| Some(&node.path) == path.as_ref())
    {
        pane.tree.selected = row;
    }
    pane.tree.selected = pane.tree.selected.min(rows.len().saturating_sub(1));
    pane.tree.reveal(rows.len(), usize::from(tree.height));
    let Some((path, file)) = path.and_then(|path| {
        let file = memory.files.get(&path)?;
        Some((path, file))
    }) else {
        pane.open = Default::default();
        return;
    };
    // line numbers and the mark of a changed line
    let columns = inner.width.saturating_sub(paint::GUTTER + paint::reads(inner.width));
    let key = Some((
        PathBuf::from(&path),
        Arc::as_ptr(&file.text).cast::<u8>() as u64,
        columns,
    ));
    let other = pane.open.key.as_ref().map(|key| &key.0) != Some(&PathBuf::from(&path));
    if pane.open.key != key {
        let text = inspector::text_of(file.text.strip_suffix('\n').unwrap_or(&file.text));
        let spans = paint::spans(&path, &text, theme);
        pane.open.document = Document::new(text, spans, usize::from(columns));
        pane.open.key = key;
    }
    let height = usize::from(text_area.height);
    let at = Some((watch.episode, watch.cursor));
    if pane.scrolled_for != at || other {
        pane.scrolled_for = at;
        if other {
            pane.open.scroll = Scroll::default();
        }
        if let Some(last) = file.changed.last() {
            let row = pane.open.document.row_of_line(last.start);
            pane.open.scroll.selected = pane.open.document.last_row_of_line(last.end.saturating_sub(1));
            pane.open.scroll.reveal(pane.open.document.len(), height);
            pane.open.scroll.top = pane.open.scroll.top.min(row);
        }
    }
    let len = pane.open.document.len();
    pane.open.scroll.selected = pane.open.scroll.selected.min(len.saturating_sub(1));
    memory::select_wanted(watch, std::path::Path::new(&path), height);
    let pane = &mut watch.memory;
    pane.open.scroll.top = pane.open.scroll.top.min(len.saturating_sub(height));
}

/// Asks who wrote the open file, once its text is settled.
fn blame(watch: &mut Watch, area: ratatui::layout::Rect) -> Option<Effect> {
    let last = watch.steps().previous()?;
    let memory = watch.memory_shown.as_ref().filter(|_| area.height > 0)?;
    let step = watch.cursor.min(last);
    let wanted = (watch.episode, step, watch.memory.open_path(memory)?.to_owned());
    if watch.memory.blame_asked.as_ref() == Some(&wanted) {
        return None;
    }
    watch.memory.blame_asked = Some(wanted.clone());
    let (episode, step, path) = wanted;
    Some(Effect::LoadBlame { episode, step, path })
}

fn open_scaffold(watch: &mut Watch, theme: &Theme, inner: ratatui::layout::Rect) {
    let meta = Arc::clone(&watch.meta);
    let pane = &mut watch.scaffold;
    let rows = pane.rows(&meta.scaffold.files);
    let (tree, _, text_area) = layout::tree_and_text(inner, rows.len());
    pane.tree.selected = pane.tree.selected.min(rows.len().saturating_sub(1));
    pane.tree.reveal(rows.len(), usize::from(tree.height));
    let columns = inner.width.saturating_sub(1);
    if let Some((path, text)) = pane
        .path
        .as_ref()
        .and_then(|path| Some((path, meta.scaffold.files.get(path)?)))
    {
        let key = Some((PathBuf::from(path), 0, columns));
        if pane.open.key != key {
            let text = inspector::text_of(text.strip_suffix('\n').unwrap_or(text));
            let spans = paint::spans(path, &text, theme);
            pane.open.document = Document::new(text, spans, usize::from(columns));
            pane.open.key = key;
        }
    }
    let most = pane.open.document.len().saturating_sub(usize::from(text_area.height));
    pane.open.scroll.top = pane.open.scroll.top.min(most);
    let lines = pane.diff.as_ref().map_or(0, |diff| diff.lines.len());
    pane.diff_scroll.top = pane
        .diff_scroll
        .top
        .min(lines.saturating_sub(usize::from(inner.height)));
}
