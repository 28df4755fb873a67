//! What a tuning has come to, and what it does next. Pure: no files, no clock.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::review::{Outcome, Policy, ProposalId};
use crate::types::Digest;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The world.
    pub env: String,
    /// Name of the scaffold.
    pub scaffold: String,
    /// Name of the specialist: its adapters are `NAME-i1.gguf` and so on.
    pub line: String,
    /// The gameplay model, as it was asked for.
    pub model: String,
    /// GGUF file that adapters are trained on.
    pub base: PathBuf,
    /// Who plays the traces: the model, or another that it should learn from.
    pub player: String,
    /// Run files to take traces from; when there are none, episodes are played.
    pub runs: Vec<PathBuf>,
    /// Episodes to play for traces.
    pub episodes: u32,
    /// Seed that the seeds of these episodes are drawn with.
    pub trace_seed: u64,
    /// The gate's seeds; no trace is played on them.
    pub seeds: Vec<u64>,
    /// Steps an episode may take.
    pub max_steps: u32,
    /// Episodes at once.
    pub workers: u32,
    /// Iterations: each is a recipe, and ends with the gates of its adapters.
    pub iterations: u32,
    /// The first recipe, as TOML.
    pub recipe: String,
    /// Who writes the recipes that follow: `rules`, or a meta-LLM.
    pub meta: String,
    /// Tokens a meta-LLM may use for one recipe.
    pub meta_tokens: u64,
    /// Who trains: `native`, `llamafactory`.
    pub backend: String,
    /// Share of the examples that is kept back to measure on.
    pub held_out: f64,
    /// The specialist that is to be beaten at first; `None` is the bare model.
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

/// A training set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The selection that it came from.
    pub selection: ProposalId,
    /// Its file.
    pub file: PathBuf,
    /// Digest of that file.
    pub digest: Digest,
    /// Examples in it.
    pub examples: u32,
}

/// An adapter that was trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Its file.
    pub file: PathBuf,
    /// Digest of that file.
    pub digest: Digest,
    /// Mean loss at the end.
    pub loss: f64,
    /// Held-out loss at the end.
    pub held_out: Option<f64>,
}

/// How an adapter did on the gate's seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Mean progression of what it is compared with.
    pub parent_mean: f64,
    /// Its own.
    pub mean: f64,
    /// By the paper's rule.
    pub outcome: Outcome,
    /// Its run file.
    pub run: String,
}

/// An entry of a tuning's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was asked for.
    Started {
        /// What for.
        setup: Box<Setup>,
    },
    /// The traces are there.
    Traced {
        /// Their run files.
        runs: Vec<PathBuf>,
    },
    /// A recipe lies on the desk.
    Proposed {
        /// Which.
        recipe: ProposalId,
    },
    /// Nobody wrote another recipe.
    NoRecipe {
        /// Why.
        why: String,
    },
    /// The recipe was decided on and checked.
    Approved {
        /// The recipe as it was decided, TOML.
        text: String,
        /// The certified set that it uses again, by its selection; `None` for a new one.
        reuse: Option<ProposalId>,
        /// Its training configurations, in the one-line form.
        configs: Vec<String>,
    },
    /// A selection lies on the desk.
    Selected {
        /// Which.
        selection: ProposalId,
    },
    /// The training set stands.
    Certified {
        /// It.
        data: Data,
    },
    /// An adapter is trained.
    Trained {
        /// It.
        adapter: Adapter,
    },
    /// An adapter was played on the gate's seeds.
    Judged {
        /// How it did.
        verdict: Verdict,
    },
    /// The iteration ends before its adapters are judged.
    Ended {
        /// Why: nothing was accepted, the set is too small, the training failed.
        why: String,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Play episodes, or look the given runs up.
    Trace,
    /// Put a recipe on the desk.
    Propose,
    /// See the recipe through to its decision.
    AttendRecipe {
        /// Which.
        recipe: ProposalId,
    },
    /// Take up an earlier set.
    Reuse {
        /// Its selection.
        selection: ProposalId,
    },
    /// Select candidates and put the selection on the desk.
    Select,
    /// See the selection through to its certified set.
    AttendSelection {
        /// Which.
        selection: ProposalId,
    },
    /// Train an adapter.
    Train {
        /// By which configuration of the recipe, from 0.
        config: usize,
    },
    /// Play the last adapter on the gate's seeds.
    Judge {
        /// Which configuration it is of, from 0.
        config: usize,
    },
    /// Nothing more.
    End {
        /// Why.
        why: String,
    },
}

/// What came of an iteration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// The recipe's proposal.
    pub recipe: Option<ProposalId>,
    /// The recipe as it was decided, TOML.
    pub text: String,
    /// The set.
    pub data: Option<Data>,
    /// Adapters and how they did, configuration by configuration.
    pub adapters: Vec<(Adapter, Option<Verdict>)>,
    /// Why it ended early; empty when it did not.
    pub why: String,
}

impl Round {
    /// Whether one of its adapters was better than what it was compared with.
    pub fn is_better(&self) -> bool {
        let mut verdicts = self.adapters.iter().filter_map(|(_, verdict)| verdict.as_ref());
        verdicts.any(|verdict| verdict.outcome == Outcome::Better)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Trace,
    Propose,
    AttendRecipe(ProposalId),
    Reuse(ProposalId),
    Select,
    AttendSelection(ProposalId),
    Train,
    Judge,
    Over(String),
}

/// Where a tuning stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// What was asked for.
    pub setup: Setup,
    /// The iteration under way, from 1.
    pub iteration: u32,
    /// Run files of the traces.
    pub runs: Vec<PathBuf>,
    /// Configurations of the iteration's recipe, in the one-line form.
    pub configs: Vec<String>,
    /// The iteration under way.
    pub round: Round,
    /// Those before it.
    pub rounds: Vec<Round>,
    /// The adapter to beat: file and digest; `None` is what the tuning began with.
    pub best: Option<Adapter>,
    stage: Stage,
}

impl State {
    /// The state at the beginning.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            iteration: 1,
            runs: Vec::new(),
            configs: Vec::new(),
            round: Round::default(),
            rounds: Vec::new(),
            best: None,
            stage: Stage::Trace,
        }
    }

    /// The state after a whole log; `None` for one that does not begin.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let Some(Event::Started { setup }) = events.next() else {
            return None;
        };
        let mut state = Self::new(*setup);
        events.for_each(|event| state.take(event));
        Some(state)
    }

    /// What is to be done.
    pub fn next(&self) -> Effect {
        match &self.stage {
            Stage::Trace => Effect::Trace,
            Stage::Propose => Effect::Propose,
            Stage::AttendRecipe(recipe) => Effect::AttendRecipe { recipe: recipe.clone() },
            Stage::Reuse(selection) => Effect::Reuse {
                selection: selection.clone(),
            },
            Stage::Select => Effect::Select,
            Stage::AttendSelection(selection) => Effect::AttendSelection {
                selection: selection.clone(),
            },
            Stage::Train => Effect::Train {
                config: self.round.adapters.len(),
            },
            Stage::Judge => Effect::Judge {
                config: self.round.adapters.len().saturating_sub(1),
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
        let iteration = self.iteration;
        match &self.stage {
            Stage::Trace => "getting the traces".to_owned(),
            Stage::Propose => format!("writing the recipe of iteration {iteration}"),
            Stage::AttendRecipe(recipe) => format!("waiting for a decision on the recipe {recipe}"),
            Stage::Reuse(selection) => format!("taking up the set of {selection}"),
            Stage::Select => format!("selecting candidates for iteration {iteration}"),
            Stage::AttendSelection(selection) => format!("waiting for a decision on the selection {selection}"),
            Stage::Train => format!(
                "training adapter {} of iteration {iteration}",
                self.round.adapters.len() + 1
            ),
            Stage::Judge => format!("playing adapter {} on the gate's seeds", self.round.adapters.len()),
            Stage::Over(why) => format!("over: {why}"),
        }
    }

    /// Takes in what happened. What does not fit the state (a log two processes wrote to) changes nothing.
    pub fn take(&mut self, event: Event) {
        match (event, self.stage.clone()) {
            (Event::Traced { runs }, Stage::Trace) => {
                self.runs = runs;
                self.stage = Stage::Propose;
            }
            (Event::Proposed { recipe }, Stage::Propose) => {
                self.round.recipe = Some(recipe.clone());
                self.stage = Stage::AttendRecipe(recipe);
            }
            (Event::NoRecipe { why }, Stage::Propose) => self.stage = Stage::Over(why),
            (Event::Approved { text, reuse, configs }, Stage::AttendRecipe(_)) => {
                self.round.text = text;
                self.configs = configs;
                self.stage = reuse.map_or(Stage::Select, Stage::Reuse);
            }
            (Event::Selected { selection }, Stage::Select) => self.stage = Stage::AttendSelection(selection),
            (Event::Certified { data }, Stage::AttendSelection(_) | Stage::Reuse(_)) => {
                self.round.data = Some(data);
                self.stage = Stage::Train;
            }
            (Event::Trained { adapter }, Stage::Train) => {
                self.round.adapters.push((adapter, None));
                self.stage = Stage::Judge;
            }
            (Event::Judged { verdict }, Stage::Judge) => self.judged(verdict),
            (Event::Ended { why }, stage) if !matches!(stage, Stage::Over(_) | Stage::Trace) => {
                self.round.why = why;
                self.end_round();
            }
            _ => {}
        }
    }

    fn judged(&mut self, verdict: Verdict) {
        if let Some((adapter, slot)) = self.round.adapters.last_mut() {
            if verdict.outcome == Outcome::Better {
                self.best = Some(adapter.clone());
            }
            *slot = Some(verdict);
        }
        if self.round.adapters.len() < self.configs.len() {
            self.stage = Stage::Train;
        } else {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        self.rounds.push(std::mem::take(&mut self.round));
        self.configs.clear();
        if self.iteration >= self.setup.iterations {
            self.stage = Stage::Over(format!("all {} iterations are done", self.setup.iterations));
        } else {
            self.iteration += 1;
            self.stage = Stage::Propose;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::tune) fn setup() -> Setup {
        Setup {
            env: "crafter".into(),
            scaffold: "crafter-v0".into(),
            line: "mem".into(),
            model: "tiny".into(),
            base: "tiny.gguf".into(),
            player: "scripted".into(),
            runs: Vec::new(),
            episodes: 4,
            trace_seed: 0,
            seeds: vec![42, 43],
            max_steps: 30,
            workers: 1,
            iterations: 2,
            recipe: String::new(),
            meta: "rules".into(),
            meta_tokens: 1000,
            backend: "native".into(),
            held_out: 0.1,
            specialist: None,
            threads: None,
            context: None,
            sampling_seed: 0,
            policy: None,
        }
    }

    fn adapter(name: &str) -> Event {
        Event::Trained {
            adapter: Adapter {
                file: name.into(),
                digest: Digest::of(name),
                loss: 0.5,
                held_out: Some(0.75),
            },
        }
    }

    fn judged(outcome: Outcome) -> Event {
        Event::Judged {
            verdict: Verdict {
                parent_mean: 0.1,
                mean: 0.2,
                outcome,
                run: "r.db".into(),
            },
        }
    }

    fn certified() -> Event {
        Event::Certified {
            data: Data {
                selection: "p2".into(),
                file: "d.json".into(),
                digest: Digest::of("d"),
                examples: 300,
            },
        }
    }

    fn approved(reuse: Option<&str>, configs: usize) -> Event {
        Event::Approved {
            text: "x".into(),
            reuse: reuse.map(Into::into),
            configs: vec![String::new(); configs],
        }
    }

    #[test]
    fn an_iteration_goes_from_recipe_to_gates() {
        let mut state = State::new(setup());
        let mut seen = Vec::new();
        let events = [
            Event::Traced {
                runs: vec!["t.db".into()],
            },
            Event::Proposed { recipe: "p1".into() },
            approved(None, 2),
            Event::Selected { selection: "p2".into() },
            certified(),
            adapter("a.gguf"),
            judged(Outcome::Better),
            adapter("b.gguf"),
            judged(Outcome::NotBetter),
            Event::Proposed { recipe: "p3".into() },
            approved(Some("p2"), 1),
            certified(),
            adapter("c.gguf"),
            judged(Outcome::CannotWin),
        ];
        for event in events.clone() {
            seen.push(state.next());
            // What does not fit changes nothing.
            let before = state.clone();
            state.take(Event::Started {
                setup: Box::new(setup()),
            });
            assert_eq!(state, before);
            state.take(event);
        }
        let train = |config| Effect::Train { config };
        let judge = |config| Effect::Judge { config };
        let wanted = [
            Effect::Trace,
            Effect::Propose,
            Effect::AttendRecipe { recipe: "p1".into() },
            Effect::Select,
            Effect::AttendSelection { selection: "p2".into() },
            train(0),
            judge(0),
            train(1),
            judge(1),
            Effect::Propose,
            Effect::AttendRecipe { recipe: "p3".into() },
            Effect::Reuse { selection: "p2".into() },
            train(0),
            judge(0),
        ];
        assert_eq!(seen, wanted);
        assert!(state.is_over(), "{}", state.word());
        assert_eq!(state.best.as_ref().map(|best| best.file.clone()), Some("a.gguf".into()));
        assert_eq!(
            state.rounds.iter().map(Round::is_better).collect::<Vec<_>>(),
            [true, false]
        );
        let whole = [Event::Started {
            setup: Box::new(setup()),
        }]
        .into_iter()
        .chain(events);
        assert_eq!(State::of(whole), Some(state));
        assert_eq!(State::of([certified()]), None);
    }

    #[test]
    fn a_refusal_ends_the_iteration_and_no_recipe_ends_all() {
        let mut state = State::new(setup());
        state.take(Event::Traced { runs: vec![] });
        state.take(Event::Proposed { recipe: "p1".into() });
        state.take(Event::Ended {
            why: "nothing was accepted".into(),
        });
        assert_eq!((state.iteration, state.next()), (2, Effect::Propose));
        assert_eq!(state.rounds[0].why, "nothing was accepted");
        state.take(Event::NoRecipe { why: "no idea".into() });
        assert_eq!(state.next(), Effect::End { why: "no idea".into() });
        state.take(Event::Ended { why: "late".into() });
        assert_eq!(state.rounds.len(), 1);
    }
}
