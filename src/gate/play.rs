//! Plays a scaffold on seeds until each has a score; goes on with what an earlier process began.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::key::{Key, has_score};
use crate::agent::{self, AgentError, RunHandle, RunPlan};
use crate::env;
use crate::jobs::Cancel;
use crate::review::Score;
use crate::store::{Reader, StoreError};
use crate::types::{Body, EndReason, EpisodeNo, Event, StepNo};

/// How often seeds whose episode failed are played again.
const AGAIN: u32 = 2;
/// How long a run's silence lasts before the cancel flag is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Whose episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The scaffold that is to be beaten.
    Parent,
    /// The one that may take its place.
    Revision,
    /// Nobody's: they are played for their traces.
    Traces,
}

impl Side {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::Revision => "revision",
            Self::Traces => "traces",
        }
    }
}

/// What is told while seeds are played.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum GateNews {
    /// A run begins or goes on.
    Playing {
        /// Whose.
        side: Side,
        /// Its file.
        run: String,
        /// An earlier process began it.
        resumed: bool,
    },
    /// An episode got on by a step, or ended.
    Episode {
        /// Whose.
        side: Side,
        /// Its seed.
        seed: u64,
        /// Steps it has finished.
        step: u32,
        /// Score so far, 0 to 1.
        progression: f64,
        /// Why it ended; `None` while it is played.
        end: Option<EndReason>,
    },
    /// Something failed in an episode; it may go on all the same.
    Trouble {
        /// Whose.
        side: Side,
        /// Its seed.
        seed: u64,
        /// The step.
        step: u32,
        /// What happened.
        message: String,
    },
}

/// A scaffold's scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The run file.
    pub run: PathBuf,
    /// Seed by seed in the plan's order; `None` for what was left out because it could not help any more.
    pub scores: Vec<Option<Score>>,
}

/// Why there are no scores.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The run could not be played.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A run could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Episodes ended without a score, however often they were played.
    #[error("seed{} {} of {run} ended without a score in {tries} tries{why}; see what happened with `automem replay {run}`, then go on with `automem optimize --resume`", if .seeds.len() == 1 { "" } else { "s" }, list(.seeds))]
    NoScore {
        /// Which seeds.
        seeds: Vec<u64>,
        /// The last run.
        run: String,
        /// How often.
        tries: u32,
        /// What was said last; empty when nothing was.
        why: String,
    },
    /// A file with the run's name holds another run.
    #[error("{} is another run than the one to go on with ({what}); move it away, then go on with `automem optimize --resume`", .path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// It was cancelled; what was played is kept.
    #[error("cancelled")]
    Cancelled,
}

fn list(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Plays the plan, or goes on with its run file when that is there. `goes_on` is asked after each episode, with the
/// scores so far: when it says no the rest is left out.
///
/// # Errors
/// When the run cannot be played or recorded, or a seed gets no score. Nothing that was played is lost: the next call
/// with the same plan goes on.
pub fn evaluate(
    plan: &RunPlan,
    side: Side,
    goes_on: &dyn Fn(&[Option<Score>]) -> bool,
    cancel: &Cancel,
    news: &mut dyn FnMut(GateNews),
) -> Result<Evaluated, GateError> {
    let mut table = Table {
        scores: vec![None; plan.seeds.len()],
        goes_on,
    };
    let mut follower = Follower {
        side,
        cancel,
        news,
        said: String::new(),
    };
    let mut last = plan.out.clone();
    for round in 0..=AGAIN {
        let missing: Vec<usize> = (0..plan.seeds.len()).filter(|at| table.scores[*at].is_none()).collect();
        if missing.is_empty() || !table.goes_on() {
            break;
        }
        let plan = RunPlan {
            seeds: missing.iter().map(|at| plan.seeds[*at]).collect(),
            out: if round == 0 {
                plan.out.clone()
            } else {
                again(&plan.out, round)
            },
            ..plan.clone()
        };
        last.clone_from(&plan.out);
        follower.play(&plan, &missing, &mut table)?;
        if cancel.is_cancelled() && table.scores.contains(&None) && table.goes_on() {
            return Err(GateError::Cancelled);
        }
    }
    if table.goes_on() && table.scores.contains(&None) {
        let seeds = plan.seeds.iter().zip(&table.scores);
        return Err(GateError::NoScore {
            seeds: seeds
                .filter(|(_, score)| score.is_none())
                .map(|(seed, _)| *seed)
                .collect(),
            run: last.display().to_string(),
            tries: AGAIN + 1,
            why: if follower.said.is_empty() {
                String::new()
            } else {
                format!(": {}", follower.said)
            },
        });
    }
    Ok(Evaluated {
        run: plan.out.clone(),
        scores: table.scores,
    })
}

/// The name of a run that plays failed seeds again.
fn again(run: &Path, round: u32) -> PathBuf {
    let stem = run.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    run.with_file_name(format!("{}-again{round}.db", stem.unwrap_or_default()))
}

/// Scores as they come.
struct Table<'a> {
    scores: Vec<Option<Score>>,
    goes_on: &'a dyn Fn(&[Option<Score>]) -> bool,
}

impl Table<'_> {
    fn goes_on(&self) -> bool {
        (self.goes_on)(&self.scores)
    }

    /// Takes over what a run recorded; `places` are its seeds' places in the table.
    fn take(&mut self, run: &Path, places: &[usize]) -> Result<(), StoreError> {
        let reader = Reader::open(run)?;
        for episode in reader.episodes()?.iter().filter(|episode| has_score(episode)) {
            let Some(at) = places.get(episode.episode.index()) else {
                continue;
            };
            let marks = reader.timeline(episode.episode, StepNo(0))?;
            self.scores[*at] = Some(Score {
                progression: episode.progression,
                total_reward: episode.total_reward,
                steps: episode.steps,
                tokens: episode.prompt_tokens + episode.completion_tokens,
                seconds: marks.iter().map(|mark| f64::from(mark.ms)).sum::<f64>() / 1000.0,
            });
        }
        Ok(())
    }
}

struct Follower<'a> {
    side: Side,
    cancel: &'a Cancel,
    news: &'a mut dyn FnMut(GateNews),
    /// The last trouble.
    said: String,
}

impl Follower<'_> {
    fn play(&mut self, plan: &RunPlan, places: &[usize], table: &mut Table<'_>) -> Result<(), GateError> {
        let there = plan.out.exists();
        if there {
            let reader = Reader::open(&plan.out)?;
            if let Some(what) = differs(&reader, plan)? {
                let path = plan.out.clone();
                return Err(GateError::OtherRun { path, what });
            }
            let finished = reader.is_finished();
            drop(reader);
            table.take(&plan.out, places)?;
            if finished {
                return Ok(());
            }
        }
        let handle = if there {
            match agent::resume(&plan.out, plan.model.clone(), plan.specialist.clone()) {
                // All its episodes are over, only the run was not closed.
                Err(AgentError::Finished(_)) => return Ok(()),
                other => other?,
            }
        } else {
            agent::start(plan.clone())?
        };
        (self.news)(GateNews::Playing {
            side: self.side,
            run: plan.out.display().to_string(),
            resumed: there,
        });
        self.follow(&handle, plan, places, table);
        handle.wait()?;
        Ok(table.take(&plan.out, places)?)
    }

    /// Reads events until the run is over; leaves it at once when that is asked for, ends it when nothing can help.
    fn follow(&mut self, handle: &RunHandle, plan: &RunPlan, places: &[usize], table: &mut Table<'_>) {
        let mut stopped = false;
        let mut progress: BTreeMap<EpisodeNo, f64> = BTreeMap::new();
        loop {
            if self.cancel.is_cancelled() {
                handle.controls.abort();
            } else if !stopped && !table.goes_on() {
                stopped = true;
                handle.controls.stop();
            }
            match handle.events.recv_timeout(LOOK) {
                Ok(event) => self.tell(&event, plan, places, &mut progress, table),
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                Err(crossbeam_channel::RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn tell(
        &mut self,
        event: &Event,
        plan: &RunPlan,
        places: &[usize],
        progress: &mut BTreeMap<EpisodeNo, f64>,
        table: &mut Table<'_>,
    ) {
        let episode = event.at.episode;
        let Some(seed) = plan.seeds.get(episode.index()).copied() else {
            return;
        };
        let side = self.side;
        let told = match &event.body {
            Body::StepFinished { progression, .. } => {
                progress.insert(episode, *progression);
                GateNews::Episode {
                    side,
                    seed,
                    step: event.at.step.0 + 1,
                    progression: *progression,
                    end: None,
                }
            }
            Body::EpisodeFinished { end } => {
                let known = progress.get(&episode).copied();
                let progression = known.unwrap_or(0.0);
                let scored = known.is_some() && !matches!(end, EndReason::Stopped | EndReason::Failed);
                if let Some(at) = places.get(episode.index()).filter(|_| scored) {
                    // For the early stop alone; the record gives the whole score when the run is over.
                    table.scores[*at] = Some(Score {
                        progression,
                        total_reward: 0.0,
                        steps: event.at.step.0,
                        tokens: 0,
                        seconds: 0.0,
                    });
                }
                GateNews::Episode {
                    side,
                    seed,
                    step: event.at.step.0,
                    progression,
                    end: Some(*end),
                }
            }
            Body::ModelFailed { message, .. } | Body::WorldFailed { message } => {
                self.said.clone_from(message);
                GateNews::Trouble {
                    side,
                    seed,
                    step: event.at.step.0,
                    message: message.clone(),
                }
            }
            _ => return,
        };
        (self.news)(told);
    }
}

/// What keeps a recorded run from being this plan's.
fn differs(reader: &Reader, plan: &RunPlan) -> Result<Option<&'static str>, AgentError> {
    let Some(there) = Key::of_run(reader.meta()) else {
        return Ok(Some("it is a fork"));
    };
    let here = Key::of_plan(plan, env::open(&plan.world)?.spec());
    let compared = [
        (there.scaffold == here.scaffold, "another scaffold"),
        (
            there.model == here.model,
            "another model, or the same with other settings",
        ),
        (
            there.specialist == here.specialist,
            "another specialist, or an adapter that was trained again",
        ),
        (there.sampling == here.sampling, "another sampling"),
        (there.world == here.world, "another world, or another version of it"),
        (there.max_steps == here.max_steps, "another number of steps"),
        (there.seeds == here.seeds, "other seeds"),
        (there.exact == here.exact, "bit-exact or not"),
    ];
    Ok(compared.into_iter().find(|(same, _)| !same).map(|(_, what)| what))
}
