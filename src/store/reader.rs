//! Reads a run file: any step, any file at any step, in both directions.
//!
//! Owns a read-only connection and a small cache. Never writes, never waits for the writer. One
//! reader a thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::block::Block;
use super::cache::Cache;
use super::codec::{self, CodecError, FORMAT, Who};
use super::error::StoreError;
use super::fold::unfold;
use super::marks::{self, StepMark};
use super::memory::MemoryState;
use super::query::{EpisodeRow, File, unpack_entries};
use super::schema;
use super::wire::unsqueeze;
use crate::types::{EpisodeNo, EpisodeSummary, Event, RunMeta, StepNo, StepRecord};

/// Bytes of unpacked blocks that are kept.
const CACHED_BLOCKS: usize = 32 << 20;
/// Bytes of memory states that are kept.
const CACHED_MEMORY: usize = 8 << 20;

/// A run file opened for reading, finished or live.
pub struct Reader {
    path: PathBuf,
    meta: RunMeta,
    conn: RefCell<Option<Connection>>,
    /// SQLite's count of foreign commits, as of the last look.
    version: i64,
    finished: bool,
    blocks: RefCell<Cache<(EpisodeNo, StepNo), Block>>,
    states: RefCell<Cache<(EpisodeNo, StepNo), MemoryState>>,
}

impl Reader {
    /// Opens a run.
    ///
    /// # Errors
    /// When there is none, it is no run, a newer program wrote it, or it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let conn = schema::open_to_read(path)?;
        let file = File { conn: &conn, path };
        let meta = file.meta()?;
        let version = data_version(file)?;
        let finished = is_finished(file)?;
        Ok(Self {
            path: path.to_owned(),
            meta,
            conn: RefCell::new(Some(conn)),
            version,
            finished,
            blocks: RefCell::new(Cache::new(CACHED_BLOCKS)),
            states: RefCell::new(Cache::new(CACHED_MEMORY)),
        })
    }

    /// The run's constants.
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the run was closed, as of the last [`refresh`](Self::refresh).
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Looks for new commits; true when there are some. Call it while a run is live: it also lets
    /// go of a file that its writer wants to close.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn refresh(&mut self) -> Result<bool, StoreError> {
        let (version, finished) = self.with(|file| Ok((data_version(file)?, is_finished(file)?)))?;
        let changed = version != self.version || finished != self.finished;
        self.finished = finished;
        self.version = version;
        if changed {
            self.states = RefCell::new(Cache::new(CACHED_MEMORY));
        }
        if finished && self.with(|file| Ok(is_live(file)))? {
            // Opened again by the next call; what it then finds is the same or closed.
            self.conn.replace(None);
            self.version = -1;
        }
        Ok(changed)
    }

    /// All episodes in numbers.
    ///
    /// # Errors
    /// When the file is damaged or gone.
    pub fn episodes(&self) -> Result<Vec<EpisodeSummary>, StoreError> {
        self.with(|file| Ok(file.episode_rows()?.into_iter().map(|row| row.summary).collect()))
    }

    /// The finished steps of an episode from a step on, in order.
    ///
    /// # Errors
    /// When there is no such episode or the file is damaged.
    pub fn timeline(&self, episode: EpisodeNo, from: StepNo) -> Result<Vec<StepMark>, StoreError> {
        self.with(|file| {
            file.episode_row(episode)?;
            let marks = read_marks(file, episode, from)?;
            Ok(marks
                .into_iter()
                .filter(StepMark::is_finished)
                .map(StepMark::public)
                .collect())
        })
    }

    /// All that is recorded of a step. The step after the last one holds what the world showed
    /// last, and the end.
    ///
    /// # Errors
    /// When there is no such step or the file is damaged.
    pub fn step(&self, episode: EpisodeNo, step: StepNo) -> Result<StepRecord, StoreError> {
        let events = self.events_of(episode, step)?;
        let mut record = StepRecord::new(step);
        events.into_iter().for_each(|event| record.push(event.body));
        Ok(record)
    }

    /// The steps of a range that are recorded, in order.
    ///
    /// # Errors
    /// When there is no such episode or the file is damaged.
    pub fn steps(&self, episode: EpisodeNo, range: Range<StepNo>) -> Result<Vec<StepRecord>, StoreError> {
        let numbers = self.with(|file| recorded_steps(file, episode))?;
        let wanted = numbers.into_iter().filter(|step| range.contains(step));
        wanted.map(|step| self.step(episode, step)).collect()
    }

    /// The largest step of an episode that has an event; `None` while it has none.
    ///
    /// # Errors
    /// When there is no such episode or the file is damaged.
    pub fn last_step(&self, episode: EpisodeNo) -> Result<Option<StepNo>, StoreError> {
        self.with(|file| Ok(u32::try_from(file.episode_row(episode)?.last_step).ok().map(StepNo)))
    }

    /// The memory in a step, after its LOG and PLAN and before the world moved.
    ///
    /// # Errors
    /// When there is no such step or the file is damaged.
    pub fn memory_at(&self, episode: EpisodeNo, step: StepNo) -> Result<Arc<MemoryState>, StoreError> {
        if let Some(state) = self.states.borrow_mut().get(&(episode, step)) {
            return Ok(state);
        }
        let state = self.with(|file| {
            let row = file.episode_row(episode)?;
            if i64::from(step.0) > row.last_step {
                return Err(file.no_step(&row, step));
            }
            file.memory(episode, step)
        })?;
        let bytes = state.bytes();
        Ok(self.states.borrow_mut().put((episode, step), state, bytes))
    }

    /// The events of the run itself: its start and its end.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn run_events(&self) -> Result<Vec<Event>, StoreError> {
        let nobody = Who {
            agent: "".into(),
            memory_root: "".into(),
        };
        self.with(|file| {
            let fail = |error: rusqlite::Error| file.fail(&error);
            let mut query = file
                .conn
                .prepare_cached("SELECT line FROM run_events ORDER BY seq")
                .map_err(fail)?;
            let rows = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).map_err(fail)?;
            let mut events = Vec::new();
            for row in rows {
                let text = unsqueeze(&row.map_err(fail)?)
                    .ok_or_else(|| file.corrupt("an event of the run does not unpack"))?;
                self.parse(&text, EpisodeNo(0), StepNo(0), &nobody, &mut events)?;
            }
            Ok(events)
        })
    }

    /// The events of an episode in the order of its steps; unpacks one block at a time.
    ///
    /// # Errors
    /// When there is no such episode or the file is damaged.
    pub fn episode_events(&self, episode: EpisodeNo) -> Result<EpisodeEvents<'_>, StoreError> {
        let steps = self.with(|file| recorded_steps(file, episode))?;
        Ok(EpisodeEvents {
            reader: self,
            episode,
            steps: steps.into(),
            ready: VecDeque::new(),
        })
    }

    fn events_of(&self, episode: EpisodeNo, step: StepNo) -> Result<Vec<Event>, StoreError> {
        let (row, texts) = self.with(|file| {
            let row = file.episode_row(episode)?;
            let texts = self.texts(file, &row, step)?;
            Ok((row, texts))
        })?;
        let mut events = Vec::new();
        for text in texts {
            self.parse(&text, episode, step, &row.who, &mut events)?;
        }
        Ok(events)
    }

    /// The stored text of a step, one item a commit.
    pub(super) fn texts(&self, file: File<'_>, row: &EpisodeRow, step: StepNo) -> Result<Vec<Vec<u8>>, StoreError> {
        let episode = row.summary.episode;
        let broken = || file.corrupt(format!("step {step} of episode {episode} does not unpack"));
        let mut texts = if i64::from(step.0) <= row.packed_to {
            match self.block(file, episode, step)? {
                Some(block) => block.texts(step).ok_or_else(broken)?,
                None => Vec::new(),
            }
        } else {
            Vec::new()
        };
        let fail = |error: rusqlite::Error| file.fail(&error);
        let mut query = file
            .conn
            .prepare_cached("SELECT based, data FROM parts WHERE episode = ?1 AND step = ?2 ORDER BY id")
            .map_err(fail)?;
        let rows = query
            .query_map(params![episode.0, step.0], |row| {
                Ok((row.get::<_, bool>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .map_err(fail)?;
        for part in rows {
            let (based, data) = part.map_err(fail)?;
            let folded = unsqueeze(&data).ok_or_else(broken)?;
            let base = if based { open_base(file, episode)? } else { Vec::new() };
            texts.push(unfold(&base, &folded).ok_or_else(broken)?);
        }
        if texts.is_empty() {
            return Err(file.no_step(row, step));
        }
        Ok(texts)
    }

    /// The block that holds a step.
    pub(super) fn block(
        &self,
        file: File<'_>,
        episode: EpisodeNo,
        step: StepNo,
    ) -> Result<Option<Arc<Block>>, StoreError> {
        let fail = |error: rusqlite::Error| file.fail(&error);
        let mut query = file
            .conn
            .prepare_cached(
                "SELECT first, last, entries, data FROM blocks WHERE episode = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
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
        if let Some(block) = self.blocks.borrow_mut().get(&(episode, first)) {
            return Ok(Some(block));
        }
        let entries = row
            .get_ref(2)
            .and_then(|entries| Ok(entries.as_blob()?))
            .map_err(fail)?;
        let data = row.get_ref(3).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
        let block = Block::unpack(entries, data).ok_or_else(|| {
            file.corrupt(format!(
                "the block of step {first} of episode {episode} does not unpack"
            ))
        })?;
        let bytes = block.bytes();
        Ok(Some(self.blocks.borrow_mut().put((episode, first), block, bytes)))
    }

    pub(super) fn parse(
        &self,
        text: &[u8],
        episode: EpisodeNo,
        step: StepNo,
        who: &Who,
        events: &mut Vec<Event>,
    ) -> Result<(), StoreError> {
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event = codec::decode_line(line, episode, step, who, &self.meta).map_err(|error| match error {
                CodecError::Newer { theirs } => StoreError::Newer {
                    path: self.path.clone(),
                    theirs,
                    ours: FORMAT,
                },
                error => StoreError::corrupt(&self.path, format!("step {step} of episode {episode}: {error}")),
            })?;
            events.push(event);
        }
        Ok(())
    }

    /// Runs queries on one consistent state of the file.
    pub(super) fn with<T>(&self, work: impl FnOnce(File<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut slot = self.conn.borrow_mut();
        if slot.is_none() {
            *slot = Some(schema::open_to_read(&self.path)?);
        }
        let Some(conn) = slot.as_ref() else {
            return Err(StoreError::NotFound {
                path: self.path.clone(),
            });
        };
        let fail = |error: rusqlite::Error| StoreError::sqlite(&self.path, &error);
        let snapshot = conn.unchecked_transaction().map_err(fail)?;
        let result = work(File { conn, path: &self.path });
        snapshot.finish().map_err(fail)?;
        result
    }
}

/// The events of an episode, read as they are asked for.
pub struct EpisodeEvents<'a> {
    reader: &'a Reader,
    episode: EpisodeNo,
    steps: VecDeque<StepNo>,
    ready: VecDeque<Event>,
}

impl Iterator for EpisodeEvents<'_> {
    type Item = Result<Event, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let step = self.steps.pop_front()?;
            match self.reader.events_of(self.episode, step) {
                Ok(events) => self.ready = events.into(),
                Err(error) => {
                    self.steps.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

fn data_version(file: File<'_>) -> Result<i64, StoreError> {
    file.conn
        .query_row("PRAGMA data_version", [], |row| row.get(0))
        .map_err(|error| file.fail(&error))
}

fn is_finished(file: File<'_>) -> Result<bool, StoreError> {
    let state: Option<String> = schema::head(file.conn, "state").map_err(|error| file.fail(&error))?;
    Ok(state.as_deref() == Some("finished"))
}

fn is_live(file: File<'_>) -> bool {
    let mode = file
        .conn
        .query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    mode.is_ok_and(|mode| mode.eq_ignore_ascii_case("wal"))
}

/// The text that the newest steps refer to.
fn open_base(file: File<'_>, episode: EpisodeNo) -> Result<Vec<u8>, StoreError> {
    let broken = || file.corrupt(format!("the newest steps of episode {episode} do not unpack"));
    let data: Option<Vec<u8>> = file
        .conn
        .prepare_cached("SELECT data FROM parts WHERE episode = ?1 AND late = 0 ORDER BY id LIMIT 1")
        .and_then(|mut query| query.query_row([episode.0], |row| row.get(0)).optional())
        .map_err(|error| file.fail(&error))?;
    let folded = unsqueeze(&data.ok_or_else(broken)?).ok_or_else(broken)?;
    unfold(&[], &folded).ok_or_else(broken)
}

fn read_marks(file: File<'_>, episode: EpisodeNo, from: StepNo) -> Result<Vec<StepMark>, StoreError> {
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
pub(super) fn recorded_steps(file: File<'_>, episode: EpisodeNo) -> Result<Vec<StepNo>, StoreError> {
    let fail = |error: rusqlite::Error| file.fail(&error);
    file.episode_row(episode)?;
    let mut steps = Vec::new();
    let mut query = file
        .conn
        .prepare_cached("SELECT entries FROM blocks WHERE episode = ?1 ORDER BY first")
        .map_err(fail)?;
    let mut rows = query.query([episode.0]).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let entries = row
            .get_ref(0)
            .and_then(|entries| Ok(entries.as_blob()?))
            .map_err(fail)?;
        let entries = unpack_entries(entries)
            .ok_or_else(|| file.corrupt(format!("a block of episode {episode} does not unpack")))?;
        steps.extend(entries.iter().map(|entry| entry.step));
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
