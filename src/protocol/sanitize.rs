//! Text that nobody vouches for, made safe to draw or print.
//!
//! Control characters, escape sequences, text-direction overrides and invisible characters become
//! visible signs, one character each, so that columns stay where they were.

use std::borrow::Cow;

/// What stands for something invisible that has no sign of its own.
const UNKNOWN: char = '\u{fffd}';

/// The text with everything dangerous made visible; line ends and tabs stay. Borrowed when there
/// is nothing to do.
///
/// ```
/// # use automem::protocol::sanitize::clean;
/// assert_eq!(clean("\u{1b}[2Jred\n"), "␛[2Jred\n");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    clean_with(text, |c| matches!(c, '\n' | '\t'))
}

/// The same for one line: line ends become `␊` and tabs become `␉`.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    clean_with(text, |_| false)
}

fn clean_with(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let dangerous = |c: char, before: Option<char>| sign(c, before).filter(|_| !keep(c));
    let mut before = None;
    let first = text.char_indices().find(|&(_, c)| {
        let found = dangerous(c, before).is_some();
        before = Some(c);
        found
    });
    let Some((first, _)) = first else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    before = text[..first].chars().next_back();
    for c in text[first..].chars() {
        out.push(dangerous(c, before).unwrap_or(c));
        before = Some(c);
    }
    Cow::Owned(out)
}

/// The sign that stands for a character; `None` when it may stay.
fn sign(c: char, before: Option<char>) -> Option<char> {
    match c {
        ' '..='~' => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}' => Some(UNKNOWN),
        // Joiners belong to emoji and to scripts that need them; after plain text they only hide.
        '\u{200c}' | '\u{200d}' => match before {
            Some(c) if !c.is_ascii() && !('\u{2000}'..='\u{206f}').contains(&c) => None,
            _ => Some(UNKNOWN),
        },
        '\u{2028}' | '\u{2029}' => Some('\u{2424}'),
        // Soft hyphen, direction marks and overrides, zero-width characters, fillers, tags.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => Some(UNKNOWN),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clean_text_is_borrowed() {
        for text in ["", "plain\n\ttext", "漢字 é 🏔️", "👩\u{200d}🚀", "می\u{200c}خواهم"] {
            assert!(matches!(clean(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn dangers_become_visible() {
        let cases = [
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("a\rb", "a␍b"),
            ("a\0b\u{7f}", "a␀b␡"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("user\u{202e}txt.exe", "user\u{fffd}txt.exe"),
            ("zero\u{200b}width\u{feff}", "zero\u{fffd}width\u{fffd}"),
            ("a\u{200d}b", "a\u{fffd}b"),
            ("a\u{2028}b", "a␤b"),
        ];
        for (text, wanted) in cases {
            assert_eq!(clean(text), wanted);
        }
        assert_eq!(clean_line("a\n\tb"), "a␊␉b");
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(cleaned.chars().count(), text.chars().count());
            let again = clean(&cleaned);
            prop_assert_eq!(&again, &cleaned);
            prop_assert!(!clean_line(&text).contains(['\n', '\t']));
        }
    }
}
