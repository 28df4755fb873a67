//! Versions of scaffolds: every one that was ever the workspace's own, by the digest of its files.
//!
//! Owns the tables `scaffold_files` and `scaffold_versions` of the workspace's database, and putting a version
//! in the place of a scaffold's folder and back. Nothing is ever removed from the tables. Must not know
//! proposals or decisions; who calls says in a note why a version is kept.

mod error;
mod install;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

pub use error::VersionError;
pub use install::Installed;

use super::{MANIFEST, digest_of, files_problem, sound_name};
use crate::config::Workspace;
use crate::types::Digest;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS scaffold_files (digest TEXT PRIMARY KEY, files TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scaffold_versions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL, digest TEXT NOT NULL REFERENCES scaffold_files,
    version TEXT NOT NULL, parent TEXT, note TEXT NOT NULL, kept TEXT NOT NULL, UNIQUE (line, digest))";

/// The versions a workspace keeps.
pub struct Versions {
    conn: Connection,
    database: PathBuf,
    scaffolds: PathBuf,
}

impl std::fmt::Debug for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Versions")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// A version of a scaffold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Version {
    /// Its place in the order of keeping, over all scaffolds.
    pub seq: i64,
    /// Name of the scaffold it is a version of.
    pub line: String,
    /// Digest of its files.
    pub digest: Digest,
    /// What its manifest calls it; empty where that cannot be read.
    pub version: String,
    /// Digest of what it was made from.
    pub parent: Option<Digest>,
    /// Why it was kept, in words.
    pub note: String,
    /// When it was kept first, RFC 3339, UTC.
    pub kept: String,
}

impl Versions {
    /// Opens the versions of a workspace; makes the tables when there are none.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn open(workspace: &Workspace) -> Result<Self, VersionError> {
        let root = workspace.root();
        std::fs::create_dir_all(root).map_err(|error| VersionError::folder(root, "made", &error))?;
        let found = Self::with(workspace, OpenFlags::default())?;
        let made = found.conn.execute_batch(TABLES);
        made.map_err(|error| found.failed(&error))?;
        found.recover();
        Ok(found)
    }

    /// The versions of a workspace to look at; `None` when it keeps none. Writes nothing.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn reading(workspace: &Workspace) -> Result<Option<Self>, VersionError> {
        if !workspace.database().is_file() {
            return Ok(None);
        }
        let found = Self::with(workspace, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let count = "SELECT count(*) FROM sqlite_master WHERE name = 'scaffold_versions'";
        let there: i64 = found
            .conn
            .query_row(count, [], |row| row.get(0))
            .map_err(|error| found.failed(&error))?;
        Ok((there > 0).then_some(found))
    }

    fn with(workspace: &Workspace, flags: OpenFlags) -> Result<Self, VersionError> {
        let database = workspace.database();
        let fail = |error: rusqlite::Error| VersionError::database(&database, &error);
        let conn = Connection::open_with_flags(&database, flags).map_err(fail)?;
        conn.busy_timeout(Duration::from_secs(5)).map_err(fail)?;
        Ok(Self {
            conn,
            database,
            scaffolds: workspace.scaffolds_dir(),
        })
    }

    fn failed(&self, error: &rusqlite::Error) -> VersionError {
        VersionError::database(&self.database, error)
    }

    /// Keeps files as a version of `line`. What is kept already stays as it is; a parent and a note that were
    /// not known are added. Files of equal digest are stored once.
    ///
    /// # Errors
    /// When a name cannot be a file's or the database cannot be written.
    pub fn keep(
        &self,
        files: &BTreeMap<String, String>,
        line: &str,
        parent: Option<Digest>,
        note: &str,
    ) -> Result<Digest, VersionError> {
        if !sound_name(line) {
            return Err(VersionError::BadName(line.to_owned()));
        }
        if let Some((path, why)) = files_problem(files) {
            return Err(VersionError::BadFile { path, why });
        }
        let digest = digest_of(files);
        let write = || -> rusqlite::Result<()> {
            let all = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let text = serde_json::to_string(files).map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
            all.execute(
                "INSERT OR IGNORE INTO scaffold_files VALUES (?1, ?2)",
                params![digest.to_string(), text],
            )?;
            all.execute(
                "INSERT INTO scaffold_versions (line, digest, version, parent, note, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (line, digest) DO UPDATE SET parent = coalesce(parent, excluded.parent),
                 note = CASE WHEN note = '' THEN excluded.note ELSE note END",
                params![
                    line,
                    digest.to_string(),
                    version_of(files),
                    parent.map(|parent| parent.to_string()),
                    note,
                    jiff::Timestamp::now().to_string(),
                ],
            )?;
            all.commit()
        };
        write().map_err(|error| self.failed(&error))?;
        Ok(digest)
    }

    /// The files of a version.
    ///
    /// # Errors
    /// When it is not kept, or damaged.
    pub fn get(&self, digest: Digest) -> Result<BTreeMap<String, String>, VersionError> {
        let found: Option<String> = self
            .conn
            .query_row(
                "SELECT files FROM scaffold_files WHERE digest = ?1",
                [digest.to_string()],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.failed(&error))?;
        let Some(text) = found else {
            return Err(VersionError::Unknown {
                what: digest.short(),
                line: String::new(),
            });
        };
        serde_json::from_str(&text)
            .ok()
            .filter(|files| digest_of(files) == digest)
            .ok_or_else(|| VersionError::Damaged {
                path: self.database.clone(),
                digest,
            })
    }

    /// Whether the files of a version are kept.
    pub fn has(&self, digest: Digest) -> bool {
        self.get(digest).is_ok()
    }

    /// The versions of a scaffold, in the order they were kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of_line(&self, line: &str) -> Result<Vec<Version>, VersionError> {
        self.listed("SELECT * FROM scaffold_versions WHERE line = ?1 ORDER BY seq", &[&line])
    }

    /// All versions, in the order they were kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn all(&self) -> Result<Vec<Version>, VersionError> {
        self.listed("SELECT * FROM scaffold_versions ORDER BY seq", &[])
    }

    /// The version of a scaffold whose digest begins so; `None` when there is none.
    ///
    /// # Errors
    /// When several begin so, or the database cannot be read.
    pub fn find(&self, line: &str, prefix: &str) -> Result<Option<Version>, VersionError> {
        let mut fits = self.of_line(line)?;
        fits.retain(|version| !prefix.is_empty() && version.digest.to_string().starts_with(prefix));
        if fits.len() > 1 {
            let known: Vec<String> = fits.iter().map(|version| version.digest.to_string()).collect();
            return Err(VersionError::Ambiguous {
                line: line.to_owned(),
                prefix: prefix.to_owned(),
                known: known.join(", "),
            });
        }
        Ok(fits.pop())
    }

    fn listed(&self, query: &str, with: &[&dyn rusqlite::ToSql]) -> Result<Vec<Version>, VersionError> {
        let read = || -> rusqlite::Result<Vec<Version>> {
            let mut query = self.conn.prepare(query)?;
            let rows = query.query_map(with, version_row)?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }
}

fn version_row(row: &Row<'_>) -> rusqlite::Result<Version> {
    let digest = |at: usize, text: String| -> rusqlite::Result<Digest> {
        text.parse()
            .map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(e)))
    };
    Ok(Version {
        seq: row.get("seq")?,
        line: row.get("line")?,
        digest: digest(2, row.get("digest")?)?,
        version: row.get("version")?,
        parent: row
            .get::<_, Option<String>>("parent")?
            .map(|text| digest(4, text))
            .transpose()?,
        note: row.get("note")?,
        kept: row.get("kept")?,
    })
}

/// What a manifest calls its version, also one that is not sound otherwise.
fn version_of(files: &BTreeMap<String, String>) -> String {
    let table: Option<toml::Table> = files.get(MANIFEST).and_then(|text| text.parse().ok());
    let version = table.as_ref().and_then(|table| table.get("version")?.as_str());
    version.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
