//! A step as one JSON value, for people's programs and for models that write revisions.
//!
//! Owns this form. It is not the record's, which has a version of its own.

use serde_json::{Value, json};

use super::{Body, MemoryOp, StepRecord, Turn};

impl StepRecord {
    /// All of the step: what was seen, said, done, and what came of it.
    pub fn as_json(&self) -> Value {
        let outcome = self.outcome();
        json!({
            "step": self.step,
            "observation": self.frame().map(|frame| json!({ "long": frame.long, "short": frame.short })),
            "turns": self.turns().map(turn).collect::<Vec<_>>(),
            "ops": self.ops().map(op).collect::<Vec<_>>(),
            "action": self.action().map(|(raw, validated, repaired, by)| json!({
                "raw": raw, "validated": validated, "by": by, "repaired": repaired,
            })),
            "reward": outcome.map(|outcome| outcome.reward),
            "terminated": outcome.map(|outcome| outcome.terminated),
            "truncated": outcome.map(|outcome| outcome.truncated),
            "progression": outcome.map(|outcome| outcome.progression),
            "ms": outcome.map(|outcome| outcome.ms),
            "state_patch": self.state_patch(),
            "notes": self.notes(),
        })
    }

    /// What changed in the state of the scaffold's script.
    pub fn state_patch(&self) -> Option<&Value> {
        self.events.iter().find_map(|body| match body {
            Body::StepFinished { state_patch, .. } => state_patch.as_ref(),
            _ => None,
        })
    }

    /// Whatever else happened: failures, budgets, notes, people.
    pub fn notes(&self) -> Vec<Value> {
        let plain = |body: &&Body| {
            !matches!(
                body,
                Body::Observed { .. }
                    | Body::TurnFinished { .. }
                    | Body::MemoryOp { .. }
                    | Body::ActionCommitted { .. }
                    | Body::StepFinished { .. }
                    | Body::EpisodeStarted { .. }
            )
        };
        self.events
            .iter()
            .filter(plain)
            .filter_map(|body| serde_json::to_value(body).ok())
            .collect()
    }
}

fn turn(turn: &Turn) -> Value {
    json!({
        "phase": turn.phase,
        "turn": turn.turn,
        "role": turn.role,
        "model": turn.model,
        "prompt": turn.prompt,
        "response": turn.response,
        "tool_results": turn.tool_results,
        "prompt_tokens": turn.prompt_tokens,
        "cached_tokens": turn.cached_tokens,
        "completion_tokens": turn.completion_tokens,
        "prompt_ms": turn.prompt_ms,
        "ms": turn.ms,
        "sampling": turn.sampling,
        "grammar": turn.grammar,
        "stop": turn.stop,
    })
}

fn op(op: &MemoryOp) -> Value {
    json!({
        "phase": op.phase,
        "turn": op.turn,
        "op": op.op,
        "args": op.args,
        "by": op.by,
        "outcome": op.outcome,
        "changes": op.changes,
    })
}
