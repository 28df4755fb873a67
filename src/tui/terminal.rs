//! The terminal: taken over and given back, whatever happens in between.

use std::io::{IsTerminal, Stdout, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use base64::Engine as _;
use crossbeam_channel::Sender;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::layout::Rect;

use super::data::{Data, Event};
use super::pictures::encode;
use super::pictures::probe::{self, Hints};

/// The terminal that is drawn on.
pub(super) type Real = Terminal<CrosstermBackend<Stdout>>;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether both ends of the program are a terminal.
pub(super) fn is_terminal() -> bool {
    stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Takes the terminal over; gives it back when dropped.
pub(super) struct Guard;

impl Guard {
    /// Raw mode and the other screen. A panic gives the terminal back before it speaks.
    pub(super) fn take(events: Sender<Event>) -> std::io::Result<(Self, Real)> {
        hook(std::thread::current().id(), events);
        let guard = Self;
        enter()?;
        let mut terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        clear(&mut terminal)?;
        Ok((guard, terminal))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        leave();
    }
}

/// Raw mode and the other screen.
pub(super) fn enter() -> std::io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// The terminal as it was. Does nothing the second time.
pub(super) fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nothing can be done when the terminal is gone.
        let _ = stdout().write_all(encode::farewell().as_bytes());
        let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// A panic on the screen's thread gives the terminal back and speaks; elsewhere it becomes a
/// message, for the screen goes on.
fn hook(screen: ThreadId, events: Sender<Event>) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == screen || !TAKEN.load(Ordering::SeqCst) {
            leave();
            before(info);
        } else {
            let said = format!("a part of the program broke: {info}; please report it");
            let _ = events.try_send(Event::Data(Data::Failed(said)));
        }
    }));
}

/// Stops the process as Ctrl-Z does, until the shell brings it back.
#[cfg(unix)]
pub(super) fn suspend(terminal: &mut Real) -> std::io::Result<()> {
    leave();
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
    enter()?;
    clear(terminal)
}

/// Empties the screen, so that everything is drawn anew. (The library's own `clear` asks the
/// terminal where the cursor is, and the answer would go to the thread that reads keys.)
pub(super) fn clear(terminal: &mut Real) -> std::io::Result<()> {
    let size = terminal.size()?;
    terminal.resize(Rect::new(0, 0, size.width, size.height))
}

/// There is no such thing here.
#[cfg(not(unix))]
pub(super) fn suspend(_: &mut Real) -> std::io::Result<()> {
    Ok(())
}

/// Whether the screen has the terminal; if not, a shell or an editor has it.
pub(super) fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// How a program ended that had the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// As it should.
    Well,
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Waits for a program that has the terminal. If it is stopped as Ctrl-Z does, this process stops
/// with it, so that the shell is there; both go on together.
#[cfg(unix)]
pub(super) fn wait(child: std::process::Child) -> std::io::Result<Ended> {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    let pid = Pid::from_child(&child);
    loop {
        let status = match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        if status.stopped() {
            signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
            kill_process(pid, Signal::CONT)?;
        } else if let Some(signal) = status.terminating_signal() {
            return Ok(Ended::Signal(signal));
        } else {
            return Ok(match status.exit_status() {
                Some(0) | None => Ended::Well,
                Some(code) if code > 128 => Ended::Signal(code - 128),
                Some(code) => Ended::Code(code),
            });
        }
    }
}

/// The same without stopping.
#[cfg(not(unix))]
pub(super) fn wait(mut child: std::process::Child) -> std::io::Result<Ended> {
    Ok(match child.wait()?.code() {
        Some(0) | None => Ended::Well,
        Some(code) => Ended::Code(code),
    })
}

/// Ends a program that has the terminal.
#[cfg(unix)]
pub(super) fn end(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // One that is gone already needs no signal.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// There is no such thing here.
#[cfg(not(unix))]
pub(super) fn end(_: u32) {}

/// Wakes the thread that reads keys: it is told that the size may be new.
pub(super) fn stir() {
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGWINCH);
}

/// Forgets what was typed and not read.
pub(super) fn forget_input() {
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Pixels of a character cell, where the system knows them.
pub(super) fn cell() -> Option<(u16, u16)> {
    let size = ratatui::crossterm::terminal::window_size().ok()?;
    let cell = (
        size.width.checked_div(size.columns)?,
        size.height.checked_div(size.rows)?,
    );
    (cell.0 > 0 && cell.1 > 0).then_some(cell)
}

/// Reads the answers to the question what the terminal can show. Keys among them are passed on.
/// The library's own reader must not have begun: both read from the same place.
#[cfg(unix)]
pub(super) fn hear(hints: Hints, mut tell: impl FnMut(Event)) {
    use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let input = std::io::stdin();
    // A read shall come back after a tenth of a second, also with nothing.
    let wait = |least: u8, tenths: u8| -> std::io::Result<()> {
        let mut settings = tcgetattr(&input)?;
        settings.special_codes[SpecialCodeIndex::VMIN] = least;
        settings.special_codes[SpecialCodeIndex::VTIME] = tenths;
        Ok(tcsetattr(&input, OptionalActions::Now, &settings)?)
    };
    if wait(0, 1).is_ok() {
        let read = || {
            let mut piece = [0; 256];
            let count = rustix::io::read(&input, &mut piece)?;
            Ok(piece[..count].to_vec())
        };
        // What cannot be read now, the library's reader will stumble over and tell.
        let _ = probe::listen(hints, read, cell(), &mut tell);
    }
    let _ = wait(1, 0);
    // The library hears of a new size only from now on.
    if let Ok((columns, rows)) = ratatui::crossterm::terminal::size() {
        tell(Event::Resize(columns, rows));
    }
}

/// There is no such thing here.
#[cfg(not(unix))]
pub(super) fn hear(_: Hints, _: impl FnMut(Event)) {}

/// Text for the clipboard (OSC 52), also through tmux where it allows that.
pub(super) fn copy(text: &str) -> std::io::Result<()> {
    let coded = base64::engine::general_purpose::STANDARD.encode(text);
    let mut out = stdout();
    write!(out, "\u{1b}]52;c;{coded}\u{7}")?;
    out.flush()
}
