//! Draws the whole map: what the agent has seen, its trail, and where something happened.
//!
//! Owns the way from map cells to screen cells. Must not know where the trail comes from.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::sprites::{centred, fill, mix, picture};
use super::tiles::{self, Rgb};
use crate::tui::data::{MapMark, MapView};
use crate::tui::pictures::Look;
use crate::tui::theme::{Depth, Slot, Theme};
use crate::types::TileView;

/// Steps that count as the newest of the trail, and as recent.
const NEWEST: usize = 8;
const RECENT: usize = 60;
const TRAIL: Rgb = (255, 130, 220);

/// Where the map stands and which part of it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Columns.
    pub(crate) width: u16,
    /// Rows.
    pub(crate) height: u16,
    /// The part that shows, in map cells.
    part: (i32, i32, i32, i32),
    /// In half blocks: pixels of a map cell; in letters: columns.
    scale: i32,
    blocks: bool,
    colours: bool,
}

impl Plan {
    /// The part of the map that shows: west, north, cells across and down.
    pub(crate) fn part(&self) -> (i32, i32, i32, i32) {
        self.part
    }
}

/// Fits the map into the area: all of it where it fits, else the part around the player, moved by
/// `pan` map cells.
pub(crate) fn plan(view: &TileView, look: Look, area: Rect, pan: (i32, i32)) -> Plan {
    let (w, h) = (i32::from(view.width).max(1), i32::from(view.height).max(1));
    let (columns, rows) = (i32::from(area.width), i32::from(area.height));
    let blocks = matches!(look, Look::Picture | Look::Blocks);
    let (scale, across, down) = if blocks {
        let scale = (columns / w).min(rows * 2 / h).max(1);
        (scale, (columns / scale).min(w), (rows * 2 / scale).min(h))
    } else {
        let scale = if w * 2 <= columns { 2 } else { 1 };
        (scale, (columns / scale).min(w), rows.min(h))
    };
    let start = |middle: i32, shown: i32, all: i32, pan: i32| {
        (centred(middle, shown, all) + pan).clamp(0, (all - shown).max(0))
    };
    let (west, north) = (
        start(view.player.0, across, w, pan.0),
        start(view.player.1, down, h, pan.1),
    );
    Plan {
        width: (across * scale) as u16,
        height: if blocks { (down * scale + 1) / 2 } else { down } as u16,
        part: (west, north, across, down),
        scale,
        blocks,
        colours: look != Look::Mono,
    }
}

/// Draws the map at the north-west corner of the area.
pub(crate) fn draw(buf: &mut Buffer, area: Rect, view: &TileView, map: Option<&MapView>, plan: Plan, theme: &Theme) {
    let area = Rect {
        width: plan.width,
        height: plan.height,
        ..area
    }
    .intersection(buf.area);
    if plan.blocks {
        draw_blocks(buf, area, view, map, plan, theme);
    } else {
        draw_letters(buf, area, view, map, plan, theme);
    }
    for (cell, (_, sign, paint)) in layers(signs(view, map)) {
        let (west, north, across, down) = plan.part;
        let (x, y) = (cell.0 - west, cell.1 - north);
        if !(0..across).contains(&x) || !(0..down).contains(&y) {
            continue;
        }
        let (column, row) = if plan.blocks {
            (x * plan.scale, y * plan.scale / 2)
        } else {
            (x * plan.scale, y)
        };
        let place = (area.x + column as u16, area.y + row as u16);
        if place.0 < area.right()
            && place.1 < area.bottom()
            && let Some(cell) = buf.cell_mut(place)
        {
            sign_style(cell, sign, paint, plan, theme);
        }
    }
}

/// The share of the map that was seen, 0 to 1.
pub(crate) fn share(map: &MapView) -> f64 {
    let seen = map.seen.iter().filter(|seen| **seen).count();
    seen as f64 / map.seen.len().max(1) as f64
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Paint {
    Slot(Slot),
    /// A part of the trail's colour.
    Trail(f32),
    Player,
}

/// A sign over a tile: its layer, its letter, its colour.
type Sign = (u8, &'static str, Paint);

/// What is drawn over the tiles: trail, marks, player, the highest layer of a cell.
fn signs(view: &TileView, map: Option<&MapView>) -> BTreeMap<(i32, i32), Sign> {
    let mut signs = BTreeMap::new();
    if let Some(map) = map {
        let last = map.trail.len().saturating_sub(1);
        for (at, cell) in map.trail.iter().enumerate() {
            // The newest differ by their shape, not by their brightness alone.
            let sign = match last - at {
                0..NEWEST => (2, "●", Paint::Trail(1.0)),
                NEWEST..RECENT => (1, "•", Paint::Trail(0.8)),
                _ => (0, "·", Paint::Trail(0.55)),
            };
            signs.insert(*cell, sign);
        }
        for (cell, mark) in &map.marks {
            let sign = match mark {
                MapMark::Reward => (3, "★", Paint::Slot(Slot::Reward)),
                MapMark::Death => (3, "✗", Paint::Slot(Slot::Bad)),
            };
            signs.insert(*cell, sign);
        }
    }
    signs.insert(view.player, (4, "@", Paint::Player));
    signs
}

/// In the order in which they are drawn: two map cells may share a cell of the screen.
fn layers(signs: BTreeMap<(i32, i32), Sign>) -> Vec<((i32, i32), Sign)> {
    let mut signs: Vec<_> = signs.into_iter().collect();
    signs.sort_by_key(|(_, (layer, ..))| *layer);
    signs
}

fn sign_style(cell: &mut ratatui::buffer::Cell, sign: &str, paint: Paint, plan: Plan, theme: &Theme) {
    cell.set_symbol(sign);
    let plain = !plan.colours || theme.depth() == Depth::Mono;
    let style = match paint {
        Paint::Player if plain || theme.depth() == Depth::Ansi16 => {
            theme.base().add_modifier(Modifier::REVERSED | Modifier::BOLD)
        }
        Paint::Player => {
            let (letter, ground) = theme.pair((20, 20, 24), (255, 255, 255));
            Style::reset().fg(letter).bg(ground)
        }
        Paint::Slot(_) if plain => Style::new().add_modifier(Modifier::BOLD),
        Paint::Slot(slot) => on_ground(theme.rgb(slot), cell.bg, theme).add_modifier(Modifier::BOLD),
        Paint::Trail(_) if plain => Style::new(),
        Paint::Trail(share) => on_ground(mix((110, 70, 100), TRAIL, share), cell.bg, theme),
    };
    cell.set_style(style);
}

/// A sign's colour over the tile that is drawn already.
fn on_ground(color: Rgb, ground: Color, theme: &Theme) -> Style {
    match theme.depth() {
        Depth::Mono => Style::new(),
        Depth::Ansi16 => Style::new().fg(theme.ink(color)).bg(theme.color(Slot::Background)),
        _ => match theme.shown(ground) {
            Some(ground) => {
                let (letter, back) = theme.pair(color, mix(ground, (0, 0, 0), 0.45));
                Style::new().fg(letter).bg(back)
            }
            None => Style::new().fg(theme.fit(color)),
        },
    }
}

/// How well a cell is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Never,
    Before,
    Now,
}

fn known(view: &TileView, map: Option<&MapView>, (x, y): (i32, i32)) -> Known {
    let window = view.window;
    if (window.x..window.x + window.w).contains(&x) && (window.y..window.y + window.h).contains(&y) {
        return Known::Now;
    }
    let Some(map) = map else {
        return Known::Before;
    };
    let at = usize::try_from(y)
        .ok()
        .zip(usize::try_from(x).ok())
        .map(|(y, x)| y * usize::from(view.width) + x);
    match at.and_then(|at| map.seen.get(at)) {
        Some(true) => Known::Before,
        _ => Known::Never,
    }
}

fn draw_blocks(buf: &mut Buffer, area: Rect, view: &TileView, map: Option<&MapView>, plan: Plan, theme: &Theme) {
    let (west, north, across, down) = plan.part;
    let cells: Vec<Rgb> = (0..down)
        .flat_map(|y| (0..across).map(move |x| (west + x, north + y)))
        .map(|cell| {
            let color = tiles::tile(picture(view, cell)).color;
            match known(view, map, cell) {
                Known::Now => color,
                Known::Before => mix(color, (0, 0, 0), 0.35),
                // People see a little more than the agent knows.
                Known::Never => mix(color, (0, 0, 0), 0.85),
            }
        })
        .collect();
    let ground = theme.rgb(Slot::Background);
    fill(buf, area, theme, |x, y| {
        let (x, y) = (x / plan.scale, y / plan.scale);
        if x >= across || y >= down {
            return ground;
        }
        cells.get((y * across + x) as usize).copied().unwrap_or(ground)
    });
}

fn draw_letters(buf: &mut Buffer, area: Rect, view: &TileView, map: Option<&MapView>, plan: Plan, theme: &Theme) {
    let (west, north, ..) = plan.part;
    let wide = plan.scale as u16;
    let mut styles: BTreeMap<(u8, bool), Style> = BTreeMap::new();
    for row in 0..area.height {
        for column in 0..area.width / wide {
            let at = (west + i32::from(column), north + i32::from(row));
            let known = known(view, map, at);
            let id = picture(view, at);
            let tile = tiles::tile(id);
            let now = known == Known::Now;
            let style = *styles
                .entry((id, now))
                .or_insert_with(|| letter_style(tile.color, now, plan.colours, theme));
            let (letter, style) = match known {
                Known::Never => (' ', theme.base()),
                _ => (tile.letter, style),
            };
            for extra in 0..wide {
                let cell = &mut buf[(area.x + column * wide + extra, area.y + row)];
                cell.set_style(style);
                cell.set_char(if extra == 0 { letter } else { ' ' });
            }
        }
    }
}

fn letter_style(color: Rgb, now: bool, colours: bool, theme: &Theme) -> Style {
    let plain = theme.base();
    match theme.depth() {
        _ if !colours && now => plain,
        _ if !colours => plain.add_modifier(Modifier::DIM),
        Depth::Mono if now => plain,
        Depth::Mono => plain.add_modifier(Modifier::DIM),
        Depth::Ansi16 => plain.fg(theme.ink(color)),
        _ => {
            let ground = mix(color, (0, 0, 0), if now { 0.55 } else { 0.75 });
            let (letter, ground) = theme.pair(mix(color, (255, 255, 255), 0.4), ground);
            Style::reset().fg(letter).bg(ground)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use crate::types::{StepNo, View};

    fn view() -> TileView {
        match testing::frame(4).view {
            View::Tiles(view) => view,
            _ => panic!("the fixture has a map"),
        }
    }

    fn map(trail: Vec<(i32, i32)>) -> MapView {
        let mut seen = vec![false; 64 * 64];
        for y in 20..40 {
            for x in 20..40 {
                seen[y * 64 + x] = true;
            }
        }
        MapView {
            step: StepNo(4),
            upto: StepNo(4),
            seen,
            trail,
            marks: vec![((30, 30), MapMark::Reward), ((31, 30), MapMark::Death)],
            ..MapView::default()
        }
    }

    #[test]
    fn the_map_is_cut_around_the_player_and_moved() {
        let mut view = view();
        view.player = (60, 2);
        let area = Rect::new(0, 0, 40, 10);
        let first = plan(&view, Look::Blocks, area, (0, 0));
        assert_eq!((first.part, first.width, first.height), ((24, 0, 40, 20), 40, 10));
        assert_eq!(plan(&view, Look::Blocks, area, (-4, 7)).part, (20, 7, 40, 20));
        // It is never moved out of sight.
        assert_eq!(plan(&view, Look::Blocks, area, (-99, 99)).part, (0, 44, 40, 20));
        let letters = plan(&view, Look::Letters, Rect::new(0, 0, 130, 70), (5, 5));
        assert_eq!((letters.part, letters.width), ((0, 0, 64, 64), 128));
    }

    #[test]
    fn newer_trail_differs_by_shape_and_marks_stand_on_it() {
        let trail: Vec<(i32, i32)> = (0..100).map(|at| (20 + at % 20, 20 + at / 20)).collect();
        let map = map(trail);
        let all = signs(&view(), Some(&map));
        assert_eq!(all[&(20, 20)].1, "·");
        assert_eq!(all[&(25, 23)].1, "•");
        assert_eq!(all[&(39, 24)].1, "●");
        assert_eq!((all[&(30, 30)].1, all[&(31, 30)].1), ("★", "✗"));
        assert_eq!(all[&view().player].1, "@");
        assert_eq!(layers(all).last().unwrap().1.1, "@");
    }

    #[test]
    fn what_was_never_seen_is_dark_and_blank_in_letters() {
        let (view, map) = (view(), map(Vec::new()));
        assert_eq!(known(&view, Some(&map), (0, 0)), Known::Never);
        assert_eq!(known(&view, Some(&map), (21, 21)), Known::Before);
        assert_eq!(known(&view, Some(&map), view.player), Known::Now);
        let area = Rect::new(0, 0, 128, 64);
        let mut buf = Buffer::empty(area);
        let letters = plan(&view, Look::Letters, area, (0, 0));
        draw(&mut buf, area, &view, Some(&map), letters, &testing::theme());
        assert_eq!(buf[(0, 0)].symbol(), " ");
        assert_ne!(buf[(2 * 21, 21)].symbol(), " ");
    }

    #[test]
    fn every_depth_and_look_draws_in_its_area_only() {
        let map = map(vec![(28, 32), (29, 32)]);
        for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
            let theme = Theme::load("dark", depth).unwrap();
            for look in [Look::Picture, Look::Blocks, Look::Letters, Look::Mono] {
                let mut buf = Buffer::empty(Rect::new(0, 0, 60, 24));
                let area = Rect::new(5, 2, 40, 16);
                let planned = plan(&view(), look, area, (0, 0));
                draw(&mut buf, area, &view(), Some(&map), planned, &theme);
                assert_eq!(buf[(4, 2)], ratatui::buffer::Cell::default());
                assert_eq!(buf[(5, 1)], ratatui::buffer::Cell::default());
                let shows = buf.content().iter().any(|cell| cell.symbol() == "●");
                assert!(shows, "{depth:?} {look:?}");
            }
        }
    }
}
