//! The thread that reads and writes proposals: one wish after the other, so that decisions are written in
//! the order in which keys were pressed.
//!
//! Owns the workspace's desk and the look for what others write. What a decision means is the desk's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::curate::CurateNews;
use super::curating;
use super::data::{Data, Event};
use super::effects::Ask;
use super::jobs;
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::review::{self, Desk, Dossier, Item, Judgement, ProposalId, ReviewError, Seq, State, What};
use crate::tune::recipe;

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
    /// The list that was told is older than what was written here.
    wrote: bool,
}

impl Keeper {
    fn new(workspace: Workspace, events: Sender<Event>) -> Self {
        Self {
            workspace,
            events,
            desk: None,
            by: review::person(),
            own: BTreeSet::new(),
            open: None,
            stamp: None,
            wrote: false,
        }
    }

    fn run(mut self, wishes: &Receiver<Ask>) {
        let mut alive = self.look();
        while alive.is_ok() {
            alive = match wishes.recv_timeout(POLL) {
                Ok(wish) => self.serve(wish).and_then(|()| self.catch_up(wishes.is_empty())),
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
        self.tell()
    }

    /// Tells the list after own writing, once no key waits any more: it takes longer than one entry.
    fn catch_up(&mut self, idle: bool) -> Result<(), Gone> {
        if !self.wrote || !idle {
            return Ok(());
        }
        self.wrote = false;
        self.stamp = Some(self.stamp());
        self.tell_list()
    }

    fn tell_list(&mut self) -> Result<(), Gone> {
        match self.desk().and_then(|desk| desk.list()) {
            Ok(list) => self.send(Data::Proposals(list)),
            Err(error) => self.send(Data::Failed(error.to_string())),
        }
    }

    /// Tells the open proposal where it went on, and the list.
    fn tell(&mut self) -> Result<(), Gone> {
        self.tell_open(false)?;
        self.tell_list()
    }

    fn tell_open(&mut self, again: bool) -> Result<(), Gone> {
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
            Ask::List => return self.tell(),
            Ask::Close => {
                self.open = None;
                return Ok(());
            }
            Ask::Open(id) => {
                return match self.desk().and_then(|desk| opened(desk, &id)) {
                    Ok((dossier, items)) => {
                        self.open = Some((id.clone(), Some((dossier.standing.seq, dossier.standing.state))));
                        if let Some(items) = items {
                            self.send(Data::Items(id, Arc::new(items)))?;
                        }
                        self.send(Data::Dossier(Arc::new(dossier)))
                    }
                    Err(error) => self.send(Data::NoDossier(error.to_string())),
                };
            }
            Ask::Sample => return self.sample(),
            Ask::Append(id, seen, entries) => self.append(&id, seen, entries),
            Ask::Judge(id, seen, items, judgement) => self.judge(&id, seen, &items, judgement),
            Ask::CommitItems(id, seen, said) => self.commit_items(&id, seen, said),
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
        self.wrote = true;
        self.tell_open(true)
    }

    /// Puts the sample proposal on the desk, with the runs its evidence is in; one that waits is opened again.
    fn sample(&mut self) -> Result<(), Gone> {
        if let Data::Failed(why) = jobs::sample(&self.workspace) {
            return self.send(Data::NoDossier(why));
        }
        let (runs, by) = (self.workspace.runs_dir(), self.by.clone());
        let made = self.desk().and_then(|desk| {
            let draft = review::sample(&runs)?;
            let known = desk
                .list()?
                .into_iter()
                .find(|standing| standing.waits() && standing.title == draft.title && standing.author == draft.author);
            match known {
                Some(standing) => Ok(standing.id),
                None => desk.propose(draft, &by),
            }
        });
        match made {
            Ok(id) => {
                self.send(Data::ShowProposal(id))?;
                self.tell()
            }
            Err(error) => self.send(Data::NoDossier(error.to_string())),
        }
    }

    /// What was written after `seen` by nobody else was seen, too: it was asked for from this screen.
    fn seen(&self, dossier: &Dossier, seen: Seq) -> Seq {
        let after = dossier.entries.iter().map(|entry| entry.seq).filter(|seq| *seq > seen);
        after.take_while(|seq| self.own.contains(seq)).last().unwrap_or(seen)
    }

    fn append(&mut self, id: &ProposalId, seen: Seq, entries: Vec<What>) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let seen = self.seen(&dossier, seen);
        let by = self.by.clone();
        let written = self.desk()?.append_all(id, seen, &by, entries)?;
        self.own.extend(written.iter().map(|entry| entry.seq));
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
        let (seen, by) = (self.seen(&dossier, seen), self.by.clone());
        let entry = self.desk()?.commit(id, seen, &by)?;
        self.own.insert(entry.seq);
        self.check(id)
    }

    fn judge(&mut self, id: &ProposalId, seen: Seq, shown: &[Item], judgement: Judgement) -> Result<(), ReviewError> {
        let dossier = self.desk()?.dossier(id)?;
        let (seen, by) = (self.seen(&dossier, seen), self.by.clone());
        let entry = self.desk()?.judge(id, seen, &by, shown, judgement)?;
        self.own.insert(entry.seq);
        Ok(())
    }

    /// Why there are fewer items than there should be stands in the log before the commitment.
    fn commit_items(&mut self, id: &ProposalId, seen: Seq, said: Option<String>) -> Result<(), ReviewError> {
        if let Some(text) = said {
            self.append(id, seen, vec![What::Commented { part: None, text }])?;
        }
        self.commit(id, seen)
    }

    /// Has the result checked beside, for it takes seconds; of a selection, certified.
    fn check(&mut self, id: &ProposalId) -> Result<(), ReviewError> {
        let (workspace, events, by, id) = (self.workspace.clone(), self.events.clone(), self.by.clone(), id.clone());
        let kind = self.desk()?.dossier(&id)?.standing.kind;
        let work = move || {
            let checked = match kind {
                "selection" => {
                    let word = format!("certifying {id}");
                    let news = CurateNews::Does {
                        word,
                        done: 0,
                        total: 0,
                    };
                    // A screen that is gone needs no answer.
                    let _ = events.send(Event::Data(Data::Curate(news)));
                    let done = curating::certify(&workspace, &id, &Cancel::new());
                    let _ = events.send(Event::Data(done));
                    return;
                }
                "recipe" => Desk::open(&workspace).and_then(|mut desk| recipe::check_proposal(&mut desk, &id, &by)),
                _ => Desk::open(&workspace).and_then(|mut desk| desk.check(&id, &by)),
            };
            if let Err(error) = checked {
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

/// A proposal, and the items of a selection.
pub(super) fn opened(desk: &Desk, id: &ProposalId) -> Result<(Dossier, Option<Vec<Item>>), ReviewError> {
    let dossier = desk.dossier(id)?;
    let items = match dossier.standing.items {
        Some(_) => Some(desk.items(&dossier)?),
        None => None,
    };
    Ok((dossier, items))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::llm::Usage;
    use crate::review::{Content, Draft, RevisionContent, Verdict};
    use crate::scaffold::{Scaffold, digest_of};

    /// Waits for news that fits.
    fn wait<T>(events: &Receiver<Event>, mut fits: impl FnMut(Data) -> Option<T>) -> T {
        for _ in 0..1_000 {
            if let Event::Data(data) = events.recv_timeout(Duration::from_secs(60)).unwrap()
                && let Some(found) = fits(data)
            {
                return found;
            }
        }
        panic!("it was never told");
    }

    fn dossier(events: &Receiver<Event>, fits: impl Fn(&Dossier) -> bool) -> Arc<Dossier> {
        wait(events, |data| match data {
            Data::Dossier(dossier) if fits(&dossier) => Some(dossier),
            _ => None,
        })
    }

    fn propose(workspace: &Workspace) -> ProposalId {
        let base = Scaffold::files_named("crafter-v0", workspace).unwrap();
        let mut files: BTreeMap<String, String> = base.clone();
        files.insert("METHOD.md".into(), "# mine\n".into());
        files.insert("prompts/new.md".into(), "x\n".into());
        let draft = Draft {
            author: "rules".into(),
            title: "t".into(),
            rationale: String::new(),
            evidence: Vec::new(),
            usage: Usage::default(),
            origin: None,
            content: Content::Revision(Box::new(RevisionContent {
                line: "mine".into(),
                parent: "crafter-v0".into(),
                parent_digest: digest_of(&base),
                base,
                files,
            })),
        };
        Desk::open(workspace).unwrap().propose(draft, "rules").unwrap()
    }

    fn accept(dossier: &Dossier, part: usize) -> What {
        let part = &dossier.standing.parts[part].part;
        What::Decided {
            part: part.id.clone(),
            digest: part.digest,
            verdict: Verdict::Accept,
            comment: String::new(),
            policy: None,
        }
    }

    #[test]
    fn own_keys_follow_each_other_and_another_hand_is_not_overwritten() {
        let room = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(room.path());
        let (sender, events) = bounded(1_000);
        let wishes = spawn(workspace.clone(), sender).unwrap();
        let none = |data| match data {
            Data::Proposals(list) => Some(list.len()),
            _ => None,
        };
        assert_eq!(wait(&events, none), 0);
        assert!(!workspace.database().exists(), "looking makes no database");
        let id = propose(&workspace);
        let one = |data| match data {
            Data::Proposals(list) if list.len() == 1 => Some(()),
            _ => None,
        };
        wait(&events, one);
        wishes.send(Ask::Open(id.clone())).unwrap();
        let first = dossier(&events, |_| true);
        // Two keys before the first answer: both know the same log.
        let seen = first.standing.seq;
        for part in 0..2 {
            wishes
                .send(Ask::Append(id.clone(), seen, vec![accept(&first, part)]))
                .unwrap();
        }
        let both = dossier(&events, |now| now.standing.waiting() == 0);
        assert_eq!(both.entries.len(), 3);
        wishes.send(Ask::Undo(id.clone(), both.standing.seq)).unwrap();
        let undone = dossier(&events, |now| now.standing.waiting() == 1);
        // Somebody else writes; a key that does not know of it is refused, and what is there is told.
        let text = "wait".to_owned();
        let theirs = What::Commented { part: None, text };
        let mut desk = Desk::open(&workspace).unwrap();
        desk.append(&id, undone.standing.seq, "grace", theirs).unwrap();
        let late = Ask::Append(id.clone(), undone.standing.seq, vec![accept(&first, 1)]);
        wishes.send(late).unwrap();
        let said = wait(&events, |data| match data {
            Data::Failed(said) => Some(said),
            _ => None,
        });
        assert!(said.contains("grace"), "{said}");
        let now = dossier(&events, |now| !now.standing.comments.is_empty());
        assert_eq!(now.standing.waiting(), 1);
        wishes
            .send(Ask::Append(id, now.standing.seq, vec![accept(&first, 1)]))
            .unwrap();
        dossier(&events, |now| now.standing.waiting() == 0);
    }

    fn select(workspace: &Workspace, count: u32) -> ProposalId {
        let item = |n: u32| Item {
            id: format!("traces:0:{n}:LOG"),
            run: 0,
            episode: crate::types::EpisodeNo(0),
            seed: 101,
            step: crate::types::StepNo(n),
            phase: crate::types::Phase::Log,
            ops: vec!["APPEND".into()],
            digest: crate::types::Digest::of(n.to_le_bytes()),
            selected: true,
            score: 0.0,
            reason: String::new(),
            note: String::new(),
            alike: None,
            facts: Default::default(),
        };
        let draft = Draft {
            author: "rules".into(),
            title: "t".into(),
            rationale: String::new(),
            evidence: Vec::new(),
            usage: Usage::default(),
            origin: None,
            content: Content::Selection(Box::new(crate::review::SelectionContent {
                env: "crafter".into(),
                scaffold: "crafter-v0".into(),
                runs: vec![crate::review::SelectedRun {
                    path: "traces.db".into(),
                    id: "traces".into(),
                }],
                criteria: String::new(),
                items: crate::types::Digest::default(),
                count: 0,
                selected: 0,
                gate_seeds: Vec::new(),
                minimum: 1,
            })),
        };
        let items: Vec<Item> = (0..count).map(item).collect();
        let mut desk = Desk::open(workspace).unwrap();
        desk.propose_with(draft, &items, "rules").unwrap()
    }

    #[test]
    fn items_come_before_their_selection_and_verdicts_on_them_follow_each_other() {
        let room = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(room.path());
        let id = select(&workspace, 4);
        let (sender, events) = bounded(1_000);
        let wishes = spawn(workspace.clone(), sender).unwrap();
        wishes.send(Ask::Open(id.clone())).unwrap();
        let items = wait(&events, |data| match data {
            Data::Items(_, items) => Some(items),
            Data::Dossier(_) => panic!("the items come first"),
            _ => None,
        });
        let first = dossier(&events, |_| true);
        // Three keys before the first answer.
        for (at, reject) in [(0, None), (1, Some(review::Reason::Other)), (2, None)] {
            let judgement = Judgement {
                items: review::Places::one(at),
                reject,
                comment: String::new(),
                filter: String::new(),
                policy: None,
            };
            wishes
                .send(Ask::Judge(
                    id.clone(),
                    first.standing.seq,
                    Arc::clone(&items),
                    judgement,
                ))
                .unwrap();
        }
        let counted = |now: &Dossier| now.standing.items.as_ref().map(|all| (all.accepted, all.rejected));
        let all = dossier(&events, |now| counted(now) == Some((2, 1)));
        wishes.send(Ask::Undo(id.clone(), all.standing.seq)).unwrap();
        let undone = dossier(&events, |now| counted(now) == Some((1, 1)));
        let said = Some("1 accepted, fewer than 300".to_owned());
        wishes
            .send(Ask::CommitItems(id.clone(), undone.standing.seq, said))
            .unwrap();
        // There is no such run, and certifying says so: by itself, so that either may come first.
        let (mut decided, mut failed) = (None, None);
        let (decided, said) = wait(&events, |data| {
            match data {
                Data::Dossier(now) if now.standing.state == State::Decided => decided = Some(now),
                Data::Curate(CurateNews::Failed(said)) => failed = Some(said),
                _ => {}
            }
            decided.clone().zip(failed.clone())
        });
        assert_eq!(decided.standing.comments[0].text, "1 accepted, fewer than 300");
        assert!(
            said.contains("p1 is not certified") && said.contains("traces.db"),
            "{said}"
        );
    }
}
