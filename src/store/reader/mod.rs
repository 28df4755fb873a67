//! Reads a run file: any step, any file at any step, in both directions.
//!
//! Owns a read-only connection and a small cache. Never writes, never waits for the writer. One
//! reader a thread.

mod steps;
mod table;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use self::steps::Newest;
use self::table::read_marks;
pub(in crate::store) use self::table::recorded_steps;
use super::block::Block;
use super::cache::Cache;
use super::codec::{self, CodecError, FORMAT, Who};
use super::error::StoreError;
use super::marks::StepMark;
use super::memory::MemoryState;
use super::query::File;
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

    pub(in crate::store) fn parse<'t>(
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
    pub(in crate::store) fn with<T>(
        &self,
        work: impl FnOnce(File<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
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
pub(in crate::store) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
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
