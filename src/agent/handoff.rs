//! Two models in an episode: who answers what, and how PLAN goes from the specialist to the gameplay model.
//!
//! The specialist answers LOG and consults memory in PLAN; the gameplay model sees what was looked up, without what the
//! specialist took for an action, and commits. Must not decide what an answer means; that is the phases' work.

use std::sync::Arc;

use super::episode::{Carry, Episode, Fault};
use super::phases::{Input, Machine, without_actions};
use super::shared::Shared;
use super::turns::{PartEnd, PhaseEnd, finish};
use crate::llm::{ChatModel, ChatRequest};
use crate::scaffold::{ConsultedVars, Template};
use crate::types::{Body, ChatRole, Message, ModelRef, Phase, Role, TurnNo};

/// The detail that tells two adapters of one name apart.
pub(super) const ADAPTER_DIGEST: &str = "adapter_digest";

impl Episode<'_> {
    /// The model that answers in a role.
    pub(super) fn model_of(&self, role: Role) -> Arc<dyn ChatModel> {
        match (role, &self.specialist) {
            (Role::Specialist, Some(specialist)) => Arc::clone(specialist),
            _ => Arc::clone(&self.shared.model),
        }
    }

    /// The name under which it is recorded.
    pub(super) fn model_name(&self, role: Role) -> String {
        match (role, &self.specialist) {
            (Role::Specialist, Some(specialist)) => specialist.describe().name,
            _ => self.shared.model_name.clone(),
        }
    }

    /// Between two steps: takes over the specialist that is wished for, and records it when it is another one.
    pub(super) fn settle_specialist(&mut self) {
        let Some((_, wanted)) = self.shared.controls.models() else {
            return;
        };
        let same = match (&self.specialist, &wanted) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        if same && self.specialist_recorded {
            return;
        }
        self.push(Body::AdapterChanged {
            adapter: wanted.as_ref().map(|specialist| specialist.describe().name),
        });
        self.specialist = wanted;
        self.specialist_recorded = true;
    }

    /// The gameplay model's part of PLAN, after the specialist's, of which `request` is the chat.
    pub(super) fn commit_in_turn(
        &mut self,
        mut request: ChatRequest,
        turn: TurnNo,
        results: String,
    ) -> Result<PhaseEnd, Fault> {
        let rules = &self.setup(Phase::Plan).rules;
        let mut machine = Machine::committing(rules, turn, results);
        if self.step_failed {
            // A model is down: asking on in this step would only cost time.
            return Ok(finish(machine.step(Input::Begin), &mut machine));
        }
        self.hand_over(&mut request)?;
        request.slot.role = Role::Gameplay;
        request.grammar = None;
        match self.part(Phase::Plan, machine, &mut request)? {
            PartEnd::Phase(end) => Ok(end),
            PartEnd::HandOver { .. } => Ok(PhaseEnd::Over),
        }
    }

    /// Makes the specialist's chat one that the gameplay model can go on with.
    fn hand_over(&self, request: &mut ChatRequest) -> Result<(), Fault> {
        let vocabulary = &self.shared.plan.rules.vocabulary;
        let answers = request
            .messages
            .iter_mut()
            .filter(|message| message.role == ChatRole::Assistant);
        for message in answers {
            message.content = without_actions(&message.content, vocabulary);
            if message.content.is_empty() {
                message.content = self.nothing_said()?;
            }
        }
        // A prompt that the specialist did not answer, such as one that was too long for it.
        if request.messages.last().is_some_and(|last| last.role == ChatRole::User) {
            let text = self.nothing_said()?;
            request.messages.push(Message::new(ChatRole::Assistant, text));
        }
        Ok(())
    }

    /// What stands in the place of an answer that was nothing but an action.
    fn nothing_said(&self) -> Result<String, Fault> {
        let vars = ConsultedVars {
            step: self.at.step.0,
            own: self.script.own.clone(),
        };
        let text = self.shared.scaffold.render(Template::Consulted, &vars);
        text.map_err(|error| Fault::Other(error.to_string()))
    }
}

/// Whether the specialist that is wished for is the one that the record of an episode stands at.
pub(super) fn is_as_recorded(shared: &Shared, carry: &Carry, wanted: Option<&Arc<dyn ChatModel>>) -> bool {
    fn digest(model: &ModelRef) -> Option<&String> {
        model.details.get(ADAPTER_DIGEST)
    }
    let first = shared.first_specialist.as_ref();
    let recorded = match &carry.exchanged {
        // The record of an exchange holds a name only.
        Some(name) => name.as_deref().map(|name| {
            let known = first.filter(|first| first.name == name);
            (name, known.and_then(digest))
        }),
        None => first.map(|first| (first.name.as_str(), digest(first))),
    };
    let here = wanted.map(|specialist| specialist.describe());
    match (recorded, &here) {
        (Some((name, known)), Some(here)) => name == here.name && known.is_none_or(|known| Some(known) == digest(here)),
        (None, None) => true,
        _ => false,
    }
}
