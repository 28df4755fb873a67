//! NetHack, the real game: NLE's library, without Python.
//!
//! Owns loading and driving the game, and what of it every world that plays it shares: keys, texts, ends.
//! [`NetHack`] is the world NetHackChallenge; MiniHack's levels are played by its own module.

mod challenge;
mod date;
pub(in crate::env) mod elf;
mod ends;
mod ffi;
mod game;
mod hackdir;
pub mod install;
pub(in crate::env) mod keys;
mod observation;
mod play;
mod progress;
mod screen;
mod text;

pub use challenge::{NetHack, TASK};
pub(in crate::env) use ends::End;
pub(in crate::env) use game::GameOptions;
pub use install::Engine;
pub(in crate::env) use observation::{Observation, stat};
pub(in crate::env) use play::{Judgement, Outcome, Play, Rules, Turn};
