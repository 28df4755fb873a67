//! How the talk with a meta-LLM goes on: budget, reminders, how often a revision may be handed in again.
//!
//! Pure: answers and counts in, decisions out. Must not call a model or a tool.

use crate::evolve::reviser::ReviserError;
use crate::llm::Usage;

/// Reminders to a model that calls no tool.
const REMINDERS: u32 = 2;
/// Reminders to one whose draft stands already.
const LAST_REMINDERS: u32 = 1;
/// Times a revision may be handed in and sent back.
const REFUSALS: u32 = 4;
/// Calls of the model in all, so that even a model that costs nothing ends.
const ROUNDS: u32 = 400;
/// Shares of the budget at which the model is told, in percent.
const WARNINGS: [u64; 3] = [50, 75, 90];

/// See the module.
#[derive(Debug)]
pub(super) struct Course {
    spec: String,
    budget: u64,
    used: Usage,
    /// What the last call used.
    last: u64,
    silent: u32,
    refused: u32,
    rounds: u32,
    warned: usize,
}

impl Course {
    pub(super) fn new(spec: String, budget: u64) -> Self {
        Self {
            spec,
            budget,
            used: Usage::default(),
            last: 0,
            silent: 0,
            refused: 0,
            rounds: 0,
            warned: 0,
        }
    }

    /// What was used so far.
    pub(super) fn used(&self) -> Usage {
        self.used
    }

    fn tokens(&self) -> u64 {
        self.used.prompt + self.used.completion
    }

    /// Tokens the next answer may have; the conversation comes with every call, and it only grows.
    ///
    /// # Errors
    /// When the budget does not allow another call.
    pub(super) fn next(&mut self, most: u32) -> Result<u32, ReviserError> {
        if self.rounds == ROUNDS {
            return Err(ReviserError::Nothing {
                spec: self.spec.clone(),
                why: format!("it was not done after {ROUNDS} answers"),
            });
        }
        let left = self.budget.saturating_sub(self.tokens()).saturating_sub(self.last);
        if left == 0 {
            return Err(ReviserError::Budget {
                spec: self.spec.clone(),
                used: self.tokens(),
                budget: self.budget,
            });
        }
        self.rounds += 1;
        Ok(u32::try_from(left).unwrap_or(u32::MAX).min(most))
    }

    /// An answer came.
    pub(super) fn answered(&mut self, usage: Usage) {
        self.used += usage;
        self.last = usage.prompt + usage.completion;
    }

    /// The answer called tools.
    pub(super) fn acted(&mut self) {
        self.silent = 0;
    }

    /// The answer called none: what the model is told; `None` when it was told often enough.
    pub(super) fn silent(&mut self, changed: bool, stands: bool, cut: bool) -> Option<String> {
        self.silent += 1;
        let most = if stands && changed { LAST_REMINDERS } else { REMINDERS };
        if self.silent > most {
            return None;
        }
        Some(match (cut, stands && changed, changed) {
            (true, ..) => {
                "Your answer reached its limit of tokens before it called a tool. Call one now, with less text before it."
            }
            (_, true, _) => "Your draft passes the check but is not handed in. Call `finish` now, or go on with tools.",
            (_, _, true) => {
                "You called no tool. You have changed files but not handed them in: go on, then call `check` and `finish`."
            }
            _ => "You called no tool. Work through tools only: look at the traces, write files, `check`, then `finish`.",
        }
        .to_owned())
    }

    /// A revision was sent back: whether it may be handed in again.
    pub(super) fn refused(&mut self) -> bool {
        self.refused += 1;
        self.refused < REFUSALS
    }

    /// What the model is told about its budget, each thing once.
    pub(super) fn warning(&mut self) -> Option<String> {
        let tokens = self.tokens();
        let passed = WARNINGS
            .iter()
            .filter(|share| tokens * 100 >= self.budget * **share)
            .count();
        if passed <= self.warned {
            return None;
        }
        self.warned = passed;
        let calls = self.budget.saturating_sub(tokens) / self.last.max(1);
        let what = match passed {
            1 => "Plan the rest of your work.",
            2 => "Begin to write your revision now.",
            _ => "Write, `check` and `finish` now.",
        };
        Some(format!(
            "[You have used {tokens} of {} tokens. At the size of your last call that leaves about {calls} more calls. {what}]",
            self.budget
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt: u64, completion: u64) -> Usage {
        Usage {
            prompt,
            completion,
            ..Usage::default()
        }
    }

    fn course(budget: u64) -> Course {
        Course::new("test:model".into(), budget)
    }

    #[test]
    fn the_budget_is_kept_and_told_in_time() {
        let mut course = course(1_000);
        assert_eq!(course.next(400).unwrap(), 400);
        course.answered(usage(300, 100));
        assert_eq!(course.warning(), None);
        // What the next call costs at least is set aside.
        assert_eq!(course.next(400).unwrap(), 200);
        course.answered(usage(350, 50));
        assert!(course.warning().unwrap().contains("800 of 1000 tokens"));
        assert_eq!(course.warning(), None, "once");
        match course.next(400) {
            Err(ReviserError::Budget { used, budget, .. }) => assert_eq!((used, budget), (800, 1_000)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_silent_model_is_reminded_twice_and_once_when_its_draft_stands() {
        let mut course = course(1_000);
        assert!(course.silent(false, false, false).unwrap().contains("called no tool"));
        assert!(course.silent(true, false, false).unwrap().contains("changed files"));
        assert_eq!(course.silent(true, false, false), None);
        course.acted();
        assert!(course.silent(true, true, false).unwrap().contains("`finish`"));
        assert_eq!(course.silent(true, true, false), None);
        course.acted();
        assert!(course.silent(false, false, true).unwrap().contains("limit of tokens"));
    }

    #[test]
    fn nothing_goes_on_for_ever() {
        let mut course = course(u64::MAX / 200);
        assert_eq!(
            (0..4).map(|_| course.refused()).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        for _ in 0..ROUNDS {
            course.next(1).unwrap();
        }
        assert!(matches!(course.next(1), Err(ReviserError::Nothing { .. })));
    }
}
