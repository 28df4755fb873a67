//! The game's message, read off the top of its screen.

use crate::env::nethack::observation::{Observation, TTY_COLUMNS, TTY_ROWS};

/// What the game writes where it waits for a key, apart from `(1 of 2)`.
const ENDINGS: [&[u8]; 2] = [b"--More--", b"(end)"];

/// The message as bytes; rows are joined by line ends.
pub(in crate::env) fn message(seen: &Observation) -> Vec<u8> {
    let blank = |row: usize| trim(seen.tty_row(row)).is_empty();
    if blank(0) && blank(1) {
        return Vec::new();
    }
    let indent = seen.tty_row(0).iter().position(|byte| *byte != b' ');
    let after_death = contains(seen.tty_row(1), b"Points") || contains(seen.tty_row(1), b"list!");
    let mut text = Vec::new();
    let mut blanks = 0;
    for row in 0..TTY_ROWS {
        let line = trim(from(seen, row, indent));
        text.extend_from_slice(line);
        if contains_ending(line) {
            return text;
        }
        if line.is_empty() {
            blanks += 1;
        } else {
            text.push(b'\n');
            blanks = 0;
        }
        if after_death && blanks == 2 {
            return text;
        }
    }
    trim(seen.tty_row(0)).to_vec()
}

/// A row from the message's first column on. Where the first row is blank, upstream counts from one cell before each
/// row: the last one of the row above (before the first row there is nothing).
fn from(seen: &Observation, row: usize, indent: Option<usize>) -> &[u8] {
    let start = row * TTY_COLUMNS;
    let end = start + TTY_COLUMNS;
    let start = match indent {
        Some(indent) => start + indent,
        None => start.saturating_sub(1),
    };
    &seen.tty_chars[start..end]
}

/// Without the spaces and substitute characters around it. A row whose one character is its last cell counts as blank.
fn trim(row: &[u8]) -> &[u8] {
    let ink = |byte: &u8| !matches!(byte, b' ' | 0x1a);
    match (row.iter().position(ink), row.iter().rposition(ink)) {
        (Some(first), Some(last)) if first + 1 < row.len() || row.len() == 1 => &row[first..=last],
        _ => &[],
    }
}

fn contains(row: &[u8], part: &[u8]) -> bool {
    row.windows(part.len()).any(|window| window == part)
}

/// `--More--`, `(end)` or `(2 of 3)`.
fn contains_ending(row: &[u8]) -> bool {
    let page = |window: &[u8]| matches!(window, [b'(', a, b' ', b'o', b'f', b' ', b, b')'] if a.is_ascii_digit() && b.is_ascii_digit());
    ENDINGS.iter().any(|ending| contains(row, ending)) || row.windows(8).any(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn screen(rows: &[&str]) -> Observation {
        let mut seen = Observation::default();
        for (row, text) in rows.iter().enumerate() {
            seen.tty_chars[row * TTY_COLUMNS..][..text.len()].copy_from_slice(text.as_bytes());
        }
        seen
    }

    fn read(rows: &[&str]) -> String {
        String::from_utf8(message(&screen(rows))).unwrap()
    }

    #[test]
    fn one_row_is_the_message() {
        assert_eq!(read(&[]), "");
        assert_eq!(read(&["You see here a dart.  "]), "You see here a dart.");
        assert_eq!(read(&["", "    ------"]), "");
    }

    #[test]
    fn texts_and_menus_are_read_to_their_ending() {
        assert_eq!(read(&["You fall!--More--", " |.@"]), "You fall!--More--");
        let menu = ["     Weapons", "...  a - a dart", "     (1 of 2) x", "     never"];
        assert_eq!(read(&menu), "Weapons\na - a dart\n(1 of 2) x");
        assert_eq!(
            read(&["     Ring", "", "...  b - one", "     (end)"]),
            "Ring\nb - one\n(end)"
        );
    }

    #[test]
    fn the_death_screen_is_read_to_two_blank_rows() {
        let list = [
            "",
            " No  Points  Name",
            "",
            " 0  Agent died",
            "",
            "  level 1.",
            "",
            "",
            "x",
        ];
        assert_eq!(read(&list), "No  Points  Name\n0  Agent died\nlevel 1.\n");
        let mut full = "x".repeat(79);
        full.push('e');
        assert!(read(&["", "You made the top ten list!", &full, "ons of", "", ""]).ends_with("e\neons of\n"));
    }

    proptest! {
        #[test]
        fn no_screen_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), TTY_ROWS * TTY_COLUMNS)) {
            let mut seen = Observation::default();
            seen.tty_chars.copy_from_slice(&bytes);
            message(&seen);
        }
    }
}
