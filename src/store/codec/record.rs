//! The stored form of every event, written down field by field.
//!
//! Owns the names in the file. A field here may be added with `#[serde(default)]`; one that is
//! renamed, removed or given another meaning needs a new [`FORMAT`](super::FORMAT).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::{ChangeRecord, FrameRecord, OpRecord, Text, TurnRecord, brief, text};
use crate::types::{ActionBy, Body, BudgetKind, EndReason, MemoryFiles, Phase, RunMeta, StepNo, TurnNo};

/// One event: `t` names it, `d` holds its fields.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "t", content = "d")]
#[allow(clippy::large_enum_variant, reason = "they live one at a time, on the stack")]
pub(super) enum Record<'a> {
    /// `meta` is left out when it is the one of the file's head.
    #[serde(rename = "run_started")]
    RunStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<Cow<'a, RunMeta>>,
    },
    #[serde(rename = "episode_started")]
    EpisodeStarted {
        seed: u64,
        inherited: BTreeMap<Text<'a>, Text<'a>>,
    },
    #[serde(rename = "observed")]
    Observed(FrameRecord<'a>),
    #[serde(rename = "turn")]
    Turn(TurnRecord<'a>),
    #[serde(rename = "op")]
    Op(OpRecord<'a>),
    #[serde(rename = "action")]
    Action {
        raw: Text<'a>,
        valid: Text<'a>,
        repaired: bool,
        by: ActionBy,
    },
    #[serde(rename = "action_rejected")]
    ActionRejected { raw: Text<'a>, reason: Text<'a> },
    #[serde(rename = "step")]
    Step {
        reward: f64,
        terminated: bool,
        truncated: bool,
        progression: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state_patch: Option<Patch<'a>>,
        ms: f64,
    },
    #[serde(rename = "hook_failed")]
    HookFailed { hook: Text<'a>, message: Text<'a> },
    #[serde(rename = "budget")]
    Budget {
        phase: Phase,
        turn: u32,
        budget: BudgetKind,
        limit: u64,
        asked: u64,
    },
    #[serde(rename = "context_overflow")]
    ContextOverflow {
        phase: Phase,
        turn: u32,
        needed: u32,
        available: u32,
    },
    #[serde(rename = "model_failed")]
    ModelFailed {
        phase: Phase,
        turn: u32,
        message: Text<'a>,
        retried: bool,
    },
    #[serde(rename = "world_failed")]
    WorldFailed { message: Text<'a> },
    #[serde(rename = "note")]
    Note { text: Text<'a> },
    #[serde(rename = "human_edited")]
    HumanEdited { changes: Vec<ChangeRecord<'a>> },
    #[serde(rename = "human_acted")]
    HumanActed { action: Text<'a> },
    #[serde(rename = "human_said")]
    HumanSaid { text: Text<'a> },
    #[serde(rename = "controlled")]
    Controlled { control: Text<'a> },
    #[serde(rename = "adapter")]
    Adapter { name: Option<Text<'a>> },
    #[serde(rename = "attempt")]
    Attempt { attempt: u32 },
    #[serde(rename = "resumed")]
    Resumed { step: u32 },
    #[serde(rename = "episode_finished")]
    EpisodeFinished { end: EndReason },
    #[serde(rename = "run_finished")]
    RunFinished {},
}

/// A JSON merge patch; wrapped, so that a patch `null` differs from no patch.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Patch<'a> {
    json: Cow<'a, Value>,
}

impl<'a> Record<'a> {
    /// The stored form of an event; `None` for those that live only. Tile maps go to `grids`.
    pub(super) fn of(body: &'a Body, grids: &mut Vec<Vec<u8>>) -> Option<Self> {
        Some(match body {
            Body::TurnStarted { .. } | Body::TurnDelta { .. } => return None,
            Body::RunStarted { meta } => Self::RunStarted {
                meta: Some(Cow::Borrowed(meta)),
            },
            Body::EpisodeStarted { seed, inherited } => Self::EpisodeStarted {
                seed: *seed,
                inherited: inherited.iter().map(|(path, file)| (text(path), text(file))).collect(),
            },
            Body::Observed { frame } => Self::Observed(FrameRecord::of(frame, grids)),
            Body::TurnFinished { turn } => Self::Turn(TurnRecord::of(turn)),
            Body::MemoryOp { op } => Self::Op(OpRecord::of(op)),
            Body::ActionCommitted {
                raw,
                validated,
                repaired,
                by,
            } => Self::Action {
                raw: text(raw),
                valid: text(validated),
                repaired: *repaired,
                by: *by,
            },
            Body::ActionRejected { raw, reason } => Self::ActionRejected {
                raw: text(raw),
                reason: text(reason),
            },
            Body::StepFinished {
                reward,
                terminated,
                truncated,
                progression,
                state_patch,
                ms,
            } => Self::Step {
                reward: *reward,
                terminated: *terminated,
                truncated: *truncated,
                progression: *progression,
                state_patch: state_patch.as_ref().map(|json| Patch {
                    json: Cow::Borrowed(json),
                }),
                ms: brief(*ms),
            },
            Body::HookFailed { hook, message } => Self::HookFailed {
                hook: text(hook),
                message: text(message),
            },
            Body::BudgetExceeded {
                phase,
                turn,
                budget,
                limit,
                asked,
            } => Self::Budget {
                phase: *phase,
                turn: turn.0,
                budget: *budget,
                limit: *limit,
                asked: *asked,
            },
            Body::ContextOverflow {
                phase,
                turn,
                needed,
                available,
            } => Self::ContextOverflow {
                phase: *phase,
                turn: turn.0,
                needed: *needed,
                available: *available,
            },
            Body::ModelFailed {
                phase,
                turn,
                message,
                retried,
            } => Self::ModelFailed {
                phase: *phase,
                turn: turn.0,
                message: text(message),
                retried: *retried,
            },
            Body::WorldFailed { message } => Self::WorldFailed { message: text(message) },
            Body::Annotated { text: note } => Self::Note { text: text(note) },
            Body::HumanEdited { changes } => Self::HumanEdited {
                changes: changes.iter().map(ChangeRecord::of).collect(),
            },
            Body::HumanActed { action } => Self::HumanActed { action: text(action) },
            Body::HumanSaid { text: said } => Self::HumanSaid { text: text(said) },
            Body::Controlled { control } => Self::Controlled { control: text(control) },
            Body::AdapterChanged { adapter } => Self::Adapter {
                name: adapter.as_deref().map(text),
            },
            Body::EpisodeAttempt { attempt } => Self::Attempt { attempt: *attempt },
            Body::EpisodeResumed { step } => Self::Resumed { step: step.0 },
            Body::EpisodeFinished { end } => Self::EpisodeFinished { end: *end },
            Body::RunFinished => Self::RunFinished {},
        })
    }

    /// The event; `None` when its tile map is missing. `head` is the file's own description of the run.
    pub(super) fn into_body(self, head: &RunMeta, grids: &[Vec<u8>]) -> Option<Body> {
        Some(match self {
            Self::RunStarted { meta } => Body::RunStarted {
                meta: Box::new(meta.map_or_else(|| head.clone(), Cow::into_owned)),
            },
            Self::EpisodeStarted { seed, inherited } => Body::EpisodeStarted {
                seed,
                inherited: inherited
                    .into_iter()
                    .map(|(path, file)| (path.into_owned(), Arc::from(file)))
                    .collect::<MemoryFiles>(),
            },
            Self::Observed(frame) => Body::Observed {
                frame: Arc::new(frame.into_frame(grids)?),
            },
            Self::Turn(turn) => Body::TurnFinished {
                turn: Box::new(turn.into_turn()),
            },
            Self::Op(op) => Body::MemoryOp {
                op: Box::new(op.into_op()),
            },
            Self::Action {
                raw,
                valid,
                repaired,
                by,
            } => Body::ActionCommitted {
                raw: raw.into_owned(),
                validated: valid.into_owned(),
                repaired,
                by,
            },
            Self::ActionRejected { raw, reason } => Body::ActionRejected {
                raw: raw.into_owned(),
                reason: reason.into_owned(),
            },
            Self::Step {
                reward,
                terminated,
                truncated,
                progression,
                state_patch,
                ms,
            } => Body::StepFinished {
                reward,
                terminated,
                truncated,
                progression,
                state_patch: state_patch.map(|patch| patch.json.into_owned()),
                ms,
            },
            Self::HookFailed { hook, message } => Body::HookFailed {
                hook: hook.into_owned(),
                message: message.into_owned(),
            },
            Self::Budget {
                phase,
                turn,
                budget,
                limit,
                asked,
            } => Body::BudgetExceeded {
                phase,
                turn: TurnNo(turn),
                budget,
                limit,
                asked,
            },
            Self::ContextOverflow {
                phase,
                turn,
                needed,
                available,
            } => Body::ContextOverflow {
                phase,
                turn: TurnNo(turn),
                needed,
                available,
            },
            Self::ModelFailed {
                phase,
                turn,
                message,
                retried,
            } => Body::ModelFailed {
                phase,
                turn: TurnNo(turn),
                message: message.into_owned(),
                retried,
            },
            Self::WorldFailed { message } => Body::WorldFailed {
                message: message.into_owned(),
            },
            Self::Note { text } => Body::Annotated {
                text: text.into_owned(),
            },
            Self::HumanEdited { changes } => Body::HumanEdited {
                changes: changes.into_iter().map(ChangeRecord::into_change).collect(),
            },
            Self::HumanSaid { text } => Body::HumanSaid {
                text: text.into_owned(),
            },
            Self::HumanActed { action } => Body::HumanActed {
                action: action.into_owned(),
            },
            Self::Controlled { control } => Body::Controlled {
                control: control.into_owned(),
            },
            Self::Adapter { name } => Body::AdapterChanged {
                adapter: name.map(Cow::into_owned),
            },
            Self::Attempt { attempt } => Body::EpisodeAttempt { attempt },
            Self::Resumed { step } => Body::EpisodeResumed { step: StepNo(step) },
            Self::EpisodeFinished { end } => Body::EpisodeFinished { end },
            Self::RunFinished {} => Body::RunFinished,
        })
    }
}
