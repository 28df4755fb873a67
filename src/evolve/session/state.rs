//! What an optimization has come to, and what it does next. Pure: no files, no clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evolve::reviser::Tried;
use crate::llm::Usage;
use crate::review::{Policy, ProposalId};
use crate::types::Digest;

/// Fresh attempts an iteration; each may be continued once when it fails.
pub const ATTEMPTS: u32 = 3;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The world.
    pub env: String,
    /// Name of the scaffold it begins with.
    pub scaffold: String,
    /// Name under which promoted revisions are kept.
    pub line: String,
    /// The gate's seeds.
    pub seeds: Vec<u64>,
    /// Steps an episode may take.
    pub max_steps: u32,
    /// Episodes at once.
    pub workers: u32,
    /// Iterations: each ends with a promotion, or when its attempts are used up.
    pub iterations: u32,
    /// Who writes revisions, as it was asked for.
    pub meta: String,
    /// Tokens a reviser may use for one revision.
    pub meta_tokens: u64,
    /// Who plays, as it was asked for.
    pub model: String,
    /// The memory specialist, as it was asked for; `None` for one model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// Threads of a local model; `None` leaves it to the settings.
    pub threads: Option<u32>,
    /// Tokens of a local model's context.
    pub context: Option<u32>,
    /// Seed of the model's draws.
    pub sampling_seed: u64,
    /// Who decides in a person's place; `None` waits for one.
    pub policy: Option<Policy>,
}

/// What became of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is the line's head.
    Promoted,
    /// Its gate did not favour it.
    NotBetter,
    /// What came out of the decisions cannot work.
    CheckFailed,
    /// Nothing of it was accepted, or it was discarded.
    Refused,
    /// Its parent is not the head any more.
    Stale,
}

/// An entry of an optimization's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was asked for.
    Started {
        /// What for.
        setup: Setup,
    },
    /// The parent of an iteration has its scores.
    Evaluated {
        /// Its run file.
        run: String,
        /// The run is an earlier one with equal scaffold, model, sampling and world.
        reused: bool,
        /// Name of the parent.
        parent: String,
        /// Digest of its files.
        digest: Digest,
        /// Mean progression.
        mean: f64,
    },
    /// There is no revision, or one that cannot be proposed.
    Failed {
        /// Its title, where there is one.
        title: String,
        /// Its files, where there are some.
        files: BTreeMap<String, String>,
        /// Why.
        why: String,
        /// What it cost.
        usage: Usage,
        /// Asking again would give the same.
        conclusive: bool,
    },
    /// A revision lies on the desk.
    Proposed {
        /// Which.
        proposal: ProposalId,
        /// Its title.
        title: String,
        /// Its files.
        files: BTreeMap<String, String>,
        /// What it cost.
        usage: Usage,
    },
    /// It is clear what becomes of the proposal.
    Settled {
        /// Which.
        proposal: ProposalId,
        /// What.
        ending: Ending,
        /// In words, for whoever writes the next one.
        outcome: String,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Play the line's head on the seeds, or take an equal evaluation.
    Evaluate,
    /// Ask for a revision.
    Revise {
        /// The last attempt is to be continued.
        continuation: bool,
    },
    /// See a proposal through: decisions, check, gate, promotion.
    Attend {
        /// Which.
        proposal: ProposalId,
    },
    /// Nothing more.
    End {
        /// Why.
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Evaluate,
    Revise,
    Attend(ProposalId),
    Over(String),
}

/// The parent of the iteration under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Parent {
    /// Its run file.
    pub run: String,
    /// The run is an earlier one.
    pub reused: bool,
    /// Its name.
    pub name: String,
    /// Digest of its files.
    pub digest: Digest,
}

/// Where an optimization stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// What was asked for.
    pub setup: Setup,
    /// The iteration under way, from 1.
    pub iteration: u32,
    /// Its fresh attempt under way, from 1.
    pub attempt: u32,
    /// That attempt is being continued.
    pub continuation: bool,
    /// Its parent, once it has scores.
    pub parent: Option<Parent>,
    /// What was tried on that parent.
    pub tried: Vec<Tried>,
    /// The proposal of the last attempt, for a continuation.
    pub last: Option<ProposalId>,
    /// What revisers have used so far.
    pub usage: Usage,
    /// What was promoted, oldest first.
    pub promoted: Vec<ProposalId>,
    stage: Stage,
}

impl State {
    /// The state at the beginning.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            iteration: 1,
            attempt: 1,
            continuation: false,
            parent: None,
            tried: Vec::new(),
            last: None,
            usage: Usage::default(),
            promoted: Vec::new(),
            stage: Stage::Evaluate,
        }
    }

    /// The state after a whole log; `None` for one that does not begin.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let Some(Event::Started { setup }) = events.next() else {
            return None;
        };
        let mut state = Self::new(setup);
        events.for_each(|event| state.take(event));
        Some(state)
    }

    /// What is to be done.
    pub fn next(&self) -> Effect {
        match &self.stage {
            Stage::Evaluate => Effect::Evaluate,
            Stage::Revise => Effect::Revise {
                continuation: self.continuation,
            },
            Stage::Attend(proposal) => Effect::Attend {
                proposal: proposal.clone(),
            },
            Stage::Over(why) => Effect::End { why: why.clone() },
        }
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// The stage in words.
    pub fn word(&self) -> String {
        match &self.stage {
            Stage::Evaluate => format!("evaluating the parent of iteration {}", self.iteration),
            Stage::Revise => format!("asking {} for a revision", self.setup.meta),
            Stage::Attend(proposal) => format!("seeing to {proposal}"),
            Stage::Over(why) => format!("over: {why}"),
        }
    }

    /// Takes in what happened. What does not fit the state (a log two processes wrote to) changes nothing.
    pub fn take(&mut self, event: Event) {
        match (event, self.stage.clone()) {
            (
                Event::Evaluated {
                    run,
                    reused,
                    parent,
                    digest,
                    ..
                },
                Stage::Evaluate,
            ) => {
                self.parent = Some(Parent {
                    run,
                    reused,
                    name: parent,
                    digest,
                });
                self.stage = Stage::Revise;
            }
            (
                Event::Failed {
                    title,
                    files,
                    why,
                    usage,
                    conclusive,
                },
                Stage::Revise,
            ) => {
                self.usage += usage;
                if conclusive {
                    self.stage = Stage::Over(why);
                    return;
                }
                self.last = None;
                self.tried.push(Tried {
                    title,
                    files,
                    outcome: why,
                });
                self.failed();
            }
            (
                Event::Proposed {
                    proposal,
                    title,
                    files,
                    usage,
                },
                Stage::Revise,
            ) => {
                self.usage += usage;
                self.tried.push(Tried {
                    title,
                    files,
                    outcome: String::new(),
                });
                self.last = Some(proposal.clone());
                self.stage = Stage::Attend(proposal);
            }
            (
                Event::Settled {
                    proposal,
                    ending,
                    outcome,
                },
                Stage::Attend(under_way),
            ) if proposal == under_way => {
                if let Some(tried) = self.tried.last_mut() {
                    tried.outcome = outcome;
                }
                match ending {
                    Ending::Promoted => self.promote(proposal),
                    Ending::Stale => {
                        // What was tried was tried on another parent: nothing of it is continued.
                        self.continuation = true;
                        self.failed();
                        if !self.is_over() {
                            self.begin();
                        }
                    }
                    Ending::NotBetter | Ending::CheckFailed | Ending::Refused => self.failed(),
                }
            }
            _ => {}
        }
    }

    fn promote(&mut self, proposal: ProposalId) {
        self.promoted.push(proposal);
        if self.iteration >= self.setup.iterations {
            self.stage = Stage::Over(format!("{} iterations are done", self.setup.iterations));
            return;
        }
        self.iteration += 1;
        self.attempt = 1;
        self.continuation = false;
        self.begin();
    }

    fn begin(&mut self) {
        self.tried.clear();
        self.last = None;
        self.parent = None;
        self.stage = Stage::Evaluate;
    }

    /// The attempt came to nothing: it is continued once, then another is begun.
    fn failed(&mut self) {
        self.stage = Stage::Revise;
        if !self.continuation {
            self.continuation = true;
            return;
        }
        self.continuation = false;
        if self.attempt < ATTEMPTS {
            self.attempt += 1;
        } else if self.iteration < self.setup.iterations {
            // The parent is the same, and what was tried on it stays known.
            self.iteration += 1;
            self.attempt = 1;
        } else {
            self.stage = Stage::Over(format!("{} iterations are done", self.setup.iterations));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        Setup {
            env: "crafter".into(),
            scaffold: "crafter-v0".into(),
            line: "crafter-v0-auto".into(),
            seeds: vec![42],
            max_steps: 100,
            workers: 1,
            iterations: 2,
            meta: "rules".into(),
            meta_tokens: 1000,
            model: "scripted".into(),
            specialist: None,
            threads: None,
            context: None,
            sampling_seed: 0,
            policy: None,
        }
    }

    fn evaluated() -> Event {
        Event::Evaluated {
            run: "a.db".into(),
            reused: false,
            parent: "crafter-v0".into(),
            digest: Digest::of("a"),
            mean: 0.5,
        }
    }

    fn proposed(id: &str) -> Event {
        Event::Proposed {
            proposal: id.into(),
            title: id.to_owned(),
            files: BTreeMap::new(),
            usage: Usage {
                prompt: 10,
                ..Usage::default()
            },
        }
    }

    fn settled(id: &str, ending: Ending) -> Event {
        Event::Settled {
            proposal: id.into(),
            ending,
            outcome: format!("{id} was seen"),
        }
    }

    fn failed(conclusive: bool) -> Event {
        Event::Failed {
            title: String::new(),
            files: BTreeMap::new(),
            why: "nothing came".into(),
            usage: Usage::default(),
            conclusive,
        }
    }

    #[test]
    fn two_promotions_end_two_iterations() {
        let mut state = State::new(setup());
        assert_eq!(state.next(), Effect::Evaluate);
        state.take(evaluated());
        assert_eq!(state.next(), Effect::Revise { continuation: false });
        state.take(proposed("p1"));
        assert_eq!(state.next(), Effect::Attend { proposal: "p1".into() });
        state.take(settled("p1", Ending::Promoted));
        assert_eq!((state.next(), state.iteration), (Effect::Evaluate, 2));
        assert!(state.tried.is_empty() && state.parent.is_none());
        state.take(evaluated());
        state.take(proposed("p2"));
        state.take(settled("p2", Ending::Promoted));
        assert!(state.is_over());
        assert_eq!(state.promoted, ["p1".into(), "p2".into()]);
        assert_eq!(state.usage.prompt, 20);
    }

    #[test]
    fn three_attempts_with_a_continuation_each() {
        let mut state = State::new(setup());
        state.setup.iterations = 1;
        state.take(evaluated());
        let mut asked = Vec::new();
        for n in 1.. {
            let Effect::Revise { continuation } = state.next() else {
                break;
            };
            asked.push((state.attempt, continuation));
            assert_eq!(state.tried.len(), n - 1);
            if n % 2 == 0 {
                state.take(failed(false));
            } else {
                state.take(proposed(&format!("p{n}")));
                state.take(settled(&format!("p{n}"), Ending::NotBetter));
                assert_eq!(state.tried.last().unwrap().outcome, format!("p{n} was seen"));
            }
        }
        assert_eq!(
            asked,
            [(1, false), (1, true), (2, false), (2, true), (3, false), (3, true)]
        );
        assert!(state.is_over() && state.promoted.is_empty());
    }

    #[test]
    fn an_iteration_without_a_promotion_is_followed_by_the_next() {
        let mut state = State::new(setup());
        state.take(evaluated());
        for _ in 0..6 {
            assert_eq!(state.iteration, 1);
            state.take(failed(false));
        }
        assert_eq!((state.iteration, state.attempt, state.continuation), (2, 1, false));
        assert_eq!(state.next(), Effect::Revise { continuation: false });
        assert_eq!(state.tried.len(), 6);
    }

    #[test]
    fn another_parent_is_evaluated_and_the_end_still_comes() {
        let mut state = State::new(setup());
        for n in 0..20 {
            if state.is_over() {
                return;
            }
            assert_eq!(state.next(), Effect::Evaluate);
            state.take(evaluated());
            state.take(proposed(&format!("p{n}")));
            state.take(settled(&format!("p{n}"), Ending::Stale));
        }
        panic!("it goes on for ever");
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut state = State::new(setup());
        let before = state.clone();
        state.take(proposed("p1"));
        state.take(settled("p1", Ending::Promoted));
        state.take(failed(true));
        assert_eq!(state, before);
        state.take(evaluated());
        state.take(failed(true));
        assert_eq!(
            state.next(),
            Effect::End {
                why: "nothing came".into()
            }
        );
        assert_eq!(State::of([evaluated()]), None);
    }

    #[test]
    fn a_log_is_read_back_as_it_was_written() {
        for event in [
            Event::Started { setup: setup() },
            evaluated(),
            proposed("p1"),
            failed(true),
            settled("p1", Ending::Refused),
        ] {
            let text = serde_json::to_string(&event).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event);
        }
    }
}
