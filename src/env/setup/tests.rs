//! Made-up packages, served from a folder.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;

use super::packages::{Archive, Take};
use super::*;
use crate::jobs::checksum::hex;

const TAKE: &[Take] = &[
    Take {
        from: "nle/libnethack.so",
        to: "libnethack.so",
        run: false,
    },
    Take {
        from: "nle/nethackdir/dlb",
        to: "nethackdir/dlb",
        run: true,
    },
    Take {
        from: "nle/nethackdir/",
        to: "nethackdir/",
        run: false,
    },
];

/// What is in the archives of most tests.
const GOOD: &[(&str, &str)] = &[
    ("nle/libnethack.so", "the library"),
    ("nle/nethackdir/dlb", "a program"),
    ("nle/env/base.py", "Python"),
];

fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A tar.gz with any name in it, as no honest program would write it.
fn tarred(members: &[(&str, &str)], kind: u8) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, text) in members {
        let mut head = [0u8; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[100..108].copy_from_slice(b"0000644\0");
        head[124..136].copy_from_slice(format!("{:011o}\0", text.len()).as_bytes());
        head[156] = kind;
        head[157..161].copy_from_slice(b"/etc");
        head[257..263].copy_from_slice(b"ustar\0");
        head[148..156].fill(b' ');
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(head);
        tar.extend(text.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&tar).unwrap();
    gz.finish().unwrap()
}

/// A folder with an archive, the package that pins it, and an empty data directory.
struct Room {
    dir: tempfile::TempDir,
    package: Package,
}

impl Room {
    fn new(ending: &str, bytes: &[u8]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // The table's texts live as long as the program; so do those of a test.
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let archive = Archive {
            file: leak(format!("made_up-{number}{ending}")),
            system: None,
            python: "",
            bytes: bytes.len() as u64,
            sha256: leak(hex(&Sha256::digest(bytes))),
        };
        std::fs::create_dir(dir.path().join("files")).unwrap();
        std::fs::write(dir.path().join("files").join(archive.file), bytes).unwrap();
        let package = Package {
            name: "made-up",
            version: "1",
            folder: "made-up-1",
            archives: Box::leak(Box::new([archive])),
            take: TAKE,
        };
        Self { dir, package }
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("files")
    }

    fn archive(&self) -> PathBuf {
        self.files().join(self.package.archives[0].file)
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn set_up(&self) -> Result<Vec<Part>, SetupError> {
        self.set_up_with(None, &Cancel::new(), &mut |_| {})
    }

    fn set_up_with(
        &self,
        boxoban: Option<Boxoban>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Part>, SetupError> {
        let wish = Wish {
            packages: vec![self.package],
            offline: Some(self.files()),
            boxoban,
        };
        set_up(&wish, &self.data(), cancel, progress)
    }

    fn fails(&self, words: &str) {
        let error = self.set_up().unwrap_err().to_string();
        assert!(error.contains(words), "{words:?} is not in: {error}");
        assert_eq!(self.listing(), [LOCK], "something is left");
        assert!(
            self.archive().parent().unwrap().is_dir(),
            "the given folder is left alone"
        );
    }

    /// Names in the data directory.
    fn listing(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.data())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn what_is_needed_is_unpacked_and_what_is_complete_is_left_alone() {
    let room = Room::new(".whl", &zipped(GOOD));
    let mut stages = Vec::new();
    let parts = room
        .set_up_with(None, &Cancel::new(), &mut |progress| stages.push(progress.stage))
        .unwrap();
    assert_eq!((parts[0].already, parts[0].bytes), (false, 20));
    assert!(
        stages.contains(&Stage::Checking) && stages.contains(&Stage::Unpacking),
        "{stages:?}"
    );
    assert_eq!(room.listing(), [LOCK, "made-up-1"]);
    let made = room.data().join("made-up-1");
    assert_eq!(
        std::fs::read_to_string(made.join("libnethack.so")).unwrap(),
        "the library"
    );
    assert!(may_run(&made.join("nethackdir/dlb")) && !made.join("env").exists());
    #[cfg(unix)]
    assert!(!may_run(&made.join("libnethack.so")));
    let sums = std::fs::read_to_string(made.join("SHA256SUMS")).unwrap();
    assert!(
        sums.contains(&format!("{}  nethackdir/dlb\n", hex(&Sha256::digest("a program")))),
        "{sums}"
    );
    // The file is not needed any more.
    std::fs::remove_file(room.archive()).unwrap();
    assert_eq!(
        room.set_up().unwrap()[0],
        Part {
            already: true,
            ..parts[0].clone()
        }
    );
}

#[test]
fn a_source_archive_serves_as_well() {
    let room = Room::new(".tar.gz", &tarred(GOOD, b'0'));
    room.set_up().unwrap();
    let made = room.data().join("made-up-1/nethackdir/dlb");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "a program");
}

#[test]
fn a_half_made_folder_is_made_anew() {
    let room = Room::new(".whl", &zipped(GOOD));
    let made = room.data().join("made-up-1");
    std::fs::create_dir_all(made.join("nethackdir")).unwrap();
    std::fs::write(made.join("libnethack.so"), "half").unwrap();
    std::fs::create_dir(room.data().join(".setup-killed")).unwrap();
    let whole = |what: &str| {
        let parts = room.set_up().unwrap();
        assert!(!parts[0].already, "{what}");
        assert_eq!(
            std::fs::read_to_string(made.join("libnethack.so")).unwrap(),
            "the library",
            "{what}"
        );
        assert_eq!(room.listing(), [LOCK, "made-up-1"], "{what}");
    };
    whole("never sealed");
    std::fs::write(made.join("libnethack.so"), "the libraxy").unwrap();
    whole("another content");
    std::fs::remove_file(made.join("nethackdir/dlb")).unwrap();
    whole("a file is missing");
    std::fs::write(made.join("SOURCE"), "another version\n").unwrap();
    whole("from another file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let program = made.join("nethackdir/dlb");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o644)).unwrap();
        whole("a program cannot be run");
    }
}

#[test]
fn a_file_that_was_fetched_before_is_not_fetched_again() {
    let room = Room::new(".whl", &zipped(GOOD));
    let downloads = room.data().join(DOWNLOADS);
    std::fs::create_dir_all(&downloads).unwrap();
    std::fs::rename(room.archive(), downloads.join(room.package.archives[0].file)).unwrap();
    let wish = Wish {
        packages: vec![room.package],
        offline: None,
        boxoban: None,
    };
    // No index has a package of this name: it could not be fetched.
    let parts = set_up(&wish, &room.data(), &Cancel::new(), &mut |_| {}).unwrap();
    assert!(!parts[0].already);
    assert_eq!(room.listing(), [LOCK, "made-up-1"], "it is removed when it has served");
}

#[test]
fn files_that_are_wrong_missing_or_cut_are_refused() {
    let room = Room::new(".whl", &zipped(GOOD));
    std::fs::write(room.archive(), "something else").unwrap();
    room.fails(room.package.archives[0].sha256);
    std::fs::remove_file(room.archive()).unwrap();
    room.fails("pip download --no-deps");

    let bytes = zipped(GOOD);
    Room::new(".whl", &bytes[..bytes.len() - 30]).fails("cannot be unpacked");
    Room::new(".whl", b"").fails("cannot be unpacked");
    let bytes = tarred(GOOD, b'0');
    Room::new(".tar.gz", &bytes[..bytes.len() - 20]).fails("cannot be unpacked");
    Room::new(".tar.gz", b"no archive").fails("cannot be unpacked");
    Room::new(".whl", &zipped(&GOOD[..1])).fails("nle/nethackdir/dlb is not in it");
    // A flipped byte inside a member, with a checksum made for it.
    let mut bytes = zipped(&[("nle/libnethack.so", &"abc".repeat(50)), GOOD[1]]);
    bytes[50] ^= 0x55;
    Room::new(".whl", &bytes).fails("cannot be unpacked");
}

#[test]
fn nothing_comes_out_of_its_folder() {
    for name in [
        "nle/nethackdir/../../../out",
        "nle/nethackdir//etc/out",
        "nle/nethackdir/..\\out",
        "nle/nethackdir/a\nb",
    ] {
        let members = [GOOD[0], GOOD[1], (name, "x")];
        let room = Room::new(".tar.gz", &tarred(&members, b'0'));
        room.fails("leads out of its folder");
        assert!(!room.dir.path().join("out").exists());
        let room = Room::new(".whl", &zipped(&members));
        let error = room.set_up().unwrap_err().to_string();
        assert!(error.contains("cannot be unpacked"), "{error}");
        assert!(!room.dir.path().join("out").exists());
    }
    Room::new(".tar.gz", &tarred(GOOD, b'2')).fails("no plain file");
    Room::new(".tar.gz", &tarred(&[GOOD[0], GOOD[1], GOOD[1]], b'0')).fails("twice");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.add_symlink("nle/libnethack.so", "/etc/passwd", SimpleFileOptions::default())
        .unwrap();
    Room::new(".whl", &zip.finish().unwrap().into_inner()).fails("is a link");
}

#[test]
fn a_bomb_does_not_fill_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| Some((name.to_owned(), false));
    let limits = Limits {
        bytes: 100_000,
        members: 3,
    };
    let open = |name: &str, bytes: &[u8]| {
        let archive = dir.path().join(name);
        std::fs::write(&archive, bytes).unwrap();
        let into = tempfile::tempdir().unwrap();
        unpack::unpack(&archive, into.path(), &place, limits, &Cancel::new(), &mut |_| {})
            .map_err(|error| error.to_string())
    };
    let zeros = "0".repeat(60_000);
    let members = [("a", zeros.as_str()), ("b", zeros.as_str())];
    for (name, bytes) in [("x.whl", zipped(&members)), ("x.tar.gz", tarred(&members, b'0'))] {
        assert!(bytes.len() < 10_000);
        let error = open(name, &bytes).unwrap_err();
        assert!(error.contains("more than 100000 bytes"), "{error}");
    }
    let many = [("a", ""), ("b", ""), ("c", ""), ("d", "")];
    assert!(
        open("y.whl", &zipped(&many))
            .unwrap_err()
            .contains("more than 3 members")
    );
    assert!(
        open("y.tar.gz", &tarred(&many, b'0'))
            .unwrap_err()
            .contains("more than 3 members")
    );
    assert_eq!(open("z.whl", &zipped(&many[..3])).unwrap(), ["a", "b", "c"]);
}

#[test]
fn cancelling_leaves_what_was_complete() {
    let room = Room::new(".whl", &zipped(GOOD));
    for stage in [Stage::Checking, Stage::Unpacking] {
        let cancel = Cancel::new();
        let error = room.set_up_with(None, &cancel, &mut |progress| {
            if progress.stage == stage {
                cancel.cancel();
            }
        });
        assert!(matches!(error, Err(SetupError::Cancelled)), "{stage:?}");
        assert_eq!(room.listing(), [LOCK], "{stage:?}");
    }
    room.set_up().unwrap();
    // A wrong file in its place, and a half-made folder: the old one is not touched before the new one is whole.
    std::fs::write(room.data().join("made-up-1/SOURCE"), "old").unwrap();
    std::fs::write(room.archive(), "wrong").unwrap();
    assert!(matches!(room.set_up(), Err(SetupError::Checksum { .. })));
    assert!(room.data().join("made-up-1/libnethack.so").is_file());
}

#[test]
fn one_process_at_a_time() {
    let room = Room::new(".whl", &zipped(GOOD));
    std::fs::create_dir(room.data()).unwrap();
    let held = lock(&room.data()).unwrap();
    assert!(matches!(room.set_up(), Err(SetupError::Busy(_))));
    drop(held);
    room.set_up().unwrap();
}

#[test]
fn a_data_directory_that_cannot_be_made_is_named() {
    let room = Room::new(".whl", &zipped(GOOD));
    std::fs::write(room.data(), "a file").unwrap();
    let error = room.set_up().unwrap_err().to_string();
    assert!(
        error.contains("making the folder") && error.contains("AUTOMEM_NETHACK"),
        "{error}"
    );
    std::fs::remove_file(room.data()).unwrap();
    // The administrator may write everywhere.
    #[cfg(unix)]
    if !rustix::process::geteuid().is_root() {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir(room.data()).unwrap();
        std::fs::set_permissions(room.data(), std::fs::Permissions::from_mode(0o555)).unwrap();
        let error = room.set_up().unwrap_err().to_string();
        assert!(error.contains("yours to write"), "{error}");
        std::fs::set_permissions(room.data(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_system_without_a_file_is_told_before_anything_is_made() {
    let error = obtain::archive_of(&packages::NLE, ("macos", "aarch64"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nle 1.3.0") && error.contains("linux aarch64"),
        "{error}"
    );
}

#[test]
fn boxoban_levels_come_from_a_folder() {
    let room = Room::new(".whl", &zipped(GOOD));
    let levels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nethack/boxoban");
    let set_up = |from: &Path| room.set_up_with(Some(Boxoban::Folder(from.to_owned())), &Cancel::new(), &mut |_| {});
    let parts = set_up(&levels).unwrap();
    assert_eq!((parts[1].name, parts[1].already), (BOXOBAN, false));
    for file in ["medium/train/000.txt", "hard/000.txt", "LICENSE"] {
        let copied = std::fs::read(room.data().join(BOXOBAN).join(file)).unwrap();
        assert_eq!(copied, std::fs::read(levels.join(file)).unwrap(), "{file}");
    }
    assert!(set_up(&levels).unwrap()[1].already);
    // Another choice of levels replaces them; one that is wrong does not.
    let other = room.dir.path().join("other");
    std::fs::create_dir_all(other.join("medium/train")).unwrap();
    let text = std::fs::read_to_string(levels.join("medium/train/000.txt")).unwrap();
    std::fs::write(other.join("medium/train/7.txt"), &text).unwrap();
    let error = set_up(&other).unwrap_err().to_string();
    assert!(error.contains("hard") && error.contains("boxoban-levels"), "{error}");
    std::fs::create_dir_all(other.join("hard")).unwrap();
    assert!(set_up(&other).unwrap_err().to_string().contains("no file of levels"));
    std::fs::write(other.join("hard/a.txt"), text.replacen('@', "x", 1)).unwrap();
    let error = set_up(&other).unwrap_err().to_string();
    assert!(error.contains("hard/a.txt: line 10:"), "{error}");
    assert!(room.data().join("boxoban/hard/000.txt").is_file());
    std::fs::write(other.join("hard/a.txt"), &text).unwrap();
    assert!(!set_up(&other).unwrap()[1].already);
    assert!(!room.data().join("boxoban/hard/000.txt").exists() && room.data().join("boxoban/hard/a.txt").is_file());
}
