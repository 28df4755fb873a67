//! One game: started, sent keys, looked at, ended when dropped.
//!
//! Owns the game's folder and library. Knows nothing of actions, rewards or texts.

use std::path::{Path, PathBuf};

use super::ffi::{LoadError, Native, Setting};
use super::hackdir::{HackDir, HackDirError};
use super::install::{self, Engine, Missing};
use super::observation::Observation;

/// The key that goes on after a text.
const SPACE: u8 = 32;
/// Keys after which a game that has not begun never will.
const MOST_KEYS_TO_BEGIN: u32 = 1000;

/// NetHackChallenge's options, the player's name apart.
pub(in crate::env) const CHALLENGE_OPTIONS: &str = "autopickup,color,disclose:+i +a +v +g +c +o,mention_walls,nobones,nocmdassist,nolegacy,nosparkle,pickup_burden:unencumbered,pickup_types:$?!/,runmode:teleport,showexp,showscore,time";

/// How a game is started.
#[derive(Debug, Clone)]
pub(in crate::env) struct GameOptions<'a> {
    /// Which build plays.
    pub(in crate::env) engine: Engine,
    /// The data directory.
    pub(in crate::env) data: &'a Path,
    /// The game's options, joined by commas, without the name.
    pub(in crate::env) options: &'a str,
    /// The hero in NLE's form, such as `kni-hum-law-mal`; `@` for a random one.
    pub(in crate::env) character: &'a str,
    /// Seed of the game, and of what is shown of it.
    pub(in crate::env) seed: u64,
    /// A data file to play with in place of the engine's: its levels are MiniHack's, where no monsters appear by
    /// themselves.
    pub(in crate::env) nhdat: Option<PathBuf>,
    /// Where the game's folder is made; the system's place for such things if not given.
    pub(in crate::env) scratch: Option<PathBuf>,
}

/// Why a game did not start.
#[derive(Debug, thiserror::Error)]
pub(in crate::env) enum GameError {
    /// The engine is not there.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no folder to play in.
    #[error(transparent)]
    Folder(#[from] HackDirError),
    /// The library cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The game ended or kept asking before its first turn.
    #[error(
        "the game did not begin (it {0}); the installation may be damaged: remove it and run `automem setup nethack` again"
    )]
    NotBegun(&'static str),
}

/// A game under way. The library's game ends before its folder goes.
pub(in crate::env) struct Game {
    native: Native,
    _dir: HackDir,
}

impl Game {
    /// Starts a game and brings it to its first turn.
    pub(in crate::env) fn start(options: &GameOptions<'_>) -> Result<Self, GameError> {
        let installed = install::check(options.data, options.engine)?;
        let nhdat = options.nhdat.as_deref().unwrap_or(&installed.nhdat);
        let dir = HackDir::make(options.scratch.as_deref(), nhdat)?;
        let mut text = format!("{},name:Agent-{}", options.options, options.character);
        if options.character == "@" {
            text.push_str(",race:random,gender:random,align:random");
        }
        let native = Native::start(
            options.engine,
            &installed.library,
            &Setting {
                hackdir: dir.path(),
                options: &text,
                seeds: (options.seed, options.seed),
                spawn_monsters: options.nhdat.is_none(),
            },
        )?;
        let mut game = Self { native, _dir: dir };
        for _ in 0..MOST_KEYS_TO_BEGIN {
            if game.seen().is_under_way() {
                return Ok(game);
            }
            if game.done() {
                return Err(GameError::NotBegun("ended at once"));
            }
            game.press(SPACE);
        }
        Err(GameError::NotBegun("asked on and on"))
    }

    /// Sends a key. Nothing happens once the game is done.
    pub(in crate::env) fn press(&mut self, key: u8) {
        self.native.press(key);
    }

    /// The game takes no more keys.
    pub(in crate::env) fn done(&self) -> bool {
        self.native.done()
    }

    /// The hero is alive and the game under way.
    pub(in crate::env) fn in_normal_game(&self) -> bool {
        self.native.in_normal_game()
    }

    /// What the game shows.
    pub(in crate::env) fn seen(&self) -> &Observation {
        self.native.seen()
    }

    /// Whether the game is shown the pinned date.
    pub(in crate::env) fn date_is_pinned(&self) -> bool {
        self.native.pinned()
    }
}
