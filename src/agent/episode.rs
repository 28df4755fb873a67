//! One episode: the I/O around the pure phases, step after step.
//!
//! Emits the events of a step in the order the record promises, and commits them together.
//! Must not decide what an answer means; that is the phases' work.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::controls::{Gate, Permit};
use super::error::AgentError;
use super::handoff::is_as_recorded;
use super::hooks::Script;
use super::prompts::{self, LineCounts};
use super::shared::Shared;
use super::turns::PhaseEnd;
use crate::env::{World, WorldError};
use crate::llm::ChatModel;
use crate::memory::MemoryDir;
use crate::scaffold::hooks::Hooks;
use crate::scaffold::{MemoryView, StepVars, Template};
use crate::types::{
    Action, ActionBy, At, Body, EndReason, Event, Frame, MemoryChange, MemoryFiles, MemoryOp, Phase, StepNo,
};

/// Steps in a row whose model calls all failed, after which an episode is given up.
pub(super) const MAX_FAILED_STEPS: u32 = 3;

/// What an episode starts from: fresh, or where the record ends.
pub(super) struct Start {
    pub(super) at: At,
    pub(super) seed: u64,
    pub(super) world: Box<dyn World>,
    /// What the world shows at `at.step`.
    pub(super) frame: Arc<Frame>,
    /// Memory at the start of that step.
    pub(super) memory: MemoryFiles,
    /// It goes on where the record ends.
    pub(super) resumed: bool,
    pub(super) carry: Carry,
}

/// What a step hands to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Carry {
    /// The last action: as written, as played, and whether it was the fallback for want of a valid one.
    pub(super) previous: Option<Previous>,
    /// Steps in a row that showed the same observation.
    pub(super) unchanged: u32,
    /// Steps in a row whose model calls failed.
    pub(super) failed_steps: u32,
    /// The state of the scaffold's script.
    pub(super) script: serde_json::Map<String, serde_json::Value>,
    /// How often the script failed.
    pub(super) script_failures: u32,
    /// Name of the specialist after the last exchange; `None` when there was none yet.
    pub(super) exchanged: Option<Option<String>>,
}

/// An action that was played.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Previous {
    pub(super) raw: String,
    pub(super) action: String,
    pub(super) invalid: bool,
    pub(super) reward: f64,
}

impl Carry {
    /// Takes in how a step went.
    pub(super) fn advance(&mut self, before: &Frame, after: &Frame, previous: Previous, failed: bool) {
        let same = before.long == after.long && before.short == after.short;
        self.unchanged = if same { self.unchanged + 1 } else { 0 };
        self.failed_steps = if failed { self.failed_steps + 1 } else { 0 };
        self.previous = Some(previous);
    }
}

/// What is left of an episode.
pub(super) struct Played {
    pub(super) world: Box<dyn World>,
    /// Its memory directory, when the episode is over.
    pub(super) memory: Option<MemoryDir>,
}

/// What ends an episode at once.
#[derive(Debug)]
pub(super) enum Fault {
    /// The run is being left: the step is dropped.
    Aborted,
    /// The world failed.
    World(WorldError),
    /// Something else that cannot be played on with; cause and next step.
    Other(String),
}

/// An episode under way.
pub(super) struct Episode<'a> {
    pub(super) shared: &'a Shared,
    pub(super) gate: &'a mut Gate,
    pub(super) at: At,
    pub(super) seed: u64,
    pub(super) world: Box<dyn World>,
    pub(super) frame: Arc<Frame>,
    pub(super) memory: MemoryDir,
    pub(super) counts: LineCounts,
    pub(super) system: String,
    pub(super) carry: Carry,
    pub(super) script: Script,
    /// The memory specialist of the step under way.
    pub(super) specialist: Option<Arc<dyn ChatModel>>,
    /// The record knows that it is this one.
    pub(super) specialist_recorded: bool,
    /// Every model call of the step under way failed for good.
    pub(super) step_failed: bool,
    /// Events of the step under way.
    events: Vec<Event>,
}

impl<'a> Episode<'a> {
    /// Makes the memory directory and the first events.
    pub(super) fn new(shared: &'a Shared, gate: &'a mut Gate, start: Start) -> Result<Self, AgentError> {
        let folder = shared.memory_root.join(&*start.at.memory_root);
        let memory = MemoryDir::create(&folder, &start.memory, shared.quotas)?;
        let hooks = shared.scaffold.script().map(|source| {
            let limits = shared.scaffold.manifest().hooks;
            Hooks::new(source, limits, start.carry.script.clone(), memory.files())
        });
        let vars = prompts::system_vars(&shared.scaffold, &shared.world, shared.max_steps);
        let specialist = shared.controls.models().and_then(|(_, specialist)| specialist);
        let mut episode = Self {
            counts: LineCounts::of(memory.files()),
            system: shared.scaffold.render(Template::System, &vars)?,
            at: start.at,
            seed: start.seed,
            world: start.world,
            frame: start.frame,
            memory,
            script: Script::new(hooks, start.carry.script_failures),
            specialist_recorded: is_as_recorded(shared, &start.carry, specialist.as_ref()),
            specialist,
            carry: start.carry,
            step_failed: false,
            events: Vec::new(),
            shared,
            gate,
        };
        if start.resumed {
            let step = episode.at.step;
            episode.observe();
            episode.push(Body::EpisodeResumed { step });
        } else {
            episode.push(Body::EpisodeStarted {
                seed: start.seed,
                inherited: start.memory,
            });
            episode.observe();
        }
        Ok(episode)
    }

    /// Plays until the episode ends or the run is left.
    pub(super) fn play(mut self) -> Result<Played, AgentError> {
        loop {
            let recorder = &self.shared.recorder;
            let (permit, words) = self.gate.pass(self.at.episode, &|| recorder.flush());
            self.controlled(words);
            match permit {
                Permit::Abort => return Ok(self.played(false)),
                Permit::Stop => {
                    self.close(EndReason::Stopped)?;
                    return Ok(self.played(true));
                }
                Permit::Play => {}
            }
            let end = match self.step() {
                Ok(end) => end,
                Err(Fault::Aborted) => return Ok(self.played(false)),
                Err(Fault::World(error)) => {
                    self.leave_open(&error)?;
                    return Ok(self.played(false));
                }
                Err(Fault::Other(text)) => {
                    self.push(Body::Annotated { text });
                    Some(EndReason::Failed)
                }
            };
            match end {
                Some(end) => {
                    self.close(end)?;
                    return Ok(self.played(true));
                }
                None => {
                    self.commit()?;
                    self.observe();
                }
            }
        }
    }

    /// The world failed: says so in the record, which ends with what was seen last. What the step did before it is not
    /// kept, so that the step can be played again once the actions before it were.
    fn leave_open(&mut self, error: &WorldError) -> Result<(), AgentError> {
        self.events
            .retain(|event| matches!(event.body, Body::EpisodeStarted { .. } | Body::Observed { .. }));
        self.push(Body::WorldFailed {
            message: format!("{error}; the episode stays open: `automem resume` plays its actions again and goes on"),
        });
        self.commit()?;
        let mut failed = self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert_with(|| AgentError::WorldFailed {
            episode: self.at.episode,
            step: self.at.step,
            error: error.clone(),
        });
        Ok(())
    }

    fn played(self, over: bool) -> Played {
        Played {
            world: self.world,
            memory: over.then_some(self.memory),
        }
    }

    /// Plays one step and moves on to the next; gives the reason when it was the last.
    fn step(&mut self) -> Result<Option<EndReason>, Fault> {
        let began = Instant::now();
        self.step_failed = false;
        self.settle_specialist();
        self.begin_script_step();
        if self.at.step > StepNo(0) {
            self.phase(Phase::Log)?;
            self.after_log()?;
        }
        let planned = match self.chosen_by_a_person() {
            Some(action) => PhaseEnd::Committed {
                raw: action.0.clone(),
                action,
                repaired: false,
                by: ActionBy::Human,
            },
            None => self.phase(Phase::Plan)?,
        };
        let (raw, action, repaired, by) = match planned {
            PhaseEnd::Committed {
                raw,
                action,
                repaired,
                by,
            } => (raw, action, repaired, by),
            PhaseEnd::Over => (
                String::new(),
                self.shared.plan.rules.fallback.clone(),
                false,
                ActionBy::Fallback,
            ),
        };
        self.push(Body::ActionCommitted {
            raw: raw.clone(),
            validated: action.0.clone(),
            repaired,
            by,
        });
        let after = self.world.step(&action).map_err(Fault::World)?;
        let state_patch = self.script.take_patch();
        self.push(Body::StepFinished {
            reward: after.reward,
            terminated: after.terminated,
            truncated: after.truncated,
            progression: after.progression,
            state_patch,
            ms: began.elapsed().as_secs_f64() * 1000.0,
        });
        self.moved(raw, &action, by, after);
        Ok(self.end())
    }

    /// The action a person chose for this step, if it is one of the world's.
    fn chosen_by_a_person(&mut self) -> Option<Action> {
        let action = self.shared.controls.take_action(self.at.episode)?;
        if !self.shared.world.actions.contains(&action) {
            let text = format!("A person chose `{action}`, which is no action of this world; the agent plans instead.");
            self.push(Body::Annotated { text });
            return None;
        }
        self.push(Body::HumanActed {
            action: action.0.clone(),
        });
        Some(action)
    }

    fn moved(&mut self, raw: String, action: &Action, by: ActionBy, after: Frame) {
        let previous = Previous {
            raw,
            action: action.0.clone(),
            invalid: by == ActionBy::Fallback,
            reward: after.reward,
        };
        self.carry.advance(&self.frame, &after, previous, self.step_failed);
        self.frame = Arc::new(after);
        self.at.step = self.at.step.next();
    }

    fn end(&mut self) -> Option<EndReason> {
        let end = if self.frame.terminated {
            EndReason::Terminated
        } else if self.frame.truncated {
            EndReason::Truncated
        } else if self.at.step.0 >= self.shared.max_steps {
            EndReason::StepLimit
        } else if self.carry.failed_steps >= MAX_FAILED_STEPS {
            EndReason::Failed
        } else if self.gate.is_stopping() {
            EndReason::Stopped
        } else {
            return None;
        };
        self.observe();
        if end == EndReason::Failed {
            let text = format!(
                "The model gave no answer in {MAX_FAILED_STEPS} steps in a row; the episode ends. See the failed calls of these steps for the cause."
            );
            self.push(Body::Annotated { text });
        }
        let words = self.gate.words();
        self.controlled(words);
        Some(end)
    }

    fn controlled(&mut self, words: Vec<&'static str>) {
        for control in words {
            self.push(Body::Controlled {
                control: control.to_owned(),
            });
        }
    }

    fn observe(&mut self) {
        let frame = Arc::clone(&self.frame);
        self.push(Body::Observed { frame });
    }

    /// Notes an event of the step under way. Whoever watches sees it at once, and once more,
    /// complete and in order, when the step is committed; an end is shown only then.
    pub(super) fn push(&mut self, body: Body) {
        let is_end = matches!(body, Body::StepFinished { .. } | Body::EpisodeFinished { .. });
        let at = self.at.clone();
        let event = Event { at, body };
        if !is_end && self.shared.recorder.is_watched() {
            self.shared.recorder.news(event.clone());
        }
        self.events.push(event);
    }

    /// The operations of the step under way.
    pub(super) fn ops_so_far(&self) -> impl Iterator<Item = &MemoryOp> {
        self.events.iter().filter_map(|event| match &event.body {
            Body::MemoryOp { op } => Some(&**op),
            _ => None,
        })
    }

    /// What happened to memory in the step under way.
    pub(super) fn changes_so_far(&self) -> impl Iterator<Item = &MemoryChange> {
        self.events.iter().flat_map(|event| match &event.body {
            Body::MemoryOp { op } => op.changes.as_slice(),
            Body::HumanEdited { changes } => changes,
            _ => &[],
        })
    }

    fn commit(&mut self) -> Result<(), AgentError> {
        let events = std::mem::take(&mut self.events);
        self.shared.recorder.commit(events).map_err(|_| AgentError::broken())
    }

    fn close(&mut self, end: EndReason) -> Result<(), AgentError> {
        self.push(Body::EpisodeFinished { end });
        self.commit()
    }

    /// The variables of a phase's first prompt.
    pub(super) fn step_vars(&self, phase: Phase) -> StepVars {
        let manifest = self.shared.scaffold.manifest();
        let setup = self.setup(phase);
        let previous = self.carry.previous.as_ref();
        StepVars {
            step: self.at.step.0,
            max_steps: self.shared.max_steps,
            previous_action: previous.map(|p| p.action.clone()).unwrap_or_default(),
            previous_raw: previous.map(|p| prompts::quoted_raw(&p.raw)).unwrap_or_default(),
            previous_invalid: previous.is_some_and(|p| p.invalid),
            fallback: setup.rules.fallback.0.clone(),
            reward: previous.map_or(0.0, |p| p.reward),
            observation_long: self.frame.long.clone(),
            observation_short: self.frame.short.clone(),
            unchanged: self.carry.unchanged,
            files: self.counts.list(self.memory.files(), manifest),
            inlined: prompts::inlined(self.memory.files(), manifest),
            ops: Arc::clone(&setup.help),
            actions: Arc::clone(&setup.actions),
            turns_left: setup.rules.turns,
            memory: MemoryView(self.memory.files().clone()),
            own: self.script.own.clone(),
        }
    }

    pub(super) fn setup(&self, phase: Phase) -> &'a super::shared::PhaseSetup {
        match phase {
            Phase::Log => &self.shared.log,
            Phase::Plan => &self.shared.plan,
        }
    }
}
