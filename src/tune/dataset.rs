//! A certified training set on disk: JSON, a list of conversations with where each came from.
//!
//! Owns the file: how it is read, written and held against the runs it came from. The form is `sharegpt` with
//! OpenAI's names (`role`, `content`), as LLaMA-Factory reads it.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::TuneError;
use super::conversation::{self, digest_of};
use super::postprocess::{certify, clean};
use crate::jobs::Cancel;
use crate::store::Reader;
use crate::types::{Digest, EpisodeNo, Message, Phase, RunId, StepNo};

/// A conversation to train on; its target is the last message, the assistant's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The messages.
    pub conversations: Vec<Message>,
    /// Where it comes from; `None` for a list somebody wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Where an example comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The run.
    pub run: RunId,
    /// The episode.
    pub episode: EpisodeNo,
    /// Its seed.
    pub seed: u64,
    /// The step.
    pub step: StepNo,
    /// LOG or PLAN.
    pub phase: Phase,
    /// Digest of the conversation as it was recorded, before anything was cut.
    pub digest: Digest,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.run, self.episode, self.step, self.phase.word())
    }
}

/// An element of a list that may be anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A conversation.
    Example(Box<Example>),
    /// Something else, with what is wrong.
    Broken(String),
}

/// Reads a list of conversations leniently: what is no conversation stands in its place with the reason.
///
/// # Errors
/// When the file cannot be read or is no JSON list.
pub fn entries(path: &Path) -> Result<Vec<Entry>, TuneError> {
    let text = std::fs::read_to_string(path).map_err(|source| TuneError::File {
        path: path.to_owned(),
        done: "read",
        source,
    })?;
    let wrong = |what: String| {
        TuneError::data(
            format!("{}: {what}", path.display()),
            "write a JSON list of {\"conversations\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}",
        )
    };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(format!("it is no JSON ({error})")))?;
    let serde_json::Value::Array(list) = value else {
        return Err(wrong("it is no list".to_owned()));
    };
    Ok(list
        .into_iter()
        .map(|value| match serde_json::from_value(value) {
            Ok(example) => Entry::Example(Box::new(example)),
            Err(error) => Entry::Broken(error.to_string()),
        })
        .collect())
}

/// Reads a training set; every element must be a conversation that can be trained on.
///
/// # Errors
/// When the file cannot be read, is empty, or an example has something wrong, which is named.
pub fn read(path: &Path) -> Result<Vec<Example>, TuneError> {
    let unfit = |at: usize, what: String| {
        TuneError::data(
            format!("{}: example {at}: {what}", path.display()),
            "run it through `automem tune postprocess IN.json OUT.json` first",
        )
    };
    let mut examples = Vec::new();
    for (at, entry) in entries(path)?.into_iter().enumerate() {
        let example = match entry {
            Entry::Example(example) => *example,
            Entry::Broken(why) => return Err(unfit(at, why)),
        };
        if let Some(violation) = certify(&example.conversations).first() {
            return Err(unfit(at, violation.words().to_owned()));
        }
        examples.push(example);
    }
    if examples.is_empty() {
        return Err(TuneError::data(
            format!("{} holds no example", path.display()),
            "accept some candidates first (`automem curate`)",
        ));
    }
    Ok(examples)
}

/// The bytes of a set, as they are written.
pub fn to_bytes(examples: &[Example]) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(examples).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Writes a set: to a temporary name, to the disk, then in its place.
///
/// # Errors
/// When it cannot be written; what was there before is still there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<Digest, TuneError> {
    let cannot = |source| TuneError::File {
        path: path.to_owned(),
        done: "written",
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let mut file = tempfile_in(folder, path).map_err(cannot)?;
    let written = file.1.write_all(bytes).and_then(|()| file.1.sync_all());
    let placed = written.and_then(|()| std::fs::rename(&file.0, path));
    if let Err(error) = placed {
        // What is left over is of no use.
        drop(std::fs::remove_file(&file.0));
        return Err(cannot(error));
    }
    Ok(Digest::of(bytes))
}

/// Digest of a file: of a set as it was certified, of an adapter.
///
/// # Errors
/// When it cannot be read.
pub fn file_digest(path: &Path) -> Result<Digest, TuneError> {
    let bytes = std::fs::read(path).map_err(|source| TuneError::File {
        path: path.to_owned(),
        done: "read",
        source,
    })?;
    Ok(Digest::of(bytes))
}

/// A new file beside another.
fn tempfile_in(folder: &Path, path: &Path) -> std::io::Result<(PathBuf, std::fs::File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let file = std::fs::File::create(&temporary)?;
    Ok((temporary, file))
}

/// Holds a training set against the runs it came from: each conversation must be what the run recorded, apart from what
/// the postprocess cuts.
///
/// # Errors
/// When the set or a run cannot be read, an example names no source or a run that is not there, or a text was changed;
/// the example is named.
pub fn verify(path: &Path, runs: &[PathBuf], cancel: &Cancel) -> Result<Vec<Example>, TuneError> {
    let examples = read(path)?;
    let mut readers: HashMap<RunId, Reader> = HashMap::new();
    for run in runs {
        let reader = Reader::open(run)?;
        readers.insert(reader.meta().id.clone(), reader);
    }
    for (at, example) in examples.iter().enumerate() {
        if cancel.is_cancelled() {
            return Err(TuneError::Cancelled);
        }
        let name = format!("{}: example {at}", path.display());
        let Some(source) = &example.source else {
            return Err(TuneError::data(
                format!("{name} does not say where it comes from"),
                "only sets that `automem curate certify` wrote can be held against runs",
            ));
        };
        let Some(reader) = readers.get(&source.run) else {
            return Err(TuneError::data(
                format!("{name} is from run {}, which was not given", source.run),
                "name the run's file too",
            ));
        };
        let cleaned = recorded(reader, source, &name)?;
        if cleaned != example.conversations {
            return Err(TuneError::data(
                format!("{name} ({source}) is not what the run recorded: its text was changed"),
                "what is trained on must be verbatim; certify the selection again",
            ));
        }
    }
    Ok(examples)
}

/// What is trained on of a recorded conversation.
///
/// # Errors
/// When the run does not hold it as it was, or it cannot be trained on.
pub fn recorded(reader: &Reader, source: &Source, name: &str) -> Result<Vec<Message>, TuneError> {
    let messages = conversation::read(reader, source.episode, source.step, source.phase)?;
    let is = digest_of(&messages);
    if is != source.digest {
        return Err(TuneError::data(
            format!(
                "{name} ({source}) is not what {} holds: its digest is {is}, not {}",
                reader.path().display(),
                source.digest
            ),
            "the run was exchanged or the selection edited; list the candidates anew with `automem curate`",
        ));
    }
    let cleaned = clean(source.phase, &messages).map_err(|why| {
        TuneError::data(
            format!("{name} ({source}) cannot be trained on: {}", why.words()),
            "certify the selection again",
        )
    })?;
    Ok(cleaned.conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ChatRole;

    fn example(answer: &str) -> Example {
        Example {
            conversations: vec![
                Message::new(ChatRole::User, "go"),
                Message::new(ChatRole::Assistant, answer),
            ],
            source: None,
        }
    }

    #[test]
    fn a_set_comes_back_and_replaces_the_old_one_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/set.json");
        let set = [example("<|READ|>a<|END|>"), example("<|DONE|>")];
        let digest = write(&path, &to_bytes(&set)).unwrap();
        assert_eq!(read(&path).unwrap(), set);
        assert_eq!(Digest::of(std::fs::read(&path).unwrap()), digest);
        write(&path, &to_bytes(&set[..1])).unwrap();
        assert_eq!(read(&path).unwrap(), set[..1]);
        let left: Vec<_> = std::fs::read_dir(dir.path().join("new")).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn what_cannot_be_trained_on_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("set.json");
        for (text, said) in [
            ("{", "no JSON"),
            ("{}", "no list"),
            ("[]", "no example"),
            (
                "[{\"conversations\": [{\"role\": \"robot\", \"content\": \"x\"}]}]",
                "example 0",
            ),
            (
                "[{\"conversations\": [{\"role\": \"user\", \"content\": \"x\"}]}]",
                "no conversation",
            ),
            (
                "[{\"conversations\": [{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"assistant\", \"content\": \"hm\"}]}]",
                "no memory operation",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(read(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
