//! Files that are not what they should be, and disks that are full.

use std::path::{Path, PathBuf};

use super::*;

fn finished_run(dir: &Path, steps: u32) -> PathBuf {
    let path = dir.join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap();
    let mut files = MemoryFiles::new();
    for number in 0..steps {
        writer.commit(&step(0, number, &mut files)).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn problem(path: &Path) -> StoreError {
    match Reader::open(path) {
        Ok(_) => panic!("{} opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn what_is_no_run_is_named_and_left_alone() {
    let dir = folder();
    let path = dir.path().join("x.db");
    assert!(matches!(problem(&path), StoreError::NotFound { .. }));
    assert!(!path.exists());
    assert!(matches!(problem(dir.path()), StoreError::NotARun { .. }));
    for content in [
        "",
        "plain text, long enough to have been a header of a database file, and more of it. .....",
    ] {
        std::fs::write(&path, content).unwrap();
        assert!(matches!(problem(&path), StoreError::NotARun { .. }), "{content}");
        assert!(Writer::reopen(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    std::fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    let error = problem(&path).to_string();
    assert!(error.contains("x.db") && error.contains("another program"), "{error}");
    assert!(matches!(Writer::create(&path, &meta()), Err(StoreError::Exists { .. })));
}

#[test]
fn a_run_of_a_newer_program_says_which() {
    let dir = folder();
    let path = finished_run(dir.path(), 3);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 7")
        .unwrap();
    let error = problem(&path);
    assert!(matches!(error, StoreError::Newer { theirs: 7, ours: 1, .. }));
    let text = error.to_string();
    assert!(
        text.contains("run.db") && text.contains('7') && text.contains("update automem"),
        "{text}"
    );
    assert!(matches!(Writer::reopen(&path), Err(StoreError::Newer { .. })));
}

/// Reads everything there is; an error is fine, a panic is not.
fn read_all(path: &Path) -> Result<usize, StoreError> {
    let reader = Reader::open(path)?;
    let mut count = 0;
    for episode in reader.episodes()? {
        reader.timeline(episode.episode, StepNo(0))?;
        for event in reader.episode_events(episode.episode)? {
            event?;
            count += 1;
        }
        for number in [0, episode.steps / 2, episode.steps.saturating_sub(1)] {
            reader.memory_at(episode.episode, StepNo(number))?;
        }
    }
    Ok(count)
}

#[test]
fn truncated_runs_say_so() {
    let dir = folder();
    let path = finished_run(dir.path(), 700);
    let whole = std::fs::read(&path).unwrap();
    let count = read_all(&path).unwrap();
    for parts in 1..20 {
        let cut = whole.len() * parts / 20;
        std::fs::write(&path, &whole[..cut]).unwrap();
        match read_all(&path) {
            Ok(read) => assert_eq!(read, count, "a cut file gave fewer events without a word"),
            Err(error) => assert!(error.to_string().contains("run.db"), "{error}"),
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), cut as u64, "it was written to");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn damaged_runs_do_not_panic(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let dir = folder();
        let path = finished_run(dir.path(), 40);
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        let _ = read_all(&path);
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes, "reading changed the file");
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_committed() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap().with_block_steps(4);
    writer.limit_pages(60);
    let mut files = MemoryFiles::new();
    let mut number = 0;
    let error = loop {
        let mut tried = files.clone();
        let mut events = step(0, number, &mut tried);
        let noise: String = (0..4000)
            .map(|n| char::from(b'a' + (Digest::of(format!("{number} {n}")).0[0] % 26)))
            .collect();
        events.push(event(0, number, Body::Annotated { text: noise }));
        match writer.commit(&events) {
            Ok(()) => {
                files = tried;
                number += 1;
            }
            Err(error) => break error,
        }
        assert!(number < 1000, "the disk never filled");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert!(number > 4);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.last_step(EpisodeNo(0)).unwrap(), Some(StepNo(number - 1)));
    assert_eq!(
        reader.memory_at(EpisodeNo(0), StepNo(number - 1)).unwrap().texts(),
        files
    );
    // Still full: the same again. Then there is space, and the same writer goes on.
    let large = Body::Annotated {
        text: (0..100_000).map(|n| Digest::of(format!("{n}")).short()).collect(),
    };
    assert!(matches!(
        writer.commit(&[event(0, number, large)]),
        Err(StoreError::Full { .. })
    ));
    writer.limit_pages(100_000);
    writer.commit(&step(0, number, &mut files)).unwrap();
    assert_eq!(
        Reader::open(&path)
            .unwrap()
            .memory_at(EpisodeNo(0), StepNo(number))
            .unwrap()
            .texts(),
        files
    );
    drop(reader);
    writer.finish().unwrap();
    assert!(read_all(&path).unwrap() > 0);
}

#[test]
fn a_change_that_does_not_fit_commits_nothing() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap();
    let mut files = MemoryFiles::new();
    writer.commit(&step(0, 0, &mut files)).unwrap();
    let change = MemoryChange::between("nowhere.txt", Some("a"), Some("ab")).unwrap();
    let edit = Body::HumanEdited { changes: vec![change] };
    let error = writer
        .commit(&[event(0, 1, acted("Noop")), event(0, 1, edit)])
        .unwrap_err();
    assert!(error.to_string().contains("nowhere.txt"), "{error}");
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.last_step(EpisodeNo(0)).unwrap(), Some(StepNo(0)));
    writer.commit(&step(0, 1, &mut files)).unwrap();
    assert_eq!(reader.memory_at(EpisodeNo(0), StepNo(1)).unwrap().texts(), files);
}

#[test]
fn a_finished_run_opens_where_nothing_can_be_written() {
    let dir = folder();
    let path = finished_run(dir.path(), 300);
    let inner = dir.path().join("closed");
    std::fs::create_dir(&inner).unwrap();
    let moved = inner.join("run 100% #1?.db");
    std::fs::rename(&path, &moved).unwrap();
    let lock = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&moved, std::fs::Permissions::from_mode(mode & 0o444)).unwrap();
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    lock(0o555);
    let read = read_all(&moved);
    let untouched = std::fs::read_dir(&inner).unwrap().count();
    lock(0o755);
    assert!(read.unwrap() > 300);
    assert_eq!(untouched, 1);
    let immutable = super::super::schema::open_immutable_for_tests(&moved).unwrap();
    let count: i64 = immutable
        .query_row("SELECT count(*) FROM blocks", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn steps_and_episodes_that_are_not_there_say_what_is() {
    let dir = folder();
    let reader = Reader::open(finished_run(dir.path(), 3)).unwrap();
    let text = reader.step(EpisodeNo(0), StepNo(9)).unwrap_err().to_string();
    assert!(text.contains("no step 9") && text.contains("0 to 2"), "{text}");
    let text = reader.memory_at(EpisodeNo(0), StepNo(9)).unwrap_err().to_string();
    assert!(text.contains("no step 9") && text.contains("0 to 2"), "{text}");
    let text = reader.timeline(EpisodeNo(4), StepNo(0)).unwrap_err().to_string();
    assert!(
        text.contains("no episode 4") && text.contains("only episode is 0"),
        "{text}"
    );
}
