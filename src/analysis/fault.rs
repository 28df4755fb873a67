//! From a failure back to the memory decision that led to it: what was known when, written where, and when
//! it should have been read.
//!
//! Owns three kinds of failure: a death, a spell in which nothing came of anything, and a long time without
//! progress. What cannot be laid at memory's door is said to be so. Must not read files.

use serde::{Deserialize, Serialize};

use super::finding::Place;
use super::metrics::{Evidence, Meter, Spell, Status, Waste};
use crate::types::{EndReason, EpisodeNo, StepNo};

/// Spells shorter than this are findings, and no failures of their own.
const LONG_SPELL: u32 = 8;
/// Spells of an episode that are traced: the longest.
const MOST_SPELLS: usize = 3;
/// What an observation showed so many steps ago or less was at hand.
const AT_HAND: u32 = 10;
/// Steps without progress from which on a goal counts as missed.
const LONG_WAIT: u32 = 100;
/// The part of a state that is life itself: nothing restores it but the others.
const LIFE: [&str; 3] = ["health", "hp", "hitpoints"];

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The game ended.
    Death,
    /// Steps in a row came to nothing.
    Stuck,
    /// The score stood still until the end.
    MissedGoal,
}

/// Which decision it goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The agent saw it and did not write it.
    NotWritten,
    /// It stood in memory, and no prompt showed it when it was needed.
    NotRead,
    /// The agent was shown its note and acted otherwise.
    ReadNotUsed,
    /// Nothing in the record lays it at memory's door.
    NotInMemory,
}

impl Verdict {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotWritten => "seen, not written",
            Self::NotRead => "written, not read",
            Self::ReadNotUsed => "read, not used",
            Self::NotInMemory => "not in memory",
        }
    }
}

/// What a link of the chain tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An observation showed it.
    Seen,
    /// Memory got it.
    Written,
    /// It should have been written here.
    NotWritten,
    /// A prompt showed it.
    Read,
    /// It should have been read here.
    NotRead,
    /// The need arose, or the failure began.
    Needed,
    /// The failure.
    Failed,
}

/// One link of the chain from what was known to the failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// When.
    pub place: Place,
    /// What happened.
    pub what: Event,
    /// In words.
    pub text: String,
}

/// A failure and where it goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Stable inside a run: the failure, its episode, and its step where there are several.
    pub id: String,
    /// What failed.
    pub failure: Failure,
    /// When.
    pub place: Place,
    /// In one line.
    pub title: String,
    /// Which decision it goes back to.
    pub verdict: Verdict,
    /// From what was known to the failure, in the order of steps.
    pub chain: Vec<Link>,
    /// What to try.
    #[serde(rename = "try")]
    pub advice: String,
}

/// The failures of all episodes, in their order.
pub(super) fn trace(meters: &[(EpisodeNo, Meter)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (episode, meter) in meters {
        let look = Look {
            episode: *episode,
            meter,
            evidence: meter.evidence(),
        };
        faults.extend(look.stuck());
        faults.extend(look.missed_goal());
        faults.extend(look.death());
    }
    faults
}

struct Look<'a> {
    episode: EpisodeNo,
    meter: &'a Meter,
    evidence: &'a Evidence,
}

impl Look<'_> {
    fn place(&self, step: u32) -> Place {
        Place {
            episode: self.episode,
            step: StepNo(step),
        }
    }

    fn link(&self, step: u32, what: Event, text: impl Into<String>) -> Link {
        Link {
            place: self.place(step),
            what,
            text: text.into(),
        }
    }

    fn fault(&self, id: String, failure: Failure, step: u32, title: String, told: Told) -> Fault {
        let mut chain = told.chain;
        chain.push(self.link(step, Event::Failed, title.clone()));
        chain.sort_by_key(|link| link.place);
        Fault {
            id,
            failure,
            place: self.place(step),
            title,
            verdict: told.verdict,
            chain,
            advice: advice(failure, told.verdict).to_owned(),
        }
    }

    /// The game ended: what was low, what had restored it before, and what memory had on that.
    fn death(&self) -> Option<Fault> {
        let (end, _) = self.evidence.end.filter(|(_, end)| *end == EndReason::Terminated)?;
        let end = end.0;
        let id = format!("death:{}", self.episode);
        let (_, last) = self.evidence.statuses.last()?;
        let low: Vec<&Status> = last
            .iter()
            .filter(|status| is_low(status) && !LIFE.contains(&status.name.to_ascii_lowercase().as_str()))
            .collect();
        let names: Vec<_> = low
            .iter()
            .map(|s| format!("{} {}/{}", s.name, s.value, s.most))
            .collect();
        let title = match names.is_empty() {
            true => format!("The game ended in step {end} with nothing low but life itself"),
            false => format!("The game ended in step {end} with {}", names.join(", ")),
        };
        let mut told = Told::innocent();
        for status in &low {
            let one = self.need(status, end);
            if told.verdict == Verdict::NotInMemory {
                told.verdict = one.verdict;
            }
            told.chain.extend(one.chain);
        }
        if told.verdict == Verdict::NotInMemory {
            let scene = self.evidence.last_seen.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = format!("what stood around: {}", shortened(&scene));
            told.chain.push(self.link(end, Event::Seen, text));
        }
        Some(self.fault(id, Failure::Death, end, title, told))
    }

    /// What memory had on what restores a low part of the state.
    fn need(&self, status: &Status, end: u32) -> Told {
        let name = &status.name;
        let since = self
            .evidence
            .statuses
            .iter()
            .rev()
            .take_while(|(_, all)| all.iter().any(|one| one.name == *name && is_low(one)))
            .last()
            .map_or(end, |(step, _)| *step);
        let mut told = Told::innocent();
        let need = format!("{name} was low from here on");
        told.chain.push(self.link(since, Event::Needed, need));
        let Some((thing, restored)) = self.evidence.sources.get(name) else {
            let text = format!("nothing had restored {name} in this episode, so what memory should hold is not known");
            told.chain.push(self.link(since, Event::Needed, text));
            return told;
        };
        let text = format!("{name} rose at {thing}");
        told.chain.push(self.link(*restored, Event::Seen, text));
        let seen = self.evidence.words.get(thing).map_or(*restored, |(_, last)| *last);
        if seen.saturating_add(AT_HAND) >= end {
            let text = format!("{thing} was still in sight: no memory was needed");
            told.chain.push(self.link(seen, Event::Seen, text));
            return told;
        }
        told.chain
            .push(self.link(seen, Event::Seen, format!("{thing} was in sight for the last time")));
        let at = self
            .meter
            .things()
            .iter()
            .position(|known| known.eq_ignore_ascii_case(thing));
        let known = at
            .and_then(|at| self.evidence.known.get(at))
            .copied()
            .unwrap_or_default();
        match (known.written, known.shown) {
            (None, _) => {
                told.verdict = Verdict::NotWritten;
                let text = format!("LOG wrote no line that names {thing}, here or elsewhere");
                told.chain.push(self.link(seen, Event::NotWritten, text));
            }
            (Some((first, _)), Some(shown)) if shown >= since => {
                told.verdict = Verdict::ReadNotUsed;
                told.chain
                    .push(self.link(first, Event::Written, format!("a line that names {thing}")));
                told.chain
                    .push(self.link(shown, Event::Read, format!("a prompt showed a line on {thing} last")));
            }
            (Some((first, last)), _) => {
                told.verdict = Verdict::NotRead;
                told.chain.push(self.link(
                    first,
                    Event::Written,
                    format!("a line that names {thing}, the last in step {last}"),
                ));
                let text = format!("from here on a line on {thing} should have been read, and none was");
                told.chain.push(self.link(since, Event::NotRead, text));
            }
        }
        told
    }

    /// The longest spells in which nothing came of anything.
    fn stuck(&self) -> Vec<Fault> {
        let mut spells: Vec<&Spell> = self
            .evidence
            .all_spells()
            .filter(|spell| spell.steps() >= LONG_SPELL)
            .collect();
        spells.sort_by_key(|spell| (std::cmp::Reverse(spell.steps()), spell.from));
        spells.truncate(MOST_SPELLS);
        spells.sort_by_key(|spell| spell.from);
        let fault = |spell: &Spell| {
            let what = match spell.waste {
                Waste::Stuck => "nothing changed",
                Waste::Oscillating => "it went back and forth",
            };
            let title = format!(
                "In steps {} to {} {what}, beginning with `{}`",
                spell.from, spell.to, spell.action
            );
            let id = format!("stuck:{}:{}", self.episode, spell.from);
            self.fault(id, Failure::Stuck, spell.to.0, title, self.spell(spell))
        };
        spells.into_iter().map(fault).collect()
    }

    fn spell(&self, spell: &Spell) -> Told {
        let (from, to) = (spell.from.0, spell.to.0);
        let mut told = Told::innocent();
        told.chain
            .push(self.link(from, Event::Needed, "the first of these steps"));
        let written = self
            .evidence
            .failures
            .iter()
            .filter(|((_, action), failed)| {
                *action == spell.action && failed.first >= spell.from && failed.first <= spell.to
            })
            .filter_map(|(_, failed)| failed.recorded.as_ref())
            .min();
        if let Some((step, file)) = written {
            let text = format!("LOG wrote into {file} what `{}` came to", spell.action);
            told.chain.push(self.link(step.0, Event::Written, text));
        }
        told.verdict = match (spell.writes, spell.informed) {
            (0, 0) => {
                let text = "LOG wrote nothing in all of these steps, and PLAN was shown no note of its own";
                told.chain.push(self.link(from + 1, Event::NotWritten, text));
                Verdict::NotWritten
            }
            (_, 0) => {
                let text = "PLAN was shown no note of its own in all of these steps";
                told.chain.push(self.link(to.min(from + 1), Event::NotRead, text));
                Verdict::NotRead
            }
            (writes, informed) => {
                let text = format!("PLAN was shown its own notes in {informed} of these steps; LOG wrote in {writes}");
                told.chain.push(self.link(to.min(from + 1), Event::Read, text));
                Verdict::ReadNotUsed
            }
        };
        told
    }

    /// The score stood still from some step to the end.
    fn missed_goal(&self) -> Option<Fault> {
        let metrics = self.meter.metrics();
        let steps = u32::try_from(metrics.steps).unwrap_or(u32::MAX);
        let from = self.evidence.progress.last().map_or(0, |step| step.0);
        let wait = steps.saturating_sub(from);
        if wait < LONG_WAIT.max(steps / 4) || metrics.progression >= 1.0 {
            return None;
        }
        let last = steps.saturating_sub(1);
        let title = format!(
            "The score stood at {:.1} % from step {from} to the last, {last}",
            metrics.progression * 100.0
        );
        let mut told = Told::innocent();
        told.chain.push(self.link(from, Event::Needed, "the last progress"));
        let missed = self.evidence.missed.iter().filter(|missed| missed.needed.0 >= from);
        for missed in missed.take(3) {
            told.verdict = Verdict::NotWritten;
            let (word, file) = (&missed.word, &missed.file);
            told.chain.push(self.link(
                missed.seen.0,
                Event::NotWritten,
                format!("`{word}` was in sight and was not written"),
            ));
            told.chain.push(self.link(
                missed.needed.0,
                Event::Needed,
                format!("`{word}` was searched for in {file} in vain"),
            ));
        }
        let spells: Vec<&Spell> = self.evidence.all_spells().filter(|spell| spell.to.0 >= from).collect();
        let wasted: u32 = spells.iter().map(|spell| spell.steps()).sum();
        if let Some(worst) = spells
            .iter()
            .max_by_key(|spell| spell.steps())
            .filter(|_| wasted * 5 >= wait)
        {
            let text =
                format!("{wasted} of the {wait} steps since then came to nothing, the longest spell begins here");
            told.chain.push(self.link(worst.from.0, Event::Needed, text));
            if told.verdict == Verdict::NotInMemory {
                told.verdict = self.spell(worst).verdict;
            }
        }
        let id = format!("no-progress:{}", self.episode);
        Some(self.fault(id, Failure::MissedGoal, last, title, told))
    }
}

/// A verdict with its reasons.
struct Told {
    verdict: Verdict,
    chain: Vec<Link>,
}

impl Told {
    fn innocent() -> Self {
        Self {
            verdict: Verdict::NotInMemory,
            chain: Vec::new(),
        }
    }
}

/// A third of the most or less.
fn is_low(status: &Status) -> bool {
    status.value * 3 <= status.most
}

fn advice(failure: Failure, verdict: Verdict) -> &'static str {
    match (failure, verdict) {
        (Failure::Death, Verdict::NotWritten) => {
            "Have LOG write where food, drink and rest are when they are in sight, one line a place."
        }
        (Failure::Death, Verdict::NotRead) => {
            "Have PLAN look up what restores a part of the state as soon as it is low; a rule in the prompt with the \
             limit as a number."
        }
        (Failure::Death, Verdict::ReadNotUsed) => {
            "The note was there: put the need before the goal in the PLAN prompt, and have notes say how far and which \
             way."
        }
        (Failure::Stuck, Verdict::NotWritten) => "Have LOG write which action failed where, once it is seen to fail.",
        (Failure::Stuck, Verdict::NotRead) => {
            "Show PLAN the newest lines of what failed, or have it search for the action."
        }
        (Failure::Stuck, Verdict::ReadNotUsed) => {
            "The notes were there and did not help: say in them what to do instead, and have the prompt name the spell."
        }
        (Failure::MissedGoal, Verdict::NotWritten) => {
            "Have LOG write what comes into sight and is needed for a later goal."
        }
        (Failure::MissedGoal, Verdict::NotRead | Verdict::ReadNotUsed) => {
            "Keep the next goal in a file that PLAN is always shown, with what is still missing for it."
        }
        (_, Verdict::NotInMemory) => "The record does not lay this at memory's door: look at the steps themselves.",
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
