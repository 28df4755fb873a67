//! Reads a run file: any step, any file at any step, in both directions.
//!
//! Owns a read-only connection and a small cache. Never writes, never waits for the writer. One
//! reader a thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::block::{Block, Part};
use super::cache::Cache;
use super::codec::{self, CodecError, FORMAT, Text, Who};
use super::error::StoreError;
use super::marks::{self, StepMark};
use super::memory::MemoryState;
use super::query::{EpisodeRow, File};
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
    newest: RefCell<Newest>,
}

/// The steps of an episode that are not packed yet, as far as they were read.
struct Newest {
    episode: EpisodeNo,
    /// How far the episode was packed then; -2 before the first look.
    packed_to: i64,
    /// The last row that was read.
    last: i64,
    block: Block,
}

impl Newest {
    fn of(episode: EpisodeNo, packed_to: i64) -> Self {
        Self {
            episode,
            packed_to,
            last: 0,
            block: Block::default(),
        }
    }
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
            newest: RefCell::new(Newest::of(EpisodeNo(0), -2)),
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
                self.parse(lines(&text), &[], Default::default(), &nobody, &mut events)?;
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
            self.parse(lines(&text.lines), &text.grids, (episode, step), &row.who, &mut events)?;
        }
        Ok(events)
    }

    /// The stored text of a step, one item a commit.
    pub(super) fn texts(&self, file: File<'_>, row: &EpisodeRow, step: StepNo) -> Result<Vec<Text>, StoreError> {
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
        if let Some(block) = self.blocks.borrow_mut().get(&(episode, first)) {
            return Ok(Some(block));
        }
        let column = |at: usize| {
            let data = row.get_ref(at).and_then(|data| Ok(data.as_blob()?)).map_err(fail)?;
            unsqueeze(data).ok_or_else(|| {
                file.corrupt(format!(
                    "the block of step {first} of episode {episode} does not unpack"
                ))
            })
        };
        let block = Block::from_columns(&column(2)?, column(3)?, column(4)?)
            .ok_or_else(|| file.corrupt(format!("the block of step {first} of episode {episode} is not whole")))?;
        let bytes = block.bytes();
        Ok(Some(self.blocks.borrow_mut().put((episode, first), block, bytes)))
    }

    pub(super) fn parse<'t>(
        &self,
        lines: impl Iterator<Item = &'t [u8]>,
        grids: &[Vec<u8>],
        (episode, step): (EpisodeNo, StepNo),
        who: &Who,
        events: &mut Vec<Event>,
    ) -> Result<(), StoreError> {
        for line in lines {
            let event =
                codec::decode_line(line, grids, episode, step, who, &self.meta).map_err(|error| match error {
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

/// The lines of a stored text.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
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
