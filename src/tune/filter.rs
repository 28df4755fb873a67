//! Which items of a selection are meant, as a person types it: `phase:LOG reads>0 op:APPEND ep:3 selected`.
//!
//! Terms are separated by blanks and hold together; a `!` or `-` in front turns one around. One language for the Curate
//! screen and for scripts. Pure.

use crate::review::Item;

/// What is said of a term that nobody knows.
const TERMS: &str = "there are: selected, alike, accepted, rejected, waiting; phase:LOG, op:APPEND, ep:3, seed:7, run:0, \
                     step:10-20, alike:4, id:TEXT, and with : = > < >= <= reads, advantage, reward, redundant, empty, \
                     malformed, failed, position, progression, score, step, ep, ops, bytes, written, messages; any other \
                     word without such signs is looked for in the id, reason and note";

/// A filter. The empty one takes everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    terms: Vec<(bool, Term)>,
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Selected,
    Alike,
    /// `Some(true)` accepted, `Some(false)` rejected, `None` waiting.
    Verdict(Option<bool>),
    Phase(String),
    Op(String),
    Id(String),
    Run(u32),
    Seed(u64),
    Number(Field, Sign, f64),
    Range(Field, f64, f64),
    Word(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equal,
    Above,
    Below,
    AtLeast,
    AtMost,
}

/// A number of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Episode,
    Step,
    Alike,
    Ops,
    Reads,
    Advantage,
    Reward,
    Redundant,
    Empty,
    Malformed,
    Failed,
    Position,
    Progression,
    Score,
    Bytes,
    Written,
    Messages,
}

/// Names of fields.
const FIELDS: [(&str, Field); 21] = [
    ("ep", Field::Episode),
    ("episode", Field::Episode),
    ("step", Field::Step),
    ("alike", Field::Alike),
    ("ops", Field::Ops),
    ("reads", Field::Reads),
    ("later_reads", Field::Reads),
    ("advantage", Field::Advantage),
    ("adv", Field::Advantage),
    ("reward", Field::Reward),
    ("redundant", Field::Redundant),
    ("empty", Field::Empty),
    ("malformed", Field::Malformed),
    ("failed", Field::Failed),
    ("position", Field::Position),
    ("progression", Field::Progression),
    ("score", Field::Score),
    ("bytes", Field::Bytes),
    ("written", Field::Written),
    ("messages", Field::Messages),
    ("pos", Field::Position),
];

impl Field {
    fn of(self, item: &Item) -> Option<f64> {
        let facts = &item.facts;
        Some(match self {
            Self::Episode => f64::from(item.episode.0),
            Self::Step => f64::from(item.step.0),
            Self::Alike => f64::from(item.alike?),
            Self::Ops => item.ops.len() as f64,
            Self::Reads => f64::from(facts.later_reads),
            Self::Advantage => facts.advantage,
            Self::Reward => facts.reward_after,
            Self::Redundant => f64::from(facts.redundant),
            Self::Empty => f64::from(facts.empty),
            Self::Malformed => f64::from(facts.malformed),
            Self::Failed => f64::from(facts.failed),
            Self::Position => facts.position,
            Self::Progression => facts.progression,
            Self::Score => item.score,
            Self::Bytes => facts.bytes as f64,
            Self::Written => facts.bytes_written as f64,
            Self::Messages => f64::from(facts.messages),
        })
    }
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// Which term is wrong, with what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let terms = text
            .split_whitespace()
            .map(|word| {
                let (wanted, rest) = match word.strip_prefix(['!', '-']) {
                    Some(rest) => (false, rest),
                    None => (true, word),
                };
                term(rest).map(|term| (wanted, term))
            })
            .collect::<Result<_, String>>()?;
        Ok(Self {
            terms,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    /// As it was typed, blanks apart.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it takes everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it means an item. `verdict` is what was decided on it: accepted, rejected, or nothing yet.
    pub fn matches(&self, item: &Item, verdict: Option<bool>) -> bool {
        self.terms
            .iter()
            .all(|(wanted, term)| term.holds(item, verdict) == *wanted)
    }
}

impl Term {
    fn holds(&self, item: &Item, verdict: Option<bool>) -> bool {
        match self {
            Self::Selected => item.selected,
            Self::Alike => item.alike.is_some(),
            Self::Verdict(wanted) => verdict == *wanted,
            Self::Phase(phase) => item.phase.word().eq_ignore_ascii_case(phase),
            Self::Op(name) => item.ops.iter().any(|op| op.eq_ignore_ascii_case(name)),
            Self::Id(text) => item.id.to_lowercase().contains(text),
            Self::Run(run) => item.run == *run,
            Self::Seed(seed) => item.seed == *seed,
            Self::Number(field, sign, number) => field.of(item).is_some_and(|value| match sign {
                Sign::Equal => (value - number).abs() < 1e-9,
                Sign::Above => value > *number,
                Sign::Below => value < *number,
                Sign::AtLeast => value >= *number,
                Sign::AtMost => value <= *number,
            }),
            Self::Range(field, from, to) => field.of(item).is_some_and(|value| (*from..=*to).contains(&value)),
            Self::Word(word) => [&item.id, &item.reason, &item.note]
                .into_iter()
                .any(|text| text.to_lowercase().contains(word)),
        }
    }
}

fn term(text: &str) -> Result<Term, String> {
    match text {
        "selected" => return Ok(Term::Selected),
        "alike" => return Ok(Term::Alike),
        "accepted" => return Ok(Term::Verdict(Some(true))),
        "rejected" => return Ok(Term::Verdict(Some(false))),
        "waiting" => return Ok(Term::Verdict(None)),
        _ => {}
    }
    let Some(at) = text.find([':', '=', '>', '<']) else {
        return match text.is_empty() {
            true => Err(format!("a `!` stands alone; {TERMS}")),
            false => Ok(Term::Word(text.to_lowercase())),
        };
    };
    let (name, rest) = text.split_at(at);
    let (sign, value) = [
        (">=", Sign::AtLeast),
        ("<=", Sign::AtMost),
        (">", Sign::Above),
        ("<", Sign::Below),
        ("=", Sign::Equal),
        (":", Sign::Equal),
    ]
    .into_iter()
    .find_map(|(sign, meaning)| rest.strip_prefix(sign).map(|value| (meaning, value)))
    .unwrap_or((Sign::Equal, rest));
    let unknown = |why: &str| Err(format!("`{text}`: {why}; {TERMS}"));
    if value.is_empty() {
        return unknown("something must stand behind the sign");
    }
    let exact = sign == Sign::Equal;
    match name.to_ascii_lowercase().as_str() {
        "phase" if exact => {
            let known = ["LOG", "PLAN"].iter().any(|phase| phase.eq_ignore_ascii_case(value));
            match known {
                true => Ok(Term::Phase(value.to_owned())),
                false => unknown("a phase is LOG or PLAN"),
            }
        }
        "op" if exact => Ok(Term::Op(value.to_owned())),
        "id" if exact => Ok(Term::Id(value.to_lowercase())),
        "run" if exact => value
            .parse()
            .map(Term::Run)
            .or_else(|_| unknown("a run is a number from 0")),
        "seed" if exact => value
            .parse()
            .map(Term::Seed)
            .or_else(|_| unknown("a seed is a whole number")),
        name => {
            let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) else {
                return unknown("nobody knows that name here");
            };
            if let Some((from, to)) = value.split_once('-').filter(|(from, _)| exact && !from.is_empty()) {
                return match (number(from), number(to)) {
                    (Some(from), Some(to)) => Ok(Term::Range(*field, from, to)),
                    _ => unknown("a range is two numbers, such as 10-20"),
                };
            }
            match number(value) {
                Some(number) => Ok(Term::Number(*field, sign, number)),
                None => unknown("a number must stand behind the sign"),
            }
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::Facts;
    use crate::types::{Digest, EpisodeNo, Phase, StepNo};
    use proptest::prelude::*;

    fn item() -> Item {
        Item {
            id: "019ad3f2:3:17:LOG".into(),
            run: 1,
            episode: EpisodeNo(3),
            seed: 99,
            step: StepNo(17),
            phase: Phase::Log,
            ops: vec!["SEARCH".into(), "APPEND".into()],
            digest: Digest::default(),
            selected: true,
            score: 1.25,
            reason: "read at step 67".into(),
            note: "advantage +0.120".into(),
            alike: None,
            facts: Facts {
                later_reads: 2,
                advantage: 0.12,
                position: 0.5,
                ..Facts::default()
            },
        }
    }

    #[test]
    fn terms_hold_together() {
        let held = |text: &str, verdict| Filter::parse(text).unwrap().matches(&item(), verdict);
        for text in [
            "",
            "  ",
            "selected",
            "phase:LOG reads>0 op:APPEND ep:3 selected",
            "phase:log op:append",
            "!phase:PLAN -op:READ",
            "step:10-20 step>=17 step<=17 step=17",
            "adv>0.1 advantage<0.2",
            "score>1 pos:0.5 redundant:0 ops=2",
            "seed:99 run:1 id:3:17",
            "!alike !alike:4",
            "67 advantage",
            "waiting",
        ] {
            assert!(held(text, None), "{text}");
        }
        for text in [
            "phase:PLAN",
            "reads>2",
            "op:READ",
            "ep:4",
            "!selected",
            "accepted",
            "alike",
            "tree",
            "step:18-20",
        ] {
            assert!(!held(text, None), "{text}");
        }
        assert!(held("accepted !rejected", Some(true)) && held("rejected", Some(false)));
        assert_eq!(
            Filter::parse(" reads>0   selected ").unwrap().text(),
            "reads>0 selected"
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for text in [
            "reads>",
            "reads>many",
            "phase:BOTH",
            "colour:red",
            "!",
            "step:a-b",
            "seed:x",
            "adv>inf",
            "phase>LOG",
        ] {
            let why = Filter::parse(text).unwrap_err();
            assert!(why.contains("there are: selected"), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([!-]?(phase|op|ep|reads|x|é)?(:|>|<|>=|=)?[0-9a-zL.-]{0,4} ?){0,5}") {
            if let Ok(filter) = Filter::parse(&text) {
                filter.matches(&item(), None);
            }
        }
    }
}
