//! The folder an agent's command line works in: what it is given, and what is taken back from it.
//!
//! Owns the folder's form. What comes back is nobody's we trust: no links, nothing hidden, nothing huge, text only.

use std::collections::BTreeSet;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::analysis;
use crate::evolve::candidate::{FILE_BYTES, Files, plain_path};
use crate::evolve::meta::{brief, start};
use crate::evolve::reviser::{ReviserError, Task};
use crate::jobs::Cancel;
use crate::meta::one_line;
use crate::protocol::sanitize::clean;
use crate::review::Evidence;
use crate::store::{Reader, StoreError};
use crate::types::{EpisodeNo, StepNo};

/// Bytes of the steps of one run.
const STEPS_BYTES: usize = 128 << 20;
/// Steps of an episode whose memory and prompts are laid out, beside those that findings name.
const SHARES: [u32; 4] = [25, 50, 75, 100];
/// Steps that findings name.
const NAMED: usize = 12;
/// Files that are read back.
const FILES: usize = 200;

const TRACES: &str = "# Traces\n\n\
    One folder a run, `run-0`, `run-1`, ...:\n\n\
    - `run.json`: world, model, scaffold, and the episodes in numbers.\n\
    - `steps.jsonl`: one line a step, in order: `episode`, `step`, `observation`, `turns` (model calls with answers and \
    results; prompts are left out), `ops` (memory operations with what they changed), `action`, `reward`, `progression`, `notes`.\n\
    - `metrics.json`, `findings.json`: behaviour metrics, and problems that rules found, with their steps.\n\
    - `prompts/episode-E-step-S.md`: exact prompts and answers of chosen steps.\n\
    - `memory/episode-E-step-S/`: the agent's memory files as they were at chosen steps.\n";

/// What a command wrote about its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) analysis: String,
    pub(super) method: String,
}

/// A work folder.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    /// Lays out everything a command is given; gives the brief.
    pub(super) fn lay_out(&self, task: &Task, cancel: &Cancel) -> Result<String, ReviserError> {
        let brief = brief::for_folder(task)?;
        self.write("BRIEF.md", &brief)?;
        self.write_all("scaffold", task.parent.files())?;
        self.write_all("output/scaffold", &start(task))?;
        self.write("traces/README.md", TRACES)?;
        for (n, run) in task.runs.iter().enumerate() {
            self.run(&format!("traces/run-{n}"), run, cancel)?;
        }
        Ok(brief)
    }

    fn write_all(&self, folder: &str, files: &Files) -> Result<(), ReviserError> {
        for (path, text) in files {
            let path = plain_path(path).map_err(ReviserError::Other)?;
            self.write(&format!("{folder}/{path}"), text)?;
        }
        Ok(())
    }

    /// Writes a file with its folders.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), ReviserError> {
        let path = self.0.join(path);
        let folder = path.parent().unwrap_or(&self.0);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| cannot(&path, &error))
    }

    fn run(&self, at: &str, run: &Path, cancel: &Cancel) -> Result<(), ReviserError> {
        let reader = Reader::open(run)?;
        let meta = reader.meta();
        let episodes = reader.episodes()?;
        let head = json!({
            "world": meta.world,
            "model": meta.model,
            "scaffold": { "name": meta.scaffold.name, "version": meta.scaffold.version },
            "max_steps": meta.max_steps,
            "episodes": episodes,
        });
        self.write(&format!("{at}/run.json"), &pretty(&head))?;
        let found = analysis::analyse(run, cancel, &mut |_| {}).map_err(stopped)?;
        self.write(&format!("{at}/metrics.json"), &pretty(&value_of(&found.metrics)))?;
        let findings = json!({ "findings": value_of(&found.findings), "faults": value_of(&found.faults) });
        self.write(&format!("{at}/findings.json"), &pretty(&findings))?;
        self.steps(&format!("{at}/steps.jsonl"), &reader, cancel)?;
        let mut chosen: BTreeSet<(EpisodeNo, StepNo)> = BTreeSet::new();
        for episode in &episodes {
            let last = u64::from(episode.steps.saturating_sub(1));
            let steps = SHARES.map(|share| last * u64::from(share) / 100);
            chosen.extend(steps.map(|step| (episode.episode, StepNo(step as u32))));
        }
        let named = found.findings.iter().filter_map(|finding| finding.steps.first());
        chosen.extend(named.take(NAMED).map(|place| (place.episode, place.step)));
        for (episode, step) in chosen {
            self.look(at, &reader, (episode, step))?;
        }
        Ok(())
    }

    /// Every step without its prompts, which repeat each other.
    fn steps(&self, path: &str, reader: &Reader, cancel: &Cancel) -> Result<(), ReviserError> {
        let path = self.0.join(path);
        let file = std::fs::File::create(&path).map_err(|error| cannot(&path, &error))?;
        let mut out = BufWriter::new(file);
        let mut bytes = 0;
        let mut put = |value: &Value| {
            let line = format!("{value}\n");
            bytes += line.len();
            out.write_all(line.as_bytes()).map_err(|error| cannot(&path, &error))?;
            Ok::<bool, ReviserError>(bytes > STEPS_BYTES)
        };
        'all: for episode in reader.episodes()? {
            for number in 0..episode.steps {
                if cancel.is_cancelled() {
                    return Err(ReviserError::Cancelled);
                }
                let mut value = reader.step(episode.episode, StepNo(number))?.as_json();
                value["episode"] = episode.episode.0.into();
                for turn in value["turns"].as_array_mut().into_iter().flatten() {
                    if let Some(turn) = turn.as_object_mut() {
                        turn.remove("prompt");
                    }
                }
                if put(&value)? {
                    put(&json!({ "note": "the steps after this one are left out: the file would be too long" }))?;
                    break 'all;
                }
            }
        }
        out.flush().map_err(|error| cannot(&path, &error))
    }

    fn look(&self, at: &str, reader: &Reader, (episode, step): (EpisodeNo, StepNo)) -> Result<(), ReviserError> {
        // An episode without a finished step has nothing to look at.
        let Ok(record) = reader.step(episode, step) else {
            return Ok(());
        };
        let mut text = String::new();
        for turn in record.turns() {
            text.push_str(&format!(
                "# {} turn {}\n\n## Prompt\n\n{}\n\n## Answer\n\n{}\n\n",
                turn.phase.word(),
                turn.turn,
                turn.prompt,
                turn.response
            ));
        }
        let name = format!("episode-{episode}-step-{step}");
        self.write(&format!("{at}/prompts/{name}.md"), &text)?;
        for (path, file) in &reader.memory_at(episode, step)?.files {
            if let Ok(path) = plain_path(path) {
                self.write(&format!("{at}/memory/{name}/{path}"), &file.text)?;
            }
        }
        Ok(())
    }

    /// The files that the command left as its scaffold; an error lists what cannot be taken, by name.
    pub(super) fn files(&self) -> Result<Files, Vec<String>> {
        let root = self.0.join("output/scaffold");
        for folder in ["output", "output/scaffold"] {
            // A link here would lead the whole reading elsewhere.
            if !std::fs::symlink_metadata(self.0.join(folder)).is_ok_and(|found| found.is_dir()) {
                return Err(vec![format!(
                    "{folder} is no folder any more; put the scaffold's files there"
                )]);
            }
        }
        let (mut files, mut wrong) = (Files::new(), Vec::new());
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            let entries = match std::fs::read_dir(root.join(&folder)) {
                Ok(entries) => entries,
                Err(error) => {
                    wrong.push(format!("output/scaffold/{} cannot be read: {error}", folder.display()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let inside = folder.join(entry.file_name());
                match one(&root, &inside) {
                    Ok(Found::Folder) if inside.components().count() < 4 => open.push(inside),
                    Ok(Found::Folder) => wrong.push(format!("{}: too many folders inside each other", shown(&inside))),
                    Ok(Found::File(path, text)) => {
                        files.insert(path, text);
                    }
                    Err(why) => wrong.push(why),
                }
                if files.len() + wrong.len() > FILES {
                    wrong.push(format!("there are more than {FILES} files"));
                    return Err(wrong);
                }
            }
        }
        match wrong.is_empty() {
            true => Ok(files),
            false => {
                wrong.sort();
                Err(wrong)
            }
        }
    }

    /// What the command wrote about its revision.
    pub(super) fn words(&self) -> Result<Words, String> {
        const NAME: &str = "output/REVISION.md";
        let path = self.0.join(NAME);
        let plain = |path: &Path| std::fs::symlink_metadata(path).ok();
        let inside = plain(&self.0.join("output")).is_some_and(|found| found.is_dir());
        if !inside || !plain(&path).is_some_and(|found| found.is_file()) {
            return Err(format!(
                "{NAME} is missing, or no plain file: write the title, the analysis and the method there"
            ));
        }
        let text = read_text(&path).map_err(|why| format!("{NAME} {why}"))?;
        words_of(&text).ok_or_else(|| format!("{NAME} is empty: write the title, the analysis and the method there"))
    }
}

enum Found {
    Folder,
    File(String, String),
}

/// Looks at one entry below the root.
fn one(root: &Path, inside: &Path) -> Result<Found, String> {
    let name = shown(inside);
    let path = inside
        .to_str()
        .ok_or_else(|| format!("{name}: its name is no UTF-8 text"))?;
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    let path = plain_path(&path)?.to_owned();
    let found = std::fs::symlink_metadata(root.join(inside)).map_err(|error| format!("{name}: {error}"))?;
    if found.is_symlink() {
        return Err(format!("{name} is a link; put the file itself there"));
    }
    if found.is_dir() {
        return Ok(Found::Folder);
    }
    if !found.is_file() {
        return Err(format!("{name} is no plain file"));
    }
    let text = read_text(&root.join(inside)).map_err(|why| format!("{name} {why}"))?;
    Ok(Found::File(path, text))
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string(), 200)
}

/// Reads a text that is not too long, whatever its size was said to be.
fn read_text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > FILE_BYTES {
        return Err(format!("has more than {FILE_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is no UTF-8 text".to_owned())?;
    match text.contains('\0') {
        true => Err("is no plain text".to_owned()),
        false => Ok(text.replace("\r\n", "\n")),
    }
}

/// Title, analysis and method; what has no headings is both.
fn words_of(text: &str) -> Option<Words> {
    let text = clean(text);
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next()?.trim().trim_start_matches('#').trim();
    let title = first
        .get(..6)
        .filter(|start| start.eq_ignore_ascii_case("title:"))
        .map_or(first, |_| first[6..].trim());
    let (mut analysis, mut method, mut other) = (String::new(), String::new(), String::new());
    let mut into = &mut other;
    for line in lines {
        let heading = line.trim().trim_start_matches('#').trim().to_ascii_lowercase();
        match (line.trim_start().starts_with('#'), heading.as_str()) {
            (true, "analysis") => into = &mut analysis,
            (true, "method") => into = &mut method,
            _ => {
                into.push_str(line);
                into.push('\n');
            }
        }
    }
    let or_else = |text: String| match text.trim() {
        "" => other.trim().to_owned(),
        text => text.to_owned(),
    };
    let (analysis, method) = (or_else(analysis), or_else(method));
    (!title.is_empty()).then(|| Words {
        title: one_line(title, 120),
        analysis,
        method,
    })
}

/// Steps that a text names: `episode 0, step 12`, also with `run 1,` before it. Only those that there are.
pub(super) fn evidence_in(text: &str, runs: &[PathBuf]) -> Vec<Evidence> {
    const MOST: usize = 50;
    static NAMED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)(?:\brun\s+(\d+)\W{1,3})?\bepisode\s+(\d+)\W{1,3}steps?\s+(\d+)").ok());
    let readers: Vec<Option<Reader>> = runs.iter().map(|run| Reader::open(run).ok()).collect();
    let mut out: Vec<Evidence> = Vec::new();
    for line in text.lines() {
        for found in NAMED.iter().flat_map(|named| named.captures_iter(line)) {
            let number = |at: usize| found.get(at).and_then(|text| text.as_str().parse::<u32>().ok());
            let run = number(1).unwrap_or(0) as usize;
            let (Some(episode), Some(step), Some(Some(reader))) = (number(2), number(3), readers.get(run)) else {
                continue;
            };
            let last = reader.last_step(EpisodeNo(episode)).ok().flatten();
            if last.is_none_or(|last| last < StepNo(step)) {
                continue;
            }
            let evidence = Evidence {
                run: reader.path().display().to_string(),
                episode: EpisodeNo(episode),
                step: StepNo(step),
                note: one_line(line.trim_start_matches(['-', '*', ' ', '#']), 300),
            };
            if out.len() < MOST && !out.contains(&evidence) {
                out.push(evidence);
            }
        }
    }
    out
}

fn value_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn stopped(error: StoreError) -> ReviserError {
    match error {
        StoreError::Cancelled => ReviserError::Cancelled,
        error => error.into(),
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> ReviserError {
    ReviserError::Other(format!(
        "{} cannot be written: {error}; free some space or choose another workspace",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_the_brief_asks_and_as_people_write() {
        let text = "\n# Bounded files\n\n## Analysis\nFiles grow.\n\n## METHOD\nThey are bounded.\n# Note\nmore\n";
        let words = words_of(text).unwrap();
        assert_eq!(words.title, "Bounded files");
        assert_eq!(
            (words.analysis.as_str(), words.method.as_str()),
            ("Files grow.", "They are bounded.\n# Note\nmore")
        );
        let words = words_of("Title: T\nall in one").unwrap();
        assert_eq!(
            (words.title.as_str(), words.analysis.as_str(), words.method.as_str()),
            ("T", "all in one", "all in one")
        );
        assert_eq!(words_of(" \n"), None);
        assert_eq!(words_of("#\n"), None);
        assert!(!words_of("a\u{1b}[2J\nb").unwrap().title.contains('\u{1b}'));
    }

    #[test]
    fn what_is_no_plain_text_inside_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(dir.path().to_owned());
        folder
            .write("output/scaffold/scaffold.toml", "name = \"x\"\r\n")
            .unwrap();
        folder.write("output/scaffold/prompts/plan.md", "go").unwrap();
        let files = folder.files().unwrap();
        assert_eq!(files["scaffold.toml"], "name = \"x\"\n");
        assert_eq!(files["prompts/plan.md"], "go");

        folder.write("output/scaffold/.git/config", "x").unwrap();
        folder
            .write("output/scaffold/huge.md", &"x".repeat(FILE_BYTES + 1))
            .unwrap();
        std::fs::write(dir.path().join("output/scaffold/picture.png"), [0xff, 0xd8, 0x00]).unwrap();
        std::fs::write(dir.path().join("output/scaffold/zero.md"), "a\0b").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("output/scaffold/out.md")).unwrap();
        let wrong = folder.files().unwrap_err().join("\n");
        for name in [
            ".git",
            "huge.md has more",
            "picture.png is no UTF-8",
            "zero.md is no plain text",
        ] {
            assert!(wrong.contains(name), "{name} in {wrong}");
        }
        #[cfg(unix)]
        {
            assert!(wrong.contains("out.md is a link"), "{wrong}");
            std::fs::rename(dir.path().join("output"), dir.path().join("away")).unwrap();
            std::os::unix::fs::symlink(dir.path().join("away"), dir.path().join("output")).unwrap();
            assert_eq!(
                folder.files().unwrap_err(),
                ["output is no folder any more; put the scaffold's files there"]
            );
        }
    }
}
