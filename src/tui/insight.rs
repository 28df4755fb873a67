//! Metrics, findings and faults as the Watch screen knows them, and the job that finds them out.
//!
//! Owns what the panel remembers and what can be asked of it. How it is drawn is in `panels`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::data::{Data, Event};
use super::widgets::list::Scroll;
use crate::analysis::{Analysis, Analyst, Course, Fault, Finding, Place};
use crate::jobs::Cancel;
use crate::store::Progress;
use crate::types::{EpisodeNo, StepNo};

/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);
/// Time between two looks at a run that is being played.
const PAUSE: Duration = Duration::from_millis(400);

/// What is known of the open run.
#[derive(Debug, Default)]
pub(crate) struct Insight {
    /// The last look at it.
    pub(crate) known: Option<Arc<InsightView>>,
    /// Steps looked at, and all, while a look is under way.
    pub(crate) progress: Option<(u64, u64)>,
    /// Why the last look came to nothing.
    pub(crate) failed: Option<String>,
    /// The episode and the finished steps that the last look was asked for.
    pub(crate) asked: Option<(EpisodeNo, StepNo)>,
}

/// A look at a run.
#[derive(Debug, Clone)]
pub(crate) struct InsightView {
    /// Numbers, findings, faults.
    pub(crate) analysis: Analysis,
    /// The episode that shows.
    pub(crate) episode: EpisodeNo,
    /// Its numbers over its steps.
    pub(crate) course: Course,
}

/// News of a look.
#[derive(Debug, Clone)]
pub(crate) enum InsightNews {
    /// Steps looked at, and all of them.
    Progress(PathBuf, u64, u64),
    /// It is over.
    Known(PathBuf, Arc<InsightView>),
    /// It was cancelled.
    Stopped(PathBuf),
    /// It came to nothing: cause and next step.
    Failed(PathBuf, String),
}

/// A part of the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tab {
    /// Findings and faults.
    #[default]
    Findings,
    /// Numbers.
    Numbers,
}

/// The panel over the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InsightPanel {
    /// The part that shows.
    pub(crate) tab: Tab,
    /// Where the list of findings and faults is scrolled to.
    pub(crate) list: Scroll,
    /// Where the numbers are scrolled to.
    pub(crate) numbers: Scroll,
    /// Which of the selected one's steps the cursor was brought to.
    pub(crate) at: Option<usize>,
}

/// An entry of the list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    /// A named problem.
    Finding(&'a Finding),
    /// A failure, and what it goes back to.
    Fault(&'a Fault),
}

impl InsightView {
    /// How many entries the list has.
    pub(crate) fn len(&self) -> usize {
        self.analysis.findings.len() + self.analysis.faults.len()
    }

    /// An entry of the list: faults stand after findings.
    pub(crate) fn item(&self, at: usize) -> Option<Item<'_>> {
        let findings = &self.analysis.findings;
        match findings.get(at) {
            Some(finding) => Some(Item::Finding(finding)),
            None => self.analysis.faults.get(at - findings.len()).map(Item::Fault),
        }
    }

    /// Finished steps of an episode that were looked at.
    pub(crate) fn steps_of(&self, episode: EpisodeNo) -> u64 {
        let episodes = &self.analysis.metrics.episodes;
        episodes
            .iter()
            .find(|one| one.episode == episode)
            .map_or(0, |one| one.steps)
    }
}

impl Item<'_> {
    /// The steps that show it, in the order in which they are gone through.
    pub(crate) fn steps(&self) -> Vec<Place> {
        match self {
            Self::Finding(finding) => finding.steps.clone(),
            Self::Fault(fault) => {
                let mut steps: Vec<Place> = fault.chain.iter().map(|link| link.place).collect();
                steps.dedup();
                steps
            }
        }
    }
}

/// The job: looks at what is new in a run.
pub(super) fn measure(
    path: PathBuf,
    episode: EpisodeNo,
    analyst: &mut Option<Analyst>,
    cancel: &Cancel,
    events: &Sender<Event>,
) -> Data {
    let again = analyst.as_ref().is_some_and(|analyst| analyst.path() == path);
    if !again {
        *analyst = None;
    }
    let analyst = analyst.get_or_insert_with(|| Analyst::new(&path));
    let mut reported = Instant::now();
    let mut progress = |progress: Progress| {
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            let news = InsightNews::Progress(path.clone(), progress.done as u64, progress.total as u64);
            let _ = events.try_send(Event::Data(Data::Insight(news)));
        }
    };
    let looked = match cancel.is_cancelled() {
        true => Ok(()),
        false => analyst.go_on(cancel, &mut progress),
    };
    Data::Insight(match looked {
        _ if cancel.is_cancelled() => InsightNews::Stopped(path),
        Ok(()) => {
            if again {
                // A run that is being played has news all the time: they are not worth more than this.
                std::thread::sleep(PAUSE);
            }
            let view = InsightView {
                analysis: analyst.analysis(),
                episode,
                course: analyst.course(episode).cloned().unwrap_or_default(),
            };
            InsightNews::Known(path, Arc::new(view))
        }
        Err(error) => InsightNews::Failed(path, error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_tells_all_and_a_second_one_only_goes_on() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-runs/smollm2.db");
        let (events, _news) = crossbeam_channel::unbounded();
        let mut analyst = None;
        let mut look = |cancel: &Cancel| match measure(path.clone(), EpisodeNo(0), &mut analyst, cancel, &events) {
            Data::Insight(news) => news,
            other => panic!("{other:?}"),
        };
        let cancelled = Cancel::new();
        cancelled.cancel();
        assert!(matches!(look(&cancelled), InsightNews::Stopped(_)));
        for _ in 0..2 {
            let InsightNews::Known(_, view) = look(&Cancel::new()) else {
                panic!("not known")
            };
            assert_eq!(view.steps_of(EpisodeNo(0)), 65);
            assert_eq!(view.course.at(StepNo(9)).unwrap().1.steps, 10);
            assert_eq!(view.analysis.metrics.metrics.steps, 65);
            assert!(view.len() > 3 && view.item(view.len()).is_none());
        }
    }

    #[test]
    fn a_run_that_is_not_there_is_told() {
        let (events, _news) = crossbeam_channel::unbounded();
        let news = measure("nowhere.db".into(), EpisodeNo(0), &mut None, &Cancel::new(), &events);
        let Data::Insight(InsightNews::Failed(_, said)) = news else {
            panic!("{news:?}")
        };
        assert!(said.contains("no run at nowhere.db"), "{said}");
    }
}
