//! Has pip fetch a package's file, so that its index, proxy and certificates apply.
//!
//! Owns the child process and the words of its failures. Must not know what is in the file, and names no index.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::Cancel;
use super::process::{self, Ended, Heard};

/// How often progress is told.
const LOOK: Duration = Duration::from_millis(100);
/// Names that Python goes by.
const PYTHONS: [&str; 2] = ["python3", "python"];
/// Bytes of what pip says that are kept.
const MOST_SAID: usize = 1 << 20;

/// The file that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The package.
    pub package: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Bytes of the file; progress goes no further.
    pub bytes: u64,
    /// Which of the version's files.
    pub form: Form<'a>,
}

/// Which of a version's files is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// The wheel for this machine and the Python that is here.
    Wheel,
    /// The wheel for this machine and a CPython of another version, as `311`, with this SHA-256.
    WheelFor {
        /// The version's digits.
        python: &'a str,
        /// In hexadecimal.
        sha256: &'a str,
    },
    /// The source archive with this SHA-256. pip runs some of the package's own code to learn its name, and only
    /// after it has checked the sum.
    Source {
        /// In hexadecimal.
        sha256: &'a str,
    },
}

/// Why pip brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum PipError {
    /// Somebody cancelled it.
    #[error("cancelled")]
    Cancelled,
    /// No Python with pip, for this reason.
    #[error("Python with pip is needed, but {0}; install it (Debian, Ubuntu: `apt install python3-pip`)")]
    NoPip(String),
    /// pip failed.
    #[error("pip could not fetch {package}: {message}; check the network and pip's index (`pip config list`)")]
    Failed {
        /// What was to be fetched.
        package: String,
        /// pip's last words, without control characters and passwords.
        message: String,
    },
    /// The disk, or the system.
    #[error("{doing} {path} did not work: {error}; check that the disk has room and the folder can be written")]
    Io {
        /// What was done.
        doing: &'static str,
        /// To what.
        path: String,
        /// Why it did not work.
        error: io::Error,
    },
}

/// Downloads a file into a folder below `work`, which must not hold one yet; `tell` gets the bytes so far.
///
/// # Errors
/// See [`PipError`].
pub fn download(
    wanted: &Wanted<'_>,
    work: &Path,
    cancel: &Cancel,
    tell: &mut dyn FnMut(u64),
) -> Result<PathBuf, PipError> {
    let into = work.join("wheel");
    let temporary = work.join("tmp");
    for folder in [&into, &temporary] {
        std::fs::create_dir(folder).map_err(io_error("making the folder", folder))?;
    }
    let list = work.join("wanted.txt");
    std::fs::write(&list, requirement(wanted)).map_err(io_error("writing", &list))?;
    let mut said = String::new();
    let mut told: Option<Instant> = None;
    let mut hear = |heard: Heard<'_>| {
        if let Heard::Line { text, is_error: true } = heard
            && said.len() < MOST_SAID
        {
            said.push_str(text);
            said.push('\n');
        }
        if told.is_none_or(|at| at.elapsed() >= LOOK) {
            told = Some(Instant::now());
            // pip writes what comes into its temporary folder first. Its own progress bar is not for programs before
            // version 24.1.
            tell((bytes_below(&temporary) + bytes_below(&into)).min(wanted.bytes));
        }
    };
    let mut ended = Err(PipError::NoPip("none is on the PATH".to_owned()));
    for python in PYTHONS {
        let command = command(python, wanted, &into, &temporary, &list);
        match process::run(command, String::new(), None, cancel, &mut hear) {
            Ok(how) => {
                ended = Ok(how);
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                ended = Err(PipError::NoPip(format!("`{python}` could not be started ({error})")));
            }
        }
    }
    let failed = |message: String| PipError::Failed {
        package: format!("{} {}", wanted.package, wanted.version),
        message,
    };
    match ended? {
        _ if cancel.is_cancelled() => return Err(PipError::Cancelled),
        Ended::Code(Some(0)) => {}
        Ended::Cancelled => return Err(PipError::Cancelled),
        _ if said.contains("No module named pip") => {
            return Err(PipError::NoPip("the Python here has no pip".to_owned()));
        }
        Ended::Code(code) => {
            let status = code.map_or("a signal ended it".to_owned(), |code| format!("exit code {code}"));
            return Err(failed(last_words(&said, &status)));
        }
        Ended::TimedOut => return Err(failed("it took too long".to_owned())),
    }
    find_file(&into).ok_or_else(|| failed("it ended without an error, but no wheel is there".to_owned()))
}

/// The line of the file of requirements: with a sum, pip takes no other file.
fn requirement(wanted: &Wanted<'_>) -> String {
    let name = format!("{}=={}", wanted.package, wanted.version);
    match wanted.form {
        Form::Wheel => format!("{name}\n"),
        Form::WheelFor { sha256, .. } | Form::Source { sha256 } => format!("{name} --hash=sha256:{sha256}\n"),
    }
}

fn command(python: &str, wanted: &Wanted<'_>, into: &Path, temporary: &Path, list: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "download", "--no-deps", "--no-cache-dir"])
        .args(["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]);
    match wanted.form {
        Form::Wheel => command.args(["--only-binary", ":all:"]),
        Form::WheelFor { python, .. } => command.args([
            "--only-binary",
            ":all:",
            "--implementation",
            "cp",
            "--python-version",
            python,
        ]),
        Form::Source { .. } => command.args(["--no-binary", wanted.package]),
    };
    command
        .arg("--dest")
        .arg(into)
        .arg("--requirement")
        .arg(list)
        .env("TMPDIR", temporary)
        .env("TEMP", temporary)
        .env("TMP", temporary);
    command
}

/// pip's last errors, with user names and passwords in addresses taken out.
fn last_words(said: &str, status: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("ERROR")).collect();
    if errors.is_empty() {
        errors = lines.iter().rev().take(2).rev().copied().collect();
    }
    let text = errors
        .iter()
        .map(|line| line.trim_start_matches("ERROR:").trim())
        .collect::<Vec<_>>()
        .join("; ");
    if text.is_empty() {
        return status.to_owned();
    }
    let text: String = text.chars().filter(|c| !c.is_control()).take(600).collect();
    match regex::Regex::new(r"//[^/@\s]*@") {
        Ok(credentials) => credentials.replace_all(&text, "//***@").into_owned(),
        Err(_) => status.to_owned(),
    }
}

/// The wheel or source archive in a folder.
fn find_file(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "whl" || extension == "gz")
        })
}

/// Bytes of all files below a folder, as far as they can be seen while another process changes it.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PipError {
    let path = path.display().to_string();
    move |error| PipError::Io { doing, path, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_short_and_without_secrets() {
        let said = "Looking in indexes: https://me:secret@index.example/simple\nERROR: Could not find https://me:secret@index.example/x\n\
                    ERROR: No matching distribution\n";
        let words = last_words(said, "exit code 1");
        assert_eq!(
            words,
            "Could not find https://***@index.example/x; No matching distribution"
        );
        assert_eq!(last_words("", "exit code 1"), "exit code 1");
        assert_eq!(last_words("a\nb\n\u{1b}[31mc", "1"), "b; [31mc");
    }

    #[test]
    fn growing_folders_are_measured() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/x"), [0; 10]).unwrap();
        std::fs::write(dir.path().join("y.whl"), [0; 5]).unwrap();
        assert_eq!(bytes_below(dir.path()), 15);
        assert_eq!(find_file(dir.path()), Some(dir.path().join("y.whl")));
        assert_eq!(bytes_below(Path::new("/no/such/folder")), 0);
    }

    #[test]
    fn a_sum_that_is_known_goes_to_pip() {
        let mut wanted = Wanted {
            package: "a-b",
            version: "1.2",
            bytes: 1,
            form: Form::Source { sha256: "00ff" },
        };
        assert_eq!(requirement(&wanted), "a-b==1.2 --hash=sha256:00ff\n");
        let words = |wanted: &Wanted<'_>| {
            let place = Path::new("x");
            let command = command("python3", wanted, place, place, place);
            let words: Vec<String> = command
                .get_args()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            words.join(" ")
        };
        assert!(words(&wanted).contains("--no-binary a-b --dest x --requirement x"));
        wanted.form = Form::WheelFor {
            python: "311",
            sha256: "00ff",
        };
        let line = words(&wanted);
        assert!(
            line.contains("--only-binary :all:") && line.contains("--python-version 311"),
            "{line}"
        );
        wanted.form = Form::Wheel;
        assert_eq!(requirement(&wanted), "a-b==1.2\n");
    }
}
