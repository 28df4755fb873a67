//! A bounded store of what was loaded, by step. What is farthest from the cursor goes first.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::types::StepNo;

/// Loaded things by step.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    items: BTreeMap<StepNo, Arc<T>>,
    limit: usize,
}

impl<T> Cache<T> {
    /// An empty cache for at most `limit` things.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            items: BTreeMap::new(),
            limit,
        }
    }

    /// The thing of a step.
    pub(crate) fn get(&self, step: StepNo) -> Option<&Arc<T>> {
        self.items.get(&step)
    }

    /// Takes a thing in; `cursor` decides what has to go.
    pub(crate) fn put(&mut self, step: StepNo, item: Arc<T>, cursor: StepNo) {
        self.items.insert(step, item);
        while self.items.len() > self.limit {
            let distance = |step: StepNo| step.0.abs_diff(cursor.0);
            let first = self.items.first_key_value().map(|(step, _)| *step);
            let last = self.items.last_key_value().map(|(step, _)| *step);
            match (first, last) {
                (Some(first), Some(last)) if distance(first) > distance(last) => self.items.remove(&first),
                (_, Some(last)) => self.items.remove(&last),
                _ => return,
            };
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }

    /// Forgets one step.
    pub(crate) fn forget(&mut self, step: StepNo) {
        self.items.remove(&step);
    }

    /// The runs of steps of a range that are not here.
    pub(crate) fn missing(&self, range: Range<u32>) -> Vec<Range<u32>> {
        let mut missing: Vec<Range<u32>> = Vec::new();
        for step in range {
            if self.items.contains_key(&StepNo(step)) {
                continue;
            }
            match missing.last_mut() {
                Some(last) if last.end == step => last.end += 1,
                _ => missing.push(step..step + 1),
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_goes_first() {
        let mut cache = Cache::new(3);
        for step in [0, 10, 11, 12] {
            cache.put(StepNo(step), Arc::new(step), StepNo(12));
        }
        assert!(cache.get(StepNo(0)).is_none());
        assert!(cache.get(StepNo(10)).is_some());
        cache.put(StepNo(2), Arc::new(2), StepNo(2));
        assert!(cache.get(StepNo(12)).is_none());
        assert_eq!(cache.missing(1..13), [1..2, 3..10, 12..13]);
    }
}
