//! The state machine of a phase. One [`Machine`] plays one phase of one step, or one model's part of it.

use super::reading::{OpCall, Reading, read};
use super::{Rules, Validated, validate};
use crate::protocol;
use crate::types::{Action, ActionBy, BudgetKind, Phase, StopReason, TurnNo};

/// Something that happened outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// The phase begins.
    Begin,
    /// The model has answered.
    Answered {
        /// Its answer.
        text: &'a str,
        /// Why the answer ended.
        stop: StopReason,
    },
    /// The operations of the answer have run.
    OpsRan {
        /// What they gave back, as the model will see it.
        results: String,
    },
    /// The commit gate has looked at the action.
    Gated(Gating),
    /// The model cannot answer: the prompt does not fit, or the call failed for good.
    NoAnswer,
}

/// Something to do outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask the model; answer with [`Input::Answered`] or [`Input::NoAnswer`].
    CallModel {
        /// Which call of the phase.
        turn: TurnNo,
        /// Calls left, this one included.
        turns_left: u32,
        /// With which prompt.
        ask: Ask,
    },
    /// Close the turn: run these operations (there may be none), record turn and operations;
    /// answer with [`Input::OpsRan`].
    RunOps {
        /// Which call they belong to.
        turn: TurnNo,
        /// The operations in order.
        ops: Vec<OpCall>,
    },
    /// Ask the commit gate; answer with [`Input::Gated`].
    Gate {
        /// What the model wrote.
        raw: String,
        /// The action that is, if it is one.
        action: Option<Action>,
        /// How often the gate rejected in this step.
        rejections: u32,
    },
    /// The gate did not let an action pass.
    Rejected {
        /// What the model wrote.
        raw: String,
        /// What it is told.
        reason: String,
    },
    /// A budget was reached.
    Budget {
        /// In which turn.
        turn: TurnNo,
        /// Which budget.
        budget: BudgetKind,
        /// Its size.
        limit: u64,
        /// What was asked for.
        asked: u64,
    },
    /// Record a note.
    Note(String),
    /// PLAN is over with this action.
    Commit {
        /// What the model wrote; empty when it gave none.
        raw: String,
        /// What the world gets.
        action: Action,
        /// It was mended.
        repaired: bool,
        /// Who chose it.
        by: ActionBy,
    },
    /// The specialist has consulted memory: the gameplay model is to commit, with [`Machine::committing`].
    HandOver {
        /// The first call of the gameplay model.
        turn: TurnNo,
        /// What the operations of the last answer gave back; empty when there were none.
        results: String,
    },
    /// LOG is over.
    Over,
}

/// Which prompt the model gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The first one of the phase.
    First,
    /// The one that asks the gameplay model to commit what the specialist has looked into.
    HandOff {
        /// What the specialist's last operations gave back.
        results: String,
    },
    /// A later one.
    Continue {
        /// What the operations gave back.
        results: String,
        /// What was wrong with the last answer.
        notices: Vec<String>,
    },
}

/// What a commit gate says to an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gating {
    /// It may pass.
    Accept,
    /// It may not; the model is told why.
    Reject(String),
    /// Another one passes in its place.
    Repair(String),
}

/// Whose part of a phase it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// One model plays all of it.
    Whole,
    /// The specialist consults memory; what it takes for an action ends its part.
    Consulting,
    /// The gameplay model commits, from this call on.
    Committing { first: u32, results: String },
}

/// An action before the gate.
#[derive(Debug)]
struct Candidate {
    raw: String,
    valid: Option<Validated>,
    results: String,
}

/// A phase under way.
#[derive(Debug)]
pub struct Machine<'a> {
    rules: &'a Rules,
    part: Part,
    turn: u32,
    reading: Reading,
    notices: Vec<String>,
    candidate: Option<Candidate>,
    rejections: u32,
    over: bool,
}

impl<'a> Machine<'a> {
    /// A phase that has not begun.
    pub fn new(rules: &'a Rules) -> Self {
        Self::of(rules, Part::Whole)
    }

    /// The part of PLAN in which the specialist consults memory. It ends with [`Effect::HandOver`], always: the
    /// specialist commits nothing.
    pub fn consulting(rules: &'a Rules) -> Self {
        Self::of(rules, Part::Consulting)
    }

    /// The part of PLAN in which the gameplay model commits: it has the phase's budget for itself, its calls are counted
    /// on from the specialist's.
    pub fn committing(rules: &'a Rules, first: TurnNo, results: String) -> Self {
        let first = first.0;
        Self {
            turn: first,
            ..Self::of(rules, Part::Committing { first, results })
        }
    }

    fn of(rules: &'a Rules, part: Part) -> Self {
        Self {
            rules,
            part,
            turn: 0,
            reading: Reading::default(),
            notices: Vec::new(),
            candidate: None,
            rejections: 0,
            over: false,
        }
    }

    /// Takes in what happened and says what to do, in order. After [`Effect::Commit`], [`Effect::HandOver`] or
    /// [`Effect::Over`] nothing more follows.
    pub fn step(&mut self, input: Input<'_>) -> Vec<Effect> {
        if self.over {
            return Vec::new();
        }
        match input {
            Input::Begin if self.rules.turns == 0 => self.end_without_action(String::new()),
            Input::Begin => vec![self.begin()],
            Input::Answered { text, stop } => self.answered(text, stop),
            Input::OpsRan { results } => self.ops_ran(results),
            Input::Gated(gating) => self.gated(gating),
            Input::NoAnswer => self.end_without_action(String::new()),
        }
    }

    fn turn_no(&self) -> TurnNo {
        TurnNo(self.turn)
    }

    fn begin(&mut self) -> Effect {
        let ask = match &mut self.part {
            Part::Committing { results, .. } => Ask::HandOff {
                results: std::mem::take(results),
            },
            Part::Whole | Part::Consulting => Ask::First,
        };
        self.call(ask)
    }

    /// Calls of this part so far.
    fn used(&self) -> u32 {
        match self.part {
            Part::Committing { first, .. } => self.turn.saturating_sub(first),
            Part::Whole | Part::Consulting => self.turn,
        }
    }

    fn call(&self, ask: Ask) -> Effect {
        Effect::CallModel {
            turn: self.turn_no(),
            turns_left: self.rules.turns.saturating_sub(self.used()),
            ask,
        }
    }

    fn answered(&mut self, text: &str, stop: StopReason) -> Vec<Effect> {
        self.reading = read(text, self.rules);
        let turn = self.turn_no();
        let mut notes: Vec<String> = self.reading.problems.clone();
        let mut effects = vec![Effect::RunOps {
            turn,
            ops: std::mem::take(&mut self.reading.ops),
        }];
        let limit = self.rules.ops_per_turn as usize;
        if self.reading.asked > limit {
            effects.push(Effect::Budget {
                turn,
                budget: BudgetKind::Ops,
                limit: limit as u64,
                asked: self.reading.asked as u64,
            });
            notes.push(format!(
                "You asked for {} operations; only the first {limit} were run.",
                self.reading.asked
            ));
        }
        if stop == StopReason::Length {
            notes.push("Your answer was cut at its length limit. Be shorter.".to_owned());
        }
        match self.rules.phase {
            Phase::Log if !self.reading.actions.is_empty() => {
                notes.push("LOG commits no action; yours was ignored. Commit it in PLAN.".to_owned());
            }
            Phase::Plan if self.reading.actions.len() > 1 && self.part != Part::Consulting => {
                notes.push("Your answer held several actions; the first one was taken.".to_owned());
            }
            _ => {}
        }
        self.notices = notes.clone();
        effects.extend(notes.into_iter().map(|note| Effect::Note(self.noted(&note))));
        effects
    }

    fn noted(&self, text: &str) -> String {
        format!("{} turn {}: {text}", self.rules.phase.word(), self.turn)
    }

    fn ops_ran(&mut self, results: String) -> Vec<Effect> {
        match self.rules.phase {
            Phase::Log => self.after_log_turn(results),
            Phase::Plan => self.after_plan_turn(results),
        }
    }

    /// LOG ends with DONE, or when an answer asked for nothing and nothing was wrong with it.
    fn after_log_turn(&mut self, results: String) -> Vec<Effect> {
        let idle = self.reading.asked == 0 && self.notices.is_empty();
        if self.reading.done || idle {
            return self.end_without_action(String::new());
        }
        self.go_on(results)
    }

    fn after_plan_turn(&mut self, results: String) -> Vec<Effect> {
        if self.part == Part::Consulting {
            return self.after_consulting(results);
        }
        if let Some(raw) = self.reading.actions.first().cloned() {
            let candidate = Candidate {
                valid: validate(&raw, &self.rules.actions, &self.rules.mending),
                raw,
                results,
            };
            if !self.rules.gated {
                return self.commit(candidate);
            }
            let gate = Effect::Gate {
                raw: candidate.raw.clone(),
                action: candidate.valid.as_ref().map(|valid| valid.action.clone()),
                rejections: self.rejections,
            };
            self.candidate = Some(candidate);
            return vec![gate];
        }
        if self.reading.done {
            self.notices
                .push(format!("{} does not end PLAN; an action does.", protocol::DONE));
        } else if self.reading.asked == 0 {
            let form = protocol::print_action("name of the action");
            self.notices
                .push(format!("No action was found. Commit one with {form}."));
        }
        self.go_on(results)
    }

    /// The specialist's part ends when it would act, says that it is done or asks for nothing. What it wrote that could
    /// not be read is no end: it is told.
    fn after_consulting(&mut self, results: String) -> Vec<Effect> {
        let idle = self.reading.asked == 0 && self.notices.is_empty();
        let over = !self.reading.actions.is_empty() || self.reading.done || idle;
        if over || self.used() + 1 >= self.rules.turns {
            self.turn += 1;
            return self.hand_over(results);
        }
        self.go_on(results)
    }

    fn hand_over(&mut self, results: String) -> Vec<Effect> {
        self.over = true;
        vec![Effect::HandOver {
            turn: self.turn_no(),
            results,
        }]
    }

    fn commit(&mut self, candidate: Candidate) -> Vec<Effect> {
        self.over = true;
        match candidate.valid {
            Some(valid) => vec![Effect::Commit {
                raw: candidate.raw,
                action: valid.action,
                repaired: valid.repaired,
                by: ActionBy::Model,
            }],
            None => self.end_without_action(candidate.raw),
        }
    }

    /// The gate's word. Beyond the budget of rejections an action passes: the game must go on.
    fn gated(&mut self, gating: Gating) -> Vec<Effect> {
        let Some(mut candidate) = self.candidate.take() else {
            return Vec::new();
        };
        match gating {
            Gating::Reject(reason) if self.rejections < self.rules.rejections => {
                self.rejections += 1;
                self.notices.push(reason.clone());
                let mut effects = vec![Effect::Rejected {
                    raw: candidate.raw,
                    reason,
                }];
                effects.extend(self.go_on(candidate.results));
                effects
            }
            Gating::Accept | Gating::Reject(_) => self.commit(candidate),
            Gating::Repair(action) => {
                if let Some(valid) = validate(&action, &self.rules.actions, &self.rules.mending) {
                    candidate.valid = Some(Validated {
                        repaired: true,
                        ..valid
                    });
                }
                self.commit(candidate)
            }
        }
    }

    fn go_on(&mut self, results: String) -> Vec<Effect> {
        let turn = self.turn_no();
        self.turn += 1;
        if self.used() < self.rules.turns {
            let notices = std::mem::take(&mut self.notices);
            return vec![self.call(Ask::Continue { results, notices })];
        }
        let mut effects = Vec::new();
        // A last LOG answer that only wrote wanted no further turn: no budget stood in its way.
        if self.rules.phase == Phase::Plan || !self.notices.is_empty() {
            effects.push(Effect::Budget {
                turn,
                budget: BudgetKind::Turns,
                limit: u64::from(self.rules.turns),
                asked: u64::from(self.used()) + 1,
            });
        }
        effects.extend(self.end_without_action(String::new()));
        effects
    }

    /// LOG is over; PLAN commits the fallback, unless the gameplay model is still to be asked. `raw` is what the model
    /// wrote as its action.
    fn end_without_action(&mut self, raw: String) -> Vec<Effect> {
        if self.part == Part::Consulting {
            return self.hand_over(String::new());
        }
        self.over = true;
        vec![match self.rules.phase {
            Phase::Log => Effect::Over,
            Phase::Plan => Effect::Commit {
                raw,
                action: self.rules.fallback.clone(),
                repaired: false,
                by: ActionBy::Fallback,
            },
        }]
    }
}
