//! Recipes and selections on the desk: put there, seen through to their decision.

use std::time::Duration;

use super::driver::{HAND, Session};
use super::error::SessionError;
use super::news::News;
use super::state::{Data, Event};
use crate::review::{Dossier, Extent, ProposalId, ReviewError, State, What};
use crate::tune::author::{Suggestion, Task};
use crate::tune::certify;
use crate::tune::recipe::{self, DataSource, Recipe};

/// How often the desk is looked at while a person is waited for.
const POLL: Duration = Duration::from_secs(1);
/// How often the cancel flag is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(100);

impl Session {
    /// Has a recipe written and puts it on the desk.
    pub(super) fn propose(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let pristine = recipe::read(&self.state.setup.recipe)?;
        let task = Task {
            name: &self.name,
            pristine: &pristine,
            rounds: &self.state.rounds,
            runs: &self.state.runs,
            token_budget: self.state.setup.meta_tokens,
        };
        let suggestion = match self.state.rounds.is_empty() {
            true => Some(Suggestion::first(&pristine)),
            false => {
                let mut tell = |text: &str| news(News::Selecting { text: text.to_owned() });
                self.backends.author.next(&task, &self.cancel, &mut tell)?
            }
        };
        let Some(suggestion) = suggestion else {
            let why = "no recipe is left that was not tried; begin another tuning with another --recipe".to_owned();
            return self.note(Event::NoRecipe { why });
        };
        let mut draft = recipe::draft(
            &self.state.setup.line,
            suggestion.base.as_ref(),
            &suggestion.recipe,
            &suggestion.why,
            &suggestion.author,
        );
        draft.usage = suggestion.usage;
        draft.origin = Some(self.origin());
        let recipe = self.desk.propose(draft, HAND)?;
        news(News::Recipe {
            proposal: recipe.clone(),
            why: suggestion.why,
        });
        self.note(Event::Proposed { recipe })
    }

    /// Sees a recipe through to its decision.
    pub(super) fn attend_recipe(&mut self, id: &ProposalId, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        loop {
            let dossier = self.wait_for(id, "recipe", news)?;
            let standing = &dossier.standing;
            let refused = standing.extent == Some(Extent::None);
            match standing.state {
                State::Decided | State::Checked if refused => {
                    return self.end(format!("nothing of the recipe {id} was accepted"), news);
                }
                State::Decided => again(recipe::check_proposal(&mut self.desk, id, HAND))?,
                State::Checked | State::Used => {
                    let recipe = approved(&dossier)?;
                    return self.note(Event::Approved {
                        text: recipe::write(&recipe),
                        reuse: match &recipe.data.source {
                            DataSource::Reuse(of) => Some(of.as_str().into()),
                            DataSource::Regenerate => None,
                        },
                        configs: recipe.train.iter().map(recipe::TrainConfig::line).collect(),
                    });
                }
                _ => return self.end(refusal(&dossier), news),
            }
        }
    }

    /// Sees a selection through to its certified set.
    pub(super) fn attend_selection(&mut self, id: &ProposalId, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        loop {
            let dossier = self.wait_for(id, "selection", news)?;
            match dossier.standing.state {
                State::Decided => {
                    let folder = self.workspace.datasets_dir();
                    match certify::certify(&mut self.desk, id, &folder, &self.cancel) {
                        Ok(_) => {}
                        // What was accepted cannot be trained on; the desk says so too.
                        Err(error @ crate::tune::TuneError::Data { .. }) => return self.end(error.to_string(), news),
                        Err(error) => return Err(error.into()),
                    }
                }
                State::Certified | State::Used => {
                    let data = data_of(&dossier)?;
                    return self.certified(&dossier, data, news);
                }
                _ => return self.end(refusal(&dossier), news),
            }
        }
    }

    /// Takes up an earlier certified set.
    pub(super) fn reuse(&mut self, id: &ProposalId) -> Result<(), SessionError> {
        let data = data_of(&self.desk.dossier(id)?)?;
        self.note(Event::Certified { data })
    }

    /// A set below the recipe's minimum is used only where a person committed it all the same.
    fn certified(&mut self, dossier: &Dossier, data: Data, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let least = recipe::read(&self.state.round.text)?.data.min_target_examples;
        let committed = dossier.entries.iter().rev();
        let mut committed = committed.filter(|entry| matches!(entry.what, What::Committed { .. }));
        let by_policy = committed.next().is_none_or(|entry| entry.by == HAND);
        if data.examples < least && by_policy {
            let why = format!(
                "the set of {} has {} examples, {least} are needed; play more episodes, widen the rules, or lower \
                 min_target_examples in the recipe",
                dossier.proposal.id, data.examples
            );
            return self.end(why, news);
        }
        news(News::Certified {
            proposal: dossier.proposal.id.clone(),
            dataset: data.file.display().to_string(),
            examples: data.examples,
        });
        self.note(Event::Certified { data })
    }

    /// Waits until a proposal is no longer pending; a policy decides at once.
    fn wait_for(
        &mut self,
        id: &ProposalId,
        kind: &'static str,
        news: &mut dyn FnMut(News),
    ) -> Result<Dossier, SessionError> {
        let mut told = false;
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let dossier = self.desk.dossier(id)?;
            if dossier.standing.state != State::Pending {
                return Ok(dossier);
            }
            match self.state.setup.policy {
                Some(policy) => {
                    again(self.desk.decide_by(policy, &dossier, HAND))?;
                    news(News::Decided {
                        proposal: id.clone(),
                        policy,
                    });
                }
                None => {
                    if !std::mem::replace(&mut told, true) {
                        news(News::Waiting {
                            proposal: id.clone(),
                            kind,
                        });
                    }
                    self.sleep();
                }
            }
        }
    }

    fn sleep(&self) {
        let mut slept = Duration::ZERO;
        while slept < POLL && !self.cancel.is_cancelled() {
            std::thread::sleep(LOOK);
            slept += LOOK;
        }
    }
}

/// Somebody wrote at the same time: it is looked at again.
fn again(done: Result<(), ReviewError>) -> Result<(), ReviewError> {
    match done {
        Err(ReviewError::Meanwhile { .. }) => Ok(()),
        other => other,
    }
}

/// The recipe as it was decided.
fn approved(dossier: &Dossier) -> Result<Recipe, SessionError> {
    let files = dossier.files().map(|files| dossier.standing.files(files));
    let text = files
        .and_then(|mut files| files.remove(recipe::FILE))
        .unwrap_or_default();
    Ok(recipe::read(&text)?)
}

fn data_of(dossier: &Dossier) -> Result<Data, SessionError> {
    let id = &dossier.proposal.id;
    let Some((file, digest, examples)) = &dossier.standing.dataset else {
        return Err(SessionError::setup(
            format!("{id} has no certified set"),
            format!("decide on it and certify it (`automem curate certify {id}`), or name another selection"),
        ));
    };
    Ok(Data {
        selection: id.clone(),
        file: file.into(),
        digest: *digest,
        examples: *examples,
    })
}

fn refusal(dossier: &Dossier) -> String {
    let standing = &dossier.standing;
    let mut text = format!("{} is {}", standing.id, standing.state.word());
    if !standing.why.is_empty() {
        text = format!("{text}: {}", standing.why);
    }
    for problem in &standing.problems {
        text = format!("{text}; {problem}");
    }
    text
}
