//! What the game shows after each key, as the library writes it.

use std::ffi::c_int;

/// Columns of the map.
pub(in crate::env) const COLUMNS: usize = 79;
/// Rows of the map.
pub(in crate::env) const ROWS: usize = 21;
/// Cells of the map.
pub(in crate::env) const CELLS: usize = COLUMNS * ROWS;
/// Columns of the terminal.
pub(in crate::env) const TTY_COLUMNS: usize = 80;
/// Rows of the terminal.
pub(in crate::env) const TTY_ROWS: usize = 24;
/// Cells of the terminal.
pub(in crate::env) const TTY_CELLS: usize = TTY_COLUMNS * TTY_ROWS;
/// Things that can be carried.
pub(in crate::env) const SLOTS: usize = 55;
/// Bytes of an inventory text.
pub(in crate::env) const SLOT_TEXT: usize = 80;

/// Where numbers stand among the status numbers.
pub(in crate::env) mod stat {
    /// Column of the hero.
    pub(in crate::env) const X: usize = 0;
    /// Row of the hero.
    pub(in crate::env) const Y: usize = 1;
    /// The game's score.
    pub(in crate::env) const SCORE: usize = 9;
    /// Hit points.
    pub(in crate::env) const HP: usize = 10;
    /// Most hit points.
    pub(in crate::env) const MAX_HP: usize = 11;
    /// How deep below the surface.
    pub(in crate::env) const DEPTH: usize = 12;
    /// Gold.
    pub(in crate::env) const GOLD: usize = 13;
    /// Magical energy.
    pub(in crate::env) const ENERGY: usize = 14;
    /// Most magical energy.
    pub(in crate::env) const MAX_ENERGY: usize = 15;
    /// Armour class; lower is better.
    pub(in crate::env) const AC: usize = 16;
    /// Experience level.
    pub(in crate::env) const LEVEL: usize = 18;
    /// The game's turn.
    pub(in crate::env) const TURN: usize = 20;
    /// Hunger, 0 (satiated) to 6 (starved).
    pub(in crate::env) const HUNGER: usize = 21;
    /// The level's number in its dungeon.
    pub(in crate::env) const DLVL: usize = 24;
}

/// The status numbers, see [`stat`]; C's `long`, which has 64 bits wherever the library exists.
pub(in crate::env) type Stats = [i64; 27];

/// Everything the game shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub(in crate::env) struct Observation {
    /// What stands on each cell of the map, row by row.
    pub(in crate::env) glyphs: [i16; CELLS],
    /// The same as characters.
    pub(in crate::env) chars: [u8; CELLS],
    /// Colours, 0 to 15.
    pub(in crate::env) colors: [u8; CELLS],
    /// Marks of cells, such as piles and detected things.
    pub(in crate::env) specials: [u8; CELLS],
    /// The status numbers.
    pub(in crate::env) blstats: Stats,
    /// The last message, up to a zero byte.
    pub(in crate::env) message: [u8; 256],
    /// The game's state: over, panicking, exiting, something worth saving and others.
    pub(in crate::env) program_state: [c_int; 6],
    /// Of the game's insides: 1 asks a question, 2 asks for a line, 3 waits for a space, 4 stands on stairs down.
    pub(in crate::env) internal: [c_int; 9],
    /// Glyphs of what is carried.
    pub(in crate::env) inv_glyphs: [i16; SLOTS],
    /// Texts of what is carried, each up to a zero byte.
    pub(in crate::env) inv_strs: [u8; SLOTS * SLOT_TEXT],
    /// Letters of what is carried; 0 ends the list.
    pub(in crate::env) inv_letters: [u8; SLOTS],
    /// Classes of what is carried.
    pub(in crate::env) inv_oclasses: [u8; SLOTS],
    /// The terminal's characters, row by row.
    pub(in crate::env) tty_chars: [u8; TTY_CELLS],
    /// The terminal's colours.
    pub(in crate::env) tty_colors: [i8; TTY_CELLS],
    /// Row and column of the cursor.
    pub(in crate::env) tty_cursor: [u8; 2],
    /// Questions under way: asks a question, asks for a line, waits for a space.
    pub(in crate::env) misc: [c_int; 3],
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            glyphs: [0; CELLS],
            chars: [b' '; CELLS],
            colors: [0; CELLS],
            specials: [0; CELLS],
            blstats: [0; 27],
            message: [0; 256],
            program_state: [0; 6],
            internal: [0; 9],
            inv_glyphs: [0; SLOTS],
            inv_strs: [0; SLOTS * SLOT_TEXT],
            inv_letters: [0; SLOTS],
            inv_oclasses: [0; SLOTS],
            tty_chars: [b' '; TTY_CELLS],
            tty_colors: [0; TTY_CELLS],
            tty_cursor: [0; 2],
            misc: [0; 3],
        }
    }
}

impl Observation {
    /// The game is over and only tells how it went.
    pub(in crate::env) fn is_game_over(&self) -> bool {
        self.program_state[0] == 1
    }

    /// The game is under way: its first level is made.
    pub(in crate::env) fn is_under_way(&self) -> bool {
        self.program_state[3] != 0
    }

    /// The game asks a question that one key answers.
    pub(in crate::env) fn asks_a_question(&self) -> bool {
        self.internal[1] != 0
    }

    /// The game asks for a line of text.
    pub(in crate::env) fn asks_for_a_line(&self) -> bool {
        self.internal[2] != 0
    }

    /// The game waits until its text has been read.
    pub(in crate::env) fn waits_for_a_space(&self) -> bool {
        self.internal[3] != 0
    }

    /// The hero stands on stairs down.
    pub(in crate::env) fn stands_on_stairs_down(&self) -> bool {
        self.internal[4] != 0
    }

    /// A row of the terminal.
    pub(in crate::env) fn tty_row(&self, row: usize) -> &[u8] {
        &self.tty_chars[row * TTY_COLUMNS..(row + 1) * TTY_COLUMNS]
    }
}
