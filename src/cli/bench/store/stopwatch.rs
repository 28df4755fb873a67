//! Two clocks: the one on the wall, and the processor time of this thread.
//!
//! On a busy machine the wall clock measures the neighbours; the second clock does not.

use std::time::Instant;

/// Runs from its making.
pub(super) struct Stopwatch {
    wall: Instant,
    cpu: Option<u64>,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self {
            cpu: cpu(),
            wall: Instant::now(),
        }
    }

    /// Milliseconds on the wall.
    pub(super) fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64() * 1e3
    }

    /// Milliseconds of this thread's processor time; those on the wall where nobody tells (Linux does).
    pub(super) fn cpu(&self) -> f64 {
        match (self.cpu, cpu()) {
            (Some(before), Some(now)) => now.saturating_sub(before) as f64 / 1e6,
            _ => self.wall(),
        }
    }
}

fn cpu() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
