//! What Curate needs beside the screen: conversations read from run files, selections made, sets certified.
//!
//! Owns the threads and how their work is told. What is selected, cut and certified is `tune`'s.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::curate::{CurateNews, SelectRequest, Talk, TalkWish, Wanted};
use super::data::{Data, Event};
use super::rules::Rules;
use super::widgets::text;
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::review::{Desk, ProposalId};
use crate::store::{Progress, Reader};
use crate::tune::certify::Certified;
use crate::tune::postprocess;
use crate::tune::{TuneError, certify, conversation, harvest, propose, select};

/// Wishes that may wait; only the newest is of interest.
const WAITING: usize = 256;
/// Run files that are kept open.
const KEPT: usize = 4;
/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);

/// Starts the thread that reads conversations. It ends when the sender is dropped.
pub(super) fn spawn(events: Sender<Event>) -> std::io::Result<Sender<TalkWish>> {
    let (sender, wishes) = bounded(WAITING);
    std::thread::Builder::new()
        .name("conversations".into())
        .spawn(move || run(&wishes, &events))?;
    Ok(sender)
}

fn run(wishes: &Receiver<TalkWish>, events: &Sender<Event>) {
    let mut library = Library::default();
    while let Ok(first) = wishes.recv() {
        let newest = wishes.try_iter().last().unwrap_or(first);
        for (number, wanted) in newest.wanted.iter().enumerate() {
            // What is only likely to be wanted waits for what is wanted.
            if number > 0 && !wishes.is_empty() {
                break;
            }
            let data = Data::Talk {
                proposal: newest.proposal.clone(),
                at: wanted.at,
                talk: library.read(wanted).map(Arc::new),
            };
            if events.send(Event::Data(data)).is_err() {
                return;
            }
        }
    }
}

/// The conversations of a wish at once, for who has no thread.
pub(super) fn at_once(wish: TalkWish) -> Vec<Data> {
    let mut library = Library::default();
    let talk = |wanted: &Wanted| Data::Talk {
        proposal: wish.proposal.clone(),
        at: wanted.at,
        talk: library.read(wanted).map(Arc::new),
    };
    wish.wanted.iter().map(talk).collect()
}

/// Run files that are open, the one that was used last at the end.
#[derive(Default)]
struct Library(Vec<(PathBuf, Reader)>);

impl Library {
    fn open(&mut self, path: &Path) -> Result<&Reader, TuneError> {
        match self.0.iter().position(|(open, _)| open == path) {
            Some(at) => {
                let used = self.0.remove(at);
                self.0.push(used);
            }
            None => {
                let reader = Reader::open(path)?;
                if self.0.len() >= KEPT {
                    self.0.remove(0);
                }
                self.0.push((path.to_owned(), reader));
            }
        }
        match self.0.last() {
            Some((_, reader)) => Ok(reader),
            None => Err(TuneError::data("no run is open", "try it again")),
        }
    }

    fn read(&mut self, wanted: &Wanted) -> Result<Talk, String> {
        let said = |error: TuneError| error.to_string();
        let reader = self.open(&wanted.run).map_err(said)?;
        let messages = conversation::read(reader, wanted.episode, wanted.step, wanted.phase).map_err(said)?;
        let changed = (conversation::digest_of(&messages) != wanted.digest).then(|| {
            "this is not the conversation that was proposed: the run file is another one, and certifying will refuse it"
                .to_owned()
        });
        let (cuts, dropped) = match postprocess::clean(wanted.phase, &messages) {
            Ok(cleaned) => (cleaned.cuts, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Ok(Talk {
            vocabulary: Rules::of(reader.meta()).vocabulary,
            messages,
            cuts,
            dropped,
            changed,
        })
    }
}

/// Reads runs, selects by rules, and puts the selection on the desk.
pub(super) fn select(workspace: &Workspace, request: &SelectRequest, cancel: &Cancel, events: &Sender<Event>) -> Data {
    Data::Curate(match selected(workspace, request, cancel, events) {
        Ok(id) => CurateNews::Proposed(id),
        Err(_) if cancel.is_cancelled() => CurateNews::Failed("stopped; nothing was selected".to_owned()),
        Err(error) => CurateNews::Failed(format!("{error:#}")),
    })
}

fn selected(
    workspace: &Workspace,
    request: &SelectRequest,
    cancel: &Cancel,
    events: &Sender<Event>,
) -> anyhow::Result<ProposalId> {
    request.rules.check()?;
    let mut reported: Option<Instant> = None;
    let mut progress = |progress: Progress| {
        if reported.is_none_or(|at| at.elapsed() >= REPORT) {
            reported = Some(Instant::now());
            let news = CurateNews::Does {
                word: format!("reading {}", text::counted(request.runs.len() as u64, "run")),
                done: progress.done as u64,
                total: progress.total as u64,
            };
            // A report that finds no room is followed by another.
            let _ = events.try_send(Event::Data(Data::Curate(news)));
        }
    };
    let harvest = harvest::harvest(&request.runs, cancel, &mut progress)?;
    let choices = select::rules::select(&harvest, &request.rules, &request.gate_seeds);
    let (draft, items) = propose::selection(
        &harvest,
        &choices,
        &request.rules.write(),
        &request.gate_seeds,
        request.minimum,
        "rules",
    );
    Ok(Desk::open(workspace)?.propose_with(draft, &items, "rules")?)
}

/// Certifies what was accepted of a selection and writes the training set.
pub(super) fn certify(workspace: &Workspace, id: &ProposalId, cancel: &Cancel) -> Data {
    let done = Desk::open(workspace)
        .map_err(TuneError::from)
        .and_then(|mut desk| certify::certify(&mut desk, id, &workspace.datasets_dir(), cancel));
    Data::Curate(match done {
        Ok(certified) => CurateNews::Certified {
            proposal: id.clone(),
            report: in_words(&certified),
        },
        Err(error) => CurateNews::Failed(format!("{id} is not certified: {error}")),
    })
}

/// The counts of the postprocess, a line each.
fn in_words(certified: &Certified) -> Vec<String> {
    let report = &certified.report;
    let mut lines = vec![format!(
        "postprocess: {} came in, {} came out, {} violations",
        report.raw, report.output, report.violations
    )];
    let dropped = report.dropped.iter();
    lines.extend(dropped.map(|(why, count)| format!("dropped {count}: {}", why.replace('_', " "))));
    if certified.short > 0 {
        lines.push(format!("{} fewer than the minimum", certified.short));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{Judgement, State};
    use crate::tune::select::rules::Rules;

    fn sample(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-runs").join(name)
    }

    fn request(runs: Vec<PathBuf>) -> SelectRequest {
        SelectRequest {
            runs,
            rules: Rules::default(),
            gate_seeds: vec![1_000_001],
            minimum: 3,
        }
    }

    fn news(data: Data) -> CurateNews {
        match data {
            Data::Curate(news) => news,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn runs_become_a_selection_its_conversations_are_read_and_what_is_accepted_is_certified() {
        let room = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(room.path());
        let (events, told) = crossbeam_channel::unbounded();
        let made = select(
            &workspace,
            &request(vec![sample("crafter-v1.db")]),
            &Cancel::new(),
            &events,
        );
        let CurateNews::Proposed(id) = news(made) else {
            panic!("nothing was proposed")
        };
        assert!(
            told.try_iter()
                .any(|event| matches!(event, Event::Data(Data::Curate(CurateNews::Does { .. }))))
        );
        let mut desk = Desk::open(&workspace).unwrap();
        let dossier = desk.dossier(&id).unwrap();
        let items = desk.items(&dossier).unwrap();
        assert!(items.len() > 10, "{}", items.len());
        let wanted = |at: usize| Wanted {
            at: at as u32,
            run: sample("crafter-v1.db"),
            episode: items[at].episode,
            step: items[at].step,
            phase: items[at].phase,
            digest: items[at].digest,
        };
        // The thread answers the newest wish.
        let (sender, answers) = crossbeam_channel::unbounded();
        let wishes = spawn(sender).unwrap();
        wishes
            .send(TalkWish {
                proposal: id.clone(),
                wanted: vec![wanted(0), wanted(1)],
            })
            .unwrap();
        for place in 0..2 {
            let Ok(Event::Data(Data::Talk { at, talk, .. })) = answers.recv_timeout(Duration::from_secs(60)) else {
                panic!("no conversation")
            };
            let talk = talk.unwrap();
            assert_eq!((at, talk.changed.as_deref()), (place, None));
            assert!(talk.messages.len() >= 2 && !talk.vocabulary.is_empty());
        }
        // Another digest is said, a run that is gone is said.
        let mut wrong = wanted(0);
        wrong.digest = crate::types::Digest::of("other");
        let mut gone = wanted(1);
        gone.run = room.path().join("gone.db");
        let both = at_once(TalkWish {
            proposal: id.clone(),
            wanted: vec![wrong, gone],
        });
        let [Data::Talk { talk: Ok(changed), .. }, Data::Talk { talk: Err(why), .. }] = both.as_slice() else {
            panic!("{both:?}")
        };
        assert!(changed.changed.is_some() && why.contains("gone.db"), "{why}");
        // Nothing is certified before it is decided on.
        let early = news(certify(&workspace, &id, &Cancel::new()));
        assert!(
            matches!(&early, CurateNews::Failed(said) if said.contains("only committed decisions")),
            "{early:?}"
        );
        let judgement = Judgement {
            items: (0..items.len() as u32)
                .filter(|at| items[*at as usize].selected)
                .collect(),
            reject: None,
            comment: String::new(),
            filter: "selected".into(),
            policy: None,
        };
        let seen = dossier.standing.seq;
        let seen = desk.judge(&id, seen, "ada", &items, judgement).unwrap().seq;
        desk.commit(&id, seen, "ada").unwrap();
        let CurateNews::Certified { report, .. } = news(certify(&workspace, &id, &Cancel::new())) else {
            panic!("not certified")
        };
        assert!(report[0].contains("0 violations"), "{report:?}");
        let standing = desk.dossier(&id).unwrap().standing;
        assert_eq!(standing.state, State::Certified);
        assert!(Path::new(&standing.dataset.unwrap().0).is_file());
    }

    #[test]
    fn what_cannot_be_read_or_is_stopped_makes_no_selection() {
        let room = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(room.path());
        let (events, _kept) = crossbeam_channel::unbounded();
        let gone = request(vec![room.path().join("gone.db")]);
        let said = news(select(&workspace, &gone, &Cancel::new(), &events));
        assert!(
            matches!(&said, CurateNews::Failed(said) if said.contains("gone.db")),
            "{said:?}"
        );
        let stopped = Cancel::new();
        stopped.cancel();
        let said = news(select(
            &workspace,
            &request(vec![sample("crafter-v1.db")]),
            &stopped,
            &events,
        ));
        assert!(
            matches!(&said, CurateNews::Failed(said) if said.contains("stopped")),
            "{said:?}"
        );
        assert!(Desk::open(&workspace).unwrap().list().unwrap().is_empty());
    }
}
