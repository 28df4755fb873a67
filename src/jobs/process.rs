//! A program of somebody else's: started as a group of its own, listened to, ended in time with all it started.
//!
//! Owns the process and its pipes. Must not know what it is for.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::Cancel;

/// Bytes of a line of output; a longer one comes in pieces.
const LINE_BYTES: u64 = 8 << 10;
/// Lines that wait to be looked at.
const WAITING: usize = 256;
/// How often the process and the cancel flag are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Time a group has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Time for the last output after the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code; `None` when a signal ended it.
    Code(Option<i32>),
    /// It took too long.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
}

/// What is heard of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A line of its output, or of its errors.
    Line {
        /// What it says, without its end.
        text: &'a str,
        /// It is on standard error.
        is_error: bool,
    },
    /// Nothing for a moment.
    Nothing,
}

/// A line of output, and whether it is an error's.
type Line = (String, bool);

/// Runs a command with a text on its standard input; every line of output is shown. `limit` is the time it may take.
///
/// # Errors
/// When it could not be started.
pub fn run(
    command: Command,
    input: String,
    limit: Option<Duration>,
    cancel: &Cancel,
    hear: &mut dyn FnMut(Heard<'_>),
) -> std::io::Result<Ended> {
    let mut child = start(command)?;
    let (sender, lines) = bounded::<Line>(WAITING);
    if let Some(mut stdin) = child.stdin.take() {
        std::thread::Builder::new()
            .name("command-input".into())
            .spawn(move || {
                // A command that does not read its input has said enough by that.
                let _ = stdin.write_all(input.as_bytes());
            })?;
    }
    if let Some(stdout) = child.stdout.take() {
        listen(stdout, false, sender.clone())?;
    }
    if let Some(stderr) = child.stderr.take() {
        listen(stderr, true, sender.clone())?;
    }
    drop(sender);
    let ended = wait(&mut child, &lines, limit, cancel, hear);
    // Whatever it left running goes with it, so that nobody writes into the folder any more.
    end(&mut child, GRACE);
    let until = Instant::now() + LAST_WORDS;
    while let Ok((text, is_error)) = lines.recv_deadline(until) {
        hear(Heard::Line { text: &text, is_error });
    }
    ended
}

fn wait(
    child: &mut Child,
    lines: &Receiver<Line>,
    limit: Option<Duration>,
    cancel: &Cancel,
    hear: &mut dyn FnMut(Heard<'_>),
) -> std::io::Result<Ended> {
    let until = limit.map(|limit| Instant::now() + limit);
    loop {
        if cancel.is_cancelled() {
            return Ok(Ended::Cancelled);
        }
        if until.is_some_and(|until| Instant::now() > until) {
            return Ok(Ended::TimedOut);
        }
        match lines.recv_timeout(LOOK) {
            Ok((text, is_error)) => {
                hear(Heard::Line { text: &text, is_error });
                continue;
            }
            Err(RecvTimeoutError::Timeout) => hear(Heard::Nothing),
            // Both pipes are closed; the process ends soon, or it is told to.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Code(status.code()));
        }
    }
}

fn listen(from: impl Read + Send + 'static, is_error: bool, to: Sender<Line>) -> std::io::Result<()> {
    let read = move || {
        let mut from = BufReader::new(from);
        loop {
            let mut bytes = Vec::new();
            match from.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&bytes);
            if to
                .send((text.trim_end_matches(['\n', '\r']).to_owned(), is_error))
                .is_err()
            {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("command-output".into())
        .spawn(read)
        .map(|_| ())
}

/// Starts a command as a group of its own, with pipes.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn start(mut command: Command) -> std::io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// A command line for the system's shell, in a folder.
pub fn shell(line: &str, folder: &Path) -> Command {
    let (shell, option) = if cfg!(unix) { ("sh", "-c") } else { ("cmd", "/C") };
    let mut command = Command::new(shell);
    command.arg(option).arg(line).current_dir(folder);
    command
}

/// Ends what is left of the group: asked first where it has time, then made to. The child is waited for.
#[cfg(unix)]
pub(crate) fn end(child: &mut Child, grace: Duration) {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    if !grace.is_zero() {
        let _ = kill_process_group(group, Signal::TERM);
    }
    let until = Instant::now() + grace;
    while Instant::now() < until {
        // The child is waited for here, else it would count as alive.
        let _ = child.try_wait();
        if test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

#[cfg(not(unix))]
pub(crate) fn end(child: &mut Child, grace: Duration) {
    let _ = child.kill();
    let until = Instant::now() + grace.max(GRACE);
    while Instant::now() < until && !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn lines_of(command: &str, limit: Duration, cancel: &Cancel) -> (Ended, Vec<String>, Duration) {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = Vec::new();
        let began = Instant::now();
        let input = "the brief\n".repeat(20_000);
        let ended = run(
            shell(command, folder.path()),
            input,
            Some(limit),
            cancel,
            &mut |heard| {
                if let Heard::Line { text, is_error } = heard {
                    lines.push(format!("{}{text}", if is_error { "!" } else { "" }));
                }
            },
        );
        (ended.unwrap(), lines, began.elapsed())
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn input_output_and_code_go_through() {
        let (ended, lines, _) = lines_of("wc -l; echo no >&2; exit 3", LONG, &Cancel::new());
        assert_eq!(ended, Ended::Code(Some(3)));
        assert!(
            lines.iter().any(|line| line.trim() == "20000") && lines.contains(&"!no".to_owned()),
            "{lines:?}"
        );
        // One that does not read is no failure.
        assert_eq!(lines_of("true", LONG, &Cancel::new()).0, Ended::Code(Some(0)));
        assert_eq!(
            lines_of("no-such-command-at-all", LONG, &Cancel::new()).0,
            Ended::Code(Some(127))
        );
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_all_its_children() {
        let (ended, lines, took) = lines_of(
            "sleep 600 & echo $!; trap '' TERM; sleep 600",
            Duration::from_millis(300),
            &Cancel::new(),
        );
        assert_eq!(ended, Ended::TimedOut);
        assert!(took < Duration::from_secs(10), "{took:?}");
        let child: i32 = lines[0].parse().unwrap();
        let pid = rustix::process::Pid::from_raw(child).unwrap();
        let until = Instant::now() + LONG;
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(child) {
            assert!(Instant::now() < until, "its child lives on");
            std::thread::sleep(LOOK);
        }
        // What is left running in the background does not hold anybody up.
        let (ended, _, took) = lines_of("sleep 600 & true", LONG, &Cancel::new());
        assert_eq!(ended, Ended::Code(Some(0)));
        assert!(took < Duration::from_secs(10), "{took:?}");
    }

    /// Dead, but not waited for by whoever inherited it.
    fn is_zombie(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn cancelling_ends_it_at_once() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            other.cancel();
        });
        let (ended, _, took) = lines_of("sleep 600", LONG, &cancel);
        assert_eq!(ended, Ended::Cancelled);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn endless_output_is_cut_into_lines() {
        let (_, lines, _) = lines_of("head -c 100000 /dev/zero | tr '\\0' x", LONG, &Cancel::new());
        assert!(lines.iter().all(|line| line.len() <= LINE_BYTES as usize));
        assert_eq!(lines.iter().map(String::len).sum::<usize>(), 100_000);
    }
}
