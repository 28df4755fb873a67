//! Where the text of a step is: in a block, among the newest rows, or come late.

use std::sync::Arc;

use rusqlite::params;
use rusqlite::types::ValueRef;

use super::Reader;
use crate::store::block::{Block, Part};
use crate::store::codec::Text;
use crate::store::error::StoreError;
use crate::store::query::{EpisodeRow, File};
use crate::store::wire::unsqueeze;
use crate::types::{EpisodeNo, StepNo};

/// The steps of an episode that are not packed yet, as far as they were read.
pub(super) struct Newest {
    episode: EpisodeNo,
    /// How far the episode was packed then; -2 before the first look.
    packed_to: i64,
    /// The last row that was read.
    last: i64,
    block: Block,
}

impl Newest {
    pub(super) fn of(episode: EpisodeNo, packed_to: i64) -> Self {
        Self {
            episode,
            packed_to,
            last: 0,
            block: Block::default(),
        }
    }
}

impl Reader {
    /// The stored text of a step, one item a commit.
    pub(in crate::store) fn texts(
        &self,
        file: File<'_>,
        row: &EpisodeRow,
        step: StepNo,
    ) -> Result<Vec<Text>, StoreError> {
        let episode = row.summary.episode;
        let broken = || file.corrupt(format!("step {step} of episode {episode} does not unpack"));
        let fail = |error: rusqlite::Error| file.fail(&error);
        let texts = if i64::from(step.0) > row.packed_to {
            self.newest(file, row, step)?
        } else {
            let mut texts = match self.block(file, episode, step)? {
                Some(block) => block.texts(step).ok_or_else(broken)?,
                None => Vec::new(),
            };
            let mut query = file
                .conn
                .prepare_cached("SELECT data FROM parts WHERE episode = ?1 AND step = ?2 AND late = 1 ORDER BY id")
                .map_err(fail)?;
            let rows = query
                .query_map(params![episode.0, step.0], |row| row.get::<_, Vec<u8>>(0))
                .map_err(fail)?;
            for data in rows {
                let part = unsqueeze(&data.map_err(fail)?).and_then(|data| Part::from_bytes(&data));
                texts.push(part.and_then(|part| part.text()).ok_or_else(broken)?);
            }
            texts
        };
        if texts.is_empty() {
            return Err(file.no_step(row, step));
        }
        Ok(texts)
    }

    /// A step that is not packed yet. Rows that were read before are not read again.
    fn newest(&self, file: File<'_>, row: &EpisodeRow, step: StepNo) -> Result<Vec<Text>, StoreError> {
        let episode = row.summary.episode;
        let fail = |error: rusqlite::Error| file.fail(&error);
        let broken = || file.corrupt(format!("the newest steps of episode {episode} do not unpack"));
        let mut newest = self.newest.borrow_mut();
        if (newest.episode, newest.packed_to) != (episode, row.packed_to) {
            *newest = Newest::of(episode, row.packed_to);
        }
        let mut query = file
            .conn
            .prepare_cached("SELECT id, step, data FROM parts WHERE episode = ?1 AND late = 0 AND id > ?2 ORDER BY id")
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0, newest.last]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let data = row.get_ref(2).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
            let part = unsqueeze(data)
                .and_then(|data| Part::from_bytes(&data))
                .ok_or_else(broken)?;
            newest.block.push(StepNo(row.get(1).map_err(fail)?), &part);
            newest.last = row.get(0).map_err(fail)?;
        }
        newest.block.texts(step).ok_or_else(broken)
    }

    /// The block that holds a step.
    pub(in crate::store) fn block(
        &self,
        file: File<'_>,
        episode: EpisodeNo,
        step: StepNo,
    ) -> Result<Option<Arc<Block>>, StoreError> {
        let fail = |error: rusqlite::Error| file.fail(&error);
        let mut query = file
            .conn
            .prepare_cached(
                "SELECT first, last, places, dictionary, pieces FROM blocks WHERE episode = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
            )
            .map_err(fail)?;
        let mut rows = query.query(params![episode.0, step.0]).map_err(fail)?;
        let Some(row) = rows.next().map_err(fail)? else {
            return Ok(None);
        };
        let first = StepNo(row.get(0).map_err(fail)?);
        if step > StepNo(row.get(1).map_err(fail)?) {
            return Ok(None);
        }
        self.unpacked(file, episode, first, [2, 3, 4].map(|at| row.get_ref(at)))
            .map(Some)
    }

    /// A block from its columns: places, dictionary, pieces; or as it was unpacked before.
    pub(in crate::store) fn unpacked(
        &self,
        file: File<'_>,
        episode: EpisodeNo,
        first: StepNo,
        columns: [rusqlite::Result<ValueRef<'_>>; 3],
    ) -> Result<Arc<Block>, StoreError> {
        if let Some(block) = self.blocks.borrow_mut().get(&(episode, first)) {
            return Ok(block);
        }
        let column = |data: rusqlite::Result<ValueRef<'_>>| {
            let fail = |error: rusqlite::Error| file.fail(&error);
            let data = data.and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
            unsqueeze(data).ok_or_else(|| {
                file.corrupt(format!(
                    "the block of step {first} of episode {episode} does not unpack"
                ))
            })
        };
        let [places, dictionary, pieces] = columns.map(column);
        let block = Block::from_columns(&places?, dictionary?, pieces?)
            .ok_or_else(|| file.corrupt(format!("the block of step {first} of episode {episode} is not whole")))?;
        let bytes = block.bytes();
        Ok(self.blocks.borrow_mut().put((episode, first), block, bytes))
    }
}
