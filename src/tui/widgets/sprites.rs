//! Draws a tile map: as pictures in half blocks, as coloured letters, or as plain letters.
//!
//! Owns the way from tiles to cells. Must not know what a pane shows beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::tiles::{self, NOTHING, PLAYER, PLAYER_NORTH, Rgb, SIZES, Tile};
use crate::tui::theme::{Depth, Theme};
use crate::types::TileView;

/// Which part of the map is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// What the agent sees.
    Window,
    /// All of it, with the cells the agent came through (oldest first).
    Map(&'a [(i32, i32)]),
}

/// How the map is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style2d {
    /// Half blocks.
    Pictures,
    /// A letter a cell.
    Letters,
}

/// The size a drawing will take, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Columns.
    pub(crate) width: u16,
    /// Rows.
    pub(crate) height: u16,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Index into the picture sizes.
    Sprites(usize),
    /// Pixels a cell, the north-west cell, cells across and down.
    Pixels(i32, i32, i32),
    /// Columns a letter, the north-west cell.
    Letters(u16, i32, i32),
}

/// Chooses the largest way to draw that fits the area.
pub(crate) fn plan(view: &TileView, scope: Scope<'_>, style: Style2d, area: Rect) -> Plan {
    match (scope, style) {
        (Scope::Window, Style2d::Pictures) => {
            let (w, h) = (view.window.w.max(1) as usize, view.window.h.max(1) as usize);
            let fits = |side: usize| w * side <= usize::from(area.width) && h * side / 2 <= usize::from(area.height);
            match SIZES.iter().position(|&side| fits(side)) {
                Some(size) => Plan {
                    width: (w * SIZES[size]) as u16,
                    height: (h * SIZES[size]).div_ceil(2) as u16,
                    kind: Kind::Sprites(size),
                },
                None => letters(view.window, view, area),
            }
        }
        (Scope::Window, Style2d::Letters) => letters(view.window, view, area),
        (Scope::Map(_), Style2d::Letters) => letters(whole(view), view, area),
        (Scope::Map(_), Style2d::Pictures) => {
            let (w, h) = (i32::from(view.width).max(1), i32::from(view.height).max(1));
            let room = (i32::from(area.width), i32::from(area.height) * 2);
            let scale = (room.0 / w).min(room.1 / h).max(1);
            let (across, down) = ((room.0 / scale).min(w), (room.1 / scale).min(h));
            Plan {
                width: (across * scale) as u16,
                height: ((down * scale + 1) / 2) as u16,
                kind: Kind::Pixels(
                    scale,
                    centred(view.player.0, across, w),
                    centred(view.player.1, down, h),
                ),
            }
        }
    }
}

fn whole(view: &TileView) -> crate::types::Rect {
    crate::types::Rect {
        x: 0,
        y: 0,
        w: i32::from(view.width),
        h: i32::from(view.height),
    }
}

fn letters(part: crate::types::Rect, view: &TileView, area: Rect) -> Plan {
    let wide = if part.w * 2 <= i32::from(area.width) { 2 } else { 1 };
    let across = part.w.min(i32::from(area.width) / i32::from(wide)).max(0);
    let down = part.h.min(i32::from(area.height)).max(0);
    Plan {
        width: across as u16 * wide,
        height: down as u16,
        kind: Kind::Letters(
            wide,
            part.x + centred(view.player.0 - part.x, across, part.w),
            part.y + centred(view.player.1 - part.y, down, part.h),
        ),
    }
}

/// First cell so that `middle` is as near to the middle of `shown` cells as `all` allows.
fn centred(middle: i32, shown: i32, all: i32) -> i32 {
    (middle - shown / 2).clamp(0, (all - shown).max(0))
}

/// Draws the map at the north-west corner of the area, as planned.
pub(crate) fn draw(buf: &mut Buffer, area: Rect, view: &TileView, scope: Scope<'_>, plan: Plan, theme: &Theme) {
    let area = Rect {
        width: plan.width,
        height: plan.height,
        ..area
    }
    .intersection(buf.area);
    match plan.kind {
        Kind::Sprites(size) => {
            let side = SIZES[size] as i32;
            let window = view.window;
            let cells: Vec<(&Tile, &Tile)> = (0..window.h)
                .flat_map(|y| (0..window.w).map(move |x| (window.x + x, window.y + y)))
                .map(|cell| sprite(view, cell))
                .collect();
            fill(buf, area, theme, |x, y| {
                let at = (y / side) * window.w + x / side;
                let (x, y) = ((x % side) as usize, (y % side) as usize);
                let color = cells.get(at as usize).map_or((0, 0, 0), |(tile, ground)| {
                    tile.pixel(size, x, y)
                        .or_else(|| ground.pixel(size, x, y))
                        .unwrap_or(ground.color)
                });
                shade(color, view)
            });
        }
        Kind::Pixels(scale, west, north) => {
            let trail = match scope {
                Scope::Map(trail) => trail,
                Scope::Window => &[],
            };
            let (across, down) = (
                i32::from(area.width) / scale + 1,
                i32::from(area.height) * 2 / scale + 1,
            );
            let cells: Vec<Rgb> = (0..down)
                .flat_map(|y| (0..across).map(move |x| (west + x, north + y)))
                .map(|cell| map_pixel(view, trail, cell))
                .collect();
            fill(buf, area, theme, |x, y| {
                let at = (y / scale) * across + x / scale;
                cells.get(at as usize).copied().unwrap_or_default()
            });
        }
        Kind::Letters(wide, west, north) => {
            let trail = match scope {
                Scope::Map(trail) => trail,
                Scope::Window => &[],
            };
            draw_letters(buf, area, view, trail, (wide, west, north), theme);
        }
    }
}

/// Fills the area with half blocks, two pixels a cell.
fn fill(buf: &mut Buffer, area: Rect, theme: &Theme, pixel: impl Fn(i32, i32) -> Rgb) {
    for row in 0..area.height {
        for column in 0..area.width {
            let upper = pixel(i32::from(column), i32::from(row) * 2);
            let lower = pixel(i32::from(column), i32::from(row) * 2 + 1);
            let cell = &mut buf[(area.x + column, area.y + row)];
            cell.modifier = Modifier::empty();
            if upper == lower {
                cell.set_symbol(" ").set_bg(theme.fit(lower));
            } else {
                cell.set_symbol("▀").set_fg(theme.fit(upper)).set_bg(theme.fit(lower));
            }
        }
    }
}

/// The picture of a cell; the player's turns with its facing.
fn picture(view: &TileView, cell: (i32, i32)) -> u8 {
    match view.tile(cell.0, cell.1) {
        Some(PLAYER) if view.asleep => PLAYER_NORTH + 3,
        Some(PLAYER) => match view.facing {
            (0, -1) => PLAYER_NORTH,
            (-1, 0) => PLAYER_NORTH + 1,
            (1, 0) => PLAYER_NORTH + 2,
            _ => PLAYER,
        },
        Some(id) => id,
        None => NOTHING,
    }
}

fn ground(view: &TileView, id: u8, (x, y): (i32, i32)) -> u8 {
    let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
    tiles::ground_under(id, around.filter_map(|(dx, dy)| view.tile(x + dx, y + dy)))
}

/// The tile of a cell and what shows behind it.
fn sprite(view: &TileView, cell: (i32, i32)) -> (&'static Tile, &'static Tile) {
    let id = picture(view, cell);
    let tile = tiles::tile(id);
    if tiles::needs_ground(id) {
        (tile, tiles::tile(ground(view, id, cell)))
    } else {
        (tile, tile)
    }
}

fn map_pixel(view: &TileView, trail: &[(i32, i32)], cell: (i32, i32)) -> Rgb {
    let color = tiles::tile(picture(view, cell)).color;
    if cell == view.player {
        return (255, 255, 255);
    }
    if let Some(age) = trail.iter().rev().position(|at| *at == cell) {
        let share = 0.85 - 0.45 * (age as f32 / trail.len().max(1) as f32);
        return mix(color, (255, 120, 220), share);
    }
    let window = view.window;
    let seen = (window.x..window.x + window.w).contains(&cell.0) && (window.y..window.y + window.h).contains(&cell.1);
    if seen { color } else { mix(color, (0, 0, 0), 0.3) }
}

fn draw_letters(
    buf: &mut Buffer,
    area: Rect,
    view: &TileView,
    trail: &[(i32, i32)],
    (wide, west, north): (u16, i32, i32),
    theme: &Theme,
) {
    for row in 0..area.height {
        for column in 0..area.width / wide {
            let at = (west + i32::from(column), north + i32::from(row));
            let tile = tiles::tile(picture(view, at));
            let is_player = at == view.player;
            let walked = trail.contains(&at);
            let letter = if walked && !is_player && tile.letter == '.' {
                '·'
            } else {
                tile.letter
            };
            let style = letter_style(tile.color, is_player, walked, view, theme);
            for extra in 0..wide {
                let cell = &mut buf[(area.x + column * wide + extra, area.y + row)];
                cell.set_style(style);
                cell.set_char(if extra == 0 { letter } else { ' ' });
            }
        }
    }
}

fn letter_style(color: Rgb, is_player: bool, walked: bool, view: &TileView, theme: &Theme) -> Style {
    match theme.depth() {
        Depth::Mono if is_player => Style::reset().add_modifier(Modifier::REVERSED),
        Depth::Mono if walked => Style::reset().add_modifier(Modifier::UNDERLINED),
        Depth::Mono => Style::reset(),
        Depth::Ansi16 if is_player => Style::reset().add_modifier(Modifier::REVERSED | Modifier::BOLD),
        Depth::Ansi16 if walked => Style::reset().fg(Color::Magenta),
        Depth::Ansi16 => Style::reset().fg(theme.fit(color)),
        _ if is_player => Style::reset()
            .fg(theme.fit((20, 20, 24)))
            .bg(theme.fit((255, 255, 255))),
        _ => {
            let ground = if walked {
                mix(color, (255, 120, 220), 0.35)
            } else {
                color
            };
            Style::reset()
                .fg(theme.fit(mix(color, (255, 255, 255), 0.45)))
                .bg(theme.fit(shade(mix(ground, (0, 0, 0), 0.6), view)))
        }
    }
}

/// Night and sleep darken and turn the colours towards blue.
fn shade(color: Rgb, view: &TileView) -> Rgb {
    let light = view.light.clamp(0.0, 1.0) * if view.asleep { 0.6 } else { 1.0 };
    let part = |value: u8, least: f32| (f32::from(value) * (least + (1.0 - least) * light)) as u8;
    (part(color.0, 0.3), part(color.1, 0.36), part(color.2, 0.55))
}

fn mix(a: Rgb, b: Rgb, share: f32) -> Rgb {
    let part = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share) as u8;
    (part(a.0, b.0), part(a.1, b.1), part(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> TileView {
        let mut cells = vec![2; 64 * 64];
        cells[32 * 64 + 32] = PLAYER;
        TileView {
            set: "crafter".into(),
            width: 64,
            height: 64,
            cells,
            window: crate::types::Rect {
                x: 28,
                y: 29,
                w: 9,
                h: 7,
            },
            player: (32, 32),
            facing: (0, 1),
            light: 1.0,
            asleep: false,
        }
    }

    #[test]
    fn the_largest_picture_that_fits_is_taken() {
        let size = |w, h| {
            let plan = plan(&view(), Scope::Window, Style2d::Pictures, Rect::new(0, 0, w, h));
            (plan.width, plan.height)
        };
        assert_eq!(size(80, 30), (72, 28));
        assert_eq!(size(56, 30), (54, 21));
        assert_eq!(size(38, 16), (36, 14));
        assert_eq!(size(30, 16), (18, 7));
        assert_eq!(size(10, 3), (9, 3));
    }

    #[test]
    fn the_map_is_cut_around_the_player() {
        let mut view = view();
        view.player = (60, 2);
        let plan = plan(&view, Scope::Map(&[]), Style2d::Pictures, Rect::new(0, 0, 40, 10));
        assert_eq!(plan.kind, Kind::Pixels(1, 24, 0));
        assert_eq!((plan.width, plan.height), (40, 10));
    }

    #[test]
    fn every_depth_draws_in_its_area_only() {
        for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let theme = Theme::load("dark", depth).unwrap();
            for style in [Style2d::Pictures, Style2d::Letters] {
                for scope in [Scope::Window, Scope::Map(&[(31, 32)])] {
                    let mut buf = Buffer::empty(Rect::new(0, 0, 60, 24));
                    let area = Rect::new(5, 2, 40, 16);
                    let plan = plan(&view(), scope, style, area);
                    draw(&mut buf, area, &view(), scope, plan, &theme);
                    assert_eq!(buf[(4, 2)], ratatui::buffer::Cell::default());
                    assert_eq!(buf[(5, 1)], ratatui::buffer::Cell::default());
                }
            }
        }
    }

    #[test]
    fn night_is_darker_than_day() {
        let mut night = view();
        night.light = 0.1;
        let (day, night) = (shade((200, 200, 200), &view()), shade((200, 200, 200), &night));
        assert!(night.0 < day.0 && night.1 < day.1 && night.2 < day.2);
        assert!(night.2 > night.0);
    }
}
