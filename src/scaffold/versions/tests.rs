//! Keeping and installing, with everything that can come in between.

use super::*;
use crate::scaffold::{Scaffold, read_folder};

type Files = BTreeMap<String, String>;

fn files(text: &str) -> Files {
    BTreeMap::from([
        (MANIFEST.to_owned(), format!("name = \"a\"\nversion = \"{text}\"\n")),
        ("prompts/log.md".to_owned(), format!("Write what {text} you saw.\n")),
    ])
}

struct Place {
    dir: tempfile::TempDir,
    versions: Versions,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let versions = Versions::open(&Workspace::at(dir.path())).unwrap();
        Self { dir, versions }
    }

    /// As the next start of the program finds it.
    fn again(&self) -> Versions {
        Versions::open(&Workspace::at(self.dir.path())).unwrap()
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join("scaffolds").join(name)
    }

    fn holds(&self) -> Option<Files> {
        read_folder(&self.folder("a")).ok()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("scaffolds"))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn keep(&self, text: &str) -> Digest {
        self.versions.keep(&files(text), "a", None, "").unwrap()
    }

    /// A folder that holds version 1, and the digests of 1 and 2, both kept.
    fn with_two(&self) -> (Digest, Digest) {
        let (one, two) = (self.keep("1"), self.keep("2"));
        self.versions.install("a", one, None).unwrap();
        (one, two)
    }
}

#[test]
fn equal_files_are_kept_once_and_a_later_word_fills_what_was_unknown() {
    let place = Place::new();
    let versions = &place.versions;
    let one = place.keep("1");
    assert_eq!(versions.keep(&files("1"), "b", None, "copied").unwrap(), one);
    let two = versions.keep(&files("2"), "a", Some(one), "p-7").unwrap();
    versions.keep(&files("1"), "a", Some(two), "later").unwrap();
    versions.keep(&files("2"), "a", None, "another").unwrap();
    let line = versions.of_line("a").unwrap();
    let told: Vec<_> = line
        .iter()
        .map(|v| (v.digest, v.version.as_str(), v.parent, v.note.as_str()))
        .collect();
    assert_eq!(told, [(one, "1", Some(two), "later"), (two, "2", Some(one), "p-7")]);
    let stored: i64 = versions
        .conn
        .query_row("SELECT count(*) FROM scaffold_files", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, 2);
    assert_eq!(versions.all().unwrap().len(), 3);
    assert_eq!(place.again().get(two).unwrap(), files("2"));
    assert!(matches!(
        versions.get(Digest::default()),
        Err(VersionError::Unknown { .. })
    ));
}

#[test]
fn what_cannot_be_a_scaffolds_file_or_name_is_not_kept() {
    let place = Place::new();
    let bad = BTreeMap::from([("../x".to_owned(), String::new())]);
    assert!(matches!(
        place.versions.keep(&bad, "a", None, ""),
        Err(VersionError::BadFile { .. })
    ));
    assert!(matches!(
        place.versions.keep(&files("1"), "../a", None, ""),
        Err(VersionError::BadName(_))
    ));
    assert!(matches!(place.versions.present("a/b"), Err(VersionError::BadName(_))));
    let python = BTreeMap::from([("agent.py".to_owned(), "x = 1\n".to_owned())]);
    let kept = place.versions.keep(&python, "a", None, "").unwrap();
    assert!(matches!(
        place.versions.install("a", kept, None),
        Err(VersionError::NotAScaffold(_))
    ));
}

#[test]
fn damage_is_noticed() {
    let place = Place::new();
    let one = place.keep("1");
    place
        .versions
        .conn
        .execute("UPDATE scaffold_files SET files = replace(files, 'saw', 'SAW')", [])
        .unwrap();
    assert!(matches!(place.versions.get(one), Err(VersionError::Damaged { .. })));
    assert!(place.versions.install("a", one, None).is_err());
    assert_eq!(place.names(), [""; 0]);
    std::fs::write(place.dir.path().join("other.db"), "no database at all, only words").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("workspace.db"), "no database at all, only words").unwrap();
    let error = Versions::open(&Workspace::at(elsewhere.path())).unwrap_err();
    assert!(error.to_string().contains("workspace.db"), "{error}");
}

#[test]
fn a_version_is_found_by_name_and_the_beginning_of_its_digest() {
    let place = Place::new();
    let workspace = Workspace::at(place.dir.path());
    let shipped = Scaffold::named("crafter-v0", &workspace).unwrap();
    let mut changed = shipped.files().clone();
    changed.insert("METHOD.md".to_owned(), "Changed.\n".to_owned());
    let kept = place
        .versions
        .keep(&changed, "crafter-v0", Some(shipped.digest()), "p-1")
        .unwrap();
    let named = |digest: &str| Scaffold::named(&format!("crafter-v0@{digest}"), &workspace);
    assert_eq!(named(&kept.short()).unwrap().digest(), kept);
    assert_eq!(named(&shipped.digest().short()).unwrap().digest(), shipped.digest());
    for bad in ["", "zz", "00000000000000000000000000000000"] {
        let error = named(bad).unwrap_err().to_string();
        assert!(error.contains("scaffold log crafter-v0"), "{error}");
    }
    assert!(matches!(place.versions.find("crafter-v0", ""), Ok(None)));
    let all: Vec<Digest> = (0..17).map(|n| place.keep(&n.to_string())).collect();
    let shared = all.iter().find_map(|one| {
        let first = one.to_string()[..1].to_owned();
        (all.iter().filter(|two| two.to_string().starts_with(&first)).count() > 1).then_some(first)
    });
    let error = place.versions.find("a", &shared.unwrap()).unwrap_err();
    assert!(matches!(error, VersionError::Ambiguous { .. }), "{error}");
}

#[test]
fn looking_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(dir.path());
    assert!(Versions::reading(&workspace).unwrap().is_none());
    assert!(!workspace.database().exists());
    drop(Connection::open(workspace.database()).unwrap());
    assert!(Versions::reading(&workspace).unwrap().is_none());
    drop(Versions::open(&workspace).unwrap());
    let looking = Versions::reading(&workspace).unwrap().unwrap();
    assert!(looking.keep(&files("1"), "a", None, "").is_err());
}

#[test]
fn a_version_takes_the_folders_place_and_goes_back() {
    let place = Place::new();
    let (one, two) = place.with_two();
    assert_eq!(place.holds(), Some(files("1")));
    let done = place.versions.install("a", two, Some(one)).unwrap();
    assert_eq!((done.replaced, done.left), (Some(one), None));
    assert_eq!(place.holds(), Some(files("2")));
    // Again is no fault: the caller may not know how far it came.
    assert_eq!(place.versions.install("a", two, Some(one)).unwrap().replaced, None);
    place.versions.install("a", one, Some(two)).unwrap();
    assert_eq!(place.versions.present("a").unwrap(), Some(one));
    assert_eq!(place.versions.uninstall("a", one).unwrap().replaced, Some(one));
    assert_eq!(place.versions.uninstall("a", one).unwrap().replaced, None);
    assert_eq!(place.versions.present("a").unwrap(), None);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_folder_that_was_changed_is_refused_and_stays() {
    let place = Place::new();
    let (one, two) = place.with_two();
    std::fs::write(place.folder("a").join("prompts/log.md"), "mine\n").unwrap();
    let mine = place.holds();
    for expect in [Some(one), None] {
        let error = place.versions.install("a", two, expect).unwrap_err();
        assert!(matches!(error, VersionError::Changed { found: Some(_), .. }), "{error}");
    }
    assert!(matches!(
        place.versions.uninstall("a", one),
        Err(VersionError::Changed { .. })
    ));
    assert!(matches!(
        place.versions.install("b", two, Some(one)),
        Err(VersionError::Changed { found: None, .. })
    ));
    assert_eq!(place.holds(), mine);
    // Who has seen the change may replace it, and it is kept.
    let seen = place.versions.present("a").unwrap().unwrap();
    place.versions.install("a", two, Some(seen)).unwrap();
    assert_eq!(Some(place.versions.get(seen).unwrap()), mine);
}

#[test]
fn an_edit_between_look_and_exchange_goes_back_in_its_place() {
    let place = Place::new();
    let (one, two) = place.with_two();
    let draft = place.versions.under_way(two);
    std::fs::create_dir(&draft).unwrap();
    super::super::folder::write_files(&draft, &files("2")).unwrap();
    std::fs::write(place.folder("a").join("new.md"), "written just now\n").unwrap();
    let mine = place.holds();
    let error = place
        .versions
        .put("a", &place.folder("a"), &draft, two, Some(one))
        .unwrap_err();
    assert!(matches!(error, VersionError::Changed { .. }), "{error}");
    assert_eq!(place.holds(), mine);
    // A folder that appears meanwhile is not overwritten either.
    assert!(place.versions.put("a", &place.folder("a"), &draft, two, None).is_err());
    assert_eq!(place.holds(), mine);
    // A draft that does not read back as it should never takes the name.
    std::fs::write(draft.join(MANIFEST), "").unwrap();
    assert!(
        place
            .versions
            .put("a", &place.folder("a"), &draft, two, Some(one))
            .is_err()
    );
    assert_eq!(place.holds(), mine);
}

#[test]
fn killed_at_any_moment_the_folder_is_whole_and_the_next_start_tidies() {
    let place = Place::new();
    let (one, two) = place.with_two();
    let draft = place.versions.under_way(two);
    // While the draft was written.
    std::fs::create_dir(&draft).unwrap();
    std::fs::write(draft.join(MANIFEST), &files("2")[MANIFEST][..9]).unwrap();
    place.again();
    assert_eq!((place.holds(), place.names()), (Some(files("1")), vec!["a".to_owned()]));
    // Before the exchange.
    std::fs::create_dir(&draft).unwrap();
    super::super::folder::write_files(&draft, &files("2")).unwrap();
    place.again();
    assert_eq!((place.holds(), place.names()), (Some(files("1")), vec!["a".to_owned()]));
    // After it: the old folder lies under the draft's name.
    std::fs::create_dir(&draft).unwrap();
    super::super::folder::write_files(&draft, &files("2")).unwrap();
    place.versions.exchange("a", &draft, &place.folder("a")).unwrap();
    assert_eq!(read_folder(&draft).unwrap(), files("1"));
    place.again();
    assert_eq!((place.holds(), place.names()), (Some(files("2")), vec!["a".to_owned()]));
    // Half way, where names cannot be exchanged.
    std::fs::rename(place.folder("a"), place.folder(".aside-a")).unwrap();
    place.again();
    assert_eq!((place.holds(), place.names()), (Some(files("2")), vec!["a".to_owned()]));
    // A folder under such a name whose files are not kept is not ours to remove.
    std::fs::create_dir(&draft).unwrap();
    std::fs::write(draft.join("thesis.md"), "years of work").unwrap();
    place.again();
    assert!(draft.join("thesis.md").exists());
    place.versions.install("a", one, Some(two)).unwrap();
    assert_eq!(place.holds(), Some(files("1")));
}

#[test]
fn where_names_cannot_be_exchanged_three_renames_do_it() {
    let place = Place::new();
    let (_, two) = place.with_two();
    let draft = place.versions.under_way(two);
    std::fs::create_dir(&draft).unwrap();
    super::super::folder::write_files(&draft, &files("2")).unwrap();
    place
        .versions
        .exchange_by_aside("a", &draft, &place.folder("a"))
        .unwrap();
    assert_eq!(place.holds(), Some(files("2")));
    assert_eq!(read_folder(&draft).unwrap(), files("1"));
    assert!(
        place
            .versions
            .exchange_by_aside("a", &place.folder("nothing"), &place.folder("a"))
            .is_err()
    );
    assert_eq!(place.holds(), Some(files("2")));
    assert!(!place.folder(".aside-a").exists());
}

#[test]
fn what_a_version_does_not_keep_is_left_and_told() {
    let place = Place::new();
    let (one, two) = place.with_two();
    std::fs::create_dir(place.folder("a").join(".git")).unwrap();
    std::fs::write(place.folder("a").join(".git/HEAD"), "ref").unwrap();
    let left = place.versions.install("a", two, Some(one)).unwrap().left.unwrap();
    assert!(left.join(".git/HEAD").exists() && left.join(MANIFEST).exists());
    std::fs::create_dir(place.folder("a").join("empty")).unwrap();
    let left = place.versions.uninstall("a", two).unwrap().left.unwrap();
    assert!(left.join("empty").exists());
    assert!(
        Scaffold::list(&Workspace::at(place.dir.path()))
            .iter()
            .all(|found| found.name != "a")
    );
}

#[cfg(unix)]
#[test]
fn links_and_files_in_the_way_are_left_alone() {
    let place = Place::new();
    let (one, two) = (place.keep("1"), place.keep("2"));
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.dir.path().join("scaffolds")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), place.folder("a")).unwrap();
    for expect in [None, Some(one)] {
        let error = place.versions.install("a", two, expect).unwrap_err();
        assert!(error.to_string().contains("is a link to elsewhere"), "{error}");
    }
    assert!(place.folder("a").is_symlink());
    std::fs::write(place.folder("b"), "a file").unwrap();
    let error = place.versions.install("b", two, None).unwrap_err();
    assert!(error.to_string().contains("is no folder"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let (one, two) = place.with_two();
    let scaffolds = place.dir.path().join("scaffolds");
    let mode = |bits| std::fs::set_permissions(&scaffolds, std::fs::Permissions::from_mode(bits)).unwrap();
    mode(0o555);
    // The superuser may write everywhere.
    let guarded = std::fs::write(scaffolds.join("probe"), "").is_err();
    if guarded {
        let error = place.versions.install("a", two, Some(one)).unwrap_err();
        assert!(matches!(error, VersionError::Folder { .. }), "{error}");
        assert!(place.versions.uninstall("a", one).is_err());
    }
    mode(0o755);
    assert_eq!(place.holds(), Some(files("1")));
    // A folder of scaffolds that is a file refuses everyone.
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("scaffolds"), "a file").unwrap();
    let versions = Versions::open(&Workspace::at(other.path())).unwrap();
    let kept = versions.keep(&files("1"), "a", None, "").unwrap();
    assert!(matches!(
        versions.install("a", kept, None),
        Err(VersionError::Folder { .. })
    ));
    assert_eq!(versions.get(kept).unwrap(), files("1"));
}

#[test]
fn two_do_not_install_at_once() {
    let place = Place::new();
    let (one, two) = place.with_two();
    let other = place.again();
    let held = place.versions.lock(Duration::ZERO).unwrap();
    assert!(matches!(other.lock(Duration::ZERO), Err(VersionError::Busy { .. })));
    drop(held);
    // Of two that saw the same head, one wins and the other is told.
    let three = place.keep("3");
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let start = |digest| {
            let versions = place.again();
            scope.spawn(move || versions.install("a", digest, Some(one)))
        };
        let threads = [start(two), start(three)];
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(
        outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
        1,
        "{outcomes:?}"
    );
    assert!(
        outcomes
            .iter()
            .any(|outcome| matches!(outcome, Err(VersionError::Changed { .. })))
    );
    assert!(place.holds() == Some(files("2")) || place.holds() == Some(files("3")));
}
