//! What reader and writer both read from a run file.
//!
//! Owns the queries over single rows. Must not write.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::codec::Who;
use super::error::StoreError;
use super::marks::Sameness;
use super::memory::{MemoryState, Workbench, replay, unpack_state};
use super::schema;
use super::wire::unsqueeze;
use crate::types::{AgentName, EndReason, EpisodeNo, EpisodeState, EpisodeSummary, RunMeta, StepNo};

/// A connection and the name of its file, for messages.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) conn: &'a Connection,
    pub(super) path: &'a Path,
}

/// An episode's row.
pub(super) struct EpisodeRow {
    pub(super) summary: EpisodeSummary,
    pub(super) who: Who,
    /// Largest step that has an event; -1 for none.
    pub(super) last_step: i64,
    /// Largest step of the last block; -1 for none.
    pub(super) packed_to: i64,
    pub(super) same: Sameness,
}

const EPISODE_COLUMNS: &str = "episode, seed, agent, memory_root, steps, last_step, packed_to, reward, progression, \
    prompt_tokens, cached_tokens, completion_tokens, ended, same_seen, same_times";

impl<'a> File<'a> {
    pub(super) fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.path, error)
    }

    pub(super) fn corrupt(&self, what: impl Into<String>) -> StoreError {
        StoreError::corrupt(self.path, what)
    }

    /// The run's constants.
    pub(super) fn meta(&self) -> Result<RunMeta, StoreError> {
        let text: Option<Vec<u8>> = schema::head(self.conn, "meta").map_err(|error| self.fail(&error))?;
        let text = text.ok_or_else(|| self.corrupt("it has no description of the run"))?;
        let text = unsqueeze(&text).ok_or_else(|| self.corrupt("the description of the run does not unpack"))?;
        serde_json::from_slice(&text).map_err(|error| self.corrupt(format!("the description of the run: {error}")))
    }

    pub(super) fn episode_rows(&self) -> Result<Vec<EpisodeRow>, StoreError> {
        let read = || {
            self.conn
                .prepare_cached(&format!("SELECT {EPISODE_COLUMNS} FROM episodes ORDER BY episode"))?
                .query_map([], episode_row)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| self.fail(&error))
    }

    pub(super) fn episode_row(&self, episode: EpisodeNo) -> Result<EpisodeRow, StoreError> {
        let row = self
            .conn
            .prepare_cached(&format!("SELECT {EPISODE_COLUMNS} FROM episodes WHERE episode = ?1"))
            .and_then(|mut query| query.query_row([episode.0], episode_row).optional())
            .map_err(|error| self.fail(&error))?;
        match row {
            Some(row) => Ok(row),
            None => Err(self.no_episode(episode)?),
        }
    }

    fn no_episode(&self, episode: EpisodeNo) -> Result<StoreError, StoreError> {
        let (count, first, last) = self
            .conn
            .query_row("SELECT count(*), min(episode), max(episode) FROM episodes", [], |row| {
                Ok((
                    row.get::<_, u32>(0)?,
                    row.get::<_, Option<u32>>(1)?,
                    row.get::<_, Option<u32>>(2)?,
                ))
            })
            .map_err(|error| self.fail(&error))?;
        let there = match (count, first, last) {
            (1, Some(only), _) => format!("its only episode is {only}"),
            (_, Some(first), Some(last)) => format!("its episodes are {first} to {last}"),
            _ => "it has none yet".to_owned(),
        };
        Ok(StoreError::NoEpisode {
            path: self.path.to_owned(),
            episode,
            there,
        })
    }

    pub(super) fn no_step(&self, row: &EpisodeRow, step: StepNo) -> StoreError {
        let there = match (row.summary.steps, row.last_step) {
            (_, ..0) => "nothing of it is recorded yet".to_owned(),
            (0, _) => "no step of it is finished yet".to_owned(),
            (steps, last) if last >= i64::from(steps) => {
                format!(
                    "its steps are 0 to {}, and {last} is what the world showed last",
                    steps - 1
                )
            }
            (steps, _) => format!("its steps are 0 to {}", steps - 1),
        };
        StoreError::NoStep {
            path: self.path.to_owned(),
            episode: row.summary.episode,
            step,
            there,
        }
    }

    /// The memory after a step.
    pub(super) fn memory(&self, episode: EpisodeNo, step: StepNo) -> Result<MemoryState, StoreError> {
        self.bench(episode, step).map(|bench| bench.into_state(step))
    }

    /// The memory after a step, ready for more changes.
    pub(super) fn bench(&self, episode: EpisodeNo, step: StepNo) -> Result<Workbench, StoreError> {
        let fail = |error: rusqlite::Error| self.fail(&error);
        let broken = || {
            self.corrupt(format!(
                "the memory of episode {episode} before step {step} does not unpack"
            ))
        };
        let keyframe = self
            .conn
            .prepare_cached(
                "SELECT change, data FROM keyframes WHERE episode = ?1 AND step <= ?2 ORDER BY step DESC, change DESC LIMIT 1",
            )
            .and_then(|mut query| {
                query
                    .query_row(params![episode.0, step.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
                    .optional()
            })
            .map_err(fail)?;
        let (change, mut bench) = match keyframe {
            None => (0, Workbench::default()),
            Some((change, data)) => {
                let data = unsqueeze(&data).ok_or_else(broken)?;
                let state = unpack_state(&data, step).ok_or_else(broken)?;
                (change, Workbench::from_state(&state))
            }
        };
        let mut query = self
            .conn
            .prepare_cached("SELECT data FROM changes WHERE episode = ?1 AND id > ?2 AND first <= ?3 ORDER BY id")
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0, change, step.0]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let data = row.get_ref(0).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
            let stream = unsqueeze(data).ok_or_else(broken)?;
            replay(&stream, step, &mut bench).ok_or_else(broken)?;
        }
        let mut query = self
            .conn
            .prepare_cached("SELECT changes FROM parts WHERE episode = ?1 AND length(changes) > 0 ORDER BY id")
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let stream = row.get_ref(0).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
            replay(stream, step, &mut bench).ok_or_else(broken)?;
        }
        Ok(bench)
    }
}

fn episode_row(row: &Row<'_>) -> rusqlite::Result<EpisodeRow> {
    let parse = |column: usize| -> rusqlite::Result<String> { row.get(column) };
    let wrong = |column: usize, what: String| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what.into())
    };
    let tokens = |column: usize| row.get::<_, i64>(column).map(|n| u64::try_from(n).unwrap_or(0));
    let end: Option<String> = row.get(12)?;
    let end = match end.as_deref() {
        None => None,
        Some(word) => Some(end_from(word).ok_or_else(|| wrong(12, format!("`{word}` is no reason to end")))?),
    };
    let agent: String = row.get(2)?;
    Ok(EpisodeRow {
        summary: EpisodeSummary {
            episode: EpisodeNo(row.get(0)?),
            seed: parse(1)?
                .parse()
                .map_err(|error| wrong(1, format!("the seed: {error}")))?,
            steps: row.get(4)?,
            total_reward: row.get(7)?,
            progression: row.get(8)?,
            prompt_tokens: tokens(9)?,
            cached_tokens: tokens(10)?,
            completion_tokens: tokens(11)?,
            end,
            state: match end {
                None => EpisodeState::Open,
                Some(_) => EpisodeState::Done,
            },
        },
        who: Who {
            agent: AgentName::from(agent.as_str()),
            memory_root: Arc::from(parse(3)?),
        },
        last_step: row.get(5)?,
        packed_to: row.get(6)?,
        same: Sameness {
            seen: parse(13)?.parse().map_err(|error| wrong(13, format!("{error}")))?,
            times: row.get(14)?,
        },
    })
}

fn end_from(word: &str) -> Option<EndReason> {
    [
        EndReason::Terminated,
        EndReason::Truncated,
        EndReason::StepLimit,
        EndReason::Stopped,
        EndReason::Failed,
    ]
    .into_iter()
    .find(|end| end.word() == word)
}
