//! Bytes that a person typed, as keys. Only for what is typed while the terminal is asked what it
//! can: after that the library reads.
//!
//! Owns how keys are written by terminals. Must not read anything.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::data::Event;

/// The events of what was typed. What is not complete stays in `bytes`, unless this is the `last`.
pub(super) fn typed(bytes: &mut Vec<u8>, last: bool) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match one(&bytes[at..], last) {
            Some((event, used)) => {
                events.extend(event);
                at += used;
            }
            None => break,
        }
    }
    bytes.drain(..at);
    events
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Event> {
    Some(Event::Key(KeyEvent::new(code, modifiers)))
}

/// The first event and how many bytes it takes; `None` when it is not complete.
fn one(bytes: &[u8], last: bool) -> Option<(Option<Event>, usize)> {
    let plain = KeyModifiers::NONE;
    let (code, modifiers, used) = match bytes {
        [0x1b] if last => (KeyCode::Esc, plain, 1),
        [0x1b] => return None,
        [0x1b, b'[', ..] => return sequence(bytes, last),
        [0x1b, b'O', letter, ..] => match letter_key(*letter) {
            Some(code) => (code, plain, 3),
            None => return Some((None, 3)),
        },
        [0x1b, b'O'] if !last => return None,
        [0x1b, 0x1b, ..] => (KeyCode::Esc, plain, 1),
        [0x1b, rest @ ..] => {
            let (event, used) = one(rest, last)?;
            let event = event.map(|event| match event {
                Event::Key(key) => Event::Key(KeyEvent::new(key.code, key.modifiers | KeyModifiers::ALT)),
                other => other,
            });
            return Some((event, used + 1));
        }
        [b'\r' | b'\n', ..] => (KeyCode::Enter, plain, 1),
        [b'\t', ..] => (KeyCode::Tab, plain, 1),
        [0x7f, ..] => (KeyCode::Backspace, plain, 1),
        [0, ..] => (KeyCode::Char(' '), KeyModifiers::CONTROL, 1),
        [c @ 1..=0x1a, ..] => (KeyCode::Char(char::from(c - 1 + b'a')), KeyModifiers::CONTROL, 1),
        [c @ 0x1c..=0x1f, ..] => (KeyCode::Char(char::from(c - 0x1c + b'4')), KeyModifiers::CONTROL, 1),
        [first, ..] => {
            let length = match first {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            };
            if bytes.len() < length && !last {
                return None;
            }
            let text = bytes.get(..length).and_then(|part| std::str::from_utf8(part).ok());
            return match text.and_then(|text| text.chars().next()) {
                Some(c) => {
                    let shift = if c.is_uppercase() { KeyModifiers::SHIFT } else { plain };
                    Some((key(KeyCode::Char(c), shift), length))
                }
                None => Some((None, 1)),
            };
        }
        [] => return None,
    };
    Some((key(code, modifiers), used))
}

fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'R' => KeyCode::F(3),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

fn number_key(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number as u8 - 10),
        17..=21 => KeyCode::F(number as u8 - 11),
        23 | 24 => KeyCode::F(number as u8 - 12),
        _ => return None,
    })
}

/// What begins with ESC `[`.
fn sequence(bytes: &[u8], last: bool) -> Option<(Option<Event>, usize)> {
    const PASTE: &[u8] = b"\x1b[200~";
    const PASTE_END: &[u8] = b"\x1b[201~";
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        // What never ends is left out.
        return last.then_some((None, bytes.len()));
    };
    let used = end + 3;
    if bytes.starts_with(PASTE) {
        let rest = &bytes[PASTE.len()..];
        return match rest.windows(PASTE_END.len()).position(|part| part == PASTE_END) {
            Some(at) => {
                let text = String::from_utf8_lossy(&rest[..at]).into_owned();
                Some((Some(Event::Paste(text)), PASTE.len() + at + PASTE_END.len()))
            }
            None if last => Some((
                Some(Event::Paste(String::from_utf8_lossy(rest).into_owned())),
                bytes.len(),
            )),
            None => None,
        };
    }
    let numbers: Vec<u32> = std::str::from_utf8(&body[..end])
        .unwrap_or_default()
        .split(';')
        .map(|part| part.parse().unwrap_or(0))
        .collect();
    let bits = numbers.get(1).map_or(0, |number| number.saturating_sub(1));
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ] {
        if bits & bit != 0 {
            modifiers |= modifier;
        }
    }
    let code = match body[end] {
        b'Z' => {
            modifiers |= KeyModifiers::SHIFT;
            Some(KeyCode::BackTab)
        }
        b'~' => numbers.first().and_then(|number| number_key(*number)),
        letter => letter_key(letter),
    };
    Some((code.and_then(|code| key(code, modifiers)), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<String> {
        let mut bytes = bytes.to_vec();
        typed(&mut bytes, true)
            .into_iter()
            .map(|event| match event {
                Event::Key(key) => crate::tui::keymap::name(&key).unwrap_or_else(|| format!("{:?}", key.code)),
                Event::Paste(text) => format!("paste {text}"),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn what_terminals_send_for_keys_is_read() {
        assert_eq!(
            keys(b"qG?\r\t\x7f\x1b"),
            ["q", "G", "?", "Enter", "Tab", "Backspace", "Esc"]
        );
        assert_eq!(keys(b"\x1b[A\x1b[D\x1bOB\x1b[H"), ["Up", "Left", "Down", "Home"]);
        assert_eq!(
            keys(b"\x1b[5~\x1b[6~\x1b[4~\x1bOP\x1b[15~"),
            ["PgUp", "PgDn", "End", "F1", "F5"]
        );
        assert_eq!(keys(b"\x1b[1;5C\x1b[Z\x10\x03"), ["C-Right", "S-Tab", "C-p", "C-c"]);
        assert_eq!(keys("é漢".as_bytes()), ["é", "漢"]);
        assert_eq!(keys(b"\x1b[200~two\nlines\x1b[201~j"), ["paste two\nlines", "j"]);
        assert_eq!(keys(b"\x1b[99;1x\xff."), ["."]);
    }

    #[test]
    fn what_is_not_complete_waits() {
        let mut bytes = b"j\x1b[".to_vec();
        assert_eq!(typed(&mut bytes, false).len(), 1);
        assert_eq!(bytes, b"\x1b[");
        bytes.extend(b"B");
        assert_eq!(typed(&mut bytes, false).len(), 1);
        assert!(bytes.is_empty());
        let mut bytes = vec![0xe6, 0xbc];
        assert!(typed(&mut bytes, false).is_empty());
        bytes.push(0xa2);
        assert_eq!(typed(&mut bytes, false).len(), 1);
    }
}
