//! Selections on the desk: lists of items, verdicts on many at once, undo, commitment, what follows.

use super::*;
use crate::config::Workspace;
use crate::llm::Usage;
use crate::types::{Digest, EpisodeNo, Phase, RunId, StepNo};

fn items(count: u32) -> Vec<Item> {
    (0..count)
        .map(|n| Item {
            id: format!("run:0:{n}:LOG"),
            episode: EpisodeNo(0),
            seed: 7,
            step: StepNo(n),
            phase: Phase::Log,
            ops: vec!["APPEND".to_owned()],
            digest: Digest::of(n.to_string()),
            selected: n % 2 == 0,
            run: 0,
            score: 0.0,
            reason: String::new(),
            note: String::new(),
            alike: None,
            facts: Facts::default(),
        })
        .collect()
}

fn draft() -> Draft {
    Draft {
        author: "rules".to_owned(),
        title: "a selection".to_owned(),
        rationale: String::new(),
        evidence: Vec::new(),
        usage: Usage::default(),
        origin: None,
        content: Content::Selection(Box::new(SelectionContent {
            env: "crafter".to_owned(),
            scaffold: "crafter-v0".to_owned(),
            runs: vec![SelectedRun {
                path: "a.db".to_owned(),
                id: RunId("r".into()),
            }],
            criteria: String::new(),
            items: Digest::of(""),
            count: 0,
            selected: 0,
            gate_seeds: vec![42],
            minimum: 3,
        })),
    }
}

fn judgement(places: impl IntoIterator<Item = u32>, reject: Option<Reason>) -> Judgement {
    Judgement {
        items: places.into_iter().collect(),
        reject,
        comment: String::new(),
        filter: String::new(),
        policy: None,
    }
}

struct Room {
    _dir: tempfile::TempDir,
    desk: Desk,
    id: ProposalId,
    items: Vec<Item>,
}

impl Room {
    fn new(count: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(&Workspace::at(dir.path())).unwrap();
        let items = items(count);
        let id = desk.propose_with(draft(), &items, "rules").unwrap();
        Self {
            _dir: dir,
            desk,
            id,
            items,
        }
    }

    fn standing(&self) -> Standing {
        self.desk.dossier(&self.id).unwrap().standing
    }

    fn judge(&mut self, judgement: Judgement) -> Result<Entry, ReviewError> {
        let seen = self.standing().seq;
        self.desk.judge(&self.id, seen, "ann", &self.items, judgement)
    }

    fn counts(&self) -> (u32, u32) {
        let items = self.standing().items.unwrap();
        (items.accepted, items.rejected)
    }
}

#[test]
fn items_are_kept_with_the_proposal_and_counted() {
    let room = Room::new(10);
    let dossier = room.desk.dossier(&room.id).unwrap();
    assert_eq!(room.desk.items(&dossier).unwrap(), room.items);
    let selection = dossier.selection().unwrap();
    assert_eq!((selection.count, selection.selected), (10, 5));
    assert_eq!(
        (dossier.standing.kind, dossier.standing.state),
        ("selection", State::Pending)
    );
    assert!(dossier.revision().is_err() && dossier.files().is_none());
}

#[test]
fn many_are_decided_at_once_and_everything_is_taken_back() {
    let mut room = Room::new(1000);
    room.judge(judgement(0..900, None)).unwrap();
    room.judge(judgement([3, 4, 899], Some(Reason::Harmful))).unwrap();
    assert_eq!(room.counts(), (897, 3));
    for counts in [(900, 0), (0, 0)] {
        let dossier = room.desk.dossier(&room.id).unwrap();
        let seq = dossier.standing.last_undoable(&dossier.entries).unwrap();
        room.desk
            .append(&room.id, dossier.standing.seq, "ann", What::Undone { seq })
            .unwrap();
        assert_eq!(room.counts(), counts);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut room = Room::new(4);
    for (places, said) in [(vec![4], "has 4 items"), (vec![], "has 4 items")] {
        let error = room.judge(judgement(places, None)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let seen = room.standing().seq;
    let nothing = room.desk.commit(&room.id, seen, "ann").unwrap_err().to_string();
    assert!(nothing.contains("no item is accepted"), "{nothing}");
    // Decided on another list than the one that was proposed: the commitment is refused.
    let mut others = room.items.clone();
    others[1].digest = Digest::of("something else");
    let seen = room.standing().seq;
    room.desk
        .judge(&room.id, seen, "ann", &others, judgement([1], None))
        .unwrap();
    let seen = room.standing().seq;
    let error = room.desk.commit(&room.id, seen, "ann").unwrap_err();
    assert!(matches!(error, ReviewError::OtherBytes { .. }), "{error}");
    // A part is no item, and a list must not be empty.
    let part = What::Split { part: "x".into() };
    assert!(room.desk.append(&room.id, seen, "ann", part).is_err());
    assert!(room.desk.propose_with(draft(), &[], "rules").is_err());
    let mut stray = items(1);
    stray[0].run = 9;
    assert!(room.desk.propose_with(draft(), &stray, "rules").is_err());
}

#[test]
fn a_commitment_leads_to_a_set_that_is_used() {
    let mut room = Room::new(6);
    room.judge(judgement([0, 2], None)).unwrap();
    let seen = room.standing().seq;
    room.desk.commit(&room.id, seen, "ann").unwrap();
    let standing = room.standing();
    let result = items_digest([&room.items[0], &room.items[2]]);
    assert_eq!(
        (standing.state, standing.result, standing.extent),
        (State::Decided, Some(result), Some(Extent::Part))
    );
    assert!(room.judge(judgement([1], None)).is_err());
    let certified = |result| What::Certified {
        result,
        dataset: "d.json".to_owned(),
        digest: Digest::of("d"),
        examples: 2,
    };
    let used = What::Used {
        by: "a.gguf".to_owned(),
    };
    let (id, seen) = (room.id.clone(), standing.seq);
    assert!(
        room.desk.append(&id, seen, "tune", used.clone()).is_err(),
        "not certified yet"
    );
    assert!(
        room.desk
            .append(&id, seen, "tune", certified(Digest::of("other")))
            .is_err()
    );
    let seen = room.desk.append(&id, seen, "tune", certified(result)).unwrap().seq;
    assert_eq!(room.standing().state, State::Certified);
    room.desk.append(&id, seen, "tune", used).unwrap();
    let standing = room.standing();
    assert_eq!((standing.state, standing.used_by.len()), (State::Used, 1));
    assert!(!standing.state.is_open());
}

#[test]
fn a_policy_takes_what_was_selected_or_closes_it() {
    let mut room = Room::new(6);
    let dossier = room.desk.dossier(&room.id).unwrap();
    room.desk.decide_by(Policy::Accept, &dossier, "tune").unwrap();
    assert_eq!((room.counts(), room.standing().state), ((3, 0), State::Decided));
    let log = room.desk.log().unwrap();
    let named = |entry: &Entry| matches!(&entry.what, What::Judged { policy: Some(policy), .. } if policy == "accept");
    assert!(log.iter().any(named));
    let mut room = Room::new(6);
    let dossier = room.desk.dossier(&room.id).unwrap();
    room.desk.decide_by(Policy::Reject, &dossier, "tune").unwrap();
    assert_eq!((room.counts(), room.standing().state), ((0, 3), State::Discarded));
}
