//! The panel in which a person plays: how the game stands, what the world answered, its actions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::status::Status;
use crate::tui::keymap::{Action, Place};
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::take_over::{Standing, TakeOver};
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::watch::Watch;
use crate::tui::widgets::{list, text};
use crate::types::ActionBy;

/// Rows of actions that stay, however much else there is to say.
const LEAST_ROWS: usize = 4;

/// Where the panel stands: at the right, so that the game stays in sight.
fn place(state: &State, watch: &Watch) -> Rect {
    let body = layout::frame(state.size).body;
    let height = layout::watch(state.size, watch).timeline.y.saturating_sub(body.y);
    let width = (body.width / 4).clamp(40, 56).min(body.width);
    Rect::new(body.right() - width, body.y, width, height)
}

/// Rows of actions that show.
pub(crate) fn rows(state: &State) -> usize {
    match &state.watch {
        Some(watch) => {
            let inner = layout::shrink(place(state, watch));
            usize::from(inner.height).saturating_sub(above(state, watch, inner).len() + below(state, inner).len() + 1)
        }
        None => LEAST_ROWS,
    }
}

pub(crate) fn draw(state: &State, panel: &TakeOver, buf: &mut Buffer) {
    let Some(watch) = &state.watch else {
        return;
    };
    let theme = &state.theme;
    let place = place(state, watch);
    let title = if watch.episodes.len() > 1 {
        format!("Take over · episode {}", watch.episode.0 + 1)
    } else {
        "Take over".to_owned()
    };
    let inner = view::over(buf, place, &title, theme);
    let mut y = 0;
    for line in above(state, watch, inner) {
        text::put_line(buf, inner, y, &line);
        y += 1;
    }
    text::put_line(buf, inner, y, &filter_line(state, panel));
    y += 1;
    let under = below(state, inner);
    let height = usize::from(inner.height).saturating_sub(usize::from(y) + under.len());
    let actions = Rect {
        y: inner.y + y,
        height: height as u16,
        ..inner
    };
    draw_actions(state, panel, watch, (place, actions), buf);
    for (row, line) in (0..).zip(&under) {
        text::put_line(buf, inner, y + height as u16 + row, line);
    }
}

fn draw_actions(state: &State, panel: &TakeOver, watch: &Watch, (place, area): (Rect, Rect), buf: &mut Buffer) {
    let theme = &state.theme;
    let found = panel.matches(&watch.meta.world.actions);
    if found.is_empty() {
        let said = Line::styled("  no such action; Backspace erases", theme.style(Slot::Dim));
        text::put_line(buf, area, 0, &said);
        return;
    }
    let height = usize::from(area.height);
    let mut scroll = panel.scroll;
    scroll.reveal(found.len(), height);
    let ready = matches!(Standing::of(state), Standing::Waits(_));
    for (y, index) in (0..).zip(scroll.visible(found.len(), height)) {
        let row = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        let slot = if ready { Slot::Text } else { Slot::Dim };
        let name = text::clean(&found[index].0).into_owned();
        text::put_line(buf, row, 0, &Line::styled(format!("  {name}"), theme.style(slot)));
        if index == scroll.selected {
            buf.set_style(row, theme.selected(!panel.walks));
        }
    }
    let border = Rect {
        y: area.y.saturating_sub(1),
        height: area.height + 2,
        ..place
    };
    list::scrollbar(
        buf,
        border,
        scroll.top,
        found.len(),
        height,
        theme.style(Slot::BorderFocus),
    );
}

fn filter_line(state: &State, panel: &TakeOver) -> Line<'static> {
    let theme = &state.theme;
    let mark = Span::styled("› ", theme.bold(Slot::Accent));
    if panel.walks {
        let key = state.keymap.shown(Place::TakeOver, Action::Toggle);
        let said = format!("arrows walk; {key} for the list");
        return Line::from(vec![mark, Span::styled(said, theme.bold(Slot::Accent))]);
    }
    if panel.filter.is_empty() {
        let said = "type to find an action".to_owned();
        return Line::from(vec![mark, Span::styled(said, theme.style(Slot::Faint))]);
    }
    Line::from(vec![
        mark,
        Span::styled(text::clean(&panel.filter).into_owned(), theme.bold(Slot::Text)),
        Span::styled("▏", theme.style(Slot::Accent)),
    ])
}

/// What stands over the actions: whose turn it is, what the last step gave, how the player is.
fn above(state: &State, watch: &Watch, inner: Rect) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let wide = usize::from(inner.width);
    let (mark, said, slot) = match Standing::of(state) {
        Standing::Waits(step) => ("◆", format!("your move: step {step}"), Slot::Human),
        Standing::Finishes(step) => ("●", format!("step {step} is being played …"), Slot::Live),
        Standing::Plays => (
            "●",
            "the agent plays; it pauses after its step …".to_owned(),
            Slot::Live,
        ),
        Standing::Stops => ("■", "the run is being stopped".to_owned(), Slot::Warn),
        Standing::Over => ("■", "the episode is over; Esc closes".to_owned(), Slot::Warn),
    };
    let head = text::cut(&said, wide.saturating_sub(2)).into_owned();
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{mark} "), theme.bold(slot)),
        Span::styled(head, theme.bold(slot)),
    ])];
    lines.extend(last_step(watch, wide, theme));
    let frame = watch.shown.as_ref().and_then(|record| record.frame());
    if let Some(frame) = frame {
        let room = usize::from(inner.height)
            .saturating_sub(lines.len() + LEAST_ROWS + 4)
            .min(9);
        // The achievements have their place in the game pane.
        let mut status = Status::of(frame);
        status.achievements.clear();
        lines.extend(status.lines(frame, wide, theme).into_iter().take(room));
    }
    lines.push(Line::default());
    lines
}

/// The last step: what was played by whom, and what the world answered.
fn last_step(watch: &Watch, wide: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(mark) = watch.marks.last() else {
        return Vec::new();
    };
    let by = watch
        .record(mark.step)
        .and_then(|record| record.action())
        .map(|action| action.3);
    let by = match by {
        Some(ActionBy::Human) => " ◆ yours",
        Some(ActionBy::Fallback) => " ✗ fallback",
        _ => "",
    };
    let (answer, slot) = match mark.reward {
        0.0 => ("no reward".to_owned(), Slot::Dim),
        reward if reward > 0.0 => (format!("★ {reward:+.1}"), Slot::Reward),
        reward => (format!("▾ {reward:+.1} penalty"), Slot::Bad),
    };
    let name = format!("{} {}", mark.step, text::clean(&mark.action));
    let room = wide.saturating_sub(text::width(by) + text::width(&answer) + 2);
    vec![Line::from(vec![
        Span::styled(text::cut(&name, room).into_owned(), theme.style(Slot::Dim)),
        Span::styled(by, theme.style(Slot::Human)),
        Span::styled(format!("  {answer}"), theme.style(slot)),
    ])]
}

/// What stands under the actions: what waits to be told or recorded.
fn below(state: &State, inner: Rect) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let wide = usize::from(inner.width);
    let live = state.live_here();
    let episode = live
        .zip(state.watch.as_ref())
        .and_then(|(live, watch)| live.episodes.get(&watch.episode));
    let Some(episode) = episode else {
        return Vec::new();
    };
    let row = |what: &str, tail: &str| {
        let room = wide.saturating_sub(text::width(tail) + 2);
        let what = text::cut(&text::clean(what), room).into_owned();
        Line::from(vec![
            Span::styled("◆ ", theme.bold(Slot::Human)),
            Span::styled(what, theme.style(Slot::Text)),
            Span::styled(tail.to_owned(), theme.style(Slot::Dim)),
        ])
    };
    let most = if inner.height >= 30 { 4 } else { 2 };
    let said = episode
        .told
        .iter()
        .map(|said| row(&format!("“{said}”"), " · next prompt"));
    let edited = episode.edited().map(|path| row(path, " · recorded next step"));
    let mut lines: Vec<_> = edited.chain(said).collect();
    let hidden = lines.len().saturating_sub(most);
    if hidden > 0 {
        lines.drain(..=hidden);
        lines.insert(
            0,
            Line::styled(format!("◆ and {} more", hidden + 1), theme.style(Slot::Dim)),
        );
    }
    if !lines.is_empty() {
        lines.insert(0, Line::styled("waits", theme.bold(Slot::Title)));
    }
    lines
}
