//! Closing a run: one file, no log beside it, no free pages in it.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::StoreError;
use super::lock::Lock;
use super::schema;

/// How long readers get to let go of the live file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Files up to this get small pages.
const SMALL_FILE: u64 = 4 << 20;

/// Takes a finished run out of its live mode. While a reader of another process holds on, the file
/// stays as it is: complete, but with its log beside it until the last reader leaves.
pub(super) fn close(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    close_within(conn, path, PATIENCE)
}

/// Closes a finished run whose readers did not let go in time back then; tried once, and no harm
/// when it still cannot be.
pub(super) fn tidy(path: &Path) {
    if !schema::has_companion(path) {
        return;
    }
    let Ok(_lock) = Lock::take(path) else { return };
    if let Ok(conn) = schema::open_to_write(path) {
        let _ = close_within(&conn, path, Duration::ZERO);
    }
}

fn close_within(conn: &Connection, path: &Path, patience: Duration) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    conn.busy_timeout(Duration::from_millis(50)).map_err(fail)?;
    let start = Instant::now();
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode.eq_ignore_ascii_case("delete") => break,
            Ok(_) => {}
            Err(error) => match StoreError::sqlite(path, &error) {
                StoreError::Busy { .. } => {}
                error => return Err(error),
            },
        }
        if start.elapsed() >= patience {
            conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
                .map_err(fail)?;
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // Every table takes whole pages: in a small file small ones waste less.
    let size = std::fs::metadata(path).map_or(u64::MAX, |found| found.len());
    if size < SMALL_FILE {
        conn.execute_batch("PRAGMA page_size = 1024").map_err(fail)?;
    }
    match conn.execute_batch("VACUUM").map_err(fail) {
        // Free pages stay in the file: nothing is lost by that.
        Err(StoreError::Full { .. } | StoreError::Busy { .. }) => Ok(()),
        other => other,
    }
}
