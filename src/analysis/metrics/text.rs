//! What metrics take for a word, a line's meaning, its key and its form.
//!
//! `docs/METRICS.md` has the same definitions in words, and `tests/metrics_check.py` a second time in
//! Python: change all three together. Everything is defined on bytes, so that other languages agree.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A line without the white space around it (space, tab, line feed, form feed, carriage return).
pub(in crate::analysis) fn trimmed(line: &str) -> &str {
    line.trim_matches([' ', '\t', '\n', '\x0c', '\r'])
}

/// The lines of a text that are not blank, trimmed.
pub(in crate::analysis) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(trimmed).filter(|line| !line.is_empty())
}

/// A part of a word: ASCII letters and digits, and everything beyond ASCII.
fn is_wordly(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// A word of a line, with what stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) struct Token<'a> {
    /// The word; a minus sign before a number belongs to it.
    pub(in crate::analysis) text: &'a str,
    /// The byte before it; 0 at the start.
    before: u8,
    /// The byte after it; 0 at the end.
    after: u8,
}

impl Token<'_> {
    fn is_number(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    }
}

/// The words of a text in order.
pub(in crate::analysis) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_wordly(bytes[at]) {
            at += 1;
        }
        if at == bytes.len() {
            return None;
        }
        let word = at;
        while at < bytes.len() && is_wordly(bytes[at]) {
            at += 1;
        }
        let mut start = word;
        let number = bytes[word..at].iter().all(u8::is_ascii_digit);
        let alone = word < 2 || !is_wordly(bytes[word - 2]);
        if number && word > 0 && bytes[word - 1] == b'-' && alone {
            start -= 1;
        }
        Some(Token {
            text: text.get(start..at).unwrap_or_default(),
            before: start.checked_sub(1).map_or(0, |i| bytes[i]),
            after: bytes.get(at).copied().unwrap_or(0),
        })
    })
}

/// Words before a number that make a step stamp of the two.
const STAMPS: [&str; 6] = ["step", "steps", "turn", "tick", "time", "t"];

/// The words that carry a line's meaning: without step stamps (`[31]`, `step 31`, `31:` at the start).
/// Tells whether there was a stamp.
fn meaning(line: &str) -> (Vec<String>, bool) {
    let mut words: Vec<String> = Vec::new();
    let mut stamped = false;
    let mut first = true;
    for token in tokens(line) {
        if token.is_number() {
            let bracketed = token.before == b'[' && token.after == b']';
            let numbered = first && matches!(token.after, b':' | b'.' | b')' | b'|');
            let named = words.last().is_some_and(|word| STAMPS.contains(&word.as_str()));
            if bracketed || numbered || named {
                if named && !bracketed {
                    words.pop();
                }
                stamped = true;
                first = false;
                continue;
            }
        }
        first = false;
        words.push(token.text.to_ascii_lowercase());
    }
    (words, stamped)
}

/// What a line says, apart from capitals, punctuation and step stamps; `None` when nothing is left. Two
/// lines with the same meaning are near-duplicates.
pub(in crate::analysis) fn meaning_of(line: &str) -> Option<u64> {
    let (words, _) = meaning(line);
    (!words.is_empty()).then(|| hash_of(&words))
}

/// The most words of a key.
const KEY_WORDS: usize = 5;

/// What a line is about: its coordinates where it begins with some, or the words before its first `:`, `=`
/// or `|`. `None` for lines that are stamped with a step (a log has no keys) or have no key.
pub(in crate::analysis) fn key_of(line: &str) -> Option<u64> {
    let (_, stamped) = meaning(line);
    if stamped {
        return None;
    }
    let start = line.trim_start_matches(['(', '-', '*', ' ']);
    let offset = line.len() - start.len();
    let signed = offset - usize::from(line.as_bytes().get(offset.wrapping_sub(1)) == Some(&b'-'));
    if let Some(pair) = pair_at(line, signed) {
        return Some(hash_of(&vec![pair.replace(' ', "")]));
    }
    let end = line.find([':', '=', '|'])?;
    let (words, _) = meaning(line.get(..end)?);
    let named = words.iter().any(|word| word.bytes().any(|byte| !byte.is_ascii_digit()));
    (named && words.len() <= KEY_WORDS).then(|| hash_of(&words))
}

/// The form of a line in two signs: what it begins with (`a` a letter, `0` a number, or its first sign), and
/// its first separator (`.` when it has none).
pub(in crate::analysis) fn form_of(line: &str) -> (char, char) {
    let first = match line.bytes().next() {
        Some(byte) if byte.is_ascii_digit() => '0',
        Some(byte) if byte.is_ascii_alphabetic() || byte >= 0x80 => 'a',
        Some(byte) => char::from(byte),
        None => '.',
    };
    let separator = line.bytes().skip(1).find(|byte| b":=|([{,;".contains(byte));
    (first, separator.map_or('.', char::from))
}

fn hash_of(words: &Vec<String>) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// A pair of numbers at a place, such as `-7,3` or `-7, 3`.
fn pair_at(text: &str, at: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let number = |from: usize| {
        let digits = from + usize::from(bytes.get(from) == Some(&b'-'));
        let mut end = digits;
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        (end > digits).then_some(end)
    };
    let comma = number(at)?;
    if bytes.get(comma) != Some(&b',') {
        return None;
    }
    let second = comma + 1 + usize::from(bytes.get(comma + 1) == Some(&b' '));
    let end = number(second)?;
    text.get(at..end)
}

/// The first pair of numbers in a text.
pub(in crate::analysis) fn has_pair(text: &str) -> bool {
    marks(text).any(|mark| mark.contains(','))
}

/// What an answer can owe to one line: its pairs of numbers, and its words of four letters or more (`_` is a
/// letter here).
pub(in crate::analysis) fn marks(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let byte = bytes[at];
            if letter(byte) {
                let start = at;
                while at < bytes.len() && letter(bytes[at]) {
                    at += 1;
                }
                let word = text.get(start..at).unwrap_or_default();
                if word.chars().count() >= 4 {
                    return Some(word);
                }
            } else if byte == b'-' || byte.is_ascii_digit() {
                if let Some(pair) = pair_at(text, at) {
                    at += pair.len();
                    return Some(pair);
                }
                at += 1;
                while at < bytes.len() && bytes[at].is_ascii_digit() {
                    at += 1;
                }
            } else {
                at += 1;
            }
        }
        None
    })
}

/// Directions in words.
const COMPASS: [&str; 8] = [
    "north",
    "south",
    "east",
    "west",
    "northeast",
    "northwest",
    "southeast",
    "southwest",
];

/// Whether a line says where something is: a pair of numbers or a direction.
pub(in crate::analysis) fn says_where(line: &str) -> bool {
    has_pair(line) || tokens(line).any(|token| COMPASS.iter().any(|word| word.eq_ignore_ascii_case(token.text)))
}

/// Which things of a vocabulary a text names, as a set of bits; one `s` at the end of a word is no difference.
pub(in crate::analysis) fn things_in(text: &str, things: &[&str]) -> u64 {
    let mut named = 0;
    for token in tokens(text) {
        let one = token.text.strip_suffix(['s', 'S']).unwrap_or(token.text);
        for (bit, thing) in things.iter().enumerate().take(64) {
            if thing.eq_ignore_ascii_case(token.text) || thing.eq_ignore_ascii_case(one) {
                named |= 1 << bit;
            }
        }
    }
    named
}

/// What undoes a move, by the names worlds give their moves.
pub(in crate::analysis) fn are_opposite(one: &str, other: &str) -> bool {
    let direction = |name: &str| {
        let words: Vec<String> = tokens(name).map(|token| token.text.to_ascii_lowercase()).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["move" | "go" | "walk", one] => Some(one.to_owned()),
            [one] => Some(one.to_owned()),
            _ => None,
        }
    };
    const OPPOSITES: [(&str, &str); 7] = [
        ("north", "south"),
        ("east", "west"),
        ("northeast", "southwest"),
        ("northwest", "southeast"),
        ("up", "down"),
        ("left", "right"),
        ("forward", "backward"),
    ];
    let (Some(one), Some(other)) = (direction(one), direction(other)) else {
        return false;
    };
    OPPOSITES
        .iter()
        .any(|&(a, b)| (one == a && other == b) || (one == b && other == a))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn step_stamps_and_punctuation_make_no_difference() {
        let same = |a, b| meaning_of(a) == meaning_of(b);
        assert!(same("[31] (-7,3) facing south", "[29] (-7, 3) Facing SOUTH."));
        assert!(same("step 30 Do: health 9", "step 31 Do: health 9"));
        assert!(same("12: tree at 3,4", "tree at (3,4)"));
        assert!(!same("tree at (-4,0)", "tree at (4,0)"));
        assert!(!same("wood: 2", "wood: 3"));
        assert!(!same("stone 2S", "stone 3S"));
        assert_eq!(meaning_of("--- [3]"), None);
    }

    #[test]
    fn keys_are_what_a_line_is_about() {
        assert_eq!(key_of("wood: 2"), key_of("Wood = 3"));
        assert_eq!(key_of("-1,-5 tree"), key_of("(-1, -5) water"));
        assert_ne!(key_of("-1,-5 tree"), key_of("1,-5 tree"));
        assert!(key_of("-1,-5 tree").is_some());
        assert_eq!(key_of("step 30 Do: health 9"), None);
        assert_eq!(key_of("no key here"), None);
        assert_eq!(key_of(""), None);
        assert_eq!(key_of("12: "), None);
    }

    #[test]
    fn forms_marks_and_places() {
        assert_eq!(form_of("tree seen at (-4,0) [1]"), ('a', '('));
        assert_eq!(form_of("[1] x=2"), ('[', '='));
        assert_eq!(form_of("plain"), ('a', '.'));
        let found: Vec<_> = marks("go to (-4,0), wood_pickaxe at 3, 4; a 77 tree").collect();
        assert_eq!(found, ["-4,0", "wood_pickaxe", "3, 4", "tree"]);
        assert!(says_where("water is North of it") && says_where("tree (1,2)") && !says_where("at least 3 trees"));
        assert_eq!(things_in("Trees, 2 cows; stones", &["tree", "water", "cow"]), 0b101);
        assert!(are_opposite("Move West", "Move East") && are_opposite("north", "south"));
        assert!(!are_opposite("Move West", "Move North") && !are_opposite("Do", "Noop"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[-a-cSé漢 0-9,:=|()\\[\\]\t\r\n]{0,24}|.{0,12}") {
            for line in lines(&text) {
                let _ = (meaning_of(line), key_of(line), form_of(line), says_where(line));
                prop_assert_eq!(trimmed(line), line);
            }
            for token in tokens(&text) {
                prop_assert!(!token.text.is_empty());
            }
            for mark in marks(&text) {
                prop_assert!(text.contains(mark));
            }
        }
    }
}
