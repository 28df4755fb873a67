//! One tag at one place: its shape, whatever its name means.
//!
//! Looks at a bounded number of bytes, so that scanning a text stays linear.

/// Bytes a tag's name may have.
const MAX_NAME: usize = 24;
/// Spaces that may stand between a bar and the name.
const MAX_SPACES: usize = 2;
/// The full-width bar that some tokenizers teach models.
const WIDE_BAR: &[u8] = "｜".as_bytes();

/// A tag, or the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The name as written.
    pub(super) name: &'a str,
    /// Offset after it.
    pub(super) end: usize,
    /// It begins with a slash.
    pub(super) closing: bool,
    /// Bars it has, 0 to 2.
    pub(super) bars: u8,
    /// It ends as a tag must; otherwise only `<|NAME` was found.
    pub(super) complete: bool,
}

impl<'a> Tag<'a> {
    /// The tag at `at`, where a `<` stands.
    pub(super) fn at(text: &'a str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut i = at + 1;
        let mut left_bar = eat_bar(bytes, &mut i);
        let closing = eat(bytes, &mut i, b'/');
        if closing && !left_bar {
            left_bar = eat_bar(bytes, &mut i);
        }
        if left_bar {
            eat_spaces(bytes, &mut i);
        }
        let start = i;
        while i < bytes.len() && i - start <= MAX_NAME && is_name(bytes[i], i == start) {
            i += 1;
        }
        let name = &text[start..i];
        if name.is_empty() || name.len() > MAX_NAME {
            return None;
        }
        let mut end = i;
        eat_spaces(bytes, &mut end);
        eat(bytes, &mut end, b'/');
        let right_bar = eat_bar(bytes, &mut end);
        if !right_bar {
            end = i;
            eat(bytes, &mut end, b'/');
        }
        let bars = u8::from(left_bar) + u8::from(right_bar);
        let complete = eat(bytes, &mut end, b'>') || (bars > 0 && eat(bytes, &mut end, b'}'));
        if !complete && !left_bar {
            return None;
        }
        Some(Self {
            name,
            end: if complete { end } else { i },
            closing,
            bars,
            complete,
        })
    }
}

fn is_name(byte: u8, first: bool) -> bool {
    byte.is_ascii_alphabetic() || (!first && (byte.is_ascii_digit() || byte == b'_'))
}

fn eat(bytes: &[u8], i: &mut usize, wanted: u8) -> bool {
    let found = bytes.get(*i) == Some(&wanted);
    *i += usize::from(found);
    found
}

fn eat_bar(bytes: &[u8], i: &mut usize) -> bool {
    if bytes[*i..].starts_with(WIDE_BAR) {
        *i += WIDE_BAR.len();
        return true;
    }
    eat(bytes, i, b'|')
}

fn eat_spaces(bytes: &[u8], i: &mut usize) {
    for _ in 0..MAX_SPACES {
        if !eat(bytes, i, b' ') {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let whole = |text: &'static str| Tag::at(text, 0).filter(|tag| tag.complete && tag.end == text.len());
        for text in [
            "<|READ|>",
            "<READ>",
            "<|READ>",
            "<READ|>",
            "<|READ|}",
            "<| READ |>",
            "<READ/>",
            "<｜READ｜>",
        ] {
            let tag = whole(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((tag.name, tag.closing), ("READ", false), "{text}");
        }
        for text in ["</READ>", "<|/READ|>", "</|READ|>"] {
            let tag = whole(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((tag.name, tag.closing), ("READ", true), "{text}");
        }
        for text in [
            "<",
            "<|",
            "<>",
            "<||>",
            "< READ>",
            "<READ}",
            "<1>",
            "<READ",
            "<é>",
            "< |READ|>",
        ] {
            assert_eq!(Tag::at(text, 0), None, "{text}");
        }
        assert_eq!(Tag::at("<a-very-long-name", 0), None);
        assert_eq!(Tag::at(&format!("<|{}|>", "A".repeat(25)), 0), None);
        let broken = Tag::at("<|READ notes.txt|>", 0).unwrap();
        assert_eq!((broken.complete, broken.end), (false, 6));
    }
}
