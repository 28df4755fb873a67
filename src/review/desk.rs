//! The desk: proposals and their log in the workspace's database.
//!
//! Owns the tables `proposals`, `item_lists` and `review_log`. Rows are added, never changed: triggers see to that. An entry is
//! added only to the log its writer has seen, so that two people never decide past each other.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::decision::{Entry, Seq, What};
use super::error::ReviewError;
use super::items::fit;
use super::proposal::{Content, Draft, Proposal, ProposalId, RevisionContent};
use super::selection::Item;
use super::standing::{Standing, State};
use crate::config::Workspace;
use crate::scaffold::{MANIFEST, Scaffold, digest_of, read_folder};
use crate::store::{StoreError, open_database};
use crate::types::Digest;

/// Format of the records; a reader that meets a newer one stops.
const FORMAT: u64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS proposals (number INTEGER PRIMARY KEY AUTOINCREMENT, created TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS review_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, proposal INTEGER NOT NULL REFERENCES proposals, time TEXT NOT NULL,
  by TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS review_log_of ON review_log (proposal, seq);
CREATE TABLE IF NOT EXISTS item_lists (proposal INTEGER PRIMARY KEY REFERENCES proposals, body BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS proposals_stay BEFORE UPDATE ON proposals BEGIN SELECT raise(ABORT, 'proposals are not changed'); END;
CREATE TRIGGER IF NOT EXISTS proposals_remain BEFORE DELETE ON proposals BEGIN SELECT raise(ABORT, 'proposals are not removed'); END;
CREATE TRIGGER IF NOT EXISTS log_stays BEFORE UPDATE ON review_log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER IF NOT EXISTS log_remains BEFORE DELETE ON review_log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER IF NOT EXISTS lists_stay BEFORE UPDATE ON item_lists BEGIN SELECT raise(ABORT, 'lists are not changed'); END;
";

/// A proposal with all that happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Dossier {
    /// The proposal.
    pub proposal: Proposal,
    /// Its entries, oldest first.
    pub entries: Vec<Entry>,
    /// Where it stands.
    pub standing: Standing,
}

impl Dossier {
    /// The two sets of files of a revision or recipe.
    pub fn files(&self) -> Option<&RevisionContent> {
        self.proposal.draft.content.files()
    }

    /// The two sets of files of a scaffold revision.
    ///
    /// # Errors
    /// When it is something else.
    pub fn revision(&self) -> Result<&RevisionContent, ReviewError> {
        match &self.proposal.draft.content {
            Content::Revision(revision) => Ok(revision),
            other => Err(ReviewError::OtherKind {
                id: self.proposal.id.clone(),
                is: other.word(),
                wanted: "revision",
            }),
        }
    }
}

/// The desk of a workspace. One a thread.
#[derive(Debug)]
pub struct Desk {
    pub(super) workspace: Workspace,
    pub(super) path: PathBuf,
    pub(super) conn: Connection,
}

impl Desk {
    /// Opens the desk; makes the workspace when there is none. What a process that was killed left half
    /// applied is settled.
    ///
    /// # Errors
    /// When the database cannot be made or read.
    pub fn open(workspace: &Workspace) -> Result<Self, ReviewError> {
        let path = workspace.database();
        let conn = open_database(workspace, TABLES, "lists_stay")?;
        let mut desk = Self {
            workspace: workspace.clone(),
            path,
            conn,
        };
        desk.settle()?;
        Ok(desk)
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The last entry of the log: it grows whenever something happens, so that a viewer knows when to look.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn seq(&self) -> Result<Seq, ReviewError> {
        let last: Option<i64> = self
            .conn
            .query_row("SELECT max(seq) FROM review_log", [], |row| row.get(0))
            .map_err(|error| self.fail(&error))?;
        Ok(seq_of(last.unwrap_or(0)))
    }

    /// Puts a proposal on the desk.
    ///
    /// # Errors
    /// When it changes nothing, or cannot be written.
    pub fn propose(&mut self, draft: Draft, by: &str) -> Result<ProposalId, ReviewError> {
        self.propose_with(draft, &[], by)
    }

    /// Puts a proposal on the desk; `items` are those of a selection.
    ///
    /// # Errors
    /// When it changes nothing, does not fit together, or cannot be written.
    pub fn propose_with(&mut self, draft: Draft, items: &[Item], by: &str) -> Result<ProposalId, ReviewError> {
        let mut draft = draft;
        fit(&mut draft.content, items)?;
        let now = jiff::Timestamp::now().to_string();
        let made = Proposal::new("".into(), now.clone(), draft);
        // The parts are kept as they were cut: decisions name them, whatever cuts differences later.
        let body = serde_json::json!({ "format": FORMAT, "draft": made.draft, "parts": made.parts }).to_string();
        let body =
            zstd::encode_all(body.as_bytes(), 9).map_err(|error| StoreError::io(&self.path, "written", &error))?;
        let list = self.packed(&made.draft.content, items)?;
        let write = |conn: &mut Connection| -> rusqlite::Result<i64> {
            let work = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work.execute(
                "INSERT INTO proposals (created, body) VALUES (?1, ?2)",
                params![now, body],
            )?;
            let number = work.last_insert_rowid();
            if let Some(list) = &list {
                work.execute(
                    "INSERT INTO item_lists (proposal, body) VALUES (?1, ?2)",
                    params![number, list],
                )?;
            }
            insert(&work, number, &now, by, &What::Proposed)?;
            work.commit()?;
            Ok(number)
        };
        let number = write(&mut self.conn).map_err(|error| StoreError::sqlite(&self.path, &error))?;
        Ok(id_of(number))
    }

    /// Where all proposals stand: what is open first, then the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list(&self) -> Result<Vec<Standing>, ReviewError> {
        let numbers: Vec<i64> = self.rows("SELECT number FROM proposals ORDER BY number DESC", [], |row| {
            row.get(0)
        })?;
        let mut all = Vec::new();
        for number in numbers {
            all.push(self.read(number)?.standing);
        }
        all.sort_by_key(|standing| !standing.state.is_open());
        Ok(all)
    }

    /// A proposal with its log.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn dossier(&self, id: &ProposalId) -> Result<Dossier, ReviewError> {
        self.read(self.number(id)?)
    }

    /// Adds an entry to a proposal whose log its writer has seen up to `seen`.
    ///
    /// # Errors
    /// [`ReviewError::Meanwhile`] when there is more by now; what the state says when it does not allow it.
    pub fn append(&mut self, id: &ProposalId, seen: Seq, by: &str, what: What) -> Result<Entry, ReviewError> {
        let mut written = self.append_all(id, seen, by, vec![what])?;
        // One was given, so one was written.
        written.pop().ok_or_else(|| ReviewError::NotNow {
            id: id.clone(),
            state: "as it was".to_owned(),
            why: "nothing was written".to_owned(),
        })
    }

    /// Adds several entries, or none of them when one is not allowed.
    ///
    /// # Errors
    /// As for one.
    pub fn append_all(
        &mut self,
        id: &ProposalId,
        seen: Seq,
        by: &str,
        whats: Vec<What>,
    ) -> Result<Vec<Entry>, ReviewError> {
        let number = self.number(id)?;
        let path = self.path.clone();
        let fail = |error: rusqlite::Error| ReviewError::from(StoreError::sqlite(&path, &error));
        // The lock is taken first: what is read below is what the entries follow.
        let work = rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate).map_err(fail)?;
        let Dossier {
            proposal,
            mut entries,
            mut standing,
        } = self.read(number)?;
        if standing.seq != seen {
            let last = entries.last();
            return Err(ReviewError::Meanwhile {
                id: id.clone(),
                by: last.map_or_else(String::new, |entry| entry.by.clone()),
                what: last.map_or_else(String::new, |entry| entry.what.word().to_owned()),
                now: standing.seq,
            });
        }
        let now = jiff::Timestamp::now().to_string();
        let first = entries.len();
        for what in whats {
            standing.allows(&what, &proposal, &entries)?;
            let entry = Entry {
                seq: insert(&work, number, &now, by, &what).map_err(fail)?,
                proposal: id.clone(),
                time: now.clone(),
                by: by.to_owned(),
                what,
            };
            // What takes another entry back changes what came before it.
            let undoes = matches!(entry.what, What::Undone { .. });
            entries.push(entry);
            match entries.last() {
                Some(entry) if !undoes => standing.follow(entry),
                _ => standing = Standing::of(&proposal, &entries),
            }
        }
        work.commit().map_err(fail)?;
        Ok(entries.split_off(first))
    }

    /// The whole log, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn log(&self) -> Result<Vec<Entry>, ReviewError> {
        self.entries("SELECT seq, proposal, time, by, body FROM review_log ORDER BY seq", [])
    }

    /// Digest of a line's head: its folder in the workspace, else the scaffold its first revision is made from.
    pub(super) fn head(&self, revision: &RevisionContent) -> Option<Digest> {
        match self.folder_digest(&revision.line) {
            Some(digest) => Some(digest),
            None => Scaffold::files_named(&revision.parent, &self.workspace)
                .ok()
                .map(|files| digest_of(&files)),
        }
    }

    /// Digest of the folder of a line; `None` when there is none that can be read.
    pub(super) fn folder_digest(&self, line: &str) -> Option<Digest> {
        let folder = self.workspace.scaffolds_dir().join(line);
        if line.is_empty() || !folder.join(MANIFEST).is_file() {
            return None;
        }
        read_folder(&folder).ok().map(|files| digest_of(&files))
    }

    /// Proposals whose last entry announces an exchange of the head.
    pub(super) fn half_applied(&self) -> Result<Vec<ProposalId>, ReviewError> {
        let last = self.entries(
            "SELECT seq, proposal, time, by, body FROM review_log \
             WHERE seq IN (SELECT max(seq) FROM review_log GROUP BY proposal)",
            [],
        )?;
        let half = last
            .into_iter()
            .filter(|entry| matches!(entry.what, What::Applying { .. } | What::Demoting { .. }));
        Ok(half.map(|entry| entry.proposal).collect())
    }

    pub(super) fn number(&self, id: &ProposalId) -> Result<i64, ReviewError> {
        let number = id.0.strip_prefix('p').and_then(|number| number.parse::<i64>().ok());
        let found = match number {
            None => None,
            Some(number) => self
                .conn
                .query_row("SELECT number FROM proposals WHERE number = ?1", [number], |row| {
                    row.get::<_, i64>(0)
                })
                .optional()
                .map_err(|error| self.fail(&error))?,
        };
        if let Some(number) = found {
            return Ok(number);
        }
        let last: Option<i64> = self
            .conn
            .query_row("SELECT max(number) FROM proposals", [], |row| row.get(0))
            .map_err(|error| self.fail(&error))?;
        Err(ReviewError::NoProposal {
            id: id.clone(),
            there: match last {
                None => "there are none yet; `automem optimize --meta rules` makes some".to_owned(),
                Some(1) => "there is p1".to_owned(),
                Some(last) => format!("there are p1 to p{last} (`automem proposals list`)"),
            },
        })
    }

    fn read(&self, number: i64) -> Result<Dossier, ReviewError> {
        let (created, body): (String, Vec<u8>) = self
            .conn
            .query_row(
                "SELECT created, body FROM proposals WHERE number = ?1",
                [number],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.fail(&error))?;
        let what = format!("proposal p{number}");
        let body = zstd::decode_all(body.as_slice()).map_err(|error| self.broken(&what, &error.to_string()))?;
        let mut body: Value = serde_json::from_slice(&body).map_err(|error| self.broken(&what, &error.to_string()))?;
        self.known(&what, &body)?;
        let proposal = Proposal {
            id: id_of(number),
            created,
            draft: self.parse(&what, body["draft"].take())?,
            parts: self.parse(&what, body["parts"].take())?,
        };
        let entries = self.entries(
            "SELECT seq, proposal, time, by, body FROM review_log WHERE proposal = ?1 ORDER BY seq",
            [number],
        )?;
        let mut standing = Standing::of(&proposal, &entries);
        if let Content::Revision(revision) = &proposal.draft.content
            && standing.state.is_open()
            && !matches!(standing.state, State::Applying)
            && !revision.line.is_empty()
            && self.head(revision) != Some(revision.parent_digest)
        {
            standing.state = State::Stale;
            standing.why = format!(
                "{} is not what it was made from any more; a new revision can be made from what is there now",
                if self.folder_digest(&revision.line).is_some() {
                    &revision.line
                } else {
                    &revision.parent
                }
            );
        }
        Ok(Dossier {
            proposal,
            entries,
            standing,
        })
    }

    fn entries(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Entry>, ReviewError> {
        let rows: Vec<(i64, i64, String, String, String)> = self.rows(sql, values, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        let entry = |(seq, proposal, time, by, body): (i64, i64, String, String, String)| {
            let what = format!("entry {seq} of the log");
            let body: Value = serde_json::from_str(&body).map_err(|error| self.broken(&what, &error.to_string()))?;
            self.known(&what, &body)?;
            Ok(Entry {
                seq: seq_of(seq),
                proposal: id_of(proposal),
                time,
                by,
                what: self.parse(&what, body)?,
            })
        };
        rows.into_iter().map(entry).collect()
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ReviewError> {
        let all = || {
            self.conn
                .prepare_cached(sql)?
                .query_map(values, read)?
                .collect::<rusqlite::Result<_>>()
        };
        all().map_err(|error| self.fail(&error))
    }

    pub(super) fn known(&self, what: &str, body: &Value) -> Result<(), ReviewError> {
        match body["format"].as_u64() {
            Some(FORMAT) => Ok(()),
            Some(newer) => Err(self.broken(
                what,
                &format!("it has format {newer} and this program knows {FORMAT}; use the newer automem"),
            )),
            None => Err(self.broken(what, "it names no format")),
        }
    }

    // By way of a `Value`: numbers inside tagged types are not read from text otherwise.
    fn parse<T: DeserializeOwned>(&self, what: &str, value: Value) -> Result<T, ReviewError> {
        serde_json::from_value(value).map_err(|error| self.broken(what, &error.to_string()))
    }

    pub(super) fn fail(&self, error: &rusqlite::Error) -> ReviewError {
        StoreError::sqlite(&self.path, error).into()
    }

    pub(super) fn broken(&self, what: &str, why: &str) -> ReviewError {
        ReviewError::Record {
            path: self.path.clone(),
            what: what.to_owned(),
            why: why.to_owned(),
        }
    }
}

fn insert(conn: &Connection, number: i64, now: &str, by: &str, what: &What) -> rusqlite::Result<Seq> {
    let mut body = serde_json::to_value(what).unwrap_or_default();
    if let Value::Object(body) = &mut body {
        body.insert("format".to_owned(), FORMAT.into());
    }
    conn.execute(
        "INSERT INTO review_log (proposal, time, by, body) VALUES (?1, ?2, ?3, ?4)",
        params![number, now, by, body.to_string()],
    )?;
    Ok(seq_of(conn.last_insert_rowid()))
}

fn seq_of(row: i64) -> Seq {
    Seq(u64::try_from(row).unwrap_or(0))
}

fn id_of(number: i64) -> ProposalId {
    ProposalId(format!("p{number}").into())
}
