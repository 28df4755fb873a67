//! The desk from proposing to promotion and back.

use std::collections::BTreeMap;

use super::*;
use crate::config::Workspace;
use crate::llm::Usage;
use crate::scaffold::{MANIFEST, Scaffold, digest_of};

struct Room {
    _dir: tempfile::TempDir,
    workspace: Workspace,
}

fn room() -> Room {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(dir.path().join("w"));
    Room { workspace, _dir: dir }
}

fn base() -> BTreeMap<String, String> {
    Scaffold::files_named("crafter-v0", &Workspace::at("/nowhere")).unwrap()
}

fn draft(change: impl Fn(&mut BTreeMap<String, String>)) -> Draft {
    let base = base();
    let mut files = base.clone();
    change(&mut files);
    Draft {
        author: "rules".to_owned(),
        title: "write less".to_owned(),
        rationale: "too much is written".to_owned(),
        evidence: vec![],
        usage: Usage::default(),
        origin: None,
        content: Content::Revision(Box::new(RevisionContent {
            line: "crafter-v0-auto".to_owned(),
            parent: "crafter-v0".to_owned(),
            parent_digest: digest_of(&base),
            base,
            files,
        })),
    }
}

/// Two parts: a budget, and a rule in a prompt.
fn two() -> Draft {
    draft(|files| {
        let manifest = files.get_mut(MANIFEST).unwrap();
        *manifest = manifest.replace("log_turns = 3", "log_turns = 2");
        files
            .get_mut("prompts/log.md")
            .unwrap()
            .push_str("Write only what is new.\n");
    })
}

fn decide(desk: &mut Desk, id: &ProposalId, at: usize, verdict: Verdict) -> Result<Entry, ReviewError> {
    let standing = desk.dossier(id).unwrap().standing;
    let part = &standing.parts[at].part;
    let what = What::Decided {
        part: part.id.clone(),
        digest: part.digest,
        verdict,
        comment: String::new(),
        policy: None,
    };
    desk.append(id, standing.seq, "ann", what)
}

fn commit(desk: &mut Desk, id: &ProposalId) {
    let dossier = desk.dossier(id).unwrap();
    let files = dossier.standing.files(dossier.revision().unwrap());
    let result = digest_of(&files);
    let seen = dossier.standing.seq;
    let seen = desk.append(id, seen, "ann", What::Committed { result }).unwrap().seq;
    let problems = scaffold_problems(&files);
    desk.append(id, seen, "ann", What::Checked { result, problems })
        .unwrap();
}

fn scaffold_problems(files: &BTreeMap<String, String>) -> Vec<crate::scaffold::ProblemAt> {
    crate::scaffold::check(files)
}

fn state(desk: &Desk, id: &ProposalId) -> State {
    desk.dossier(id).unwrap().standing.state
}

#[test]
fn a_part_is_taken_another_left_and_the_result_becomes_the_head() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let id = desk.propose(two(), "ann").unwrap();
    let parts = desk.dossier(&id).unwrap().standing.parts;
    let ids: Vec<&str> = parts.iter().map(|slot| &*slot.part.id.0).collect();
    assert_eq!(ids, ["scaffold.toml#1", "prompts/log.md#1"]);
    decide(
        &mut desk,
        &id,
        0,
        Verdict::Reject {
            reason: Reason::Harmful,
        },
    )
    .unwrap();
    let result = digest_of(&BTreeMap::new());
    let seen = desk.dossier(&id).unwrap().standing.seq;
    let early = desk.append(&id, seen, "ann", What::Committed { result });
    assert!(matches!(early, Err(ReviewError::NotNow { .. })), "{early:?}");
    decide(&mut desk, &id, 1, Verdict::Accept).unwrap();
    commit(&mut desk, &id);
    let standing = desk.dossier(&id).unwrap().standing;
    assert_eq!((standing.state, standing.extent), (State::Checked, Some(Extent::Part)));

    let without = desk.promote(&id, "ann", " ", None);
    assert!(without.unwrap_err().to_string().contains("--overrule"));
    let head = desk.promote(&id, "ann", "I saw it play", None).unwrap();
    assert_eq!(state(&desk, &id), State::Promoted);
    let there = Scaffold::named("crafter-v0-auto", &room.workspace).unwrap();
    assert_eq!(there.digest(), head);
    assert!(there.files()["prompts/log.md"].ends_with("Write only what is new.\n"));
    assert!(there.files()[MANIFEST].contains("log_turns = 3"));
    assert_eq!(there.manifest().parent.as_deref(), Some("crafter-v0"));

    // A later one on the line is made from that head; then the first cannot be taken back before it.
    assert_eq!(desk.demote(&id, "ann", "worse").unwrap(), None);
    assert_eq!(state(&desk, &id), State::Checked);
    assert!(!room.workspace.scaffolds_dir().join("crafter-v0-auto").exists());
    desk.promote(&id, "ann", "after all", None).unwrap();
    let folder = room.workspace.scaffolds_dir().join("crafter-v0-auto");
    std::fs::write(folder.join("METHOD.md"), "edited by hand").unwrap();
    let edited = desk.demote(&id, "ann", "worse").unwrap_err();
    assert!(edited.to_string().contains("not what it promoted"), "{edited}");
    assert!(folder.join("METHOD.md").exists());
}

#[test]
fn two_people_do_not_decide_past_each_other() {
    let room = room();
    let mut one = Desk::open(&room.workspace).unwrap();
    let id = one.propose(two(), "ann").unwrap();
    let mut other = Desk::open(&room.workspace).unwrap();
    let seen = other.dossier(&id).unwrap().standing.seq;
    decide(&mut one, &id, 0, Verdict::Accept).unwrap();
    let late = other.append(
        &id,
        seen,
        "ben",
        What::Commented {
            part: None,
            text: "wait".to_owned(),
        },
    );
    match late {
        Err(ReviewError::Meanwhile { by, now, .. }) => {
            assert_eq!(by, "ann");
            assert_eq!(now, one.seq().unwrap());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(one.log().unwrap().len(), 2);
}

#[test]
fn a_decision_is_about_the_bytes_that_were_shown() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let id = desk.propose(two(), "ann").unwrap();
    let seen = desk.dossier(&id).unwrap().standing.seq;
    let what = |part: &str| What::Decided {
        part: part.into(),
        digest: crate::types::Digest::of("something else"),
        verdict: Verdict::Accept,
        comment: String::new(),
        policy: None,
    };
    let other = desk.append(&id, seen, "ann", what("scaffold.toml#1"));
    assert!(matches!(other, Err(ReviewError::OtherBytes { .. })), "{other:?}");
    let none = desk.append(&id, seen, "ann", what("scaffold.toml#9")).unwrap_err();
    assert!(none.to_string().contains("prompts/log.md#1"), "{none}");
    let nobody = desk.dossier(&"p7".into()).unwrap_err();
    assert!(nobody.to_string().contains("there is p1"), "{nobody}");
}

#[test]
fn everything_of_a_person_can_be_taken_back_in_turn() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let id = desk
        .propose(
            draft(|files| {
                let text = files.get_mut("prompts/log.md").unwrap();
                text.push_str("One.\nTwo.\n");
            }),
            "ann",
        )
        .unwrap();
    let undo = |desk: &mut Desk| {
        let dossier = desk.dossier(&id).unwrap();
        let seq = dossier.standing.last_undoable(&dossier.entries)?;
        desk.append(&id, dossier.standing.seq, "ann", What::Undone { seq })
            .unwrap();
        Some(seq)
    };
    let part = desk.dossier(&id).unwrap().standing.parts[0].part.id.clone();
    let seen = desk.dossier(&id).unwrap().standing.seq;
    desk.append(&id, seen, "ann", What::Split { part }).unwrap();
    assert_eq!(desk.dossier(&id).unwrap().standing.parts.len(), 2);
    decide(&mut desk, &id, 0, Verdict::Accept).unwrap();
    decide(
        &mut desk,
        &id,
        1,
        Verdict::Edit {
            text: "Zwei.\n".to_owned(),
        },
    )
    .unwrap();
    commit(&mut desk, &id);
    assert_eq!(state(&desk, &id), State::Checked);
    undo(&mut desk).unwrap();
    let standing = desk.dossier(&id).unwrap().standing;
    assert_eq!(
        (standing.state, standing.waiting(), standing.result),
        (State::Pending, 0, None)
    );
    undo(&mut desk).unwrap();
    undo(&mut desk).unwrap();
    assert_eq!(desk.dossier(&id).unwrap().standing.waiting(), 2);
    undo(&mut desk).unwrap();
    assert_eq!(desk.dossier(&id).unwrap().standing.parts.len(), 1);
    assert_eq!(undo(&mut desk), None);
    // Undoing is an entry like all others: nothing was removed from the log.
    assert_eq!(desk.log().unwrap().len(), 1 + 1 + 2 + 2 + 4);
}

#[test]
fn a_parent_that_changed_makes_it_stale() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let (one, other) = (desk.propose(two(), "ann").unwrap(), desk.propose(two(), "ann").unwrap());
    for at in [0, 1] {
        decide(&mut desk, &one, at, Verdict::Accept).unwrap();
    }
    commit(&mut desk, &one);
    desk.promote(&one, "ann", "tried it", None).unwrap();
    assert_eq!(state(&desk, &other), State::Stale);
    let refused = decide(&mut desk, &other, 0, Verdict::Accept).unwrap_err();
    assert!(refused.to_string().contains("stale"), "{refused}");
    let listed: Vec<State> = desk
        .list()
        .unwrap()
        .into_iter()
        .map(|standing| standing.state)
        .collect();
    assert_eq!(listed, [State::Stale, State::Promoted]);
    // With the promotion taken back, it is what it was.
    desk.demote(&one, "ann", "").unwrap();
    assert_eq!(state(&desk, &other), State::Pending);
}

#[test]
fn a_killed_promotion_is_settled_by_what_the_folder_holds() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let id = desk.propose(two(), "ann").unwrap();
    for at in [0, 1] {
        decide(&mut desk, &id, at, Verdict::Accept).unwrap();
    }
    commit(&mut desk, &id);
    let dossier = desk.dossier(&id).unwrap();
    let files = dossier.standing.files(dossier.revision().unwrap());
    let to = digest_of(&files);
    // Killed before the exchange.
    desk.append(&id, dossier.standing.seq, "ann", What::Applying { from: None, to })
        .unwrap();
    assert_eq!(state(&desk, &id), State::Applying);
    let mut desk = Desk::open(&room.workspace).unwrap();
    assert_eq!(state(&desk, &id), State::Checked);
    // Killed after it.
    let seen = desk.dossier(&id).unwrap().standing.seq;
    desk.append(&id, seen, "ann", What::Applying { from: None, to })
        .unwrap();
    let versions = crate::scaffold::Versions::open(&room.workspace).unwrap();
    versions.keep(&files, "crafter-v0-auto", None, "").unwrap();
    versions.install("crafter-v0-auto", to, None).unwrap();
    let mut desk = Desk::open(&room.workspace).unwrap();
    assert_eq!(state(&desk, &id), State::Promoted);
    // Killed while it was taken back, before the folder went.
    let seen = desk.dossier(&id).unwrap().standing.seq;
    desk.append(&id, seen, "ann", What::Demoting { to: None }).unwrap();
    let desk = Desk::open(&room.workspace).unwrap();
    assert_eq!(state(&desk, &id), State::Promoted);
}

#[test]
fn the_log_only_grows_and_what_changes_nothing_is_refused() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let nothing = desk.propose(draft(|_| {}), "ann").unwrap_err();
    assert!(nothing.to_string().contains("changes no file"), "{nothing}");
    let renamed = draft(|files| {
        let manifest = files.get_mut(MANIFEST).unwrap();
        *manifest = manifest.replace("name = \"crafter-v0\"", "name = \"other\"");
    });
    assert!(desk.propose(renamed, "ann").is_err());
    desk.propose(two(), "ann").unwrap();
    let conn = rusqlite::Connection::open(room.workspace.database()).unwrap();
    for sql in [
        "DELETE FROM review_log",
        "UPDATE review_log SET by = 'eve'",
        "DELETE FROM proposals",
        "UPDATE proposals SET body = x''",
    ] {
        assert!(conn.execute(sql, []).is_err(), "{sql}");
    }
    conn.execute(
        "INSERT INTO review_log (proposal, time, by, body) VALUES (1, '', 'new', '{\"format\":2,\"what\":\"dreamed\"}')",
        [],
    )
    .unwrap();
    let newer = desk.dossier(&"p1".into()).unwrap_err().to_string();
    assert!(newer.contains("format 2") && newer.contains("newer automem"), "{newer}");
}

#[test]
fn what_does_not_fit_together_is_not_proposed() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let outside = draft(|files| {
        files.insert("../evil.md".to_owned(), "x".to_owned());
    });
    let told = desk.propose(outside.clone(), "ann").unwrap_err().to_string();
    assert!(told.contains("../evil.md"), "{told}");
    assert!(read_draft("x.json", &write_draft(&outside)).is_err());
    let mut line = two();
    let Content::Revision(revision) = &mut line.content else {
        panic!()
    };
    revision.line = "../up".to_owned();
    assert!(desk.propose(line, "ann").is_err());
    assert_eq!(read_draft("x.json", &write_draft(&two())).unwrap(), two());
    let mut other = two();
    let Content::Revision(revision) = &mut other.content else {
        panic!()
    };
    revision.base.insert("NEW.md".to_owned(), String::new());
    for text in [
        write_draft(&other),
        "{".to_owned(),
        "{}".to_owned(),
        write_draft(&two()).replace("\"format\": 1", "\"format\": 9"),
    ] {
        assert!(read_draft("x.json", &text).unwrap_err().to_string().contains("x.json"));
    }
    assert!(desk.list().unwrap().is_empty());
}

#[test]
fn the_sample_waits_for_a_newcomer_and_its_evidence_is_in_the_sample_runs() {
    let room = room();
    let mut desk = Desk::open(&room.workspace).unwrap();
    let draft = sample(&room.workspace.runs_dir()).unwrap();
    assert!(!draft.evidence.is_empty());
    for item in &draft.evidence {
        assert!(
            item.run.starts_with(&*room.workspace.runs_dir().to_string_lossy()),
            "{}",
            item.run
        );
    }
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-runs/scripted.db");
    let reader = crate::store::Reader::open(shipped).unwrap();
    let Content::Revision(revision) = &draft.content else {
        panic!()
    };
    assert_eq!(reader.meta().scaffold.digest, revision.parent_digest);
    for item in &draft.evidence {
        reader.step(item.episode, item.step).unwrap();
    }
    let id = desk.propose(draft, "ann").unwrap();
    let standing = desk.dossier(&id).unwrap().standing;
    // Stale would mean that the shipped scaffold changed: then make the sample anew.
    assert_eq!(standing.state, State::Pending);
    assert!(standing.parts.len() > 3);
}
