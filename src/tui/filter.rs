//! A filter of the stream of actions: words that combine, and what they match.
//!
//! Owns the words and their meaning, for rows on the screen and for steps of the record alike.
//! Words of one kind mean any of them, words of different kinds all of them.

use std::fmt;

use crate::jobs::Cancel;
use crate::store::{Kinds, Progress, Reader, StoreError};
use crate::types::{ActionBy, Author, Body, EpisodeNo, MemoryOp, OpStatus, Phase, Role, StepNo};

/// What is shown of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filter {
    ops: Vec<String>,
    outcomes: Vec<OpStatus>,
    phases: Vec<Phase>,
    roles: Vec<Role>,
    files: Vec<String>,
    authors: Vec<Author>,
    invalid: bool,
}

/// The words there are, for whoever writes one.
pub(crate) const WORDS: &str = "op:APPEND outcome:refused phase:LOG role:agent file:map.txt by:human invalid";

const STATUSES: [OpStatus; 7] = [
    OpStatus::Ok,
    OpStatus::Empty,
    OpStatus::Unchanged,
    OpStatus::Missing,
    OpStatus::Refused,
    OpStatus::Malformed,
    OpStatus::Failed,
];
const ROLES: [Role; 3] = [Role::Agent, Role::Specialist, Role::Gameplay];
const AUTHORS: [(Author, &str); 3] = [
    (Author::Model, "model"),
    (Author::Scaffold, "scaffold"),
    (Author::Human, "human"),
];

impl Filter {
    /// Reads words; an error says which word is none and what there is.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for word in text.split_whitespace() {
            if word.eq_ignore_ascii_case("invalid") {
                filter.invalid = true;
                continue;
            }
            let Some((key, value)) = word.split_once(':').filter(|(_, value)| !value.is_empty()) else {
                return Err(format!("`{word}` is no word of a filter; write {WORDS}"));
            };
            let one_of = |all: &[&str]| format!("`{word}`: {key} is one of {}", all.join(" "));
            match key.to_ascii_lowercase().as_str() {
                "op" => filter.ops.push(value.to_ascii_uppercase()),
                "file" => filter.files.push(value.to_owned()),
                "outcome" => match STATUSES.iter().find(|status| status.word().eq_ignore_ascii_case(value)) {
                    Some(status) => filter.outcomes.push(*status),
                    None => return Err(one_of(&STATUSES.map(OpStatus::word))),
                },
                "phase" => match [Phase::Log, Phase::Plan]
                    .iter()
                    .find(|phase| phase.word().eq_ignore_ascii_case(value))
                {
                    Some(phase) => filter.phases.push(*phase),
                    None => return Err(one_of(&["LOG", "PLAN"])),
                },
                "role" => match ROLES.iter().find(|role| role.word().eq_ignore_ascii_case(value)) {
                    Some(role) => filter.roles.push(*role),
                    None => return Err(one_of(&ROLES.map(Role::word))),
                },
                "by" => match AUTHORS.iter().find(|(_, name)| name.eq_ignore_ascii_case(value)) {
                    Some((author, _)) => filter.authors.push(*author),
                    None => return Err(one_of(&AUTHORS.map(|(_, name)| name))),
                },
                _ => return Err(format!("`{word}` is no word of a filter; write {WORDS}")),
            }
        }
        Ok(filter)
    }

    /// Whether it lets everything through.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Only what touched a file.
    pub(crate) fn of_file(path: &str) -> Self {
        Self {
            files: vec![path.to_owned()],
            ..Self::default()
        }
    }

    /// Which of a step's events it lets through.
    pub(crate) fn flags<'a>(&self, events: impl Iterator<Item = &'a Body>) -> Vec<bool> {
        let mut at = Context::default();
        events.map(|body| self.lets_through(body, &mut at)).collect()
    }

    /// Kinds of events it has to look at.
    fn kinds(&self) -> Kinds {
        let rest = Kinds::MEMORY | Kinds::ACTIONS | Kinds::NOTICES;
        // Turns are long: they are read only where they can matter.
        if self.is_for_turns() || !self.roles.is_empty() {
            rest | Kinds::TURNS
        } else {
            rest
        }
    }

    fn is_for_ops(&self) -> bool {
        !(self.ops.is_empty() && self.outcomes.is_empty() && self.files.is_empty())
    }

    fn is_for_turns(&self) -> bool {
        !self.is_for_ops() && self.authors.is_empty() && !self.invalid
    }

    fn lets_through(&self, body: &Body, at: &mut Context) -> bool {
        match body {
            Body::TurnFinished { turn } => {
                *at = Context {
                    phase: Some(turn.phase),
                    role: Some(turn.role),
                };
                self.is_for_turns() && self.fits(at)
            }
            Body::MemoryOp { op } => {
                at.phase = Some(op.phase);
                self.fits(at) && self.fits_op(op)
            }
            Body::ActionCommitted { by, .. } => {
                at.phase = Some(Phase::Plan);
                let author = match by {
                    ActionBy::Model => Some(Author::Model),
                    ActionBy::Scaffold => Some(Author::Scaffold),
                    ActionBy::Human => Some(Author::Human),
                    ActionBy::Fallback => None,
                };
                !self.is_for_ops()
                    && self.fits(at)
                    && any(&self.authors, |wanted| Some(*wanted) == author)
                    && (!self.invalid || *by == ActionBy::Fallback)
            }
            Body::HumanActed { .. } => self.fits_human(),
            Body::HumanEdited { changes } => {
                self.ops.is_empty()
                    && self.outcomes.is_empty()
                    && self.phases.is_empty()
                    && self.roles.is_empty()
                    && !self.invalid
                    && any(&self.authors, |author| *author == Author::Human)
                    && any(&self.files, |file| changes.iter().any(|change| change.path == *file))
                    && !(self.authors.is_empty() && self.files.is_empty())
            }
            Body::ActionRejected { .. } => self.is_fault(at),
            Body::BudgetExceeded { phase, .. }
            | Body::ContextOverflow { phase, .. }
            | Body::ModelFailed { phase, .. } => {
                at.phase = Some(*phase);
                self.is_fault(at)
            }
            Body::HookFailed { .. } | Body::WorldFailed { .. } => self.is_fault(at),
            _ => false,
        }
    }

    fn fits_op(&self, op: &MemoryOp) -> bool {
        use OpStatus::{Failed, Malformed, Refused};
        let names = |file: &String| {
            op.args
                .first()
                .is_some_and(|arg| arg.trim().trim_start_matches("./") == file)
                || op.changes.iter().any(|change| change.path == *file)
        };
        any(&self.ops, |name| *name == op.op)
            && any(&self.outcomes, |status| *status == op.outcome.status)
            && any(&self.files, names)
            && any(&self.authors, |author| *author == op.by)
            && (!self.invalid || matches!(op.outcome.status, Refused | Malformed | Failed))
    }

    fn fits_human(&self) -> bool {
        self.authors.contains(&Author::Human) && !self.is_for_ops() && !self.invalid && self.roles.is_empty()
    }

    /// Something went wrong that is no operation and no action.
    fn is_fault(&self, at: &Context) -> bool {
        self.invalid && !self.is_for_ops() && self.authors.is_empty() && self.fits(at)
    }

    fn fits(&self, at: &Context) -> bool {
        any(&self.phases, |phase| Some(*phase) == at.phase) && any(&self.roles, |role| Some(*role) == at.role)
    }
}

/// Where in its step an event is.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    phase: Option<Phase>,
    role: Option<Role>,
}

/// Whether any of the wanted holds; true when nothing is wanted.
fn any<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(holds)
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let author = |author: &Author| {
            AUTHORS
                .iter()
                .find(|(known, _)| known == author)
                .map_or("", |(_, name)| name)
        };
        let words = (self.ops.iter().map(|op| format!("op:{op}")))
            .chain(self.outcomes.iter().map(|status| format!("outcome:{}", status.word())))
            .chain(self.phases.iter().map(|phase| format!("phase:{}", phase.word())))
            .chain(self.roles.iter().map(|role| format!("role:{}", role.word())))
            .chain(self.files.iter().map(|file| format!("file:{file}")))
            .chain(self.authors.iter().map(|by| format!("by:{}", author(by))))
            .chain(self.invalid.then(|| "invalid".to_owned()));
        f.write_str(&words.collect::<Vec<_>>().join(" "))
    }
}

/// A step that a filter lets something of through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Match {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// Step.
    pub(crate) step: StepNo,
}

/// All steps of the run with something that the filter lets through.
pub(super) fn sift(
    reader: &Reader,
    filter: &Filter,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Match>, StoreError> {
    let start = (EpisodeNo(0), StepNo(0));
    reader.sift(filter.kinds(), start, cancel, progress, &|episode, step, events| {
        let flags = filter.flags(events.iter().map(|event| &event.body));
        flags.contains(&true).then_some(Match { episode, step })
    })
}

/// The same for some steps of an episode.
pub(super) fn sift_some(
    reader: &Reader,
    filter: &Filter,
    episode: EpisodeNo,
    steps: std::ops::Range<StepNo>,
) -> Result<Vec<Match>, StoreError> {
    let events = reader.events_in(episode, steps, filter.kinds())?;
    let by_step = events.chunk_by(|a, b| a.at.step == b.at.step);
    Ok(by_step
        .filter(|events| filter.flags(events.iter().map(|event| &event.body)).contains(&true))
        .filter_map(|events| events.first())
        .map(|event| Match {
            episode,
            step: event.at.step,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    fn rows(filter: &str, step: u32) -> Vec<&'static str> {
        let record = testing::record(step);
        let filter = Filter::parse(filter).unwrap();
        let flags = filter.flags(record.events.iter());
        let name = |body: &Body| match body {
            Body::TurnFinished { .. } => "turn",
            Body::MemoryOp { op } if op.op == "READ" => "READ",
            Body::MemoryOp { .. } => "APPEND",
            Body::ActionCommitted { .. } => "action",
            _ => "other",
        };
        let kept = record.events.iter().zip(flags).filter(|(_, flag)| *flag);
        kept.map(|(body, _)| name(body)).collect()
    }

    #[test]
    fn words_combine() {
        assert_eq!(rows("op:append", 3), ["APPEND"]);
        assert_eq!(rows("op:APPEND op:READ", 3), ["APPEND", "READ"]);
        assert_eq!(rows("op:APPEND phase:PLAN", 3), [""; 0]);
        assert_eq!(rows("phase:plan", 3), ["turn", "READ", "action"]);
        assert_eq!(rows("phase:LOG role:agent", 3), ["turn", "APPEND"]);
        assert_eq!(rows("role:gameplay", 3), [""; 0]);
        assert_eq!(rows("file:goals.txt", 3), ["READ"]);
        assert_eq!(rows("file:notes/map.txt outcome:ok", 3), ["APPEND"]);
        assert_eq!(rows("by:human", 3), [""; 0]);
        assert_eq!(rows("invalid", 3), [""; 0]);
    }

    #[test]
    fn invalid_is_whatever_went_wrong() {
        let mut record = testing::record(3);
        for body in &mut record.events {
            match body {
                Body::MemoryOp { op } if op.op == "APPEND" => op.outcome.status = OpStatus::Refused,
                Body::ActionCommitted { by, .. } => *by = ActionBy::Fallback,
                _ => {}
            }
        }
        record.push(Body::ActionRejected {
            raw: "x".into(),
            reason: "y".into(),
        });
        let count = |words: &str| {
            let flags = Filter::parse(words).unwrap().flags(record.events.iter());
            flags.into_iter().filter(|flag| *flag).count()
        };
        assert_eq!(count("invalid"), 3);
        assert_eq!(count("invalid op:APPEND"), 1);
        assert_eq!(count("invalid phase:LOG"), 1);
        assert_eq!(count("outcome:refused"), 1);
    }

    #[test]
    fn what_is_no_word_is_said_with_what_there_is() {
        for (text, says) in [
            ("foo", "`foo`"),
            ("op:", "`op:`"),
            ("outcome:bad", "refused"),
            ("phase:x", "LOG PLAN"),
            ("role:x", "specialist"),
            ("by:x", "human"),
            ("colour:red", "op:APPEND"),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let text = "op:APPEND outcome:refused phase:LOG role:agent file:a.txt by:human invalid";
        assert_eq!(Filter::parse(text).unwrap().to_string(), text);
        assert!(Filter::parse("  ").unwrap().is_empty());
    }
}
