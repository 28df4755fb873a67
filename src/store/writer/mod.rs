//! Writes a run file, one transaction a commit.
//!
//! Owns the order of things on disk: events and their projections appear together or not at all,
//! full blocks replace their single rows in the same transaction. Must not be read from; a
//! [`Reader`](super::Reader) on the same path sees every commit at once.

mod episode;
mod rows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use self::episode::{Episode, changes_of};
use self::rows::{BLOCK_LEVEL, ROW_LEVEL, pressed, pressed_raw};
use super::block::{OpenBlock, Part};
use super::codec::{self, CodecError, Text, Who};
use super::error::StoreError;
use super::lock::Lock;
use super::marks::{self, StepMark};
use super::memory::{MemoryState, Workbench, pack_state};
use super::query::File;
use super::schema;
use crate::types::{At, Body, EpisodeNo, EpisodeSummary, Event, RunMeta, StepNo};

/// The one writer of a run file.
pub struct Writer {
    path: PathBuf,
    conn: Connection,
    meta: RunMeta,
    episodes: BTreeMap<EpisodeNo, Episode>,
    /// Steps of a full block.
    block_steps: usize,
    /// A commit failed: what is kept here may be ahead of the file.
    stale: bool,
    _lock: Lock,
}

impl Writer {
    /// Makes a new run file; folders above it are made too.
    ///
    /// # Errors
    /// When the file exists or cannot be made.
    pub fn create(path: impl AsRef<Path>, meta: &RunMeta) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| StoreError::io(path, "created", &error))?;
        }
        if path.exists() {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        let lock = Lock::take(path)?;
        let conn = schema::create(path)?;
        let file = File { conn: &conn, path };
        let text = serde_json::to_vec(meta).map_err(|error| StoreError::Failed {
            path: path.to_owned(),
            what: format!("the description of the run has no stored form: {error}"),
        })?;
        schema::set_head(&conn, "meta", pressed(path, &text, BLOCK_LEVEL)?).map_err(|error| file.fail(&error))?;
        schema::set_head(&conn, "state", "live").map_err(|error| file.fail(&error))?;
        Ok(Self {
            path: path.to_owned(),
            conn,
            meta: meta.clone(),
            episodes: BTreeMap::new(),
            block_steps: schema::BLOCK_STEPS,
            stale: false,
            _lock: lock,
        })
    }

    /// Goes on with a run that was interrupted or finished. What a killed process had committed is
    /// all there; what it had not is gone.
    ///
    /// # Errors
    /// When there is no such run, another process writes it, or it is damaged.
    pub fn reopen(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        // Looked at before the lock, so that a missing file leaves no trace.
        std::fs::metadata(path).map_err(|error| StoreError::io(path, "opened", &error))?;
        let lock = Lock::take(path)?;
        let conn = schema::open_to_write(path)?;
        let file = File { conn: &conn, path };
        let meta = file.meta()?;
        schema::set_head(&conn, "state", "live").map_err(|error| file.fail(&error))?;
        let mut writer = Self {
            path: path.to_owned(),
            conn,
            meta,
            episodes: BTreeMap::new(),
            block_steps: schema::BLOCK_STEPS,
            stale: true,
            _lock: lock,
        };
        writer.load()?;
        Ok(writer)
    }

    /// Packs after fewer steps, so that small tests pack too.
    #[cfg(test)]
    pub(in crate::store) fn with_block_steps(mut self, steps: usize) -> Self {
        self.block_steps = steps;
        self
    }

    /// Makes the disk as large as that.
    #[cfg(test)]
    pub(in crate::store) fn limit_pages(&self, pages: u32) {
        let set = format!("PRAGMA max_page_count = {pages}");
        assert!(self.conn.query_row(&set, [], |_| Ok(())).is_ok());
    }

    /// Leaves a transaction half done.
    #[cfg(test)]
    pub(in crate::store) fn begin_for_tests(&self) {
        let half =
            "BEGIN IMMEDIATE; PRAGMA cache_size = 1; DELETE FROM episodes; DELETE FROM blocks; DELETE FROM parts";
        assert!(self.conn.execute_batch(half).is_ok());
    }

    /// The run's constants.
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The episodes in numbers, as committed.
    pub fn episodes(&self) -> Vec<EpisodeSummary> {
        self.episodes.values().map(|episode| episode.summary.clone()).collect()
    }

    /// Commits events in their order: all of them or, on an error, none. Events that only live are
    /// skipped. Events of an earlier step are added to that step; memory changes among them count
    /// from the newest step on.
    ///
    /// # Errors
    /// When the disk is full or fails; the file then stands as before, and the next commit may
    /// succeed.
    pub fn commit(&mut self, events: &[Event]) -> Result<(), StoreError> {
        if self.stale {
            self.load()?;
        }
        self.stale = true;
        self.begin()?;
        match self.write(events).and_then(|()| self.end()) {
            Ok(()) => {
                self.stale = false;
                Ok(())
            }
            Err(error) => {
                // It may be rolled back already, as SQLite does on a full disk.
                let _ = self.conn.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Packs the rest and leaves one closed file, without a log beside it.
    ///
    /// # Errors
    /// When the disk is full or fails; the run is then complete and readable, but not closed.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if self.stale {
            self.load()?;
        }
        self.begin()?;
        let numbers: Vec<EpisodeNo> = self.episodes.keys().copied().collect();
        let packed = numbers.into_iter().try_for_each(|number| {
            self.pack(number)?;
            self.save(number)
        });
        let set =
            packed.and_then(|()| schema::set_head(&self.conn, "state", "finished").map_err(|error| self.fail(&error)));
        if let Err(error) = set.and_then(|()| self.end()) {
            let _ = self.conn.execute_batch("ROLLBACK");
            return Err(error);
        }
        super::close::close(&self.conn, &self.path)
    }

    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.path, error)
    }

    fn begin(&self) -> Result<(), StoreError> {
        self.conn
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(|error| self.fail(&error))
    }

    fn end(&self) -> Result<(), StoreError> {
        self.conn.execute_batch("COMMIT").map_err(|error| self.fail(&error))
    }

    /// Reads from the file what is kept between commits.
    fn load(&mut self) -> Result<(), StoreError> {
        let file = File {
            conn: &self.conn,
            path: &self.path,
        };
        let mut episodes = BTreeMap::new();
        for row in file.episode_rows()? {
            let number = row.summary.episode;
            let open = OpenBlock::load(file, number)?;
            let last = StepNo(u32::try_from(row.last_step.max(0)).unwrap_or(u32::MAX));
            let memory = file.bench(number, last)?;
            episodes.insert(number, Episode::from_row(row, open, memory));
        }
        self.episodes = episodes;
        self.stale = false;
        Ok(())
    }

    fn write(&mut self, events: &[Event]) -> Result<(), StoreError> {
        let stored: Vec<&Event> = events.iter().filter(|event| event.body.is_stored()).collect();
        let mut touched = Vec::new();
        for group in stored.chunk_by(|a, b| place(a) == place(b)) {
            let Some(first) = group.first() else { continue };
            match place(first) {
                None => group.iter().try_for_each(|event| self.write_run_event(event))?,
                Some((episode, step)) => {
                    self.write_part(episode, step, group)?;
                    if !touched.contains(&episode) {
                        touched.push(episode);
                    }
                }
            }
        }
        touched.into_iter().try_for_each(|episode| self.save(episode))
    }

    fn write_run_event(&self, event: &Event) -> Result<(), StoreError> {
        let nobody = Who {
            agent: "".into(),
            memory_root: "".into(),
        };
        let mut line = Text::default();
        match &event.body {
            Body::RunStarted { meta } if **meta == self.meta => {
                codec::encode_run_started(&event.at, &nobody, &mut line)
            }
            _ => codec::encode(event, &nobody, &mut line),
        }
        .map_err(|error| unstorable(&event.at, &error))?;
        self.conn
            .prepare_cached("INSERT INTO run_events (line) VALUES (?1)")
            .and_then(|mut insert| insert.execute([pressed_raw(&line.lines, ROW_LEVEL)?]))
            .map(|_| ())
            .map_err(|error| self.fail(&error))
    }

    /// Writes what a commit says about one step.
    fn write_part(&mut self, number: EpisodeNo, step: StepNo, events: &[&Event]) -> Result<(), StoreError> {
        let Some(first) = events.first() else { return Ok(()) };
        self.episodes
            .entry(number)
            .or_insert_with(|| Episode::new(number, Who::of(&first.at)));
        let late = self
            .episodes
            .get(&number)
            .is_some_and(|episode| i64::from(step.0) <= episode.packed_to);
        if !late
            && self
                .episodes
                .get(&number)
                .is_some_and(|episode| episode.open.is_full_before(step, self.block_steps))
        {
            self.pack(number)?;
        }
        let (conn, path) = (&self.conn, self.path.as_path());
        let Some(episode) = self.episodes.get_mut(&number) else {
            return Ok(());
        };
        episode.last_step = episode.last_step.max(i64::from(step.0));

        let mut text = Text::default();
        let mut changes = Vec::new();
        let mut mark = StepMark::empty(step);
        for event in events {
            codec::encode(event, &episode.who, &mut text).map_err(|error| unstorable(&event.at, &error))?;
            mark.take(&event.body, &mut episode.same);
            episode.count(&event.body);
            if let Body::EpisodeStarted { inherited, .. } = &event.body {
                let state = MemoryState::initial(inherited);
                conn.prepare_cached("INSERT OR REPLACE INTO keyframes VALUES (?1, -1, 0, ?2)")
                    .and_then(|mut insert| {
                        insert.execute(params![number.0, pressed_raw(&pack_state(&state), BLOCK_LEVEL)?])
                    })
                    .map_err(|error| StoreError::sqlite(path, &error))?;
                episode.memory = Workbench::from_state(&state);
            }
            for change in changes_of(&event.body) {
                episode.change(change, &mut changes)?;
            }
        }
        let part = if late {
            Part::alone(&text)
        } else {
            episode.open.add(step, &text, &mark)
        };
        episode.open.add_changes(&changes);
        conn.prepare_cached(
            "INSERT INTO parts (episode, step, late, data, mark, changes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                number.0,
                step.0,
                late,
                pressed_raw(&part.to_bytes(), ROW_LEVEL)?,
                marks::pack(std::slice::from_ref(&mark)),
                changes
            ])
        })
        .map(|_| ())
        .map_err(|error| StoreError::sqlite(path, &error))
    }
}

/// Where an event is kept: with the run, or with a step.
fn place(event: &Event) -> Option<(EpisodeNo, StepNo)> {
    match event.body {
        Body::RunStarted { .. } | Body::RunFinished => None,
        _ => Some((event.at.episode, event.at.step)),
    }
}

fn unstorable(at: &At, error: &CodecError) -> StoreError {
    StoreError::Unstorable {
        episode: at.episode,
        step: at.step,
        why: error.to_string(),
    }
}
