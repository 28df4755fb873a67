//! What every memory operation must keep, whatever it is asked: nothing leaves the directory, nothing
//! panics, changes replay, digests match, quotas hold, and disk and mirror agree. A new operation is
//! checked by standing in the table.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use automem::memory::{MemoryDir, Quotas, ops};
use automem::types::{Digest, MemoryFiles, OpStatus};
use proptest::prelude::*;

/// What stands in a file outside; no argument holds it.
const OUTSIDE: &str = "kept outside of memory";

const QUOTAS: Quotas = Quotas {
    file_bytes: 200,
    directory_bytes: 350,
    result_bytes: 200,
    files: 5,
};

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]\\.txt",
        2 => "(a|b|sub|sub/deep|x)/[ab]\\.txt",
        3 => "[a-z \n|]{0,190}",
        1 => "[0-9]{1,3}",
        1 => any::<String>(),
        3 => prop::sample::select(vec![
            "", "*", "*.txt", ".", "..", "../a.txt", "../../etc/passwd", "/etc/passwd", "a.txt/b.txt", "sub", "out.txt",
            "outdir/secret.txt", "outdir", "a\0b", ".automem-memory", ".automem-tmp-0-0", "a.txt\n", "~", "a\\b.txt",
            "-1", "99999999999999999999", "sub/../a.txt", "./a.txt", "<|END|>", "\u{1b}[2J", "C:\\a", "con", "漢.txt",
        ]).prop_map(str::to_owned),
        1 => Just("long ".repeat(100)),
        1 => Just("n".repeat(300)),
    ]
}

fn request() -> impl Strategy<Value = (String, Vec<String>)> {
    let name = prop_oneof![
        20 => (0..ops().len()).prop_map(|i| ops()[i].syntax.name.to_owned()),
        1 => any::<String>(),
    ];
    let args = prop_oneof![
        prop::collection::vec(argument(), 0..4),
        ("(sub/)?[a-g]\\.txt", "[a-z \n]{1,190}").prop_map(|(file, text)| vec![file, text]),
    ];
    (name, args)
}

/// Every file under a directory as it stands on disk, our own marker left out.
fn on_disk(dir: &Path) -> MemoryFiles {
    fn walk(root: &Path, dir: &Path, files: &mut MemoryFiles) {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let path = entry.path();
            if kind.is_dir() {
                walk(root, &path, files);
            } else if kind.is_file() && entry.file_name() != ".automem-memory" {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, Arc::from(fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut files = MemoryFiles::new();
    walk(dir, dir, &mut files);
    files
}

fn check(requests: &[(String, Vec<String>)]) -> Result<(), TestCaseError> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("ep_00");
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), OUTSIDE).unwrap();
    let initial: MemoryFiles = [("a.txt", "one\ntwo\n"), ("sub/b.txt", "")]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Arc::from(text)))
        .collect();
    let mut memory = MemoryDir::create(&root, &initial, QUOTAS).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.join("secret.txt"), root.join("out.txt")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("outdir")).unwrap();
    }
    for (op, args) in requests {
        let before = memory.files().clone();
        let result = memory
            .run(op, args)
            .map_err(|error| TestCaseError::fail(format!("{op} {args:?}: {error}")))?;
        let outcome = &result.outcome;
        let spec = ops().iter().find(|spec| spec.syntax.answers_to(op));

        prop_assert!(outcome.text.len() <= QUOTAS.result_bytes, "{op} {args:?}: {outcome:?}");
        prop_assert!(!outcome.text.is_empty(), "{op} {args:?}: the model is told something");
        prop_assert!(!outcome.text.contains(OUTSIDE));
        prop_assert!(
            !outcome.text.contains(place.path().to_str().unwrap()),
            "no path of this machine"
        );
        if outcome.status != OpStatus::Ok || !spec.is_some_and(|spec| spec.writes) {
            prop_assert!(result.changes.is_empty(), "{op} {args:?}: {result:?}");
        }
        if outcome.status == OpStatus::Ok && spec.is_some_and(|spec| spec.writes) {
            prop_assert!(!result.changes.is_empty(), "{op} {args:?}: {result:?}");
        }

        let mut replayed = before;
        for change in &result.changes {
            let digest = |files: &MemoryFiles| files.get(&change.path).map(|text| Digest::of(text.as_bytes()));
            prop_assert_eq!(digest(&replayed), change.before_digest);
            change.apply(&mut replayed).unwrap();
            prop_assert_eq!(digest(&replayed), change.after_digest);
        }
        prop_assert_eq!(&replayed, memory.files());
        prop_assert_eq!(&on_disk(&root), memory.files());
        prop_assert_eq!(memory.outside_edits().unwrap(), vec![]);

        let sizes = memory.files().values().map(|text| text.len() as u64);
        prop_assert!(sizes.clone().all(|size| size <= QUOTAS.file_bytes));
        prop_assert_eq!(sizes.clone().sum::<u64>(), memory.bytes());
        prop_assert!(memory.bytes() <= QUOTAS.directory_bytes);
        prop_assert!(memory.files().len() <= QUOTAS.files);
        for (path, text) in memory.files() {
            prop_assert_eq!(memory.digest(path), Some(Digest::of(text.as_bytes())));
        }
    }
    let names: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    prop_assert_eq!(names.len(), 2, "{:?}", names);
    prop_assert_eq!(on_disk(&outside).len(), 1);
    prop_assert_eq!(fs::read_to_string(outside.join("secret.txt")).unwrap(), OUTSIDE);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_op_keeps_the_contract(requests in prop::collection::vec(request(), 1..25)) {
        check(&requests)?;
    }
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<_> = ops()
        .iter()
        .flat_map(|op| std::iter::once(op.syntax.name).chain(op.syntax.aliases.iter().copied()))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "every name is one op's");
    for name in [
        "SEARCH", "READ", "TAIL", "COUNT", "LIST", "APPEND", "WRITE", "CREATE", "DELETE",
    ] {
        assert!(ops().iter().any(|op| op.syntax.name == name), "{name}");
    }
    for op in ops() {
        let syntax = op.syntax;
        assert!(op.reads != op.writes, "{}", syntax.name);
        assert!(!op.help.is_empty() && !op.help.contains('\n'));
        assert_eq!(syntax.name, syntax.name.to_uppercase());
        let optional = syntax.args.iter().skip_while(|arg| !arg.ends_with('?'));
        assert!(
            optional.clone().all(|arg| arg.ends_with('?')),
            "{}: optional arguments come last",
            syntax.name
        );
        assert!(op.prompt_line().starts_with(&format!("<|{}|>", syntax.name)));
    }
}
