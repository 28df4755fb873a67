//! A des-file made into the archive (`nhdat`) a game reads its levels from.
//!
//! Owns the call of NetHack's two tools, `lev_comp` (compiles a level) and `dlb` (packs an archive), and the
//! cache of archives, keyed by a digest of everything that goes in. Must not know tasks.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::protocol::sanitize::clean;
use crate::types::Digest;

/// What the compiled level is called, in the des-files and in MiniHack's `dungeon`.
const LEVEL: &str = "mylevel";
/// MiniHack's own files of the archive, by the order of their names; the level stands between them.
const BEFORE: &str = "dungeon";
const AFTER: &str = "quest.dat";
/// Most characters of a tool's output in an error.
const MAX_OUTPUT: usize = 2000;

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompileError {
    /// A file is missing or cannot be read or written.
    #[error("{path} {action}: {error}; {next}")]
    File {
        /// The file.
        path: PathBuf,
        /// What could not be done with it.
        action: &'static str,
        /// What the system says.
        error: io::Error,
        /// What to do.
        next: &'static str,
    },
    /// A tool is there and cannot be started.
    #[error("NetHack's tool {tool} cannot be started: {error}; {next}")]
    Start {
        /// The tool.
        tool: PathBuf,
        /// What the system says.
        error: io::Error,
        /// What to do.
        next: &'static str,
    },
    /// A tool did not do its work.
    #[error("NetHack's tool {tool} failed ({status}) and wrote:\n{output}")]
    Failed {
        /// The tool.
        tool: PathBuf,
        /// Its exit status, in words.
        status: String,
        /// Its output, cleaned and cut.
        output: String,
    },
}

const REINSTALL: &str = "run `automem setup nethack` to install it again";

/// Makes archives of levels.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    /// The folder with `lev_comp` and `dlb`.
    pub tools: PathBuf,
    /// The folder with MiniHack's `dungeon` and `quest.dat`.
    pub lib: PathBuf,
    /// Where archives are kept.
    pub cache: PathBuf,
    /// Where the tools work, if not in the system's place for such things.
    pub scratch: Option<PathBuf>,
}

/// An archive on disk, there for as long as this lives.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    /// The folder it is in, where it is not kept.
    _folder: Option<TempDir>,
}

impl Archive {
    /// The `nhdat`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Compiler {
    /// The archive with this level: from the cache, or made and kept there. Where the cache cannot be
    /// written the archive is made for this time only.
    ///
    /// # Errors
    /// When a tool or a file is missing or does not work.
    pub(super) fn kept(&self, des: &[u8]) -> Result<Archive, CompileError> {
        let path = self.cache.join(format!("{}.nhdat", self.key(des)?));
        if is_whole(&path) {
            return Ok(Archive { path, _folder: None });
        }
        let archive = self.once(des)?;
        Ok(match keep(&archive.path, &path) {
            Ok(()) => Archive { path, _folder: None },
            Err(_) => archive,
        })
    }

    /// The archive with this level, made for this time only.
    ///
    /// # Errors
    /// When a tool or a file is missing or does not work.
    pub(super) fn once(&self, des: &[u8]) -> Result<Archive, CompileError> {
        let parent = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("automem-level-")
            .tempdir_in(&parent)
            .map_err(|error| CompileError::File {
                path: parent,
                action: "takes no new folder",
                error,
                next: "make room there or set TMPDIR to another folder",
            })?;
        let inside = folder.path();
        let source = format!("{LEVEL}.des");
        write(&inside.join(&source), des)?;
        for name in [BEFORE, AFTER] {
            write(&inside.join(name), &read(&self.lib.join(name))?)?;
        }
        let compiled = format!("{LEVEL}.lev");
        self.run("lev_comp", &[&source], inside, &compiled)?;
        self.run("dlb", &["cf", "nhdat", BEFORE, &compiled, AFTER], inside, "nhdat")?;
        Ok(Archive {
            path: inside.join("nhdat"),
            _folder: Some(folder),
        })
    }

    /// Names everything an archive depends on.
    fn key(&self, des: &[u8]) -> Result<Digest, CompileError> {
        let mut parts = vec![des.to_vec()];
        for path in [
            self.tools.join("lev_comp"),
            self.tools.join("dlb"),
            self.lib.join(BEFORE),
            self.lib.join(AFTER),
        ] {
            parts.push(read(&path)?);
        }
        Ok(Digest::of_parts(parts.iter().map(Vec::as_slice)))
    }

    /// Runs a tool in a folder, where it must write a file.
    fn run(&self, tool: &str, arguments: &[&str], folder: &Path, result: &str) -> Result<(), CompileError> {
        let tool = self.tools.join(tool);
        let ran = Command::new(&tool)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        let output = match ran {
            Ok(output) => output,
            Err(error) => {
                let next = match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "it must be executable (`chmod +x`) and lie on a disk that is not mounted with noexec"
                    }
                    io::ErrorKind::NotFound if tool.exists() => {
                        "the system has no loader for it: it is built for Linux with glibc on x86-64"
                    }
                    _ => REINSTALL,
                };
                return Err(CompileError::Start { tool, error, next });
            }
        };
        let made = folder.join(result).metadata().is_ok_and(|file| file.len() > 0);
        if output.status.success() && made {
            return Ok(());
        }
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        let mut output_text: String = clean(said.trim()).chars().take(MAX_OUTPUT).collect();
        if output_text.is_empty() {
            output_text.push_str("(nothing)");
        }
        let status = if output.status.success() {
            format!("it made no {result}")
        } else {
            output.status.to_string()
        };
        Err(CompileError::Failed {
            tool,
            status,
            output: output_text,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CompileError> {
    std::fs::read(path).map_err(|error| CompileError::File {
        path: path.to_owned(),
        action: "cannot be read",
        error,
        next: REINSTALL,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CompileError> {
    std::fs::write(path, bytes).map_err(|error| CompileError::File {
        path: path.to_owned(),
        action: "cannot be written",
        error,
        next: "make room there or set TMPDIR to another folder",
    })
}

/// Whether an archive can be read and is as long as its first line says: the fifth number there is
/// the length of the file.
fn is_whole(path: &Path) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else {
        return false;
    };
    let Ok(length) = file.metadata().map(|data| data.len()) else {
        return false;
    };
    let mut head = [0; 64];
    let Ok(count) = file.read(&mut head) else {
        return false;
    };
    let head = String::from_utf8_lossy(&head[..count]);
    let mut numbers = head.lines().next().unwrap_or("").split_whitespace();
    numbers.nth(4).and_then(|number| number.parse().ok()) == Some(length)
}

/// Puts a copy of an archive into the cache, at once or not at all.
fn keep(archive: &Path, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .suffix(".nhdat")
        .tempfile_in(folder)?;
    file.write_all(&std::fs::read(archive)?)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Others may play from the same data directory.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const PACKED: &str = "  1 2 3 4 33\nabcdefghijklmnopqrst";

    /// Tools that are scripts: the level is a copy of the des-file, the archive is [`PACKED`], and each
    /// call leaves a line in `calls`.
    fn compiler(folder: &Path) -> Compiler {
        for name in ["tools", "lib"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in [BEFORE, AFTER] {
            std::fs::write(folder.join("lib").join(name), name).unwrap();
        }
        let compiler = Compiler {
            tools: folder.join("tools"),
            lib: folder.join("lib"),
            cache: folder.join("cache"),
            scratch: None,
        };
        let calls = folder.join("calls");
        let note = format!("echo \"$0 $*\" >> {}", calls.display());
        tool(&compiler, "lev_comp", &format!("{note}; cp $1 mylevel.lev"));
        tool(&compiler, "dlb", &format!("{note}; printf '{PACKED}' > $2"));
        compiler
    }

    fn tool(compiler: &Compiler, name: &str, script: &str) {
        let source = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(source.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(source.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        // Copied by another process: what this one has written, a child of another thread may hold open,
        // and what is open for writing cannot be run.
        let path = compiler.tools.join(name);
        let copied = Command::new("cp")
            .arg("-p")
            .arg(source.path())
            .arg(path)
            .status()
            .unwrap();
        assert!(copied.success());
    }

    fn calls(folder: &Path) -> usize {
        std::fs::read_to_string(folder.join("calls")).map_or(0, |text| text.lines().count())
    }

    #[test]
    fn an_archive_is_made_once_and_kept_by_what_goes_in() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = compiler(folder.path());
        let first = compiler.kept(b"one").unwrap();
        assert_eq!(std::fs::read_to_string(first.path()).unwrap(), PACKED);
        assert_eq!(calls(folder.path()), 2);
        let said = std::fs::read_to_string(folder.path().join("calls")).unwrap();
        assert!(said.contains("dlb cf nhdat dungeon mylevel.lev quest.dat"), "{said}");
        assert_eq!(compiler.kept(b"one").unwrap().path(), first.path());
        assert_eq!(calls(folder.path()), 2);
        let second = compiler.kept(b"two").unwrap();
        assert_ne!(second.path(), first.path());
        assert_eq!(calls(folder.path()), 4);
        std::fs::write(folder.path().join("lib/dungeon"), "other").unwrap();
        compiler.kept(b"one").unwrap();
        assert_eq!(calls(folder.path()), 6);
        let left: Vec<_> = std::fs::read_dir(&compiler.cache).unwrap().collect();
        assert_eq!(left.len(), 3);
    }

    #[test]
    fn a_cut_archive_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = compiler(folder.path());
        let path = compiler.kept(b"one").unwrap().path().to_owned();
        std::fs::write(&path, &PACKED[..20]).unwrap();
        compiler.kept(b"one").unwrap();
        assert_eq!(calls(folder.path()), 4);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PACKED);
    }

    #[test]
    fn a_cache_that_cannot_be_written_costs_only_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut compiler = compiler(folder.path());
        // A file where the folder should be: refused to root as well.
        std::fs::write(folder.path().join("blocked"), "").unwrap();
        compiler.cache = folder.path().join("blocked").join("cache");
        let archive = compiler.kept(b"one").unwrap();
        assert_eq!(std::fs::read_to_string(archive.path()).unwrap(), PACKED);
        let path = archive.path().to_owned();
        drop(archive);
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_takes_no_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut compiler = compiler(folder.path());
        compiler.scratch = Some(folder.path().join("calls"));
        let error = compiler.once(b"one").unwrap_err().to_string();
        assert!(
            error.contains("calls takes no new folder") && error.contains("TMPDIR"),
            "{error}"
        );
        compiler.scratch = Some(folder.path().to_owned());
        assert!(compiler.once(b"one").unwrap().path().starts_with(folder.path()));
    }

    #[test]
    fn many_writers_leave_one_whole_archive() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = compiler(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let archive = compiler.kept(b"one").unwrap();
                    assert_eq!(std::fs::read_to_string(archive.path()).unwrap(), PACKED);
                });
            }
        });
        assert_eq!(std::fs::read_dir(&compiler.cache).unwrap().count(), 1);
    }

    #[test]
    fn what_keeps_a_tool_from_working_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = compiler(folder.path());
        let says = |words: &[&str]| {
            let error = compiler.once(b"one").unwrap_err().to_string();
            for word in words {
                assert!(error.contains(word), "no `{word}` in: {error}");
            }
        };
        tool(
            &compiler,
            "lev_comp",
            "echo out; echo 'line 3: \u{1b}[31mbad' >&2; exit 3",
        );
        says(&["lev_comp failed", "exit status: 3", "out\nline 3: \u{241b}[31mbad"]);
        tool(&compiler, "lev_comp", "exit 0");
        says(&["it made no mylevel.lev", "(nothing)"]);
        tool(&compiler, "lev_comp", "kill -9 $$");
        says(&["signal: 9"]);
        tool(&compiler, "lev_comp", "yes x | head -c 100000; exit 1");
        assert!(compiler.once(b"one").unwrap_err().to_string().len() < MAX_OUTPUT + 300);
        let path = compiler.tools.join("lev_comp");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        says(&["lev_comp cannot be started", "chmod +x"]);
        std::fs::remove_file(&path).unwrap();
        says(&["lev_comp cannot be started", "automem setup nethack"]);
        tool(&compiler, "lev_comp", "");
        std::fs::write(&path, "#!/no/such/shell\n").unwrap();
        says(&["no loader"]);
        std::fs::remove_file(compiler.lib.join(AFTER)).unwrap();
        says(&["quest.dat cannot be read", "automem setup nethack"]);
    }
}
