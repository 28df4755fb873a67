//! Which prompt lies where in the KV cache, and how much of it the next prompt can keep.
//!
//! Owns the slot table: one sequence of the cache a slot, found again by [`SlotKey`], given away least recently used first
//! when sequences or cells run out. Must not touch the cache: it says what to do, the engine does it.

use crate::llm::chat::SlotKey;

/// What the engine has to do before a prompt can be evaluated, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// The slot (and sequence) that is used.
    pub slot: usize,
    /// Tokens of the prompt that are in the cache already, always fewer than the prompt has.
    pub cached: usize,
    /// Where they come from when not from the slot itself: the slot is emptied and they are copied.
    pub copy_from: Option<usize>,
    /// Slots to empty afterwards, to make room.
    pub evict: Vec<usize>,
}

/// One sequence of the cache.
#[derive(Debug, Clone, Default)]
struct Slot {
    key: Option<SlotKey>,
    /// Tokens that have been evaluated into it.
    tokens: Vec<i32>,
    /// Cells it may grow to while it is in use; `None` when it is not.
    reserved: Option<usize>,
    last_used: u64,
}

impl Slot {
    /// Cells to count for it: what it may grow to, or what it holds. Cells shared with another slot
    /// count twice, which errs on the side of room.
    fn cells(&self) -> usize {
        self.reserved.unwrap_or(0).max(self.tokens.len())
    }
}

/// The slot table.
#[derive(Debug, Clone)]
pub struct SlotTable {
    slots: Vec<Slot>,
    cells: usize,
    /// Whether a part of a sequence can be kept. Recurrent models keep all of it or nothing.
    partial: bool,
    clock: u64,
}

impl SlotTable {
    /// A table of `slots` sequences (at least one) over `cells` cells.
    pub fn new(slots: usize, cells: usize, partial: bool) -> Self {
        Self {
            slots: vec![Slot::default(); slots.max(1)],
            cells,
            partial,
            clock: 0,
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Always false; there is at least one slot.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Finds a slot for a prompt that may grow by `room` tokens; `None` while the busy ones leave no room.
    pub fn admit(&mut self, key: SlotKey, prompt: &[i32], room: usize) -> Option<Admission> {
        let need = prompt.len() + room;
        let (source, cached) = self.longest_prefix(key, prompt);
        let slot = self.choose(key, source)?;
        let evict = self.make_room(slot, need)?;
        let copy_from = source.filter(|source| *source != slot && cached > 0);
        let cached = if source.is_some() { cached } else { 0 };
        for index in &evict {
            self.slots[*index] = Slot::default();
        }
        self.clock += 1;
        self.slots[slot] = Slot {
            key: Some(key),
            tokens: prompt[..cached].to_vec(),
            reserved: Some(need),
            last_used: self.clock,
        };
        Some(Admission {
            slot,
            cached,
            copy_from,
            evict,
        })
    }

    /// Notes that tokens were evaluated into a slot.
    pub fn extend(&mut self, slot: usize, tokens: &[i32]) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.tokens.extend_from_slice(tokens);
        }
    }

    /// The request of a slot is over; its tokens stay for the next one.
    pub fn release(&mut self, slot: usize) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.reserved = None;
            slot.last_used = clock;
        }
    }

    /// A slot was emptied.
    pub fn forget(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot::default();
        }
    }

    /// The cache was emptied.
    pub fn clear(&mut self) {
        let count = self.slots.len();
        self.slots = vec![Slot::default(); count];
    }

    /// Forgets all slots that are not in use and names them.
    pub fn evict_idle(&mut self) -> Vec<usize> {
        let idle: Vec<usize> = (0..self.slots.len())
            .filter(|index| self.slots[*index].reserved.is_none() && !self.slots[*index].tokens.is_empty())
            .collect();
        for index in &idle {
            self.slots[*index] = Slot::default();
        }
        idle
    }

    /// The slot with the longest usable beginning of the prompt, its own key's first among equals.
    fn longest_prefix(&self, key: SlotKey, prompt: &[i32]) -> (Option<usize>, usize) {
        let most = prompt.len().saturating_sub(1);
        let best = self
            .slots
            .iter()
            .enumerate()
            .map(|(index, slot)| {
                let common = slot.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count();
                let usable = if self.partial {
                    common.min(most)
                } else if slot.reserved.is_none() && common == slot.tokens.len() && common <= most {
                    common
                } else {
                    0
                };
                (index, usable, slot.key == Some(key))
            })
            .max_by_key(|(_, usable, own)| (*usable, *own));
        match best {
            Some((index, usable, _)) if usable > 0 => (Some(index), usable),
            _ => (None, 0),
        }
    }

    /// The slot to use: the key's own, else one never used, else the least recently used.
    fn choose(&self, key: SlotKey, source: Option<usize>) -> Option<usize> {
        let idle = || {
            self.slots
                .iter()
                .enumerate()
                .filter(|(_, slot)| slot.reserved.is_none())
        };
        idle()
            .find(|(_, slot)| slot.key == Some(key))
            .or_else(|| idle().find(|(_, slot)| slot.tokens.is_empty()))
            // The source is spared if it can be: others may go on with it.
            .or_else(|| idle().min_by_key(|(index, slot)| (source == Some(*index), slot.last_used)))
            .map(|(index, _)| index)
    }

    /// Which slots must go for `slot` to grow to `need` cells; `None` when that is not enough.
    fn make_room(&self, slot: usize, need: usize) -> Option<Vec<usize>> {
        let mut taken: usize = (self.slots.iter().enumerate())
            .filter(|(index, _)| *index != slot)
            .map(|(_, other)| other.cells())
            .sum::<usize>()
            + need;
        let mut idle: Vec<usize> = (0..self.slots.len())
            .filter(|index| *index != slot && self.slots[*index].reserved.is_none())
            .filter(|index| !self.slots[*index].tokens.is_empty())
            .collect();
        idle.sort_by_key(|index| self.slots[*index].last_used);
        let mut evict = Vec::new();
        for index in idle {
            if taken <= self.cells {
                break;
            }
            taken -= self.slots[index].cells();
            evict.push(index);
        }
        (taken <= self.cells).then_some(evict)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{EpisodeNo, Phase, Role};

    fn key(episode: u32, phase: Phase) -> SlotKey {
        SlotKey {
            episode: EpisodeNo(episode),
            role: Role::Agent,
            phase,
        }
    }

    fn play(table: &mut SlotTable, key: SlotKey, prompt: &[i32], answer: &[i32]) -> Admission {
        let admission = table.admit(key, prompt, answer.len()).unwrap();
        table.extend(admission.slot, &prompt[admission.cached..]);
        table.extend(admission.slot, answer);
        table.release(admission.slot);
        admission
    }

    #[test]
    fn a_key_finds_its_prefix_again() {
        let mut table = SlotTable::new(4, 1000, true);
        let log = key(0, Phase::Log);
        assert_eq!(play(&mut table, log, &[1, 2, 3], &[4]).cached, 0);
        let next = play(&mut table, log, &[1, 2, 3, 4, 5], &[]);
        assert_eq!((next.slot, next.cached, next.copy_from), (0, 4, None));
        let other = play(&mut table, log, &[1, 9], &[]);
        assert_eq!(other.cached, 1);
    }

    #[test]
    fn one_token_is_always_evaluated_again() {
        let mut table = SlotTable::new(2, 1000, true);
        let plan = key(0, Phase::Plan);
        play(&mut table, plan, &[1, 2, 3], &[]);
        assert_eq!(play(&mut table, plan, &[1, 2, 3], &[]).cached, 2);
        assert_eq!(play(&mut table, plan, &[1], &[]).cached, 0);
    }

    #[test]
    fn another_slots_beginning_is_copied() {
        let mut table = SlotTable::new(4, 1000, true);
        play(&mut table, key(0, Phase::Log), &[1, 2, 3, 4], &[]);
        let second = play(&mut table, key(1, Phase::Log), &[1, 2, 3, 9, 9], &[]);
        assert_eq!(second.slot, 1);
        assert_eq!((second.cached, second.copy_from), (3, Some(0)));
        // Both go on with what is theirs.
        assert_eq!(
            play(&mut table, key(0, Phase::Log), &[1, 2, 3, 4, 5], &[]).copy_from,
            None
        );
    }

    #[test]
    fn the_least_recently_used_slot_is_given_away() {
        let mut table = SlotTable::new(2, 1000, true);
        play(&mut table, key(0, Phase::Log), &[1, 1], &[]);
        play(&mut table, key(1, Phase::Log), &[2, 2], &[]);
        play(&mut table, key(0, Phase::Log), &[1, 1, 1], &[]);
        assert_eq!(play(&mut table, key(2, Phase::Log), &[3, 3], &[]).slot, 1);
    }

    #[test]
    fn cells_are_made_free_or_it_waits() {
        let mut table = SlotTable::new(4, 10, true);
        play(&mut table, key(0, Phase::Log), &[1; 4], &[]);
        play(&mut table, key(1, Phase::Log), &[2; 4], &[]);
        let big = table.admit(key(2, Phase::Log), &[3; 4], 2).unwrap();
        assert_eq!(big.evict, [0]);
        assert_eq!(table.admit(key(3, Phase::Log), &[4; 4], 2), None, "six are reserved");
        table.release(big.slot);
        assert!(table.admit(key(3, Phase::Log), &[4; 4], 2).is_some());
    }

    #[test]
    fn a_busy_key_gets_a_second_slot() {
        let mut table = SlotTable::new(2, 1000, true);
        let log = key(0, Phase::Log);
        let first = table.admit(log, &[1, 2, 3], 1).unwrap();
        table.extend(first.slot, &[1, 2, 3]);
        let second = table.admit(log, &[1, 2, 4], 1).unwrap();
        assert_eq!((second.slot, second.cached, second.copy_from), (1, 2, Some(0)));
        assert_eq!(table.admit(log, &[1], 1), None, "both are busy");
    }

    #[test]
    fn recurrent_models_keep_all_or_nothing() {
        let mut table = SlotTable::new(2, 1000, false);
        let log = key(0, Phase::Log);
        play(&mut table, log, &[1, 2, 3], &[]);
        assert_eq!(play(&mut table, log, &[1, 2, 3, 4], &[]).cached, 3);
        assert_eq!(play(&mut table, log, &[1, 2, 9], &[]).cached, 0);
    }

    proptest! {
        /// Whatever comes, the table never promises more cells than there are, never reuses what is not there,
        /// and mirrors a cache that does what it says.
        #[test]
        fn the_cache_follows(requests in prop::collection::vec((0_u32..4, prop::collection::vec(0_i32..3, 1..12), 0_usize..4, any::<bool>()), 1..60)) {
            let (slots, cells) = (3, 30);
            let mut table = SlotTable::new(slots, cells, true);
            let mut cache: Vec<Vec<i32>> = vec![Vec::new(); slots];
            let mut busy: Vec<usize> = Vec::new();
            for (episode, prompt, room, keep_busy) in requests {
                let Some(admission) = table.admit(key(episode, Phase::Log), &prompt, room) else {
                    prop_assert!(!busy.is_empty());
                    for slot in busy.drain(..) {
                        table.release(slot);
                    }
                    continue;
                };
                prop_assert!(admission.cached < prompt.len());
                prop_assert!(!busy.contains(&admission.slot));
                let source = admission.copy_from.unwrap_or(admission.slot);
                let kept = cache[source][..admission.cached].to_vec();
                prop_assert_eq!(&kept[..], &prompt[..admission.cached]);
                cache[admission.slot] = kept;
                for slot in &admission.evict {
                    prop_assert!(!busy.contains(slot) && *slot != admission.slot);
                    cache[*slot].clear();
                }
                cache[admission.slot].extend(&prompt[admission.cached..]);
                table.extend(admission.slot, &prompt[admission.cached..]);
                prop_assert!(cache.iter().map(Vec::len).sum::<usize>() <= cells);
                if keep_busy {
                    busy.push(admission.slot);
                } else {
                    table.release(admission.slot);
                }
            }
        }
    }
}
