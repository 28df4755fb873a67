//! Numbers and texts as bytes, for the projections of the run file.
//!
//! Every read is checked: damaged bytes give `None`, never a panic or a huge allocation.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// Adds a number, seven bits a byte.
pub(super) fn put_u64(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Adds a text with its length.
pub(super) fn put_str(out: &mut Vec<u8>, text: &str) {
    put_u64(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads what the `put` functions wrote.
#[derive(Clone)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.u64()?.try_into().ok()
    }

    pub(super) fn len(&mut self) -> Option<usize> {
        self.u64()?.try_into().ok()
    }

    pub(super) fn f32(&mut self) -> Option<f32> {
        let bytes = self.take(4)?;
        Some(f32::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        if n > self.0.len() {
            return None;
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Some(head)
    }

    pub(super) fn str(&mut self) -> Option<&'a str> {
        let n = self.len()?;
        std::str::from_utf8(self.take(n)?).ok()
    }
}

thread_local! {
    /// Making them anew for every row would cost more than the rows.
    static COMPRESSORS: RefCell<Vec<(i32, Compressor<'static>)>> = const { RefCell::new(Vec::new()) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compress(bytes: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    COMPRESSORS.with_borrow_mut(|known| {
        if let Some((_, compressor)) = known.iter_mut().find(|(at, _)| *at == level) {
            return compressor.compress(bytes);
        }
        let mut compressor = Compressor::new(level)?;
        let out = compressor.compress(bytes);
        known.push((level, compressor));
        out
    })
}

fn decompress(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|known| {
        let mut decompressor = known.take().or_else(|| Decompressor::new().ok())?;
        let out = decompressor.decompress(bytes, length).ok();
        *known = Some(decompressor);
        out
    })
}

/// Below this, compressing costs more than it saves.
const SMALL: usize = 512;

/// Compresses with zstd, unless it is not worth it; length and form stand in front.
pub(super) fn squeeze(bytes: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    if bytes.len() >= SMALL {
        put_u64(&mut out, (bytes.len() as u64) << 1 | 1);
        out.extend(compress(bytes, level)?);
    } else {
        put_u64(&mut out, (bytes.len() as u64) << 1);
        out.extend_from_slice(bytes);
    }
    Ok(out)
}

/// Undoes [`squeeze`].
pub(super) fn unsqueeze(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Bytes(bytes);
    let head = bytes.u64()?;
    let length = usize::try_from(head >> 1).ok().filter(|n| *n <= MOST)?;
    if head & 1 == 0 {
        return (bytes.0.len() == length).then(|| bytes.0.to_vec());
    }
    // A damaged length must not reserve memory: what zstd says itself is checked too.
    let known = Decompressor::upper_bound(bytes.0).filter(|n| *n >= length && *n <= MOST)?;
    let out = decompress(bytes.0, known.min(length))?;
    (out.len() == length).then_some(out)
}

/// The most bytes anything in a run file may unpack to.
pub(super) const MOST: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_texts_come_back(n in any::<u64>(), text in ".{0,20}") {
            let mut out = Vec::new();
            put_u64(&mut out, n);
            put_str(&mut out, &text);
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.u64(), Some(n));
            prop_assert_eq!(bytes.str(), Some(text.as_str()));
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn squeezed_comes_back_and_garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..900)) {
            prop_assert_eq!(unsqueeze(&squeeze(&bytes, 3).unwrap()), Some(bytes.clone()));
            let _ = unsqueeze(&bytes);
        }
    }
}
