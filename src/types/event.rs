//! The one stream of events that live view, store, metrics and replay consume.
//!
//! Events are data: every one can be written down and played again. Only [`Body::TurnStarted`] and
//! [`Body::TurnDelta`] are for the live view alone and are never stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    AgentName, EndReason, EpisodeNo, Frame, MemoryChange, MemoryFiles, MemoryOp, Phase, Role, RunMeta, StepNo, Turn,
    TurnNo,
};

/// Something that happened, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Where in the run.
    pub at: At,
    /// What happened.
    pub body: Body,
}

/// The place of an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct At {
    /// The episode; 0 for events of the whole run.
    pub episode: EpisodeNo,
    /// The step; 0 for events of the whole run or before the first step.
    pub step: StepNo,
    /// Whose event it is.
    pub agent: AgentName,
    /// Name of the memory directory the agent uses, such as `ep_00`.
    pub memory_root: Arc<str>,
}

/// Who chose a committed action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionBy {
    /// The model.
    Model,
    /// Nobody did: the world's fallback.
    Fallback,
    /// The scaffold's repair or gate.
    Scaffold,
    /// A person.
    Human,
}

/// A budget of the agent's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Turns of a phase.
    Turns,
    /// Operations of a turn.
    Ops,
    /// Bytes of a tool result.
    ResultBytes,
    /// Bytes of a file.
    FileBytes,
    /// Bytes of the directory.
    DirectoryBytes,
    /// Tokens of a prompt.
    PromptTokens,
}

/// What streams in while a model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Delta {
    /// The call waits for the model.
    Waiting,
    /// The prompt is being evaluated.
    Prompt {
        /// Tokens evaluated, those from the cache included.
        done: u32,
        /// Tokens in all.
        total: u32,
        /// Tokens taken from the cache.
        cached: u32,
    },
    /// More of the answer.
    Text {
        /// The piece that came.
        text: String,
    },
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    /// A run begins.
    RunStarted {
        /// Its constants.
        meta: Box<RunMeta>,
    },
    /// An episode begins.
    EpisodeStarted {
        /// The world's seed.
        seed: u64,
        /// Memory it starts with: the scaffold's initial files and what earlier episodes left.
        inherited: MemoryFiles,
    },
    /// The world shows a frame; the first event of every step.
    Observed {
        /// The frame.
        frame: Arc<Frame>,
    },
    /// A model call begins (live only).
    TurnStarted {
        /// Phase.
        phase: Phase,
        /// Turn.
        turn: TurnNo,
        /// Which model.
        role: Role,
    },
    /// A model call goes on (live only).
    TurnDelta {
        /// Phase.
        phase: Phase,
        /// Turn.
        turn: TurnNo,
        /// What came.
        delta: Delta,
    },
    /// A model call is over.
    TurnFinished {
        /// The call.
        turn: Box<Turn>,
    },
    /// A memory operation ran.
    MemoryOp {
        /// The operation.
        op: Box<MemoryOp>,
    },
    /// The action of the step is fixed.
    ActionCommitted {
        /// What the model wrote; empty when it gave none.
        raw: String,
        /// What the world gets.
        validated: String,
        /// The text was mended on the way (case, a known slip).
        repaired: bool,
        /// Who chose it.
        by: ActionBy,
    },
    /// The scaffold's gate sent an action back.
    ActionRejected {
        /// What the model wrote.
        raw: String,
        /// What it was told.
        reason: String,
    },
    /// The world has answered; the step is over.
    StepFinished {
        /// Reward of the action.
        reward: f64,
        /// The game is over.
        terminated: bool,
        /// The world's limit ended it.
        truncated: bool,
        /// Score so far, 0 to 1.
        progression: f64,
        /// What the scaffold's hooks changed in their state (JSON merge patch); `None` without hooks.
        state_patch: Option<serde_json::Value>,
        /// Milliseconds of the whole step.
        ms: f64,
    },
    /// A hook of the scaffold failed; the defaults were used.
    HookFailed {
        /// Its name.
        hook: String,
        /// What went wrong, with line and column.
        message: String,
    },
    /// A budget was reached; the rest was cut or refused, and the model was told.
    BudgetExceeded {
        /// Phase.
        phase: Phase,
        /// Turn.
        turn: TurnNo,
        /// Which budget.
        budget: BudgetKind,
        /// Its size.
        limit: u64,
        /// What was asked for.
        asked: u64,
    },
    /// The prompt does not fit the model's context; the fallback is played.
    ContextOverflow {
        /// Phase.
        phase: Phase,
        /// Turn.
        turn: TurnNo,
        /// Tokens needed.
        needed: u32,
        /// Tokens there are.
        available: u32,
    },
    /// A model call failed.
    ModelFailed {
        /// Phase.
        phase: Phase,
        /// Turn.
        turn: TurnNo,
        /// Cause and next step.
        message: String,
        /// It was tried again.
        retried: bool,
    },
    /// The world failed.
    WorldFailed {
        /// Cause and next step.
        message: String,
    },
    /// A note: a person's, or the program's (an unclosed tag, a rule that was applied).
    Annotated {
        /// The note.
        text: String,
    },
    /// Memory was changed from outside the program.
    HumanEdited {
        /// The changes.
        changes: Vec<MemoryChange>,
    },
    /// A person chose the action.
    HumanActed {
        /// The action.
        action: String,
    },
    /// A person wrote something that the agent's next prompt shows.
    HumanSaid {
        /// What it says.
        text: String,
    },
    /// A person paused, stepped, resumed or stopped the agent.
    Controlled {
        /// `paused`, `resumed`, `stepped`, `stopped`.
        control: String,
    },
    /// The specialist's adapter was exchanged.
    AdapterChanged {
        /// Its name; `None` for the bare base model.
        adapter: Option<String>,
    },
    /// The episode starts over after a failure.
    EpisodeAttempt {
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// An interrupted episode goes on.
    EpisodeResumed {
        /// First step that is played anew.
        step: StepNo,
    },
    /// An episode is over.
    EpisodeFinished {
        /// Why.
        end: EndReason,
    },
    /// A run is over.
    RunFinished,
}

impl Body {
    /// Whether the record keeps it.
    pub fn is_stored(&self) -> bool {
        !matches!(self, Self::TurnStarted { .. } | Self::TurnDelta { .. })
    }
}
