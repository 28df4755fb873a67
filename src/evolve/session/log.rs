//! The log of optimizations in the workspace's database: rows are added, never changed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;

use super::error::SessionError;
use super::state::{Event, Setup, State};
use crate::config::Workspace;
use crate::store::{StoreError, open_database};

/// Format of the entries; a reader that meets a newer one stops.
const FORMAT: u64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS optimizations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, time TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS optimizations_of ON optimizations (name, seq);
CREATE TRIGGER IF NOT EXISTS optimizations_stay BEFORE UPDATE ON optimizations BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER IF NOT EXISTS optimizations_remain BEFORE DELETE ON optimizations BEGIN SELECT raise(ABORT, 'the log only grows'); END;
";

/// The log of a workspace's optimizations. One a thread.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    conn: Connection,
}

/// An optimization with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// When it began, RFC 3339, UTC.
    pub begun: String,
    /// When something happened last.
    pub touched: String,
    /// Where it stands.
    pub state: State,
}

impl Log {
    /// Opens the log; makes the workspace when there is none.
    ///
    /// # Errors
    /// When the database cannot be made or read.
    pub fn open(workspace: &Workspace) -> Result<Self, SessionError> {
        let path = workspace.database();
        let conn = open_database(workspace, TABLES, "optimizations_remain")?;
        Ok(Self { path, conn })
    }

    /// The database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins an optimization under a name that is free: the scaffold's, with a number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, setup: &Setup) -> Result<String, SessionError> {
        let scaffold = &setup.scaffold;
        let body = written(&Event::Started { setup: setup.clone() });
        let now = jiff::Timestamp::now().to_string();
        let work = |conn: &mut Connection| -> rusqlite::Result<String> {
            let work = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut n = 1_u64;
            let name = loop {
                let name = format!("{scaffold}-{n}");
                let taken: i64 =
                    work.query_row("SELECT count(*) FROM optimizations WHERE name = ?1", [&name], |row| {
                        row.get(0)
                    })?;
                if taken == 0 {
                    break name;
                }
                n += 1;
            };
            work.execute(
                "INSERT INTO optimizations (name, time, body) VALUES (?1, ?2, ?3)",
                params![name, now, body],
            )?;
            work.commit()?;
            Ok(name)
        };
        Ok(work(&mut self.conn).map_err(|error| StoreError::sqlite(&self.path, &error))?)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, name: &str, event: &Event) -> Result<(), SessionError> {
        self.conn
            .execute(
                "INSERT INTO optimizations (name, time, body) VALUES (?1, ?2, ?3)",
                params![name, jiff::Timestamp::now().to_string(), written(event)],
            )
            .map_err(|error| StoreError::sqlite(&self.path, &error))?;
        Ok(())
    }

    /// The entries of an optimization with their times, oldest first; empty when there is none of that name.
    ///
    /// # Errors
    /// When the database cannot be read, or an entry cannot be understood.
    pub fn events(&self, name: &str) -> Result<Vec<(String, Event)>, SessionError> {
        let read = || -> rusqlite::Result<Vec<(i64, String, Vec<u8>)>> {
            self.conn
                .prepare_cached("SELECT seq, time, body FROM optimizations WHERE name = ?1 ORDER BY seq")?
                .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        };
        let rows = read().map_err(|error| StoreError::sqlite(&self.path, &error))?;
        rows.into_iter()
            .map(|(seq, time, body)| {
                let event = understood(&body).map_err(|why| SessionError::Record {
                    name: name.to_owned(),
                    seq,
                    why,
                })?;
                Ok((time, event))
            })
            .collect()
    }

    /// An optimization by name.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn one(&self, name: &str) -> Result<Listed, SessionError> {
        let events = self.events(name)?;
        let times = (events.first(), events.last());
        if let (Some((begun, _)), Some((touched, _))) = times {
            let (begun, touched) = (begun.clone(), touched.clone());
            if let Some(state) = State::of(events.into_iter().map(|(_, event)| event)) {
                return Ok(Listed {
                    name: name.to_owned(),
                    begun,
                    touched,
                    state,
                });
            }
        }
        let names = self.names()?;
        Err(SessionError::Unknown {
            name: name.to_owned(),
            there: if names.is_empty() {
                "there are none yet; `automem optimize --meta rules` begins one".to_owned()
            } else {
                format!("there are: {}", names.join(", "))
            },
        })
    }

    /// All optimizations, the newest first.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, SessionError> {
        self.names()?.iter().map(|name| self.one(name)).collect()
    }

    fn names(&self) -> Result<Vec<String>, SessionError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            self.conn
                .prepare_cached("SELECT name FROM optimizations GROUP BY name ORDER BY min(seq) DESC")?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        Ok(read().map_err(|error| StoreError::sqlite(&self.path, &error))?)
    }
}

/// An entry as it is stored: compressed, since it may hold a scaffold's files.
fn written(event: &Event) -> Vec<u8> {
    let body = serde_json::json!({ "format": FORMAT, "entry": event }).to_string();
    // Writing into memory does not fail; an entry that is not compressed is read just as well.
    zstd::encode_all(body.as_bytes(), 9).unwrap_or_else(|_| body.into_bytes())
}

fn understood(body: &[u8]) -> Result<Event, String> {
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
