//! What the rules and the tracing of faults need beside the counts: which steps, which files, how often.
//!
//! Owns bounded records of an episode. Must not judge them.

use std::collections::{BTreeMap, HashMap};

use crate::types::{EndReason, StepNo};

/// Steps of a kind that are kept by number.
const SAMPLE: usize = 12;
/// Spells, searches, failures and missed facts that are kept.
const MOST: usize = 4096;
/// Forms of a file's lines that are kept.
const MOST_FORMS: usize = 16;
/// Statuses that are kept: the newest.
const STATUSES: usize = 40;

/// Some of many steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Sample {
    /// How often it happened.
    pub(in crate::analysis) count: u64,
    /// The first steps in which it did.
    pub(in crate::analysis) steps: Vec<StepNo>,
}

impl Sample {
    pub(super) fn note(&mut self, step: u32) {
        self.count += 1;
        let step = StepNo(step);
        if self.steps.len() < SAMPLE && self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
    }
}

/// How an action came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum Waste {
    /// The observation stayed as it was.
    Stuck,
    /// It undid the move before.
    Oscillating,
}

/// Unproductive steps in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis) struct Spell {
    pub(in crate::analysis) waste: Waste,
    pub(in crate::analysis) from: StepNo,
    pub(in crate::analysis) to: StepNo,
    /// The action it began with.
    pub(in crate::analysis) action: String,
    /// Memory was written in it.
    pub(in crate::analysis) writes: u32,
    /// A prompt of PLAN showed lines of the model's own in it.
    pub(in crate::analysis) informed: u32,
}

impl Spell {
    pub(in crate::analysis) fn steps(&self) -> u32 {
        self.to.0 - self.from.0 + 1
    }
}

/// A file's life beside its counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::analysis) struct FileStory {
    /// Lines the model added.
    pub(in crate::analysis) added: u64,
    /// Changes that made it smaller.
    pub(in crate::analysis) shrunk: u64,
    /// Steps that made it larger.
    pub(in crate::analysis) grown: Sample,
    pub(in crate::analysis) redundant: Sample,
    pub(in crate::analysis) conflicts: Sample,
    pub(in crate::analysis) whole: Sample,
    /// Reads whose result was cut.
    pub(in crate::analysis) cut: Sample,
    /// Forms its lines were written in.
    pub(in crate::analysis) forms: Vec<((char, char), Sample)>,
}

impl FileStory {
    pub(super) fn form(&mut self, form: (char, char), step: u32) {
        let at = match self.forms.iter().position(|(other, _)| *other == form) {
            Some(at) => at,
            None if self.forms.len() < MOST_FORMS => {
                self.forms.push((form, Sample::default()));
                self.forms.len() - 1
            }
            None => return,
        };
        self.forms[at].1.note(step);
    }
}

/// A text that was searched for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::analysis) struct Query {
    pub(in crate::analysis) found: u64,
    pub(in crate::analysis) empty: Sample,
}

/// Something that was seen, not written, and then looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis) struct Missed {
    pub(in crate::analysis) word: String,
    /// When an observation showed it last.
    pub(in crate::analysis) seen: StepNo,
    /// When it was searched for in vain.
    pub(in crate::analysis) needed: StepNo,
    pub(in crate::analysis) file: String,
}

/// An action that changed nothing in a situation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::analysis) struct Failed {
    pub(in crate::analysis) first: StepNo,
    /// The LOG that wrote it down, and where.
    pub(in crate::analysis) recorded: Option<(StepNo, String)>,
    /// Later tries in the same situation, once it was written down.
    pub(in crate::analysis) again: Sample,
}

/// What is known of a thing of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::analysis) struct Known {
    /// The model wrote a line that names it: first and last step.
    pub(in crate::analysis) written: Option<(u32, u32)>,
    /// A prompt showed such a line of memory last.
    pub(in crate::analysis) shown: Option<u32>,
}

/// A part of the agent's state, such as `drink: 3/9`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis) struct Status {
    pub(in crate::analysis) name: String,
    pub(in crate::analysis) value: i64,
    pub(in crate::analysis) most: i64,
}

/// All of an episode's evidence.
#[derive(Debug, Clone, Default)]
pub(in crate::analysis) struct Evidence {
    pub(in crate::analysis) spells: Vec<Spell>,
    /// The one that may go on.
    pub(super) spell: Option<Spell>,
    pub(in crate::analysis) files: BTreeMap<String, FileStory>,
    pub(in crate::analysis) queries: BTreeMap<(String, String), Query>,
    pub(in crate::analysis) empty: Sample,
    pub(in crate::analysis) unsupported: Sample,
    pub(in crate::analysis) invalid: Sample,
    pub(in crate::analysis) overflows: Sample,
    pub(in crate::analysis) missed: Vec<Missed>,
    pub(in crate::analysis) failures: HashMap<(u64, String), Failed>,
    /// Words of observations: the first and the last step that showed it anew (an observation that stays as it
    /// is counts once).
    pub(in crate::analysis) words: HashMap<String, (u32, u32)>,
    pub(in crate::analysis) known: Vec<Known>,
    /// Steps whose action raised the score.
    pub(in crate::analysis) progress: Vec<StepNo>,
    /// The newest states of the agent.
    pub(in crate::analysis) statuses: Vec<(u32, Vec<Status>)>,
    /// What the agent faced when a part of its state rose.
    pub(in crate::analysis) sources: BTreeMap<String, (String, u32)>,
    pub(in crate::analysis) end: Option<(StepNo, EndReason)>,
    /// The last observation.
    pub(in crate::analysis) last_seen: String,
}

/// Unproductive steps in a row from which on they are a spell.
pub(in crate::analysis) const SPELL: u32 = 4;

impl Evidence {
    pub(super) fn file(&mut self, path: &str) -> &mut FileStory {
        self.files.entry(path.to_owned()).or_default()
    }

    /// Takes in a judged step.
    pub(super) fn judged(&mut self, step: u32, action: &str, waste: Option<Waste>, wrote: bool, informed: bool) {
        let going_on = self
            .spell
            .as_ref()
            .is_some_and(|spell| Some(spell.waste) == waste && spell.to.0 + 1 == step);
        if !going_on {
            self.close_spell();
            self.spell = waste.map(|waste| Spell {
                waste,
                from: StepNo(step),
                to: StepNo(step),
                action: action.to_owned(),
                writes: 0,
                informed: 0,
            });
        }
        if let Some(spell) = &mut self.spell {
            spell.to = StepNo(step);
            spell.writes += u32::from(wrote);
            spell.informed += u32::from(informed);
        }
    }

    fn close_spell(&mut self) {
        if let Some(spell) = self.spell.take()
            && spell.steps() >= SPELL
            && self.spells.len() < MOST
        {
            self.spells.push(spell);
        }
    }

    /// All spells, the one that still lasts included.
    pub(in crate::analysis) fn all_spells(&self) -> impl Iterator<Item = &Spell> {
        let open = self.spell.as_ref().filter(|spell| spell.steps() >= SPELL);
        self.spells.iter().chain(open)
    }

    pub(super) fn searched(&mut self, file: &str, text: &str, step: u32, empty: bool) {
        let key = (file.to_owned(), text.to_lowercase());
        if self.queries.len() >= MOST && !self.queries.contains_key(&key) {
            return;
        }
        let query = self.queries.entry(key).or_default();
        if empty {
            query.empty.note(step);
        } else {
            query.found += 1;
        }
    }

    pub(super) fn miss(&mut self, missed: Missed) {
        let known = self.missed.iter().any(|other| other.word == missed.word);
        if !known && self.missed.len() < MOST {
            self.missed.push(missed);
        }
    }

    /// An action left the observation as it was.
    pub(super) fn failed(&mut self, situation: u64, action: &str, step: u32) {
        let key = (situation, action.to_owned());
        let room = self.failures.len() < MOST;
        match self.failures.get_mut(&key) {
            Some(failed) if failed.recorded.as_ref().is_some_and(|(at, _)| at.0 <= step) => failed.again.note(step),
            Some(_) => {}
            None if room => {
                let failed = Failed {
                    first: StepNo(step),
                    ..Failed::default()
                };
                self.failures.insert(key, failed);
            }
            None => {}
        }
    }

    /// A line was written that tells of the action which failed just before.
    pub(super) fn recorded(&mut self, situation: u64, action: &str, step: u32, file: &str) {
        if let Some(failed) = self.failures.get_mut(&(situation, action.to_owned())) {
            failed.recorded.get_or_insert_with(|| (StepNo(step), file.to_owned()));
        }
    }

    pub(super) fn status(&mut self, step: u32, now: Vec<Status>, action: &str, faced: Option<&str>) {
        if now.is_empty() {
            return;
        }
        if let Some((_, before)) = self.statuses.last()
            && let Some(faced) = faced
        {
            for item in &now {
                let rose = before.iter().any(|old| old.name == item.name && old.value < item.value);
                // Moving and waiting restore nothing; what an action on the thing in front does, it does.
                if rose && action.eq_ignore_ascii_case("do") {
                    self.sources.insert(item.name.clone(), (faced.to_owned(), step));
                }
            }
        }
        if self.statuses.len() >= STATUSES {
            self.statuses.remove(0);
        }
        self.statuses.push((step, now));
    }
}

/// The parts of a state that have a limit: `- drink: 3/9`.
pub(super) fn statuses(short: &str) -> Vec<Status> {
    let item = |line: &str| {
        let (name, value) = line.trim_start_matches("- ").split_once(": ")?;
        let (value, most) = value.split_once('/')?;
        Some(Status {
            name: name.to_owned(),
            value: value.trim().parse().ok()?,
            most: most.trim().parse().ok()?,
        })
    };
    short.lines().filter_map(item).collect()
}

/// What the agent stands before: `You face water at your front.`
pub(super) fn faced(long: &str) -> Option<&str> {
    let rest = &long[long.rfind("You face ")? + "You face ".len()..];
    Some(&rest[..rest.find(" at your front")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_states_and_what_is_faced() {
        let found = statuses("Your status:\n- health: 9/9\n- drink: 3/9\n\nYour inventory:\n- wood: 2");
        let told: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.value, s.most)).collect();
        assert_eq!(told, [("health", 9, 9), ("drink", 3, 9)]);
        assert_eq!(faced("You see:\n\nYou face water at your front."), Some("water"));
        assert_eq!(faced("A dark room."), None);
    }

    #[test]
    fn spells_are_unproductive_steps_in_a_row() {
        let mut evidence = Evidence::default();
        for step in 0..5 {
            evidence.judged(step, "Do", Some(Waste::Stuck), step == 2, true);
        }
        evidence.judged(5, "Noop", None, false, false);
        evidence.judged(6, "Do", Some(Waste::Stuck), false, false);
        let spells: Vec<_> = evidence.all_spells().collect();
        assert_eq!(spells.len(), 1);
        assert_eq!((spells[0].steps(), spells[0].writes, spells[0].informed), (5, 1, 5));
    }
}
