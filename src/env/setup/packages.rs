//! The packages that carry the game: versions, files and checksums, and what is taken out of each.
//!
//! Owns the table. Must not fetch or read anything. Another version is another line here.

/// A package of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name in the index.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The folder that it fills, below the data directory.
    pub folder: &'static str,
    /// Its files, one a system.
    pub archives: &'static [Archive],
    /// What is taken out of an archive.
    pub take: &'static [Take],
}

/// A file of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    /// Its name. `.whl` is a zip, `.tar.gz` a source archive.
    pub file: &'static str,
    /// System and architecture, as Rust names them; `None` when it serves all.
    pub system: Option<(&'static str, &'static str)>,
    /// The CPython it is for, as `311`. Nothing of Python is taken out of it.
    pub python: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: &'static str,
}

/// Something that is taken out of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    /// Its path there; all that lies below it when it ends in `/`.
    pub from: &'static str,
    /// Its path in the package's folder.
    pub to: &'static str,
    /// It is a program.
    pub run: bool,
}

impl Take {
    const fn file(from: &'static str, to: &'static str) -> Self {
        Self { from, to, run: false }
    }

    const fn program(from: &'static str, to: &'static str) -> Self {
        Self { from, to, run: true }
    }
}

impl Package {
    /// The file for a system.
    pub fn archive(&self, os: &str, arch: &str) -> Option<&'static Archive> {
        self.archives
            .iter()
            .find(|archive| archive.system.is_none_or(|system| system == (os, arch)))
    }

    /// The systems there is a file for, for people.
    pub fn systems(&self) -> String {
        let names = self.archives.iter().map(|archive| match archive.system {
            Some((os, arch)) => format!("{os} {arch}"),
            None => "any".to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// Where a member of the archive goes, and whether it is a program; `None` for what stays in it.
    pub fn place(&self, member: &str) -> Option<(String, bool)> {
        self.take.iter().find_map(|take| {
            let rest = member.strip_prefix(take.from)?;
            let fits = if take.from.ends_with('/') {
                !rest.is_empty()
            } else {
                rest.is_empty()
            };
            fits.then(|| (format!("{}{rest}", take.to), take.run))
        })
    }
}

const LINUX_X86: Option<(&str, &str)> = Some(("linux", "x86_64"));
const LINUX_ARM: Option<(&str, &str)> = Some(("linux", "aarch64"));
const MACOS_ARM: Option<(&str, &str)> = Some(("macos", "aarch64"));

/// What BALROG and AutoMem play.
pub const BALROG_NLE: Package = Package {
    name: "balrog-nle",
    version: "0.9.0",
    folder: "balrog-nle-0.9.0",
    archives: &[
        Archive {
            file: "balrog_nle-0.9.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            system: LINUX_X86,
            python: "311",
            bytes: 3_279_826,
            sha256: "45ea0ef8fca88fea39f7079b1678aa7d1b73a070bee4140fcb9f3ad26906f7e2",
        },
        Archive {
            file: "balrog_nle-0.9.0-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
            system: LINUX_ARM,
            python: "311",
            bytes: 3_223_086,
            sha256: "87e2dd898af014a8f86a4dbfbf1273f7d4b525d727933a4a5e2901c9ee2393aa",
        },
        Archive {
            file: "balrog_nle-0.9.0-cp311-cp311-macosx_11_0_arm64.whl",
            system: MACOS_ARM,
            python: "311",
            bytes: 2_852_967,
            sha256: "18b0f36288d34f5308c4a9c0072887e9c005afdb336f60b5b6f6fa39a64313a7",
        },
    ],
    take: &[
        Take::file("nle/libnethack.so", "libnethack.so"),
        Take::file("nle/nethackdir/nhdat", "nethackdir/nhdat"),
        Take::program("nle/nethackdir/lev_comp", "nethackdir/lev_comp"),
        Take::program("nle/nethackdir/dlb", "nethackdir/dlb"),
        Take::file("balrog_nle-0.9.0.dist-info/LICENSE", "LICENSE"),
    ],
};

/// The newer engine.
pub const NLE: Package = Package {
    name: "nle",
    version: "1.3.0",
    folder: "nle-1.3.0",
    archives: &[
        Archive {
            file: "nle-1.3.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            system: LINUX_X86,
            python: "312",
            bytes: 3_270_017,
            sha256: "a61797c4f37876c71b75dfd1462bbcdc5aba6dfd8f8357dce15e8a38a09430d1",
        },
        Archive {
            file: "nle-1.3.0-cp312-cp312-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
            system: LINUX_ARM,
            python: "312",
            bytes: 3_213_640,
            sha256: "0a69e54ff0758fd3a54d5233fec79b5a50a90a5d37c92991c25f9cdcc597f2c4",
        },
    ],
    take: &[
        Take::file("nle/libnethack.so", "libnethack.so"),
        Take::file("nle/nethackdir/nhdat", "nethackdir/nhdat"),
        Take::program("nle/nethackdir/lev_comp", "nethackdir/lev_comp"),
        Take::program("nle/nethackdir/dlb", "nethackdir/dlb"),
        Take::file("nle-1.3.0.dist-info/licenses/LICENSE", "LICENSE"),
    ],
};

/// MiniHack's levels for [`BALROG_NLE`].
pub const MINIHACK_FOR_BALROG: Package = Package {
    name: "minihack",
    version: "0.1.6",
    folder: "minihack-0.1.6",
    archives: &[Archive {
        file: "minihack-0.1.6.tar.gz",
        system: None,
        python: "",
        bytes: 248_421,
        sha256: "57f8b5b3c6233d159bbe705a1acf931910029b5c2d9864bdb72b5b5a5473d471",
    }],
    take: &[
        Take::file("minihack-0.1.6/minihack/dat/", "dat/"),
        Take::file("minihack-0.1.6/minihack/lib/", "lib/"),
        Take::file("minihack-0.1.6/LICENSE", "LICENSE"),
    ],
};

/// MiniHack's levels for [`NLE`].
pub const MINIHACK_FOR_NLE: Package = Package {
    name: "minihack",
    version: "1.0.2",
    folder: "minihack-1.0.2",
    archives: &[Archive {
        file: "minihack-1.0.2.tar.gz",
        system: None,
        python: "",
        bytes: 249_259,
        sha256: "dd219af762f2adc859f523edf7b5a22a90015c2f561f68a9a4f8268d76afcd44",
    }],
    take: &[
        Take::file("minihack-1.0.2/minihack/dat/", "dat/"),
        Take::file("minihack-1.0.2/minihack/lib/", "lib/"),
        Take::file("minihack-1.0.2/LICENSE", "LICENSE"),
    ],
};

/// What an engine's name needs; `all` is every engine. `None` for a name that is none.
pub fn for_engine(name: &str) -> Option<&'static [Package]> {
    match name {
        "balrog-nle" => Some(&[BALROG_NLE, MINIHACK_FOR_BALROG]),
        "nle" => Some(&[NLE, MINIHACK_FOR_NLE]),
        "all" => Some(&[BALROG_NLE, MINIHACK_FOR_BALROG, NLE, MINIHACK_FOR_NLE]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        for package in for_engine("all").unwrap() {
            assert_eq!(package.folder, format!("{}-{}", package.name, package.version));
            for archive in package.archives {
                let dashed = archive.file.replace('_', "-");
                assert!(dashed.starts_with(package.folder), "{}", archive.file);
                assert!(archive.sha256.len() == 64 && archive.bytes > 100_000);
                match archive.system {
                    Some(_) => assert!(archive.file.contains(&format!("cp{0}-cp{0}", archive.python))),
                    None => assert!(archive.file.ends_with(".tar.gz")),
                }
            }
            assert!(package.archive("linux", "x86_64").is_some());
        }
        assert!(NLE.archive("windows", "x86_64").is_none());
        assert_eq!(for_engine("nethack"), None);
    }

    #[test]
    fn only_what_is_needed_has_a_place() {
        let place = |member: &str| BALROG_NLE.place(member);
        assert_eq!(place("nle/nethackdir/dlb"), Some(("nethackdir/dlb".to_owned(), true)));
        assert_eq!(place("nle/libnethack.so"), Some(("libnethack.so".to_owned(), false)));
        for stays in [
            "nle/env/base.py",
            "nle/libnethack.so.bak",
            "nle/nethackdir/",
            "xnle/libnethack.so",
        ] {
            assert_eq!(place(stays), None, "{stays}");
        }
        assert_eq!(
            MINIHACK_FOR_NLE.place("minihack-1.0.2/minihack/dat/quest.des"),
            Some(("dat/quest.des".to_owned(), false))
        );
        assert_eq!(MINIHACK_FOR_NLE.place("minihack-1.0.2/minihack/dat/"), None);
    }
}
