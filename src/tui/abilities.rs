//! What this terminal can do, found out without taking the screen: for `automem doctor`.

use std::io::Write as _;

use ratatui::crossterm::terminal as term;

use super::data::Event;
use super::pictures::{self, probe};
use super::terminal;
use super::theme::Depth;

/// What this terminal can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// Both ends of the program are a terminal.
    pub is_terminal: bool,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
    /// Colours.
    pub depth: Depth,
    /// Pictures.
    pub pictures: PicturesFound,
}

/// Whether the terminal shows pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PicturesFound {
    /// It does, by this protocol.
    By(&'static str),
    /// It was asked and does not, or did not answer.
    None,
    /// It was not asked, for this reason.
    NotAsked(String),
}

/// The least size the screens need.
pub const LEAST_SIZE: (u16, u16) = super::layout::LEAST;

/// Finds out; `wish` is the option `pictures`. Takes two seconds where the terminal does not answer.
pub fn abilities(wish: &str) -> Abilities {
    let is_terminal = terminal::is_terminal();
    let depth = Depth::detect();
    Abilities {
        is_terminal,
        size: if is_terminal { term::size().ok() } else { None },
        depth,
        pictures: pictures_found(wish, is_terminal, depth),
    }
}

fn pictures_found(wish: &str, is_terminal: bool, depth: Depth) -> PicturesFound {
    let choice = match pictures::choice(wish) {
        Ok(choice) => choice,
        Err(wrong) => return PicturesFound::NotAsked(wrong),
    };
    if let pictures::Choice::Wire(wire) = choice {
        return PicturesFound::By(wire.name());
    }
    if choice != pictures::Choice::Auto {
        return PicturesFound::NotAsked(format!("pictures = {wish}"));
    }
    if !is_terminal {
        return PicturesFound::NotAsked("this is not a terminal".to_owned());
    }
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let hints = match probe::hints(choice, depth, get, probe::tmux_passes) {
        Ok(hints) => hints,
        Err(why) => return PicturesFound::NotAsked(why.to_owned()),
    };
    let mut found = None;
    if term::enable_raw_mode().is_ok() {
        let mut out = std::io::stdout();
        let asked = out
            .write_all(probe::question(hints).as_bytes())
            .and_then(|()| out.flush());
        if asked.is_ok() {
            terminal::hear(hints, |event| {
                if let Event::Graphics(graphics) = event {
                    found = graphics;
                }
            });
        }
        // Nothing more can be done for a terminal that is gone.
        let _ = term::disable_raw_mode();
    }
    found.map_or(PicturesFound::None, |graphics| PicturesFound::By(graphics.wire.name()))
}
