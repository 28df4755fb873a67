//! The game's terminal as a view for people.

use super::observation::{Observation, TTY_CELLS, TTY_COLUMNS, TTY_ROWS};
use super::text::{latin1, safe};
use crate::types::GridView;

/// The screen with its colours and cursor.
pub(in crate::env) fn grid(seen: &Observation) -> GridView {
    let [row, column] = seen.tty_cursor;
    let on_screen = usize::from(column) < TTY_COLUMNS && usize::from(row) < TTY_ROWS;
    GridView {
        width: TTY_COLUMNS as u16,
        rows: (0..TTY_ROWS)
            .map(|row| safe(latin1(seen.tty_row(row))).replace(['\n', '\t'], " "))
            .collect(),
        colours: (0..TTY_CELLS)
            .step_by(TTY_COLUMNS)
            .map(|start| {
                let row = &seen.tty_colors[start..start + TTY_COLUMNS];
                latin1(&row.iter().map(|colour| sign(*colour)).collect::<Vec<u8>>())
            })
            .collect(),
        cursor: on_screen.then_some((u16::from(column), u16::from(row))),
    }
}

/// NLE's colours are curses' numbers, 8 more for bright, 16 more for reversed; 0 is what was never coloured.
fn sign(colour: i8) -> u8 {
    b".123456789abcdef"[usize::from(colour as u8 & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn colours_have_their_signs() {
        assert_eq!([0, 7, 8, 11, 15, 23, -1].map(sign), *b".78bf7f");
    }

    proptest! {
        #[test]
        fn every_screen_is_a_good_view(
            chars in proptest::collection::vec(any::<u8>(), TTY_CELLS),
            colours in proptest::collection::vec(any::<i8>(), TTY_CELLS),
            cursor in any::<[u8; 2]>(),
        ) {
            let mut seen = Observation::default();
            seen.tty_chars.copy_from_slice(&chars);
            seen.tty_colors.copy_from_slice(&colours);
            seen.tty_cursor = cursor;
            prop_assert_eq!(grid(&seen).check(), Ok(()));
        }
    }
}
