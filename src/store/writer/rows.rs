//! How episodes and blocks become rows.

use std::path::Path;

use rusqlite::params;

use super::Writer;
use crate::store::error::StoreError;
use crate::store::memory::pack_state;
use crate::store::wire::squeeze;
use crate::types::{EpisodeNo, StepNo};

/// Fast, for rows that are soon replaced by a block.
pub(super) const ROW_LEVEL: i32 = 1;
/// For what stays.
pub(super) const BLOCK_LEVEL: i32 = 8;
/// Changes after which a keyframe is due whatever their size.
const KEYFRAME_CHANGES: usize = 1024;

impl Writer {
    /// Turns an episode's single rows into a block.
    pub(super) fn pack(&mut self, number: EpisodeNo) -> Result<(), StoreError> {
        let Some(episode) = self.episodes.get_mut(&number) else {
            return Ok(());
        };
        let (conn, path) = (&self.conn, self.path.as_path());
        let open = std::mem::take(&mut episode.open);
        let mut write = || -> rusqlite::Result<()> {
            if let Some((first, last)) = open.range() {
                let (places, dictionary, pieces) = open.block().columns();
                conn.prepare_cached("INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                    .execute(params![
                        number.0,
                        first.0,
                        last.0,
                        pressed_raw(&places, BLOCK_LEVEL)?,
                        pressed_raw(dictionary, BLOCK_LEVEL)?,
                        pressed_raw(&pieces, BLOCK_LEVEL)?
                    ])?;
                conn.prepare_cached("INSERT INTO marks VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![
                        number.0,
                        first.0,
                        last.0,
                        pressed_raw(&open.packed_marks(), BLOCK_LEVEL)?
                    ])?;
                conn.prepare_cached("DELETE FROM parts WHERE episode = ?1 AND late = 0")?
                    .execute([number.0])?;
                episode.packed_to = i64::from(last.0);
            }
            let Some(first) = open.first_change() else {
                return Ok(());
            };
            conn.prepare_cached("INSERT INTO changes (episode, first, data) VALUES (?1, ?2, ?3)")?
                .execute(params![number.0, first.0, pressed_raw(open.changes(), BLOCK_LEVEL)?])?;
            let change = conn.last_insert_rowid();
            conn.prepare_cached("UPDATE parts SET changes = x'' WHERE episode = ?1 AND length(changes) > 0")?
                .execute([number.0])?;
            let (count, bytes) = episode.since;
            if count >= KEYFRAME_CHANGES || bytes >= episode.memory.bytes().max(8 << 10) {
                let last = StepNo(u32::try_from(episode.last_step.max(0)).unwrap_or(u32::MAX));
                let state = episode.memory.clone().into_state(last);
                conn.prepare_cached("INSERT INTO keyframes VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![
                        number.0,
                        last.0,
                        change,
                        pressed_raw(&pack_state(&state), BLOCK_LEVEL)?
                    ])?;
                episode.since = (0, 0);
            }
            Ok(())
        };
        write().map_err(|error| StoreError::sqlite(path, &error))
    }

    /// Writes an episode's row.
    pub(super) fn save(&self, number: EpisodeNo) -> Result<(), StoreError> {
        let Some(episode) = self.episodes.get(&number) else {
            return Ok(());
        };
        let summary = &episode.summary;
        let tokens = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.conn
            .prepare_cached(
                "INSERT OR REPLACE INTO episodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    number.0,
                    summary.seed.to_string(),
                    episode.who.agent.as_str(),
                    &*episode.who.memory_root,
                    summary.steps,
                    episode.last_step,
                    episode.packed_to,
                    summary.total_reward,
                    summary.progression,
                    tokens(summary.prompt_tokens),
                    tokens(summary.cached_tokens),
                    tokens(summary.completion_tokens),
                    summary.end.map(crate::types::EndReason::word),
                    episode.same.seen.to_string(),
                    episode.same.times,
                ])
            })
            .map(|_| ())
            .map_err(|error| self.fail(&error))
    }
}

pub(super) fn pressed_raw(bytes: &[u8], level: i32) -> rusqlite::Result<Vec<u8>> {
    squeeze(bytes, level).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(super) fn pressed(path: &Path, bytes: &[u8], level: i32) -> Result<Vec<u8>, StoreError> {
    pressed_raw(bytes, level).map_err(|error| StoreError::sqlite(path, &error))
}
