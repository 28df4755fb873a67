//! The thread that reads and writes proposals: one wish after the other, so that decisions are written in
//! the order in which keys were pressed.
//!
//! Owns the workspace's desk and the look for what others write. What a decision means is the desk's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::data::{Data, Event};
use super::effects::Ask;
use crate::config::Workspace;
use crate::review::{Desk, Dossier, ProposalId, ReviewError, Seq, State, What, check_result};
use crate::scaffold::digest_of;

/// How often it is looked whether somebody else wrote something.
const POLL: Duration = Duration::from_millis(600);
/// Wishes that may wait.
const WAITING: usize = 4096;

/// Starts the thread. It ends when the sender is dropped.
pub(super) fn spawn(workspace: Workspace, events: Sender<Event>) -> std::io::Result<Sender<Ask>> {
    let (sender, wishes) = bounded(WAITING);
    std::thread::Builder::new()
        .name("proposals".into())
        .spawn(move || Keeper::new(workspace, events).run(&wishes))?;
    Ok(sender)
}

/// The screen is gone.
struct Gone;

/// When and how long the database was written last.
type Stamp = Vec<Option<(SystemTime, u64)>>;

struct Keeper {
    workspace: Workspace,
    events: Sender<Event>,
    desk: Option<Desk>,
    by: String,
    /// Entries that were written here.
    own: BTreeSet<Seq>,
    open: Option<(ProposalId, Option<(Seq, State)>)>,
    stamp: Option<Stamp>,
}

impl Keeper {
    fn new(workspace: Workspace, events: Sender<Event>) -> Self {
        Self {
            workspace,
            events,
            desk: None,
            by: person(),
            own: BTreeSet::new(),
            open: None,
            stamp: None,
        }
    }

    fn run(mut self, wishes: &Receiver<Ask>) {
        let mut list = self.look();
        while list.is_ok() {
            list = match wishes.recv_timeout(POLL) {
                Ok(wish) => self.serve(wish),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    fn send(&self, data: Data) -> Result<(), Gone> {
        self.events.send(Event::Data(data)).map_err(|_| Gone)
    }

    fn stamp(&self) -> Stamp {
        let path = self.workspace.database();
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        [path, PathBuf::from(log)]
            .iter()
            .map(|path| {
                let meta = std::fs::metadata(path).ok()?;
                Some((meta.modified().ok()?, meta.len()))
            })
            .collect()
    }

    /// Tells what is new, if something was written since.
    fn look(&mut self) -> Result<(), Gone> {
        let stamp = self.stamp();
        if self.stamp.as_ref() == Some(&stamp) {
            return Ok(());
        }
        self.stamp = Some(stamp);
        // No database, no proposals: looking for them makes none.
        if !self.workspace.database().is_file() {
            return self.send(Data::Proposals(Vec::new()));
        }
        self.tell(false)
    }

    /// Tells the list, and the open proposal where it went on or `again` is set.
    fn tell(&mut self, again: bool) -> Result<(), Gone> {
        match self.desk().and_then(|desk| desk.list()) {
            Ok(list) => self.send(Data::Proposals(list))?,
            Err(error) => self.send(Data::Failed(error.to_string()))?,
        }
        let Some((id, known)) = self.open.clone() else {
            return Ok(());
        };
        match self.desk().and_then(|desk| desk.dossier(&id)) {
            Ok(dossier) => {
                let now = Some((dossier.standing.seq, dossier.standing.state));
                if again || now != known {
                    self.open = Some((id, now));
                    self.send(Data::Dossier(Arc::new(dossier)))?;
                }
                Ok(())
            }
            Err(error) => self.send(Data::Failed(error.to_string())),
        }
    }

    fn desk(&mut self) -> Result<&mut Desk, ReviewError> {
        match self.desk {
            Some(ref mut desk) => Ok(desk),
            None => Ok(self.desk.insert(Desk::open(&self.workspace)?)),
        }
    }

    fn serve(&mut self, wish: Ask) -> Result<(), Gone> {
        let done = match wish {
            Ask::List => return self.tell(false),
            Ask::Close => {
                self.open = None;
                return Ok(());
            }
            Ask::Open(id) => {
                return match self.desk().and_then(|desk| desk.dossier(&id)) {
                    Ok(dossier) => {
                        self.open = Some((id, Some((dossier.standing.seq, dossier.standing.state))));
                        self.send(Data::Dossier(Arc::new(dossier)))
                    }
                    Err(error) => self.send(Data::NoDossier(error.to_string())),
                };
            }
            Ask::Append(id, seen, entries) => self.append(&id, seen, entries),
            Ask::Undo(id, seen) => self.undo(&id, seen),
            Ask::Commit(id, seen) => self.commit(&id, seen),
            Ask::Check(id) => self.check(&id),
            Ask::Promote(id, overrule) => {
                let by = self.by.clone();
                self.desk()
                    .and_then(|desk| desk.promote(&id, &by, &overrule, None))
                    .map(|_| ())
            }
            Ask::Demote(id, why) => {
                let by = self.by.clone();
                self.desk().and_then(|desk| desk.demote(&id, &by, &why)).map(|_| ())
            }
        };
        if let Err(error) = done {
            self.send(Data::Failed(error.to_string()))?;
        }
        // Also after a refusal: what is there now is what the next key is about.
        self.tell(true)?;
        self.stamp = Some(self.stamp());
        Ok(())
    }

    /// What was written after `seen` by nobody else was seen, too: it was asked for from this screen.
    fn seen(&self, dossier: &Dossier, seen: Seq) -> Seq {
        let after = dossier.entries.iter().map(|entry| entry.seq).filter(|seq| *seq > seen);
        after.take_while(|seq| self.own.contains(seq)).last().unwrap_or(seen)
    }

    fn append(&mut self, id: &ProposalId, seen: Seq, entries: Vec<What>) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let mut seen = self.seen(&dossier, seen);
        let by = self.by.clone();
        for what in entries {
            seen = self.desk()?.append(id, seen, &by, what)?.seq;
            self.own.insert(seen);
        }
        Ok(())
    }

    fn undo(&mut self, id: &ProposalId, seen: Seq) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let Some(seq) = dossier.standing.last_undoable(&dossier.entries) else {
            return Err(ReviewError::NotNow {
                id: id.clone(),
                state: dossier.standing.state.word().to_owned(),
                why: "there is nothing to take back".to_owned(),
            });
        };
        self.append(id, seen, vec![What::Undone { seq }])
    }

    fn commit(&mut self, id: &ProposalId, seen: Seq) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let result = digest_of(&dossier.standing.files(dossier.revision()));
        self.append(id, seen, vec![What::Committed { result }])?;
        self.check(id)
    }

    /// Has the result checked beside, for it takes seconds.
    fn check(&mut self, id: &ProposalId) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let (workspace, events, by) = (self.workspace.clone(), self.events.clone(), self.by.clone());
        let work = move || {
            let id = dossier.standing.id.clone();
            if let Err(error) = checked(&workspace, &dossier, &by) {
                // A screen that is gone needs no answer.
                let _ = events.send(Event::Data(Data::Failed(format!("{id} is not checked: {error}"))));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("check".into()).spawn(work) {
            let _ = self.events.try_send(Event::Data(Data::Failed(format!(
                "no thread could be started: {error}; close other programs"
            ))));
        }
        Ok(())
    }
}

/// Checks what came out of the decisions, and writes that down, unless they were taken back meanwhile.
fn checked(workspace: &Workspace, dossier: &Dossier, by: &str) -> Result<(), ReviewError> {
    let files = dossier.standing.files(dossier.revision());
    let result = digest_of(&files);
    let problems = check_result(&files)?;
    let mut desk = Desk::open(workspace)?;
    let now = desk.dossier(&dossier.standing.id)?;
    if now.standing.result != Some(result) || !matches!(now.standing.state, State::Decided | State::CheckFailed) {
        return Ok(());
    }
    let what = What::Checked { result, problems };
    desk.append(&dossier.standing.id, now.standing.seq, by, what)
        .map(|_| ())
}

/// Whose hand it is.
fn person() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "person".to_owned())
}
