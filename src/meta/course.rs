//! How the talk with a meta-LLM goes on: budget, reminders, how often work may be handed in again.
//!
//! Pure: answers and counts in, decisions out. Must not call a model or a tool.

use super::error::MetaError;
use crate::llm::Usage;

/// Reminders to a model that calls no tool.
const REMINDERS: u32 = 2;
/// Reminders to one whose work stands already.
const LAST_REMINDERS: u32 = 1;
/// Times work may be handed in and sent back.
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
    pub(super) fn next(&mut self, most: u32) -> Result<u32, MetaError> {
        if self.rounds == ROUNDS {
            return Err(MetaError::Nothing {
                spec: self.spec.clone(),
                why: format!("it was not done after {ROUNDS} answers"),
            });
        }
        let left = self.budget.saturating_sub(self.tokens()).saturating_sub(self.last);
        if left == 0 {
            return Err(MetaError::Budget {
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

    /// The answer called none: whether it is reminded; `false` when it was told often enough. `stands` when its work is
    /// done and only has to be handed in.
    pub(super) fn silent(&mut self, stands: bool) -> bool {
        self.silent += 1;
        self.silent <= if stands { LAST_REMINDERS } else { REMINDERS }
    }

    /// Work was sent back: whether it may be handed in again.
    pub(super) fn refused(&mut self) -> bool {
        self.refused += 1;
        self.refused < REFUSALS
    }

    /// What the model is told about its budget, each thing once.
    pub(super) fn warning(&mut self, whats: [&str; 3]) -> Option<String> {
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
        let what = whats.get(passed - 1).copied().unwrap_or_default();
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
        assert_eq!(course.warning(["a", "b", "c"]), None);
        // What the next call costs at least is set aside.
        assert_eq!(course.next(400).unwrap(), 200);
        course.answered(usage(350, 50));
        assert!(course.warning(["a", "b", "c"]).unwrap().contains("800 of 1000 tokens"));
        assert_eq!(course.warning(["a", "b", "c"]), None, "once");
        match course.next(400) {
            Err(MetaError::Budget { used, budget, .. }) => assert_eq!((used, budget), (800, 1_000)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_silent_model_is_reminded_twice_and_once_when_its_work_stands() {
        let mut course = course(1_000);
        assert_eq!([(); 3].map(|()| course.silent(false)), [true, true, false]);
        course.acted();
        assert_eq!([(); 2].map(|()| course.silent(true)), [true, false]);
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
        assert!(matches!(course.next(1), Err(MetaError::Nothing { .. })));
    }
}
