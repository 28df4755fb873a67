//! The job that works on an optimization, and its news in the words of Lab.

use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::data::{Data, Event, LabNews};
use super::optimize::OptimizeRequest;
use crate::agent;
use crate::config::{Settings, Workspace};
use crate::evolve::session::{Log, News, Session, Setup};
use crate::evolve::{ReviserNews, ReviserOptions, open_reviser};
use crate::gate::{GateNews, Side};
use crate::jobs::Cancel;
use crate::llm::ModelOptions;
use crate::scaffold::{Scaffold, line_of};
use crate::types::Seeds;

/// Time between two reports of the same kind.
const REPORT: Duration = Duration::from_millis(200);

/// What is to be worked on.
pub(super) enum Job {
    /// A new optimization.
    Start(OptimizeRequest),
    /// One that is not over.
    Resume(String),
}

/// Works on an optimization until it is over or cancelled. What was reached is kept in every case.
pub(super) fn work(
    workspace: &Workspace,
    settings: &Settings,
    job: Job,
    cancel: &Cancel,
    events: &Sender<Event>,
) -> Data {
    let outcome = worked(workspace, settings, job, cancel, events).map_err(|error| format!("{error:#}"));
    Data::Lab(LabNews::Ended(outcome))
}

fn worked(
    workspace: &Workspace,
    settings: &Settings,
    job: Job,
    cancel: &Cancel,
    events: &Sender<Event>,
) -> anyhow::Result<String> {
    let options = ReviserOptions::of(workspace, settings);
    let mut session = match job {
        Job::Start(request) => {
            let setup = setup(workspace, settings, request)?;
            let (model, reviser) = (
                player(workspace, settings, &setup)?,
                open_reviser(&setup.meta, &options)?,
            );
            Session::begin(workspace, &setup, model, reviser, cancel.clone())?
        }
        Job::Resume(name) => {
            let setup = Log::open(workspace)?.one(&name)?.state.setup;
            let (model, reviser) = (
                player(workspace, settings, &setup)?,
                open_reviser(&setup.meta, &options)?,
            );
            Session::resume(workspace, &name, model, reviser, cancel.clone())?
        }
    };
    let name = session.name().to_owned();
    let tell = |news: LabNews| {
        // A screen that is gone hears nothing.
        let _ = events.send(Event::Data(Data::Lab(news)));
    };
    tell(LabNews::Began(name.clone()));
    let mut teller = Teller::new(session.state().setup.seeds.len() as u64);
    let mut over = String::new();
    let done = session.run(&mut |news| {
        if let News::Over { why, promoted } = &news {
            over = format!("{name} is over: {why}; {} promoted", promoted.len());
        }
        teller.told(&news, Instant::now()).into_iter().for_each(&tell);
    });
    match done {
        Ok(()) => Ok(over),
        Err(error) if error.is_cancelled() => {
            Ok(format!("{name} is stopped; what it did is kept, and it can be resumed"))
        }
        Err(error) => Err(error.into()),
    }
}

fn setup(workspace: &Workspace, settings: &Settings, request: OptimizeRequest) -> anyhow::Result<Setup> {
    let scaffold = Scaffold::named(&request.scaffold, workspace)?;
    let seeds: Seeds = request.seeds.parse().map_err(anyhow::Error::msg)?;
    let name = scaffold.manifest().name.clone();
    Ok(Setup {
        env: scaffold.manifest().env.clone(),
        line: line_of(&name, workspace),
        scaffold: name,
        seeds: seeds.0,
        max_steps: request.max_steps,
        workers: request.workers,
        iterations: request.iterations,
        meta: request.meta,
        meta_tokens: settings.meta.token_budget,
        model: request.model,
        specialist: settings.run.specialist.clone(),
        threads: None,
        context: None,
        sampling_seed: 0,
        policy: None,
    })
}

fn player(workspace: &Workspace, settings: &Settings, setup: &Setup) -> anyhow::Result<agent::Models> {
    let options = ModelOptions {
        slots: Some(setup.workers.saturating_mul(2)),
        ..ModelOptions::of(workspace, settings)
    };
    let specialist = setup.specialist.as_deref();
    Ok(agent::open_models(&setup.model, specialist, &setup.env, &options)?)
}

/// Turns news into lines and progress; what comes too often is thinned out.
struct Teller {
    seeds: u64,
    over: u64,
    reported: Option<Instant>,
    /// The text of the reviser that has no line end yet.
    saying: String,
}

impl Teller {
    fn new(seeds: u64) -> Self {
        Self {
            seeds,
            over: 0,
            reported: None,
            saying: String::new(),
        }
    }

    fn told(&mut self, news: &News, now: Instant) -> Vec<LabNews> {
        let does = |word: String| LabNews::Does {
            word,
            done: 0,
            total: 0,
        };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match news {
            News::Optimizing { name, stage } => vec![does(format!("{name}: {stage}"))],
            News::Parent { scaffold, reused, .. } => {
                self.over = 0;
                let how = if reused.is_some() {
                    "taking an earlier evaluation of"
                } else {
                    "evaluating"
                };
                vec![does(format!("{how} {scaffold}"))]
            }
            News::Evaluated { mean, .. } => vec![LabNews::Told(format!("the parent's mean is {}", percent(*mean)))],
            News::Gate { gate } => self.gate(gate, now),
            News::Revising {
                attempt, continuation, ..
            } => {
                let again = if *continuation { ", continued" } else { "" };
                vec![does(format!("asking for a revision, attempt {attempt}{again}"))]
            }
            News::Reviser { reviser } => self.reviser(reviser),
            News::Failed { why } => vec![LabNews::Told(format!("no revision: {why}"))],
            News::Proposed { proposal, title, parts } => {
                vec![LabNews::Told(format!("{proposal} in {parts} parts: {title}"))]
            }
            News::Waiting { proposal, parts } => {
                let what = match parts {
                    0 => "your word".to_owned(),
                    n => format!("your decisions on {n} parts"),
                };
                vec![
                    LabNews::Told(format!("{proposal} lies in Review")),
                    does(format!("{proposal} waits for {what}")),
                ]
            }
            News::Decided { proposal, policy } => vec![LabNews::Told(format!("policy {}: {proposal}", policy.word()))],
            News::Gated { proposal, report } => {
                let said = format!(
                    "gate of {proposal}: {}, {:+.1} %",
                    report.outcome.word(),
                    report.difference * 100.0
                );
                vec![LabNews::Told(said)]
            }
            News::Settled { proposal, outcome, .. } => {
                let first = outcome.lines().next().unwrap_or_default();
                vec![LabNews::Told(format!("{proposal}: {first}"))]
            }
            News::Over { why, .. } => vec![LabNews::Told(why.clone())],
        }
    }

    fn gate(&mut self, news: &GateNews, now: Instant) -> Vec<LabNews> {
        match news {
            GateNews::Playing { side, .. } => {
                self.over = 0;
                self.reported = None;
                vec![self.playing(*side)]
            }
            GateNews::Episode { side, end, .. } => {
                self.over += u64::from(end.is_some());
                let due = self.reported.is_none_or(|at| now.duration_since(at) >= REPORT);
                if !due && end.is_none() {
                    return Vec::new();
                }
                self.reported = Some(now);
                vec![self.playing(*side)]
            }
            GateNews::Trouble {
                seed, step, message, ..
            } => {
                vec![LabNews::Told(format!("seed {seed}, step {step}: {message}"))]
            }
        }
    }

    fn playing(&self, side: Side) -> LabNews {
        LabNews::Does {
            word: format!("playing the {}", side.word()),
            done: self.over,
            total: self.seeds,
        }
    }

    fn reviser(&mut self, news: &ReviserNews) -> Vec<LabNews> {
        match news {
            ReviserNews::Called { what, outcome } => vec![LabNews::Told(format!("{what}: {outcome}"))],
            ReviserNews::Says { text } => {
                self.saying.push_str(text);
                let Some((lines, rest)) = self.saying.rsplit_once('\n') else {
                    return Vec::new();
                };
                let told = lines.lines().filter(|line| !line.trim().is_empty());
                let told = told.map(|line| LabNews::Told(line.to_owned())).collect();
                self.saying = rest.to_owned();
                told
            }
            ReviserNews::Used { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::EndReason;

    fn words(news: &[LabNews]) -> Vec<String> {
        let word = |news: &LabNews| match news {
            LabNews::Does { word, done, total } => format!("{word} {done}/{total}"),
            LabNews::Told(said) => said.clone(),
            other => format!("{other:?}"),
        };
        news.iter().map(word).collect()
    }

    #[test]
    fn steps_are_thinned_out_and_ends_are_counted() {
        let mut teller = Teller::new(2);
        let begin = Instant::now();
        let episode = |end| News::Gate {
            gate: GateNews::Episode {
                side: Side::Revision,
                seed: 42,
                step: 3,
                progression: 0.1,
                end,
            },
        };
        let playing = "playing the revision";
        assert_eq!(words(&teller.told(&episode(None), begin)), [format!("{playing} 0/2")]);
        assert!(
            teller
                .told(&episode(None), begin + Duration::from_millis(50))
                .is_empty()
        );
        let end = episode(Some(EndReason::StepLimit));
        assert_eq!(words(&teller.told(&end, begin)), [format!("{playing} 1/2")]);
        assert_eq!(
            words(&teller.told(&episode(None), begin + REPORT)),
            [format!("{playing} 1/2")]
        );
    }

    #[test]
    fn what_a_reviser_says_comes_in_whole_lines() {
        let mut teller = Teller::new(1);
        let mut says = |text: &str| {
            let reviser = ReviserNews::Says { text: text.to_owned() };
            words(&teller.told(&News::Reviser { reviser }, Instant::now()))
        };
        assert!(says("the map ").is_empty());
        assert_eq!(says("repeats\n\nso I").as_slice(), ["the map repeats"]);
        assert_eq!(says("\n").as_slice(), ["so I"]);
    }

    #[test]
    fn what_cannot_be_is_told_and_begins_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let (events, _kept) = crossbeam_channel::unbounded();
        let request = OptimizeRequest {
            scaffold: "nothing".into(),
            seeds: "1".into(),
            iterations: 1,
            meta: "rules".into(),
            model: "scripted".into(),
            max_steps: 10,
            workers: 1,
        };
        let wrong = [
            request.clone(),
            OptimizeRequest {
                scaffold: "crafter-v0".into(),
                meta: "nobody".into(),
                ..request.clone()
            },
            OptimizeRequest {
                scaffold: "crafter-v0".into(),
                model: "nobody".into(),
                ..request
            },
        ];
        for request in wrong {
            let job = Job::Start(request);
            let done = work(&workspace, &Settings::default(), job, &Cancel::new(), &events);
            let Data::Lab(LabNews::Ended(Err(said))) = done else {
                panic!("{done:?}")
            };
            assert!(said.contains("nothing") || said.contains("nobody"), "{said}");
        }
        assert!(Log::open(&workspace).unwrap().list().unwrap().is_empty());
    }
}
