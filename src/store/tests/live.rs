//! Readers and writers at the same time, killed writers, and search.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::jobs::Cancel;

#[test]
fn a_reader_follows_a_writer_of_another_thread() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap().with_block_steps(16);
    writer.commit(&step(0, 0, &mut MemoryFiles::new())).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, path) = (&done, &path);
        let follower = scope.spawn(move || {
            let mut reader = Reader::open(path).unwrap();
            let mut seen = 0;
            let mut looks = 0;
            loop {
                let last_look = done.load(Ordering::Acquire);
                reader.refresh().unwrap();
                let marks = reader.timeline(EpisodeNo(0), StepNo(0)).unwrap();
                assert!(marks.len() >= seen, "steps went away");
                assert!(marks.iter().enumerate().all(|(at, mark)| mark.step.0 as usize == at));
                seen = marks.len();
                let last = StepNo(seen as u32 - 1);
                let record = reader.step(EpisodeNo(0), last).unwrap();
                assert!(record.outcome().is_some(), "half a step was seen");
                let memory = reader.memory_at(EpisodeNo(0), last).unwrap();
                let lines = memory.files.get("log.txt").map_or(0, |file| file.text.lines().count());
                assert_eq!(lines, last.index());
                looks += 1;
                if last_look && reader.is_finished() {
                    return (seen, looks);
                }
            }
        });
        let mut files = MemoryFiles::new();
        step(0, 0, &mut files);
        for number in 1..300 {
            writer.commit(&step(0, number, &mut files)).unwrap();
        }
        writer.finish().unwrap();
        done.store(true, Ordering::Release);
        let (seen, looks) = follower.join().unwrap();
        assert_eq!(seen, 300);
        assert!(looks > 1);
    });
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "the log went although somebody read"
    );
}

#[test]
fn what_was_committed_before_a_kill_is_there() {
    let dir = folder();
    let live = dir.path().join("live.db");
    let mut writer = Writer::create(&live, &meta()).unwrap().with_block_steps(8);
    let mut files = MemoryFiles::new();
    for number in 0..30 {
        writer.commit(&step(0, number, &mut files)).unwrap();
    }
    // The files as a killed process leaves them: with the log, and with half a transaction in it.
    writer.begin_for_tests();
    let killed = dir.path().join("killed.db");
    for end in ["", "-wal"] {
        std::fs::copy(format!("{}{end}", live.display()), format!("{}{end}", killed.display())).unwrap();
    }
    let reader = Reader::open(&killed).unwrap();
    assert_eq!(reader.last_step(EpisodeNo(0)).unwrap(), Some(StepNo(29)));
    assert!(!reader.is_finished());
    drop(reader);
    let mut again = Writer::reopen(&killed).unwrap();
    assert_eq!(again.episodes()[0].steps, 30);
    again.commit(&step(0, 30, &mut files)).unwrap();
    again.finish().unwrap();
    let reader = Reader::open(&killed).unwrap();
    assert_eq!(reader.memory_at(EpisodeNo(0), StepNo(30)).unwrap().texts(), files);
    assert_eq!(reader.steps(EpisodeNo(0), StepNo(5)..StepNo(9)).unwrap().len(), 4);
}

#[test]
fn a_second_writer_is_refused() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let writer = Writer::create(&path, &meta()).unwrap();
    let error = Writer::reopen(&path).err().unwrap();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    drop(writer);
    Writer::reopen(&path).unwrap().finish().unwrap();
}

#[test]
fn run_events_and_strangers_come_back() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap();
    let mut stranger = event(0, 0, Body::Annotated { text: "x".into() });
    stranger.at.agent = "second".into();
    stranger.at.memory_root = "elsewhere".into();
    let started = event(0, 0, Body::RunStarted { meta: Box::new(meta()) });
    let live_only = event(
        0,
        0,
        Body::TurnStarted {
            phase: Phase::Plan,
            turn: TurnNo(0),
            role: Role::Agent,
        },
    );
    writer
        .commit(&[started.clone(), event(0, 0, acted("Noop")), live_only, stranger.clone()])
        .unwrap();
    writer.commit(&[event(0, 0, Body::RunFinished)]).unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.meta(), &meta());
    let run: Vec<Event> = reader.run_events().unwrap();
    assert_eq!(run, [started, event(0, 0, Body::RunFinished)]);
    let events: Vec<Event> = reader
        .episode_events(EpisodeNo(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(events, [event(0, 0, acted("Noop")), stranger]);
}

#[test]
fn search_finds_every_place_and_can_be_cancelled() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap().with_block_steps(32);
    let mut files = MemoryFiles::from([("goals.txt".to_owned(), Arc::from("find the Golden \"apple\"\n"))]);
    let started = Body::EpisodeStarted {
        seed: 1,
        inherited: files.clone(),
    };
    writer.commit(&[event(0, 0, started)]).unwrap();
    for number in 0..300 {
        writer.commit(&step(0, number, &mut files)).unwrap();
    }
    let late = Body::Annotated {
        text: "über \\ golden \"Apple\"!".into(),
    };
    writer.commit(&[event(0, 7, late)]).unwrap();
    let reader = Reader::open(&path).unwrap();
    let find = |text: &str| {
        let mut last = Progress::default();
        let hits = reader
            .search(text, &Cancel::new(), &mut |progress| last = progress)
            .unwrap();
        assert!(text.is_empty() || last.done == last.total && last.hits == hits.len());
        hits
    };
    let places = |text: &str| -> Vec<(u32, String)> {
        find(text)
            .iter()
            .map(|hit| (hit.step.0, hit.place.to_string()))
            .collect()
    };
    assert_eq!(
        places("golden \"apple\""),
        [(0, "inherited goals.txt".to_owned()), (7, "note".to_owned())]
    );
    assert_eq!(places("ÜBER \\"), [(7, "note".to_owned())]);
    assert_eq!(places("TREE 299 steps"), [(299, "observation".to_owned())]);
    let expected = [(123, "LOG prompt 0".to_owned()), (123, "PLAN prompt 0".to_owned())];
    assert_eq!(places("step 123: what"), expected);
    assert_eq!(places("line 200 | with"), [(200, "LOG APPEND arguments".to_owned())]);
    assert_eq!(find("move west").len(), 600, "an answer and an action a step");
    assert!(find("turn_finished").is_empty(), "names of the stored form are no text");
    assert!(find("").is_empty());
    let excerpt = &find("299 steps")[0].excerpt;
    assert!(
        excerpt.contains("tree 299 steps away") && !excerpt.contains('\n'),
        "{excerpt}"
    );
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = reader.search("tree", &cancel, &mut |_| {});
    assert!(matches!(cancelled, Err(StoreError::Cancelled)));
}

#[test]
fn many_steps_at_once_are_what_one_step_at_a_time_is() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap().with_block_steps(32);
    let mut files = MemoryFiles::new();
    let started = Body::EpisodeStarted {
        seed: 1,
        inherited: files.clone(),
    };
    writer.commit(&[event(0, 0, started)]).unwrap();
    for number in 0..110 {
        writer.commit(&step(0, number, &mut files)).unwrap();
    }
    let late = Body::Annotated { text: "late".into() };
    writer.commit(&[event(0, 7, late)]).unwrap();
    let reader = Reader::open(&path).unwrap();
    let is_wanted = |body: &Body| {
        !matches!(
            body,
            Body::Observed { .. }
                | Body::TurnFinished { .. }
                | Body::ActionCommitted { .. }
                | Body::ActionRejected { .. }
                | Body::HumanActed { .. }
                | Body::StepFinished { .. }
        )
    };
    let kinds = Kinds::MEMORY | Kinds::NOTICES;
    // Inside of a block, over its border, in what is not packed yet, beyond the end.
    for (from, to) in [(0, 1), (3, 9), (20, 70), (90, 105), (100, 500), (9, 9)] {
        let found = reader.events_in(EpisodeNo(0), StepNo(from)..StepNo(to), kinds).unwrap();
        let steps = reader.steps(EpisodeNo(0), StepNo(from)..StepNo(to)).unwrap();
        let expected: Vec<Body> = steps
            .into_iter()
            .flat_map(|record| record.events)
            .filter(is_wanted)
            .collect();
        let found: Vec<Body> = found.into_iter().map(|event| event.body).collect();
        assert_eq!(found, expected, "{from}..{to}");
    }
    let start = (EpisodeNo(0), StepNo(50));
    let mut last = Progress::default();
    let picked = reader.sift(
        kinds,
        start,
        &Cancel::new(),
        &mut |progress| last = progress,
        &|_, step, events| {
            assert!(events.iter().all(|event| event.at.step == step));
            (step.0 % 2 == 0).then_some(step.0)
        },
    );
    assert_eq!(picked.unwrap(), (50..110).step_by(2).collect::<Vec<u32>>());
    assert_eq!(last.done, last.total);
    // A hit names the event that holds it.
    let hits = reader.search("late", &Cancel::new(), &mut |_| {}).unwrap();
    let record = reader.step(EpisodeNo(0), StepNo(7)).unwrap();
    assert!(matches!(&record.events[hits[0].event], Body::Annotated { text } if text == "late"));
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = reader.sift(kinds, start, &cancel, &mut |_| {}, &|_, _, _| Some(()));
    assert!(matches!(cancelled, Err(StoreError::Cancelled)));
}
