//! Pictures of the game: which way of drawing is used, and what has to be encoded for it.
//!
//! Owns these decisions as state. What the terminal can is found out in `probe`, pictures are
//! encoded in `encode`; this module does neither.

pub(super) mod encode;
mod keys;
pub(super) mod probe;

use std::sync::Arc;

use ratatui::layout::Rect;

use super::theme::{Depth, Rgb, Theme};
use crate::types::{Digest, Frame, TileView};

/// The protocol that carries pictures to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wire {
    /// kitty's, with placeholders for the cells.
    Kitty,
    /// iTerm2's inline images.
    Iterm2,
    /// Sixels.
    Sixel,
}

impl Wire {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kitty => "kitty",
            Self::Iterm2 => "iTerm2",
            Self::Sixel => "sixel",
        }
    }
}

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Graphics {
    /// How.
    pub(crate) wire: Wire,
    /// Pixels of a character cell.
    pub(crate) cell: (u16, u16),
    /// kitty only: it inflates what it is sent.
    pub(crate) inflates: bool,
    /// It stands behind tmux, which passes the pictures through.
    pub(crate) tmux: bool,
}

/// How the game is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// As a picture.
    Picture,
    /// In half blocks, two pixels a cell.
    Blocks,
    /// As coloured letters.
    Letters,
    /// As letters without colour.
    Mono,
}

impl Look {
    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Picture => "pictures",
            Self::Blocks => "half-blocks",
            Self::Letters => "letters",
            Self::Mono => "letters without colour",
        }
    }
}

/// What a person wants before the program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The best that the terminal can; it is asked.
    Auto,
    /// What needs no asking.
    Off,
    /// This way.
    Look(Look),
    /// Pictures over this protocol.
    Wire(Wire),
}

/// The names of the choices.
pub(crate) const CHOICES: &[(&str, Choice)] = &[
    ("auto", Choice::Auto),
    ("off", Choice::Off),
    ("halfblocks", Choice::Look(Look::Blocks)),
    ("letters", Choice::Look(Look::Letters)),
    ("mono", Choice::Look(Look::Mono)),
    ("kitty", Choice::Wire(Wire::Kitty)),
    ("iterm2", Choice::Wire(Wire::Iterm2)),
    ("sixel", Choice::Wire(Wire::Sixel)),
];

/// Reads a choice; empty is `auto`.
///
/// # Errors
/// What there is to choose from.
pub(crate) fn choice(name: &str) -> Result<Choice, String> {
    if name.is_empty() {
        return Ok(Choice::Auto);
    }
    let found = CHOICES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = CHOICES.iter().map(|(name, _)| *name).collect();
        format!("`{name}` is no way to draw pictures; there are: {}", names.join(", "))
    })
}

/// Names one picture: equal keys are equal pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The world's state.
    pub(crate) frame: Digest,
    /// Pixels of a tile.
    pub(crate) side: u16,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// For this terminal.
    pub(crate) graphics: Graphics,
    /// What lies behind it.
    pub(crate) ground: Rgb,
    /// The terminal forgot all pictures before this.
    pub(crate) epoch: u32,
}

/// A picture to be encoded.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Its name.
    pub(crate) key: Key,
    /// What it shows.
    pub(crate) frame: Arc<Frame>,
    /// Where it will stand.
    pub(crate) area: Rect,
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.area == other.area
    }
}

/// A picture that is ready.
#[derive(Clone)]
pub(crate) struct Ready {
    /// Its name.
    pub(crate) key: Key,
    /// What the terminal is sent.
    pub(crate) image: Arc<ratatui_image::protocol::Protocol>,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The pictures' state.
#[derive(Debug, Default)]
pub(crate) struct Pictures {
    /// What the terminal can, once that is known.
    pub(crate) graphics: Option<Graphics>,
    /// The way a person chose.
    chosen: Option<Look>,
    /// Counts how often the terminal forgot its pictures.
    epoch: u32,
    /// The picture that was asked for last.
    asked: Option<Key>,
    /// The picture that came last.
    ready: Option<Ready>,
    /// Nothing but text is drawn: the screen is saved.
    pub(crate) hidden: bool,
}

impl Pictures {
    /// What was chosen before the start. Cells are as large as the terminal said, or usual.
    pub(crate) fn new(choice: Choice, cell: Option<(u16, u16)>) -> Self {
        let mut pictures = Self::default();
        match choice {
            Choice::Auto | Choice::Off => {}
            Choice::Look(look) => pictures.chosen = Some(look),
            Choice::Wire(wire) => {
                pictures.graphics = Some(Graphics {
                    wire,
                    cell: cell.unwrap_or(USUAL_CELL),
                    inflates: false,
                    tmux: false,
                });
            }
        }
        pictures
    }

    /// The ways there are, the best first.
    fn looks(&self, theme: &Theme) -> Vec<Look> {
        if theme.depth() == Depth::Mono {
            return vec![Look::Mono];
        }
        let mut looks = vec![Look::Blocks, Look::Letters, Look::Mono];
        if theme.depth() < Depth::Ansi256 {
            // With 16 colours letters say more than half blocks.
            looks.swap(0, 1);
        }
        if self.graphics.is_some() && !self.hidden {
            looks.insert(0, Look::Picture);
        }
        looks
    }

    /// How the game is drawn.
    pub(crate) fn look(&self, theme: &Theme) -> Look {
        let looks = self.looks(theme);
        match self.chosen {
            Some(look) if looks.contains(&look) => look,
            _ => looks.first().copied().unwrap_or(Look::Mono),
        }
    }

    /// The next way; said in words.
    pub(crate) fn next(&mut self, theme: &Theme) -> String {
        let looks = self.looks(theme);
        let at = looks.iter().position(|look| *look == self.look(theme)).unwrap_or(0);
        let next = looks[(at + 1) % looks.len()];
        self.chosen = Some(next);
        match self.graphics.filter(|_| next == Look::Picture) {
            Some(graphics) => format!("{} ({})", next.word(), graphics.wire.name()),
            None => next.word().to_owned(),
        }
    }

    /// The terminal was emptied: what it was sent before does not count.
    pub(crate) fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.asked = None;
        self.ready = None;
    }

    /// The picture of a frame for a room of this size, at its north-west corner.
    pub(crate) fn want(&self, frame: &Arc<Frame>, view: &TileView, room: Rect, theme: &Theme) -> Option<Wanted> {
        if self.look(theme) != Look::Picture {
            return None;
        }
        let graphics = self.graphics?;
        let (side, size) = fit(view, room, graphics)?;
        Some(Wanted {
            key: Key {
                frame: frame.digest,
                side,
                size,
                graphics,
                ground: theme.rgb(super::theme::Slot::Background),
                epoch: self.epoch,
            },
            frame: Arc::clone(frame),
            area: Rect {
                width: size.0,
                height: size.1,
                ..room
            },
        })
    }

    /// Notes that a picture is asked for; false when it was the last one already.
    pub(crate) fn ask(&mut self, wanted: &Wanted) -> bool {
        let new = self.asked != Some(wanted.key);
        self.asked = Some(wanted.key);
        new
    }

    /// Takes in a picture.
    pub(crate) fn take(&mut self, ready: Ready) {
        if ready.key.epoch == self.epoch {
            self.ready = Some(ready);
        }
    }

    /// The picture that can stand in a place: the one that is wanted, or until it is ready the
    /// last one of the same size.
    pub(crate) fn ready(&self, wanted: &Wanted) -> Option<&Ready> {
        let frameless = |key: Key| Key {
            frame: Digest::default(),
            ..key
        };
        self.ready
            .as_ref()
            .filter(|ready| frameless(ready.key) == frameless(wanted.key))
    }
}

/// Pixels of a cell where the terminal does not say.
pub(crate) const USUAL_CELL: (u16, u16) = (10, 20);

/// Pixels of a tile, and columns and rows of the whole: the largest whole multiple of the tiles'
/// own size that fits. `None` when even that does not.
fn fit(view: &TileView, room: Rect, graphics: Graphics) -> Option<(u16, (u16, u16))> {
    let (across, down) = (view.window.w.max(1) as u32, view.window.h.max(1) as u32);
    let cell = (u32::from(graphics.cell.0.max(1)), u32::from(graphics.cell.1.max(1)));
    let pixels = (u32::from(room.width) * cell.0, u32::from(room.height) * cell.1);
    let most = match graphics.wire {
        // What is sent as it is must not be large.
        Wire::Kitty if !graphics.inflates => 3,
        Wire::Sixel => 5,
        _ => 8,
    };
    let own = super::widgets::tiles::SIZES[0] as u32;
    let times = (pixels.0 / across).min(pixels.1 / down) / own;
    if times == 0 {
        return None;
    }
    let side = own * times.min(most);
    let size = ((across * side).div_ceil(cell.0), (down * side).div_ceil(cell.1));
    Some((side as u16, (size.0 as u16, size.1 as u16)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use crate::types::View;

    fn graphics(wire: Wire) -> Graphics {
        Graphics {
            wire,
            cell: (10, 20),
            inflates: true,
            tmux: false,
        }
    }

    fn wanted(pictures: &Pictures, step: u32, room: Rect) -> Option<Wanted> {
        let frame = Arc::new(testing::frame(step));
        let View::Tiles(view) = &frame.view else { panic!() };
        pictures.want(&frame, view, room, &testing::theme())
    }

    #[test]
    fn choices_are_read_and_refused_in_words() {
        assert_eq!(choice(""), Ok(Choice::Auto));
        assert_eq!(choice("Kitty"), Ok(Choice::Wire(Wire::Kitty)));
        assert!(choice("svga").unwrap_err().contains("halfblocks"));
    }

    #[test]
    fn the_best_way_is_taken_and_the_key_goes_through_all() {
        let theme = testing::theme();
        let mut pictures = Pictures::new(Choice::Auto, None);
        assert_eq!(pictures.look(&theme), Look::Blocks);
        pictures.graphics = Some(graphics(Wire::Kitty));
        assert_eq!(pictures.look(&theme), Look::Picture);
        let mut seen = Vec::new();
        for _ in 0..4 {
            pictures.next(&theme);
            seen.push(pictures.look(&theme));
        }
        assert_eq!(seen, [Look::Blocks, Look::Letters, Look::Mono, Look::Picture]);
        let mono = Theme::load("monochrome", Depth::True).unwrap();
        assert_eq!(pictures.look(&mono), Look::Mono);
        let few = Theme::load("dark", Depth::Ansi16).unwrap();
        assert_eq!(Pictures::default().look(&few), Look::Letters);
        let forced = Pictures::new(Choice::Wire(Wire::Sixel), Some((8, 16)));
        assert_eq!(forced.look(&theme), Look::Picture);
        assert_eq!(
            Pictures::new(Choice::Look(Look::Letters), None).look(&theme),
            Look::Letters
        );
    }

    #[test]
    fn a_picture_fits_its_room_and_is_asked_for_once() {
        let mut pictures = Pictures {
            graphics: Some(graphics(Wire::Kitty)),
            ..Pictures::default()
        };
        let room = Rect::new(3, 2, 52, 20);
        let first = wanted(&pictures, 4, room).unwrap();
        assert_eq!((first.key.side, first.key.size), (56, (51, 20)));
        assert!(first.area.width <= room.width && first.area.height <= room.height);
        assert!(pictures.ask(&first));
        assert!(!pictures.ask(&first));
        assert!(pictures.ready(&first).is_none());
        assert!(wanted(&pictures, 4, Rect::new(0, 0, 6, 2)).is_none());
    }

    #[test]
    fn the_last_picture_of_the_same_size_stands_until_the_next_is_ready() {
        let mut pictures = Pictures {
            graphics: Some(graphics(Wire::Iterm2)),
            ..Pictures::default()
        };
        let room = Rect::new(0, 0, 40, 16);
        let first = wanted(&pictures, 1, room).unwrap();
        pictures.take(encode::Encoder::default().encode(&first).unwrap());
        let second = wanted(&pictures, 2, room).unwrap();
        assert!(pictures.ready(&first).is_some());
        assert!(pictures.ready(&second).is_some());
        let small = wanted(&pictures, 2, Rect::new(0, 0, 20, 8)).unwrap();
        assert!(pictures.ready(&small).is_none());
        pictures.forget();
        let again = wanted(&pictures, 1, room).unwrap();
        assert!(pictures.ready(&again).is_none());
        // What was under way when the terminal forgot everything comes too late.
        pictures.take(encode::Encoder::default().encode(&first).unwrap());
        assert!(pictures.ready(&again).is_none());
    }
}
