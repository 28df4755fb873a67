//! From traces to a selection on the desk, and from a set to an adapter.

use super::driver::{HAND, Session};
use super::error::SessionError;
use super::news::News;
use super::state::{Adapter, Event};
use crate::review::{ProposalId, ReviewError, What};
use crate::tune::harvest::harvest;
use crate::tune::train::{TrainError, TrainJob, TrainNews, Trained, folder};
use crate::tune::{dataset, propose, recipe};

impl Session {
    /// Selects candidates by the recipe and puts the selection on the desk.
    pub(super) fn select(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let recipe = recipe::read(&self.state.round.text)?;
        let harvested = harvest(&self.state.runs, &self.cancel, &mut |progress| {
            news(News::Reading {
                done: progress.done,
                total: progress.total,
            });
        })?;
        let mut tell = |text: &str| news(News::Selecting { text: text.to_owned() });
        let selector = &mut self.backends.selector;
        let folder = self.workspace.root().join("meta");
        let name = format!("{}-i{}", self.name, self.state.iteration);
        let choices = selector.select(&harvested, &recipe.data, &folder, &name, &self.cancel, &mut tell)?;
        let (count, selected) = (choices.len(), choices.iter().filter(|choice| choice.selected).count());
        if selected == 0 {
            let why = format!("{} selected none of {count} candidates", recipe.data.selector);
            return self.end(why, news);
        }
        let (mut draft, items) = propose::selection(
            &harvested,
            &choices,
            &recipe::criteria(&recipe),
            &self.state.setup.seeds,
            recipe.data.min_target_examples,
            &recipe.data.selector,
        );
        draft.origin = Some(self.origin());
        let selection = self.desk.propose_with(draft, &items, HAND)?;
        news(News::Selection {
            proposal: selection.clone(),
            count,
            selected,
        });
        self.note(Event::Selected { selection })
    }

    /// Trains an adapter, or takes up one that an earlier process finished.
    pub(super) fn train(&mut self, config: usize, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let Some(data) = self.state.round.data.clone() else {
            return self.end("it has no training set".to_owned(), news);
        };
        if dataset::file_digest(&data.file)? != data.digest {
            let why = format!(
                "{} is not what was certified for {} any more; certify it again (`automem curate certify {}`)",
                data.file.display(),
                data.selection,
                data.selection
            );
            return self.end(why, news);
        }
        let job = self.job(config, &data.file)?;
        news(News::Training {
            name: job.name.clone(),
            config: job.config.line(),
        });
        let trained = match finished(&job) {
            Some(trained) => Ok(trained),
            None => self.backends.trainer.train(&job, &self.cancel, &mut |train| {
                news(News::Train { train });
            }),
        };
        let trained = match trained {
            Ok(trained) => trained,
            Err(error @ (TrainError::NotANumber { .. } | TrainError::Unfit { .. } | TrainError::Data(_))) => {
                return self.end(format!("{}: {error}", job.name), news);
            }
            Err(error) => return Err(error.into()),
        };
        let by = trained.adapter.display().to_string();
        let recipe = self.state.round.recipe.clone();
        for id in [Some(data.selection), recipe].into_iter().flatten() {
            self.used(&id, &by)?;
        }
        self.note(Event::Trained {
            adapter: Adapter {
                file: trained.adapter,
                digest: trained.digest,
                loss: trained.loss,
                held_out: trained.held_out,
            },
        })
    }

    /// Writes down what was made with a proposal, once.
    fn used(&mut self, id: &ProposalId, by: &str) -> Result<(), SessionError> {
        loop {
            let standing = self.desk.dossier(id)?.standing;
            if standing.used_by.iter().any(|used| used == by) {
                return Ok(());
            }
            match self
                .desk
                .append(id, standing.seq, HAND, What::Used { by: by.to_owned() })
            {
                Err(ReviewError::Meanwhile { .. }) => {}
                other => return Ok(other.map(|_| ())?),
            }
        }
    }
}

/// What an earlier process trained to its end, if its adapter is still there.
fn finished(job: &TrainJob) -> Option<Trained> {
    let log = std::fs::read_to_string(job.folder.join(folder::LOG)).ok()?;
    let last = log.lines().rev().find_map(|line| folder::read_news(line).ok())?;
    match last {
        TrainNews::Done {
            loss,
            held_out,
            adapter,
            digest,
            ..
        } if dataset::file_digest(&adapter).is_ok_and(|is| is == digest) => Some(Trained {
            adapter,
            digest,
            loss,
            held_out,
        }),
        _ => None,
    }
}
