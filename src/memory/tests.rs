//! The directory against outside edits, links, quotas, faults and odd files.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::types::{Digest, Edit, MemoryFiles};

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.memory/ep_00");
        Self { _dir: dir, path }
    }

    fn memory(&self, files: &[(&str, &str)]) -> MemoryDir {
        MemoryDir::create(&self.path, &files_of(files), Quotas::default()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path.join(name), text).unwrap();
    }
}

fn files_of(files: &[(&str, &str)]) -> MemoryFiles {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), Arc::from(*text)))
        .collect()
}

fn run(memory: &mut MemoryDir, op: &str, args: &[&str]) -> (OpStatus, String) {
    let result = full(memory, op, args);
    (result.outcome.status, result.outcome.text)
}

fn full(memory: &mut MemoryDir, op: &str, args: &[&str]) -> OpResult {
    let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
    memory.run(op, &args).unwrap()
}

#[test]
fn what_each_op_says() {
    use OpStatus::{Empty, Malformed, Missing, Ok, Refused, Unchanged};
    let place = Place::new();
    let mut memory = place.memory(&[("goals.txt", "find Wood\nmake table\n"), ("map.txt", "")]);
    let cases: &[(&str, &[&str], OpStatus, &str)] = &[
        (
            "LIST",
            &[],
            Ok,
            "goals.txt (2 lines, 21 bytes)\nmap.txt (0 lines, 0 bytes)\n",
        ),
        ("READ", &["goals.txt"], Ok, "find Wood\nmake table\n"),
        ("read", &["./goals.txt"], Ok, "find Wood\nmake table\n"),
        ("READ", &["map.txt"], Empty, "the file is empty"),
        (
            "READ",
            &["no.txt"],
            Missing,
            "there is no file `no.txt`; the files are: goals.txt, map.txt",
        ),
        ("READ", &[], Malformed, "a file name is needed"),
        ("SEARCH", &["goals.txt", "wood"], Ok, "1: find Wood\n"),
        ("SEARCH", &["*", "a"], Ok, "goals.txt:\n2: make table\n"),
        ("SEARCH", &["", "a"], Ok, "goals.txt:\n2: make table\n"),
        ("SEARCH", &["g*.txt", "a"], Ok, "2: make table\n"),
        ("SEARCH", &["*", "iron"], Empty, "no line has `iron` (2 lines searched)"),
        (
            "SEARCH",
            &["x*", "iron"],
            Missing,
            "no file to search; the files are: goals.txt, map.txt",
        ),
        ("SEARCH", &["goals.txt"], Malformed, "write <|SEARCH|>file|text<|END|>"),
        ("TAIL", &["goals.txt", "1"], Ok, "make table\n"),
        ("TAIL", &["goals.txt", "1 line"], Ok, "make table\n"),
        ("TAIL", &["goals.txt"], Ok, "find Wood\nmake table\n"),
        ("TAIL", &["goals.txt", "0"], Malformed, "write <|TAIL|>file|n<|END|>"),
        ("TAIL", &["goals.txt", "many"], Malformed, "write <|TAIL|>file|n<|END|>"),
        ("COUNT", &["goals.txt"], Ok, "2 lines, 21 bytes"),
        ("COUNT", &["goals.txt", "WOOD"], Ok, "1 line with `WOOD`"),
        ("COUNT", &["goals.txt", "iron"], Empty, "0 lines with `iron`"),
        (
            "APPEND",
            &["goals.txt", "eat"],
            Ok,
            "added to `goals.txt` (now 3 lines)",
        ),
        (
            "APPEND",
            &["goals.txt", ""],
            Malformed,
            "write <|APPEND|>file|text<|END|>",
        ),
        (
            "APPEND",
            &["new.txt", "one"],
            Ok,
            "added to the new file `new.txt` (now 1 line)",
        ),
        ("WRITE", &["new.txt", "two\nthree"], Ok, "wrote `new.txt` (2 lines)"),
        (
            "WRITE",
            &["new.txt", "two\nthree\n"],
            Unchanged,
            "`new.txt` holds exactly this already",
        ),
        (
            "WRITE",
            &["new.txt", " \n"],
            Malformed,
            "write <|WRITE|>file|text<|END|>",
        ),
        ("CREATE", &["a/b.txt"], Ok, "created `a/b.txt`"),
        ("CREATE", &["a/b.txt"], Unchanged, "`a/b.txt` exists already (0 lines)"),
        (
            "CREATE",
            &["new.txt", "x"],
            Refused,
            "`new.txt` exists already (2 lines); use APPEND to add, or WRITE to replace",
        ),
        ("READ", &["a"], Refused, "`a` is a folder; name a file"),
        (
            "APPEND",
            &["new.txt/x", "y"],
            Refused,
            "`new.txt/x` is not a plain file; choose another name",
        ),
        ("DELETE", &["a/b.txt"], Ok, "deleted `a/b.txt` (0 lines)"),
        (
            "DELETE",
            &["a/b.txt"],
            Missing,
            "there is no file `a/b.txt`; the files are: goals.txt, map.txt, new.txt",
        ),
        (
            "WRITE",
            &["../../etc/passwd", "x"],
            Refused,
            "`../../etc/passwd`: paths that leave the memory directory are not allowed",
        ),
        ("FLY", &["up"], Malformed, "there is no operation `FLY`"),
    ];
    for (op, args, status, text) in cases {
        assert_eq!(
            run(&mut memory, op, args),
            (*status, (*text).to_owned()),
            "{op} {args:?}"
        );
    }
    assert_eq!(place.read("goals.txt"), "find Wood\nmake table\neat\n");
    assert!(!place.path.join("a").exists());
    assert_eq!(memory.outside_edits().unwrap(), []);
}

#[test]
fn an_append_mends_a_missing_line_end() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one")]);
    let result = full(&mut memory, "APPEND", &["a.txt", "two"]);
    assert_eq!(result.changes[0].edit, Edit::Append { text: "\ntwo\n".into() });
    assert_eq!(place.read("a.txt"), "one\ntwo\n");
}

#[test]
fn only_our_own_directory_is_cleared() {
    let place = Place::new();
    fs::create_dir_all(&place.path).unwrap();
    place.write("thesis.txt", "years of work");
    let error = MemoryDir::create(&place.path, &files_of(&[]), Quotas::default()).unwrap_err();
    assert!(matches!(error, MemoryError::NotOurs(_)), "{error}");
    assert_eq!(place.read("thesis.txt"), "years of work");
    fs::remove_file(place.path.join("thesis.txt")).unwrap();
    place.memory(&[("a.txt", "a\n"), ("b/c.txt", "c\n")]);
    let memory = place.memory(&[("d.txt", "d\n")]);
    assert_eq!(memory.files(), &files_of(&[("d.txt", "d\n")]));
    assert!(!place.path.join("a.txt").exists() && !place.path.join("b").exists());
    let error = MemoryDir::create(&place.path, &files_of(&[("../a", "")]), Quotas::default()).unwrap_err();
    assert!(matches!(error, MemoryError::BadFile { .. }), "{error}");
}

#[test]
fn outside_edits_are_found_once() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    assert_eq!(memory.outside_edits().unwrap(), []);
    place.write("a.txt", "one\nmore\n");
    // The same length, right after our own write.
    place.write("b.txt", "TWO\n");
    fs::remove_file(place.path.join("c.txt")).unwrap();
    fs::create_dir(place.path.join("d")).unwrap();
    place.write("d/e.txt", "new\n");
    place.write(".swap", "editor");
    place.write("a.txt~", "editor");
    let before = memory.files().clone();
    let mut changes = memory.outside_edits().unwrap();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let edits: Vec<_> = changes.iter().map(|change| (&*change.path, &change.edit)).collect();
    assert_eq!(
        edits,
        [
            ("a.txt", &Edit::Append { text: "more\n".into() }),
            ("b.txt", &Edit::Replace { text: "TWO\n".into() }),
            ("c.txt", &Edit::Delete),
            ("d/e.txt", &Edit::Create { text: "new\n".into() }),
        ]
    );
    let mut replayed = before;
    for change in &changes {
        change.apply(&mut replayed).unwrap();
    }
    assert_eq!(&replayed, memory.files());
    assert_eq!(memory.outside_edits().unwrap(), []);
    assert_eq!(run(&mut memory, "READ", &["d/e.txt"]).1, "new\n");
    // Once the stamps are old, nothing is read any more, and changes are found by stamp.
    std::thread::sleep(Duration::from_millis(80));
    assert_eq!(memory.outside_edits().unwrap(), []);
    place.write("b.txt", "two\n");
    assert_eq!(memory.outside_edits().unwrap().len(), 1);
}

#[test]
fn an_unseen_edit_is_never_overwritten() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    place.write("a.txt", "somebody's\n");
    place.write("new.txt", "somebody's\n");
    for (op, file) in [
        ("APPEND", "a.txt"),
        ("WRITE", "a.txt"),
        ("DELETE", "a.txt"),
        ("WRITE", "new.txt"),
    ] {
        let result = full(&mut memory, op, &[file, "mine"]);
        assert_eq!(result.outcome.status, OpStatus::Failed, "{op}");
        assert_eq!(result.changes, []);
        assert_eq!(place.read(file), "somebody's\n");
    }
    assert_eq!(memory.outside_edits().unwrap().len(), 2);
    assert_eq!(run(&mut memory, "APPEND", &["a.txt", "mine"]).0, OpStatus::Ok);
    assert_eq!(place.read("a.txt"), "somebody's\nmine\n");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    let secret = place.path.parent().unwrap().join("secret.txt");
    fs::write(&secret, "secret\n").unwrap();
    symlink(&secret, place.path.join("out.txt")).unwrap();
    symlink("..", place.path.join("up")).unwrap();
    symlink("a.txt", place.path.join("in.txt")).unwrap();
    symlink("nowhere", place.path.join("dangling.txt")).unwrap();
    assert_eq!(memory.outside_edits().unwrap(), []);
    for op in ops() {
        for file in ["out.txt", "up/secret.txt", "up/new.txt", "in.txt", "dangling.txt"] {
            let result = full(&mut memory, op.syntax.name, &[file, "1"]);
            assert!(!result.outcome.text.contains("secret\n"));
            assert_eq!(result.changes, []);
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret\n");
    assert_eq!(place.read("a.txt"), "one\n");
    assert!(!secret.parent().unwrap().join("new.txt").exists());
    // A file that is exchanged for a link after we have seen it.
    fs::remove_file(place.path.join("a.txt")).unwrap();
    symlink(&secret, place.path.join("a.txt")).unwrap();
    for op in ["APPEND", "WRITE", "DELETE"] {
        assert_eq!(run(&mut memory, op, &["a.txt", "x"]).0, OpStatus::Failed, "{op}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret\n");
}

#[test]
fn files_that_are_no_text_are_shown_and_kept() {
    let place = Place::new();
    let mut memory = place.memory(&[]);
    let bytes = b"caf\xe9\nok\n\xf0\x9f";
    place.write("latin.txt", bytes);
    assert_eq!(memory.outside_edits().unwrap().len(), 1);
    assert_eq!(run(&mut memory, "READ", &["latin.txt"]).1, "caf\u{fffd}\nok\n\u{fffd}");
    assert_eq!(memory.outside_edits().unwrap(), []);
    assert_eq!(fs::read(place.path.join("latin.txt")).unwrap(), bytes);
    assert_eq!(run(&mut memory, "APPEND", &["latin.txt", "é"]).0, OpStatus::Ok);
    assert_eq!(memory.outside_edits().unwrap(), []);
    let mut longer = bytes.to_vec();
    longer.extend_from_slice("\né\n".as_bytes());
    assert_eq!(fs::read(place.path.join("latin.txt")).unwrap(), longer);
}

#[test]
fn quotas_hold() {
    let place = Place::new();
    let quotas = Quotas {
        file_bytes: 100,
        directory_bytes: 150,
        result_bytes: 80,
        files: 3,
    };
    let mut memory = MemoryDir::create(&place.path, &files_of(&[("a.txt", "")]), quotas).unwrap();
    let (fits, long) = ("x".repeat(99), "x".repeat(100));
    assert_eq!(run(&mut memory, "WRITE", &["a.txt", &long]).0, OpStatus::Refused);
    assert_eq!(run(&mut memory, "WRITE", &["a.txt", &fits]).0, OpStatus::Ok);
    assert_eq!(run(&mut memory, "APPEND", &["a.txt", "y"]).0, OpStatus::Refused);
    assert_eq!(run(&mut memory, "WRITE", &["b.txt", &fits]).0, OpStatus::Refused);
    assert_eq!(run(&mut memory, "WRITE", &["b.txt", &fits[..49]]).0, OpStatus::Ok);
    assert_eq!(memory.bytes(), 150);
    assert_eq!(run(&mut memory, "CREATE", &["c.txt"]).0, OpStatus::Ok);
    let (status, text) = run(&mut memory, "CREATE", &["d.txt"]);
    assert_eq!(status, OpStatus::Refused);
    assert_eq!(text, "there are 3 files already; DELETE one or use one of them");
    let result = full(&mut memory, "READ", &["a.txt"]);
    assert!(result.outcome.text.len() <= 80 && result.outcome.cut > 0, "{result:?}");
    assert!(result.outcome.text.ends_with("more bytes; use TAIL or SEARCH]"));
}

#[test]
fn a_file_too_large_from_outside_is_shown_in_part() {
    let place = Place::new();
    let quotas = Quotas {
        file_bytes: 9,
        ..Quotas::default()
    };
    let mut memory = MemoryDir::create(&place.path, &files_of(&[]), quotas).unwrap();
    place.write("big.txt", "1234567é and more");
    assert_eq!(memory.outside_edits().unwrap().len(), 1);
    assert_eq!(run(&mut memory, "READ", &["big.txt"]).1, "1234567é");
    place.write("big.txt", "12345678é and more");
    memory.outside_edits().unwrap();
    assert_eq!(run(&mut memory, "READ", &["big.txt"]).1, "12345678");
    assert_eq!(memory.outside_edits().unwrap(), []);
    assert_eq!(run(&mut memory, "APPEND", &["big.txt", "x"]).0, OpStatus::Refused);
    assert_eq!(place.read("big.txt"), "12345678é and more");
    assert_eq!(run(&mut memory, "WRITE", &["big.txt", "x"]).0, OpStatus::Ok);
}

#[test]
fn a_flood_of_files_from_outside_is_taken_in_part() {
    let place = Place::new();
    let quotas = Quotas {
        files: 2,
        ..Quotas::default()
    };
    let mut memory = MemoryDir::create(&place.path, &files_of(&[("z.txt", "mine\n")]), quotas).unwrap();
    for i in 0..100 {
        place.write(&format!("{i:03}.txt"), "flood\n");
    }
    assert_eq!(memory.outside_edits().unwrap().len(), 7);
    assert_eq!(memory.outside_edits().unwrap(), []);
    assert_eq!(memory.files().len(), 8);
    assert_eq!(run(&mut memory, "READ", &["z.txt"]).1, "mine\n");
    assert_eq!(run(&mut memory, "CREATE", &["new.txt"]).0, OpStatus::Refused);
    assert_eq!(run(&mut memory, "WRITE", &["099.txt", "x"]).0, OpStatus::Failed);
}

#[test]
fn a_fault_leaves_disk_and_mirror_as_they_were() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    for (op, file) in [
        ("APPEND", "a.txt"),
        ("WRITE", "a.txt"),
        ("WRITE", "b.txt"),
        ("CREATE", "d/e.txt"),
    ] {
        memory.fail_next_write(ErrorKind::StorageFull);
        let args = [file.to_owned(), "something longer".to_owned()];
        let error = memory.run(op, &args).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(file) && told.contains("free some space"), "{told}");
        assert_eq!(memory.files(), &files_of(&[("a.txt", "one\n")]), "{op}");
        assert_eq!(memory.outside_edits().unwrap(), [], "{op}");
        let mut names: Vec<_> = fs::read_dir(&place.path)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, [".automem-memory", "a.txt"]);
        assert_eq!(place.read("a.txt"), "one\n");
    }
    assert_eq!(run(&mut memory, "APPEND", &["a.txt", "two"]).0, OpStatus::Ok);
}

#[test]
fn a_file_the_system_guards_is_told_to_the_model() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    memory.fail_next_write(ErrorKind::PermissionDenied);
    assert_eq!(run(&mut memory, "APPEND", &["a.txt", "two"]).0, OpStatus::Failed);
    assert_eq!(memory.outside_edits().unwrap(), []);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(place.path.join("probe"), "").is_ok() {
        return; // The superuser may write anywhere.
    }
    let (status, text) = run(&mut memory, "CREATE", &["b.txt"]);
    assert_eq!(
        (status, &*text),
        (OpStatus::Failed, "writing `b.txt` failed: permission denied")
    );
    let error = MemoryDir::create(place.path.join("inner"), &files_of(&[]), Quotas::default()).unwrap_err();
    assert!(error.to_string().contains("make the directory writable"), "{error}");
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_removed_directory_is_an_error() {
    let place = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    fs::remove_dir_all(&place.path).unwrap();
    let gone = |error: MemoryError| assert!(matches!(error, MemoryError::Gone(_)), "{error}");
    gone(memory.outside_edits().unwrap_err());
    for op in ["APPEND", "CREATE", "WRITE"] {
        gone(memory.run(op, &["b.txt".to_owned(), "x".to_owned()]).unwrap_err());
    }
    fs::create_dir_all(&place.path).unwrap();
    gone(memory.outside_edits().unwrap_err());
}

#[test]
fn recorded_changes_rebuild_a_directory() {
    let place = Place::new();
    let other = Place::new();
    let mut memory = place.memory(&[("a.txt", "one\n")]);
    let mut copy = other.memory(&[("a.txt", "one\n")]);
    for (op, args) in [
        ("APPEND", ["a.txt", "two"]),
        ("WRITE", ["b/c.txt", "three"]),
        ("WRITE", ["b/c.txt", "three four"]),
        ("DELETE", ["a.txt", ""]),
    ] {
        copy.apply(&full(&mut memory, op, &args).changes).unwrap();
    }
    assert_eq!(copy.files(), memory.files());
    assert_eq!(other.read("b/c.txt"), "three four\n");
    assert_eq!(copy.digest("b/c.txt"), Some(Digest::of("three four\n")));
    let error = copy
        .apply(&[MemoryChange {
            path: "no.txt".into(),
            edit: Edit::Delete,
            before_digest: None,
            after_digest: None,
        }])
        .unwrap_err();
    assert!(matches!(error, MemoryError::Apply(_)));
}

#[test]
fn opening_takes_in_what_is_there_and_tidies() {
    let place = Place::new();
    drop(place.memory(&[("a.txt", "one\n")]));
    place.write(".automem-tmp-1-0", "half a fi");
    let memory = MemoryDir::open(&place.path, Quotas::default()).unwrap();
    assert_eq!(memory.files(), &files_of(&[("a.txt", "one\n")]));
    assert!(!place.path.join(".automem-tmp-1-0").exists());
}

#[test]
fn a_watch_hints_at_changes() {
    let place = Place::new();
    let _memory = place.memory(&[]);
    let Some(watch) = Watch::start(&place.path) else { return };
    place.write("a.txt", "one\n");
    watch.hints().recv_timeout(Duration::from_secs(10)).unwrap();
}
