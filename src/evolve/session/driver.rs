//! Carries out what an optimization's state asks for.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::attend::{Step, step_for};
use super::error::SessionError;
use super::log::Log;
use super::outcome::outcome;
use super::state::{Effect, Ending, Event, Parent, Policy, Setup, State};
use crate::agent::RunPlan;
use crate::config::Workspace;
use crate::env;
use crate::evolve::gate::{self, GateNews, Key, Side};
use crate::evolve::ledger::{Head, Ledger, Row};
use crate::evolve::reviser::{Reviser, ReviserError, ReviserNews, Revision, Task};
use crate::jobs::Cancel;
use crate::llm::{ChatModel, Usage};
use crate::review::{
    Content, Desk, Dossier, Draft, GateReport, Origin, Pair, ProposalId, Reason, ReviewError, RevisionContent, Score,
    Verdict, What, check_result,
};
use crate::scaffold::{MANIFEST, Scaffold, digest_of};
use crate::store::{Reader, Registry, StoreError};
use crate::types::{Digest, Sampling};

/// Whose hand it is in the log of proposals.
const HAND: &str = "optimize";
/// How often the desk is looked at while a person is waited for.
const POLL: Duration = Duration::from_secs(1);
/// How often the cancel flag is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// What an optimization tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// It begins or goes on.
    Optimizing {
        /// Its name.
        name: String,
        /// Where it stands.
        stage: String,
    },
    /// The parent of an iteration is played, or taken from an earlier run.
    Parent {
        /// Which iteration.
        iteration: u32,
        /// Its name.
        scaffold: String,
        /// The earlier run.
        reused: Option<String>,
    },
    /// The parent has its scores.
    Evaluated {
        /// Mean progression.
        mean: f64,
        /// Its run.
        run: String,
    },
    /// Episodes.
    Gate {
        /// What of them.
        #[serde(flatten)]
        gate: GateNews,
    },
    /// A revision is asked for.
    Revising {
        /// Which iteration.
        iteration: u32,
        /// Which fresh attempt.
        attempt: u32,
        /// It is continued.
        continuation: bool,
    },
    /// What its author tells.
    Reviser {
        /// What.
        #[serde(flatten)]
        reviser: ReviserNews,
    },
    /// There is no revision this time.
    Failed {
        /// Why.
        why: String,
    },
    /// A revision lies on the desk.
    Proposed {
        /// Which.
        proposal: ProposalId,
        /// Its title.
        title: String,
        /// Its parts.
        parts: usize,
    },
    /// A person is waited for.
    Waiting {
        /// The proposal.
        proposal: ProposalId,
        /// Parts that wait.
        parts: usize,
    },
    /// The policy decided.
    Decided {
        /// The proposal.
        proposal: ProposalId,
        /// How.
        policy: Policy,
    },
    /// A gate is over.
    Gated {
        /// The proposal.
        proposal: ProposalId,
        /// How it went.
        report: Box<GateReport>,
    },
    /// It is clear what becomes of a proposal.
    Settled {
        /// Which.
        proposal: ProposalId,
        /// What.
        ending: Ending,
        /// In words.
        outcome: String,
    },
    /// Nothing more is done.
    Over {
        /// Why.
        why: String,
        /// What was promoted.
        promoted: Vec<ProposalId>,
    },
}

/// An optimization at work. One process an optimization.
pub struct Session {
    workspace: Workspace,
    name: String,
    log: Log,
    desk: Desk,
    state: State,
    model: Arc<dyn ChatModel>,
    reviser: Box<dyn Reviser>,
    cancel: Cancel,
    _lock: Lock,
}

impl Session {
    /// Begins an optimization; what was asked for is written down first.
    ///
    /// # Errors
    /// When what is asked for makes no sense, or the workspace cannot be written.
    pub fn begin(
        workspace: &Workspace,
        setup: &Setup,
        model: Arc<dyn ChatModel>,
        reviser: Box<dyn Reviser>,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        check(setup, workspace)?;
        let mut log = Log::open(workspace)?;
        let name = log.begin(setup)?;
        Self::resume(workspace, &name, model, reviser, cancel)
    }

    /// Goes on with an optimization.
    ///
    /// # Errors
    /// When there is none, or another process works on it.
    pub fn resume(
        workspace: &Workspace,
        name: &str,
        model: Arc<dyn ChatModel>,
        reviser: Box<dyn Reviser>,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        let log = Log::open(workspace)?;
        log.one(name)?;
        let lock = Lock::take(workspace, name)?;
        // Read again under the lock.
        let state = log.one(name)?.state;
        Ok(Self {
            desk: Desk::open(workspace)?,
            workspace: workspace.clone(),
            name: name.to_owned(),
            log,
            state,
            model,
            reviser,
            cancel,
            _lock: lock,
        })
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

    fn note(&mut self, event: Event) -> Result<(), SessionError> {
        self.log.append(&self.name, &event)?;
        self.state.take(event);
        Ok(())
    }

    fn runs(&self, what: &str) -> PathBuf {
        self.workspace.runs_dir().join(format!("{}-{what}.db", self.name))
    }

    fn plan(&self, scaffold: Scaffold, out: PathBuf) -> RunPlan {
        let setup = &self.state.setup;
        RunPlan {
            world: setup.env.clone(),
            scaffold,
            model: Arc::clone(&self.model),
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
        let head = if self.workspace.scaffolds_dir().join(&setup.line).join(MANIFEST).is_file() {
            &setup.line
        } else {
            &setup.scaffold
        };
        let parent = Scaffold::named(head, &self.workspace)?;
        let digest = parent.digest();
        let name = parent.manifest().name.clone();
        let out = self.runs(&format!("i{}-parent-{}", self.state.iteration, digest.short()));
        let plan = self.plan(parent, out);
        let world = env::open(&plan.world).map_err(crate::agent::AgentError::from)?;
        let earlier = match plan.out.exists() {
            true => None,
            false => gate::reusable(&self.workspace, &Key::of_plan(&plan, world.spec()))?,
        };
        news(News::Parent {
            iteration: self.state.iteration,
            scaffold: name.clone(),
            reused: earlier.as_ref().map(|run| run.display().to_string()),
        });
        let reused = earlier.is_some();
        let plan = RunPlan {
            out: earlier.unwrap_or(plan.out),
            ..plan
        };
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

    fn parent(&self) -> Result<Parent, SessionError> {
        self.state.parent.clone().ok_or_else(|| SessionError::Setup {
            what: format!("the log of {} has no evaluation of its parent", self.name),
            hint: "begin another optimization".to_owned(),
        })
    }

    /// The parent as it was evaluated: its run has its files.
    fn parent_scaffold(&self, parent: &Parent) -> Result<Scaffold, SessionError> {
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
        if let Some(why) = self.refused(&task, &revision)? {
            let usage = revision.usage;
            return self.failed(Some(revision), why, usage, false, news);
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

    /// Why a revision is not shown to anybody.
    fn refused(&self, task: &Task, revision: &Revision) -> Result<Option<String>, SessionError> {
        if let Some(tried) = task.tried.iter().find(|tried| is_same(&tried.files, &revision.files)) {
            return Ok(Some(format!("it repeats an earlier candidate, \"{}\"", tried.title)));
        }
        let problems = check_result(&revision.files)?;
        Ok((!problems.is_empty()).then(|| {
            let list: Vec<String> = problems.iter().take(5).map(ToString::to_string).collect();
            format!("it cannot work: {}", list.join("; "))
        }))
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
            files: dossier.revision().files.clone(),
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

    /// Sees a proposal through until it is clear what becomes of it.
    fn attend(&mut self, id: &ProposalId, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let mut told = None;
        loop {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let dossier = self.desk.dossier(id)?;
            let policy = self.state.setup.policy;
            let done = match step_for(&dossier.standing, policy.is_some()) {
                Step::Wait => {
                    if told != Some(dossier.standing.seq) {
                        told = Some(dossier.standing.seq);
                        news(News::Waiting {
                            proposal: id.clone(),
                            parts: dossier.standing.waiting(),
                        });
                    }
                    self.sleep();
                    // A desk that is opened settles what a killed process left half applied.
                    if dossier.standing.state == crate::review::State::Applying {
                        self.desk = Desk::open(&self.workspace)?;
                    }
                    Ok(())
                }
                Step::Decide => self.decide(&dossier, policy, news),
                Step::Check => self.check(&dossier),
                Step::Gate => self.gate(&dossier, news),
                Step::Promote => self.promote(&dossier),
                Step::Settle(ending) => return self.settle(&dossier, ending, news),
            };
            match done {
                // Somebody wrote at the same time: it is looked at again.
                Err(SessionError::Review(ReviewError::Meanwhile { .. })) => {}
                other => other?,
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

    fn decide(
        &mut self,
        dossier: &Dossier,
        policy: Option<Policy>,
        news: &mut dyn FnMut(News),
    ) -> Result<(), SessionError> {
        let Some(policy) = policy else { return Ok(()) };
        let id = &dossier.proposal.id;
        let mut seen = dossier.standing.seq;
        for slot in dossier.standing.parts.iter().filter(|slot| slot.decision.is_none()) {
            let what = What::Decided {
                part: slot.part.id.clone(),
                digest: slot.part.digest,
                verdict: match policy {
                    Policy::Accept => Verdict::Accept,
                    Policy::Reject => Verdict::Reject { reason: Reason::Other },
                },
                comment: String::new(),
                policy: Some(policy.word().to_owned()),
            };
            seen = self.desk.append(id, seen, HAND, what)?.seq;
        }
        let dossier = self.desk.dossier(id)?;
        let result = digest_of(&dossier.standing.files(dossier.revision()));
        self.desk.append(id, seen, HAND, What::Committed { result })?;
        news(News::Decided {
            proposal: id.clone(),
            policy,
        });
        Ok(())
    }

    fn check(&mut self, dossier: &Dossier) -> Result<(), SessionError> {
        let files = dossier.standing.files(dossier.revision());
        let problems = check_result(&files)?;
        let what = What::Checked {
            result: digest_of(&files),
            problems,
        };
        self.desk
            .append(&dossier.proposal.id, dossier.standing.seq, HAND, what)?;
        Ok(())
    }

    fn gate(&mut self, dossier: &Dossier, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let id = &dossier.proposal.id;
        let files = dossier.standing.files(dossier.revision());
        let result = digest_of(&files);
        let scaffold = Scaffold::from_files(files)?;
        let out = self.runs(&format!("i{}-{id}-{}", self.state.iteration, result.short()));
        if dossier.standing.state != crate::review::State::Gating {
            let what = What::GateStarted {
                result,
                run: out.display().to_string(),
            };
            self.desk.append(id, dossier.standing.seq, HAND, what)?;
        }
        let played = self.play(scaffold, out, news);
        let seen = self.desk.dossier(id)?.standing.seq;
        let what = match played {
            Ok(report) => {
                news(News::Gated {
                    proposal: id.clone(),
                    report: Box::new(report.clone()),
                });
                What::Gated {
                    report: Box::new(report),
                }
            }
            Err(error) => {
                let why = if error.is_cancelled() {
                    format!("interrupted; `automem optimize --resume {}` goes on", self.name)
                } else {
                    error.to_string()
                };
                self.desk.append(id, seen, HAND, What::GateStopped { why })?;
                return Err(error);
            }
        };
        self.desk.append(id, seen, HAND, what)?;
        Ok(())
    }

    fn play(
        &mut self,
        scaffold: Scaffold,
        out: PathBuf,
        news: &mut dyn FnMut(News),
    ) -> Result<GateReport, SessionError> {
        let parent = self.parent()?;
        let seeds = self.state.setup.seeds.clone();
        let parent_plan = self.plan(self.parent_scaffold(&parent)?, PathBuf::from(&parent.run));
        let mut tell = |gate| news(News::Gate { gate });
        // It is there: this reads it.
        let before = gate::evaluate(&parent_plan, Side::Parent, &|_| true, &self.cancel, &mut tell)?;
        let pairs = |scores: &[Option<Score>]| -> Vec<Pair> {
            seeds
                .iter()
                .zip(&before.scores)
                .zip(scores)
                .map(|((seed, parent), revision)| Pair {
                    seed: *seed,
                    parent: *parent,
                    revision: *revision,
                })
                .collect()
        };
        let goes_on = |scores: &[Option<Score>]| gate::can_still_win(&pairs(scores));
        let plan = self.plan(scaffold, out);
        let after = gate::evaluate(&plan, Side::Revision, &goes_on, &self.cancel, &mut tell)?;
        Ok(gate::report(
            pairs(&after.scores),
            parent.run,
            after.run.display().to_string(),
            parent.reused,
        ))
    }

    /// The gate's row is written before anything follows from it.
    fn record(&self, dossier: &Dossier) -> Result<(), SessionError> {
        let (Some(report), Some(result)) = (&dossier.standing.gate, dossier.standing.result) else {
            return Ok(());
        };
        let Some(origin) = &dossier.proposal.draft.origin else {
            return Ok(());
        };
        let revision = dossier.revision();
        let usage = self.state.usage;
        let head = Head {
            origin,
            proposal: &dossier.proposal.id,
            parent: (&revision.parent, revision.parent_digest),
            revision: (&revision.line, result),
            cost: (usage.prompt + usage.completion, usage.dollars),
        };
        Ok(Ledger::of(&self.workspace).add(&Row::of(&head, report))?)
    }

    fn promote(&mut self, dossier: &Dossier) -> Result<(), SessionError> {
        self.record(dossier)?;
        let policy = self.state.setup.policy.map(|policy| policy.word().to_owned());
        match self.desk.promote(&dossier.proposal.id, HAND, "", policy) {
            // Its state changed since it was read: it is looked at again.
            Err(ReviewError::NotNow { .. }) => {
                self.sleep();
                Ok(())
            }
            other => Ok(other.map(|_| ())?),
        }
    }

    fn settle(
        &mut self,
        dossier: &Dossier,
        ending: Ending,
        news: &mut dyn FnMut(News),
    ) -> Result<(), SessionError> {
        self.record(dossier)?;
        let outcome = outcome(&dossier.standing, ending);
        let proposal = dossier.proposal.id.clone();
        news(News::Settled {
            proposal: proposal.clone(),
            ending,
            outcome: outcome.clone(),
        });
        self.note(Event::Settled {
            proposal,
            ending,
            outcome,
        })
    }
}

/// Whether two sets of files differ in nothing but the manifest's name, version and parent.
fn is_same(
    one: &std::collections::BTreeMap<String, String>,
    other: &std::collections::BTreeMap<String, String>,
) -> bool {
    let headless = |path: &str, text: &str| -> String {
        if path != MANIFEST {
            return text.to_owned();
        }
        let head = |line: &&str| {
            let key = line.split_once('=').map_or("", |(key, _)| key.trim());
            !matches!(key, "name" | "version" | "parent")
        };
        text.split_inclusive('\n').filter(head).collect()
    };
    one.len() == other.len()
        && one.iter().all(|(path, text)| {
            other
                .get(path)
                .is_some_and(|there| headless(path, text) == headless(path, there))
        })
}

/// What cannot be asked for.
fn check(setup: &Setup, workspace: &Workspace) -> Result<(), SessionError> {
    let wrong = |what: String, hint: &str| {
        Err(SessionError::Setup {
            what,
            hint: hint.to_owned(),
        })
    };
    if setup.seeds.is_empty() {
        return wrong(
            "no seeds are given".to_owned(),
            "give --seeds 42..51: the gate plays an episode a seed",
        );
    }
    if setup.iterations == 0 || setup.max_steps == 0 || setup.workers == 0 {
        return wrong(
            "an optimization needs at least one iteration, one step and one worker".to_owned(),
            "give --iterations, --max-steps and --workers of 1 or more",
        );
    }
    let scaffold = Scaffold::named(&setup.scaffold, workspace)?;
    let manifest = scaffold.manifest();
    if manifest.env != setup.env {
        return wrong(
            format!(
                "the scaffold {} is for {}, not for {}",
                manifest.name, manifest.env, setup.env
            ),
            "choose a scaffold for this world (`automem scaffold list`)",
        );
    }
    let named = Scaffold::files_named(&manifest.name, workspace).ok();
    if named.is_none_or(|files| digest_of(&files) != scaffold.digest()) {
        return wrong(
            format!("{} is not what the name {} stands for", setup.scaffold, manifest.name),
            "make it known first: `automem scaffold new NAME --from FOLDER`, then give that name",
        );
    }
    let folder = workspace.scaffolds_dir().join(&setup.line);
    let is_name = !setup.line.is_empty()
        && !setup.line.starts_with('.')
        && setup
            .line
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !is_name {
        return wrong(
            format!("`{}` is no name for a scaffold", setup.line),
            "letters, digits, - _ and . make one",
        );
    }
    let line_is_taken = setup.line != manifest.name && (folder.exists() || Scaffold::shipped().contains(&setup.line));
    if line_is_taken {
        return wrong(
            format!("there is a scaffold {} already", setup.line),
            "go on from it with --scaffold, or give another name with --line",
        );
    }
    if setup.line == manifest.name && !folder.exists() {
        return wrong(
            format!("{} is shipped with the program and stays what it is", setup.line),
            "give another name with --line",
        );
    }
    Ok(())
}

/// One process an optimization: the system drops the lock with the process.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    fn take(workspace: &Workspace, name: &str) -> Result<Self, SessionError> {
        let path = workspace.root().join(format!("optimize-{name}.lock"));
        let file = File::create(&path).map_err(|error| StoreError::io(&path, "created", &error))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(SessionError::Busy { name: name.to_owned() }),
            // A file system without locks: better unguarded than unusable.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { path, _file: file }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Ours while we hold it; if it cannot be removed it does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}
