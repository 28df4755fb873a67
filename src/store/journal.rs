//! Journals in the workspace's database: named logs of events to which rows are added, never changed.
//!
//! Owns the table's form. What the events mean is their owner's: a state that is a fold over them.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::StoreError;
use super::workspace::open_database;
use crate::config::Workspace;

/// Format of the entries; a reader that meets a newer one stops.
const FORMAT: u64 = 1;

/// A kind of journal in a workspace. One a thread.
#[derive(Debug)]
pub struct Journal<E> {
    table: &'static str,
    path: PathBuf,
    conn: Connection,
    of: PhantomData<fn() -> E>,
}

/// A journal with what it has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<S> {
    /// Its name.
    pub name: String,
    /// When it began, RFC 3339, UTC.
    pub begun: String,
    /// When something happened last.
    pub touched: String,
    /// Where it stands.
    pub state: S,
}

impl<E: Serialize + DeserializeOwned> Journal<E> {
    /// Opens the journals of a table, a word of small letters; makes the workspace when there is none.
    ///
    /// # Errors
    /// When the database cannot be made or read.
    pub fn open(workspace: &Workspace, table: &'static str) -> Result<Self, StoreError> {
        let tables = format!(
            "CREATE TABLE IF NOT EXISTS {table} (
               seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, time TEXT NOT NULL, body BLOB NOT NULL);
             CREATE INDEX IF NOT EXISTS {table}_of ON {table} (name, seq);
             CREATE TRIGGER IF NOT EXISTS {table}_stay BEFORE UPDATE ON {table} BEGIN SELECT raise(ABORT, 'the log only grows'); END;
             CREATE TRIGGER IF NOT EXISTS {table}_remain BEFORE DELETE ON {table} BEGIN SELECT raise(ABORT, 'the log only grows'); END;"
        );
        Ok(Self {
            conn: open_database(workspace, &tables, &format!("{table}_remain"))?,
            path: workspace.database(),
            table,
            of: PhantomData,
        })
    }

    /// The database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a journal under a name that is free: the prefix with a number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, prefix: &str, event: &E) -> Result<String, StoreError> {
        let (body, now, table) = (written(event), jiff::Timestamp::now().to_string(), self.table);
        let work = |conn: &mut Connection| -> rusqlite::Result<String> {
            let work = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut n = 1_u64;
            let name = loop {
                let name = format!("{prefix}-{n}");
                let count = format!("SELECT count(*) FROM {table} WHERE name = ?1");
                let taken: i64 = work.query_row(&count, [&name], |row| row.get(0))?;
                if taken == 0 {
                    break name;
                }
                n += 1;
            };
            let insert = format!("INSERT INTO {table} (name, time, body) VALUES (?1, ?2, ?3)");
            work.execute(&insert, params![name, now, body])?;
            work.commit()?;
            Ok(name)
        };
        work(&mut self.conn).map_err(|error| StoreError::sqlite(&self.path, &error))
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, name: &str, event: &E) -> Result<(), StoreError> {
        let insert = format!("INSERT INTO {} (name, time, body) VALUES (?1, ?2, ?3)", self.table);
        self.conn
            .execute(
                &insert,
                params![name, jiff::Timestamp::now().to_string(), written(event)],
            )
            .map_err(|error| StoreError::sqlite(&self.path, &error))?;
        Ok(())
    }

    /// The entries of a journal with their times, oldest first; empty when there is none of that name.
    ///
    /// # Errors
    /// When the database cannot be read, or an entry cannot be understood.
    pub fn events(&self, name: &str) -> Result<Vec<(String, E)>, StoreError> {
        let select = format!(
            "SELECT seq, time, body FROM {} WHERE name = ?1 ORDER BY seq",
            self.table
        );
        let read = || -> rusqlite::Result<Vec<(i64, String, Vec<u8>)>> {
            self.conn
                .prepare_cached(&select)?
                .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        };
        let rows = read().map_err(|error| StoreError::sqlite(&self.path, &error))?;
        rows.into_iter()
            .map(|(seq, time, body)| {
                let event = understood(&body).map_err(|why| StoreError::Entry {
                    path: self.path.clone(),
                    name: name.to_owned(),
                    seq,
                    why,
                })?;
                Ok((time, event))
            })
            .collect()
    }

    /// A journal by name, folded into a state; `None` when there is none, or its events do not begin one.
    ///
    /// # Errors
    /// As [`Journal::events`].
    pub fn listed<S>(
        &self,
        name: &str,
        fold: impl FnOnce(std::vec::IntoIter<E>) -> Option<S>,
    ) -> Result<Option<Listed<S>>, StoreError> {
        let (times, events): (Vec<String>, Vec<E>) = self.events(name)?.into_iter().unzip();
        let (Some(begun), Some(touched)) = (times.first(), times.last()) else {
            return Ok(None);
        };
        Ok(fold(events.into_iter()).map(|state| Listed {
            name: name.to_owned(),
            begun: begun.clone(),
            touched: touched.clone(),
            state,
        }))
    }

    /// What there is, for someone who asked for another name; `hint` when there is nothing.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn there(&self, hint: &str) -> Result<String, StoreError> {
        let names = self.names()?;
        Ok(match names.is_empty() {
            true => hint.to_owned(),
            false => format!("there are: {}", names.join(", ")),
        })
    }

    /// Names of all journals, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let select = format!("SELECT name FROM {} GROUP BY name ORDER BY min(seq) DESC", self.table);
        let read = || -> rusqlite::Result<Vec<String>> {
            self.conn
                .prepare_cached(&select)?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        read().map_err(|error| StoreError::sqlite(&self.path, &error))
    }
}

/// An entry as it is stored: compressed, since it may hold a scaffold's files.
fn written<E: Serialize>(event: &E) -> Vec<u8> {
    let body = serde_json::json!({ "format": FORMAT, "entry": event }).to_string();
    // Writing into memory does not fail; an entry that is not compressed is read just as well.
    zstd::encode_all(body.as_bytes(), 9).unwrap_or_else(|_| body.into_bytes())
}

fn understood<E: DeserializeOwned>(body: &[u8]) -> Result<E, String> {
    let text = zstd::decode_all(body).unwrap_or_else(|_| body.to_vec());
    // By way of a `Value`: numbers inside tagged types are not read from text otherwise.
    let mut value: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    match value["format"].as_u64() {
        Some(FORMAT) => {}
        Some(newer) => {
            return Err(format!(
                "it has format {newer} and this program knows {FORMAT}; use the newer automem"
            ));
        }
        None => return Err("it names no format".to_owned()),
    }
    serde_json::from_value(value["entry"].take()).map_err(|error| error.to_string())
}
