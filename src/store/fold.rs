//! Takes out of a step's text what stands in it, or in the first step of its block, already.
//!
//! A step says most things several times: a tool result stands in the operation, in the turn, and
//! in every later prompt; prompts of a phase begin alike. Folded, a step is a twentieth of its
//! size, so that a block unpacks in a millisecond whatever the prompts are. The bytes are opaque
//! here; lines (in JSON: after an escaped line end or a quote) are only where matches are looked for.
//!
//! Folded form: length of the text, then pieces: literal bytes (length, bytes), then a copy
//! (length, offset in `base` followed by the text so far). Either may be empty.

use super::wire::{Bytes, MOST, put_u64};

/// Copies shorter than this are not worth their offset.
const SHORTEST: usize = 32;

/// Where the lines of a text are, by what they begin with.
struct Places {
    table: Vec<u32>,
    shift: u32,
}

impl Places {
    fn for_length(bytes: usize) -> Self {
        let slots = (bytes / 24).next_power_of_two().clamp(256, 1 << 20);
        Self {
            table: vec![u32::MAX; slots],
            shift: 64 - slots.trailing_zeros(),
        }
    }

    fn slot(&self, window: &[u8]) -> usize {
        let mut hash = 0u64;
        for eight in window.chunks_exact(8) {
            let word = u64::from_le_bytes([
                eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7],
            ]);
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        (hash >> self.shift) as usize
    }

    fn put(&mut self, text: &[u8], at: usize) {
        if let (Some(window), Ok(place)) = (text.get(at..at + SHORTEST), u32::try_from(at)) {
            let slot = self.slot(window);
            self.table[slot] = place;
        }
    }

    /// The last place whose text begins like `window`, if the table still knows it.
    fn find(&self, window: &[u8]) -> Option<usize> {
        let place = self.table[self.slot(window)];
        (place != u32::MAX).then_some(place as usize)
    }
}

/// The first step of a block, ready to be referred to.
pub(super) struct Base {
    text: Vec<u8>,
    places: Places,
}

impl Base {
    /// Takes the text in.
    pub(super) fn new(text: Vec<u8>) -> Self {
        let mut places = Places::for_length(text.len());
        for at in anchors(&text) {
            places.put(&text, at);
        }
        Self { text, places }
    }

    /// Nothing to refer to.
    pub(super) fn empty() -> Self {
        Self::new(Vec::new())
    }

    /// The text.
    #[cfg(test)]
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Offsets where a line or a string begins.
fn anchors(text: &[u8]) -> impl Iterator<Item = usize> {
    text.windows(2).enumerate().filter_map(|(at, pair)| match pair {
        [b'\\', b'n'] => Some(at + 2),
        [b'"', _] => Some(at + 1),
        _ => None,
    })
}

/// Folds a text against a base.
pub(super) fn fold(base: &Base, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 8 + 16);
    put_u64(&mut out, text.len() as u64);
    let mut own = Places::for_length(text.len());
    let mut literal_from = 0;
    let mut free_from = 0;
    for at in anchors(text) {
        if at >= free_from && at + SHORTEST <= text.len() {
            let window = &text[at..at + SHORTEST];
            let in_own = own.find(window).map(|from| (from, alike(&text[from..at], &text[at..])));
            let in_base = base
                .places
                .find(window)
                .map(|from| (from, alike(&base.text[from..], &text[at..])));
            let best = match (in_base, in_own) {
                (Some(there), Some(here)) if here.1 > there.1 => Some((here.0 + base.text.len(), here.1)),
                (Some(there), _) => Some(there),
                (None, Some(here)) => Some((here.0 + base.text.len(), here.1)),
                (None, None) => None,
            };
            if let Some((from, length)) = best.filter(|(_, length)| *length >= SHORTEST) {
                put_piece(&mut out, &text[literal_from..at], length, from);
                literal_from = at + length;
                free_from = at + length;
            }
        }
        own.put(text, at);
    }
    if literal_from < text.len() {
        put_piece(&mut out, &text[literal_from..], 0, 0);
    }
    out
}

fn put_piece(out: &mut Vec<u8>, literal: &[u8], copied: usize, from: usize) {
    put_u64(out, literal.len() as u64);
    out.extend_from_slice(literal);
    put_u64(out, copied as u64);
    put_u64(out, from as u64);
}

fn alike(a: &[u8], b: &[u8]) -> usize {
    let longest = a.len().min(b.len());
    let (a, b) = (&a[..longest], &b[..longest]);
    let words = a
        .chunks_exact(16)
        .zip(b.chunks_exact(16))
        .take_while(|(x, y)| x == y)
        .count()
        * 16;
    words + a[words..].iter().zip(&b[words..]).take_while(|(x, y)| x == y).count()
}

/// Undoes [`fold`]; `None` when the bytes are damaged.
pub(super) fn unfold(base: &[u8], folded: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = Bytes(folded);
    let length = pieces.len().filter(|n| *n <= MOST)?;
    let mut out: Vec<u8> = Vec::with_capacity(length.min(16 << 20));
    while out.len() < length {
        let literal = pieces.len()?;
        out.extend_from_slice(pieces.take(literal)?);
        let copied = pieces.len()?;
        let from = pieces.len()?;
        if literal == 0 && copied == 0 || out.len().checked_add(copied)? > length {
            return None;
        }
        if from < base.len() {
            out.extend_from_slice(base.get(from..from.checked_add(copied)?)?);
        } else {
            let from = from - base.len();
            let to = from.checked_add(copied)?;
            if to > out.len() {
                return None;
            }
            out.extend_from_within(from..to);
        }
    }
    (out.len() == length && pieces.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_twice_is_kept_once() {
        let line = r#"Step 12 action 'Move West': nothing has changed at all\n"#;
        let first = format!(r#"{{"result":"{0}{0}{0}"}}"#, line);
        let second = format!(r#"{{"prompt":"before\n{0}{0}{0}after"}}"#, line);
        let base = Base::new(first.clone().into_bytes());
        let folded = fold(&base, second.as_bytes());
        assert!(folded.len() < 60, "{} bytes", folded.len());
        assert_eq!(unfold(base.text(), &folded).unwrap(), second.as_bytes());
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just(r#"the first line, which is long enough to be found again\n"#.to_owned()),
            Just(r#"another line that comes up often, with "quotes" in it\n"#.to_owned()),
            "[ab\"\\\\n]{0,40}",
        ];
        proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn unfolding_undoes_folding(base in texts(), text in texts()) {
            let base = Base::new(base.into_bytes());
            let folded = fold(&base, text.as_bytes());
            prop_assert_eq!(unfold(base.text(), &folded), Some(text.clone().into_bytes()));
            let alone = fold(&Base::empty(), text.as_bytes());
            prop_assert_eq!(unfold(&[], &alone), Some(text.into_bytes()));
        }

        #[test]
        fn garbage_does_not_panic(base in texts(), bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = unfold(base.as_bytes(), &bytes);
        }
    }
}
