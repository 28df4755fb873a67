//! One model call: its seed and grammar, the live news, retries, and what a failure means.

use std::time::Duration;

use super::episode::{Episode, Fault};
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::types::{Body, Delta, Digest, Event, Phase, Role, StepNo, TurnNo};

/// What came of a call.
#[derive(Debug)]
pub(super) enum Called {
    /// An answer.
    Answered(ChatAnswer),
    /// None; the cause is recorded.
    NoAnswer,
}

/// How long to wait before each further try.
const BACKOFF: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(1000)];

impl Episode<'_> {
    pub(super) fn call(
        &mut self,
        request: &mut ChatRequest,
        phase: Phase,
        turn: TurnNo,
        turns_left: u32,
    ) -> Result<Called, Fault> {
        let role = request.slot.role;
        let model = self.model_of(role);
        request.sampling.seed = turn_seed(self.shared.sampling.seed, self.seed, self.at.step, phase, turn, role);
        if self.shared.scaffold.manifest().grammar && model.takes_grammars() {
            let setup = self.setup(phase);
            // Whoever consults may look until the last: another one commits.
            let turns_left = turns_left.max(u32::from(role == Role::Specialist) * 2);
            let grammar = setup.grammar(self.memory.files(), request.sampling.max_tokens, turns_left);
            request.grammar = Some(grammar);
        }
        let mut waits = BACKOFF.iter();
        loop {
            let error = match self.try_call(&*model, request, phase, turn) {
                Ok(answer) => return Ok(Called::Answered(answer)),
                Err(error) => error,
            };
            match error {
                LlmError::Cancelled => return Err(Fault::Aborted),
                LlmError::ContextOverflow { needed, available } => {
                    self.push(Body::ContextOverflow {
                        phase,
                        turn,
                        needed,
                        available,
                    });
                    return Ok(Called::NoAnswer);
                }
                error => {
                    let retryable = matches!(error, LlmError::Backend { retryable: true, .. });
                    let wait = waits.next().filter(|_| retryable);
                    self.push(Body::ModelFailed {
                        phase,
                        turn,
                        message: error.to_string(),
                        retried: wait.is_some(),
                    });
                    match wait {
                        Some(wait) if self.gate.sleep(*wait) => {}
                        Some(_) => return Err(Fault::Aborted),
                        None => {
                            self.step_failed = true;
                            return Ok(Called::NoAnswer);
                        }
                    }
                }
            }
        }
    }

    fn try_call(
        &mut self,
        model: &dyn ChatModel,
        request: &ChatRequest,
        phase: Phase,
        turn: TurnNo,
    ) -> Result<ChatAnswer, LlmError> {
        let recorder = &self.shared.recorder;
        let at = &self.at;
        let news = |body: Body| recorder.news(Event { at: at.clone(), body });
        if recorder.is_watched() {
            news(Body::TurnStarted {
                phase,
                turn,
                role: request.slot.role,
            });
        }
        let mut sink = |progress: ChatProgress| {
            if !recorder.is_watched() {
                return;
            }
            let delta = match progress {
                ChatProgress::Waiting => Delta::Waiting,
                ChatProgress::Prompt { done, total, cached } => Delta::Prompt { done, total, cached },
                ChatProgress::Text(text) => Delta::Text { text },
            };
            news(Body::TurnDelta { phase, turn, delta });
        };
        model.chat(request, self.shared.controls.cancel(), &mut sink)
    }
}

/// The seed of a turn's draw: a function of where the turn stands, so that a resumed run draws
/// what the uninterrupted one would have. 32 bits, so that every back end and JSON reader keeps it.
pub(super) fn turn_seed(run: u64, episode: u64, step: StepNo, phase: Phase, turn: TurnNo, role: Role) -> u64 {
    let (run, episode, step, turn) = (
        run.to_le_bytes(),
        episode.to_le_bytes(),
        step.0.to_le_bytes(),
        turn.0.to_le_bytes(),
    );
    let place = [&run[..], &episode, &step, phase.word().as_bytes(), &turn];
    // Only where there are two models are they told apart: one model's draws stay what they always were.
    let role = (role != Role::Agent).then(|| role.word().as_bytes());
    let digest = Digest::of_parts(place.into_iter().chain(role));
    u64::from(u32::from_le_bytes([digest.0[0], digest.0[1], digest.0[2], digest.0[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_has_its_own_seed() {
        let seed = |step, phase, turn| turn_seed(1, 42, StepNo(step), phase, TurnNo(turn), Role::Agent);
        let all = [
            seed(0, Phase::Plan, 0),
            seed(0, Phase::Plan, 1),
            seed(1, Phase::Plan, 0),
            seed(1, Phase::Log, 0),
            turn_seed(2, 42, StepNo(0), Phase::Plan, TurnNo(0), Role::Agent),
            turn_seed(1, 42, StepNo(0), Phase::Plan, TurnNo(0), Role::Specialist),
            turn_seed(1, 42, StepNo(0), Phase::Plan, TurnNo(0), Role::Gameplay),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(seed(3, Phase::Log, 0), seed(3, Phase::Log, 0));
        // What one model draws never changes: recorded runs go on with it.
        let (run, episode, step, turn) = (
            1_u64.to_le_bytes(),
            42_u64.to_le_bytes(),
            3_u32.to_le_bytes(),
            0_u32.to_le_bytes(),
        );
        let digest = Digest::of_parts([&run[..], &episode, &step, b"LOG", &turn]);
        let drawn = u32::from_le_bytes(digest.0[..4].try_into().unwrap());
        assert_eq!(seed(3, Phase::Log, 0), u64::from(drawn));
    }
}
