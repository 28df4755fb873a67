//! Carries out what an optimization's state asks for.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::SessionError;
use super::log::Log;
use super::news::News;
use super::setup::claim;
use super::state::{Effect, Event, Parent, Setup, State};
use crate::agent::{Models, RunPlan};
use crate::config::Workspace;
use crate::evolve::candidate;
use crate::evolve::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::gate::{self, Side};
use crate::jobs::Cancel;
use crate::llm::{ChatModel, Usage};
use crate::review::{Content, Desk, Dossier, Draft, Origin, ReviewError, RevisionContent};
use crate::scaffold::{MANIFEST, Scaffold};
use crate::store::{Claim, Reader, Registry};
use crate::types::{Digest, Sampling};

/// Whose hand it is in the log of proposals.
pub(super) const HAND: &str = "optimize";

/// An optimization at work. One process an optimization.
pub struct Session {
    pub(super) workspace: Workspace,
    pub(super) name: String,
    pub(super) log: Log,
    pub(super) desk: Desk,
    pub(super) state: State,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) specialist: Option<Arc<dyn ChatModel>>,
    pub(super) reviser: Box<dyn Reviser>,
    pub(super) cancel: Cancel,
    _claim: Claim,
}

impl Session {
    /// Begins an optimization; what was asked for is written down first.
    ///
    /// # Errors
    /// When what is asked for makes no sense, or the workspace cannot be written.
    pub fn begin(
        workspace: &Workspace,
        setup: &Setup,
        models: Models,
        reviser: Box<dyn Reviser>,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        setup.check(workspace)?;
        let mut log = Log::open(workspace)?;
        let name = log.begin(setup)?;
        Self::resume(workspace, &name, models, reviser, cancel)
    }

    /// Goes on with an optimization.
    ///
    /// # Errors
    /// When there is none, or another process works on it.
    pub fn resume(
        workspace: &Workspace,
        name: &str,
        models: Models,
        reviser: Box<dyn Reviser>,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        let log = Log::open(workspace)?;
        log.one(name)?;
        let busy = || SessionError::Busy { name: name.to_owned() };
        let held = Claim::take(workspace, &claim(name))?.ok_or_else(busy)?;
        // Read again under the lock.
        let state = log.one(name)?.state;
        Ok(Self {
            desk: Desk::open(workspace)?,
            workspace: workspace.clone(),
            name: name.to_owned(),
            log,
            state,
            model: models.0,
            specialist: models.1,
            reviser,
            cancel,
            _claim: held,
        })
    }

    /// Whether a process works on an optimization now.
    pub fn is_at_work(workspace: &Workspace, name: &str) -> bool {
        Claim::is_held(workspace, &claim(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Works until nothing more is to be done.
    ///
    /// # Errors
    /// When something fails that another attempt would not mend, or it is cancelled. What was reached is kept:
    /// [`Session::resume`] goes on.
    pub fn run(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        news(News::Optimizing {
            name: self.name.clone(),
            stage: self.state.word(),
        });
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            match self.state.next() {
                Effect::Evaluate => self.evaluate(news)?,
                Effect::Revise { continuation } => self.revise(continuation, news)?,
                Effect::Attend { proposal } => self.attend(&proposal, news)?,
                Effect::End { why } => {
                    news(News::Over {
                        why,
                        promoted: self.state.promoted.clone(),
                    });
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn note(&mut self, event: Event) -> Result<(), SessionError> {
        self.log.append(&self.name, &event)?;
        self.state.take(event);
        Ok(())
    }

    pub(super) fn runs(&self, what: &str) -> PathBuf {
        self.workspace.runs_dir().join(format!("{}-{what}.db", self.name))
    }

    pub(super) fn plan(&self, scaffold: Scaffold, out: PathBuf) -> RunPlan {
        let setup = &self.state.setup;
        RunPlan {
            world: setup.env.clone(),
            scaffold,
            model: Arc::clone(&self.model),
            specialist: self.specialist.clone(),
            seeds: setup.seeds.clone(),
            max_steps: setup.max_steps,
            workers: setup.workers,
            sampling: Sampling {
                seed: setup.sampling_seed,
                ..Sampling::default()
            },
            exact: false,
            out,
        }
    }

    /// Plays the line's head, unless an equal evaluation is there.
    fn evaluate(&mut self, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let setup = &self.state.setup;
        let head = if self
            .workspace
            .scaffolds_dir()
            .join(&setup.line)
            .join(MANIFEST)
            .is_file()
        {
            &setup.line
        } else {
            &setup.scaffold
        };
        let parent = Scaffold::named(head, &self.workspace)?;
        let digest = parent.digest();
        let name = parent.manifest().name.clone();
        let out = self.runs(&format!("i{}-parent-{}", self.state.iteration, digest.short()));
        let plan = self.plan(parent, out);
        let (plan, reused) = gate::reusing(plan, &self.workspace)?;
        news(News::Parent {
            iteration: self.state.iteration,
            scaffold: name.clone(),
            reused: reused.then(|| plan.out.display().to_string()),
        });
        let evaluated = gate::evaluate(&plan, Side::Parent, &|_| true, &self.cancel, &mut |gate| {
            news(News::Gate { gate });
        })?;
        let scores: Vec<f64> = evaluated
            .scores
            .iter()
            .filter_map(|score| Some(score.as_ref()?.progression))
            .collect();
        let mean = scores.iter().sum::<f64>() / (scores.len() as f64).max(1.0);
        let run = evaluated.run.display().to_string();
        news(News::Evaluated { mean, run: run.clone() });
        self.note(Event::Evaluated {
            run,
            reused,
            parent: name,
            digest,
            mean,
        })
    }

    pub(super) fn parent(&self) -> Result<Parent, SessionError> {
        self.state.parent.clone().ok_or_else(|| SessionError::Setup {
            what: format!("the log of {} has no evaluation of its parent", self.name),
            hint: "begin another optimization".to_owned(),
        })
    }

    /// The parent as it was evaluated: its run has its files.
    pub(super) fn parent_scaffold(&self, parent: &Parent) -> Result<Scaffold, SessionError> {
        let files = Reader::open(&parent.run)?.meta().scaffold.files.clone();
        Ok(Scaffold::from_files(files)?)
    }

    fn origin(&self) -> Origin {
        Origin {
            optimization: self.name.clone(),
            iteration: self.state.iteration,
            attempt: self.state.attempt,
            continues: self.state.last.clone().filter(|_| self.state.continuation),
        }
    }

    fn revise(&mut self, continuation: bool, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let origin = self.origin();
        // Proposed by a process that was killed before it could write that down.
        if let Some(dossier) = self.orphan(&origin)? {
            return self.proposed(&dossier, news);
        }
        news(News::Revising {
            iteration: origin.iteration,
            attempt: origin.attempt,
            continuation,
        });
        let parent = self.parent()?;
        let scaffold = self.parent_scaffold(&parent)?;
        let task = Task {
            parent: scaffold,
            runs: vec![PathBuf::from(&parent.run)],
            in_use: self.in_use(parent.digest)?,
            tried: self.state.tried.clone(),
            continuation,
            token_budget: self.state.setup.meta_tokens,
        };
        let mut used = Usage::default();
        let revised = self.reviser.revise(&task, &self.cancel, &mut |told| {
            if let ReviserNews::Used { usage } = &told {
                used = *usage;
            }
            news(News::Reviser { reviser: told });
        });
        let revision = match revised {
            Ok(revision) => revision,
            Err(ReviserError::Cancelled) => return Err(SessionError::Cancelled),
            Err(_) if self.cancel.is_cancelled() => return Err(SessionError::Cancelled),
            // A server that is away or a key that is missing is away or missing the next time too.
            Err(error @ (ReviserError::Model(_) | ReviserError::Store(_) | ReviserError::Other(_))) => {
                return Err(error.into());
            }
            Err(error) => {
                let conclusive = self.reviser.spec() == "rules" && matches!(error, ReviserError::Nothing { .. });
                return self.failed(None, error.to_string(), used, conclusive, news);
            }
        };
        // Whoever wrote it has judged it; what is shown to a person is judged here all the same.
        if let Err(refusal) = candidate::judge(&task, &revision.files)? {
            let usage = revision.usage;
            return self.failed(Some(revision), refusal.words(), usage, false, news);
        }
        let draft = self.draft(&task.parent, revision, origin.clone());
        let usage = draft.usage;
        match self.desk.propose(draft, HAND) {
            Ok(id) => {
                let dossier = self.desk.dossier(&id)?;
                self.proposed(&dossier, news)
            }
            Err(ReviewError::NotNow { why, .. }) => self.failed(None, why, usage, false, news),
            Err(error) => Err(error.into()),
        }
    }

    fn draft(&self, parent: &Scaffold, revision: Revision, origin: Origin) -> Draft {
        Draft {
            author: self.reviser.spec(),
            title: revision.title,
            rationale: format!("{}\n\n{}", revision.analysis.trim(), revision.method.trim()),
            evidence: revision.evidence,
            usage: revision.usage,
            origin: Some(origin),
            content: Content::Revision(Box::new(RevisionContent {
                line: self.state.setup.line.clone(),
                parent: parent.manifest().name.clone(),
                parent_digest: parent.digest(),
                base: parent.files().clone(),
                files: revision.files,
            })),
        }
    }

    fn proposed(&mut self, dossier: &Dossier, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let draft = &dossier.proposal.draft;
        news(News::Proposed {
            proposal: dossier.proposal.id.clone(),
            title: draft.title.clone(),
            parts: dossier.standing.parts.len(),
        });
        self.note(Event::Proposed {
            proposal: dossier.proposal.id.clone(),
            title: draft.title.clone(),
            files: dossier.revision()?.files.clone(),
            usage: draft.usage,
        })
    }

    fn failed(
        &mut self,
        revision: Option<Revision>,
        why: String,
        usage: Usage,
        conclusive: bool,
        news: &mut dyn FnMut(News),
    ) -> Result<(), SessionError> {
        news(News::Failed { why: why.clone() });
        let (title, files) = revision.map_or_else(Default::default, |revision| (revision.title, revision.files));
        self.note(Event::Failed {
            title,
            files,
            why,
            usage,
            conclusive,
        })
    }

    /// A proposal of this very attempt that the log does not know.
    fn orphan(&self, origin: &Origin) -> Result<Option<Dossier>, SessionError> {
        for standing in self.desk.list()? {
            if Some(&standing.id) == self.state.last.as_ref() {
                continue;
            }
            let dossier = self.desk.dossier(&standing.id)?;
            if dossier.proposal.draft.origin.as_ref() == Some(origin) {
                return Ok(Some(dossier));
            }
        }
        Ok(None)
    }

    /// Memory files of runs of the parent that are under way.
    fn in_use(&self, digest: Digest) -> Result<Vec<String>, SessionError> {
        let mut files = Vec::new();
        for run in Registry::open(&self.workspace)?.runs()? {
            let Ok(content) = run.content else { continue };
            if content.live && content.meta.scaffold.digest == digest {
                let scaffold = Scaffold::from_files(content.meta.scaffold.files)?;
                files.extend(scaffold.manifest().files.keys().cloned());
            }
        }
        files.sort();
        files.dedup();
        Ok(files)
    }
}
