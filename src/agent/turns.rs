//! One phase with its I/O: asks the model, runs the operations, tells the state machine.

use std::collections::VecDeque;

use super::calls::Called;
use super::episode::{Episode, Fault};
use super::phases::{Ask, Effect, Input, Machine, OpCall, Verdict};
use crate::llm::{ChatAnswer, ChatRequest, SlotKey};
use crate::memory::OpResult;
use crate::protocol;
use crate::scaffold::{ContinueVars, MemoryView, Template};
use crate::types::{
    Action, ActionBy, Author, Body, BudgetKind, ChatRole, MemoryChange, MemoryOp, Message, OpStatus, Phase, Role, Turn,
    TurnNo,
};

/// How a phase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PhaseEnd {
    /// LOG is over.
    Over,
    /// PLAN has an action.
    Committed {
        raw: String,
        action: Action,
        repaired: bool,
        by: ActionBy,
    },
}

/// How one model's part of a phase ended.
#[derive(Debug)]
pub(super) enum PartEnd {
    /// The phase is over with it.
    Phase(PhaseEnd),
    /// The gameplay model is to commit, from this call on.
    HandOver { turn: TurnNo, results: String },
}

/// Bytes of a token, as an estimate for the prompt budget.
const BYTES_PER_TOKEN: f64 = 3.5;

impl Episode<'_> {
    /// Plays a phase of the step under way.
    pub(super) fn phase(&mut self, phase: Phase) -> Result<PhaseEnd, Fault> {
        let rules = &self.setup(phase).rules;
        let mut machine = Machine::new(rules);
        if self.step_failed {
            // The model is down: asking it again in this step would only cost time.
            return Ok(finish(machine.step(Input::Begin), &mut machine));
        }
        // Once a step; after that, looks before the operations are enough.
        if phase == Phase::Log || self.at.step.0 == 0 {
            self.look_outside()?;
        }
        self.script_before(phase)?;
        let role = match self.specialist {
            Some(_) => Role::Specialist,
            None => Role::Agent,
        };
        let mut request = self.first_request(phase, role);
        if phase == Phase::Plan && role == Role::Specialist {
            machine = Machine::consulting(rules);
        }
        match self.part(phase, machine, &mut request)? {
            PartEnd::Phase(end) => Ok(end),
            PartEnd::HandOver { turn, results } => self.commit_in_turn(request, turn, results),
        }
    }

    /// Plays a model's part of a phase.
    pub(super) fn part(
        &mut self,
        phase: Phase,
        mut machine: Machine<'_>,
        request: &mut ChatRequest,
    ) -> Result<PartEnd, Fault> {
        let mut answer: Option<ChatAnswer> = None;
        let mut todo = VecDeque::from(machine.step(Input::Begin));
        while let Some(effect) = todo.pop_front() {
            match effect {
                Effect::CallModel { turn, turns_left, ask } => {
                    let fits = self.ask(request, phase, turn, turns_left, ask)?;
                    let called = match fits {
                        true => self.call(request, phase, turn, turns_left)?,
                        false => Called::NoAnswer,
                    };
                    todo.extend(match called {
                        Called::Answered(given) => {
                            request
                                .messages
                                .push(Message::new(ChatRole::Assistant, echo(&given.text)));
                            let effects = machine.step(Input::Answered {
                                text: &given.text,
                                stop: given.stop,
                            });
                            answer = Some(given);
                            effects
                        }
                        Called::NoAnswer => machine.step(Input::NoAnswer),
                    });
                }
                Effect::RunOps { turn, ops } => {
                    let results = self.run_ops(phase, turn, ops, answer.take(), request)?;
                    todo.extend(machine.step(Input::OpsRan { results }));
                }
                Effect::Budget {
                    turn,
                    budget,
                    limit,
                    asked,
                } => self.over_budget(phase, turn, budget, limit, asked),
                Effect::Note(text) => self.push(Body::Annotated { text }),
                Effect::Gate {
                    raw,
                    action,
                    rejections,
                } => {
                    let gating = self.script_gates(&raw, action.as_ref(), rejections)?;
                    todo.extend(machine.step(Input::Gated(gating)));
                }
                Effect::Rejected { raw, reason } => self.push(Body::ActionRejected { raw, reason }),
                Effect::Commit {
                    raw,
                    action,
                    repaired,
                    by,
                } => {
                    return Ok(PartEnd::Phase(PhaseEnd::Committed {
                        raw,
                        action,
                        repaired,
                        by,
                    }));
                }
                Effect::HandOver { turn, results } => return Ok(PartEnd::HandOver { turn, results }),
                Effect::Over => return Ok(PartEnd::Phase(PhaseEnd::Over)),
            }
        }
        Ok(PartEnd::Phase(PhaseEnd::Over))
    }

    fn first_request(&self, phase: Phase, role: Role) -> ChatRequest {
        let stop = match phase {
            Phase::Log => vec![protocol::DONE.to_owned()],
            Phase::Plan => Vec::new(),
        };
        ChatRequest {
            messages: vec![Message::new(ChatRole::System, self.system.clone())],
            slot: SlotKey {
                episode: self.at.episode,
                role,
                phase,
            },
            sampling: self.shared.sampling,
            grammar: None,
            stop,
        }
    }

    /// Adds the next prompt to the chat. False when it does not fit the scaffold's own budget.
    fn ask(
        &mut self,
        request: &mut ChatRequest,
        phase: Phase,
        turn: TurnNo,
        turns_left: u32,
        ask: Ask,
    ) -> Result<bool, Fault> {
        let later = match ask {
            Ask::First => None,
            Ask::HandOff { results } => Some((Template::Handoff, results, Vec::new())),
            Ask::Continue { results, notices } => Some((continue_template(phase), results, notices)),
        };
        let text = match later {
            None => self.render_first(phase)? + &self.messages_of_a_person(),
            Some((template, results, notices)) => {
                let mut vars = ContinueVars {
                    step: self.at.step.0,
                    turn: turn.0 + 1,
                    turns_left,
                    results,
                    notices,
                    memory: MemoryView(self.memory.files().clone()),
                    own: self.script.own.clone(),
                };
                let text = self.render_continue(template, &vars)?;
                match self.excess(request, &text) {
                    Some((limit, asked, excess)) if !vars.results.is_empty() => {
                        self.over_budget(phase, turn, BudgetKind::PromptTokens, limit, asked);
                        cut_results(&mut vars.results, excess);
                        self.render_continue(template, &vars)?
                    }
                    _ => text,
                }
            }
        };
        if let Some((limit, asked, _)) = self.excess(request, &text) {
            self.push(Body::ContextOverflow {
                phase,
                turn,
                needed: u32::try_from(asked).unwrap_or(u32::MAX),
                available: u32::try_from(limit).unwrap_or(u32::MAX),
            });
            return Ok(false);
        }
        request.messages.push(Message::new(ChatRole::User, text));
        Ok(true)
    }

    /// Limit and estimate in tokens, and bytes too many, when the prompt exceeds its budget.
    fn excess(&self, request: &ChatRequest, text: &str) -> Option<(u64, u64, usize)> {
        let limit = self.shared.scaffold.manifest().budgets.prompt_tokens?;
        let said: usize = request.messages.iter().map(|message| message.content.len()).sum();
        let bytes = (said + text.len()) as f64;
        let tokens = bytes / BYTES_PER_TOKEN;
        let most = f64::from(limit);
        (tokens > most).then(|| {
            let excess = bytes - most * BYTES_PER_TOKEN;
            (u64::from(limit), tokens.ceil() as u64, excess.ceil() as usize)
        })
    }

    fn render_first(&self, phase: Phase) -> Result<String, Fault> {
        let vars = self.step_vars(phase);
        let scaffold = &self.shared.scaffold;
        let text = match (self.other_template(phase), phase) {
            (Some((template, file)), _) => scaffold.render_file(template, &file, &vars),
            (None, Phase::Log) => scaffold.render(Template::Log, &vars),
            (None, Phase::Plan) => scaffold.render(Template::Plan, &vars),
        };
        text.map_err(|error| Fault::Other(error.to_string()))
    }

    /// What a person wants the agent to be told, as it stands at the end of the prompt.
    fn messages_of_a_person(&mut self) -> String {
        let mut told = String::new();
        for text in self.shared.controls.take_messages(self.at.episode) {
            told.push_str("\n\nA PERSON WHO WATCHES YOU SAYS: ");
            told.push_str(&text);
            self.push(Body::HumanSaid { text });
        }
        told
    }

    fn render_continue(&self, template: Template, vars: &ContinueVars) -> Result<String, Fault> {
        let text = self.shared.scaffold.render(template, vars);
        text.map_err(|error| Fault::Other(error.to_string()))
    }

    /// Takes in what somebody else changed in the memory directory.
    fn look_outside(&mut self) -> Result<(), Fault> {
        let changes = self
            .memory
            .outside_edits()
            .map_err(|error| Fault::Other(error.to_string()))?;
        if !changes.is_empty() {
            self.changed(&changes);
            self.push(Body::HumanEdited { changes });
        }
        Ok(())
    }

    /// Runs the operations of an answer, then records the turn and them, in this order. Gives what
    /// the model is told.
    fn run_ops(
        &mut self,
        phase: Phase,
        turn: TurnNo,
        calls: Vec<OpCall>,
        answer: Option<ChatAnswer>,
        request: &ChatRequest,
    ) -> Result<String, Fault> {
        if !calls.is_empty() {
            self.look_outside()?;
        }
        let mut ops = Vec::with_capacity(calls.len());
        let mut fault = None;
        for call in calls {
            match self.run_op(phase, &call) {
                Ok(result) => ops.push((call, result)),
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
        let results = ops
            .iter()
            .map(|(call, result)| self.told(call, result))
            .collect::<Vec<_>>()
            .join("\n\n");
        if let Some(answer) = answer {
            let turn = self.turn_record(phase, turn, answer, request, results.clone());
            self.push(Body::TurnFinished { turn: Box::new(turn) });
        }
        for (call, result) in ops {
            self.budget_of(phase, turn, &call, &result);
            self.push(Body::MemoryOp {
                op: Box::new(MemoryOp {
                    phase,
                    turn,
                    op: call.name,
                    args: call.args,
                    by: Author::Model,
                    outcome: result.outcome,
                    changes: result.changes,
                }),
            });
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(results),
        }
    }

    fn run_op(&mut self, phase: Phase, call: &OpCall) -> Result<OpResult, Fault> {
        if let Verdict::Refuse(why) = &call.verdict {
            return Ok(OpResult::told(OpStatus::Refused, why.clone()));
        }
        let custom = self
            .shared
            .vocabulary
            .get(call.name.as_str())
            .and_then(|op| op.custom.as_ref());
        if let Some(op) = custom {
            return self.custom_op(phase, op, &call.args);
        }
        let result = self
            .memory
            .run(&call.name, &call.args)
            .map_err(|error| Fault::Other(error.to_string()))?;
        self.changed(&result.changes);
        Ok(result)
    }

    /// Follows what happened to memory.
    pub(super) fn changed(&mut self, changes: &[MemoryChange]) {
        for change in changes {
            self.counts.apply(change);
            self.script.memory_changed(change);
        }
    }

    /// One operation's result as the model sees it: what was asked, how it went, what it gave.
    fn told(&self, call: &OpCall, result: &OpResult) -> String {
        const MOST: usize = 60;
        let writes = self
            .shared
            .vocabulary
            .get(call.name.as_str())
            .is_some_and(|op| op.writes);
        let shown = if writes { 1 } else { call.args.len() };
        let args: Vec<String> = call
            .args
            .iter()
            .take(shown)
            .map(|arg| {
                arg.chars()
                    .take(MOST)
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect()
            })
            .collect();
        let outcome = &result.outcome;
        let form = &self.shared.scaffold.manifest().results;
        form.told(&call.name, &args.join(" "), outcome.status.word(), &outcome.text)
    }

    fn turn_record(
        &self,
        phase: Phase,
        turn: TurnNo,
        answer: ChatAnswer,
        request: &ChatRequest,
        tool_results: String,
    ) -> Turn {
        Turn {
            phase,
            turn,
            role: request.slot.role,
            model: self.model_name(request.slot.role),
            prompt: answer.prompt,
            spans: answer.spans,
            response: answer.text,
            tool_results,
            prompt_tokens: answer.prompt_tokens,
            cached_tokens: answer.cached_tokens,
            completion_tokens: answer.completion_tokens,
            prompt_ms: answer.prompt_ms,
            ms: answer.ms,
            sampling: request.sampling,
            grammar: request.grammar.is_some(),
            stop: answer.stop,
        }
    }

    pub(super) fn over_budget(&mut self, phase: Phase, turn: TurnNo, budget: BudgetKind, limit: u64, asked: u64) {
        self.push(Body::BudgetExceeded {
            phase,
            turn,
            budget,
            limit,
            asked,
        });
    }

    /// Counts a result that was cut, or a write that a quota refused.
    fn budget_of(&mut self, phase: Phase, turn: TurnNo, call: &OpCall, result: &OpResult) {
        let quotas = self.shared.quotas;
        if result.outcome.cut > 0 {
            let limit = quotas.result_bytes as u64;
            let asked = result.outcome.text.len() as u64 + result.outcome.cut;
            self.over_budget(phase, turn, BudgetKind::ResultBytes, limit, asked);
        }
        if result.outcome.status != OpStatus::Refused || call.verdict != Verdict::Run {
            return;
        }
        let [file, .., text] = call.args.as_slice() else { return };
        let old = self.memory.files().get(file).map_or(0, |text| text.len() as u64);
        let kept = if call.name == "APPEND" { old } else { 0 };
        let asked = kept + text.len() as u64;
        let all = self.memory.bytes() - old + asked;
        if asked > quotas.file_bytes {
            self.over_budget(phase, turn, BudgetKind::FileBytes, quotas.file_bytes, asked);
        } else if all > quotas.directory_bytes {
            self.over_budget(phase, turn, BudgetKind::DirectoryBytes, quotas.directory_bytes, all);
        }
    }
}

fn continue_template(phase: Phase) -> Template {
    match phase {
        Phase::Log => Template::LogContinue,
        Phase::Plan => Template::PlanContinue,
    }
}

/// What a phase comes to when the model is not asked at all.
pub(super) fn finish(effects: Vec<Effect>, machine: &mut Machine<'_>) -> PhaseEnd {
    let given_up = effects
        .into_iter()
        .chain(machine.step(Input::NoAnswer))
        .find_map(|effect| match effect {
            Effect::Commit {
                raw,
                action,
                repaired,
                by,
            } => Some(PhaseEnd::Committed {
                raw,
                action,
                repaired,
                by,
            }),
            _ => None,
        });
    given_up.unwrap_or(PhaseEnd::Over)
}

/// An answer as the model sees it again in the same phase. No answer within any token limit is so
/// long that it is cut; one that is would fill the record with copies of itself.
fn echo(text: &str) -> String {
    const MOST: usize = 128 * 1024;
    let end = floor(text, MOST);
    match end < text.len() {
        true => format!("{}\n[the rest of this answer is left out]", &text[..end]),
        false => text.to_owned(),
    }
}

/// The last place at or before `at` where a text can be cut.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Takes bytes off the end of the results and says so.
fn cut_results(results: &mut String, excess: usize) {
    const NOTICE: &str = "\n[cut: the prompt is full]";
    let keep = results.len().saturating_sub(excess + NOTICE.len());
    results.truncate(floor(results, keep));
    results.push_str(NOTICE);
}
