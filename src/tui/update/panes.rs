//! Scrolling and opening inside the panes of the watch screen.

use super::memory;
use crate::tui::keymap::Action;
use crate::tui::layout::{self, Pane};
use crate::tui::panels::game;
use crate::tui::state::State;
use crate::tui::stream;
use crate::tui::watch::Watch;
use crate::tui::widgets::list::Scroll;
use crate::tui::widgets::{map, screen};
use crate::types::View;

pub(super) fn act(state: &mut State, action: Action) {
    let inner = match &state.watch {
        Some(watch) => state.inner(watch.pane),
        None => return,
    };
    let Some(watch) = state.watch.as_deref_mut() else {
        return;
    };
    let height = usize::from(inner.height).max(1);
    match watch.focus {
        Pane::Game if watch.moves() => {
            let page = (height as i32 - 1).max(1);
            match action {
                Action::Up => pan(state, (0, -1)),
                Action::Down => pan(state, (0, 1)),
                Action::PageUp => pan(state, (0, -page)),
                Action::PageDown => pan(state, (0, page)),
                _ => {}
            }
        }
        Pane::Game => scroll(&mut watch.game.text, action, usize::MAX / 2, height),
        Pane::Memory => memory_pane(watch, action, inner),
        Pane::Actions => actions(watch, action, height),
        Pane::Scaffold => scaffold(watch, action, inner),
        Pane::Timeline => {}
    }
}

/// Moves the map under the pane, as far as there is more of it.
pub(super) fn pan(state: &mut State, by: (i32, i32)) {
    let inner = state.inner(Pane::Game);
    let look = state.pictures.look(&state.theme);
    let Some(watch) = state.watch.as_deref_mut() else {
        return;
    };
    let Some(frame) = watch.frame() else {
        return;
    };
    let room = game::room(inner);
    let start = |pan| match &frame.view {
        View::Tiles(view) => {
            let (west, north, ..) = map::plan(view, look, room, pan).part();
            Some((west, north))
        }
        View::Grid(view) => Some(screen::part(view, game::screen_room(view, inner), pan).start()),
        View::Picture(_) | View::Text => None,
    };
    let (Some(still), Some(here)) = (start((0, 0)), start(watch.game.pan)) else {
        return;
    };
    let Some(there) = start((here.0 - still.0 + by.0, here.1 - still.1 + by.1)) else {
        return;
    };
    watch.game.pan = (there.0 - still.0, there.1 - still.1);
}

fn scroll(scroll: &mut Scroll, action: Action, len: usize, height: usize) {
    let page = height.saturating_sub(1).max(1) as isize;
    match action {
        Action::Up => scroll.scroll_by(-1, len, height),
        Action::Down => scroll.scroll_by(1, len, height),
        Action::PageUp => scroll.scroll_by(-page, len, height),
        Action::PageDown => scroll.scroll_by(page, len, height),
        _ => {}
    }
}

/// Moves the selected line of a file.
fn select_line(scroll: &mut Scroll, action: Action, len: usize, height: usize) {
    let page = height.saturating_sub(1).max(1) as isize;
    match action {
        Action::Up => scroll.select_by(-1, len, height),
        Action::Down => scroll.select_by(1, len, height),
        Action::PageUp => scroll.select_by(-page, len, height),
        Action::PageDown => scroll.select_by(page, len, height),
        _ => {}
    }
}

fn memory_pane(watch: &mut Watch, action: Action, inner: ratatui::layout::Rect) {
    let Some(memory) = watch.memory_shown.clone() else {
        return;
    };
    let rows = watch.memory.rows(&memory);
    let (tree, _, text) = layout::tree_and_text(inner, rows.len());
    let (tree, text) = (usize::from(tree.height), usize::from(text.height));
    let pane = &mut watch.memory;
    let pages = matches!(action, Action::PageUp | Action::PageDown);
    if pane.against.is_some() && (pane.in_file || pages) {
        let lines = pane.diff_text.document.len();
        scroll(&mut pane.diff_text.scroll, action, lines, text);
        return;
    }
    let lines = pane.open.document.len();
    if pane.in_file {
        select_line(&mut pane.open.scroll, action, lines, text);
        return;
    }
    if pages {
        scroll(&mut pane.open.scroll, action, lines, text);
        return;
    }
    match action {
        Action::Up => pane.tree.select_by(-1, rows.len(), tree),
        Action::Down => pane.tree.select_by(1, rows.len(), tree),
        Action::Open | Action::Fold | Action::Unfold => {
            if let Some(node) = rows.get(pane.tree.selected) {
                match node.folder {
                    Some(open) => fold(&mut pane.folded, &node.path, open, action),
                    None if action == Action::Open => {
                        let path = node.path.clone();
                        let row = memory::row_of_file(watch, &path);
                        let pane = &mut watch.memory;
                        pane.diff_text.scroll.top = row.unwrap_or(pane.diff_text.scroll.top);
                        pane.chosen = Some(path);
                        pane.in_file = true;
                    }
                    None if action == Action::Fold => select_parent(&mut pane.tree, &rows, tree),
                    None => {}
                }
            }
            return;
        }
        _ => return,
    }
    if let Some(node) = rows.get(pane.tree.selected).filter(|node| node.folder.is_none()) {
        pane.chosen = Some(node.path.clone());
        if pane.open_path_shown() == Some(node.path.as_str()) {
            return;
        }
        pane.open.scroll = Scroll::default();
    }
}

fn scaffold(watch: &mut Watch, action: Action, inner: ratatui::layout::Rect) {
    let pane = &mut watch.scaffold;
    if let Some(diff) = &pane.diff {
        scroll(
            &mut pane.diff_scroll,
            action,
            diff.lines.len(),
            usize::from(inner.height),
        );
        return;
    }
    let rows = pane.rows(&watch.meta.scaffold.files);
    let (tree, _, text) = layout::tree_and_text(inner, rows.len());
    let (tree, text) = (usize::from(tree.height), usize::from(text.height));
    let lines = pane.open.document.len();
    if pane.in_file || matches!(action, Action::PageUp | Action::PageDown) {
        scroll(&mut pane.open.scroll, action, lines, text);
        return;
    }
    match action {
        Action::Up => pane.tree.select_by(-1, rows.len(), tree),
        Action::Down => pane.tree.select_by(1, rows.len(), tree),
        Action::Open | Action::Fold | Action::Unfold => {
            if let Some(node) = rows.get(pane.tree.selected) {
                match node.folder {
                    Some(open) => fold(&mut pane.folded, &node.path, open, action),
                    None if action == Action::Open => pane.in_file = true,
                    None if action == Action::Fold => select_parent(&mut pane.tree, &rows, tree),
                    None => {}
                }
            }
        }
        _ => return,
    }
    if let Some(node) = rows.get(pane.tree.selected).filter(|node| node.folder.is_none())
        && pane.path.as_deref() != Some(&node.path)
    {
        pane.path = Some(node.path.clone());
        pane.open.scroll = Scroll::default();
    }
}

fn fold(folded: &mut std::collections::BTreeSet<String>, path: &str, open: bool, action: Action) {
    match action {
        Action::Open if open => folded.insert(path.to_owned()),
        Action::Fold => folded.insert(path.to_owned()),
        _ => folded.remove(path),
    };
}

fn select_parent(tree: &mut Scroll, rows: &[crate::tui::widgets::tree::Node], height: usize) {
    let Some(depth) = rows.get(tree.selected).map(|node| node.depth) else {
        return;
    };
    let parent = rows[..tree.selected].iter().rposition(|node| node.depth < depth);
    if let Some(parent) = parent {
        tree.select(parent, rows.len(), height);
    }
}

/// Moves through the rows of the stream; beyond a step's rows the cursor moves on.
fn actions(watch: &mut Watch, action: Action, height: usize) {
    let rows = match action {
        Action::Up => -1,
        Action::Down => 1,
        Action::PageUp => -(height as isize),
        Action::PageDown => height as isize,
        _ => return,
    };
    watch.playing = false;
    let mut left = rows;
    while left != 0 {
        let count = stream::rows_of(watch, watch.cursor).len();
        watch.actions.row = watch.actions.row.min(count - 1);
        if left > 0 {
            let here = (count - 1 - watch.actions.row) as isize;
            if left <= here {
                watch.actions.row += left as usize;
                break;
            }
            left -= here + 1;
            let Some(after) = watch.beside(watch.cursor, true) else {
                watch.actions.row = count - 1;
                break;
            };
            watch.go(after);
        } else {
            let here = watch.actions.row as isize;
            if -left <= here {
                watch.actions.row -= left.unsigned_abs();
                break;
            }
            left += here + 1;
            let Some(before) = watch.beside(watch.cursor, false) else {
                watch.actions.row = 0;
                break;
            };
            watch.go(before);
            watch.actions.row = stream::rows_of(watch, before).len() - 1;
        }
    }
    watch.follow = !watch.finished && watch.at_end() && watch.under_way.is_some();
}
