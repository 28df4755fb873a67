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

/// Bytes as the game means them: one character each.
pub(in crate::env) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
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
        text.extend(slot[..end].iter().map(|byte| char::from(*byte)));
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
        text.extend(seen.tty_row(row).iter().map(|byte| char::from(*byte)));
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
