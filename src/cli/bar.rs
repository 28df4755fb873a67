//! A line of progress on stderr: redrawn on a terminal, now and then a new one elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often it is redrawn.
const OFTEN: Duration = Duration::from_millis(50);

/// The line.
pub(super) struct Bar {
    terminal: bool,
    drawn: Option<Instant>,
    began: Instant,
    last: Option<(String, u64)>,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            drawn: None,
            began: Instant::now(),
            last: None,
        }
    }

    /// Shows how far something is, in bytes; a `total` of 0 when nobody knows.
    pub(super) fn draw(&mut self, label: &str, done: u64, total: u64) {
        // Some servers do not say how much there is.
        let total = total.max(done).max(1);
        let percent = done * 100 / total;
        let new_stage = self.last.as_ref().is_none_or(|(last, _)| last != label);
        let before = self.last.as_ref().map_or(0, |(_, before)| *before);
        if new_stage {
            self.began = Instant::now();
        }
        if self.terminal {
            if !new_stage && self.drawn.is_some_and(|at| at.elapsed() < OFTEN) {
                return;
            }
            self.drawn = Some(Instant::now());
            let full = usize::try_from(percent * 30 / 100).unwrap_or(0).min(30);
            let rate = done as f64 / self.began.elapsed().as_secs_f64().max(0.001);
            eprint!(
                "\r\x1b[2K{label:<9} {}{} {percent:>3} %  {} of {}, {}/s",
                "█".repeat(full),
                "░".repeat(30 - full),
                bytes_text(done),
                bytes_text(total),
                bytes_text(rate as u64),
            );
            // A line of progress that cannot be written is no loss.
            let _ = std::io::stderr().flush();
        } else if new_stage || percent / 25 > before / 25 {
            eprintln!("{label} {percent} % of {}", bytes_text(total));
        }
        self.last = Some((label.to_owned(), percent));
    }

    pub(super) fn clear(&mut self) {
        if self.terminal && self.drawn.is_some() {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Bytes for people.
pub(super) fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
