//! What an improvement has come to, and what it does next. Pure.

use serde::{Deserialize, Serialize};

use super::plan::{Plan, Stage, StageKind};

/// An entry of an improvement's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was asked for.
    Started {
        /// The plan.
        plan: Box<Plan>,
    },
    /// A stage began.
    Begun {
        /// Name of its optimization or tuning.
        name: String,
    },
    /// A stage is over.
    Over {
        /// The scaffold to go on with.
        scaffold: String,
        /// The specialist to go on with.
        specialist: Option<String>,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Begin a stage.
    Begin {
        /// Which.
        stage: Stage,
    },
    /// Go on with a stage.
    GoOn {
        /// Which.
        stage: Stage,
        /// Name of its optimization or tuning.
        name: String,
    },
    /// Nothing more.
    End,
}

/// Where an improvement stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The plan.
    pub plan: Plan,
    /// The scaffold reached so far.
    pub scaffold: String,
    /// The specialist reached so far.
    pub specialist: Option<String>,
    /// Names of the stages that are over, with their kind.
    pub done: Vec<(StageKind, String)>,
    /// Name of the stage under way.
    pub running: Option<String>,
}

impl State {
    /// The state at the beginning.
    pub fn new(plan: Plan) -> Self {
        Self {
            scaffold: plan.scaffold.clone(),
            specialist: plan.specialist.clone(),
            plan,
            done: Vec::new(),
            running: None,
        }
    }

    /// The state after a whole log; `None` for one that does not begin.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let Some(Event::Started { plan }) = events.next() else {
            return None;
        };
        let mut state = Self::new(*plan);
        events.for_each(|event| state.take(event));
        Some(state)
    }

    /// What is to be done.
    pub fn next(&self) -> Effect {
        let Some(stage) = self.plan.stage(self.done.len()).cloned() else {
            return Effect::End;
        };
        match &self.running {
            Some(name) => Effect::GoOn {
                stage,
                name: name.clone(),
            },
            None => Effect::Begin { stage },
        }
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.next() == Effect::End
    }

    /// Where it stands, in words.
    pub fn word(&self) -> String {
        let (at, of) = (self.done.len(), self.plan.len());
        match (self.plan.stage(at), &self.running) {
            (None, _) => format!("all {of} stages are over"),
            (Some(stage), Some(name)) => format!("stage {} of {of}, {}: {name}", at + 1, stage.kind.word()),
            (Some(stage), None) => format!("before stage {} of {of}, {}", at + 1, stage.kind.word()),
        }
    }

    /// Takes in what happened. What does not fit the state changes nothing.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Begun { name } if self.running.is_none() => self.running = Some(name),
            Event::Over { scaffold, specialist } => {
                let stage = self.plan.stage(self.done.len());
                if let (Some(kind), Some(name)) = (stage.map(|stage| stage.kind), self.running.take()) {
                    self.done.push((kind, name));
                    self.scaffold = scaffold;
                    self.specialist = specialist;
                }
            }
            Event::Started { .. } | Event::Begun { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::plan::tests::PAPER;

    #[test]
    fn stages_follow_each_other_and_hand_on_what_they_reached() {
        let plan = Plan::read(PAPER).unwrap();
        let mut state = State::new(plan.clone());
        let mut log = vec![Event::Started { plan: Box::new(plan) }];
        for at in 0..4 {
            assert!(matches!(state.next(), Effect::Begin { .. }), "{}", state.word());
            let begun = Event::Begun { name: format!("s{at}") };
            state.take(begun.clone());
            assert!(matches!(state.next(), Effect::GoOn { ref name, .. } if *name == format!("s{at}")));
            // A second process's beginning does not count.
            state.take(Event::Begun { name: "other".into() });
            let over = Event::Over {
                scaffold: format!("v{at}"),
                specialist: (at > 0).then(|| format!("a{at}")),
            };
            state.take(over.clone());
            log.extend([begun, over]);
        }
        assert!(state.is_over());
        assert_eq!(
            (state.scaffold.as_str(), state.specialist.as_deref()),
            ("v3", Some("a3"))
        );
        assert_eq!(State::of(log), Some(state));
    }
}
