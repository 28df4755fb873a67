//! The runs as flat tables, and queries over them that can do nothing but read, within limits.
//!
//! Owns a database of its own in memory: a run file is never queried by a model. Must not write anywhere else.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, params};

use super::args::Args;
use super::error::{Fault, MetaError};
use super::runs::{RESULT_BYTES, Run, Runs, cut};
use crate::jobs::Cancel;
use crate::types::{Body, Edit, EpisodeNo, MemoryChange, StepNo};

/// Time a query may take.
const TIME: Duration = Duration::from_secs(5);
/// Rows of a result.
const ROWS: usize = 500;
/// Bytes of a cell that are shown.
const CELL_BYTES: usize = 1_500;
/// Bytes of text the tables may hold; steps beyond are left out, which the result says.
const TABLE_BYTES: usize = 512 << 20;
/// Bytes of any one value, also while a query computes.
const VALUE_BYTES: i32 = 4 << 20;
/// Instructions of SQLite's between two looks at the clock.
const LOOK: i32 = 2_000;

/// The tables, for the model.
pub(super) const ABOUT: &str = "Runs a SELECT (SQLite) over flat tables of all runs and gives the rows. Tables: \
episodes(run, episode, seed, steps, return, progression, prompt_tokens, cached_tokens, completion_tokens, ended); \
steps(run, episode, step, observation, status, action, written, chosen_by, repaired, reward, progression, terminated, truncated, ms); \
turns(run, episode, step, phase, turn, prompt_bytes, response, results, prompt_tokens, cached_tokens, completion_tokens, ms, stop); \
ops(run, episode, step, n, phase, turn, op, file, args, by, status, result, cut); \
changes(run, episode, step, n, file, kind, written, text) where (run, episode, step, n) is the op's and n is -1 for edits from outside; \
notes(run, episode, step, kind, text). Only reading, one statement, 5 seconds, 500 rows.";

const SCHEMA: &str = "
CREATE TABLE episodes(run, episode, seed TEXT, steps, \"return\", progression, prompt_tokens, cached_tokens, completion_tokens, ended);
CREATE TABLE steps(run, episode, step, observation, status, action, written, chosen_by, repaired, reward, progression, terminated, truncated, ms, PRIMARY KEY(run, episode, step)) WITHOUT ROWID;
CREATE TABLE turns(run, episode, step, phase, turn, prompt_bytes, response, results, prompt_tokens, cached_tokens, completion_tokens, ms, stop);
CREATE TABLE ops(run, episode, step, n, phase, turn, op, file, args, \"by\", status, result, cut);
CREATE TABLE changes(run, episode, step, n, file, kind, written, text);
CREATE TABLE notes(run, episode, step, kind, text);
CREATE INDEX turns_at ON turns(run, episode, step);
CREATE INDEX ops_at ON ops(run, episode, step);
CREATE INDEX changes_at ON changes(run, episode, step);
";

/// When a query is broken off.
#[derive(Debug)]
struct Watch {
    until: Option<Instant>,
}

/// The tables.
pub(super) struct Tables {
    conn: Connection,
    watch: Arc<std::sync::Mutex<Watch>>,
    late: Arc<AtomicBool>,
    time: Duration,
    /// What is not in them.
    left_out: Option<String>,
}

/// The tool.
pub(super) fn sql(runs: &mut Runs<'_>, args: &Args<'_>) -> Result<String, Fault> {
    let query = args.text("query")?;
    if runs.tables.get().is_none() {
        let tables = Tables::of(&runs.all, runs.cancel)?;
        let _ = runs.tables.set(tables);
    }
    match runs.tables.get() {
        Some(tables) => tables.query(query).map_err(Fault::Told),
        None => Err(Fault::Told("The tables could not be made.".to_owned())),
    }
}

impl Tables {
    /// Fills the tables from runs.
    fn of(runs: &[Run], cancel: &Cancel) -> Result<Self, Fault> {
        let failed = |error: rusqlite::Error| {
            Fault::Fatal(MetaError::Other(format!(
                "the tables for SQL could not be made: {error}"
            )))
        };
        let conn = Connection::open_in_memory().map_err(failed)?;
        conn.execute_batch(SCHEMA).map_err(failed)?;
        conn.execute_batch("BEGIN").map_err(failed)?;
        let mut filler = Filler { conn: &conn, bytes: 0 };
        let mut left_out = None;
        'runs: for (n, run) in (0_u32..).zip(runs) {
            for summary in run.reader.episodes()? {
                filler.episode(n, &summary).map_err(failed)?;
                let mut op = OpCount::default();
                for event in run.reader.episode_events(summary.episode)? {
                    if cancel.is_cancelled() {
                        return Err(Fault::Fatal(MetaError::Cancelled));
                    }
                    let event = event?;
                    if filler.bytes > TABLE_BYTES {
                        left_out = Some(format!(
                            "the tables end at step {} of episode {} of run {n}",
                            event.at.step, event.at.episode
                        ));
                        break 'runs;
                    }
                    let at = (n, event.at.episode, event.at.step);
                    filler.event(at, &event.body, &mut op).map_err(failed)?;
                }
            }
        }
        conn.execute_batch("COMMIT").map_err(failed)?;
        Self::guarded(conn, left_out, cancel).map_err(failed)
    }

    /// From here on nothing but reading goes.
    fn guarded(conn: Connection, left_out: Option<String>, cancel: &Cancel) -> rusqlite::Result<Self> {
        conn.pragma_update(None, "query_only", true)?;
        conn.pragma_update(None, "trusted_schema", false)?;
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES)?;
        conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        conn.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10)?;
        let watch = Arc::new(std::sync::Mutex::new(Watch { until: None }));
        let late = Arc::new(AtomicBool::new(false));
        let (cancel, handle, is_late) = (cancel.clone(), Arc::clone(&watch), Arc::clone(&late));
        let mut conn = conn;
        {
            let conn = &mut conn;
            conn.progress_handler(
                LOOK,
                Some(move || {
                    let until = handle.lock().map_or(None, |watch| watch.until);
                    let over = until.is_some_and(|until| Instant::now() > until);
                    is_late.fetch_or(over, Ordering::Relaxed);
                    over || cancel.is_cancelled()
                }),
            )?;
            conn.authorizer(Some(allow))?;
        }
        Ok(Self {
            conn,
            watch,
            late,
            time: TIME,
            left_out,
        })
    }

    /// Runs a query; the rows as lines with ` | ` between the columns.
    fn query(&self, sql: &str) -> Result<String, String> {
        if let Ok(mut watch) = self.watch.lock() {
            watch.until = Some(Instant::now() + self.time);
        }
        self.late.store(false, Ordering::Relaxed);
        let result = self.rows(sql);
        if let Ok(mut watch) = self.watch.lock() {
            watch.until = None;
        }
        result.map_err(|error| {
            if self.late.load(Ordering::Relaxed) {
                return format!(
                    "The query took longer than {} seconds and was broken off; ask for less.",
                    self.time.as_secs_f64()
                );
            }
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::AuthorizationForStatementDenied | rusqlite::ErrorCode::ReadOnly) => {
                    "Only reading is allowed: one SELECT over the tables. Nothing was done.".to_owned()
                }
                _ => format!("The query does not work: {error}"),
            }
        })
    }

    fn rows(&self, sql: &str) -> rusqlite::Result<String> {
        let mut batch = Batch::new(&self.conn, sql);
        let Some(mut statement) = batch.next()? else {
            return Ok("The query is empty.".to_owned());
        };
        if batch.next()?.is_some() {
            return Ok("Only one statement is run at a time; none was run.".to_owned());
        }
        if !statement.readonly() {
            return Ok("Only reading is allowed: one SELECT over the tables. Nothing was done.".to_owned());
        }
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut out = format!("{}\n", names.join(" | "));
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            if count == ROWS || out.len() > RESULT_BYTES - 200 {
                let _ = writeln!(out, "[there are more rows; {count} are shown]");
                break;
            }
            count += 1;
            for at in 0..names.len() {
                if at > 0 {
                    out.push_str(" | ");
                }
                out.push_str(&cell(row.get_ref(at)?));
            }
            out.push('\n');
        }
        if count == 0 {
            out.push_str("(no rows)\n");
        }
        if let Some(left_out) = &self.left_out {
            let _ = writeln!(out, "[note: {left_out}]");
        }
        Ok(out)
    }
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => cut(&String::from_utf8_lossy(text).replace('\n', "\\n"), CELL_BYTES, ""),
        ValueRef::Blob(bytes) => format!("({} bytes)", bytes.len()),
    }
}

/// What a statement may do: read our tables, compute, recurse. Everything else is denied, whatever it is called.
fn allow(context: AuthContext<'_>) -> Authorization {
    const NOT: [&str; 4] = ["load_extension", "readfile", "writefile", "edit"];
    let allowed = match context.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read { table_name, .. } => !table_name.to_ascii_lowercase().starts_with("pragma_"),
        AuthAction::Function { function_name } => !NOT.contains(&function_name.to_ascii_lowercase().as_str()),
        _ => false,
    };
    match allowed {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

/// Numbers the operations of a step.
#[derive(Debug, Default)]
struct OpCount {
    step: Option<StepNo>,
    next: i64,
}

impl OpCount {
    fn take(&mut self, step: StepNo) -> i64 {
        if self.step != Some(step) {
            *self = Self {
                step: Some(step),
                next: 0,
            };
        }
        self.next += 1;
        self.next - 1
    }
}

struct Filler<'a> {
    conn: &'a Connection,
    bytes: usize,
}

impl Filler<'_> {
    fn put(&mut self, sql: &str, values: impl rusqlite::Params, bytes: usize) -> rusqlite::Result<()> {
        self.bytes += bytes + 64;
        self.conn.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    fn episode(&mut self, run: u32, summary: &crate::types::EpisodeSummary) -> rusqlite::Result<()> {
        self.put(
            "INSERT INTO episodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                run,
                summary.episode.0,
                summary.seed.to_string(),
                summary.steps,
                summary.total_reward,
                summary.progression,
                summary.prompt_tokens.cast_signed(),
                summary.cached_tokens.cast_signed(),
                summary.completion_tokens.cast_signed(),
                summary.end.map(|end| end.word()),
            ],
            0,
        )
    }

    fn event(
        &mut self,
        (run, episode, step): (u32, EpisodeNo, StepNo),
        body: &Body,
        count: &mut OpCount,
    ) -> rusqlite::Result<()> {
        let (episode, number) = (episode.0, step.0);
        match body {
            Body::Observed { frame } => self.put(
                "INSERT OR IGNORE INTO steps(run, episode, step, observation, status) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![run, episode, number, frame.long, frame.short],
                frame.long.len() + frame.short.len(),
            ),
            Body::ActionCommitted {
                raw,
                validated,
                repaired,
                by,
            } => self.put(
                "UPDATE steps SET action = ?4, written = ?5, repaired = ?6, chosen_by = ?7 \
                 WHERE run = ?1 AND episode = ?2 AND step = ?3",
                params![run, episode, number, validated, raw, repaired, word(by)],
                raw.len(),
            ),
            Body::StepFinished {
                reward,
                terminated,
                truncated,
                progression,
                ms,
                ..
            } => self.put(
                "UPDATE steps SET reward = ?4, progression = ?5, terminated = ?6, truncated = ?7, ms = ?8 \
                 WHERE run = ?1 AND episode = ?2 AND step = ?3",
                params![run, episode, number, reward, progression, terminated, truncated, ms],
                0,
            ),
            Body::TurnFinished { turn } => self.put(
                "INSERT INTO turns VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    run,
                    episode,
                    number,
                    turn.phase.word(),
                    turn.turn.0,
                    turn.prompt.len() as i64,
                    turn.response,
                    turn.tool_results,
                    turn.prompt_tokens,
                    turn.cached_tokens,
                    turn.completion_tokens,
                    turn.ms,
                    word(&turn.stop),
                ],
                turn.response.len() + turn.tool_results.len(),
            ),
            Body::MemoryOp { op } => {
                let n = count.take(step);
                // The file is the first argument of every operation of the memory's own.
                let args = serde_json::to_string(&op.args).unwrap_or_default();
                self.put(
                    "INSERT INTO ops VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                    params![
                        run,
                        episode,
                        number,
                        n,
                        op.phase.word(),
                        op.turn.0,
                        op.op,
                        op.args.first(),
                        args,
                        word(&op.by),
                        op.outcome.status.word(),
                        op.outcome.text,
                        op.outcome.cut.cast_signed(),
                    ],
                    args.len() + op.outcome.text.len(),
                )?;
                self.changes((run, episode, number), n, &op.changes)
            }
            Body::HumanEdited { changes } => self.changes((run, episode, number), -1, changes),
            other => match note(other) {
                Some((kind, text)) => self.put(
                    "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![run, episode, number, kind, text],
                    text.len(),
                ),
                None => Ok(()),
            },
        }
    }

    fn changes(
        &mut self,
        (run, episode, step): (u32, u32, u32),
        n: i64,
        changes: &[MemoryChange],
    ) -> rusqlite::Result<()> {
        for change in changes {
            let (kind, text) = match &change.edit {
                Edit::Append { text } => ("append", text.as_str()),
                Edit::Splice { inserted, .. } => ("splice", inserted.as_str()),
                Edit::Replace { text } => ("replace", text.as_str()),
                Edit::Create { text } => ("create", text.as_str()),
                Edit::Delete => ("delete", ""),
            };
            self.put(
                "INSERT INTO changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    run,
                    episode,
                    step,
                    n,
                    change.path,
                    kind,
                    change.bytes_written() as i64,
                    text
                ],
                text.len(),
            )?;
        }
        Ok(())
    }
}

/// The word that a value has in JSON.
fn word(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// What else is worth a row.
fn note(body: &Body) -> Option<(&'static str, String)> {
    let value = |kind, body: &Body| Some((kind, serde_json::to_string(body).unwrap_or_default()));
    match body {
        Body::ActionRejected { raw, reason } => Some(("rejected", format!("{raw}: {reason}"))),
        Body::HookFailed { hook, message } => Some(("hook_failed", format!("{hook}: {message}"))),
        Body::ModelFailed { message, .. } => Some(("model_failed", message.clone())),
        Body::WorldFailed { message } => Some(("world_failed", message.clone())),
        Body::Annotated { text } => Some(("note", text.clone())),
        Body::HumanActed { action } => Some(("human_acted", action.clone())),
        Body::HumanSaid { text } => Some(("human_said", text.clone())),
        body @ Body::BudgetExceeded { .. } => value("budget", body),
        body @ Body::ContextOverflow { .. } => value("context_overflow", body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).unwrap();
        conn.execute_batch(
            "INSERT INTO notes VALUES (0, 0, 1, 'note', 'a' || char(10) || 'b'), (0, 0, 2, 'note', NULL)",
        )
        .unwrap();
        Tables::guarded(conn, None, &Cancel::new()).unwrap()
    }

    #[test]
    fn reading_works() {
        let tables = tables();
        assert_eq!(
            tables.query("SELECT step, text FROM notes ORDER BY step").unwrap(),
            "step | text\n1 | a\\nb\n2 | -\n"
        );
        let counted = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3) SELECT sum(x) FROM n";
        assert!(tables.query(counted).unwrap().ends_with("6\n"));
        assert!(
            tables
                .query("SELECT * FROM notes WHERE step > 7")
                .unwrap()
                .contains("(no rows)")
        );
        assert!(tables.query("SELECT 1 -- only this").unwrap().ends_with("1\n"));
        assert!(tables.query("SELEC").unwrap_err().contains("does not work"));
        let told = tables.query("SELECT nobody FROM notes").unwrap_err();
        assert!(told.contains("no such column"), "{told}");
    }

    #[test]
    fn nothing_but_reading_works() {
        let tables = tables();
        for query in [
            "DELETE FROM notes",
            "INSERT INTO notes VALUES (1, 1, 1, 'x', 'y')",
            "UPDATE notes SET text = 'x'",
            "DROP TABLE notes",
            "CREATE TABLE t(x)",
            "CREATE TEMP TABLE t(x)",
            "ATTACH 'file:/tmp/x' AS other",
            "PRAGMA query_only = 0",
            "PRAGMA table_info(notes)",
            "SELECT * FROM pragma_database_list",
            "VACUUM INTO '/tmp/x'",
            "BEGIN",
            "SELECT load_extension('x')",
            "EXPLAIN DELETE FROM notes",
            "WITH x AS (SELECT 1) DELETE FROM notes",
        ] {
            let told = tables.query(query).unwrap_or_else(|told| told);
            assert!(
                told.contains("Only reading is allowed") || told.contains("does not work"),
                "{query}: {told}"
            );
        }
        let two = tables.query("SELECT 1; DELETE FROM notes").unwrap_or_else(|told| told);
        assert!(two.contains("Only"), "{two}");
        assert!(tables.query("SELECT count(*) FROM notes").unwrap().ends_with("2\n"));
        assert!(tables.query("  -- nothing").unwrap().contains("empty"));
    }

    #[test]
    fn what_does_not_end_or_is_huge_is_broken_off() {
        let mut tables = tables();
        tables.time = Duration::from_millis(300);
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT";
        let began = Instant::now();
        let told = tables.query(&format!("{endless} sum(x) FROM n")).unwrap_err();
        assert!(told.contains("longer than 0.3 seconds"), "{told}");
        assert!(began.elapsed() < TIME);
        // Rows that come one by one end with the result.
        let told = tables.query(&format!("{endless} x FROM n")).unwrap();
        assert!(told.contains("500 are shown"), "{told}");
        assert!(
            tables
                .query("SELECT zeroblob(1000000000)")
                .unwrap_err()
                .contains("too big")
        );
        let wide = tables
            .query("SELECT printf('%.3000c', 'x') FROM notes, notes, notes, notes, notes")
            .unwrap();
        assert!(
            wide.len() < RESULT_BYTES + 2_000 && wide.contains("1500 more bytes"),
            "{}",
            wide.len()
        );
    }
}
