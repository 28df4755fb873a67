//! A few unpacked blocks and memory states, so that moving about near a step is cheap.

use std::collections::VecDeque;
use std::sync::Arc;

/// Keeps what was used last, up to a number of bytes.
pub(super) struct Cache<K, V> {
    most: usize,
    bytes: usize,
    /// Newest last.
    kept: VecDeque<(K, Arc<V>, usize)>,
}

impl<K: PartialEq, V> Cache<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            bytes: 0,
            kept: VecDeque::new(),
        }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<Arc<V>> {
        let at = self.kept.iter().position(|(kept, ..)| kept == key)?;
        let found = self.kept.remove(at)?;
        let value = Arc::clone(&found.1);
        self.kept.push_back(found);
        Some(value)
    }

    /// Keeps a value; the newest stays even when it alone is too large.
    pub(super) fn put(&mut self, key: K, value: V, bytes: usize) -> Arc<V> {
        let value = Arc::new(value);
        self.kept.push_back((key, Arc::clone(&value), bytes));
        self.bytes += bytes;
        while self.bytes > self.most && self.kept.len() > 1 {
            if let Some((.., bytes)) = self.kept.pop_front() {
                self.bytes -= bytes;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_what_was_not_used() {
        let mut cache = Cache::new(10);
        cache.put(1, "one", 4);
        cache.put(2, "two", 4);
        assert!(cache.get(&1).is_some());
        cache.put(3, "three", 4);
        assert!(cache.get(&2).is_none());
        assert!(cache.get(&1).is_some());
        cache.put(4, "huge", 100);
        assert!(cache.get(&4).is_some());
        assert!(cache.get(&1).is_none());
    }
}
