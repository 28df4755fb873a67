//! The step table: marks for the timeline, and which steps there are.

use rusqlite::params;

use crate::store::block::Block;
use crate::store::error::StoreError;
use crate::store::marks::{self, StepMark};
use crate::store::query::File;
use crate::store::wire::unsqueeze;
use crate::types::{EpisodeNo, StepNo};

/// The marks of an episode from a step on, unfinished steps included.
pub(super) fn read_marks(file: File<'_>, episode: EpisodeNo, from: StepNo) -> Result<Vec<StepMark>, StoreError> {
    let fail = |error: rusqlite::Error| file.fail(&error);
    let broken = || file.corrupt(format!("the step table of episode {episode} does not unpack"));
    let mut marks: Vec<StepMark> = Vec::new();
    let mut query = file
        .conn
        .prepare_cached("SELECT data FROM marks WHERE episode = ?1 AND last >= ?2 ORDER BY first")
        .map_err(fail)?;
    let mut rows = query.query(params![episode.0, from.0]).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let data = row.get_ref(0).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
        let columns = unsqueeze(data).ok_or_else(broken)?;
        marks::unpack(&columns, &mut marks).ok_or_else(broken)?;
    }
    if !marks.is_sorted_by_key(|mark| mark.step) {
        return Err(broken());
    }
    let mut query = file
        .conn
        .prepare_cached("SELECT mark FROM parts WHERE episode = ?1 AND step >= ?2 ORDER BY id")
        .map_err(fail)?;
    let mut rows = query.query(params![episode.0, from.0]).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let data = row.get_ref(0).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
        let mut newest = Vec::new();
        marks::unpack(data, &mut newest).ok_or_else(broken)?;
        for mark in newest {
            match marks.binary_search_by_key(&mark.step, |mark| mark.step) {
                Ok(at) => marks[at].merge(&mark),
                Err(at) => marks.insert(at, mark),
            }
        }
    }
    marks.retain(|mark| mark.step >= from);
    Ok(marks)
}

/// Every step that has an event, in order.
pub(in crate::store) fn recorded_steps(file: File<'_>, episode: EpisodeNo) -> Result<Vec<StepNo>, StoreError> {
    let fail = |error: rusqlite::Error| file.fail(&error);
    file.episode_row(episode)?;
    let mut steps = Vec::new();
    let mut query = file
        .conn
        .prepare_cached("SELECT places FROM blocks WHERE episode = ?1 ORDER BY first")
        .map_err(fail)?;
    let mut rows = query.query([episode.0]).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let places = row.get_ref(0).and_then(|places| Ok(places.as_blob()?)).map_err(fail)?;
        let block = unsqueeze(places)
            .and_then(|places| Block::steps(&places))
            .ok_or_else(|| file.corrupt(format!("a block of episode {episode} does not unpack")))?;
        steps.extend(block);
    }
    let mut query = file
        .conn
        .prepare_cached("SELECT step FROM parts WHERE episode = ?1")
        .map_err(fail)?;
    let newest = query
        .query_map([episode.0], |row| row.get(0).map(StepNo))
        .map_err(fail)?;
    for step in newest {
        steps.push(step.map_err(fail)?);
    }
    steps.sort_unstable();
    steps.dedup();
    Ok(steps)
}
