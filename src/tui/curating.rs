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
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::review::{Desk, ProposalId};
use crate::store::{Progress, Reader};
use crate::tune::postprocess::{self, Report};
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
                word: format!("reading {} runs", request.runs.len()),
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
    )?;
    Ok(Desk::open(workspace)?.propose_with(draft, &items, "rules")?)
}

/// Certifies what was accepted of a selection and writes the training set.
pub(super) fn certify(workspace: &Workspace, id: &ProposalId, cancel: &Cancel) -> Data {
    let done = Desk::open(workspace)
        .map_err(anyhow::Error::from)
        .and_then(|mut desk| {
            let out = certify::file_of(workspace, id);
            Ok(certify::certify(&mut desk, id, &out, cancel)?)
        });
    Data::Curate(match done {
        Ok(report) => CurateNews::Certified {
            proposal: id.clone(),
            report: in_words(&report),
        },
        Err(error) => CurateNews::Failed(format!("{id} is not certified: {error:#}")),
    })
}

/// The counts of the postprocess, a line each.
fn in_words(report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "postprocess: {} came in, {} came out, {} violations",
        report.raw, report.output, report.violations
    )];
    let dropped = report.dropped.iter().map(|(why, count)| format!("  dropped {count}: {}", why.replace('_', " ")));
    lines.extend(dropped);
    lines
}
