//! The texts a model reads, as BALROG puts them together.
//!
//! Owns turning what the game shows into text: what is around the hero, the cursor, the inventory, the message, the
//! map. Must not know about actions or rewards.

mod glyphs;
mod message;
mod names;

pub(in crate::env) use glyphs::{cursor, glyphs, hero_name};
pub(in crate::env) use message::message;

use super::observation::{Observation, SLOT_TEXT, TTY_ROWS};
use crate::protocol::sanitize::clean;

/// Bytes as the game means them: one character each.
pub(in crate::env) fn latin1(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    push_latin1(&mut text, bytes);
    text
}

fn push_latin1(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(plain) if bytes.is_ascii() => text.push_str(plain),
        _ => text.extend(bytes.iter().map(|byte| char::from(*byte))),
    }
}

/// The text with everything dangerous made visible. Nearly every text is printable ASCII, which is seen fastest at once.
pub(in crate::env) fn safe(text: String) -> String {
    let plain = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
    match text.bytes().fold(true, |all, byte| all & plain(byte)) {
        true => text,
        false => clean(&text).into_owned(),
    }
}

/// What is carried, a line each.
pub(in crate::env) fn inventory(seen: &Observation) -> String {
    let mut text = String::new();
    for (letter, slot) in seen.inv_letters.iter().zip(seen.inv_strs.chunks(SLOT_TEXT)) {
        if *letter == 0 {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let end = slot.iter().position(|byte| *byte == 0).unwrap_or(SLOT_TEXT);
        text.push(char::from(*letter));
        text.push_str(": ");
        push_latin1(&mut text, &slot[..end]);
    }
    text
}

/// The long-term part of an observation: message, surroundings, cursor and map.
pub(in crate::env) fn long(seen: &Observation, message: &str) -> String {
    let [row, column] = seen.tty_cursor;
    let mut text = String::with_capacity(4096);
    text.push_str("message:\n");
    text.push_str(message);
    text.push_str("\n\nlanguage observation:\n");
    text.push_str(&glyphs(seen));
    text.push_str("\n\ncursor:\n");
    text.push_str(&cursor(seen));
    text.push_str(&format!("\n(x={column}, y={row})\n\nmap:\n"));
    for row in 1..TTY_ROWS {
        push_latin1(&mut text, seen.tty_row(row));
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The short-term part of an observation: what is carried.
pub(in crate::env) fn short(seen: &Observation) -> String {
    format!("inventory:\n{}\n", inventory(seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_inventory_ends_at_the_first_empty_letter() {
        let mut seen = Observation::default();
        assert_eq!(short(&seen), "inventory:\n\n");
        for (slot, (letter, text)) in [(b'a', "a dart"), (b'$', "3 gold pieces"), (0, "never")]
            .iter()
            .enumerate()
        {
            seen.inv_letters[slot] = *letter;
            seen.inv_strs[slot * SLOT_TEXT..][..text.len()].copy_from_slice(text.as_bytes());
        }
        assert_eq!(inventory(&seen), "a: a dart\n$: 3 gold pieces");
    }

    #[test]
    fn the_long_text_has_four_parts() {
        let mut seen = Observation::default();
        seen.glyphs.fill(2378);
        seen.tty_cursor = [12, 40];
        seen.blstats[0] = 40;
        seen.blstats[1] = 11;
        let text = long(&seen, "Hello.");
        assert!(text.starts_with(
            "message:\nHello.\n\nlanguage observation:\n\n\ncursor:\nYourself a \n(x=40, y=12)\n\nmap:\n "
        ));
        assert!(text.ends_with(" \n\n"));
        assert_eq!(text.lines().count(), 11 + 23 + 1);
    }

    #[test]
    fn what_is_dangerous_is_made_visible() {
        assert_eq!(safe("a\nb ~".to_owned()), "a\nb ~");
        assert_eq!(safe(latin1(b"\x1b[2J\xe9\0\x9b")), "␛[2Jé␀\u{fffd}");
    }

    proptest! {
        #[test]
        fn no_inventory_makes_it_panic(
            letters in proptest::collection::vec(any::<u8>(), 55),
            texts in proptest::collection::vec(any::<u8>(), 55 * SLOT_TEXT),
        ) {
            let mut seen = Observation::default();
            seen.inv_letters.copy_from_slice(&letters);
            seen.inv_strs.copy_from_slice(&texts);
            short(&seen);
        }
    }
}
