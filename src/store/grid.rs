//! Tile maps of successive frames: each is kept as what changed since the one before.

use super::wire::{Bytes, MOST, put_u64};

/// Adds a map to a stream whose last map was `last`, and makes it the last.
pub(super) fn put(out: &mut Vec<u8>, grid: &[u8], last: &mut Vec<u8>) {
    let changed: Vec<usize> = match last.len() == grid.len() {
        true => (0..grid.len()).filter(|at| grid[*at] != last[*at]).collect(),
        false => Vec::new(),
    };
    if last.len() != grid.len() || changed.len() > grid.len() / 3 {
        put_u64(out, (grid.len() as u64) << 1 | 1);
        out.extend_from_slice(grid);
    } else {
        put_u64(out, (changed.len() as u64) << 1);
        let mut previous = 0;
        for at in changed {
            put_u64(out, (at - previous) as u64);
            out.push(grid[at]);
            previous = at;
        }
    }
    last.clear();
    last.extend_from_slice(grid);
}

/// Reads the next map over the last; `None` when the bytes are damaged.
pub(super) fn take(bytes: &mut Bytes<'_>, last: &mut Vec<u8>) -> Option<()> {
    let head = bytes.u64()?;
    let count = usize::try_from(head >> 1).ok().filter(|n| *n <= MOST)?;
    if head & 1 == 1 {
        let grid = bytes.take(count)?;
        last.clear();
        last.extend_from_slice(grid);
        return Some(());
    }
    let mut at = 0usize;
    for _ in 0..count {
        at = at.checked_add(bytes.len()?)?;
        *last.get_mut(at)? = bytes.u8()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn maps_come_back(grids in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..10), 0..6)) {
            let (mut out, mut last) = (Vec::new(), Vec::new());
            grids.iter().for_each(|grid| put(&mut out, grid, &mut last));
            let (mut bytes, mut last) = (Bytes(&out), Vec::new());
            for grid in &grids {
                prop_assert_eq!(take(&mut bytes, &mut last), Some(()));
                prop_assert_eq!(&last, grid);
            }
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = take(&mut Bytes(&bytes), &mut vec![0; 9]);
        }
    }
}
