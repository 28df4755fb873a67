//! The game's library: loading it, its C structures, and the calls.
//!
//! Owns every unsafe block of the worlds. The library keeps its state in globals, so that one game is alive in a
//! process; unloading it between games gives fresh globals.

#![allow(unsafe_code)]

mod pins;

use std::ffi::{c_char, c_int, c_uchar, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;

use super::elf::{Elf, ElfError};
use super::install::Engine;
use super::observation::Observation;

/// A folder's or file's path in the settings.
const PATH: usize = 4096;
/// The text of options.
const OPTIONS: usize = 32768;

/// Why the library cannot be used.
#[derive(Debug, thiserror::Error)]
pub(in crate::env) enum LoadError {
    /// A game is alive in this process.
    #[error("a game is under way in this process, which can hold one; end it first, or play in another process")]
    Busy,
    /// The file cannot be read.
    #[error("{path} cannot be read: {cause}; `automem setup nethack` installs it anew")]
    Unreadable {
        /// The library.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The file is no library for this machine.
    #[error("{path} cannot be loaded: {cause}; `automem setup nethack` installs the one for this machine")]
    Unfit {
        /// The library.
        path: PathBuf,
        /// Why.
        cause: ElfError,
    },
    /// The system's loader refused it.
    #[error("{path} cannot be loaded: {cause}; `automem setup nethack` installs it anew")]
    Refused {
        /// The library.
        path: PathBuf,
        /// Why.
        cause: libloading::Error,
    },
    /// A text is too long for the game.
    #[error("{what} is longer than the {most} bytes the game takes, or holds a zero byte")]
    Text {
        /// What.
        what: &'static str,
        /// How many bytes there may be.
        most: usize,
    },
}

/// The library's `nle_obs`.
#[repr(C)]
struct RawObservation {
    action: c_int,
    done: c_int,
    in_normal_game: c_char,
    how_done: c_int,
    glyphs: *mut i16,
    chars: *mut c_uchar,
    colors: *mut c_uchar,
    specials: *mut c_uchar,
    blstats: *mut i64,
    message: *mut c_uchar,
    program_state: *mut c_int,
    internal: *mut c_int,
    inv_glyphs: *mut i16,
    inv_strs: *mut c_uchar,
    inv_letters: *mut c_uchar,
    inv_oclasses: *mut c_uchar,
    screen_descriptions: *mut c_uchar,
    tty_chars: *mut c_uchar,
    tty_colors: *mut i8,
    tty_cursor: *mut c_uchar,
    misc: *mut c_int,
}

/// balrog-nle's `nle_seeds_init_t`.
#[repr(C)]
struct RawSeeds {
    seeds: [c_ulong; 2],
    reseed: c_char,
}

/// nle 1.3.0's seeds, a part of its settings.
#[repr(C)]
struct RawLevelSeeds {
    seeds: [c_ulong; 2],
    reseed: c_char,
    use_init_seeds: bool,
    lgen: c_ulong,
    use_lgen: bool,
}

/// `nle_settings` of nle 1.3.0; balrog-nle's ends after `ttyrecname`.
#[repr(C)]
struct RawSettings {
    hackdir: [c_char; PATH],
    scoreprefix: [c_char; PATH],
    options: [c_char; OPTIONS],
    wizkit: [c_char; PATH],
    spawn_monsters: c_int,
    ttyrecname: [c_char; PATH],
    seeds: RawLevelSeeds,
    fix_moon_phase: bool,
    time_seed: c_ulong,
    time_seed_set: bool,
}

type StartSeeded =
    unsafe extern "C" fn(*mut RawObservation, *mut c_void, *mut RawSeeds, *mut RawSettings) -> *mut c_void;
type StartPlain = unsafe extern "C" fn(*mut RawObservation, *mut c_void, *mut RawSettings) -> *mut c_void;
type Step = unsafe extern "C" fn(*mut c_void, *mut RawObservation) -> *mut c_void;
type End = unsafe extern "C" fn(*mut c_void);

/// What a game is started with.
#[derive(Debug, Clone)]
pub(super) struct Setting<'a> {
    /// The game's own folder.
    pub(super) hackdir: &'a Path,
    /// Options, joined by commas.
    pub(super) options: &'a str,
    /// Seeds of the game and of what is shown.
    pub(super) seeds: (u64, u64),
    /// Monsters appear during play.
    pub(super) spawn_monsters: bool,
}

/// Whether a game is alive in this process.
static ALIVE: AtomicBool = AtomicBool::new(false);

/// The right to be the process's one game.
struct Alone;

impl Alone {
    fn claim() -> Result<Self, LoadError> {
        match ALIVE.swap(true, Ordering::Acquire) {
            false => Ok(Self),
            true => Err(LoadError::Busy),
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALIVE.store(false, Ordering::Release);
    }
}

/// A game that the library plays. Fields are dropped in this order: the library is unloaded after its game ended.
pub(super) struct Native {
    context: *mut c_void,
    end: End,
    step: Step,
    /// Owned; freed when dropped. A raw pointer, since the library keeps copies of what it holds.
    raw: *mut RawObservation,
    seen: *mut Observation,
    /// Owned; freed when dropped.
    given: *mut Given,
    pinned: bool,
    _library: Library,
    _alone: Alone,
}

// SAFETY: the library keeps no thread-local state, runs the game on a stack of its own and is called only through
// `&mut self`, from one thread at a time.
unsafe impl Send for Native {}

impl Native {
    /// Loads the library and starts a game; it stands at its first question or turn.
    pub(super) fn start(engine: Engine, library: &Path, setting: &Setting<'_>) -> Result<Self, LoadError> {
        let alone = Alone::claim()?;
        let settings = raw_settings(setting)?;
        let bytes = std::fs::read(library).map_err(|cause| LoadError::Unreadable {
            path: library.to_owned(),
            cause,
        })?;
        let elf = match Elf::read(&bytes) {
            Ok(elf) => Some(elf),
            Err(cause) if cfg!(target_os = "linux") => {
                return Err(LoadError::Unfit {
                    path: library.to_owned(),
                    cause,
                });
            }
            Err(_) => None,
        };
        let refused = |cause| LoadError::Refused {
            path: library.to_owned(),
            cause,
        };
        let loaded = load(library, setting.hackdir).map_err(refused)?;
        // SAFETY: the two functions have these types in both engines' headers (nle.h).
        let (step, end) = unsafe {
            let step = *loaded.get::<Step>(b"nle_step\0").map_err(refused)?;
            (step, *loaded.get::<End>(b"nle_end\0").map_err(refused)?)
        };
        let starter = match engine {
            Engine::BalrogNle => {
                // SAFETY: balrog-nle's `nle_start` has this type.
                Starter::Seeded(unsafe { *loaded.get::<StartSeeded>(b"nle_start\0").map_err(refused)? })
            }
            Engine::Nle => {
                // SAFETY: nle 1.3.0's `nle_start` has this type.
                Starter::Plain(unsafe { *loaded.get::<StartPlain>(b"nle_start\0").map_err(refused)? })
            }
        };
        let pinned = elf.is_some_and(|elf| pin(&elf, &starter, step as usize, end as usize));
        let seen = Box::into_raw(Box::new(Observation::default()));
        // SAFETY: `seen` was just made from a box and is freed only in `drop`.
        let raw = Box::into_raw(Box::new(unsafe { raw_observation(seen) }));
        let mut native = Self {
            context: ptr::null_mut(),
            end,
            step,
            raw,
            seen,
            given: Box::into_raw(Box::new(Given {
                seeds: RawSeeds {
                    seeds: [setting.seeds.0 as c_ulong, setting.seeds.1 as c_ulong],
                    reseed: 0,
                },
                settings,
            })),
            pinned,
            _library: loaded,
            _alone: alone,
        };
        native.context = starter.start(raw, native.given);
        Ok(native)
    }

    /// Whether the game is shown the pinned date.
    pub(super) fn pinned(&self) -> bool {
        self.pinned
    }

    /// Sends a key. Nothing happens once the game is over.
    pub(super) fn press(&mut self, key: u8) {
        if self.done() {
            return;
        }
        // SAFETY: the context is the one the library gave last, its game is not over, and `raw` points to places that
        // live as long as `self`; nobody reads them during the call, which needs `&mut self`.
        unsafe {
            (*self.raw).action = c_int::from(key);
            self.context = (self.step)(self.context, self.raw);
        }
    }

    /// The game is over and takes no more keys.
    pub(super) fn done(&self) -> bool {
        // SAFETY: `raw` is valid while `self` lives, and the library writes it only during calls.
        unsafe { (*self.raw).done != 0 }
    }

    /// The hero is alive and the game under way.
    pub(super) fn in_normal_game(&self) -> bool {
        // SAFETY: as in `done`.
        unsafe { (*self.raw).in_normal_game != 0 }
    }

    /// What the game shows.
    pub(super) fn seen(&self) -> &Observation {
        // SAFETY: `seen` is valid while `self` lives; the library writes it only in `press`, which needs `&mut self`.
        unsafe { &*self.seen }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the context is the library's last one and is not used again; the boxes were made in `start` and are
        // freed once. The library forgets the places it was given in `nle_end`.
        unsafe {
            if !self.context.is_null() {
                (self.end)(self.context);
            }
            drop(Box::from_raw(self.raw));
            drop(Box::from_raw(self.seen));
            drop(Box::from_raw(self.given));
        }
    }
}

/// What a game is started with; the library looks at the seeds as long as the game lasts.
struct Given {
    seeds: RawSeeds,
    settings: Box<RawSettings>,
}

/// How an engine starts a game.
enum Starter {
    Seeded(StartSeeded),
    Plain(StartPlain),
}

impl Starter {
    fn address(&self) -> usize {
        match self {
            Self::Seeded(start) => *start as usize,
            Self::Plain(start) => *start as usize,
        }
    }

    fn start(&self, raw: *mut RawObservation, given: *mut Given) -> *mut c_void {
        // SAFETY: `given` comes from a box that lives as long as the game, and nobody else holds it. All structures have
        // the library's layout. The library keeps the places of the seeds (it reads them again for every new level) and
        // those in `raw`; both outlive the game. No record of the terminal is asked for.
        unsafe {
            let seeds = &raw mut (*given).seeds;
            let settings = &raw mut *(*given).settings;
            match self {
                Self::Seeded(start) => start(raw, ptr::null_mut(), seeds, settings),
                Self::Plain(start) => {
                    (*settings).seeds.seeds = (*seeds).seeds;
                    (*settings).seeds.use_init_seeds = true;
                    (*settings).fix_moon_phase = true;
                    // As NLE's own binding derives it; 0 would mean that there is none.
                    (*settings).time_seed = (*seeds).seeds[0].wrapping_add(1);
                    (*settings).time_seed_set = true;
                    start(raw, ptr::null_mut(), settings)
                }
            }
        }
    }
}

/// Loads the library with everything it needs, seen by itself alone, its globals fresh. Where an earlier game's copy was
/// not unloaded (the C++ library, if it came with it, may hold on to it), a copy in the game's folder is loaded.
#[cfg(unix)]
fn load(path: &Path, hackdir: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library as Unix, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: loading runs start-up code: that of the system's C++ library, and that of the game as the installation
    // checked it (sha256), which only makes its own tables. With RTLD_NOLOAD nothing is loaded.
    unsafe {
        if let Ok(shared) = Unix::open(Some("libstdc++.so.6"), RTLD_NOW | RTLD_LOCAL) {
            std::mem::forget(shared);
        }
        let copy = hackdir.join("libnethack.so");
        let stale = Unix::open(Some(path), RTLD_NOW | RTLD_LOCAL | NO_LOAD).is_ok();
        let path = if stale && std::fs::copy(path, &copy).is_ok() {
            &copy
        } else {
            path
        };
        Unix::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Into::into)
    }
}

/// The flag `RTLD_NOLOAD`: only find what is loaded.
#[cfg(unix)]
const NO_LOAD: c_int = if cfg!(target_os = "linux") { 4 } else { 0x10 };

/// Loads a library.
#[cfg(not(unix))]
fn load(path: &Path, _hackdir: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: as for unix.
    unsafe { Library::new(path) }
}

/// Gives the game the functions of [`pins`] in place of the system's. Nothing is changed unless the file and what was
/// loaded agree on where things are.
fn pin(elf: &Elf<'_>, starter: &Starter, step: usize, end: usize) -> bool {
    let base = |name: &str, address: usize| {
        elf.export(name)
            .and_then(|offset| usize::try_from(offset).ok())
            .and_then(|offset| address.checked_sub(offset))
    };
    let Some(start) = base("nle_start", starter.address()) else {
        return false;
    };
    if base("nle_step", step) != Some(start) || base("nle_end", end) != Some(start) || start % 4096 != 0 {
        return false;
    }
    let mut pinned = 0;
    for (name, stand_in) in pins::replaced() {
        for slot in elf.slots(name) {
            let place = (start + slot as usize) as *mut usize;
            // SAFETY: the loaded library begins at `start`, on which three functions agree; `slots` gives only aligned
            // places inside its writable part that hold the address of the imported function `name` and stay writable.
            // The stand-in has that function's type, and no code of the library runs now.
            unsafe { place.write(stand_in) };
            pinned += usize::from(matches!(name, "time" | "localtime"));
        }
    }
    pinned >= 2
}

/// The places the library writes to.
///
/// # Safety
/// `seen` must be valid as long as the result is used.
unsafe fn raw_observation(seen: *mut Observation) -> RawObservation {
    // SAFETY: `seen` is valid; only addresses of its fields are taken.
    unsafe {
        RawObservation {
            action: 0,
            done: 0,
            in_normal_game: 0,
            how_done: 0,
            glyphs: (&raw mut (*seen).glyphs).cast(),
            chars: (&raw mut (*seen).chars).cast(),
            colors: (&raw mut (*seen).colors).cast(),
            specials: (&raw mut (*seen).specials).cast(),
            blstats: (&raw mut (*seen).blstats).cast(),
            message: (&raw mut (*seen).message).cast(),
            program_state: (&raw mut (*seen).program_state).cast(),
            internal: (&raw mut (*seen).internal).cast(),
            inv_glyphs: (&raw mut (*seen).inv_glyphs).cast(),
            inv_strs: (&raw mut (*seen).inv_strs).cast(),
            inv_letters: (&raw mut (*seen).inv_letters).cast(),
            inv_oclasses: (&raw mut (*seen).inv_oclasses).cast(),
            screen_descriptions: ptr::null_mut(),
            tty_chars: (&raw mut (*seen).tty_chars).cast(),
            tty_colors: (&raw mut (*seen).tty_colors).cast(),
            tty_cursor: (&raw mut (*seen).tty_cursor).cast(),
            misc: (&raw mut (*seen).misc).cast(),
        }
    }
}

fn raw_settings(setting: &Setting<'_>) -> Result<Box<RawSettings>, LoadError> {
    // SAFETY: every field may be all zeroes: numbers, characters and `bool`.
    let mut raw: Box<RawSettings> = Box::new(unsafe { std::mem::zeroed() });
    let hackdir = setting.hackdir.to_string_lossy();
    fill(&mut raw.hackdir, &hackdir, "the path of the game's folder")?;
    fill(&mut raw.options, setting.options, "the text of options")?;
    raw.spawn_monsters = c_int::from(setting.spawn_monsters);
    Ok(raw)
}

/// Writes a text and a zero byte.
fn fill(place: &mut [c_char], text: &str, what: &'static str) -> Result<(), LoadError> {
    let most = place.len() - 1;
    if text.len() > most || text.bytes().any(|byte| byte == 0) {
        return Err(LoadError::Text { what, most });
    }
    for (place, byte) in place.iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    Ok(())
}
