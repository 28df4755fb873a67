//! NetHack, the real game: NLE's library, without Python.
//!
//! Owns loading and driving the game, and what of it every world that plays it shares: keys, texts, ends.
//! [`NetHack`](challenge) is the world NetHackChallenge; MiniHack's levels are played by its own module.

mod date;
mod elf;
mod ffi;
mod game;
mod hackdir;
pub mod install;
mod observation;

pub(in crate::env) use game::{CHALLENGE_OPTIONS, Game, GameError, GameOptions};
pub use install::Engine;
pub(in crate::env) use observation::{COLUMNS, Observation, ROWS, Stats, TTY_COLUMNS, TTY_ROWS, stat};
