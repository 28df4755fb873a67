//! What a data selection is made of, and what is wrong with that in words.
//!
//! Pure counting. What an item is about is indexed once; verdicts are counted over that after each key.

use std::collections::HashMap;

use crate::review::{Item, Items, SelectionContent};
use crate::types::{EpisodeNo, Phase};

/// Share of the set from which one episode dominates it.
const DOMINATES: f64 = 0.2;
/// Items from which shares mean something.
const ENOUGH: u32 = 10;
/// Ops that are told apart.
const OPS: usize = 12;

/// Where items belong, by their places.
#[derive(Debug, Default)]
pub(crate) struct Index {
    episodes: Vec<Episode>,
    ops: Vec<String>,
    items: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
struct Episode {
    run: u32,
    episode: EpisodeNo,
    seed: u64,
    gate: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    episode: u32,
    op: u32,
    malformed: bool,
}

impl Index {
    /// Sorts items by episode and by first op.
    pub(crate) fn new(items: &[Item], gate_seeds: &[u64]) -> Self {
        let mut index = Self::default();
        let (mut episodes, mut ops) = (HashMap::new(), HashMap::new());
        for item in items {
            let episode = *episodes.entry((item.run, item.episode)).or_insert_with(|| {
                index.episodes.push(Episode {
                    run: item.run,
                    episode: item.episode,
                    seed: item.seed,
                    gate: gate_seeds.contains(&item.seed),
                });
                index.episodes.len() as u32 - 1
            });
            let op = item.ops.first().map_or("DONE", String::as_str);
            let op = *ops.entry(op).or_insert_with(|| {
                index.ops.push(op.to_owned());
                index.ops.len() as u32 - 1
            });
            index.items.push(Entry {
                episode,
                op,
                malformed: item.facts.malformed > 0,
            });
        }
        index
    }
}

/// Items of one kind, counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Side {
    /// How many.
    pub(crate) count: u32,
    /// Of those LOG.
    pub(crate) log: u32,
    /// Of those PLAN.
    pub(crate) plan: u32,
    /// Episodes they are from.
    pub(crate) episodes: u32,
    /// Items of the episode with the most.
    pub(crate) most: u32,
    /// By their first op, in the order of the whole list.
    pub(crate) ops: Vec<u32>,
    /// Items whose answer is nearly that of another one before them.
    pub(crate) alike: u32,
    /// Items from episodes on seeds of the gate.
    pub(crate) gate: u32,
    /// Items with tags that cannot be read.
    pub(crate) malformed: u32,
    /// The episode with the most.
    largest: Option<usize>,
    /// Seeds of the gate among them.
    seeds: Vec<u64>,
}

fn count(index: &Index, items: &[Item], takes: impl Fn(usize) -> bool) -> Side {
    let mut side = Side {
        ops: vec![0; index.ops.len()],
        ..Side::default()
    };
    let mut episodes = vec![0u32; index.episodes.len()];
    let mut groups: Vec<bool> = Vec::new();
    let taken = index.items.iter().zip(items).enumerate().filter(|(at, _)| takes(*at));
    for (entry, item) in taken.map(|(_, both)| both) {
        side.count += 1;
        match item.phase {
            Phase::Log => side.log += 1,
            Phase::Plan => side.plan += 1,
        }
        episodes[entry.episode as usize] += 1;
        side.ops[entry.op as usize] += 1;
        side.malformed += u32::from(entry.malformed);
        if let Some(group) = item.alike {
            let group = group as usize;
            if groups.len() <= group {
                groups.resize(group + 1, false);
            }
            side.alike += u32::from(std::mem::replace(&mut groups[group], true));
        }
    }
    side.episodes = episodes.iter().filter(|count| **count > 0).count() as u32;
    side.largest = (0..episodes.len()).max_by_key(|at| episodes[*at]);
    side.most = side.largest.map_or(0, |at| episodes[at]);
    for (episode, count) in index.episodes.iter().zip(&episodes).filter(|(episode, _)| episode.gate) {
        side.gate += count;
        if *count > 0 && !side.seeds.contains(&episode.seed) {
            side.seeds.push(episode.seed);
        }
    }
    side
}

/// Something that is wrong with a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    /// It cannot be trained on like this.
    pub(crate) forbids: bool,
    /// In words.
    pub(crate) said: String,
}

/// What a selection is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Balance {
    /// All items.
    pub(crate) all: Side,
    /// Those that its author selected.
    pub(crate) selected: Side,
    /// Those that are accepted.
    pub(crate) accepted: Side,
    /// How many are rejected.
    pub(crate) rejected: u32,
    /// How many have no verdict.
    pub(crate) waiting: u32,
    /// Of these, selected by the author.
    pub(crate) selected_waiting: u32,
    /// Examples there should be at least.
    pub(crate) minimum: u32,
    /// Names of the ops, the most frequent first, with their places in [`Side::ops`].
    pub(crate) ops: Vec<(String, usize)>,
    /// The filter that shows accepted items on a seed of the gate.
    pub(crate) gate_filter: String,
    /// What is wrong with what is accepted; while nothing is, with what is selected.
    pub(crate) warnings: Vec<Warning>,
}

impl Balance {
    /// Counts.
    pub(crate) fn of(index: &Index, items: &[Item], verdicts: Option<&Items>, content: &SelectionContent) -> Self {
        let verdict = |at: usize| verdicts.and_then(|all| all.verdicts.get(at).copied().flatten());
        let all = count(index, items, |_| true);
        let selected = count(index, items, |at| items[at].selected);
        let accepted = count(index, items, |at| verdict(at).is_some_and(|verdict| verdict.accepted));
        let rejected = verdicts.map_or(0, |verdicts| verdicts.rejected);
        let waits = |at: &usize| items[*at].selected && verdict(*at).is_none();
        let mut ops: Vec<(String, usize)> = index.ops.iter().cloned().zip(0..).collect();
        ops.sort_by_key(|(_, at)| std::cmp::Reverse(all.ops[*at]));
        ops.truncate(OPS);
        let mut balance = Self {
            rejected,
            waiting: all.count.saturating_sub(accepted.count + rejected),
            selected_waiting: (0..items.len()).filter(waits).count() as u32,
            minimum: content.minimum,
            ops,
            gate_filter: accepted
                .seeds
                .first()
                .map_or_else(String::new, |seed| format!("seed:{seed} accepted")),
            warnings: Vec::new(),
            all,
            selected,
            accepted,
        };
        balance.warnings = balance.warn(index, content);
        balance
    }

    /// Whether fewer are accepted than there should be.
    pub(crate) fn is_below(&self) -> bool {
        self.accepted.count < self.minimum
    }

    fn warn(&self, index: &Index, content: &SelectionContent) -> Vec<Warning> {
        let nothing = self.accepted.count == 0;
        let (side, what) = match nothing {
            true => (&self.selected, "selected"),
            false => (&self.accepted, "accepted"),
        };
        let mut warnings = Vec::new();
        let mut warn = |forbids: bool, said: String| warnings.push(Warning { forbids, said });
        if side.gate > 0 {
            let mut seeds: Vec<String> = side.seeds.iter().take(6).map(u64::to_string).collect();
            if side.seeds.len() > seeds.len() {
                seeds.push("…".to_owned());
            }
            warn(
                true,
                format!(
                    "GATE SEED: {} {what} items are from episodes on seeds the gate plays ({}): they must not be trained on",
                    side.gate,
                    seeds.join(", ")
                ),
            );
        }
        if !nothing && self.is_below() {
            warn(
                false,
                format!(
                    "{} accepted, {} below the minimum of {}",
                    side.count,
                    self.minimum - side.count,
                    self.minimum
                ),
            );
        }
        let share = f64::from(side.most) / f64::from(side.count.max(1));
        if side.count >= ENOUGH && share > DOMINATES && side.episodes > 0 {
            let named = side.largest.and_then(|at| index.episodes.get(at)).map(|episode| {
                let run = content.runs.get(episode.run as usize).map_or("", |run| &run.path);
                let run = run.rsplit(['/', '\\']).next().unwrap_or_default();
                format!(" ({run}, episode {}, seed {})", episode.episode.0 + 1, episode.seed)
            });
            warn(
                false,
                format!(
                    "one episode dominates: {:.0} % of the {what} items{}",
                    share * 100.0,
                    named.unwrap_or_default()
                ),
            );
        }
        if side.alike > 0 {
            warn(
                false,
                format!("{} {what} items have nearly the same answer as another one", side.alike),
            );
        }
        if side.malformed > 0 {
            warn(false, format!("{} {what} items hold malformed tags", side.malformed));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{Facts, ItemVerdict, SelectedRun, Seq};
    use crate::types::{Digest, StepNo};

    fn item(episode: u32, seed: u64, phase: Phase, op: &str, alike: Option<u32>) -> Item {
        Item {
            id: format!("r:{episode}:{seed}:{op}"),
            run: 0,
            episode: EpisodeNo(episode),
            seed,
            step: StepNo(1),
            phase,
            ops: vec![op.to_owned()],
            digest: Digest::of(op),
            selected: episode == 0,
            score: 0.0,
            reason: String::new(),
            note: String::new(),
            alike,
            facts: Facts {
                malformed: u32::from(op == "READ"),
                ..Facts::default()
            },
        }
    }

    fn content(count: u32) -> SelectionContent {
        SelectionContent {
            env: "crafter".into(),
            scaffold: "crafter-v0".into(),
            runs: vec![SelectedRun {
                path: "/runs/a.db".into(),
                id: "a".into(),
            }],
            criteria: String::new(),
            items: Digest::of("x"),
            count,
            selected: 0,
            gate_seeds: vec![42],
            minimum: 30,
        }
    }

    #[test]
    fn what_is_wrong_is_said_of_what_is_accepted() {
        let mut items: Vec<Item> = (0..20).map(|n| item(0, 7, Phase::Log, "APPEND", Some(n / 2))).collect();
        items.extend((0..4).map(|_| item(1, 42, Phase::Plan, "READ", None)));
        let index = Index::new(&items, &[42]);
        let before = Balance::of(&index, &items, None, &content(24));
        assert_eq!(
            (before.all.count, before.all.log, before.all.plan, before.all.episodes),
            (24, 20, 4, 2)
        );
        assert_eq!(
            (before.selected.count, before.waiting, before.selected_waiting),
            (20, 24, 20)
        );
        let words = |balance: &Balance| {
            balance
                .warnings
                .iter()
                .map(|one| one.said.clone())
                .collect::<Vec<_>>()
                .join("\n")
        };
        let said = words(&before);
        assert!(
            said.contains("one episode dominates: 100 % of the selected items (a.db, episode 1, seed 7)"),
            "{said}"
        );
        assert!(said.contains("10 selected items have nearly the same answer"), "{said}");
        assert!(!said.contains("minimum") && !said.contains("GATE"), "{said}");
        let verdicts = Items {
            count: 24,
            selected: 20,
            accepted: 14,
            rejected: 1,
            verdicts: (0..24)
                .map(|at| {
                    let accepted = at < 10 || at >= 20;
                    (at != 19)
                        .then_some(ItemVerdict { accepted, seq: Seq(2) })
                        .filter(|one| one.accepted || at == 18)
                })
                .collect(),
        };
        let after = Balance::of(&index, &items, Some(&verdicts), &content(24));
        assert_eq!((after.accepted.count, after.rejected, after.waiting), (14, 1, 9));
        let said = words(&after);
        assert!(
            said.contains("GATE SEED: 4 accepted items") && said.contains("(42)"),
            "{said}"
        );
        assert!(said.contains("14 accepted, 16 below the minimum of 30"), "{said}");
        assert!(said.contains("4 accepted items hold malformed tags"), "{said}");
        assert!(after.warnings[0].forbids && after.warnings.iter().skip(1).all(|one| !one.forbids));
        assert_eq!(after.ops[0].0, "APPEND");
    }
}
