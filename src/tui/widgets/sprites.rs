//! Draws what the agent sees: as pictures in half blocks, as coloured letters, or as plain
//! letters; and paints the same tiles into a picture of any size.
//!
//! Owns the way from tiles to cells. Must not know what a pane shows beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::tiles::{self, NOTHING, PLAYER, PLAYER_NORTH, Rgb, SIZES, Tile};
use crate::tui::pictures::Look;
use crate::tui::theme::{Depth, Theme};
use crate::types::TileView;

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
    /// Columns a letter, the north-west cell, with colours or without.
    Letters(u16, i32, i32, bool),
}

/// Chooses the largest way to draw that fits the area. A picture is drawn in half blocks until it
/// is ready.
pub(crate) fn plan(view: &TileView, look: Look, area: Rect) -> Plan {
    let colours = look != Look::Mono;
    if matches!(look, Look::Letters | Look::Mono) {
        return letters(view, area, colours);
    }
    let (w, h) = (view.window.w.max(1) as usize, view.window.h.max(1) as usize);
    let fits = |side: usize| w * side <= usize::from(area.width) && h * side / 2 <= usize::from(area.height);
    match SIZES.iter().position(|&side| fits(side)) {
        Some(size) => Plan {
            width: (w * SIZES[size]) as u16,
            height: (h * SIZES[size]).div_ceil(2) as u16,
            kind: Kind::Sprites(size),
        },
        None => letters(view, area, colours),
    }
}

fn letters(view: &TileView, area: Rect, colours: bool) -> Plan {
    let part = view.window;
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
            colours,
        ),
    }
}

/// First cell so that `middle` is as near to the middle of `shown` cells as `all` allows.
pub(crate) fn centred(middle: i32, shown: i32, all: i32) -> i32 {
    (middle - shown / 2).clamp(0, (all - shown).max(0))
}

/// Draws at the north-west corner of the area, as planned.
pub(crate) fn draw(buf: &mut Buffer, area: Rect, view: &TileView, plan: Plan, theme: &Theme) {
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
            let cells = window_sprites(view);
            fill(buf, area, theme, |x, y| {
                let at = (y / side) * window.w + x / side;
                let (x, y) = ((x % side) as usize, (y % side) as usize);
                let color = cells
                    .get(at as usize)
                    .map_or((0, 0, 0), |tile| tile_pixel(*tile, size, x, y));
                shade(color, view)
            });
        }
        Kind::Letters(wide, west, north, colours) => {
            draw_letters(buf, area, view, (wide, west, north), colours, theme);
        }
    }
}

/// Paints what the agent sees, `side` pixels a tile (a multiple of the largest own size looks
/// best), calling `put` for every pixel.
pub(crate) fn paint(view: &TileView, side: usize, put: &mut dyn FnMut(u32, u32, Rgb)) {
    let own = SIZES[0];
    let across = view.window.w.max(1) as usize;
    for (at, tile) in window_sprites(view).into_iter().enumerate() {
        let (left, top) = (at % across * side, at / across * side);
        for y in 0..side {
            for x in 0..side {
                let color = tile_pixel(tile, 0, x * own / side, y * own / side);
                put((left + x) as u32, (top + y) as u32, shade(color, view));
            }
        }
    }
}

fn window_sprites(view: &TileView) -> Vec<(&'static Tile, &'static Tile)> {
    let window = view.window;
    (0..window.h)
        .flat_map(|y| (0..window.w).map(move |x| (window.x + x, window.y + y)))
        .map(|cell| sprite(view, cell))
        .collect()
}

fn tile_pixel((tile, ground): (&Tile, &Tile), size: usize, x: usize, y: usize) -> Rgb {
    tile.pixel(size, x, y)
        .or_else(|| ground.pixel(size, x, y))
        .unwrap_or(ground.color)
}

/// Fills the area with half blocks, two pixels a cell.
pub(super) fn fill(buf: &mut Buffer, area: Rect, theme: &Theme, pixel: impl Fn(i32, i32) -> Rgb) {
    for row in 0..area.height {
        for column in 0..area.width {
            let upper = theme.fit(pixel(i32::from(column), i32::from(row) * 2));
            let lower = theme.fit(pixel(i32::from(column), i32::from(row) * 2 + 1));
            let cell = &mut buf[(area.x + column, area.y + row)];
            cell.modifier = Modifier::empty();
            if upper == lower {
                cell.set_symbol(" ").set_bg(lower);
            } else {
                cell.set_symbol("▀").set_fg(upper).set_bg(lower);
            }
        }
    }
}

/// The picture of a cell; the player's turns with its facing.
pub(super) fn picture(view: &TileView, cell: (i32, i32)) -> u8 {
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

fn draw_letters(
    buf: &mut Buffer,
    area: Rect,
    view: &TileView,
    (wide, west, north): (u16, i32, i32),
    colours: bool,
    theme: &Theme,
) {
    for row in 0..area.height {
        for column in 0..area.width / wide {
            let at = (west + i32::from(column), north + i32::from(row));
            let tile = tiles::tile(picture(view, at));
            let style = letter_style(tile.color, at == view.player, colours, view, theme);
            for extra in 0..wide {
                let cell = &mut buf[(area.x + column * wide + extra, area.y + row)];
                cell.set_style(style);
                cell.set_char(if extra == 0 { tile.letter } else { ' ' });
            }
        }
    }
}

fn letter_style(color: Rgb, is_player: bool, colours: bool, view: &TileView, theme: &Theme) -> Style {
    let plain = theme.base();
    match theme.depth() {
        _ if !colours && is_player => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
        _ if !colours => plain,
        Depth::Mono if is_player => plain.add_modifier(Modifier::REVERSED),
        Depth::Mono => plain,
        Depth::Ansi16 if is_player => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
        Depth::Ansi16 => plain.fg(theme.ink(color)),
        _ if is_player => {
            let (letter, ground) = theme.pair((20, 20, 24), (255, 255, 255));
            Style::reset().fg(letter).bg(ground)
        }
        _ => {
            let ground = shade(mix(color, (0, 0, 0), 0.6), view);
            let (letter, ground) = theme.pair(mix(color, (255, 255, 255), 0.45), ground);
            Style::reset().fg(letter).bg(ground)
        }
    }
}

/// Night and sleep darken and turn the colours towards blue.
fn shade(color: Rgb, view: &TileView) -> Rgb {
    let light = view.light.clamp(0.0, 1.0) * if view.asleep { 0.6 } else { 1.0 };
    let part = |value: u8, least: f32| (f32::from(value) * (least + (1.0 - least) * light)) as u8;
    (part(color.0, 0.3), part(color.1, 0.36), part(color.2, 0.55))
}

/// A colour between two.
pub(super) fn mix(a: Rgb, b: Rgb, share: f32) -> Rgb {
    let part = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share) as u8;
    (part(a.0, b.0), part(a.1, b.1), part(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use crate::types::View;

    fn view() -> TileView {
        match testing::frame(4).view {
            View::Tiles(view) => view,
            _ => panic!("the fixture has a map"),
        }
    }

    #[test]
    fn the_largest_picture_that_fits_is_taken() {
        let size = |w, h| {
            let plan = plan(&view(), Look::Blocks, Rect::new(0, 0, w, h));
            (plan.width, plan.height)
        };
        assert_eq!(size(80, 30), (72, 28));
        assert_eq!(size(56, 30), (54, 21));
        assert_eq!(size(38, 16), (36, 14));
        assert_eq!(size(30, 16), (18, 7));
        assert_eq!(size(10, 3), (9, 3));
    }

    #[test]
    fn every_depth_draws_in_its_area_only() {
        for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let theme = Theme::load("dark", depth).unwrap();
            for look in [Look::Picture, Look::Blocks, Look::Letters, Look::Mono] {
                let mut buf = Buffer::empty(Rect::new(0, 0, 60, 24));
                let area = Rect::new(5, 2, 40, 16);
                let plan = plan(&view(), look, area);
                draw(&mut buf, area, &view(), plan, &theme);
                assert_eq!(buf[(4, 2)], ratatui::buffer::Cell::default());
                assert_eq!(buf[(5, 1)], ratatui::buffer::Cell::default());
            }
        }
    }

    #[test]
    fn a_painted_picture_has_the_pixels_of_the_half_blocks() {
        let view = view();
        let theme = testing::theme();
        let area = Rect::new(0, 0, 72, 28);
        let mut buf = Buffer::empty(area);
        draw(&mut buf, area, &view, plan(&view, Look::Blocks, area), &theme);
        let mut seen = 0;
        paint(&view, 8, &mut |x, y, color| {
            let cell = &buf[(x as u16, y as u16 / 2)];
            let shown = if y % 2 == 0 && cell.symbol() == "▀" {
                cell.fg
            } else {
                cell.bg
            };
            assert_eq!(shown, theme.fit(color), "{x},{y}");
            seen += 1;
        });
        assert_eq!(seen, 72 * 56);
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
