//! Several runs of the same kind as one run file: the shards of a run that machines played side by side.
//!
//! Owns which runs go together and the numbers of their episodes. The runs themselves stay as they are.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::AgentError;
use super::run::run_event;
use super::worker::place;
use crate::jobs::Cancel;
use crate::protocol::sanitize::clean_line;
use crate::store::{Reader, StoreError, Writer};
use crate::types::{Body, EpisodeNo, EpisodeState, Event, ModelRef, RunId, RunMeta};

/// The detail of a merged run's model that names the runs it was merged from.
pub const MERGED_FROM: &str = "merged from";
/// Details of a model that are the machine's: shards may differ in them.
const OF_THE_MACHINE: [&str; 6] = [
    "threads",
    "slots",
    "cache_cells",
    "flash_attention",
    "server",
    MERGED_FROM,
];
/// Events that are committed at once, at least, and the steps they belong to whole.
const AT_ONCE: usize = 2048;

/// What was merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merged {
    /// The new run file.
    pub run: PathBuf,
    /// Its identity.
    pub id: RunId,
    /// Where each of its episodes was, in order.
    pub episodes: Vec<MergedEpisode>,
}

/// An episode of a merged run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MergedEpisode {
    /// Its number now.
    pub episode: EpisodeNo,
    /// Its seed.
    pub seed: u64,
    /// The run it is from.
    pub run: RunId,
    /// Its number there.
    pub was: EpisodeNo,
    /// Finished steps.
    pub steps: u32,
}

/// A run that is merged, with the episodes it gives.
struct Part {
    reader: Reader,
    episodes: Vec<MergedEpisode>,
}

/// Writes the episodes of these runs into one new run file, in the order given. `progress` hears of steps done and in all.
///
/// # Errors
/// When a run cannot be read, is not over, does not go with the first one (which is named with what differs), or was
/// given twice; when the new file exists or cannot be written, or somebody cancelled. No file is left then.
pub fn merge(
    runs: &[PathBuf],
    out: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Merged, AgentError> {
    // A link that leads nowhere is in the way too.
    if std::fs::symlink_metadata(out).is_ok() {
        return Err(AgentError::Store(StoreError::Exists { path: out.to_owned() }));
    }
    let parts = open_all(runs)?;
    let meta = meta(&parts)?;
    let above = match out.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    let folder = |source| AgentError::Folder {
        path: above.to_owned(),
        source,
    };
    std::fs::create_dir_all(above).map_err(folder)?;
    let work = tempfile::Builder::new()
        .prefix(".merge-")
        .tempdir_in(above)
        .map_err(folder)?;
    let made = work.path().join("run.db");
    write(&parts, &meta, &made, cancel, progress)?;
    // A second name fails where there is one already; not every file system knows second names.
    match std::fs::hard_link(&made, out) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists && !out.exists() => {
            std::fs::rename(&made, out).map_err(folder)?;
        }
        Err(_) => return Err(AgentError::Store(StoreError::Exists { path: out.to_owned() })),
        Ok(()) => {}
    }
    Ok(Merged {
        run: out.to_owned(),
        id: meta.id,
        episodes: parts.into_iter().flat_map(|part| part.episodes).collect(),
    })
}

fn refuse<T>(what: String, hint: &str) -> Result<T, AgentError> {
    Err(AgentError::plan(what, hint))
}

/// Opens all runs and numbers their episodes.
fn open_all(runs: &[PathBuf]) -> Result<Vec<Part>, AgentError> {
    let mut parts: Vec<Part> = Vec::new();
    let mut seen: HashMap<RunId, &Path> = HashMap::new();
    let mut seeds: HashMap<u64, &Path> = HashMap::new();
    let mut next = 0;
    for path in runs {
        let reader = Reader::open(path)?;
        let shown = path.display();
        let meta = reader.meta();
        if let Some(other) = seen.insert(meta.id.clone(), path) {
            let what = format!("{shown} and {} are the same run", other.display());
            return refuse(what, "give each run once");
        }
        let episodes = reader.episodes()?;
        if !reader.is_finished() || episodes.iter().any(|episode| episode.state == EpisodeState::Open) {
            let what = format!("{shown} is not over: it is being played, or was interrupted");
            return refuse(what, "let it end, or go on with it by `automem resume`, then merge");
        }
        if episodes.is_empty() {
            return refuse(format!("{shown} holds no episode"), "leave it out");
        }
        if let Some(part) = parts.first()
            && let Some(difference) = difference(part.reader.meta(), meta)
        {
            let first = part.reader.path().display();
            let what = format!("{shown} does not go with {first}: {difference}");
            return refuse(what, "merge runs of one world, scaffold, model and sampling only");
        }
        let mut own = Vec::new();
        for summary in episodes {
            let seed = summary.seed;
            let other = seeds.insert(seed, path).filter(|other| *other != path.as_path());
            if let Some(other) = other {
                let what = format!("seed {seed} is in {shown} and in {}", other.display());
                return refuse(what, "an episode counts once: leave one of the runs out");
            }
            own.push(MergedEpisode {
                episode: EpisodeNo(next),
                seed,
                run: meta.id.clone(),
                was: summary.episode,
                steps: summary.steps,
            });
            next += 1;
        }
        parts.push(Part { reader, episodes: own });
    }
    if parts.len() < 2 {
        return refuse("there is nothing to merge".to_owned(), "give two runs or more");
    }
    Ok(parts)
}

/// What keeps two runs from being one, in words.
fn difference(first: &RunMeta, other: &RunMeta) -> Option<String> {
    let differs = |what: &str, a: &str, b: &str| Some(format!("{what} is {}, not {}", clean_line(b), clean_line(a)));
    if first.world != other.world {
        let name = |meta: &RunMeta| {
            let world = &meta.world;
            format!("{} {} {}", world.name, world.engine, world.engine_version)
        };
        return match (name(first), name(other)) {
            (a, b) if a == b => Some("its world has other rules or another task".to_owned()),
            (a, b) => differs("its world", &a, &b),
        };
    }
    if first.scaffold.digest != other.scaffold.digest {
        let name = |meta: &RunMeta| format!("{} ({})", meta.scaffold.name, meta.scaffold.digest.short());
        return differs("its scaffold", &name(first), &name(other));
    }
    if let Some(why) = model_difference("model", Some(&first.model), Some(&other.model)) {
        return Some(why);
    }
    if let Some(why) = model_difference("specialist", first.specialist.as_ref(), other.specialist.as_ref()) {
        return Some(why);
    }
    if first.sampling != other.sampling {
        return Some("its tokens were drawn in another way, or with another --sampling-seed".to_owned());
    }
    if first.max_steps != other.max_steps {
        let (a, b) = (first.max_steps.to_string(), other.max_steps.to_string());
        return differs("its limit of steps", &a, &b);
    }
    if first.exact != other.exact {
        return Some("only one of them was played with --exact".to_owned());
    }
    if other.origin.is_some() || first.origin.is_some() {
        return Some("one of them is a fork, which began in another run".to_owned());
    }
    None
}

fn model_difference(what: &str, first: Option<&ModelRef>, other: Option<&ModelRef>) -> Option<String> {
    let (first, other) = match (first, other) {
        (None, None) => return None,
        (Some(first), Some(other)) => (first, other),
        _ => return Some(format!("only one of them was played with a {what}")),
    };
    let named = |model: &ModelRef| format!("{} ({})", model.name, model.backend);
    if named(first) != named(other) {
        return Some(format!(
            "its {what} is {}, not {}",
            clean_line(&named(other)),
            clean_line(&named(first))
        ));
    }
    let own = |model: &ModelRef| -> BTreeMap<String, String> {
        let mut details = model.details.clone();
        details.retain(|key, _| !OF_THE_MACHINE.contains(&key.as_str()));
        details
    };
    let (a, b) = (own(first), own(other));
    let key = a.keys().chain(b.keys()).find(|key| a.get(*key) != b.get(*key))?;
    let value =
        |details: &BTreeMap<String, String>| details.get(key).cloned().unwrap_or_else(|| "not given".to_owned());
    Some(format!(
        "its {what}'s `{}` is {}, not {}",
        clean_line(key),
        clean_line(&value(&b)),
        clean_line(&value(&a))
    ))
}

/// The constants of the merged run: those of the first, with an identity of its own.
fn meta(parts: &[Part]) -> Result<RunMeta, AgentError> {
    let Some(first) = parts.first() else {
        return refuse("there is nothing to merge".to_owned(), "give two runs or more");
    };
    let mut meta = first.reader.meta().clone();
    meta.id = RunId(uuid::Uuid::now_v7().to_string().into());
    meta.created = jiff::Timestamp::now().to_string();
    meta.automem = env!("CARGO_PKG_VERSION").to_owned();
    meta.seeds = parts
        .iter()
        .flat_map(|part| &part.episodes)
        .map(|episode| episode.seed)
        .collect();
    let from: Vec<String> = parts.iter().map(|part| part.reader.meta().id.to_string()).collect();
    meta.model.details.insert(MERGED_FROM.to_owned(), from.join(", "));
    Ok(meta)
}

fn write(
    parts: &[Part],
    meta: &RunMeta,
    made: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), AgentError> {
    let total: u64 = parts
        .iter()
        .flat_map(|part| &part.episodes)
        .map(|episode| u64::from(episode.steps))
        .sum();
    let mut done = 0;
    let mut writer = Writer::create(made, meta)?;
    writer.commit(&[run_event(Body::RunStarted {
        meta: Box::new(meta.clone()),
    })])?;
    for part in parts {
        for episode in &part.episodes {
            let mut pending: Vec<Event> = Vec::new();
            for event in part.reader.episode_events(episode.was)? {
                let Event { at, body } = event?;
                let next = place(episode.episode, at.step);
                // Whole steps: what is known of a step is written down at once.
                if pending.len() >= AT_ONCE && pending.last().is_some_and(|last| last.at.step != at.step) {
                    writer.commit(&pending)?;
                    pending.clear();
                    if cancel.is_cancelled() {
                        return Err(AgentError::Store(StoreError::Cancelled));
                    }
                }
                if matches!(body, Body::StepFinished { .. }) {
                    done += 1;
                    progress(done, total);
                }
                pending.push(Event {
                    at: crate::types::At {
                        agent: at.agent,
                        ..next
                    },
                    body,
                });
            }
            writer.commit(&pending)?;
            if cancel.is_cancelled() {
                return Err(AgentError::Store(StoreError::Cancelled));
            }
        }
    }
    writer.commit(&[run_event(Body::RunFinished)])?;
    writer.finish()?;
    Ok(())
}
