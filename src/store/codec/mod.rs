//! The stored form of events: one line of JSON each, with a version and a tag.
//!
//! Owns how an event looks in the file; `tests/fixtures/store/events.jsonl` pins it. Must not know
//! about SQLite or compression.

mod parts;
mod record;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::record::Record;
use crate::types::{AgentName, At, Body, EpisodeNo, Event, RunMeta, StepNo};

/// The newest format of records and of the file around them that this program knows.
pub const FORMAT: u32 = 1;

/// Why a line could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CodecError {
    /// A newer program wrote it.
    #[error("a record has format {theirs}, this program reads up to format {FORMAT}")]
    Newer { theirs: u32 },
    /// It is no record.
    #[error("a record cannot be read: {0}")]
    Broken(String),
    /// The event has no stored form.
    #[error("{0}")]
    Unstorable(String),
}

/// The stored form of some events of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Text {
    /// One line an event.
    pub(super) lines: Vec<u8>,
    /// Tile maps; lines refer to them by number.
    pub(super) grids: Vec<Vec<u8>>,
}

/// One line of the file. Episode and step are not in it: they are the line's place.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    /// Format version.
    v: u32,
    /// Agent and memory root, where they are not the episode's usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    who: Option<(String, String)>,
    /// The event.
    e: Record<'a>,
}

/// Whose events an episode holds unless a line says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) agent: AgentName,
    pub(super) memory_root: Arc<str>,
}

impl Who {
    pub(super) fn of(at: &At) -> Self {
        Self {
            agent: at.agent.clone(),
            memory_root: Arc::clone(&at.memory_root),
        }
    }
}

/// Adds an event to `out`, unless it is one that is not stored.
pub(super) fn encode(event: &Event, usual: &Who, out: &mut Text) -> Result<(), CodecError> {
    check(&event.body)?;
    match Record::of(&event.body, &mut out.grids) {
        Some(record) => encode_record(record, &event.at, usual, &mut out.lines),
        None => Ok(()),
    }
}

/// The line of a run's first event; its description is left out, the file's head has it.
pub(super) fn encode_run_started(at: &At, usual: &Who, out: &mut Text) -> Result<(), CodecError> {
    encode_record(Record::RunStarted { meta: None }, at, usual, &mut out.lines)
}

fn encode_record(record: Record<'_>, at: &At, usual: &Who, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let who = (at.agent != usual.agent || at.memory_root != usual.memory_root)
        .then(|| (at.agent.to_string(), at.memory_root.to_string()));
    let line = Line {
        v: FORMAT,
        who,
        e: record,
    };
    serde_json::to_writer(&mut *out, &line).map_err(|error| CodecError::Unstorable(error.to_string()))?;
    out.push(b'\n');
    Ok(())
}

/// What kind of event a line holds, without reading the rest of it; `None` for a line that is
/// written in another way than ours.
pub(super) fn kind_of(line: &[u8]) -> Option<&[u8]> {
    // Inside of a text a quote is escaped, so that this stands before the event only.
    const BEFORE: &[u8] = br#""e":{"t":""#;
    let start = line.windows(BEFORE.len()).position(|window| window == BEFORE)? + BEFORE.len();
    let rest = line.get(start..)?;
    rest.get(..rest.iter().position(|byte| *byte == b'"')?)
}

/// Reads one line; `grids` are the tile maps of its text.
pub(super) fn decode_line(
    line: &[u8],
    grids: &[Vec<u8>],
    episode: EpisodeNo,
    step: StepNo,
    usual: &Who,
    head: &RunMeta,
) -> Result<Event, CodecError> {
    let parsed = serde_json::from_slice::<Line<'_>>(line);
    let newer = match &parsed {
        Ok(line) if line.v <= FORMAT => None,
        Ok(line) => Some(line.v),
        Err(_) => version_of(line).filter(|v| *v > FORMAT),
    };
    if let Some(theirs) = newer {
        return Err(CodecError::Newer { theirs });
    }
    let line = parsed.map_err(|error| CodecError::Broken(error.to_string()))?;
    let body = line
        .e
        .into_body(head, grids)
        .ok_or_else(|| CodecError::Broken("a tile map is missing".to_owned()))?;
    let (agent, memory_root) = match line.who {
        None => (usual.agent.clone(), Arc::clone(&usual.memory_root)),
        Some((agent, root)) => (AgentName::from(agent.as_str()), Arc::from(root)),
    };
    Ok(Event {
        at: At {
            episode,
            step,
            agent,
            memory_root,
        },
        body,
    })
}

fn version_of(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    serde_json::from_slice::<Version>(line).ok().map(|version| version.v)
}

/// JSON has no infinities and no NaN: they are refused before anything is written.
fn check(body: &Body) -> Result<(), CodecError> {
    let numbers: &[(&str, f64)] = match body {
        Body::StepFinished {
            reward,
            progression,
            ms,
            ..
        } => &[("reward", *reward), ("progression", *progression), ("ms", *ms)],
        Body::Observed { frame } => &[("reward", frame.reward), ("progression", frame.progression)],
        Body::TurnFinished { turn } => &[
            ("prompt_ms", turn.prompt_ms),
            ("ms", turn.ms),
            ("temperature", f64::from(turn.sampling.temperature)),
            ("top_p", f64::from(turn.sampling.top_p)),
        ],
        _ => return Ok(()),
    };
    match numbers.iter().find(|(_, number)| !number.is_finite()) {
        None => Ok(()),
        Some((name, number)) => Err(CodecError::Unstorable(format!("{name} is {number}"))),
    }
}
