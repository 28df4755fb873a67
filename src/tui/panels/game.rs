//! The game: picture, letters or text, and what the frame says beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::status::Status;
use crate::tui::panes::GameView;
use crate::tui::theme::{Depth, Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::sprites::{self, Scope, Style2d};
use crate::tui::widgets::text;
use crate::types::{Frame, TileView, View};

/// Columns that the status takes when it stands beside the picture.
const BESIDE: u16 = 30;
/// Rows kept for the status below the picture.
const BELOW: u16 = 6;

pub(crate) fn title(watch: &Watch, theme: &Theme) -> Vec<Span<'static>> {
    vec![
        Span::raw("Game"),
        Span::styled(format!(" · {}", watch.game.view.word()), theme.style(Slot::Dim)),
    ]
}

pub(crate) fn draw(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let Some(frame) = watch.shown.as_ref().and_then(|record| record.frame()) else {
        let said = if watch.marks.is_empty() {
            "waiting for the world"
        } else {
            "loading"
        };
        text::put_line(buf, area, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    };
    match (&frame.view, watch.game.view) {
        (View::Tiles(view), GameView::Agent) => draw_tiles(watch, frame, view, Scope::Window, area, buf, theme),
        (View::Tiles(view), GameView::Map) => {
            let trail = watch.game.trail.as_ref().filter(|trail| trail.episode == watch.episode);
            let cells = trail.map_or(&[][..], |trail| &trail.cells);
            draw_tiles(watch, frame, view, Scope::Map(cells), area, buf, theme);
        }
        (View::Text, _) | (_, GameView::Text) => draw_text(watch, frame, area, buf, theme),
    }
}

fn draw_tiles(
    watch: &Watch,
    frame: &Frame,
    view: &TileView,
    scope: Scope<'_>,
    area: Rect,
    buf: &mut Buffer,
    theme: &Theme,
) {
    let letters = watch.game.letters || theme.depth() == Depth::Mono;
    let style = if letters { Style2d::Letters } else { Style2d::Pictures };
    let beside = area.width >= 66;
    let room = if beside {
        Rect {
            width: area.width - BESIDE - 2,
            ..area
        }
    } else {
        Rect {
            height: area.height.saturating_sub(BELOW).max(area.height.min(7)),
            ..area
        }
    };
    let plan = sprites::plan(view, scope, style, room);
    let shift = if beside {
        1
    } else {
        (area.width - plan.width.min(area.width)) / 2
    };
    let place = Rect {
        x: area.x + shift,
        ..area
    };
    sprites::draw(buf, place, view, scope, plan, theme);
    let rest = if beside {
        let x = plan.width + 3;
        Rect {
            x: area.x + x,
            width: area.width.saturating_sub(x),
            ..area
        }
    } else {
        let y = plan.height + u16::from(area.height > plan.height + BELOW);
        Rect {
            x: area.x + shift.min(1),
            width: area.width - shift.min(1),
            y: area.y + y,
            height: area.height.saturating_sub(y),
        }
    };
    let lines = Status::of(frame).lines(frame, usize::from(rest.width), theme);
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
    let rows = frame.long.lines().filter(|line| !line.is_empty());
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
