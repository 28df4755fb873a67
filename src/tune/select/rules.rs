//! Selection by rules: filters, a score, quotas, near duplicates.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{Choice, alike};
use crate::tune::TuneError;
use crate::tune::candidate::{Candidate, Evidence, Harvest};
use crate::tune::harvest::FOLLOWING;
use crate::types::{EpisodeNo, Phase};

/// Rules as a recipe holds them. What is left out has the value of [`Rules::default`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Phases that are taken.
    pub phases: Vec<Phase>,
    /// Memory ops it has at least (`DONE` of a LOG phase is none).
    pub min_ops: u32,
    /// Times that what a writing candidate wrote was read again, at least.
    pub min_later_reads: u32,
    /// Advantage it has at least.
    pub min_advantage: Option<f64>,
    /// Redundant writes it has at most.
    pub max_redundant: u32,
    /// Empty retrievals it has at most.
    pub max_empty: u32,
    /// Malformed tags and failed ops it has at most.
    pub max_malformed: u32,
    /// Places in the episode that are taken, 0 to 1.
    pub position: (f64, f64),
    /// Share of episodes that are taken, the best by progression first, in percent.
    pub top_episodes_percent: f64,
    /// Candidates an episode gives at most.
    pub per_episode: Option<u32>,
    /// Candidates a phase gives at most.
    pub per_phase: Option<u32>,
    /// Candidates an op gives at most (a candidate counts for its first op).
    pub per_op: Option<u32>,
    /// Candidates in all at most.
    pub at_most: Option<u32>,
    /// Answers whose similarity (0 to 1) is above this count as one; 1 turns it off.
    pub similarity: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            phases: vec![Phase::Log, Phase::Plan],
            min_ops: 1,
            min_later_reads: 0,
            min_advantage: None,
            max_redundant: 0,
            max_empty: 0,
            max_malformed: 0,
            position: (0.0, 1.0),
            top_episodes_percent: 100.0,
            per_episode: None,
            per_phase: None,
            per_op: None,
            at_most: None,
            similarity: 0.9,
        }
    }
}

impl Rules {
    /// The rules of a recipe (its `[data.rules]`), or of a file that holds nothing else.
    ///
    /// # Errors
    /// When it is neither, with line and column.
    pub fn read(text: &str) -> Result<Self, TuneError> {
        let broken = |error: toml::de::Error| {
            TuneError::data(
                format!("the rules cannot be read: {}", error.to_string().trim_end()),
                "write them as `[data.rules]` of a recipe, or by themselves; `automem curate --help` names the quick ones",
            )
        };
        #[derive(Deserialize)]
        struct Recipe {
            data: Data,
        }
        #[derive(Deserialize)]
        struct Data {
            #[serde(default)]
            rules: Rules,
        }
        let table: toml::Table = text.parse().map_err(broken)?;
        let rules = match table.contains_key("data") {
            true => toml::from_str::<Recipe>(text).map_err(broken)?.data.rules,
            false => toml::from_str(text).map_err(broken)?,
        };
        rules.check()?;
        Ok(rules)
    }

    /// What makes no sense in them.
    ///
    /// # Errors
    /// The first of it.
    pub fn check(&self) -> Result<(), TuneError> {
        let share = |name: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(TuneError::data(
                format!("`{name}` is {value}"),
                format!("write a number from 0 to {most}"),
            )),
        };
        share("top_episodes_percent", self.top_episodes_percent, 100.0)?;
        share("similarity", self.similarity, 1.0)?;
        share("position", self.position.0, 1.0)?;
        share("position", self.position.1, 1.0)?;
        if self.phases.is_empty() {
            return Err(TuneError::data(
                "`phases` names none",
                "write [\"LOG\"], [\"PLAN\"] or both",
            ));
        }
        Ok(())
    }

    /// The rules as TOML.
    pub fn write(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Why a candidate is not taken by itself; `None` when it may be.
    fn against(&self, candidate: &Candidate, gate_seeds: &[u64]) -> Option<String> {
        let evidence = &candidate.evidence;
        let ops = evidence.ops.len() as u32;
        let broken = evidence.malformed + evidence.failed_ops;
        let (first, last) = self.position;
        if gate_seeds.contains(&candidate.seed) {
            return Some(format!("its seed {} is one of the gate's", candidate.seed));
        }
        if !self.phases.contains(&candidate.phase) {
            return Some(format!("{} is not taken", candidate.phase.word()));
        }
        if ops < self.min_ops {
            return Some(format!("{}, fewer than {}", counted(ops, "memory op"), self.min_ops));
        }
        if broken > self.max_malformed {
            return Some(format!("{} malformed or refused", counted(broken, "op")));
        }
        if evidence.redundant_writes > self.max_redundant {
            let count = counted(evidence.redundant_writes, "write");
            return Some(format!("{count} said what stood there already"));
        }
        if evidence.empty_retrievals > self.max_empty {
            return Some(format!(
                "{} found nothing",
                counted(evidence.empty_retrievals, "look-up")
            ));
        }
        if evidence.bytes_written > 0 && evidence.later_reads < self.min_later_reads {
            let count = counted(evidence.later_reads, "time");
            return Some(format!(
                "what it wrote was read again {count}, fewer than {}",
                self.min_later_reads
            ));
        }
        if let Some(least) = self.min_advantage.filter(|least| evidence.advantage < *least) {
            return Some(format!("its advantage {:+.3} is below {least:+.3}", evidence.advantage));
        }
        if !(first..=last).contains(&evidence.position) {
            return Some(format!("it stands at {:.2} of its episode", evidence.position));
        }
        None
    }
}

/// `1 write`, `2 writes`.
fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// How good a candidate is: what it wrote was read again, what followed paid, nothing was in vain.
pub fn score(evidence: &Evidence) -> f64 {
    // A reward is an achievement in the worlds there are: one in twenty steps is much.
    let pay = (evidence.advantage * FOLLOWING as f64).clamp(-2.0, 2.0);
    let waste = f64::from(evidence.redundant_writes + evidence.empty_retrievals);
    let broken = f64::from(evidence.malformed + evidence.failed_ops);
    f64::from(evidence.later_reads).ln_1p() + pay - 0.5 * waste - broken
}

/// What speaks for a candidate, in words.
pub fn praise(evidence: &Evidence) -> String {
    let mut said = Vec::new();
    match (evidence.later_reads, evidence.first_read) {
        (0, _) if evidence.bytes_written > 0 => said.push("not read again".to_owned()),
        (0, _) => {}
        (1, Some(step)) => said.push(format!("read at step {step}")),
        (count, Some(step)) => said.push(format!("read {count} times, first at step {step}")),
        (count, None) => said.push(format!("read {count} times")),
    }
    said.push(format!("advantage {:+.3}", evidence.advantage));
    said.join(", ")
}

/// Counts of what was taken, by a key, against a quota.
struct Quota<K> {
    most: Option<u32>,
    taken: HashMap<K, u32>,
}

impl<K: std::hash::Hash + Eq> Quota<K> {
    fn new(most: Option<u32>) -> Self {
        Self {
            most,
            taken: HashMap::new(),
        }
    }

    fn is_full(&self, key: &K) -> bool {
        self.most
            .is_some_and(|most| self.taken.get(key).copied().unwrap_or_default() >= most)
    }

    fn take(&mut self, key: K) {
        *self.taken.entry(key).or_default() += 1;
    }
}

/// Selects by rules: filters first, then the best by [`score`] within the quotas. One choice a candidate, in their
/// order.
pub fn select(harvest: &Harvest, rules: &Rules, gate_seeds: &[u64]) -> Vec<Choice> {
    let candidates = &harvest.candidates;
    let best = best_episodes(harvest, rules.top_episodes_percent);
    let mut choices: Vec<Choice> = candidates
        .iter()
        .map(|candidate| {
            let against = rules.against(candidate, gate_seeds).or_else(|| {
                let kept = best.contains(&(candidate.run, candidate.episode));
                (!kept).then(|| {
                    format!(
                        "its episode is not among the best {}% by progression",
                        rules.top_episodes_percent
                    )
                })
            });
            Choice {
                selected: against.is_none(),
                score: score(&candidate.evidence),
                reason: against.unwrap_or_else(|| praise(&candidate.evidence)),
            }
        })
        .collect();
    let mut order: Vec<usize> = (0..choices.len()).filter(|at| choices[*at].selected).collect();
    order.sort_by(|a, b| choices[*b].score.total_cmp(&choices[*a].score));
    let groups = alike(order.iter().map(|at| &candidates[*at].sketch), rules.similarity);
    let mut taken_groups: HashMap<u32, usize> = HashMap::new();
    let mut per_episode = Quota::new(rules.per_episode);
    let mut per_phase = Quota::new(rules.per_phase);
    let mut per_op = Quota::new(rules.per_op);
    let mut in_all = Quota::new(rules.at_most);
    for (at, group) in order.into_iter().zip(groups) {
        let candidate = &candidates[at];
        let episode = (candidate.run, candidate.episode);
        let op = candidate.evidence.ops.first().map_or("none", |op| op);
        let full =
            |most: Option<u32>, of: &str| Some(format!("{} better ones {of} are taken", most.unwrap_or_default()));
        let twin = group.and_then(|group| taken_groups.get(&group));
        let against = match twin {
            Some(twin) => Some(format!("nearly the same answer as {}", candidates[*twin].id)),
            None if in_all.is_full(&()) => full(rules.at_most, "in all"),
            None if per_episode.is_full(&episode) => full(rules.per_episode, "of its episode"),
            None if per_phase.is_full(&candidate.phase) => full(rules.per_phase, "of its phase"),
            None if per_op.is_full(&op) => full(rules.per_op, &format!("of its op {op}")),
            None => None,
        };
        match against {
            Some(reason) => {
                choices[at].selected = false;
                choices[at].reason = reason;
            }
            None => {
                if let Some(group) = group {
                    taken_groups.insert(group, at);
                }
                per_episode.take(episode);
                per_phase.take(candidate.phase);
                per_op.take(op);
                in_all.take(());
            }
        }
    }
    choices
}

/// The share of episodes with the best progression, at least one.
fn best_episodes(harvest: &Harvest, percent: f64) -> HashSet<(u32, EpisodeNo)> {
    let mut episodes: Vec<(f64, (u32, EpisodeNo))> = Vec::new();
    for candidate in &harvest.candidates {
        let place = (candidate.run, candidate.episode);
        // Candidates of an episode stand together.
        if episodes.last().is_none_or(|(_, last)| *last != place) {
            episodes.push((candidate.evidence.progression, place));
        }
    }
    episodes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let most = (episodes.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
    episodes.into_iter().take(most).map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::candidate::CandidateId;
    use crate::tune::select::Sketch;
    use crate::types::{Digest, StepNo};

    fn candidate(episode: u32, step: u32, answer: &str, change: impl Fn(&mut Evidence)) -> Candidate {
        let mut evidence = Evidence {
            ops: vec!["APPEND".into()],
            bytes_written: 10,
            later_reads: 1,
            first_read: Some(StepNo(step + 1)),
            progression: f64::from(episode) / 10.0,
            position: 0.5,
            ..Evidence::default()
        };
        change(&mut evidence);
        Candidate {
            id: CandidateId(format!("r:{episode}:{step}:LOG").into()),
            run: 0,
            episode: EpisodeNo(episode),
            step: StepNo(step),
            phase: Phase::Log,
            seed: 100 + u64::from(episode),
            digest: Digest::of(answer),
            messages: 3,
            bytes: 100,
            sketch: Sketch::of(answer),
            evidence,
        }
    }

    fn reasons(candidates: Vec<Candidate>, rules: &Rules) -> Vec<(bool, String)> {
        let harvest = Harvest {
            candidates,
            ..Harvest::default()
        };
        select(&harvest, rules, &[105])
            .into_iter()
            .map(|choice| (choice.selected, choice.reason))
            .collect()
    }

    #[test]
    fn every_filter_has_its_reason() {
        let rules = Rules {
            min_later_reads: 1,
            min_advantage: Some(0.0),
            position: (0.1, 0.9),
            phases: vec![Phase::Log],
            ..Rules::default()
        };
        let mut plan = candidate(1, 9, "i", |_| {});
        plan.phase = Phase::Plan;
        let said = reasons(
            vec![
                candidate(1, 1, "a", |_| {}),
                candidate(1, 2, "b", |e| e.ops.clear()),
                candidate(1, 3, "c", |e| e.malformed = 1),
                candidate(1, 4, "d", |e| e.redundant_writes = 2),
                candidate(1, 5, "e", |e| e.empty_retrievals = 1),
                candidate(1, 6, "f", |e| e.later_reads = 0),
                candidate(1, 7, "g", |e| e.advantage = -0.5),
                candidate(1, 8, "h", |e| e.position = 0.95),
                plan,
                candidate(5, 1, "j", |_| {}),
            ],
            &rules,
        );
        let words = [
            "read at step 2, advantage +0.000",
            "0 memory ops, fewer than 1",
            "1 op malformed or refused",
            "2 writes said what stood there already",
            "1 look-up found nothing",
            "what it wrote was read again 0 times, fewer than 1",
            "its advantage -0.500 is below +0.000",
            "it stands at 0.95 of its episode",
            "PLAN is not taken",
            "its seed 105 is one of the gate's",
        ];
        for (at, words) in words.into_iter().enumerate() {
            assert_eq!(said[at], (at == 0, words.to_owned()));
        }
    }

    #[test]
    fn quotas_take_the_best_and_twins_count_once() {
        let read = |count: u32| move |e: &mut Evidence| e.later_reads = count;
        let all = || {
            vec![
                candidate(1, 1, "one answer", read(1)),
                candidate(1, 2, "one answer", read(5)),
                candidate(1, 3, "quite another", read(3)),
                candidate(2, 1, "and a third one", read(2)),
            ]
        };
        let taken = |rules: &Rules| -> Vec<bool> { reasons(all(), rules).iter().map(|(taken, _)| *taken).collect() };
        assert_eq!(taken(&Rules::default()), [false, true, true, true]);
        let off = Rules {
            similarity: 1.0,
            ..Rules::default()
        };
        assert_eq!(taken(&off), [true; 4]);
        let quota = |per_episode, at_most, percent| Rules {
            per_episode,
            at_most,
            top_episodes_percent: percent,
            ..Rules::default()
        };
        assert_eq!(taken(&quota(Some(1), None, 100.0)), [false, true, false, true]);
        assert_eq!(taken(&quota(None, Some(2), 100.0)), [false, true, true, false]);
        assert_eq!(taken(&quota(None, None, 50.0)), [false, false, false, true]);
        let per_op = Rules {
            per_op: Some(1),
            ..Rules::default()
        };
        let said = reasons(all(), &per_op);
        assert_eq!(said[2].1, "1 better ones of its op APPEND are taken");
        assert_eq!(said[0].1, "nearly the same answer as r:1:2:LOG");
    }

    #[test]
    fn rules_are_read_from_a_recipe_or_alone_and_senseless_ones_are_refused() {
        let alone = Rules::read("min_later_reads = 2\nphases = [\"LOG\"]\n").unwrap();
        assert_eq!(
            (alone.min_later_reads, alone.phases.as_slice()),
            (2, [Phase::Log].as_slice())
        );
        let recipe = "version = 1\nenv = \"crafter\"\n[data]\nsource = \"regenerate\"\n[data.rules]\nat_most = 7\n";
        assert_eq!(Rules::read(recipe).unwrap().at_most, Some(7));
        assert_eq!(Rules::read(&alone.write()).unwrap(), alone);
        for (text, said) in [
            ("min_later_read = 2", "min_later_read"),
            ("phases = []", "phases"),
            ("similarity = 7", "similarity"),
            ("position = [0.0, 2.0]", "position"),
            ("[", "cannot be read"),
        ] {
            let error = Rules::read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
