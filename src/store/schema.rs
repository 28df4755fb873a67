//! The tables of a run file, and how it is opened.
//!
//! Owns the SQL layout and the checks before anything is believed. `events` are the truth (parts
//! and blocks); `marks`, `changes`, `keyframes` and the numbers in `episodes` are projections.
//!
//! | table | a row |
//! |---|---|
//! | head | what holds for the whole run, by key |
//! | run_events | an event of the run itself |
//! | episodes | an episode in numbers, and how far it is packed |
//! | parts | what one commit said about one step: newest steps, and what came late |
//! | blocks | the events of up to 256 steps: every text once, and how each step is put together |
//! | marks, changes | the same steps for the timeline, and their memory changes |
//! | keyframes | all memory files after a step (-1: before the first), changes up to `change` included |

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::codec::FORMAT;
use super::error::StoreError;

/// `AMem` in the database header: tells a run from any other SQLite file.
pub(super) const APPLICATION: i32 = 0x414d_656d;

/// Steps of a full block.
pub(super) const BLOCK_STEPS: usize = 256;

/// Bytes after which a block is full whatever its number of steps.
pub(super) const BLOCK_BYTES: usize = 4 << 20;

const TABLES: &str = "
CREATE TABLE head (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE run_events (seq INTEGER PRIMARY KEY, line BLOB NOT NULL);
CREATE TABLE episodes (
  episode INTEGER PRIMARY KEY, seed TEXT NOT NULL, agent TEXT NOT NULL, memory_root TEXT NOT NULL,
  steps INTEGER NOT NULL, last_step INTEGER NOT NULL, packed_to INTEGER NOT NULL, reward REAL NOT NULL,
  progression REAL NOT NULL, prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, ended TEXT, same_seen TEXT NOT NULL, same_times INTEGER NOT NULL);
CREATE TABLE parts (
  id INTEGER PRIMARY KEY, episode INTEGER NOT NULL, step INTEGER NOT NULL, late INTEGER NOT NULL,
  data BLOB NOT NULL, mark BLOB NOT NULL, changes BLOB NOT NULL);
CREATE INDEX parts_by_step ON parts (episode, step);
CREATE TABLE blocks (
  episode INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, places BLOB NOT NULL,
  dictionary BLOB NOT NULL, pieces BLOB NOT NULL,
  PRIMARY KEY (episode, first));
CREATE TABLE marks (
  episode INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (episode, first));
CREATE TABLE changes (
  id INTEGER PRIMARY KEY, episode INTEGER NOT NULL, first INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX changes_by_step ON changes (episode, first);
CREATE TABLE keyframes (
  episode INTEGER NOT NULL, step INTEGER NOT NULL, change INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (episode, step, change));
";

/// Makes an empty run file.
pub(super) fn create(path: &Path) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(fail)?;
    live(&conn).map_err(fail)?;
    conn.execute_batch(&format!(
        "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {TABLES} COMMIT;"
    ))
    .map_err(fail)?;
    Ok(conn)
}

/// Opens a run file for writing.
pub(super) fn open_to_write(path: &Path) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = open(path, flags)?;
    live(&conn).map_err(fail)?;
    Ok(conn)
}

/// Opens a run file for reading, finished or live.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX).or_else(|error| match error {
        // A finished run where not even a lock can be taken: nobody can be writing it either.
        StoreError::Denied { .. } | StoreError::Failed { .. } if !has_companion(path) => open_immutable(path, error),
        error => Err(error),
    })
}

/// Whether a log stands beside the file.
pub(super) fn has_companion(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        Path::new(&name).exists()
    })
}

/// The last resort of [`open_to_read`], on its own.
#[cfg(test)]
pub(super) fn open_immutable_for_tests(path: &Path) -> Result<Connection, StoreError> {
    open_immutable(path, StoreError::NotFound { path: path.to_owned() })
}

fn open_immutable(path: &Path, first: StoreError) -> Result<Connection, StoreError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(text) = absolute.to_str() else {
        return Err(first);
    };
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '%' => "%25".to_owned(),
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let uri = format!("file:{escaped}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri, flags).map_err(|_| first)?;
    check(&conn, path)?;
    Ok(conn)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // Never open the file by hand to look into it: closing it would drop SQLite's locks on it.
    let found = std::fs::metadata(path).map_err(|error| StoreError::io(path, "opened", &error))?;
    let not = |why: &str| StoreError::NotARun {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    if found.is_dir() {
        return Err(not("it is a folder"));
    }
    if found.len() == 0 {
        return Err(not("it is empty"));
    }
    let conn = Connection::open_with_flags(path, flags).map_err(|error| StoreError::sqlite(path, &error))?;
    check(&conn, path)?;
    Ok(conn)
}

/// Settings of a connection, and the first look at the file: what is it, and who wrote it?
fn check(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    conn.busy_timeout(Duration::from_secs(5)).map_err(fail)?;
    conn.set_prepared_statement_cache_capacity(64);
    let number = |name: &str| conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    if number("application_id").map_err(fail)? != i64::from(APPLICATION) {
        return Err(StoreError::NotARun {
            path: path.to_owned(),
            why: "it is a database of another program".to_owned(),
        });
    }
    let theirs = number("user_version").map_err(fail)?;
    if theirs > i64::from(FORMAT) {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            theirs: u32::try_from(theirs).unwrap_or(u32::MAX),
            ours: FORMAT,
        });
    }
    Ok(())
}

/// How a live file is kept: readers never wait, a killed process loses nothing that was committed.
fn live(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;")
}

/// A value of the file's head.
pub(super) fn head<T: rusqlite::types::FromSql>(conn: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    conn.prepare_cached("SELECT value FROM head WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

/// Sets a value of the file's head.
pub(super) fn set_head(conn: &Connection, key: &str, value: impl rusqlite::ToSql) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO head VALUES (?1, ?2)")?
        .execute(rusqlite::params![key, value])
        .map(|_| ())
}
