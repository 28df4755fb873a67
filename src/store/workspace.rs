//! The registry of runs in a workspace: which there are, and which were opened from elsewhere.
//!
//! Owns the table `runs` of `workspace.db`. A run that is missing or broken is listed with its
//! problem, never left out and never a reason to fail.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, params};

use super::error::StoreError;
use super::reader::Reader;
use crate::config::Workspace;
use crate::types::{EpisodeSummary, RunMeta};

const TABLES: &str = "CREATE TABLE IF NOT EXISTS runs (path TEXT PRIMARY KEY, id TEXT NOT NULL, opened TEXT NOT NULL)";

/// The runs a workspace knows.
pub struct Registry {
    database: PathBuf,
    runs_dir: PathBuf,
    conn: Connection,
    problem: Option<String>,
}

/// A run in the list.
#[derive(Debug)]
pub struct ListedRun {
    /// Its file.
    pub path: PathBuf,
    /// When the file was written last, as far as the system tells.
    pub modified: Option<SystemTime>,
    /// When it was opened last here, RFC 3339; `None` when never.
    pub opened: Option<String>,
    /// What it holds, or why that cannot be told.
    pub content: Result<RunContent, StoreError>,
}

/// What a listed run holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RunContent {
    /// Its constants.
    pub meta: RunMeta,
    /// Its episodes in numbers.
    pub episodes: Vec<EpisodeSummary>,
    /// It was closed; otherwise it is being played or was interrupted.
    pub finished: bool,
    /// A process is writing it now.
    pub live: bool,
}

impl Registry {
    /// Opens the registry; makes the workspace when there is none. Where nothing can be written
    /// the runs are listed all the same, and [`problem`](Self::problem) says what is not remembered.
    ///
    /// # Errors
    /// When even an empty registry cannot be set up.
    pub fn open(workspace: &Workspace) -> Result<Self, StoreError> {
        let database = workspace.database();
        let (conn, problem) = match open_database(workspace, TABLES, "runs") {
            Ok(conn) => (conn, None),
            Err(error) => {
                let conn = Connection::open_in_memory().map_err(|error| StoreError::sqlite(&database, &error))?;
                conn.execute_batch(TABLES)
                    .map_err(|error| StoreError::sqlite(&database, &error))?;
                (conn, Some(format!("which runs were opened is not remembered: {error}")))
            }
        };
        Ok(Self {
            database,
            runs_dir: workspace.runs_dir(),
            conn,
            problem,
        })
    }

    /// Why nothing is remembered; `None` when all is well.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Remembers a run and that it was opened now.
    ///
    /// # Errors
    /// When it is no run, or the registry cannot be written.
    pub fn register(&self, path: &Path) -> Result<(), StoreError> {
        let reader = Reader::open(path)?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.conn
            .execute(
                "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3)",
                params![
                    whole.to_string_lossy(),
                    reader.meta().id.as_str(),
                    jiff::Timestamp::now().to_string()
                ],
            )
            .map(|_| ())
            .map_err(|error| StoreError::sqlite(&self.database, &error))
    }

    /// Whether a run was registered.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(super) fn knows(&self, path: &Path) -> Result<bool, StoreError> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.conn
            .query_row(
                "SELECT count(*) FROM runs WHERE path = ?1",
                [whole.to_string_lossy()],
                |row| row.get::<_, i64>(0),
            )
            .map(|count| count > 0)
            .map_err(|error| StoreError::sqlite(&self.database, &error))
    }

    /// Forgets a run; its file stays.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub fn forget(&self, path: &Path) -> Result<(), StoreError> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.conn
            .execute("DELETE FROM runs WHERE path = ?1", [whole.to_string_lossy()])
            .map(|_| ())
            .map_err(|error| StoreError::sqlite(&self.database, &error))
    }

    /// All runs of the workspace's folder and all that were registered, newest first.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub fn runs(&self) -> Result<Vec<ListedRun>, StoreError> {
        let mut paths: Vec<(PathBuf, Option<String>)> = {
            let fail = |error: rusqlite::Error| StoreError::sqlite(&self.database, &error);
            let mut query = self.conn.prepare("SELECT path, opened FROM runs").map_err(fail)?;
            let rows = query
                .query_map([], |row| Ok((PathBuf::from(row.get::<_, String>(0)?), row.get(1)?)))
                .map_err(fail)?;
            rows.collect::<rusqlite::Result<_>>().map_err(fail)?
        };
        for path in in_folder(&self.runs_dir) {
            if !paths.iter().any(|(known, _)| *known == path) {
                paths.push((path, None));
            }
        }
        let mut runs: Vec<ListedRun> = paths.into_iter().map(|(path, opened)| look(path, opened)).collect();
        runs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        Ok(runs)
    }
}

/// Opens the workspace's database for one of its owners; makes the workspace when there is none. `tables` makes what
/// the owner needs, in order; `last` is what it makes last. Where that is there nothing is written: a reader must not
/// wait for a writer.
pub(crate) fn open_database(workspace: &Workspace, tables: &str, last: &str) -> Result<Connection, StoreError> {
    let (root, database) = (workspace.root(), workspace.database());
    std::fs::create_dir_all(root).map_err(|error| StoreError::io(root, "created", &error))?;
    let open = || -> rusqlite::Result<Connection> {
        let conn = Connection::open(&database)?;
        conn.busy_timeout(Duration::from_secs(5))?;
        let there: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema WHERE name = ?1", [last], |row| {
            row.get(0)
        })?;
        if there == 0 {
            conn.execute_batch(tables)?;
        }
        Ok(conn)
    };
    open().map_err(|error| StoreError::sqlite(&database, &error))
}

/// Files of a folder that are named like runs.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    entries
        .filter_map(Result::ok)
        .map(|entry| whole.join(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|end| end == "db") && path.is_file())
        .collect()
}

fn look(path: PathBuf, opened: Option<String>) -> ListedRun {
    let content = Reader::open(&path).and_then(|reader| {
        Ok(RunContent {
            meta: reader.meta().clone(),
            episodes: reader.episodes()?,
            finished: reader.is_finished(),
            live: super::lock::is_held(&path),
        })
    });
    if content.as_ref().is_ok_and(|content| content.finished && !content.live) {
        super::close::tidy(&path);
    }
    let modified = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    ListedRun {
        modified: modified(&path).max(modified(Path::new(&log))),
        path,
        opened,
        content,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{event, finished, meta};
    use super::super::writer::Writer;
    use super::*;

    #[test]
    fn lists_good_broken_and_missing_runs() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path().join(".automem"));
        let registry = Registry::open(&workspace).unwrap();
        assert!(registry.runs().unwrap().is_empty());
        let elsewhere = dir.path().join("elsewhere.db");
        let mut writer = Writer::create(&elsewhere, &meta()).unwrap();
        writer.commit(&[event(0, 0, finished(1.0))]).unwrap();
        registry.register(&elsewhere).unwrap();
        let content = |path: &Path| {
            let runs = registry.runs().unwrap();
            runs.into_iter().find(|run| run.path == path).map(|run| run.content)
        };
        assert!(content(&elsewhere).unwrap().unwrap().live);
        writer.finish().unwrap();
        let there = content(&elsewhere).unwrap().unwrap();
        assert!(there.finished && !there.live);
        assert_eq!(there.episodes[0].steps, 1);

        std::fs::create_dir_all(workspace.runs_dir()).unwrap();
        let broken = std::path::absolute(workspace.runs_dir().join("broken.db")).unwrap();
        std::fs::write(&broken, "this is no database, whatever its name says").unwrap();
        std::fs::write(workspace.runs_dir().join("notes.txt"), "x").unwrap();
        std::fs::remove_file(&elsewhere).unwrap();
        assert!(matches!(content(&broken).unwrap(), Err(StoreError::NotARun { .. })));
        assert!(matches!(content(&elsewhere).unwrap(), Err(StoreError::NotFound { .. })));
        assert_eq!(registry.runs().unwrap().len(), 2);
        registry.forget(&elsewhere).unwrap();
        assert_eq!(registry.runs().unwrap().len(), 1);
        assert!(matches!(registry.register(&broken), Err(StoreError::NotARun { .. })));
    }

    #[test]
    fn a_finished_run_whose_reader_held_on_is_closed_later() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let path = std::path::absolute(workspace.runs_dir().join("run.db")).unwrap();
        let mut writer = Writer::create(&path, &meta()).unwrap();
        writer.commit(&[event(0, 0, finished(1.0))]).unwrap();
        let reader = Reader::open(&path).unwrap();
        writer.finish().unwrap();
        let files = || std::fs::read_dir(workspace.runs_dir()).unwrap().count();
        assert!(files() > 1);
        drop(reader);
        let registry = Registry::open(&workspace).unwrap();
        assert!(registry.runs().unwrap()[0].content.as_ref().unwrap().finished);
        assert_eq!(files(), 1);
        assert_eq!(Reader::open(&path).unwrap().episodes().unwrap()[0].steps, 1);
    }

    #[test]
    fn without_a_place_to_write_runs_are_still_listed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a-file");
        std::fs::write(&root, "in the way").unwrap();
        let registry = Registry::open(&Workspace::at(root.join("workspace"))).unwrap();
        assert!(registry.problem().is_some());
        assert!(registry.runs().unwrap().is_empty());
    }
}
