//! The child process: reads calls from standard input, runs the script, writes what came of it.
//!
//! Owns nothing but the loop; it opens no file and no socket. It ends when its input ends.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use serde_json::Map;

use super::HOOKS;
use super::limits::{limit_cpu, limit_memory};
use super::reach::Reach;
use super::script::{ENTRY, MIGRATE, Script};
use super::wire::{Begin, Done, Reply, Request};

/// The argument with which this program becomes the child.
pub const CHILD_ARGUMENT: &str = "__hooks";

/// How long a limit of processor time holds before it is set anew; what was used meanwhile is on top.
const CPU_LIMIT_HOLDS: Duration = Duration::from_secs(1);

/// Runs a script until standard input ends.
pub fn child_main() -> std::process::ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let Begin {
        source,
        limits,
        mut state,
        files,
        migrate,
    } = serde_json::from_str(&line)?;
    limit_memory(limits.process_bytes);
    limit_cpu(limits.cpu_s + CPU_LIMIT_HOLDS.as_secs());
    let reach = Reach::default();
    reach.files.borrow_mut().clone_from(&files);
    let entry = if migrate { MIGRATE } else { ENTRY };
    let script = match Script::load(&source, limits, &reach, entry) {
        Ok(script) => script,
        Err(told) => return answer(output, &Reply::Failed(told), limits.reply_bytes),
    };
    if migrate {
        let reply = match script.migrate(&files, &reach) {
            Ok(migrated) => Reply::Migrated(migrated),
            Err(told) => Reply::Failed(told),
        };
        if !answer_within(output, &reply, limits.reply_bytes)? {
            let told = format!(
                "{HOOKS}: the migrated files are larger than {} bytes",
                limits.reply_bytes
            );
            answer(output, &Reply::Failed(told), limits.reply_bytes)?;
        }
        return Ok(());
    }
    answer(output, &Reply::Done(Done::default()), limits.reply_bytes)?;
    let mut kept = Map::new();
    let mut limited = Instant::now();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let request: Request = serde_json::from_str(&line)?;
        // The limit counts seconds: setting it at every call would cost more than most calls do.
        if limited.elapsed() >= CPU_LIMIT_HOLDS {
            limited = Instant::now();
            limit_cpu(limits.cpu_s + CPU_LIMIT_HOLDS.as_secs());
        }
        for change in request.files {
            change.apply(&mut reach.files.borrow_mut());
        }
        if request.fresh {
            kept = Map::new();
        }
        kept.extend(request.keep);
        let mut event = kept.clone();
        event.extend(request.event);
        let reply = match script.call(&state, &event, &reach) {
            Ok(done) => Reply::Done(done),
            Err(told) => Reply::Failed(told),
        };
        if answer_within(output, &reply, limits.reply_bytes)? {
            if let Reply::Done(done) = &reply {
                done.patch.apply(&mut state);
            }
        } else {
            let told = format!(
                "state and effects of one call are larger than {} bytes",
                limits.reply_bytes
            );
            answer(output, &Reply::Failed(told), limits.reply_bytes)?;
        }
    }
}

/// Writes the reply if it is not too long.
fn answer_within(output: &mut impl Write, reply: &Reply, most: u64) -> io::Result<bool> {
    let mut bytes = serde_json::to_vec(reply)?;
    if bytes.len() as u64 >= most {
        return Ok(false);
    }
    bytes.push(b'\n');
    output.write_all(&bytes)?;
    output.flush()?;
    Ok(true)
}

fn answer(output: &mut impl Write, reply: &Reply, most: u64) -> io::Result<()> {
    answer_within(output, reply, most).map(|_| ())
}
