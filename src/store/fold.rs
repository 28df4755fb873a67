//! Takes out of a step's text what was said before, in the step or in its block.
//!
//! A step says most things several times: a tool result stands in the operation, in the turn, and
//! in every later prompt; prompts of a phase begin alike; a search finds what it found before. A
//! block therefore keeps a dictionary: every text once, in the order it came. A step adds what is
//! new in it and is otherwise a list of copies, so that any step is put together from the
//! dictionary alone, without the steps before it.
//!
//! The bytes are opaque here; lines (in JSON: after an escaped line end or a quote) are only where
//! matches are looked for.
//!
//! Pieces: length of the text; then, until it is reached: bytes that come next in the part's own
//! stretch of the dictionary, length of a copy, its source (twice the offset in the dictionary
//! before this part, or twice the offset in the text so far plus one).

use super::wire::{Bytes, MOST, put_u64};

/// Copies shorter than this are left to the compressor, which says them in fewer bytes.
const SHORTEST: usize = 400;
/// Bytes by which a place is found again.
const WINDOW: usize = 128;

/// Where the lines of a text are, by what they begin with.
struct Places {
    table: Vec<u32>,
    shift: u32,
    filled: usize,
}

impl Places {
    fn with_slots(slots: usize) -> Self {
        let slots = slots.next_power_of_two().clamp(256, 1 << 22);
        Self {
            table: vec![u32::MAX; slots],
            shift: 64 - slots.trailing_zeros(),
            filled: 0,
        }
    }

    fn put(&mut self, hash: u64, at: usize) {
        if let Ok(place) = u32::try_from(at) {
            let slot = &mut self.table[(hash >> self.shift) as usize];
            self.filled += usize::from(*slot == u32::MAX);
            *slot = place;
        }
    }

    /// The last place whose window may have this hash.
    fn find(&self, hash: u64) -> Option<usize> {
        let place = self.table[(hash >> self.shift) as usize];
        (place != u32::MAX).then_some(place as usize)
    }
}

/// A hash of the window at an offset; `None` too near to the end.
fn window(text: &[u8], at: usize) -> Option<u64> {
    let window = text.get(at..at + WINDOW)?;
    let mix = |hash: u64, eight: &[u8]| {
        let word = eight.try_into().map_or(0, u64::from_le_bytes);
        (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    Some(window.chunks_exact(8).fold(0, mix))
}

/// Offsets from `from` on where a line or a string begins.
fn anchors(text: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let start = from.saturating_sub(2);
    let pairs = text.get(start..).unwrap_or_default().windows(2).enumerate();
    pairs.filter_map(move |(at, pair)| match pair {
        [b'\\', b'n'] => Some(start + at + 2),
        [b'"', _] => Some(start + at + 1),
        _ => None,
    })
}

/// Everything a block has said, once.
pub(super) struct Dictionary {
    text: Vec<u8>,
    places: Places,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            places: Places::with_slots(1 << 12),
        }
    }
}

impl Dictionary {
    /// The text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Adds a part's stretch as it was written before.
    pub(super) fn extend(&mut self, stretch: &[u8]) {
        let from = self.text.len();
        self.text.extend_from_slice(stretch);
        let mut all_from = from;
        if self.places.filled * 2 > self.places.table.len() {
            self.places = Places::with_slots(self.places.table.len() * 4);
            all_from = 0;
        }
        for at in anchors(&self.text, all_from).filter(|at| *at >= all_from) {
            if let Some(hash) = window(&self.text, at) {
                self.places.put(hash, at);
            }
        }
    }

    /// Folds a text: adds to the dictionary what is new in it, and gives the pieces.
    pub(super) fn fold(&mut self, text: &[u8]) -> Vec<u8> {
        let mut pieces = Vec::with_capacity(64);
        put_u64(&mut pieces, text.len() as u64);
        let mut fresh = Vec::new();
        let mut own = Places::with_slots(text.len() / 24);
        let mut done = 0;
        for at in anchors(text, 0) {
            // What begins near the end is too short to be copied.
            let Some(hash) = window(text, at) else { break };
            if at >= done {
                let here = own
                    .find(hash)
                    .map(|from| (alike(&text[from..at], &text[at..]), from << 1 | 1));
                let there = self.places.find(hash);
                let there = there.map(|from| (alike(&self.text[from..], &text[at..]), from << 1));
                let best = here.max(there).filter(|(length, _)| *length >= SHORTEST);
                if let Some((length, source)) = best {
                    put_piece(&mut pieces, at - done, length, source);
                    fresh.extend_from_slice(&text[done..at]);
                    done = at + length;
                }
            }
            own.put(hash, at);
        }
        if done < text.len() {
            put_piece(&mut pieces, text.len() - done, 0, 0);
            fresh.extend_from_slice(&text[done..]);
        }
        self.extend(&fresh);
        pieces
    }
}

fn put_piece(out: &mut Vec<u8>, fresh: usize, copied: usize, source: usize) {
    put_u64(out, fresh as u64);
    put_u64(out, copied as u64);
    put_u64(out, source as u64);
}

/// How many bytes two texts begin with alike.
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

/// Puts a text together from the dictionary before its part, the part's own stretch, and the
/// pieces; `None` when they are damaged.
pub(super) fn unfold(before: &[u8], mut stretch: &[u8], pieces: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = Bytes(pieces);
    let length = pieces.len().filter(|n| *n <= MOST)?;
    let mut out: Vec<u8> = Vec::with_capacity(length.min(16 << 20));
    while out.len() < length {
        let fresh = pieces.len()?;
        let copied = pieces.len()?;
        let source = pieces.len()?;
        if fresh == 0 && copied == 0 || fresh > stretch.len() {
            return None;
        }
        let (next, rest) = stretch.split_at(fresh);
        out.extend_from_slice(next);
        stretch = rest;
        if copied > length.checked_sub(out.len())? {
            return None;
        }
        let range = source >> 1..(source >> 1).checked_add(copied)?;
        if source & 1 == 0 {
            out.extend_from_slice(before.get(range)?);
        } else if range.end <= out.len() {
            out.extend_from_within(range);
        } else {
            return None;
        }
    }
    (out.len() == length && pieces.is_empty() && stretch.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just(r#"the first line, which is long enough to be found again\n"#.repeat(9)),
            Just(r#"another line that comes up often, with "quotes" in it\n"#.repeat(12)),
            "[ab\"\\\\n]{0,40}",
        ];
        proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    #[test]
    fn what_is_said_twice_is_kept_once() {
        let lines: String = (0..20)
            .map(|n| format!(r#"Step {n}, 'Move West': nothing has changed\n"#))
            .collect();
        let first = format!(r#"{{"result":"{lines}","results":"{lines}"}}"#);
        let second = format!(r#"{{"prompt":"before\n{lines}after"}}"#);
        let mut dictionary = Dictionary::default();
        dictionary.fold(first.as_bytes());
        let before = dictionary.text().to_vec();
        assert!(before.len() < lines.len() + 40, "{} bytes", before.len());
        let pieces = dictionary.fold(second.as_bytes());
        let stretch = &dictionary.text()[before.len()..];
        assert!(stretch.len() + pieces.len() < 60);
        assert_eq!(unfold(&before, stretch, &pieces).unwrap(), second.as_bytes());
    }

    proptest! {
        #[test]
        fn unfolding_undoes_folding(texts in proptest::collection::vec(texts(), 0..6), again in any::<bool>()) {
            let mut dictionary = Dictionary::default();
            let mut parts = Vec::new();
            for text in &texts {
                let from = dictionary.text().len();
                let pieces = dictionary.fold(text.as_bytes());
                parts.push((from, dictionary.text().len(), pieces));
                if again {
                    let mut rebuilt = Dictionary::default();
                    parts.iter().for_each(|(from, to, _)| rebuilt.extend(&dictionary.text()[*from..*to]));
                    dictionary = rebuilt;
                }
            }
            let all = dictionary.text();
            for (text, (from, to, pieces)) in texts.iter().zip(&parts) {
                let back = unfold(&all[..*from], &all[*from..*to], pieces);
                prop_assert_eq!(back, Some(text.clone().into_bytes()));
            }
        }

        #[test]
        fn garbage_does_not_panic(text in texts(), bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = unfold(text.as_bytes(), b"new text", &bytes);
        }
    }
}
