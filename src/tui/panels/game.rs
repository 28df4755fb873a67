//! The game: picture, letters or text, and what the frame says beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::status::Status;
use crate::tui::data::MapView;
use crate::tui::keymap::Screen;
use crate::tui::layout::{self, Pane};
use crate::tui::overlay::Overlay;
use crate::tui::panes::GameView;
use crate::tui::pictures::Wanted;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::{image, map, screen, sprites, text};
use crate::types::{Frame, GridView, View};

/// Columns that the status takes when it stands beside the picture.
const BESIDE: u16 = 30;
/// Rows kept for the status below the picture.
const BELOW: u16 = 6;

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    let frame = watch.frame();
    let shown = frame.as_ref().map_or(&View::Text, |frame| &frame.view);
    let mut spans = vec![
        Span::raw("Game"),
        Span::styled(format!(" · {}", watch.game.view.word(shown)), theme.style(Slot::Dim)),
    ];
    if let Some(known) = known_map(watch) {
        let said = if known.upto < known.step {
            format!(" · {} of {}", known.upto, known.step)
        } else {
            format!(" · seen {:.0}%", 100.0 * map::share(known))
        };
        spans.push(Span::styled(said, theme.style(Slot::Dim)));
    }
    spans
}

/// What is known of the map, while the map shows.
fn known_map(watch: &Watch) -> Option<&MapView> {
    let known = watch.game.map.as_deref()?;
    (watch.game.view == GameView::Map && known.episode == watch.episode && !known.seen.is_empty()).then_some(known)
}

pub(crate) fn draw(state: &State, watch: &Watch, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let Some(frame) = watch.shown.as_ref().and_then(|record| record.frame()) else {
        let said = if watch.marks.is_empty() {
            "waiting for the world"
        } else {
            "loading"
        };
        text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    };
    let view = match &frame.view {
        _ if watch.game.view == GameView::Text => return draw_text(watch, frame, area, buf, theme),
        View::Text => return draw_text(watch, frame, area, buf, theme),
        View::Grid(view) => return draw_screen(watch, frame, view, area, buf, theme),
        View::Picture(view) => {
            let room = room(area);
            let size = image::size(view, room);
            if image::draw(buf, stand(area, size), view, size, theme) {
                return beside(frame, area, size, buf, theme);
            }
            return draw_text(watch, frame, area, buf, theme);
        }
        View::Tiles(view) => view,
    };
    let look = state.pictures.look(theme);
    let room = room(area);
    match watch.game.view {
        GameView::Text => {}
        GameView::Map => {
            let plan = map::plan(view, look, room, watch.game.pan);
            let size = (plan.width, plan.height);
            map::draw(buf, stand(area, size), view, known_map(watch), plan, theme);
            beside(frame, area, size, buf, theme);
        }
        GameView::Agent => {
            if let Some(wanted) = wanted(state)
                && state.pictures.ready(&wanted).is_some()
            {
                // The picture itself is laid over these cells when all else is drawn.
                buf.set_style(wanted.area.intersection(buf.area), theme.base());
                return beside(frame, area, wanted.key.size, buf, theme);
            }
            let plan = sprites::plan(view, look, room);
            let size = (plan.width, plan.height);
            sprites::draw(buf, stand(area, size), view, plan, theme);
            beside(frame, area, size, buf, theme);
        }
    }
}

/// The picture that should stand in the game pane now, if one can: nothing lies over it, and the
/// pane shows what the agent sees.
pub(crate) fn wanted(state: &State) -> Option<Wanted> {
    let covered = state
        .overlays
        .iter()
        .any(|overlay| !matches!(overlay, Overlay::Line(_)));
    if covered || state.screen != Screen::Watch || layout::too_small(state.size) {
        return None;
    }
    let watch = state.watch.as_deref()?;
    if watch.game.view != GameView::Agent {
        return None;
    }
    let frame = watch.shown.as_ref()?.frame()?;
    let View::Tiles(view) = &frame.view else {
        return None;
    };
    let area = state.inner(Pane::Game);
    let mut wanted = state.pictures.want(frame, view, room(area), &state.theme)?;
    wanted.area = Rect {
        width: wanted.area.width,
        height: wanted.area.height,
        ..stand(area, wanted.key.size)
    };
    Some(wanted)
}

/// Rows that a screen's message takes above a part of it.
const MESSAGE: u16 = 2;
/// Rows of status below a part of a screen.
const FACTS: u16 = 4;

/// The room for a terminal's screen: all of the pane where all of the screen has room, else what the message above and the
/// status below leave.
pub(crate) fn screen_room(view: &GridView, area: Rect) -> Rect {
    if screen::fits(view, area) {
        return area;
    }
    let above = if screen::message(view).is_some() && area.height > 8 {
        MESSAGE
    } else {
        0
    };
    let below = if area.height > 12 + above { FACTS } else { 0 };
    Rect {
        y: area.y + above,
        height: area.height - above - below,
        ..area
    }
}

fn draw_screen(watch: &Watch, frame: &Frame, view: &GridView, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let room = screen_room(view, area);
    let part = screen::part(view, room, watch.game.pan);
    screen::draw(buf, room, view, part, theme);
    let status = Status::of(frame);
    if room == area {
        // All of it: what else there is to say stands beside or below, where there is room.
        let rest = if area.width >= part.width + BESIDE {
            Rect {
                x: area.x + part.width + 2,
                width: area.width - part.width - 2,
                ..area
            }
        } else {
            Rect {
                y: area.y + part.height,
                height: area.height - part.height,
                ..area
            }
        };
        return tell(&status, frame, rest, buf, theme);
    }
    if let Some(message) = screen::message(view).filter(|_| room.y > area.y) {
        let rows = text::wrap(message, usize::from(area.width));
        for (row, range) in (0..MESSAGE).zip(rows) {
            text::put_line(buf, area, row, &Line::styled(&message[range], theme.bold(Slot::Text)));
        }
    }
    let below = room.y + part.height;
    let rest = Rect {
        y: below,
        height: (area.y + area.height).saturating_sub(below),
        ..area
    };
    tell(&status, frame, rest, buf, theme);
}

/// Whether the status stands beside the picture, not below it.
fn is_wide(area: Rect) -> bool {
    area.width >= 66
}

/// The room for the picture or the map inside the pane.
pub(crate) fn room(area: Rect) -> Rect {
    if is_wide(area) {
        Rect {
            width: area.width - BESIDE - 2,
            ..area
        }
    } else {
        Rect {
            height: area.height.saturating_sub(BELOW).max(area.height.min(7)),
            ..area
        }
    }
}

/// Where something of this size stands inside the pane.
fn stand(area: Rect, (width, _): (u16, u16)) -> Rect {
    let shift = if is_wide(area) {
        1
    } else {
        (area.width - width.min(area.width)) / 2
    };
    Rect {
        x: area.x + shift,
        ..area
    }
}

/// The status beside or below something of this size.
fn beside(frame: &Frame, area: Rect, (width, height): (u16, u16), buf: &mut Buffer, theme: &Theme) {
    let rest = if is_wide(area) {
        let x = width + 3;
        Rect {
            x: area.x + x,
            width: area.width.saturating_sub(x),
            ..area
        }
    } else {
        let y = (height + u16::from(area.height > height + BELOW)).min(area.height);
        let shift = stand(area, (width, height)).x.saturating_sub(area.x).min(1);
        Rect {
            x: area.x + shift,
            width: area.width - shift,
            y: area.y + y,
            height: area.height - y,
        }
    };
    tell(&Status::of(frame), frame, rest, buf, theme);
}

/// The status, and where room is left what the model is told.
fn tell(status: &Status, frame: &Frame, rest: Rect, buf: &mut Buffer, theme: &Theme) {
    let lines = status.lines(frame, usize::from(rest.width), theme);
    for (row, line) in (0..rest.height).zip(&lines) {
        text::put_line(buf, rest, row, line);
    }
    let used = lines.len() as u16 + 1;
    if rest.height > used + 3 {
        let below = Rect {
            y: rest.y + used,
            height: rest.height - used,
            ..rest
        };
        seen(frame, below, buf, theme);
    }
}

/// What the model is told it sees, where room is left.
fn seen(frame: &Frame, area: Rect, buf: &mut Buffer, theme: &Theme) {
    text::put_line(
        buf,
        area,
        0,
        &Line::styled("the model is told", theme.bold(Slot::Title)),
    );
    // A screen shows the map itself.
    let has_screen = matches!(frame.view, View::Grid(_));
    let rows = frame
        .long
        .lines()
        .map(str::trim_end)
        .take_while(|line| !(has_screen && *line == "map:"))
        .filter(|line| !line.is_empty());
    for (row, line) in (1..area.height).zip(rows) {
        let line = text::clean(text::head(line, 400));
        text::put_line(buf, area, row, &Line::styled(line, theme.style(Slot::Dim)));
    }
}

fn draw_text(watch: &Watch, frame: &Frame, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let all = crate::tui::inspector::text_of(&format!("{}\n\n{}", frame.long, frame.short));
    let rows = text::wrap(&all, usize::from(area.width));
    let most = rows.len().saturating_sub(usize::from(area.height));
    let visible = rows.into_iter().skip(watch.game.text.top.min(most));
    for (row, range) in (0..area.height).zip(visible) {
        text::put_line(buf, area, row, &Line::styled(&all[range], theme.style(Slot::Text)));
    }
}
